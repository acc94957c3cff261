// SPDX-License-Identifier: Apache-2.0
//
// Figures over many series (the rows of a forest plot, sorted curves), figures of one series (its
// samples, pairs and prediction), figures run by run, and figures of a model (its S-curve, its
// pipeline).
#include "reports/charts/charts.h"

#include "model/gate/gate.h"
#include "reports/text/clean.h"
#include "reports/text/markup.h"
#include "reports/view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const unsigned char chart_css[];

// ---- the elements: scales, ticks, axes, lines and text ----

static double scale_at(const struct scale *s, double value)
{
    double share = (value - s->low) / (s->high - s->low);
    return s->from + (s->to - s->from) * share;
}

// Whether a value is inside; NaN is not.
static bool scale_covers(const struct scale *s, double value)
{
    return value >= s->low && value <= s->high;
}

// Makes [low, high] a little wider than the values that it covers, and never empty.
static void scale_pad(struct scale *s, double share)
{
    if (!(s->high > s->low)) { // there is one value, or none
        double middle = isfinite(s->low) ? s->low : 0;
        double half = middle != 0 ? fabs(middle) * 0.01 : 0.01;
        s->low = middle - half;
        s->high = middle + half;
    }
    double pad = (s->high - s->low) * share;
    s->low -= pad;
    s->high += pad;
}

enum { TICKS = 12 };

// Computes round tick values inside [low, high], at most `most`, and returns their number.
static size_t svg_ticks(double out[TICKS], double low, double high, size_t most)
{
    static const double steps[] = {1, 2, 5, 10};
    size_t limit = most < TICKS ? most : TICKS, count = 0;
    if (!(high > low) || !isfinite(high - low) || limit < 2)
        return 0;
    double raw = (high - low) / (double)(limit - 1);
    double decade = pow(10, floor(log10(raw)));
    size_t i = 0;
    while (i + 1 < ARRAY_COUNT(steps) && steps[i] * decade < raw)
        i++;
    double step = steps[i] * decade;
    for (double n = ceil(low / step); n * step <= high && count < limit; n++)
        out[count++] = n == 0 ? 0 : n * step;
    return count;
}

static void svg_path(struct markup *m, const char *class, const char *data)
{
    markup_open(m, "path", class);
    markup_attr(m, "d", data);
    markup_end(m);
}

static void svg_line(struct markup *m, const char *class, double x1, double y1, double x2,
                     double y2)
{
    char data[128];
    snprintf(data, sizeof(data), "M%.1f %.1fL%.1f %.1f", x1, y1, x2, y2);
    svg_path(m, class, data);
}

// `anchor` is "start", "middle" or "end".
static void svg_text(struct markup *m, const char *class, double x, double y, const char *anchor,
                     const char *text)
{
    markup_open(m, "text", class);
    markup_attrf(m, "x", "%.1f", x);
    markup_attrf(m, "y", "%.1f", y);
    if (anchor[0] != 's')
        markup_attr(m, "text-anchor", anchor);
    markup_text(m, text);
    markup_end(m);
}

// Writes the style rules of charts into a figure that is its own file. Each var(--name) is replaced
// by the first value that page.css gives to it.
static void write_style(struct markup *m)
{
    const char *all = (const char *)chart_css, *at = strstr(all, "/* Charts */"), *var;
    struct buffer style = {0};
    while ((var = strstr(at, "var(--"))) {
        const char *end = strchr(var, ')');
        char name[32];
        snprintf(name, sizeof(name), "%.*s:", (int)(end - var - 4), var + 4);
        const char *value = strstr(all, name);
        buffer_add(&style, at, (size_t)(var - at));
        if (value) {
            value += strlen(name) + 1;
            buffer_add(&style, value, strcspn(value, ";"));
        } else {
            buffer_add(&style, var, (size_t)(end + 1 - var)); // a rule of page.css sets it
        }
        at = end + 1;
    }
    buffer_puts(&style, at);
    markup_start(m, "style");
    markup_raw(m, style.bytes);
    markup_end(m);
    buffer_free(&style);
}

