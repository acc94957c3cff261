// SPDX-License-Identifier: Apache-2.0
//
// Stores as large as asked for: GROWN_SERIES series, GROWN_PROBLEMS to a kernel, with noise like a
// GPU's. All is drawn from the seed.
#ifndef PLUMB_HELPER_GROWN_H
#define PLUMB_HELPER_GROWN_H

#include "baselines/store.h"

enum { GROWN_SERIES = 500, GROWN_PROBLEMS = 50, GROWN_SAMPLES = 16 };

// What a series does over commits: a level that drifts (AR(1) 0.8 of 0.3 %), steps of 0.5-5 % at
// one commit in 400, and a code id that changes at one commit in 10.
struct grown {
    double log_level, drift;
    double predicted_ns; // of the first level: a model does not follow steps
    unsigned code;
    bool pinned; // the code is the caller's
    bool reused; // that code was measured before and is not measured again
};

// GROWN_SAMPLES samples: event steps of 32 ns over 4 launches, 0.3 % within a measurement, one
// sample in 50 a host stall.
void grown_samples(struct sample *samples, double level_ns, uint64_t *seed);
// The result of series number `series`; it refers to the samples.
void grown_result(struct result *r, unsigned series, const struct grown *walk,
                  struct sample *samples);
// A run of this commit without results; ended by run_free().
void grown_commit(struct run *run, unsigned number);
// Lets all series go one commit on, and saves the build and a whole run; ends the program on
// failure.
void grown_save(struct store *store, struct grown *walks, unsigned number, uint64_t *seed);

// The same for many commits of a new store, ten times as fast: its first commit is saved as above,
// the others' rows are copies of its rows with their own numbers, without a journal. A program that
// dies meanwhile leaves no store.
struct grown_bulk;
struct grown_bulk *grown_bulk_begin(struct store *store, struct grown *walks, uint64_t *seed);
void grown_bulk_save(struct grown_bulk *b, struct grown *walks, uint64_t *seed); // the next commit
// A link to the newest commit; base and head follow from `back`.
void grown_bulk_link(struct grown_bulk *b, unsigned series, const struct link *l);
void grown_bulk_end(struct grown_bulk *b);

#endif
