// SPDX-License-Identifier: Apache-2.0
//
// Bisection with noise: finds which of the commits after `good` made the series slower (or faster).
// Single commits are measured in duets against `good`, any of which may err, until a stated
// confidence is reached. It is a pure state machine: the caller builds and measures the commit that
// bisect_next() names and reports the result. The same results always lead to the same state.
#ifndef PLUMB_BISECT_H
#define PLUMB_BISECT_H

#include "model/base.h"

struct bisect_options {
    double confidence;  // the search ends when one culprit has this probability, e.g. 0.99
    double effect;      // log ratio of bad to good, from a duet of these two
    double effect_se;   // its standard error
    double between_sd;  // standard deviation of the log ratio of one pair of commits between fresh
                        // processes
    double expected_se; // the standard error that a duet should reach, without between_sd
};

struct bisect_commit {
    char *code;         // code id of the series' kernel; NULL: not known
    bool untestable;    // it does not build, or its results are wrong
    double log_ratio;   // log likelihood ratio of all duets: changed against not changed
    size_t duets;       // number of duets so far
    double sum, weight; // sums over the log ratios of the duets, weighted by inverse variance
};

// commits[0] is good and commits[count - 1] is bad; they stand in the order of history.
struct bisect {
    struct bisect_options options;
    struct bisect_commit *commits;
    size_t count;
    double *posterior; // probability of each commit to be the culprit; 0 for good
};

// Begins a search. Fails if good and bad do not differ in their own duet (|effect| below 3 standard
// errors). count >= 2. The caller calls bisect_free(), which accepts a zeroed struct.
int bisect_start(struct bisect *out, size_t count, const struct bisect_options *options,
                 struct error *err);
void bisect_free(struct bisect *bisect);

// Reports the code id of a commit that was built. Commits between two with equal code cannot be the
// culprit.
void bisect_set_code(struct bisect *bisect, size_t commit, const char *code);
// Whether the code of a commit is known and was measured at another commit, or is the code of good
// or bad. A duet of it would tell nothing new.
bool bisect_knows_code(const struct bisect *bisect, size_t commit);
// Reports that a commit cannot be measured. This says nothing about it or its neighbours.
void bisect_skip(struct bisect *bisect, size_t commit);
// Reports a duet of the commit against good: its mean log ratio, and its standard error > 0.
void bisect_observe(struct bisect *bisect, size_t commit, double log_ratio, double se);

enum bisect_state {
    BISECT_TEST,       // measure step.commit next
    BISECT_FOUND,      // first..last holds the culprit with step.probability
    BISECT_IMPOSSIBLE, // equal code ids leave no commit, so the kernel's code is not the cause
};

struct bisect_step {
    enum bisect_state state;
    size_t commit;      // the commit to test; of equally good ones the one from whose duet most is
                        // expected
    double information; // the information expected from that duet, in nats
    // The most probable culprit so far: one of the commits first..last. Those before `last` could
    // not be tested; the ones with posterior > 0 are suspects.
    size_t first, last;
    double probability;
    // No single change explains the duets (chi-squared of the best explanation is too large for the
    // number of commits tested), so several commits share the effect.
    bool inconsistent;
};
struct bisect_step bisect_next(const struct bisect *bisect);

#endif
