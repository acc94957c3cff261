// SPDX-License-Identifier: Apache-2.0
//
// The level of a series as steps: segments whose differences stand out of the noise, whatever its
// scale, correlation and outliers. What changepoint.h reports is made from this.
#ifndef PLUMB_SEGMENTATION_H
#define PLUMB_SEGMENTATION_H

#include "model/history/changepoint.h"

#include <stddef.h>

// A segment of the fit, whose cost is bounded (biweight).
struct potts_segment {
    size_t first, end; // values first .. end-1
    double level;      // the m that minimises the cost over the segment
};

struct segmentation {
    double *y;     // the values that are not missing, centred, in units of `scale`
    size_t *where; // their indices in the series as given
    size_t n;
    double centre, scale;
    double penalty, bound;          // as in struct changepoint_options
    double step_variance;           // half that of a difference: all that is known beforehand
    double reach;                   // where the bounded cost stops counting
    double variance;                // of one value: half a unit of cost per nat (struct loss)
    double mean_amount;             // absolute residual of one value
    double correlation;             // lag 1
    double long_run;                // variance of a mean of many values, times their number
    bool suspect;                   // differences look like those of a random walk
    struct potts_segment *segments; // levels are those of least cost
    size_t count;                   // 0 for a constant series
};

// Takes the finite ones of `values`. Release with segmentation_free().
void segmentation_find(struct segmentation *out, const double *values, size_t n, double penalty,
                       double bound);
void segmentation_free(struct segmentation *segmentation);

// long_run / variance; 1 for independent values.
double segmentation_inflation(const struct segmentation *s);
// Inflation so large that steps cannot be told from a wandering level by segmentation alone.
bool segmentation_wanders(const struct segmentation *s);
// Moves the level of segment j to where most of its values lie.
void segmentation_level(struct segmentation *s, size_t j);
// Squared t statistic of the step between segments j and j + 1, by the scatter of these two.
double segmentation_score(const struct segmentation *s, size_t j);

// ==== the loss ====
//
// The bounded cost min(x^2, bound^2) fitted to a series' own noise: where to stop counting, and
// what a gained unit of cost is worth. Both follow from residuals alone, whatever their
// distribution: normal, spiky, skewed, or of several modes.

struct loss {
    double scale; // of one value, trimmed: what differences of independent such values would show
    double bound;
    // Nats per unit of cost: chance alone gains a cost of x somewhere about as often as
    // exp(-rate x). 1 / (2 sigma^2) for normal noise.
    double rate;
};

// `sorted`: residuals about their level, ascending, n >= 1. The bound is at most `widest` scales:
// that under which a shift earns most nats per value, in steps of a quarter; one tighter than
// `widest` must earn a tenth more. For residuals without scatter all is 0.
struct loss loss_fit(const double *sorted, size_t n, double widest);

// ==== levels of their own, or outliers ====
//
// Whether a few values in a row are a level of their own, or outliers of the kind that the series
// has elsewhere too and that came in a row by chance. The noise may have any distribution; only its
// order is taken to be random.

// Joins a short segment to a neighbour when chance alone would put that many values, that far out,
// in a row in more than one of 200 series. (A very short series has too few orders for such odds;
// then its rarest order is the limit.) Returns how many segments are left; the level of those that
// were joined is their median. The segments cover the n values in order.
size_t revisit_drop(const double *values, size_t n, struct potts_segment *segments, size_t count);

// Median of a segment's values.
double revisit_level(const double *values, const struct potts_segment *segment);

// ==== noise ====
//
// Scale and serial correlation of a series' noise, from its differences alone: level shifts and
// outliers barely touch them, so nothing needs to be known of either beforehand.

// Standard deviation of normal noise from absolute deviations |x|: the mean of the smallest 75 %,
// made consistent for the normal. When more than half are 0 (values that repeat), their root mean
// square, large ones capped, so that only deviations that are all 0 give 0. Sorts `deviations`.
double noise_scale(double *deviations, size_t n);

struct series_noise {
    double sigma;       // of one value; for correlation 1 (a random walk) of one step / sqrt(2)
    double correlation; // lag 1, as if AR(1), in 0..1
};
// `values`: finite, in the order they came. {0, 0} for a constant series or fewer than two.
struct series_noise noise_estimate(const double *values, size_t n);

// Variance of the mean of many AR(1) values over that of independent ones; correlation < 1.
double noise_inflation(double correlation);

// ==== noise with memory ====
//
// How likely values are as noise alone, in which neighbours resemble each other and no step is. A
// step is believed where noise alone explains the values much worse.

// The log-likelihood of values about a known level, given the first, maximised over the noise's
// scale and correlation, up to the constant -(n/2) log 2 pi. n >= 2, finite.
double memory_fit(const double *residual, size_t n);

// The log-likelihood of values about a level that is fitted, too. `at` 0: the level has no step,
// and the noise has the memory that fits best. Else the level has a step before values[at], 0 < at
// < n, and the likelihood is a mean over the noise's memory: half the weight has noise without
// memory, the other half noise with memory of all lengths. `louder` divides what the step explains:
// it says how many times more one side scatters than all values do.
double memory_step(const double *values, size_t n, size_t at, double louder);

// ==== steps that anybody sees ====
//
// Steps that a segmentation with one noise for all values cannot believe, though anybody sees them:
// in very short series, next to a stretch of other noise, and where there is no noise at all. Each
// is a rule of its own that says little more than it must.

// Whether `y` (finite, in order) is two levels, and which. Of the change, the
// index is of y; where else it may be, and between what its size lies, is not said (changepoint.c).
// Either all values of one side lie beyond those of the other, by many times what both scatter; or
// the means of both sides, each with its own noise and memory, differ by six standard errors; or
// the ranks of both sides do not mix, and their medians lie far apart. `separate`: by the first of
// these rules alone, which leaves no doubt where the step is.
bool clear_step_find(struct change *out, const double *y, size_t n, bool separate);

// Where values repeat exactly: the starts of runs of equal values after the first, when every run
// has at least five. Returns how many, 0 where the rule does not apply; `starts` has room for n
// / 5.
size_t clear_step_runs(size_t *starts, const double *y, size_t n);

#endif
