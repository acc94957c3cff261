// SPDX-License-Identifier: Apache-2.0
//
// Metrics: figures that a policy may ask for beside time, by [metric "NAME"] what = WORD. One
// table: a new metric that the compiler's report holds is one line.
#ifndef PLUMB_METRIC_H
#define PLUMB_METRIC_H

#include "baselines/epoch.h"
#include "runner/code/code_id.h"

// The thing that a figure is of (a kernel, a library, a build), and where the figure comes from.
enum metric_of {
    METRIC_OF_BUILD,   // the cost of building, in builds from nothing that are made for this alone
    METRIC_OF_LIBRARY, // the file of each library, as it is kept: without symbols
    METRIC_OF_CODE,    // the device code of each library, by the kernel's name where it holds one
    METRIC_OF_SERIES   // of a measurement
};

struct metric {
    const char *what, *unit;
    enum metric_of of;
    struct metric_member {
        size_t offset, size; // of an int32_t, uint32_t or uint64_t; 0: there is none
    } members[2];            // of struct code_function, added up
    bool sum;                // over the functions of the code; else the largest of them
    bool noisy;              // it scatters from one look to the next
    double margin, least;    // where the policy says nothing
    const char *why;         // one line for people
};

// NULL: there is none of this name.
const struct metric *metric_find(const char *what);
// "build-seconds, library-size, ...", in the arena.
const char *metric_words(struct arena *arena);

// How a figure of the head stands beside the base's: slower (worse), faster (better) or the same,
// by the larger of margin * base and `least`; new without a base, not measured without a head.
// `higher`: is better.
enum verdict_kind metric_standing(double base, double head, double margin, double least,
                                  bool higher);
// How much worse the head's figure is than the base's (negative: better), as the level of an epoch
// says it: the logarithm of their ratio, or, where one of them is 0, of (head + 1) / (base + 1).
double metric_worse_by(double base, double head, bool higher);

// The series of an epoch that accepts a metric: "SUBJECT metric:NAME DEVICE", without blanks in the
// parts.
const char *metric_epoch_series(const char *subject, const char *name, const char *device,
                                struct arena *arena);
// Whether the epoch is of that metric.
bool metric_epoch_matches(const struct epoch *epoch, const char *subject, const char *name,
                          const char *device);
// "12440 B", "3.26 s". In the arena.
const char *metric_value_text(double value, const char *unit, struct arena *arena);

#endif
