// SPDX-License-Identifier: Apache-2.0
//
// The figures of the pages, and figures that are files of their own. Each is a pure function of its
// data. A figure drawn into an XML document (MARKUP_XML) becomes that document: its label becomes
// the title, and the style is included, with the colours of the light theme.
#ifndef PLUMB_REPORTS_CHARTS_H
#define PLUMB_REPORTS_CHARTS_H

#include "model/predict/parts/accuracy.h"
#include "model/predict/parts/pipeline.h"
#include "reports/text/markup.h"
#include "reports/view.h"

// Figures are SVG and need no script. assets/chart.css gives their look by class, so the same
// figure works on a light page, on a dark page and in print. Lengths are CSS pixels at scale 1:1.

// A linear map from [low, high] to [from, to]; from > to for an axis that grows upwards.
struct scale {
    double low, high, from, to;
};
// A drawn sign of a verdict: its shape says the same as its colour.
enum svg_shape { SHAPE_UP, SHAPE_DOWN, SHAPE_DOT, SHAPE_DIAMOND, SHAPE_CROSS, SHAPE_SQUARE };

// The range of relative changes that a column of intervals shows: large enough for all of them
// where possible, and at most -50 % .. +100 %. An interval beyond that is drawn as an arrow at the
// edge.
struct scale chart_change_scale(const struct view *views, size_t count, double from, double to);
// One row of a forest plot: the margin as a band around zero, the interval as a line, the estimate
// as the verdict's shape.
void chart_interval(struct markup *m, const struct view *view, const struct scale *x, double width);
// The axis above a column of such rows.
void chart_interval_axis(struct markup *m, const struct scale *x, double width);

// The samples of base and head: one dot each, and below them their cumulative distributions.
void chart_samples(struct markup *m, const struct view *view);
// Head / base of each pair, in the order in which the pairs were taken, with lines where processes
// begin: it shows drift.
void chart_pairs(struct markup *m, const struct view *view);
// The prediction's parts as a waterfall up to its total, with the measured time beside it (NaN:
// none).
void chart_parts(struct markup *m, const struct prediction *prediction, double measured_ns);

// One series in a sorted curve. Points whose value is NaN are left out. The functions that draw
// such curves sort the points that they get.
struct curve_point {
    struct interval y; // a relative change, or actual / predicted (which has no bounds)
    const char *class; // the class of its verdict
    enum svg_shape shape;
};
void chart_curve_change(struct markup *m, struct curve_point *points, size_t count);
void chart_curve_accuracy(struct markup *m, struct curve_point *points, size_t count);
// A model's S-curve: predicted over measured time of each row, sorted. `title` says what the rows
// are.
void chart_scurve(struct markup *m, const struct accuracy_row *rows, size_t count,
                  const char *title);
// The same data as bars from 0, as seed 0 draws them: one bar for each row. If there are too many
// rows, rows at equal distances are drawn.
void chart_bars(struct markup *m, const struct accuracy_row *rows, size_t count, const char *title);
// One of the two sorted curves as a figure with its caption.
void chart_figure(struct markup *m, const char *caption, struct curve_point *points, size_t count,
                  void (*draw)(struct markup *, struct curve_point *, size_t));

// A small line for a table cell. The cell's height stands for at least `span` (relative), so that
// noise does not look like a large change. Negative values are left out; without others nothing is
// drawn.
void chart_spark(struct markup *m, const double *values, size_t count, double span);
// A figure of each run in their order, with dashed lines where its level changed. The axis covers
// low..high and all values; its ticks show value * factor with the unit.
struct chart_trend_axis {
    const char *label;
    double factor;
    const char *unit;
    double low, high;
};
void chart_trend(struct markup *m, const struct chart_trend_axis *axis, const double *values,
                 const int64_t *times_s, size_t count, const size_t *changes, size_t change_count);
