// SPDX-License-Identifier: Apache-2.0
//
// Figures over many series (the rows of a forest plot, sorted curves), of one series (its samples,
// pairs and prediction), run by run, and of a model (its S-curve, its pipeline).
#include "reports/charts/charts.h"

#include "model/gate/gate.h"
#include "reports/charts/svg.h"
#include "reports/text/markup.h"
#include "reports/view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

enum {
    CURVE_WIDTH = 460,
    CURVE_HEIGHT = 240,
    CURVE_LEFT = 54,
    CURVE_RIGHT = 12,
    CURVE_UPPER = 12,
    CURVE_LOWER = 34
};

static struct scale curve_x(size_t count)
{
    return (struct scale){-0.5, (double)count - 0.5, CURVE_LEFT, CURVE_WIDTH - CURVE_RIGHT};
}

static void curve_caption(struct markup *m, size_t count, const char *what)
{
    char text[96];
    snprintf(text, sizeof(text), "%zu %s", count, what);
    svg_text(m, "tick", (CURVE_LEFT + CURVE_WIDTH - CURVE_RIGHT) / 2.0, CURVE_HEIGHT - 10, "middle",
             text);
}

void chart_curve_change(struct markup *m, struct curve_point *points, size_t count)
{
    size_t used = sort_points(points, count);
    struct scale x = curve_x(used), y = {-0.005, 0.005, CURVE_HEIGHT - CURVE_LOWER, CURVE_UPPER};
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
    svg_axis_left(m, &y, CURVE_LEFT, CURVE_WIDTH - CURVE_RIGHT, 100, " %");
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
    curve_caption(m, used, "series, sorted");
    svg_end(m);
}

static void ratio_grid(struct markup *m, const struct scale *y)
{
    static const double ratios[] = {1000, 100, 50,  20,  10,  5,   3,   2,    1.5,  1.25,
                                    1.1,  1,   0.9, 0.8, 0.5, 0.2, 0.1, 0.01, 0.001};
    double last = -100;
    char label[32];
    for (size_t i = 0; i < ARRAY_COUNT(ratios); i++) {
        double at = scale_at(y, log(ratios[i]));
        bool crowded = fabs(at - last) < 14 || fabs(at - scale_at(y, 0)) < 14; // 1 always stays
        if (!scale_covers(y, log(ratios[i])) || (crowded && ratios[i] != 1))
            continue;
        last = at;
        snprintf(label, sizeof(label), "%g", ratios[i]);
        svg_line(m, ratios[i] == 1 ? "grid zero" : "grid", CURVE_LEFT, at,
                 CURVE_WIDTH - CURVE_RIGHT, at);
        svg_text(m, "tick", CURVE_LEFT - 5, at + 4, "end", label);
    }
}

struct ratio_curve {
    const char *label, *what;
    bool is_line; // one line and not a dot each: a model's rows may be many thousands
};

// On a logarithmic axis: twice and half are equally far from 1.
static void draw_ratios(struct markup *m, const struct ratio_curve *curve,
                        struct curve_point *points, size_t count)
{
    size_t used = sort_points(points, count);
    struct scale x = curve_x(used),
                 y = {log(0.9), log(1.1), CURVE_HEIGHT - CURVE_LOWER, CURVE_UPPER};
    struct buffer path = {0};
    for (size_t i = 0; i < used; i++)
        widen(&y, log(points[i].y.value));
    scale_pad(&y, 0.05);
    svg_begin(m, "chart", CURVE_WIDTH, CURVE_HEIGHT, curve->label);
    double high = scale_at(&y, log(1.1)), low = scale_at(&y, log(0.9));
    svg_rect(m, "band", CURVE_LEFT, high, CURVE_WIDTH - CURVE_RIGHT - CURVE_LEFT, low - high);
    ratio_grid(m, &y);
    for (size_t i = 0; i < used; i++) {
        double at = scale_at(&x, (double)i), ratio = scale_at(&y, log(points[i].y.value));
        if (curve->is_line)
            svg_step(&path, path.length ? 'L' : 'M', at, ratio);
        else
            svg_marker(m, "v-point", SHAPE_DOT, at, ratio, used > 120 ? 1.6 : 3);
    }
    if (path.length > 0)
        svg_path(m, "curve head", path.bytes);
    curve_caption(m, used, curve->what);
    svg_end(m);
    buffer_free(&path);
}