// Begins a figure. `label` is what a screen reader says in place of the picture, and the title of a
// figure that is a document of its own.
static void svg_begin(struct markup *m, const char *class, double width, double height,
                      const char *label)
{
    const bool alone = markup_is_xml(m);
    const double title = alone ? 28 : 0; // room above the figure
    markup_open(m, "svg", alone ? NULL : class);
    if (alone)
        markup_attr(m, "xmlns", "http://www.w3.org/2000/svg");
    markup_attrf(m, "viewBox", "0 %g %g %g", 0 - title, width, height + title);
    markup_attrf(m, "width", "%g", width);
    markup_attrf(m, "height", "%g", height + title);
    if (label) {
        markup_attr(m, "role", "img");
        markup_attr(m, "aria-label", label);
    } else {
        markup_attr(m, "aria-hidden", "true");
    }
    if (!alone)
        return;
    write_style(m);
    svg_text(m, "strong", 8, -10, "start", label);
}

static void svg_end(struct markup *m)
{
    markup_end(m);
}

static void svg_rect(struct markup *m, const char *class, double x, double y, double width,
                     double height)
{
    markup_open(m, "rect", class);
    markup_attrf(m, "x", "%.1f", x);
    markup_attrf(m, "y", "%.1f", y);
    markup_attrf(m, "width", "%.1f", width > 0 ? width : 0);
    markup_attrf(m, "height", "%.1f", height > 0 ? height : 0);
    markup_end(m);
}

// Writes a number with one decimal. A site has millions of them, and "%.1f" takes longer than all
// other work on them.
static size_t put_tenth(char *out, double value)
{
    char figures[24];
    size_t length = 0, used = 0;
    long tenths = lround(fmin(fmax(value, -1e6), 1e6) * 10);
    unsigned long size = tenths < 0 ? 0ul - (unsigned long)tenths : (unsigned long)tenths;
    for (size_t i = 0; i < 2 || size; i++, size /= 10) {
        figures[length++] = (char)('0' + size % 10);
        if (i == 0)
            figures[length++] = '.';
    }
    if (tenths < 0)
        out[used++] = '-';
    while (length)
        out[used++] = figures[--length];
    return used;
}

// Appends a step such as "L12.3 45.6" to the path that svg_path() will draw.
static void svg_step(struct buffer *path, char command, double x, double y)
{
    char text[48];
    size_t length = 0;
    text[length++] = command;
    length += put_tenth(text + length, x);
    text[length++] = ' ';
    length += put_tenth(text + length, y);
    buffer_add(path, text, length);
}

static void svg_marker(struct markup *m, const char *class, enum svg_shape shape, double x,
                       double y, double r)
{
    char d[160];
    switch (shape) {
    case SHAPE_UP:
        snprintf(d, sizeof(d), "M%.1f %.1fl%.1f %.1fh%.1fz", x, y - r, r, 1.8 * r, -2 * r);
        break;
    case SHAPE_DOWN:
        snprintf(d, sizeof(d), "M%.1f %.1fl%.1f %.1fh%.1fz", x, y + r, r, -1.8 * r, -2 * r);
        break;
    case SHAPE_DIAMOND:
        snprintf(d, sizeof(d), "M%.1f %.1fl%.1f %.1fl%.1f %.1fl%.1f %.1fz", x, y - 1.2 * r, 1.2 * r,
                 1.2 * r, -1.2 * r, 1.2 * r, -1.2 * r, -1.2 * r);
        break;
    case SHAPE_CROSS:
        snprintf(d, sizeof(d), "M%.1f %.1fl%.1f %.1fm0 %.1fl%.1f %.1f", x - r, y - r, 2 * r, 2 * r,
                 -2 * r, -2 * r, 2 * r);
        break;
    case SHAPE_SQUARE:
        snprintf(d, sizeof(d), "M%.1f %.1fh%.1fv%.1fh%.1fz", x - r, y - r, 2 * r, 2 * r, -2 * r);
        break;
    case SHAPE_DOT:
        snprintf(d, sizeof(d), "M%.1f %.1fa%.1f %.1f 0 1 0 %.1f 0a%.1f %.1f 0 1 0 %.1f 0z", x - r,
                 y, r, r, 2 * r, r, r, -2 * r);
        break;
    }
    svg_path(m, class, d);
}

