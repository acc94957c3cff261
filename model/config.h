// SPDX-License-Identifier: Apache-2.0
//
// Parses git-config text into a flat list of entries. Each entry has its line, so that a reader can
// report `ci/plumb.cfg:12: unknown key`. The syntax is git's (sections, subsections, quotes,
// escapes, continued lines, comments); a test compares it with libgit2's parser. libgit2 itself is
// not used because it gives no line numbers, and because text from a commit must not read other
// files: `include` and `includeIf` sections are errors here.
#ifndef PLUMB_CONFIG_H
#define PLUMB_CONFIG_H

#include "model/base.h"

// One entry: [section "subsection"] key = value
struct config_entry {
    const char *section;    // lower case; the old form [a.b] gives section a, subsection b
    const char *subsection; // as written, "" when there is none
    const char *key;        // lower case; "" for the section's header itself, with value ""
    const char *value;      // unquoted; NULL for a key without '=', which git reads as true
    uint32_t line;          // 1-based, where the key stands
};

struct config_file {
    struct config_entry *entries; // in the order of the text; section headers are entries, too
    size_t count;
    const char *label;
    struct arena arena; // owns the strings
};

// Parses a text. `label` is what errors begin with: "ci/plumb.cfg" gives "ci/plumb.cfg:12: ...".
// Refuses NUL bytes, text over 1 MiB, and bytes that are not UTF-8.
int config_parse(struct config_file *out, const char *text, size_t size, const char *label,
                 struct error *err);
void config_free(struct config_file *config);

// Read a value as git does; -1 if it has another form. A whole number may end in k, m or g (powers
// of 1024). A boolean is true, yes, on or 1, or it is false, no, off, 0 or "", in upper or lower
// case; NULL is true.
int config_int(int64_t *out, const char *value);
int config_bool(bool *out, const char *value);

#endif