void chart_curve_accuracy(struct markup *m, struct curve_point *points, size_t count)
{
    const struct ratio_curve curve = {"All series sorted by measured time over predicted time",
                                      "series, sorted", false};
    draw_ratios(m, &curve, points, count);
}

static struct curve_point *row_points(const struct accuracy_row *rows, size_t count)
{
    struct curve_point *points = xcalloc(count ? count : 1, sizeof(*points));
    for (size_t i = 0; i < count; i++)
        points[i].y.value = rows[i].predicted_ns / rows[i].measured_ns;
    return points;
}

void chart_scurve(struct markup *m, const struct accuracy_row *rows, size_t count,
                  const char *title)
{
    const struct ratio_curve curve = {title, "rows, sorted by predicted / measured", true};
    struct curve_point *points = row_points(rows, count);
    draw_ratios(m, &curve, points, count);
    free(points);
}

void chart_bars(struct markup *m, const struct accuracy_row *rows, size_t count, const char *title)
{
    enum { MOST = CURVE_WIDTH - CURVE_LEFT - CURVE_RIGHT };
    struct curve_point *points = row_points(rows, count);
    const size_t used = sort_points(points, count), bars = used < MOST ? used : MOST;
    struct scale x = {0, bars ? (double)bars : 1, CURVE_LEFT, CURVE_WIDTH - CURVE_RIGHT};
    struct scale y = {0, 1, CURVE_HEIGHT - CURVE_LOWER, CURVE_UPPER};
    struct buffer path = {0};
    if (used)
        y.high = fmax(1, points[used - 1].y.value);
    svg_begin(m, "chart", CURVE_WIDTH, CURVE_HEIGHT, title);
    svg_axis_left(m, &y, CURVE_LEFT, CURVE_WIDTH - CURVE_RIGHT, 1, "");
    for (size_t i = 0; i < bars; i++) {
        const size_t of = bars < 2 ? 0 : i * (used - 1) / (bars - 1);
        const double height = y.from - scale_at(&y, points[of].y.value);
        const double wide = scale_at(&x, (double)i + 0.8) - scale_at(&x, (double)i);
        buffer_printf(&path, "M%.2f %.1fv-%.2fh%.2fv%.2fz", scale_at(&x, (double)i + 0.1), y.from,
                      height, wide, height);
    }
    if (path.length > 0)
        svg_path(m, "part", path.bytes);
    svg_line(m, "axis", CURVE_LEFT, scale_at(&y, 1), CURVE_WIDTH - CURVE_RIGHT, scale_at(&y, 1));
    curve_caption(m, used, "rows, sorted by predicted / measured");
    svg_end(m);
    buffer_free(&path);
    free(points);
}

void chart_figure(struct markup *m, const char *caption, struct curve_point *points, size_t count,
                  void (*draw)(struct markup *, struct curve_point *, size_t))
{
    markup_open(m, "figure", "card");
    markup_element(m, "figcaption", NULL, caption);
    draw(m, points, count);
    markup_end(m);
}

// ---- one series: its samples, pairs and prediction ----------------------------------------------

enum { SERIES_WIDTH = 380, SERIES_LEFT = 54, SERIES_RIGHT = 14 };

static bool counts(const struct sample *s)
{
    return !s->excluded && s->time_ns > 0 && isfinite(s->time_ns);
}

// Times of the samples that count, sorted; the caller frees.
static double *sorted_times(const struct measurement *m, size_t *used)
{
    double *times = xcalloc(m->count ? m->count : 1, sizeof(*times));
    *used = 0;
    for (size_t i = 0; i < m->count; i++) {
        if (counts(&m->samples[i]))
            times[(*used)++] = m->samples[i].time_ns;
    }
    qsort(times, *used, sizeof(*times), rising_doubles);
    return times;
}

