// SPDX-License-Identifier: Apache-2.0
//
// One command and its answer; internal to measure.c and record.c.
#ifndef PLUMB_BENCH_TALK_H
#define PLUMB_BENCH_TALK_H

#include "model/wire.h"
#include "runner/bench/measure.h"

// Takes one record of the answer. -1 with a text: this is not what was asked for.
typedef int (*bench_handler)(void *context, const struct wire_record *record, struct error *err);

// Sends a line, hands the answer's records to `handler`, and ends at `done` (state ok), `fail`
// (crashed, alive) or with a dead child (crashed or timeout, gone). -1: the device is gone.
int bench_exchange(struct bench_outcome *out, struct bench *bench, struct wire_line *line,
                   double limit_s, bench_handler handler, void *context, struct error *err);

// The error of a handler for a record that does not belong to the answer: -1.
int bench_unexpected(const struct wire_record *record, struct error *err);

// Foreign text for people: control bytes become spaces, and it ends where `size` ends.
void bench_clean(char *out, size_t size, const char *text);

#endif
