// SPDX-License-Identifier: Apache-2.0
//
// Represents the level of a series as steps: segments whose differences are larger than the noise,
// whatever its scale, correlation and outliers. changepoint.h makes its changes from this.
#ifndef PLUMB_SEGMENTATION_H
#define PLUMB_SEGMENTATION_H

#include "model/history/changepoint.h"

#include <stddef.h>

// A segment of the fit, whose cost is bounded (biweight).
struct potts_segment {
    size_t first, end; // values first .. end-1
    double level;      // the level that minimises the cost over the segment
};

struct segmentation {
    double *y;     // the values that are not missing, centred, in multiples of `scale`
    size_t *where; // their indices in the series as given
    size_t n;
    double centre, scale;
    double penalty, bound; // as in struct changepoint_options
    double step_variance;  // half the variance of a difference of neighbours: all that is
                           // known of a value's variance beforehand
    double reach;          // the residual from which on the bounded cost is constant
    double variance; // of one value; a nat of likelihood is worth two of it in cost (struct loss)
    double mean_amount;             // mean absolute residual of one value
    double correlation;             // at lag 1
    double long_run;                // variance of a mean of many values, times their number:
                                    // `variance` for independent values
    bool wanders;                   // neighbouring values are so alike that segments alone do not
                                    // tell steps from a level that wanders
    struct potts_segment *segments; // with the levels of least cost
    size_t count;                   // 0 for a constant series
};

// Segments the finite ones of `values`. Release with segmentation_free().
void segmentation_find(struct segmentation *out, const double *values, size_t n, double penalty,
                       double bound);
void segmentation_free(struct segmentation *segmentation);

// Moves the level of segment j to where most of its values lie.
void segmentation_level(struct segmentation *s, size_t j);
// Squared t statistic of the step between segments j and j + 1, computed with the scatter of these
// two.
double segmentation_score(const struct segmentation *s, size_t j);

// ==== the loss ====
//
// The bounded cost min(x^2, bound^2), fitted to a series' own noise: where the bound lies, and what
// a gained unit of cost is worth. Both follow from the residuals only, for any distribution:
// normal, spiky, skewed, or with several modes.

struct loss {
    double scale; // trimmed scale of one value: what differences of such values would show if they
                  // were independent
    double bound;
    // Nats per unit of cost: chance gains a cost of x somewhere about as often as exp(-rate x). It
    // is 1 / (2 sigma^2) for normal noise.
    double rate;
};

// Fits the loss. `sorted` are residuals about their level, ascending, n >= 1. The bound is at most
// `widest` scales, and is chosen in steps of a quarter as the one under which a shift gains most
// nats per value; a bound below `widest` must gain a tenth more. For residuals without scatter
// everything is 0.
struct loss loss_fit(const double *sorted, size_t n, double widest);

// ==== short levels, or outliers ====
//
// Whether a few values in a row are a level of their own, or are outliers of a kind that the series
// also has elsewhere and that came in a row by chance. The noise may have any distribution; only
// its order is taken to be random.

// Joins a short segment to a neighbour if chance alone would put so many values, so far out, in a
// row in more than one of 200 series. (A very short series has too few orders for such odds; there
// the rarest order is the limit.) Returns the number of segments left. Joined segments get their
// median as their level. The segments cover the n values in order.
size_t revisit_drop(const double *values, size_t n, struct potts_segment *segments, size_t count);

// The median of a segment's values.
double revisit_level(const double *values, const struct potts_segment *segment);

// ==== noise ====
//
// Scale and serial correlation of a series' noise, estimated from its differences: level shifts and
// outliers hardly affect them, so neither needs to be known beforehand.

// Estimates the standard deviation of normal noise from absolute deviations |x|: the mean of the
// smallest 75 %, scaled to be right for the normal distribution. If more than half are 0 (values
// that repeat), it is their root mean square with large ones capped, so that only deviations that
// are all 0 give 0. Sorts `deviations`.
double noise_scale(double *deviations, size_t n);

struct series_noise {
    double sigma;       // of one value; for correlation 1 (a random walk) that of one step /
                        // sqrt(2)
    double correlation; // at lag 1, as if AR(1), in 0..1
};
// Estimates scale and correlation. `values` are finite and in their original order. {0, 0} for a
// constant series or fewer than two values.
struct series_noise noise_estimate(const double *values, size_t n);

// Variance of the mean of many AR(1) values, as a multiple of that of independent ones; correlation
// < 1.
double noise_inflation(double correlation);

// ==== noise with memory ====
//
// How likely values are if they are only noise in which neighbours resemble each other, without any
// step. A step is believed if noise alone explains the values much worse.

// The log-likelihood of values about a known level, given the first one, maximised over the noise's
// scale and correlation, up to the constant -(n/2) log 2 pi. n >= 2, finite.
double memory_fit(const double *residual, size_t n);

// The log-likelihood of values about a level that is fitted as well. With `at` 0 the level has no
// step, and the noise has the memory that fits best. Otherwise the level has a step before
// values[at], 0 < at < n, and the likelihood is a mean over the noise's memory: half of the weight
// is on noise without memory, half on noise with memory of all lengths. `louder` says how many
// times more one side scatters than all values do; the gain of the step is divided by it.
double memory_step(const double *values, size_t n, size_t at, double louder);

// ==== obvious steps ====
//
// Steps that are obvious to a person, but that a segmentation with one noise for all values cannot
// find: in very short series, next to a stretch of other noise, and where there is no noise at all.
// Each has a rule of its own that claims as little as possible.

// Whether `y` (finite, in order) consists of two levels, and where the step is. `out` gets the
// index in y; the credible set and the interval of the size are not set (see changepoint.c). One of
// three rules must hold. All values of one side lie beyond those of the other, by many times the
// scatter of both. Or the means of both sides, each with its own noise and memory, differ by six
// standard errors. Or the ranks of both sides do not mix, and their medians lie far apart.
// `separate`: only the first rule is used, which leaves no doubt where the step is.
bool clear_step_find(struct change *out, const double *y, size_t n, bool separate);

// For values that repeat exactly: finds the starts of runs of equal values after the first run, if
// every run has at least five. Returns their number, 0 where the rule does not apply; `starts` has
// room for n / 5.
size_t clear_step_runs(size_t *starts, const double *y, size_t n);

#endif
