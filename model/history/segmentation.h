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
    double penalty, bound; // as in struct changepoint_options
    double step_variance;  // half that of a difference: all that is known beforehand
    double reach;          // where the bounded cost stops counting
    double variance;       // of one value: half a unit of cost per nat (model/history/loss.h)
    double mean_amount;    // absolute residual of one value
    double correlation;    // lag 1
    double long_run;       // variance of a mean of many values, times their number
    bool suspect;          // differences look like those of a random walk
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

#endif
