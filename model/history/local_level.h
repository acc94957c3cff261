// SPDX-License-Identifier: Apache-2.0
//
// The local level model: a random walk seen through noise, with jumps. It is what a drifting series
// is held against before its steps are believed.
#ifndef PLUMB_LOCAL_LEVEL_H
#define PLUMB_LOCAL_LEVEL_H

#include <stddef.h>

struct local_level {
    double noise_variance;
    double walk_ratio;     // variance of one step of the walk over noise_variance
    double log_likelihood; // maximised, up to the constant -(n/2) log 2 pi
};

// Maximum likelihood over both variances. `starts[t]` non-zero makes the level start afresh at t
// (a jump); NULL means none. `values` finite, n >= 2.
struct local_level local_level_fit(const double *values, const unsigned char *starts, size_t n);

// Squared statistic of a jump between t - 1 and t, for every t; about chi squared with one degree
// of freedom where there is none. 0 at starts. The scale is robust, so other jumps hardly lower it.
void local_level_scores(double *scores, const double *values, const unsigned char *starts,
                        size_t n);

// Sets starts[t] where the level jumps by more than the walk explains (statistic above `threshold`
// standard deviations, at most `most` of them, strongest first, refitting after each) and returns
// how many. `starts` has n elements and is overwritten.
size_t local_level_jumps(unsigned char *starts, const double *values, size_t n, double threshold,
                         size_t most);

#endif
