// SPDX-License-Identifier: Apache-2.0
//
// The figures of the pages, each a pure function of what it shows.
#ifndef PLUMB_REPORTS_CHARTS_H
#define PLUMB_REPORTS_CHARTS_H

#include "reports/charts/svg.h"
#include "reports/view.h"

// Relative changes that a column of intervals shows: covers what can be covered, at most
// -50 % .. +100 %; what lies beyond is drawn as an arrow at the edge.
struct scale chart_change_scale(const struct view *views, size_t count, double from, double to);
// One row of a forest plot: the margin as a band around zero, the interval as a line, the estimate
// as the verdict's shape.
void chart_interval(struct markup *m, const struct view *view, const struct scale *x, double width);
// The axis above such a column.
void chart_interval_axis(struct markup *m, const struct scale *x, double width);

// Base and head samples: one dot each, and below their cumulative distributions.
void chart_samples(struct markup *m, const struct view *view);
// Head / base of each pair in the order they were taken, with the borders of processes: shows
// drift.
void chart_pairs(struct markup *m, const struct view *view);
// The prediction's parts as a waterfall up to its total, and the measured time (NaN: none) beside.
void chart_parts(struct markup *m, const struct prediction *prediction, double measured_ns);

// One series in a sorted curve; points whose value is NaN are left out. Both sort what they get.
struct curve_point {
    struct interval y; // relative change, or actual / predicted (then no bounds)
    const char *class; // of its verdict
    enum svg_shape shape;
};
void chart_curve_change(struct markup *m, struct curve_point *points, size_t count);
void chart_curve_accuracy(struct markup *m, struct curve_point *points, size_t count);
// One of them as a figure with its caption.
void chart_figure(struct markup *m, const char *caption, struct curve_point *points, size_t count,
                  void (*draw)(struct markup *, struct curve_point *, size_t));

// A line for a table cell, at least `span` (relative) from bottom to top, so that noise does not
// look like an earthquake. Nothing is drawn without values from 0 on.
void chart_spark(struct markup *m, const double *values, size_t count, double span);
// A figure run by run, with dashed lines where its level changed. The axis covers low..high and
// whatever the values need; ticks show value * factor with the unit.
struct chart_trend_axis {
    const char *label;
    double factor;
    const char *unit;
    double low, high;
};
void chart_trend(struct markup *m, const struct chart_trend_axis *axis, const double *values,
                 const int64_t *times_s, size_t count, const size_t *changes, size_t change_count);
// Boxes in lanes over time; lanes in order of appearance.
struct chart_span {
    const char *lane, *label;
    double start_ns, end_ns;
};
void chart_timeline(struct markup *m, const struct chart_span *spans, size_t count);

// How many series there are of each verdict, as a list.
void chart_counts(struct markup *m, const size_t counts[VERDICT_KINDS]);

// "v-slower": the class that colours a verdict.
const char *chart_class(const struct view *view);
const char *chart_verdict_class(enum verdict_kind kind, bool is_environment);
enum svg_shape chart_shape(enum verdict_kind kind);

#endif
