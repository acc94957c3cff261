// SPDX-License-Identifier: Apache-2.0
//
// Figures over time: sparklines, nightly trends, pipeline timelines.
#include "reports/charts/charts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void chart_spark(struct markup *m, const double *values, size_t count, double span)
{
    enum { WIDTH = 104, ROW = 22 };
    struct scale x = {0, count > 1 ? (double)count - 1 : 1, 2, WIDTH - 2};
    struct scale y = {INFINITY, -INFINITY, ROW - 3, 3};
    struct buffer path = {0};
    for (size_t i = 0; i < count; i++) {
        if (values[i] > 0 && isfinite(values[i])) {
            y.low = fmin(y.low, values[i]);
            y.high = fmax(y.high, values[i]);
        }
    }
    double middle = (y.low + y.high) / 2;
    y.low = fmin(y.low, middle * (1 - span / 2));
    y.high = fmax(y.high, middle * (1 + span / 2));
    for (size_t i = 0; i < count; i++) {
        if (values[i] > 0 && isfinite(values[i]))
            buffer_printf(&path, "%c%.0f %.1f", path.length ? 'L' : 'M', scale_at(&x, (double)i),
                          scale_at(&y, values[i]));
    }
    if (path.length > 0) {
        svg_begin(m, "forest", WIDTH, ROW, NULL);
        svg_path(m, "curve head thin", path.bytes);
        svg_end(m);
    }
    buffer_free(&path);
}

void chart_trend(struct markup *m, const struct chart_trend_axis *axis, const double *values,
                 const int64_t *times_s, size_t count, const size_t *changes, size_t change_count)
{
    enum { WIDTH = 460, HEIGHT = 170, LEFT = 54, RIGHT = 14, TOP = 10, BOTTOM = 140, DOTS = 60 };
    struct scale x = {-0.5, (double)count - 0.5, LEFT, WIDTH - RIGHT};
    struct scale y = {axis->low, axis->high, BOTTOM, TOP};
    struct buffer path = {0};
    char first[VIEW_TEXT], last[VIEW_TEXT];
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(values[i]))
            continue;
        y.high = fmax(y.high, values[i] + 0.1 * fabs(values[i]));
        y.low = fmin(y.low, values[i] - 0.1 * fabs(values[i]));
    }
    svg_begin(m, "chart", WIDTH, HEIGHT, axis->label);
    svg_axis_left(m, &y, LEFT, WIDTH - RIGHT, axis->factor, axis->unit);
    for (size_t i = 0; i < count; i++) {
        if (isfinite(values[i]))
            buffer_printf(&path, "%c%.1f %.1f", path.length ? 'L' : 'M', scale_at(&x, (double)i),
                          scale_at(&y, values[i]));
    }
    if (path.length > 0)
        svg_path(m, "curve head", path.bytes);
    for (size_t i = 0; i < count && count <= DOTS; i++) {
        if (isfinite(values[i]))
            svg_marker(m, "v-point", SHAPE_DOT, scale_at(&x, (double)i), scale_at(&y, values[i]),
                       2.5);
    }
    for (size_t i = 0; i < change_count; i++) {
        double at = scale_at(&x, (double)changes[i] - 0.5);
        svg_line(m, "change", at, TOP, at, BOTTOM);
    }
    view_date(first, count ? times_s[0] : 0);
    view_date(last, count ? times_s[count - 1] : 0);
    first[10] = last[10] = '\0';
    svg_text(m, "tick", LEFT, HEIGHT - 10, "start", first);
    svg_text(m, "tick", WIDTH - RIGHT, HEIGHT - 10, "end", last);
    svg_end(m);
    buffer_free(&path);
}

enum { LANES = 24, SPANS = 4000 };

// Lanes in order of appearance; what comes after the 24th is left out.
static size_t lanes_of(const struct chart_span *spans, size_t count, const char *lanes[LANES])
{
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        size_t l = 0;
        while (l < used && strcmp(lanes[l], spans[i].lane) != 0)
            l++;
        if (l == used && used < LANES)
            lanes[used++] = spans[i].lane;
    }
    return used;
}

void chart_timeline(struct markup *m, const struct chart_span *spans, size_t count)
{
    enum { WIDTH = 940, LEFT = 110, RIGHT = 14, ROW = 22, TOP = 4 };
    const char *lanes[LANES];
    size_t used = lanes_of(spans, count, lanes);
    double bottom = TOP + (double)used * ROW, factor = 1;
    struct scale x = {0, 1, LEFT, WIDTH - RIGHT};
    for (size_t i = 0; i < count; i++)
        x.high = isfinite(spans[i].end_ns) ? fmax(x.high, spans[i].end_ns) : x.high;
    svg_begin(m, "chart wide", WIDTH, bottom + 24, "What each lane of the pipeline does over time");
    const char *unit = view_unit(x.high, &factor);
    svg_axis(m, &x, bottom, TOP, factor, unit);
    for (size_t l = 0; l < used; l++)
        svg_text(m, "tick", LEFT - 6, TOP + (double)l * ROW + 15, "end", lanes[l]);
    for (size_t i = 0; i < count && i < SPANS; i++) {
        size_t l = 0;
        while (l < used && strcmp(lanes[l], spans[i].lane) != 0)
            l++;
        double from = scale_at(&x, spans[i].start_ns), to = scale_at(&x, spans[i].end_ns);
        if (l == used || !(to >= from))
            continue;
        double y = TOP + (double)l * ROW;
        svg_rect(m, i % 2 ? "part even" : "part", from, y + 3, fmax(to - from - 0.5, 0.5), ROW - 6);
        if (to - from > 14.0 + 6.0 * (double)strlen(spans[i].label))
            svg_text(m, i % 2 ? "tick even" : "tick inside", (from + to) / 2, y + 15, "middle",
                     spans[i].label);
    }
    svg_end(m);
}