// Writes a tick's figure with the fewest digits that tell neighbouring ticks apart.
static void tick_label(char out[48], double value, double step, const char *unit)
{
    int decimals = step >= 1 || !(step > 0) ? 0 : (int)ceil(-log10(step) - 1e-9);
    const char *sign = value < 0 ? "−" : "";
    snprintf(out, 48, "%s%.*f%s", sign, decimals < 9 ? decimals : 9, fabs(value), unit);
}

// The unit that suits an axis up to this time, with a space in front, and the factor to multiply
// values by.
static const char *time_unit(double time_ns, double *factor)
{
    if (time_ns >= 1e9)
        return *factor = 1e-9, " s";
    if (time_ns >= 1e6)
        return *factor = 1e-6, " ms";
    if (time_ns >= 1e3)
        return *factor = 1e-3, " µs";
    return *factor = 1, " ns";
}

// Draws a horizontal axis at `y`, with ticks, grid lines up to `top`, and figures below. `unit`
// stands behind the last figure only. `factor` multiplies the figures that are shown.
static void svg_axis(struct markup *m, const struct scale *x, double y, double top, double factor,
                     const char *unit)
{
    double ticks[TICKS];
    char label[48];
    size_t most = (size_t)(fabs(x->to - x->from) / 62) + 2;
    size_t count = svg_ticks(ticks, x->low * factor, x->high * factor, most);
    double step = count > 1 ? ticks[1] - ticks[0] : 1;
    for (size_t i = 0; i < count; i++) {
        double at = scale_at(x, ticks[i] / factor);
        svg_line(m, ticks[i] == 0 ? "grid zero" : "grid", at, top, at, y);
        tick_label(label, ticks[i], step, i + 1 == count ? unit : "");
        svg_text(m, "tick", at, y + 14, "middle", label);
    }
    svg_line(m, "axis", x->from, y, x->to, y);
}

// Draws a vertical axis at `x`, with ticks and grid lines up to `right`; the rest is as in
// svg_axis().
static void svg_axis_left(struct markup *m, const struct scale *y, double x, double right,
                          double factor, const char *unit)
{
    double ticks[TICKS];
    char label[48];
    size_t most = (size_t)(fabs(y->to - y->from) / 30) + 2;
    size_t count = svg_ticks(ticks, y->low * factor, y->high * factor, most);
    double step = count > 1 ? ticks[1] - ticks[0] : 1;
    for (size_t i = 0; i < count; i++) {
        double at = scale_at(y, ticks[i] / factor);
        svg_line(m, ticks[i] == 0 ? "grid zero" : "grid", x, at, right, at);
        tick_label(label, ticks[i], step, i + 1 == count ? unit : "");
        svg_text(m, "tick", x - 5, at + 4, "end", label);
    }
}

// ---- many series ----

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

// Computes where an end of an interval is drawn. An end beyond the edge becomes an arrow head at
// the edge.
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

// Moves the points that have a value to the front and sorts them; returns their number.
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
        // The tick at 1 always stays.
        bool crowded = fabs(at - last) < 14 || fabs(at - scale_at(y, 0)) < 14;
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
    bool is_line; // one line in place of a dot for each row, because a model may have thousands of
                  // rows
};

// Draws ratios on a logarithmic axis, where twice and half are equally far from 1.
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

// Returns the sorted times of the samples that are not excluded; the caller frees.
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

// Draws dots over time. A fixed pattern spreads them over the row, so that equal times stay
// visible.
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

// Draws a cumulative curve. Times beyond the scale are not drawn, so the curve ends below the top.
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

// The axis for the times of both sides. It ends where 98 % of them do, so that one stall does not
// squeeze all other times together.
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
    const char *unit = time_unit(x.high, &factor);
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

// Draws the parts of a prediction. If they do not add up to the total, as a roofline's two times,
// which overlap, all of them start at zero.
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
    const char *unit = time_unit(most, &factor);
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
        y.high = y.low + 1; // all values are zero
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

// Lists lanes in the order of appearance; those after the 24th are left out.
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

