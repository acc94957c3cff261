// SPDX-License-Identifier: Apache-2.0
//
// Noisy bisection: which of the commits after `good` made the series slower (or faster), from duets
// of single commits against `good` that may err, until a stated confidence. A pure state machine:
// the caller builds and measures what bisect_next() names and tells what came out; replaying the
// same answers gives the same state.
#ifndef PLUMB_BISECT_H
#define PLUMB_BISECT_H

#include "model/base.h"

struct bisect_options {
    double confidence;  // stop when one culprit holds this much, e.g. 0.99
    double effect;      // log ratio of bad to good, from their own duet
    double effect_se;   // its standard error
    double between_sd;  // log ratios of one pair of commits differ by this between fresh processes
    double expected_se; // standard error a duet is expected to reach, without between_sd
};

struct bisect_commit {
    char *code;         // code id of the series' kernel, NULL while not known
    bool untestable;    // does not build, or computes wrong results
    double log_ratio;   // log likelihood of all duets: changed less not changed
    size_t duets;       // so far
    double sum, weight; // of their log ratios, inverse-variance weighted
};

// commits[0] is good, commits[count - 1] is bad, in the order of history.
struct bisect {
    struct bisect_options options;
    struct bisect_commit *commits;
    size_t count;
    double *posterior; // of each commit being the culprit; 0 for good
};

// Fails when good and bad do not differ by their own duet (|effect| below 3 standard errors).
// count >= 2. Caller: bisect_free, which accepts a zeroed struct.
int bisect_start(struct bisect *out, size_t count, const struct bisect_options *options,
                 struct error *err);
void bisect_free(struct bisect *bisect);

// A commit was built: its code id. Commits between two with equal code cannot be the culprit.
void bisect_set_code(struct bisect *bisect, size_t commit, const char *code);
// Whether a commit's code is known and is that of another commit which was measured or is at an
// end: a duet would say nothing new.
bool bisect_knows_code(const struct bisect *bisect, size_t commit);
// A commit cannot be measured. That says nothing about it or its neighbours.
void bisect_skip(struct bisect *bisect, size_t commit);
// A duet of the commit against good: mean log ratio and its standard error > 0.
void bisect_observe(struct bisect *bisect, size_t commit, double log_ratio, double se);

enum bisect_state {
    BISECT_TEST,       // measure step.commit next
    BISECT_FOUND,      // first..last holds the culprit with step.probability
    BISECT_IMPOSSIBLE, // equal code ids leave no commit: the code is not the cause
};

struct bisect_step {
    enum bisect_state state;
    size_t commit;      // to test; of equals the one that says most for one duet
    double information; // expected from that duet, in nats
    // The likeliest culprit so far: commits first..last, of which those before `last` could not be
    // tested; the ones with posterior > 0 are suspects.
    size_t first, last;
    double probability;
    // The duets fit no single change well (chi-squared of the best explanation too large for the
    // number of commits tested): several commits share the effect.
    bool inconsistent;
};
struct bisect_step bisect_next(const struct bisect *bisect);

#endif
