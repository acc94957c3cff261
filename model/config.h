// SPDX-License-Identifier: Apache-2.0
//
// git-config text to a flat list of entries, each with its line, so that whoever reads them can say
// `ci/plumb.cfg:12: unknown key`. The syntax is git's (sections, subsections, quotes, escapes,
// continued lines, comments); a test holds it against libgit2's own parser. Own, because libgit2
// gives no line numbers, and text that comes from a commit must not reach files: `include` and
// `includeIf` sections are errors here.
#ifndef PLUMB_CONFIG_H
#define PLUMB_CONFIG_H

#include "model/base.h"

// [section "subsection"] key = value
struct config_entry {
    const char *section;    // lower case; the old form [a.b] gives section a, subsection b
    const char *subsection; // as written, "" when there is none
    const char *key;        // lower case; "" for the section's header itself, with value ""
    const char *value;      // unquoted; NULL for a key without '=', which git reads as true
    uint32_t line;          // 1-based, where the key stands
};

struct config_file {
    struct config_entry *entries; // in the order of the text; headers are entries too
    size_t count;
    const char *label;
    struct arena arena; // owns the strings
};

// label is what errors are prefixed with: "ci/plumb.cfg" gives "ci/plumb.cfg:12: ...".
// Refuses NUL bytes, text over 1 MiB, and bytes that are not UTF-8.
int config_parse(struct config_file *out, const char *text, size_t size, const char *label,
                 struct error *err);
void config_free(struct config_file *config);

// Values as git reads them; -1 when they are not such. Whole numbers may end in k, m or g (powers
// of 1024). Booleans: true yes on 1, false no off 0 "", in any case; NULL is true.
int config_int(int64_t *out, const char *value);
int config_bool(bool *out, const char *value);

#endif
