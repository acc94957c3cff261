// SPDX-License-Identifier: Apache-2.0
//
// The chart of one series over commits, and the data behind it: the levels of its codes as a stair,
// and below them the times of its runs. What changed is given, not found, here.
#include "reports/charts/series_chart.h"

#include "reports/charts/svg.h"
#include "reports/text/clean.h"
#include "reports/view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DOTS = 60, LETTER = 7 };

enum { WIDE = 940, HEIGHT = 220, LEFT = 62, RIGHT = 14, TOP = 12, BOTTOM = 184 };

static bool is_time(double time_ns)
{
    return time_ns > 0 && isfinite(time_ns);
}

// Smallest and largest of [from, to) in order of appearance.
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

// The newest point always stays, in a stretch of its own: it is what people look for.
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
    double factor; // nanoseconds to the unit of the axis
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

static struct scale time_scale(const struct chart_drawing *d)
{
    struct scale y = {INFINITY, -INFINITY, BOTTOM, TOP};
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

// A line through one point is none, nor has it an area; few points are better seen.
static void draw_dots(struct markup *m, const struct chart_drawing *d, const struct scale *x,
                      const struct scale *y)
{
    for (size_t k = 0; k < d->count && d->count <= DOTS; k++) {
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

// All of one kind are one path, and of those on one pixel the first is drawn: there may be
// hundreds.
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

// Vertical lines, with their texts where there is room.
static void series_marks(struct markup *m, const struct series_chart *c, const struct scale *x,
                         double top, double bottom, bool texts)
{
    double open = x->from; // where the next text may begin: the closest ones stay without
    for (size_t kind = 0; kind < ARRAY_COUNT(mark_kinds); kind++)
        draw_marks(m, c, (enum chart_mark_kind)kind, x, top, bottom);
    for (size_t i = 0; texts && i < c->mark_count; i++) {
        const double at = scale_at(x, (double)c->marks[i].index - 0.5);
        const double width = LETTER * (double)strlen(c->marks[i].text);
        if (at + 4 < open || at + 4 + width > WIDE)
            continue;
        svg_text(m, "tick", at + 4, top + 8, "start", c->marks[i].text);
        open = at + 8 + width;
    }
}

// Below an axis over commits: the days of the first and the last.
static void series_dates(struct markup *m, const struct history *history, double y)
{
    char first[VIEW_TEXT], last[VIEW_TEXT];
    view_date(first, history->points[0].time_s);
    view_date(last, history->points[history->count - 1].time_s);
    first[10] = last[10] = '\0';
    svg_text(m, "tick", LEFT, y, "start", first);
    svg_text(m, "tick", WIDE - RIGHT, y, "end", last);
    svg_text(m, "tick", (LEFT + WIDE - RIGHT) / 2.0, y, "middle", "commits, oldest first");
}

static void draw(struct markup *m, const struct chart_drawing *d)
{
    const struct history *h = d->chart->history;
    size_t total = d->chart->total ? d->chart->total : h->count;
    struct scale x = {-0.5, (double)total - 0.5, LEFT, WIDE - RIGHT}, y = time_scale(d);
    svg_begin(m, "chart wide", WIDE, HEIGHT, "Time per launch over commits, oldest first");
    svg_axis_left(m, &y, LEFT, WIDE - RIGHT, d->factor, d->unit);
    if (d->chart->lower_ns && d->chart->upper_ns)
        draw_area(m, d, &x, &y);
    draw_line(m, d, true, &x, &y);
    draw_line(m, d, false, &x, &y);
    draw_dots(m, d, &x, &y);
    series_marks(m, d->chart, &x, TOP, BOTTOM, d->chart->level_count == 0);
    series_dates(m, h, HEIGHT - 14);
    svg_end(m);
}

// ---- levels -------------------------------------------------------------------------------------

// The levels of a series' codes over commits: a stair with its intervals. Levels that nothing links
// are not joined. Of many the extremes of each stretch are drawn.

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

// The drawing of its levels; at least one is needed.
static void level_chart(struct markup *m, const struct series_chart *c)
{
    const size_t total = c->total ? c->total : c->history->count;
    const struct scale x = {-0.5, (double)total - 0.5, LEFT, WIDE - RIGHT};
    const struct scale y = level_scale(c);
    const bool alone = !series_is_timed(c->history); // no chart of times below it has the dates
    svg_begin(m, "chart wide", WIDE, LEVEL_HEIGHT + (alone ? DATES : 0),
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

// ---- the same for page.js -----------------------------------------------------------------------

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
    struct scale y = time_scale(&all);
    still.unit = all.unit = view_unit(y.high, &all.factor);
    still.factor = all.factor;
    markup_open(m, "div", "ts");
    markup_attr(m, "data-series", chart->data_name);
    markup_attr(m, "data-line", chart->line_name);
    markup_attr(m, "role", "group");
    markup_attr(m, "aria-label", "Chart of a series over commits");
    markup_attr(m, "tabindex", "0"); // on a narrow screen it scrolls
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
