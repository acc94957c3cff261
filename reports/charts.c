// SPDX-License-Identifier: Apache-2.0
//
// Figures over many series: the forest plot's rows and the sorted curves.
#include "reports/charts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

const char *chart_class(const struct view *view)
{
    static const char *const classes[VERDICT_KINDS] = {
        [VERDICT_SAME] = "v-same",     [VERDICT_SLOWER] = "v-slower",
        [VERDICT_FASTER] = "v-faster", [VERDICT_UNDECIDED] = "v-undecided",
        [VERDICT_BROKEN] = "v-broken", [VERDICT_NEW] = "v-new",
    };
    return view->is_environment ? "v-environment" : classes[view->result->verdict.kind];
}

enum svg_shape chart_shape(enum verdict_kind kind)
{
    static const enum svg_shape shapes[VERDICT_KINDS] = {
        [VERDICT_SAME] = SHAPE_DOT,     [VERDICT_SLOWER] = SHAPE_UP,
        [VERDICT_FASTER] = SHAPE_DOWN,  [VERDICT_UNDECIDED] = SHAPE_DIAMOND,
        [VERDICT_BROKEN] = SHAPE_CROSS, [VERDICT_NEW] = SHAPE_SQUARE,
    };
    return shapes[kind];
}

static void widen(struct scale *s, double value)
{
    if (!isfinite(value))
        return;
    s->low = fmin(s->low, value);
    s->high = fmax(s->high, value);
}

struct scale chart_change_scale(const struct view *views, size_t count, double from, double to)
{
    struct scale x = {0, 0, from, to};
    for (size_t i = 0; i < count; i++) {
        double margin = views[i].result->verdict.margin;
        widen(&x, views[i].change);
        widen(&x, isnan(views[i].change) ? NAN : views[i].lower);
        widen(&x, isnan(views[i].change) ? NAN : views[i].upper);
        widen(&x, margin);
        widen(&x, -margin);
    }
    x.low = fmax(x.low, -0.5);
    x.high = fmin(x.high, 1.0);
    scale_pad(&x, 0.06);
    return x;
}

// Where a bound is drawn; beyond the edge it becomes an arrow head there.
static double clamp_bound(struct markup *m, const char *class, const struct scale *x, double value,
                          double y)
{
    char d[96];
    if (scale_covers(x, value))
        return scale_at(x, value);
    bool left = value < x->low || isnan(value);
    double at = left ? x->from : x->to, back = left ? 4 : -4;
    snprintf(d, sizeof(d), "M%.1f %.1fl%.1f -3v6z", at, y, back);
    svg_path(m, class, d);
    return at;
}

void chart_interval(struct markup *m, const struct view *view, const struct scale *x, double width)
{
    const double height = 22, y = height / 2;
    const char *class = chart_class(view);
    double margin = view->result->verdict.margin;
    svg_begin(m, "forest", width, height, NULL);
    if (margin > 0) {
        double left = scale_at(x, fmax(-margin, x->low)),
               right = scale_at(x, fmin(margin, x->high));
        svg_rect(m, "band", left, 0, right - left, height);
    }
    svg_line(m, "zero", scale_at(x, 0), 0, scale_at(x, 0), height);
    if (isfinite(view->change)) {
        char line[48];
        snprintf(line, sizeof(line), "interval %s", class);
        double low = clamp_bound(m, class, x, view->lower, y);
        double high = clamp_bound(m, class, x, view->upper, y);
        svg_line(m, line, low, y, high, y);
        if (scale_covers(x, view->change))
            svg_marker(m, class, chart_shape(view->result->verdict.kind), scale_at(x, view->change),
                       y, 4);
    }
    svg_end(m);
}

void chart_interval_axis(struct markup *m, const struct scale *x, double width)
{
    double ticks[TICKS];
    char label[32];
    size_t count = svg_ticks(ticks, x->low * 100, x->high * 100, 6);
    svg_begin(m, "forest", width, 14, NULL);
    for (size_t i = 0; i < count; i++) {
        double at = scale_at(x, ticks[i] / 100);
        snprintf(label, sizeof(label), "%s%g%s",
                 ticks[i] < 0   ? "−"
                 : ticks[i] > 0 ? "+"
                                : "",
                 fabs(ticks[i]), i + 1 == count ? " %" : "");
        svg_text(m, "tick", at, 11, "middle", label);
    }
    svg_end(m);
}

static int by_change(const void *left, const void *right)
{
    double a = (*(const struct view *const *)left)->change;
    double b = (*(const struct view *const *)right)->change;
    return (a > b) - (a < b);
}