// Draws a span as a box that shows its text beside the pointer.
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
    svg_axis(m, &x, bottom, TOP, factor, t->unit ? unit : time_unit(x.high, &factor));
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

// ==== the chart of one series over commits ====
//
// Draws the levels of a series' codes as a stair, and below them the times of its runs. The caller
// gives the changes; none are looked for here.

enum { TIMES_DOTS = 60, TIMES_LETTER = 7 };

enum {
    TIMES_WIDE = 940,
    TIMES_HEIGHT = 220,
    TIMES_LEFT = 62,
    TIMES_RIGHT = 14,
    TIMES_TOP = 12,
    TIMES_BOTTOM = 184
};

static bool is_time(double time_ns)
{
    return time_ns > 0 && isfinite(time_ns);
}

// Finds the indices of the smallest and the largest value of [from, to), in the order of time.
static size_t extremes(const struct history *h, size_t from, size_t to, size_t *out)
{
    size_t low = to, high = to;
    for (size_t i = from; i < to; i++) {
        double time = h->points[i].time_ns;
        if (!is_time(time))
            continue;
        if (low == to || time < h->points[low].time_ns)
            low = i;
        if (high == to || time > h->points[high].time_ns)
            high = i;
    }
    if (low == to)
        return 0;
    out[0] = low < high ? low : high;
    out[1] = low < high ? high : low;
    return out[0] == out[1] ? 1 : 2;
}

// Chooses the points that a chart shows: the smallest and the largest of each stretch. The newest
// point forms a stretch of its own, because people look for it.
size_t *series_thin(const struct history *h, size_t most, size_t *count)
{
    size_t *list = xcalloc((h->count < most ? h->count : most) + 3, sizeof(*list));
    *count = 0;
    if (h->count <= most) {
        for (size_t i = 0; i < h->count; i++)
            list[(*count)++] = i;
        return list;
    }
    size_t stretches = (most - 1) / 2, last = h->count - 1;
    for (size_t s = 0; s < stretches; s++)
        *count += extremes(h, s * last / stretches, (s + 1) * last / stretches, list + *count);
    list[(*count)++] = last;
    return list;
}

struct chart_drawing {
    const struct series_chart *chart;
    const size_t *shown;
    size_t count;
    double factor; // converts nanoseconds to the unit of the axis
    const char *unit;
};

static size_t place_of(const struct series_chart *c, size_t i)
{
    return c->at ? c->at[i] : i;
}

static double bound_of(const struct series_chart *c, size_t i, bool upper)
{
    const double *bounds = upper ? c->upper_ns : c->lower_ns;
    return bounds && is_time(bounds[i]) ? bounds[i] : c->history->points[i].time_ns;
}

static struct scale times_scale(const struct chart_drawing *d)
{
    struct scale y = {INFINITY, -INFINITY, TIMES_BOTTOM, TIMES_TOP};
    for (size_t i = 0; i < d->count; i++) {
        if (!is_time(d->chart->history->points[d->shown[i]].time_ns))
            continue;
        y.low = fmin(y.low, bound_of(d->chart, d->shown[i], false));
        y.high = fmax(y.high, bound_of(d->chart, d->shown[i], true));
    }
    if (y.low > y.high) // no point has a time
        y.low = 0, y.high = 1;
    scale_pad(&y, 0.1);
    return y;
}

static bool series_is_timed(const struct history *h)
{
    bool timed = false;
    for (size_t i = 0; i < h->count; i++)
        timed |= is_time(h->points[i].time_ns);
    return timed;
}

static void draw_area(struct markup *m, const struct chart_drawing *d, const struct scale *x,
                      const struct scale *y)
{
    struct buffer path = {0};
    for (size_t pass = 0; pass < 2; pass++) {
        for (size_t k = 0; k < d->count; k++) {
            size_t i = d->shown[pass ? d->count - 1 - k : k];
            if (is_time(d->chart->history->points[i].time_ns))
                svg_step(&path, path.length ? 'L' : 'M', scale_at(x, (double)place_of(d->chart, i)),
                         scale_at(y, bound_of(d->chart, i, pass == 0)));
        }
    }
    if (path.length > 0)
        svg_path(m, "area", path.bytes);
    buffer_free(&path);
}

