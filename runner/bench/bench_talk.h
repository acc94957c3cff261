// SPDX-License-Identifier: Apache-2.0
//
// Sends one command to a bench and takes its answer; only measure.c and record.c use this.
#ifndef PLUMB_BENCH_TALK_H
#define PLUMB_BENCH_TALK_H

#include "model/wire.h"
#include "runner/bench/measure.h"

// Takes one record of an answer. Returns -1, with a text, if the record does not belong to the
// answer.
typedef int (*bench_handler)(void *context, const struct wire_record *record, struct error *err);

// Sends a line and hands each record of the answer to `handler`. The answer ends with `done` (state
// ok), with `fail` (crashed, alive) or with a dead child (crashed or timeout, gone). -1: no device.
int bench_exchange(struct bench_outcome *out, struct bench *bench, struct wire_line *line,
                   double limit_s, bench_handler handler, void *context, struct error *err);

// Writes the error for a record that does not belong to the answer; returns -1. Used by handlers.
int bench_unexpected(const struct wire_record *record, struct error *err);

// Copies untrusted text for people: control bytes become spaces, and the text is cut at `size`.
void bench_clean(char *out, size_t size, const char *text);

#endif
