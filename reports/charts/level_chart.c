// SPDX-License-Identifier: Apache-2.0
//
// The levels of a series' codes over commits: a stair with its intervals. Levels that nothing links
// are not joined.
#include "reports/charts/series_chart.h"

#include <math.h>

enum { HEIGHT = 170, TOP = 12, BOTTOM = 160, LEAST = 1000 };

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

static double end_of(const struct series_chart *c, size_t i, const struct scale *x)
{
    return scale_at(x, i + 1 < c->level_count ? (double)c->levels[i + 1].index - 0.5 : x->high);
}

static void draw_stair(struct markup *m, const struct series_chart *c, const struct scale *x,
                       const struct scale *y)
{
    struct buffer path = {0};
    for (size_t i = 0; i < c->level_count; i++) {
        const struct chart_level *l = &c->levels[i];
        const double from = scale_at(x, (double)l->index - 0.5), to = end_of(c, i, x);
        const double high = scale_at(y, percent(l->level.high)),
                     low = scale_at(y, percent(l->level.low));
        const double at = scale_at(y, percent(l->level.value));
        if (low - high >= 0.1)
            svg_rect(m, "area", from, high, fmax(to - from, 0.5), low - high);
        svg_step(&path, i && c->levels[i - 1].group == l->group ? 'L' : 'M', from, at);
        svg_step(&path, 'L', to, at);
    }
    svg_path(m, "curve level", path.bytes);
    buffer_free(&path);
}

void level_chart(struct markup *m, const struct series_chart *c)
{
    const size_t total = c->total ? c->total : c->history->count;
    const struct scale x = {-0.5, (double)total - 0.5, SERIES_CHART_LEFT,
                            SERIES_CHART_WIDE - SERIES_CHART_RIGHT};
    const struct scale y = level_scale(c);
    svg_begin(m, "chart wide", SERIES_CHART_WIDE, HEIGHT,
              "Level of each code over commits, measured side by side, with its interval");
    svg_axis_left(m, &y, x.from, x.to, 100, " %");
    if (scale_covers(&y, 0))
        svg_line(m, "zero", x.from, scale_at(&y, 0), x.to, scale_at(&y, 0));
    draw_stair(m, c, &x, &y);
    series_marks(m, c, &x, TOP, BOTTOM, true);
    svg_end(m);
}
