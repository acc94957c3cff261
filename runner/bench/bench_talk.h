// SPDX-License-Identifier: Apache-2.0
//
// One command and its answer; internal to measure.c and record.c.
#ifndef PLUMB_BENCH_TALK_H
#define PLUMB_BENCH_TALK_H

#include "model/wire.h"
#include "runner/bench/measure.h"

// Takes one record of the answer. -1 with a text: this is not what was asked for.
typedef int (*bench_handler)(void *context, const struct wire_record *record, struct error *err);

// Sends a line and hands each record of the answer to `handler`. The answer ends with `done` (state
// ok), with `fail` (crashed, alive) or with a dead child (crashed or timeout, gone). -1: no device.
int bench_exchange(struct bench_outcome *out, struct bench *bench, struct wire_line *line,
                   double limit_s, bench_handler handler, void *context, struct error *err);

// Says that a record does not belong to the answer, for a handler; returns -1.
int bench_unexpected(const struct wire_record *record, struct error *err);

// Foreign text for people: control bytes become spaces, and it ends where `size` ends.
void bench_clean(char *out, size_t size, const char *text);

#endif