static void draw_line(struct markup *m, const struct chart_drawing *d, bool predicted,
                      const struct scale *x, const struct scale *y)
{
    struct buffer path = {0};
    bool pen = false;
    for (size_t k = 0; k < d->count; k++) {
        const struct history_point *p = &d->chart->history->points[d->shown[k]];
        double value = predicted ? p->predicted_ns : p->time_ns;
        bool ok = is_time(value) && scale_covers(y, value);
        if (ok)
            svg_step(&path, pen ? 'L' : 'M', scale_at(x, (double)place_of(d->chart, d->shown[k])),
                     scale_at(y, value));
        pen = ok;
    }
    if (path.length > 0)
        svg_path(m, predicted ? "curve predicted" : "curve head", path.bytes);
    buffer_free(&path);
}

// Draws dots at the points of a short line. Few points are hard to see, and one point makes neither
// a line nor an area.
static void draw_dots(struct markup *m, const struct chart_drawing *d, const struct scale *x,
                      const struct scale *y)
{
    for (size_t k = 0; k < d->count && d->count <= TIMES_DOTS; k++) {
        size_t i = d->shown[k];
        double time = d->chart->history->points[i].time_ns;
        double at = scale_at(x, (double)place_of(d->chart, i));
        double low = bound_of(d->chart, i, false), high = bound_of(d->chart, i, true);
        if (!is_time(time))
            continue;
        if (high > low)
            svg_line(m, "whisker", at, scale_at(y, high), at, scale_at(y, low));
        svg_marker(m, "v-point", SHAPE_DOT, at, scale_at(y, time), 2.5);
    }
}

static const struct {
    const char *name, *class;
} mark_kinds[] = {[MARK_SLOWER] = {"slower", "change"},
                  [MARK_FASTER] = {"faster", "change better"},
                  [MARK_EPOCH] = {"epoch", "epoch"},
                  [MARK_BREAK] = {"declared", "declared"}};

const char *series_mark_name(enum chart_mark_kind kind)
{
    return mark_kinds[kind].name;
}

size_t series_place(const struct series_chart *c, const char *commit, int64_t time_s)
{
    const struct history *h = c->history;
    size_t before = 0;
    for (size_t i = 0; i < h->count; i++) {
        const struct history_point *p = &h->points[i];
        if (p->commit[0] == commit[0] && strcmp(p->commit, commit) == 0)
            return place_of(c, i);
        if (p->time_s <= time_s)
            before = i;
    }
    return place_of(c, before);
}

// Draws the marks of one kind as one path. Only the first of several marks on one pixel is drawn,
// because there may be hundreds.
static void draw_marks(struct markup *m, const struct series_chart *c, enum chart_mark_kind kind,
                       const struct scale *x, double top, double bottom)
{
    struct buffer path = {0};
    double before = -INFINITY;
    for (size_t i = 0; i < c->mark_count; i++) {
        const double at = scale_at(x, (double)c->marks[i].index - 0.5);
        if (c->marks[i].kind != kind || at < before + 1)
            continue;
        svg_step(&path, 'M', at, top);
        svg_step(&path, 'L', at, bottom);
        before = at;
    }
    if (path.length > 0)
        svg_path(m, mark_kinds[kind].class, path.bytes);
    buffer_free(&path);
}

// Draws vertical lines for marks, with their texts where there is room.
static void series_marks(struct markup *m, const struct series_chart *c, const struct scale *x,
                         double top, double bottom, bool texts)
{
    double open = x->from; // where the next text may begin; a mark close to the last text gets none
    for (size_t kind = 0; kind < ARRAY_COUNT(mark_kinds); kind++)
        draw_marks(m, c, (enum chart_mark_kind)kind, x, top, bottom);
    for (size_t i = 0; texts && i < c->mark_count; i++) {
        const double at = scale_at(x, (double)c->marks[i].index - 0.5);
        const double width = TIMES_LETTER * (double)strlen(c->marks[i].text);
        if (at + 4 < open || at + 4 + width > TIMES_WIDE)
            continue;
        svg_text(m, "tick", at + 4, top + 8, "start", c->marks[i].text);
        open = at + 8 + width;
    }
}

