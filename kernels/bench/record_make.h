// SPDX-License-Identifier: Apache-2.0
//
// A record of a library's kernel, but for its device code, which the parent reads from the
// library's file without loading it. Made in a process that times nothing: the library's host code
// runs here.
#ifndef PLUMB_RECORD_MAKE_H
#define PLUMB_RECORD_MAKE_H

#include "kernels/bench/bench.h"
#include "kernels/bench/series.h"
#include "model/record/record.h"

// Of spec: head, kernel, problem and pin. The launches belong to the arena. -1: the text says why
// the kernel cannot be recorded.
int record_make(struct record *out, struct bench *bench, const struct series_spec *spec,
                struct arena *arena, struct error *err);

#endif
