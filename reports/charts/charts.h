// SPDX-License-Identifier: Apache-2.0
//
// The figures of the pages, and those that are files of their own, each a pure function of what it
// shows. Any of them can be either: svg.h says how.
#ifndef PLUMB_REPORTS_CHARTS_H
#define PLUMB_REPORTS_CHARTS_H

#include "model/predict/parts/accuracy.h"
#include "model/predict/parts/pipeline.h"
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
// A model's S-curve: predicted over measured of each row, sorted; `title` says of what.
void chart_scurve(struct markup *m, const struct accuracy_row *rows, size_t count,
                  const char *title);
// The same as bars from 0, as seed 0 draws it: one a row, or of more rows than bars have room those
// at equal distances.
void chart_bars(struct markup *m, const struct accuracy_row *rows, size_t count, const char *title);
// One of the first two as a figure with its caption.
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
// Boxes in lanes over time; lanes in order of appearance, 24 at most.
struct chart_span {
    const char *lane, *label;
    double start, end;
};
struct chart_timeline {
    const char *title;
    const char *unit; // of the spans' times; NULL: they are ns, shown in the unit that suits
    const struct chart_span *spans;
    size_t count;
};
void chart_timeline(struct markup *m, const struct chart_timeline *timeline);
// The spans of a wave's first stages, of `most` at most, and of its end when it has no more.
struct chart_span *chart_pipeline(size_t *count, const struct pipeline *pipeline,
                                  const struct pipeline_events *events, size_t most,
                                  struct arena *arena);
// All of one wave, with its time and what the MATH warp waits in the title.
void chart_wave(struct markup *m, const struct pipeline *pipeline,
                const struct pipeline_events *events, const char *unit);

// Lines of several things over one quantity, both axes logarithmic.
struct chart_lines {
    const char *title, *below; // what the horizontal axis is
    struct scale x, y;         // x.low and y.low above 0; chart_lines_begin() sets the rest
};
enum { CHART_COLOURS = 10 };
void chart_lines_begin(struct markup *m, struct chart_lines *lines); // svg_end() ends it
// Values that are not above 0 are left out. `colour` below CHART_COLOURS; `name` NULL: the line is
// dashed and unnamed, another's figures beside one of this colour.
void chart_lines_add(struct markup *m, const struct chart_lines *lines, const char *name,
                     unsigned colour, const double *x, const double *y, size_t count);

// How many series there are of each verdict, as a list.
void chart_counts(struct markup *m, const size_t counts[VERDICT_KINDS]);

// "v-slower": the class that colours a verdict.
const char *chart_class(const struct view *view);
const char *chart_verdict_class(enum verdict_kind kind, bool is_environment);
enum svg_shape chart_shape(enum verdict_kind kind);

#endif
