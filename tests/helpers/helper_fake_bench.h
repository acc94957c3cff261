// SPDX-License-Identifier: Apache-2.0
//
// A copy of fake_bench in a scratch folder, and the plan to start it by. Each of these ends the
// test program on failure.
#ifndef PLUMB_HELPER_FAKE_BENCH_H
#define PLUMB_HELPER_FAKE_BENCH_H

#include "model/result.h"
#include "runner/bench/measure.h"
#include "tests/helpers/helper_plumb.h"

// The program is copied, since a test may take its device away or put files beside it.
struct fake_bench {
    char *directory, *program;
    struct sandbox sandbox; // off
    struct bench_plan plan; // names the two above: valid while this stays where it is
    size_t notes;           // passed on so far
    struct arena arena;     // for what a test wants to keep
};

void fake_bench_make(struct fake_bench *fake);
void fake_bench_remove(struct fake_bench *fake);
// The same as cmocka's set-up and tear-down: *state is a struct fake_bench.
int fake_bench_set_up(void **state);
int fake_bench_tear_down(void **state);

// The file PROGRAM.ENDING beside it (text NULL: none); what they mean is in fake_bench.c.
void fake_bench_write(const struct fake_bench *fake, const char *ending, const char *text);

// The problem of every series of the fake: 4x4x4.
extern const struct problem fake_problem;
// Starts the child by the plan; ended by bench_stop().
struct bench *fake_bench_start(struct fake_bench *fake);
// Opens the series of this kernel, of /x/base.so and /x/head.so.
struct bench_outcome fake_bench_open(struct bench_handle *handle, struct bench *bench,
                                     const char *kernel);

// An empty repository, its folder returned, and in it a copy of fake_bench, at *bench.
char *fake_bench_repository(char **bench);

// Whole gates by the real program with a bench that misbehaves when asked (fake_bench.c), in a
// repository of one's own. Each of these ends the test program, or fails the test, on failure.

struct fake_gate {
    struct fake_bench bench; // its folder is the repository
    char *policy, *store;    // paths
    struct plumb_outcome outcome;
};

void fake_gate_make(struct fake_gate *gate);
void fake_gate_remove(struct fake_gate *gate);

// Every kernel, on one problem and the host device; `device` is more lines of that section, `rest`
// what follows the kernels'.
void fake_gate_policy(const struct fake_gate *gate, const char *device, const char *rest);

// A commit with a library for each of `names` (which end with NULL). Those that begin with
// `beginning` are of this value, the others of value 1, and libraries of different values differ.
// parent: NULL: none.
void fake_gate_commit(char id[OBJECT_ID_TEXT], const struct fake_gate *gate, const char *branch,
                      const char *parent, const char *const *names, const char *beginning,
                      int value);

// kill_after_s as plumb_run()'s.
void fake_gate_run(struct fake_gate *gate, const char *base, const char *head, double kill_after_s);
// The store's newest run of this kind; run_free() ends it.
void fake_gate_newest(struct run *out, const struct fake_gate *gate, enum run_kind kind);

#endif