// Dots over time, spread over the row by a fixed pattern so that equal times stay visible.
static void draw_strip(struct markup *m, const char *class, const struct measurement *s,
                       const struct scale *x, double y)
{
    struct buffer d = {0};
    for (size_t i = 0; i < s->count; i++) {
        if (!counts(&s->samples[i]) || !scale_covers(x, s->samples[i].time_ns))
            continue;
        double jitter = (double)(i * 7 % 11) - 5;
        buffer_printf(&d, "M%.1f %.1fh0", scale_at(x, s->samples[i].time_ns), y + jitter * 1.3);
    }
    if (d.length > 0)
        svg_path(m, class, d.bytes);
    buffer_free(&d);
}

// Times beyond the scale are not drawn; the curve then ends short of the top, as it should.
static void draw_cumulative(struct markup *m, const char *class, const double *times, size_t count,
                            const struct scale *x, const struct scale *y)
{
    struct buffer d = {0};
    buffer_printf(&d, "M%.1f %.1f", x->from, scale_at(y, 0));
    for (size_t i = 0; i < count && times[i] <= x->high; i++)
        buffer_printf(&d, "H%.1fV%.1f", scale_at(x, fmax(times[i], x->low)),
                      scale_at(y, (double)(i + 1) / (double)count));
    svg_path(m, class, d.bytes);
    buffer_free(&d);
}

// From the 0 % to the 98 % point of both: a stall 30 % long must not squeeze the rest.
static struct scale time_scale(const double *base, size_t base_count, const double *head,
                               size_t head_count)
{
    struct scale x = {INFINITY, -INFINITY, SERIES_LEFT, SERIES_WIDTH - SERIES_RIGHT};
    if (base_count > 0) {
        x.low = base[0];
        x.high = base[(base_count - 1) * 98 / 100];
    }
    if (head_count > 0) {
        x.low = fmin(x.low, head[0]);
        x.high = fmax(x.high, head[(head_count - 1) * 98 / 100]);
    }
    scale_pad(&x, 0.05);
    return x;
}

void chart_samples(struct markup *m, const struct view *view)
{
    enum { HEIGHT = 236, STRIP = 22, CURVE_TOP = 92, CURVE_BOTTOM = 200 };
    const struct result *r = view->result;
    size_t base_count, head_count;
    double factor = 1;
    double *base = sorted_times(&r->base, &base_count), *head = sorted_times(&r->head, &head_count);
    struct scale x = time_scale(base, base_count, head, head_count);
    struct scale y = {0, 1, CURVE_BOTTOM, CURVE_TOP};
    const char *unit = view_unit(x.high, &factor);
    svg_begin(m, "chart", SERIES_WIDTH, HEIGHT,
              "Samples of base and head, and their cumulative distributions");
    svg_axis(m, &x, CURVE_BOTTOM, 8, factor, unit);
    if (base_count > 0) {
        svg_text(m, "tick", SERIES_LEFT - 6, STRIP + 4, "end", "base");
        draw_strip(m, "dots base", &r->base, &x, STRIP);
        draw_cumulative(m, "curve base", base, base_count, &x, &y);
        svg_line(m, "mean base", scale_at(&x, view->base_ns), 8, scale_at(&x, view->base_ns), 38);
    }
    if (head_count > 0) {
        svg_text(m, "tick", SERIES_LEFT - 6, STRIP + 44, "end", "head");
        draw_strip(m, "dots head", &r->head, &x, STRIP + 40);
        draw_cumulative(m, "curve head", head, head_count, &x, &y);
        svg_line(m, "mean head", scale_at(&x, view->head_ns), 48, scale_at(&x, view->head_ns), 78);
    }
    svg_text(m, "tick", SERIES_LEFT - 6, CURVE_TOP + 8, "end", "100 %");
    svg_text(m, "tick", SERIES_LEFT - 6, CURVE_BOTTOM, "end", "0 %");
    svg_text(m, "tick", (SERIES_LEFT + SERIES_WIDTH - SERIES_RIGHT) / 2.0, HEIGHT - 4, "middle",
             "time per launch; bars: trimmed means");
    svg_end(m);
    free(base);
    free(head);
}