// Writes the days of the first and the last commit below the axis.
static void series_dates(struct markup *m, const struct history *history, double y)
{
    char first[VIEW_TEXT], last[VIEW_TEXT];
    view_date(first, history->points[0].time_s);
    view_date(last, history->points[history->count - 1].time_s);
    first[10] = last[10] = '\0';
    svg_text(m, "tick", TIMES_LEFT, y, "start", first);
    svg_text(m, "tick", TIMES_WIDE - TIMES_RIGHT, y, "end", last);
    svg_text(m, "tick", (TIMES_LEFT + TIMES_WIDE - TIMES_RIGHT) / 2.0, y, "middle",
             "commits, oldest first");
}

static void draw(struct markup *m, const struct chart_drawing *d)
{
    const struct history *h = d->chart->history;
    size_t total = d->chart->total ? d->chart->total : h->count;
    struct scale x = {-0.5, (double)total - 0.5, TIMES_LEFT, TIMES_WIDE - TIMES_RIGHT},
                 y = times_scale(d);
    svg_begin(m, "chart wide", TIMES_WIDE, TIMES_HEIGHT,
              "Time per launch over commits, oldest first");
    svg_axis_left(m, &y, TIMES_LEFT, TIMES_WIDE - TIMES_RIGHT, d->factor, d->unit);
    if (d->chart->lower_ns && d->chart->upper_ns)
        draw_area(m, d, &x, &y);
    draw_line(m, d, true, &x, &y);
    draw_line(m, d, false, &x, &y);
    draw_dots(m, d, &x, &y);
    series_marks(m, d->chart, &x, TIMES_TOP, TIMES_BOTTOM, d->chart->level_count == 0);
    series_dates(m, h, TIMES_HEIGHT - 14);
    svg_end(m);
}

// ---- levels -------------------------------------------------------------------------------------

// Draws the levels of a series' codes over commits, as a stair with their intervals. Levels that no
// link connects are not joined. If there are many levels, only the extremes of each stretch are
// drawn.

enum { LEVEL_HEIGHT = 170, LEVEL_TOP = 12, LEVEL_BOTTOM = 160, LEAST = 1000, DATES = 24 };

static double percent(double log_ratio)
{
    return expm1(log_ratio);
}

