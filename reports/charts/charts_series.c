// SPDX-License-Identifier: Apache-2.0
//
// Figures of one series: samples, pairs, prediction, history.
#include "reports/charts/charts.h"

#include "model/gate/gate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 380, LEFT = 54, RIGHT = 14 };

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
    struct scale x = {INFINITY, -INFINITY, LEFT, WIDTH - RIGHT};
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
    svg_begin(m, "chart", WIDTH, HEIGHT,
              "Samples of base and head, and their cumulative distributions");
    svg_axis(m, &x, CURVE_BOTTOM, 8, factor, unit);
    if (base_count > 0) {
        svg_text(m, "tick", LEFT - 6, STRIP + 4, "end", "base");
        draw_strip(m, "dots base", &r->base, &x, STRIP);
        draw_cumulative(m, "curve base", base, base_count, &x, &y);
        svg_line(m, "mean base", scale_at(&x, view->base_ns), 8, scale_at(&x, view->base_ns), 38);
    }
    if (head_count > 0) {
        svg_text(m, "tick", LEFT - 6, STRIP + 44, "end", "head");
        draw_strip(m, "dots head", &r->head, &x, STRIP + 40);
        draw_cumulative(m, "curve head", head, head_count, &x, &y);
        svg_line(m, "mean head", scale_at(&x, view->head_ns), 48, scale_at(&x, view->head_ns), 78);
    }
    svg_text(m, "tick", LEFT - 6, CURVE_TOP + 8, "end", "100 %");
    svg_text(m, "tick", LEFT - 6, CURVE_BOTTOM, "end", "0 %");
    svg_text(m, "tick", (LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 4, "middle",
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
    struct scale x = {-1, (double)count, LEFT, WIDTH - RIGHT};
    struct scale y = ratio_scale(pairs, count, margin);
    struct buffer d = {0};
    svg_begin(m, "chart", WIDTH, HEIGHT, "Head over base of each pair, in the order taken");
    svg_rect(m, "band", LEFT, scale_at(&y, margin), WIDTH - RIGHT - LEFT,
             scale_at(&y, -margin) - scale_at(&y, margin));
    svg_axis_left(m, &y, LEFT, WIDTH - RIGHT, 100, " %");
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
    svg_text(m, "tick", (LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 12, "middle",
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
    struct scale x = {0, most * 1.02, LEFT + 56, WIDTH - RIGHT};
    svg_begin(m, "chart", WIDTH, height,
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