static struct scale ratio_scale(const struct gate_pair *pairs, size_t count, double margin)
{
    struct scale y = {-margin, margin, 164, 10};
    double *sizes = xcalloc(count ? count : 1, sizeof(*sizes));
    for (size_t i = 0; i < count; i++)
        sizes[i] = expm1(pairs[i].log_ratio);
    qsort(sizes, count, sizeof(*sizes), rising_doubles);
    if (count > 0) {
        y.low = fmin(y.low, sizes[(count - 1) * 2 / 100]);
        y.high = fmax(y.high, sizes[(count - 1) * 98 / 100]);
    }
    free(sizes);
    scale_pad(&y, 0.08);
    return y;
}

void chart_pairs(struct markup *m, const struct view *view)
{
    enum { HEIGHT = 200 };
    const struct measurement *base = &view->result->base, *head = &view->result->head;
    size_t most = base->count < head->count ? base->count : head->count;
    struct arena arena = {0};
    struct gate_pair *pairs = arena_alloc(&arena, (most + 1) * sizeof(*pairs));
    size_t count = gate_pairs(pairs, base, head, &arena);
    double margin = view->result->verdict.margin;
    struct scale x = {-1, (double)count, SERIES_LEFT, SERIES_WIDTH - SERIES_RIGHT};
    struct scale y = ratio_scale(pairs, count, margin);
    struct buffer d = {0};
    svg_begin(m, "chart", SERIES_WIDTH, HEIGHT, "Head over base of each pair, in the order taken");
    svg_rect(m, "band", SERIES_LEFT, scale_at(&y, margin),
             SERIES_WIDTH - SERIES_RIGHT - SERIES_LEFT,
             scale_at(&y, -margin) - scale_at(&y, margin));
    svg_axis_left(m, &y, SERIES_LEFT, SERIES_WIDTH - SERIES_RIGHT, 100, " %");
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && pairs[i].process != pairs[i - 1].process)
            svg_line(m, "border", scale_at(&x, (double)i - 0.5), y.to,
                     scale_at(&x, (double)i - 0.5), y.from);
        double ratio = expm1(pairs[i].log_ratio);
        if (scale_covers(&y, ratio))
            buffer_printf(&d, "M%.1f %.1fh0", scale_at(&x, (double)i), scale_at(&y, ratio));
    }
    if (d.length > 0)
        svg_path(m, "dots head", d.bytes);
    if (scale_covers(&y, view->change.value))
        svg_line(m, "mean head", x.from, scale_at(&y, view->change.value), x.to,
                 scale_at(&y, view->change.value));
    svg_text(m, "tick", (SERIES_LEFT + SERIES_WIDTH - SERIES_RIGHT) / 2.0, HEIGHT - 12, "middle",
             "pairs in the order taken; dashed: a fresh process");
    svg_end(m);
    buffer_free(&d);
    arena_free(&arena);
}

static double parts_sum(const struct prediction *p)
{
    double sum = 0;
    for (size_t i = 0; i < p->part_count; i++)
        sum += p->parts[i].time_ns;
    return sum;
}

static void draw_part(struct markup *m, const char *class, const char *name, double from, double to,
                      const struct scale *x, double y)
{
    char time[VIEW_TEXT];
    double left = scale_at(x, from), right = scale_at(x, to);
    view_time(time, to - from);
    svg_text(m, "tick", x->from - 6, y + 13, "end", name);
    svg_rect(m, class, left, y + 3, fmax(right - left, 1), 13);
    if (right < x->to - 60)
        svg_text(m, "tick", right + 5, y + 13, "start", time);
    else if (right - left > 60)
        svg_text(m, strstr(class, "even") ? "tick even" : "tick inside", right - 5, y + 13, "end",
                 time);
    else
        svg_text(m, "tick", left - 5, y + 13, "end", time);
}

