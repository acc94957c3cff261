// SPDX-License-Identifier: Apache-2.0
//
// Figures over many series: the forest plot's rows and the sorted curves.
#include "reports/charts/charts.h"

#include "reports/text/page.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

const char *chart_verdict_class(enum verdict_kind kind, bool is_environment)
{
    static const char *const classes[VERDICT_KINDS] = {
        [VERDICT_NOT_MEASURED] = "v-unmeasured",
        [VERDICT_SAME] = "v-same",
        [VERDICT_SLOWER] = "v-slower",
        [VERDICT_FASTER] = "v-faster",
        [VERDICT_UNDECIDED] = "v-undecided",
        [VERDICT_BROKEN] = "v-broken",
        [VERDICT_NEW] = "v-new",
        [VERDICT_ACCEPTED] = "v-accepted",
    };
    return is_environment ? "v-environment" : classes[kind];
}

const char *chart_class(const struct view *view)
{
    return chart_verdict_class(view->result->verdict.kind, view->is_environment);
}

enum svg_shape chart_shape(enum verdict_kind kind)
{
    static const enum svg_shape shapes[VERDICT_KINDS] = {
        [VERDICT_NOT_MEASURED] = SHAPE_DIAMOND,
        [VERDICT_SAME] = SHAPE_DOT,
        [VERDICT_SLOWER] = SHAPE_UP,
        [VERDICT_FASTER] = SHAPE_DOWN,
        [VERDICT_UNDECIDED] = SHAPE_DIAMOND,
        [VERDICT_BROKEN] = SHAPE_CROSS,
        [VERDICT_NEW] = SHAPE_SQUARE,
        [VERDICT_ACCEPTED] = SHAPE_UP,
    };
    return shapes[kind];
}

void chart_counts(struct markup *m, const size_t counts[VERDICT_KINDS])
{
    markup_open(m, "ul", "counts");
    markup_attr(m, "aria-label", "Series by verdict");
    for (size_t i = 0; i < VERDICT_KINDS; i++) {
        const enum verdict_kind kind = verdict_order[i];
        markup_start(m, "li");
        markup_attrf(m, "class", "%s%s", chart_verdict_class(kind, false),
                     counts[kind] ? "" : " zero");
        markup_elementf(m, "b", NULL, "%zu", counts[kind]);
        markup_text(m, " ");
        page_tag(m, "", view_symbol(kind), verdict_kind_name(kind));
        markup_end(m);
    }
    markup_end(m);
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
        widen(&x, views[i].change.value);
        widen(&x, isnan(views[i].change.value) ? NAN : views[i].change.low);
        widen(&x, isnan(views[i].change.value) ? NAN : views[i].change.high);
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
    if (isfinite(view->change.value)) {
        char line[48];
        snprintf(line, sizeof(line), "interval %s", class);
        double low = clamp_bound(m, class, x, view->change.low, y);
        double high = clamp_bound(m, class, x, view->change.high, y);
        svg_line(m, line, low, y, high, y);
        if (scale_covers(x, view->change.value))
            svg_marker(m, class, chart_shape(view->result->verdict.kind),
                       scale_at(x, view->change.value), y, 4);
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

static int by_value(const void *left, const void *right)
{
    double a = ((const struct curve_point *)left)->y.value;
    double b = ((const struct curve_point *)right)->y.value;
    return (a > b) - (a < b);
}

// Moves the points that have a value to the front, sorted; returns how many.
static size_t sort_points(struct curve_point *points, size_t count)
{
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        if (isfinite(points[i].y.value))
            points[used++] = points[i];
    }
    qsort(points, used, sizeof(*points), by_value);
    return used;
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

void chart_curve_change(struct markup *m, struct curve_point *points, size_t count)
{
    size_t used = sort_points(points, count);
    struct scale x = curve_x(used), y = {-0.005, 0.005, CURVE_HEIGHT - BOTTOM, TOP};
    for (size_t i = 0; i < used; i++) {
        widen(&y, points[i].y.value);
        widen(&y, points[i].y.low);
        widen(&y, points[i].y.high);
    }
    y.low = fmax(y.low, -0.5);
    y.high = fmin(y.high, 1.0);
    scale_pad(&y, 0.06);
    svg_begin(m, "chart", CURVE_WIDTH, CURVE_HEIGHT,
              "All series sorted by change, each with its interval");
    svg_axis_left(m, &y, LEFT, CURVE_WIDTH - RIGHT, 100, " %");
    for (size_t i = 0; i < used; i++) {
        const struct curve_point *p = &points[i];
        char class[48];
        double at = scale_at(&x, (double)i);
        snprintf(class, sizeof(class), "interval thin %s", p->class);
        if (p->y.high > p->y.low)
            svg_line(m, class, at, scale_at(&y, fmin(p->y.high, y.high)), at,
                     scale_at(&y, fmax(p->y.low, y.low)));
        if (scale_covers(&y, p->y.value))
            svg_marker(m, p->class, p->shape, at, scale_at(&y, p->y.value), used > 120 ? 2 : 3.5);
    }
    curve_caption(m, used);
    svg_end(m);
}

static void ratio_grid(struct markup *m, const struct scale *y)
{
    static const double ratios[] = {50,  20, 10,  5,   3,   2,   1.5, 1.25,
                                    1.1, 1,  0.9, 0.8, 0.5, 0.2, 0.1};
    double last = -100;
    char label[32];
    for (size_t i = 0; i < ARRAY_COUNT(ratios); i++) {
        double at = scale_at(y, log(ratios[i]));
        bool crowded = fabs(at - last) < 14 || fabs(at - scale_at(y, 0)) < 14; // 1 always stays
        if (!scale_covers(y, log(ratios[i])) || (crowded && ratios[i] != 1))
            continue;
        last = at;
        snprintf(label, sizeof(label), "%g", ratios[i]);
        svg_line(m, ratios[i] == 1 ? "grid zero" : "grid", LEFT, at, CURVE_WIDTH - RIGHT, at);
        svg_text(m, "tick", LEFT - 5, at + 4, "end", label);
    }
}

// On a logarithmic axis: twice and half are equally far from 1.
void chart_curve_accuracy(struct markup *m, struct curve_point *points, size_t count)
{
    size_t used = sort_points(points, count);
    struct scale x = curve_x(used), y = {log(0.9), log(1.1), CURVE_HEIGHT - BOTTOM, TOP};
    for (size_t i = 0; i < used; i++)
        widen(&y, log(points[i].y.value));
    scale_pad(&y, 0.05);
    svg_begin(m, "chart", CURVE_WIDTH, CURVE_HEIGHT,
              "All series sorted by measured time over predicted time");
    double high = scale_at(&y, log(1.1)), low = scale_at(&y, log(0.9));
    svg_rect(m, "band", LEFT, high, CURVE_WIDTH - RIGHT - LEFT, low - high);
    ratio_grid(m, &y);
    for (size_t i = 0; i < used; i++)
        svg_marker(m, "v-point", SHAPE_DOT, scale_at(&x, (double)i),
                   scale_at(&y, log(points[i].y.value)), used > 120 ? 1.6 : 3);
    curve_caption(m, used);
    svg_end(m);
}

void chart_figure(struct markup *m, const char *caption, struct curve_point *points, size_t count,
                  void (*draw)(struct markup *, struct curve_point *, size_t))
{
    markup_open(m, "figure", "card");
    markup_element(m, "figcaption", NULL, caption);
    draw(m, points, count);
    markup_end(m);
}
