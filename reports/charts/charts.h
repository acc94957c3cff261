// SPDX-License-Identifier: Apache-2.0
//
// The figures of the pages, and those that are files of their own, each a pure function of what it
// shows. Drawn into an XML document (MARKUP_XML), a figure is that document: its label becomes its
// title, and the style is put in, with the colours of the light set.
#ifndef PLUMB_REPORTS_CHARTS_H
#define PLUMB_REPORTS_CHARTS_H

#include "model/predict/parts/accuracy.h"
#include "model/predict/parts/pipeline.h"
#include "reports/text/markup.h"
#include "reports/view.h"

// Figures are SVG and need no script. How they look is in assets/chart.css, by class, so one figure
// serves light, dark and print. Lengths are CSS pixels at 1:1.

// A linear map from [low, high] to [from, to]; from > to for an axis that grows upwards.
struct scale {
    double low, high, from, to;
};
// The sign of a verdict, drawn: the shape says what the colour says.
enum svg_shape { SHAPE_UP, SHAPE_DOWN, SHAPE_DOT, SHAPE_DIAMOND, SHAPE_CROSS, SHAPE_SQUARE };

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
void chart_lines_begin(struct markup *m, struct chart_lines *lines); // markup_end() ends it
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

// ==== the chart of one series over commits ====
//
// The chart of one series over commits: a static SVG, and beside it the same data for the chart one
// can zoom (page.js draws it with dygraphs). Ten thousand commits are thinned to at most
// SERIES_CHART_POINTS: of each stretch the smallest and the largest time stay, so that no spike and
// no step is lost, only repetition.

// The drawing that cannot be zoomed has no use for more points than some columns of pixels each.
enum { SERIES_CHART_POINTS = 600, SERIES_STILL_POINTS = 200 };

// A vertical line before the series' point `index`.
enum chart_mark_kind {
    MARK_SLOWER, // a change that was found
    MARK_FASTER,
    MARK_EPOCH, // an accepted change of baseline
    MARK_BREAK, // a declared one: driver, runtime, model, device
};
struct chart_mark {
    size_t index;
    const char *text;
    enum chart_mark_kind kind;
};

struct series_chart {
    const struct history *history;
    const size_t *at; // index in the series of each point, ascending; NULL: all are there
    size_t total;     // points of the series; 0: history->count
    const double *lower_ns, *upper_ns; // one per point, or NULL: no intervals
    const struct chart_mark *marks;
    size_t mark_count;
    // What addresses call the chart, and the name by which chart.js finds its data, which lies
    // elsewhere; NULL: it is put beside.
    const char *data_name, *line_name;
    bool undrawn;                     // nothing is drawn: a script does it
    const struct chart_level *levels; // ascending; drawn above the times
    size_t level_count;
};

// From this point on the series has a code of this level, log ratio with its interval. Another
// group's levels cannot be compared with it.
struct chart_level {
    size_t index;
    struct interval level;
    size_t group;
};

// Writes <div class="ts">; at least one point is needed.
void series_chart(struct markup *m, const struct series_chart *chart);
// The index of the first point with this commit, or of the newest shown that is not later.
size_t series_place(const struct series_chart *chart, const char *commit, int64_t time_s);
const char *series_mark_name(enum chart_mark_kind kind);

// Indices of the points that are shown, ascending; at most `most` >= 2. The caller frees.
size_t *series_thin(const struct history *history, size_t most, size_t *count);

#endif