static int by_accuracy(const void *left, const void *right)
{
    double a = (*(const struct view *const *)left)->actual_predicted;
    double b = (*(const struct view *const *)right)->actual_predicted;
    return (a > b) - (a < b);
}

// Borrowed pointers to the views that have a value, sorted; the caller frees the array.
static const struct view **sorted(const struct view *views, size_t count, bool accuracy,
                                  size_t *used)
{
    const struct view **list = xcalloc(count ? count : 1, sizeof(*list));
    *used = 0;
    for (size_t i = 0; i < count; i++) {
        double value = accuracy ? views[i].actual_predicted : views[i].change;
        if (isfinite(value))
            list[(*used)++] = &views[i];
    }
    qsort(list, *used, sizeof(*list), accuracy ? by_accuracy : by_change);
    return list;
}

enum { CURVE_WIDTH = 460, CURVE_HEIGHT = 240, LEFT = 54, RIGHT = 12, TOP = 12, BOTTOM = 34 };

static struct scale curve_x(size_t count)
{
    return (struct scale){-0.5, (double)count - 0.5, LEFT, CURVE_WIDTH - RIGHT};
}

static void curve_caption(struct markup *m, size_t count)
{
    char text[64];
    snprintf(text, sizeof(text), "%zu series, sorted", count);
    svg_text(m, "tick", (LEFT + CURVE_WIDTH - RIGHT) / 2.0, CURVE_HEIGHT - 10, "middle", text);
}

void chart_curve_change(struct markup *m, const struct view *views, size_t count)
{
    size_t used;
    const struct view **list = sorted(views, count, false, &used);
    struct scale x = curve_x(used);
    struct scale y = chart_change_scale(views, count, CURVE_HEIGHT - BOTTOM, TOP);
    svg_begin(m, "chart", CURVE_WIDTH, CURVE_HEIGHT,
              "All series sorted by change, each with its interval");
    svg_axis_left(m, &y, LEFT, CURVE_WIDTH - RIGHT, 100, " %");
    for (size_t i = 0; i < used; i++) {
        char class[48];
        double at = scale_at(&x, (double)i);
        snprintf(class, sizeof(class), "interval thin %s", chart_class(list[i]));
        svg_line(m, class, at, scale_at(&y, fmin(list[i]->upper, y.high)), at,
                 scale_at(&y, fmax(list[i]->lower, y.low)));
        if (scale_covers(&y, list[i]->change))
            svg_marker(m, chart_class(list[i]), chart_shape(list[i]->result->verdict.kind), at,
                       scale_at(&y, list[i]->change), used > 120 ? 2 : 3.5);
    }
    curve_caption(m, used);
    svg_end(m);
    free(list);
}

// On a logarithmic axis: twice and half are equally far from 1.
void chart_curve_accuracy(struct markup *m, const struct view *views, size_t count)
{
    static const double ratios[] = {0.1, 0.2, 0.5, 0.8, 0.9, 1,  1.1, 1.25,
                                    1.5, 2,   3,   5,   10,  20, 50};
    size_t used;
    const struct view **list = sorted(views, count, true, &used);
    struct scale x = curve_x(used);
    struct scale y = {log(0.9), log(1.1), CURVE_HEIGHT - BOTTOM, TOP};
    char label[32];
    for (size_t i = 0; i < used; i++)
        widen(&y, log(list[i]->actual_predicted));
    scale_pad(&y, 0.05);
    svg_begin(m, "chart", CURVE_WIDTH, CURVE_HEIGHT,
              "All series sorted by measured time over predicted time");
    double high = scale_at(&y, log(1.1)), low = scale_at(&y, log(0.9)), last = -100;
    svg_rect(m, "band", LEFT, high, CURVE_WIDTH - RIGHT - LEFT, low - high);
    for (size_t i = ARRAY_COUNT(ratios); i-- > 0;) {
        double at = scale_at(&y, log(ratios[i]));
        if (!scale_covers(&y, log(ratios[i])) || (fabs(at - last) < 14 && ratios[i] != 1))
            continue;
        last = at;
        snprintf(label, sizeof(label), "%g", ratios[i]);
        svg_line(m, ratios[i] == 1 ? "grid zero" : "grid", LEFT, at, CURVE_WIDTH - RIGHT, at);
        svg_text(m, "tick", LEFT - 5, at + 4, "end", label);
    }
    for (size_t i = 0; i < used; i++)
        svg_marker(m, "v-point", SHAPE_DOT, scale_at(&x, (double)i),
                   scale_at(&y, log(list[i]->actual_predicted)), used > 120 ? 1.6 : 3);
    curve_caption(m, used);
    svg_end(m);
    free(list);
}