// Boxes in lanes over time. Lanes stand in the order of appearance, 24 at most.
struct chart_span {
    const char *lane, *label;
    double start, end;
};
struct chart_timeline {
    const char *title;
    const char *unit; // the unit of the spans' times; NULL: they are ns, and are shown in a
                      // suitable unit
    const struct chart_span *spans;
    size_t count;
};
void chart_timeline(struct markup *m, const struct chart_timeline *timeline);
// The spans of a wave's first stages, at most `most`, and of the wave's end if there are no more
// stages.
struct chart_span *chart_pipeline(size_t *count, const struct pipeline *pipeline,
                                  const struct pipeline_events *events, size_t most,
                                  struct arena *arena);
// All spans of one wave. The title gives the wave's time and how long the MATH warp waits.
void chart_wave(struct markup *m, const struct pipeline *pipeline,
                const struct pipeline_events *events, const char *unit);

// Lines of several things over one quantity; both axes are logarithmic.
struct chart_lines {
    const char *title, *below; // below: what the horizontal axis shows
    struct scale x, y;         // the caller sets x.low and y.low, both above 0; chart_lines_begin()
                               // sets the rest
};
enum { CHART_COLOURS = 10 };
void chart_lines_begin(struct markup *m, struct chart_lines *lines); // markup_end() ends it
// Adds a line. Values that are not above 0 are left out. `colour` is below CHART_COLOURS. With
// `name` NULL the line is dashed and unnamed: it shows other figures of the line with the same
// colour.
void chart_lines_add(struct markup *m, const struct chart_lines *lines, const char *name,
                     unsigned colour, const double *x, const double *y, size_t count);

// The number of series of each verdict, as a list.
void chart_counts(struct markup *m, const size_t counts[VERDICT_KINDS]);

// The class that colours a verdict, such as "v-slower".
const char *chart_class(const struct view *view);
const char *chart_verdict_class(enum verdict_kind kind, bool is_environment);
enum svg_shape chart_shape(enum verdict_kind kind);

// ==== the chart of one series over commits ====
//
// The chart of one series over commits: a static SVG, and beside it the same data for a chart that
// can be zoomed (page.js draws it with dygraphs). Ten thousand commits are thinned to at most
// SERIES_CHART_POINTS: of each stretch the smallest and the largest time stay, so that no spike and
// no step is lost, only repetition.

// The static drawing shows fewer points, because more than some per pixel column would not be seen.
enum { SERIES_CHART_POINTS = 600, SERIES_STILL_POINTS = 200 };

// A vertical line before the point `index` of the series.
enum chart_mark_kind {
    MARK_SLOWER, // a change that was found and makes the series slower
    MARK_FASTER,
    MARK_EPOCH, // an accepted change of baseline
    MARK_BREAK, // a declared change of driver, runtime, model or device
};
struct chart_mark {
    size_t index;
    const char *text;
    enum chart_mark_kind kind;
};

struct series_chart {
    const struct history *history;
    const size_t *at; // for each point its index in the series, ascending; NULL: all points of the
                      // series are there
    size_t total;     // number of the series' points; 0: history->count
    const double *lower_ns, *upper_ns; // one per point, or NULL: no intervals
    const struct chart_mark *marks;
    size_t mark_count;
    // The name that addresses use for the chart, and the name by which chart.js finds its data in
    // another file; NULL: the data is put beside the chart.
    const char *data_name, *line_name;
    bool undrawn;                     // no static drawing is made, because a script draws the chart
    const struct chart_level *levels; // ascending; drawn above the times
    size_t level_count;
};

// From this point on the code of the series has this level, a log ratio with its interval. Levels
// of different groups cannot be compared.
struct chart_level {
    size_t index;
    struct interval level;
    size_t group;
};

// Writes the chart as <div class="ts">. The series must have a point.
void series_chart(struct markup *m, const struct series_chart *chart);
// The index of the first point with this commit, or else of the newest shown point that is not
// later.
size_t series_place(const struct series_chart *chart, const char *commit, int64_t time_s);
const char *series_mark_name(enum chart_mark_kind kind);

// Chooses the points that are shown, at most `most` >= 2, and returns their indices, ascending. The
// caller frees.
size_t *series_thin(const struct history *history, size_t most, size_t *count);

#endif
