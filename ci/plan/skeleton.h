// SPDX-License-Identifier: Apache-2.0
//
// The beginning of a plan, written from what a compiler's cache says of a kernel. What cannot be
// known from there (the grid, what a pointer points to) is a guess from names, and a comment says
// so; `plumb plan check` and the stopwatch's own check find out when it is wrong.
#ifndef PLUMB_SKELETON_H
#define PLUMB_SKELETON_H

#include "ci/plan/triton.h"
#include "model/buffer.h"

// Of Triton's NAME.json; reads NAME.ttir beside it where there is one.
int skeleton_write(struct buffer *out, const char *json_path, struct error *err);
// The text alone.
void skeleton_print(struct buffer *out, const struct triton_entry *entry);

#endif