static struct scale level_scale(const struct series_chart *c)
{
    struct scale y = {INFINITY, -INFINITY, LEVEL_BOTTOM, LEVEL_TOP};
    for (size_t i = 0; i < c->level_count; i++) {
        y.low = fmin(y.low, percent(c->levels[i].level.low));
        y.high = fmax(y.high, percent(c->levels[i].level.high));
    }
    // The range is at least a tenth of a percent, so that a tiny change does not look large.
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

// Draws the band of the levels from `first` to before `end`: forwards along its top, back along its
// bottom.
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

// Returns the indices of the levels to draw; the caller frees.
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

// Draws the levels of a series, which has at least one.
static void level_chart(struct markup *m, const struct series_chart *c)
{
    const size_t total = c->total ? c->total : c->history->count;
    const struct scale x = {-0.5, (double)total - 0.5, TIMES_LEFT, TIMES_WIDE - TIMES_RIGHT};
    const struct scale y = level_scale(c);
    const bool alone = !series_is_timed(c->history); // there is no chart of times below, so this
                                                     // one gets the dates
    svg_begin(m, "chart wide", TIMES_WIDE, LEVEL_HEIGHT + (alone ? DATES : 0),
              "Level of each code over commits, measured side by side, with its interval");
    svg_axis_left(m, &y, x.from, x.to, 100, " %");
    if (scale_covers(&y, 0))
        svg_line(m, "zero", x.from, scale_at(&y, 0), x.to, scale_at(&y, 0));
    size_t count, *shown = thinned(c, &count);
    draw_stair(m, &(struct stair){c->levels, shown, count, &x, &y});
    free(shown);
    series_marks(m, c, &x, LEVEL_TOP, LEVEL_BOTTOM, true);
    if (alone)
        series_dates(m, c->history, LEVEL_HEIGHT + DATES - 8);
    svg_end(m);
}

// ---- the same data for page.js ------------------------------------------------------------------

static void put_row(struct json *j, const struct chart_drawing *d, size_t i)
{
    const struct history_point *p = &d->chart->history->points[i];
    bool bars = d->chart->lower_ns && d->chart->upper_ns;
    double time = is_time(p->time_ns) ? p->time_ns * d->factor : NAN;
    double predicted = is_time(p->predicted_ns) ? p->predicted_ns * d->factor : NAN;
    json_begin(j, NULL, '[');
    json_int(j, NULL, (int64_t)place_of(d->chart, i));
    json_rounded(j, NULL, time, 6);
    json_rounded(j, NULL, predicted, 6);
    if (bars) {
        json_rounded(j, NULL, bound_of(d->chart, i, false) * d->factor, 6);
        json_rounded(j, NULL, bound_of(d->chart, i, true) * d->factor, 6);
    }
    json_end(j, ']');
}

static void put_arrays(struct json *j, const struct chart_drawing *d)
{
    char id[VIEW_TEXT];
    json_begin(j, "times", '[');
    for (size_t k = 0; k < d->count; k++)
        json_time(j, NULL, d->chart->history->points[d->shown[k]].time_s);
    json_end(j, ']');
    json_begin(j, "commits", '[');
    for (size_t k = 0; k < d->count; k++) {
        view_short_id(id, d->chart->history->points[d->shown[k]].commit);
        json_clean(j, NULL, id);
    }
    json_end(j, ']');
    json_begin(j, "rows", '[');
    for (size_t k = 0; k < d->count; k++)
        put_row(j, d, d->shown[k]);
    json_end(j, ']');
}

static void write_data(struct markup *m, const struct chart_drawing *d)
{
    struct buffer text = {0};
    struct json j = {.out = &text};
    json_begin(&j, NULL, '{');
    json_clean(&j, "unit", d->unit + 1);
    json_int(&j, "total", (int64_t)(d->chart->total ? d->chart->total : d->chart->history->count));
    json_bool(&j, "bars", d->chart->lower_ns && d->chart->upper_ns);
    json_begin(&j, "marks", '[');
    for (size_t i = 0; i < d->chart->mark_count; i++) {
        json_begin(&j, NULL, '{');
        json_int(&j, "at", (int64_t)d->chart->marks[i].index);
        json_clean(&j, "text", d->chart->marks[i].text);
        json_clean(&j, "kind", series_mark_name(d->chart->marks[i].kind));
        json_end(&j, '}');
    }
    json_end(&j, ']');
    put_arrays(&j, d);
    json_end(&j, '}');
    markup_start(m, "script");
    markup_attr(m, "type", "application/json");
    markup_raw(m, text.bytes);
    markup_end(m);
    buffer_free(&text);
}

void series_chart(struct markup *m, const struct series_chart *chart)
{
    struct chart_drawing all = {.chart = chart}, still = {.chart = chart};
    size_t *shown = series_thin(chart->history, SERIES_CHART_POINTS, &all.count);
    size_t *fewer = series_thin(chart->history, SERIES_STILL_POINTS, &still.count);
    all.shown = shown;
    still.shown = fewer;
    struct scale y = times_scale(&all);
    still.unit = all.unit = time_unit(y.high, &all.factor);
    still.factor = all.factor;
    markup_open(m, "div", "ts");
    markup_attr(m, "data-series", chart->data_name);
    markup_attr(m, "data-line", chart->line_name);
    markup_attr(m, "role", "group");
    markup_attr(m, "aria-label", "Chart of a series over commits");
    markup_attr(m, "tabindex", "0"); // so that the keyboard can scroll it on a narrow screen
    if (!chart->data_name)
        write_data(m, &all);
    if (chart->level_count > 0 && !chart->undrawn)
        level_chart(m, chart);
    if ((series_is_timed(chart->history) || chart->level_count == 0) && !chart->undrawn)
        draw(m, &still);
    markup_end(m);
    free(shown);
    free(fewer);
}
