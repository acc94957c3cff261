// SPDX-License-Identifier: Apache-2.0
//
// What changed in a run, as Markdown for people in a hurry: one line a kernel, with its worst
// problem, and the commands that repeat, find or accept it.
#ifndef PLUMB_REPORTS_CHANGES_H
#define PLUMB_REPORTS_CHANGES_H

#include "reports/view.h"

// One kernel and verdict: its worst series, and how many say the same.
struct kernel_verdict {
    const struct view *worst;
    size_t series;
};

// Finds the series that are not simply the same; `out` has room for `count` of them. Views come
// worst first.
size_t changes_find(struct kernel_verdict *out, const struct view *views, size_t count);
// Writes a table of at most 20 rows.
void changes_table(struct buffer *out, const struct kernel_verdict *lines, size_t count);
// A folded list of commands, for a gate.
void changes_next(struct buffer *out, const struct run *run, const struct kernel_verdict *lines,
                  size_t count);
// Writes what the run had to do without, a paragraph each behind `before`, and at most `limit`
// bytes of a reason.
void changes_lacks(struct buffer *out, const struct run *run, const char *before, size_t limit);
// "base..head", linked to the forge's comparison where context->commit_url ends in "/commit/%s".
void changes_range(struct buffer *out, const struct run *run, const struct report_context *context);

#endif