// Parts that do not add up to the total (a roofline's two times overlap) all start at zero.
void chart_parts(struct markup *m, const struct prediction *p, double measured_ns)
{
    double row = 20, height = ((double)p->part_count + 2) * row + 30, factor = 1;
    double most = fmax(p->time_ns, isfinite(measured_ns) ? measured_ns : 0), at = 0, y = 4;
    bool additive = fabs(parts_sum(p) - p->time_ns) <= 0.02 * p->time_ns;
    for (size_t i = 0; i < p->part_count; i++)
        most = fmax(most, p->parts[i].time_ns);
    struct scale x = {0, most * 1.02, SERIES_LEFT + 56, SERIES_WIDTH - SERIES_RIGHT};
    svg_begin(m, "chart", SERIES_WIDTH, height,
              "The prediction's parts, its total, and the measured time");
    const char *unit = view_unit(most, &factor);
    svg_axis(m, &x, height - 22, 2, factor, unit);
    for (size_t i = 0; i < p->part_count; i++, y += row) {
        double from = additive ? at : 0;
        draw_part(m, i % 2 ? "part even" : "part", p->parts[i].name, from,
                  from + p->parts[i].time_ns, &x, y);
        at += p->parts[i].time_ns;
    }
    draw_part(m, "part total", "predicted", 0, p->time_ns, &x, y);
    if (isfinite(measured_ns))
        draw_part(m, "part actual", "measured", 0, measured_ns, &x, y + row);
    svg_end(m);
}

// ---- sparks, trends and timelines ---------------------------------------------------------------

