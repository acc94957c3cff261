// SPDX-License-Identifier: Apache-2.0
//
// One command and its answer; internal to runner/measure*.c.
#ifndef PLUMB_BENCH_TALK_H
#define PLUMB_BENCH_TALK_H

#include "model/wire.h"
#include "runner/bench/measure.h"

struct bench {
    struct bench_plan plan;  // its texts are copies in the arena
    struct process *process; // NULL when the child is gone
    struct arena arena;
    struct device device;
    struct gpu gpu;
    bool left;       // it was asked to quit
    int64_t last_id; // of the series opened last
    const char *bus; // of the device; NULL: it has none
    struct processors own;
    char processors[PROCESSORS_TEXT]; // as told to the child; "" before it has opened anything
    char said[400];                   // the child's last note or fail, for when it dies
};

// Starts the child that the plan describes; nothing has been read of it yet.
int bench_spawn(struct bench *bench, struct error *err);

// Takes one record of the answer. -1 with a text: this is not what was asked for.
typedef int (*bench_handler)(void *context, const struct wire_record *record, struct error *err);

// Sends a line, hands the answer's records to `handler`, and ends at `done` (state ok), `fail`
// (crashed, alive) or with a dead child (crashed or timeout, gone). -1: the device is gone.
int bench_exchange(struct bench_outcome *out, struct bench *bench, struct wire_line *line,
                   double limit_s, bench_handler handler, void *context, struct error *err);

// What a handler says of a record that does not belong to the answer: -1.
int bench_unexpected(const struct wire_record *record, struct error *err);

// A limit of the plan, or what it is by default.
double bench_limit(double seconds, double otherwise);

// Foreign text for people: control bytes become spaces, and it ends where `size` ends.
void bench_clean(char *out, size_t size, const char *text);

#endif
