// SPDX-License-Identifier: Apache-2.0
//
// Metrics: figures that a policy may ask for beside time, by [metric "NAME"] what = WORD. They
// stand in one table; a new metric that the compiler already reports needs one line.
#ifndef PLUMB_METRIC_H
#define PLUMB_METRIC_H

#include "baselines/epoch.h"
#include "runner/code/code_id.h"

// What a figure belongs to (a kernel, a library, a build), and where it comes from.
enum metric_of {
    METRIC_OF_BUILD,   // the cost of building, from extra builds from nothing
    METRIC_OF_LIBRARY, // the file of each library in the cache, without symbols
    METRIC_OF_CODE,    // the device code of each library; named for the kernel if the library holds
                       // only one
    METRIC_OF_SERIES   // from the measurement of a series
};

struct metric {
    const char *what, *unit;
    enum metric_of of;
    struct metric_member {
        size_t offset, size; // of an int32_t, uint32_t or uint64_t member; size 0: there is none
    } members[2];            // members of struct code_function, which are added up
    bool sum;                // the sum over the code's functions; else the largest value of one
    bool noisy;              // it varies from one reading to the next
    double margin, least;    // used where the policy gives none
    const char *why;         // one line that explains it
};

// Finds a metric by its name; NULL if there is none.
const struct metric *metric_find(const char *what);
// The names of all metrics, "build-seconds, library-size, ...", in the arena.
const char *metric_words(struct arena *arena);

// The verdict on the head's figure beside the base's: slower (worse), faster (better) or the same,
// by the larger of margin * base and `least`; new if there is no base, not measured if there is no
// head. `higher`: a higher figure is better.
enum verdict_kind metric_standing(double base, double head, double margin, double least,
                                  bool higher);
// How much worse the head's figure is than the base's (negative: better), as an epoch's level: the
// logarithm of their ratio, or of (head + 1) / (base + 1) where one of them is 0.
double metric_worse_by(double base, double head, bool higher);

// The series of an epoch that accepts a metric: "SUBJECT metric:NAME DEVICE", with no blanks inside
// a part.
const char *metric_epoch_series(const char *subject, const char *name, const char *device,
                                struct arena *arena);
// Whether the epoch concerns that metric.
bool metric_epoch_matches(const struct epoch *epoch, const char *subject, const char *name,
                          const char *device);
// A value with its unit, "12440 B" or "3.26 s"; in the arena.
const char *metric_value_text(double value, const char *unit, struct arena *arena);

#endif
