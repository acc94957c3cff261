// SPDX-License-Identifier: Apache-2.0
//
// The chart of one series over commits: a static SVG, and beside it the same data for the chart one
// can zoom (page.js draws it with dygraphs). Ten thousand commits are thinned to at most
// SERIES_CHART_POINTS: of each stretch the smallest and the largest time stay, so that no spike and
// no step is lost, only repetition.
#ifndef PLUMB_REPORTS_SERIES_CHART_H
#define PLUMB_REPORTS_SERIES_CHART_H

#include "reports/charts/svg.h"
#include "reports/view.h"

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
