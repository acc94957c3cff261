// SPDX-License-Identifier: Apache-2.0
//
// The levels of a series' codes over commits: a stair with its intervals. Levels that nothing links
// are not joined. Of many the extremes of each stretch are drawn.
#include "reports/charts/series_chart.h"

#include <math.h>
#include <stdlib.h>

enum { HEIGHT = 170, TOP = 12, BOTTOM = 160, LEAST = 1000, DATES = 24 };

static double percent(double log_ratio)
{
    return expm1(log_ratio);
}

static struct scale level_scale(const struct series_chart *c)
{
    struct scale y = {INFINITY, -INFINITY, BOTTOM, TOP};
    for (size_t i = 0; i < c->level_count; i++) {
        y.low = fmin(y.low, percent(c->levels[i].level.low));
        y.high = fmax(y.high, percent(c->levels[i].level.high));
    }
    // At least a tenth of a percent, so that nothing does not look like something.
    const double least = fmax(1.0 / LEAST - (y.high - y.low), 0) / 2;
    y.low -= least;
    y.high += least;
    scale_pad(&y, 0.12);
    return y;
}

struct stair {
    const struct chart_level *levels;
    const size_t *shown; // indices of levels, ascending
    size_t count;
    const struct scale *x, *y;
};

static const struct chart_level *step_of(const struct stair *s, size_t k)
{
    return &s->levels[s->shown[k]];
}

static double from_of(const struct stair *s, size_t k)
{
    return scale_at(s->x, (double)step_of(s, k)->index - 0.5);
}

static double to_of(const struct stair *s, size_t k)
{
    return k + 1 < s->count ? from_of(s, k + 1) : scale_at(s->x, s->x->high);
}

static bool is_joined(const struct stair *s, size_t k)
{
    return k > 0 && step_of(s, k - 1)->group == step_of(s, k)->group;
}

// The levels of one group from `first` to before `end`: along the top, and back along the bottom.
static void draw_band(struct buffer *path, const struct stair *s, size_t first, size_t end)
{
    for (size_t k = first; k < end; k++) {
        const double at = scale_at(s->y, percent(step_of(s, k)->level.high));
        svg_step(path, k > first ? 'L' : 'M', from_of(s, k), at);
        svg_step(path, 'L', to_of(s, k), at);
    }
    for (size_t k = end; k-- > first;) {
        const double at = scale_at(s->y, percent(step_of(s, k)->level.low));
        svg_step(path, 'L', to_of(s, k), at);
        svg_step(path, 'L', from_of(s, k), at);
    }
}

static void draw_stair(struct markup *m, const struct stair *s)
{
    struct buffer line = {0}, area = {0};
    for (size_t k = 0, end; k < s->count; k = end) {
        for (end = k + 1; end < s->count && is_joined(s, end);)
            end++;
        draw_band(&area, s, k, end);
    }
    for (size_t k = 0; k < s->count; k++) {
        const double at = scale_at(s->y, percent(step_of(s, k)->level.value));
        svg_step(&line, is_joined(s, k) ? 'L' : 'M', from_of(s, k), at);
        svg_step(&line, 'L', to_of(s, k), at);
    }
    svg_path(m, "area", area.bytes);
    svg_path(m, "curve level", line.bytes);
    buffer_free(&area);
    buffer_free(&line);
}

// The caller frees.
static size_t *thinned(const struct series_chart *c, size_t *count)
{
    struct history h = {.points = xcalloc(c->level_count, sizeof(*h.points)),
                        .count = c->level_count};
    for (size_t i = 0; i < c->level_count; i++)
        h.points[i].time_ns = exp(c->levels[i].level.value);
    size_t *shown = series_thin(&h, SERIES_STILL_POINTS, count);
    free(h.points);
    return shown;
}

void level_chart(struct markup *m, const struct series_chart *c)
{
    const size_t total = c->total ? c->total : c->history->count;
    const struct scale x = {-0.5, (double)total - 0.5, SERIES_CHART_LEFT,
                            SERIES_CHART_WIDE - SERIES_CHART_RIGHT};
    const struct scale y = level_scale(c);
    const bool alone = !series_is_timed(c->history); // no chart of times below it has the dates
    svg_begin(m, "chart wide", SERIES_CHART_WIDE, HEIGHT + (alone ? DATES : 0),
              "Level of each code over commits, measured side by side, with its interval");
    svg_axis_left(m, &y, x.from, x.to, 100, " %");
    if (scale_covers(&y, 0))
        svg_line(m, "zero", x.from, scale_at(&y, 0), x.to, scale_at(&y, 0));
    size_t count, *shown = thinned(c, &count);
    draw_stair(m, &(struct stair){c->levels, shown, count, &x, &y});
    free(shown);
    series_marks(m, c, &x, TOP, BOTTOM, true);
    if (alone)
        series_dates(m, c->history, HEIGHT + DATES - 8);
    svg_end(m);
}