void chart_spark(struct markup *m, const double *values, size_t count, double span)
{
    enum { WIDTH = 104, ROW = 22 };
    struct scale x = {0, count > 1 ? (double)count - 1 : 1, 2, WIDTH - 2};
    struct scale y = {INFINITY, -INFINITY, ROW - 3, 3};
    struct buffer path = {0};
    for (size_t i = 0; i < count; i++) {
        if (values[i] >= 0 && isfinite(values[i])) {
            y.low = fmin(y.low, values[i]);
            y.high = fmax(y.high, values[i]);
        }
    }
    double middle = (y.low + y.high) / 2;
    y.low = fmin(y.low, middle * (1 - span / 2));
    y.high = fmax(y.high, middle * (1 + span / 2));
    if (!(y.high > y.low))
        y.high = y.low + 1; // of zeroes alone
    for (size_t i = 0; i < count; i++) {
        if (values[i] >= 0 && isfinite(values[i]))
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

enum { LANES = 24 };

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

// A box that says beside the pointer what it is.
static void draw_span(struct markup *m, const struct chart_span *s, bool even,
                      const struct scale *x, double y, double height)
{
    double from = scale_at(x, s->start), to = scale_at(x, s->end);
    if (!(to >= from))
        return;
    markup_start(m, "g");
    markup_elementf(m, "title", NULL, "%s%s%s: %.6g to %.6g", s->lane, s->label[0] ? " " : "",
                    s->label, s->start, s->end);
    svg_rect(m, even ? "part even" : "part", from, y + 3, fmax(to - from - 0.5, 0.5), height - 6);
    if (to - from > 14.0 + 6.0 * (double)strlen(s->label))
        svg_text(m, even ? "tick even" : "tick inside", (from + to) / 2, y + 15, "middle",
                 s->label);
    markup_end(m);
}

void chart_timeline(struct markup *m, const struct chart_timeline *t)
{
    enum { WIDTH = 940, LEFT = 110, RIGHT = 30, ROW = 22, TOP = 4 };
    const char *lanes[LANES];
    size_t used = lanes_of(t->spans, t->count, lanes);
    double bottom = TOP + (double)used * ROW, factor = 1;
    struct scale x = {0, 0, LEFT, WIDTH - RIGHT};
    for (size_t i = 0; i < t->count; i++)
        x.high = isfinite(t->spans[i].end) ? fmax(x.high, t->spans[i].end) : x.high;
    x.high = x.high > 0 ? x.high : 1;
    svg_begin(m, "chart wide", WIDTH, bottom + 24, t->title);
    char unit[32];
    snprintf(unit, sizeof(unit), " %s", t->unit ? t->unit : "");
    svg_axis(m, &x, bottom, TOP, factor, t->unit ? unit : view_unit(x.high, &factor));
    for (size_t l = 0; l < used; l++)
        svg_text(m, "tick", LEFT - 6, TOP + (double)l * ROW + 15, "end", lanes[l]);
    for (size_t i = 0; i < t->count; i++) {
        size_t l = 0;
        while (l < used && strcmp(lanes[l], t->spans[i].lane) != 0)
            l++;
        if (l < used)
            draw_span(m, &t->spans[i], i % 2, &x, TOP + (double)l * ROW, ROW);
    }
    svg_end(m);
}

struct chart_span *chart_pipeline(size_t *count, const struct pipeline *p,
                                  const struct pipeline_events *e, size_t most, struct arena *arena)
{
    const size_t shown = (size_t)e->stages < most ? (size_t)e->stages : most;
    struct chart_span *spans = arena_alloc(arena, (3 * shown + 1) * sizeof(*spans)), *next = spans;
    for (size_t i = 0; i < shown; i++) {
        const char *stage = arena_printf(arena, "%zu", i + 1);
        const double a = e->start_a[i], b = e->start_b[i], math = e->start_math[i];
        *next++ = (struct chart_span){"load A", stage, a, a + p->load_a};
        *next++ = (struct chart_span){"load B", stage, b, b + p->load_b};
        *next++ = (struct chart_span){"math", stage, math, math + p->math};
    }
    if ((size_t)e->stages == shown)
        *next++ =
            (struct chart_span){"epilogue", "", e->epilogue_start, e->epilogue_start + p->epilogue};
    *count = (size_t)(next - spans);
    return spans;
}

void chart_wave(struct markup *m, const struct pipeline *p, const struct pipeline_events *e,
                const char *unit)
{
    struct arena arena = {0};
    struct chart_timeline t = {.unit = unit};
    t.title =
        arena_printf(&arena, "one wave: %g %s, MATH waits %g", e->time.wave, unit, e->time.wait);
    t.spans = chart_pipeline(&t.count, p, e, (size_t)e->stages, &arena);
    chart_timeline(m, &t);
    arena_free(&arena);
}

// ---- lines of several things ----

enum { LINES_WIDTH = 640, LINES_HEIGHT = 400, LINES_LEFT = 54, LINES_RIGHT = 110, LINES_KEY = 16 };

static double log_at(const struct scale *s, double value)
{
    return s->from + (s->to - s->from) * log(value / s->low) / log(s->high / s->low);
}

void chart_lines_begin(struct markup *m, struct chart_lines *lines)
{
    struct scale *x = &lines->x, *y = &lines->y;
    char label[32];
    *x = (struct scale){x->low, x->high, LINES_LEFT, LINES_WIDTH - LINES_RIGHT};
    *y = (struct scale){y->low, y->high, LINES_HEIGHT - 44, 12};
    svg_begin(m, "chart big", LINES_WIDTH, LINES_HEIGHT, lines->title);
    for (double at = y->low; at <= y->high * 1.001; at *= 10) {
        svg_line(m, "grid", x->from, log_at(y, at), x->to, log_at(y, at));
        snprintf(label, sizeof(label), "%g", at);
        svg_text(m, "tick", x->from - 5, log_at(y, at) + 4, "end", label);
    }
    for (double at = x->low; at <= x->high * 1.001; at *= 2) {
        snprintf(label, sizeof(label), "%g", at);
        svg_text(m, "tick", log_at(x, at), y->from + 16, "middle", label);
    }
    svg_text(m, "tick", (x->from + x->to) / 2, y->from + 36, "middle", lines->below);
}

void chart_lines_add(struct markup *m, const struct chart_lines *lines, const char *name,
                     unsigned colour, const double *x, const double *y, size_t count)
{
    struct buffer path = {0};
    char class[32];
    snprintf(class, sizeof(class), "line%s line-%u", name ? "" : " dashed", colour);
    for (size_t i = 0; i < count; i++) {
        if (isfinite(y[i]) && y[i] > 0)
            svg_step(&path, path.length ? 'L' : 'M', log_at(&lines->x, x[i]),
                     log_at(&lines->y, y[i]));
    }
    if (path.length > 0)
        svg_path(m, class, path.bytes);
    snprintf(class, sizeof(class), "line-%u", colour);
    if (path.length > 0 && name)
        svg_text(m, class, lines->x.to + 10, 24 + LINES_KEY * (double)colour, "start", name);
    buffer_free(&path);
}
