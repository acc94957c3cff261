// SPDX-License-Identifier: Apache-2.0
//
// Runs for the tests of reports: several kernels, shapes and two devices, every verdict and cause,
// samples with the noise seen on an H200 (0.4 % per pair, a stall now and then), histories with a
// step. Deterministic: a seeded generator, fixed times.
#ifndef PLUMB_TESTS_HELPER_RUN_H
#define PLUMB_TESTS_HELPER_RUN_H

#include "reports/report.h"

// Each makes a run that the caller frees with run_free().
struct run helper_run(void);               // a gate of 18 series with every verdict
struct run helper_run_hostile(void);       // the same with text meant to break readers
struct run helper_run_unbuilt(void);       // a gate whose commits do not build
struct run helper_run_large(size_t count); // a gate of `count` series
struct run helper_run_empty(void);         // nothing measured
// What is known beyond the run; lives in run->arena.
struct report_context helper_context(struct run *run);

// What the report of this name says of the run with that context, ended by a NUL; frees the run.
// The caller frees the buffer.
struct buffer helper_report(const char *name, struct run run);

// xorshift64*: a fixed sequence, the same on every machine; `state` is not 0.
double helper_uniform(uint64_t *state); // 0 <= x < 1
double helper_normal(uint64_t *state);  // a sum of twelve of them

// Strings meant to break a reader; `helper_hostile_count` of them.
extern const char *const helper_hostile[];
extern const size_t helper_hostile_count;

#endif
