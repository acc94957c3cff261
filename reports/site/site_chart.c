// SPDX-License-Identifier: Apache-2.0
//
// The chart of a series: drawn, and as the data that chart.js draws. Levels come first, times below
// them.
#include "reports/site/site_parts.h"

#include "reports/charts/series_chart.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEVEL_DIGITS = 5, TIME_DIGITS = 7 };

// ---- upright lines ------------------------------------------------------------------------------

static int by_index(const void *left, const void *right)
{
    const struct chart_mark *a = left, *b = right;
    return a->index < b->index ? -1 : a->index > b->index;
}

// The first word of what was declared: driver, runtime, model, device.
static void break_text(char out[VIEW_TEXT], const struct site_break *b)
{
    char percent[VIEW_TEXT] = "";
    if (isfinite(b->log_ratio.value))
        view_percent(percent, expm1(b->log_ratio.value));
    snprintf(out, VIEW_TEXT, "%.*s%s%.40s", (int)strcspn(b->what, " "), b->what,
             *percent ? " " : "", percent);
}

struct uprights {
    struct chart_mark *marks; // by index
    char (*texts)[VIEW_TEXT];
    size_t count;
};

static void add_mark(struct uprights *u, size_t index, enum chart_mark_kind kind)
{
    u->marks[u->count] = (struct chart_mark){index, u->texts[u->count], kind};
    u->count++;
}

// The caller frees both arrays.
static struct uprights uprights_of(const struct series_chart *chart, const struct site_detail *d)
{
    const size_t most = d->change_count + d->epoch_count + d->break_count;
    struct uprights u = {xcalloc(most + 1, sizeof(*u.marks)), xcalloc(most + 1, sizeof(*u.texts)),
                         0};
    for (size_t i = 0; i < d->change_count; i++) {
        const struct site_change *c = &d->changes[i];
        view_percent(u.texts[u.count], expm1(c->log_ratio.value));
        add_mark(&u, c->linked ? series_place(chart, c->commit, c->time_s) : c->index,
                 c->log_ratio.value > 0 ? MARK_SLOWER : MARK_FASTER);
    }
    for (size_t i = 0; i < d->epoch_count; i++) {
        char percent[VIEW_TEXT];
        view_percent(percent, expm1(d->epochs[i].level));
        snprintf(u.texts[u.count], VIEW_TEXT, "accepted %.40s", percent);
        add_mark(&u, d->epochs[i].index, MARK_EPOCH);
    }
    for (size_t i = 0; i < d->break_count; i++) {
        break_text(u.texts[u.count], &d->breaks[i]);
        add_mark(&u, d->breaks[i].index, MARK_BREAK);
    }
    if (u.count)
        qsort(u.marks, u.count, sizeof(*u.marks), by_index);
    return u;
}

// ---- data ---------------------------------------------------------------------------------------

static void put_bound(struct json *j, const double *bounds, size_t i)
{
    json_rounded(j, NULL, bounds && bounds[i] > 0 ? bounds[i] : NAN, TIME_DIGITS);
}

// Each point: commit, its time, nanoseconds, the interval of these, its index among all, and what
// was predicted.
static void write_points(struct json *j, const struct site_detail *d)
{
    const struct history *h = &d->history;
    size_t count, *shown = series_thin(h, SERIES_CHART_POINTS, &count);
    json_int(j, "points_known", (int64_t)(d->total ? d->total : h->count));
    json_int(j, "settled", (int64_t)d->settled);
    json_begin(j, "points", '[');
    for (size_t i = 0; i < count; i++) {
        const struct history_point *point = &h->points[shown[i]];
        json_begin(j, NULL, '[');
        json_clean(j, NULL, point->commit);
        json_time(j, NULL, point->time_s);
        json_rounded(j, NULL, point->time_ns > 0 ? point->time_ns : NAN, TIME_DIGITS);
        put_bound(j, d->lower_ns, shown[i]);
        put_bound(j, d->upper_ns, shown[i]);
        json_int(j, NULL, (int64_t)(d->at ? d->at[shown[i]] : shown[i]));
        json_rounded(j, NULL, point->predicted_ns > 0 ? point->predicted_ns : NAN, TIME_DIGITS);
        json_end(j, ']');
    }
    json_end(j, ']');
    free(shown);
}

// The commits that no run was about, so that they have no page to lead to: points of times are of
// runs, those of links alone may be of the base of a gate, or have come with an import.
static void write_pageless(struct json *j, const struct site_map *map, const struct site_detail *d)
{
    char id[VIEW_TEXT];
    json_begin(j, "pageless", '[');
    for (size_t i = 0; d->total == 0 && i < d->history.count; i++) {
        if (site_find_commit(map, d->history.points[i].commit))
            continue;
        view_short_id(id, d->history.points[i].commit);
        json_clean(j, NULL, id);
    }
    json_end(j, ']');
}

// Each level: the commit it begins with, its time, the natural log ratio with its interval, and its
// mark.
static void write_levels(struct json *j, const struct site_levels *l)
{
    json_int(j, "links", (int64_t)l->links);
    json_int(j, "loops", (int64_t)l->loops);
    json_number(j, "misclosure", l->count ? l->misclosure : NAN);
    json_int(j, "codes", (int64_t)(l->total ? l->total : l->count));
    json_begin(j, "levels", '[');
    for (size_t i = 0; i < l->count; i++) {
        const struct site_level *level = &l->levels[i];
        json_begin(j, NULL, '[');
        json_clean(j, NULL, level->commit);
        json_time(j, NULL, level->time_s);
        json_rounded(j, NULL, level->level.value, LEVEL_DIGITS);
        json_rounded(j, NULL, level->level.low, LEVEL_DIGITS);
        json_rounded(j, NULL, level->level.high, LEVEL_DIGITS);
        json_int(j, NULL, (int64_t)level->mark);
        json_end(j, ']');
    }
    json_end(j, ']');
}

static void write_marks(struct json *j, const struct uprights *u)
{
    json_begin(j, "marks", '[');
    for (size_t i = 0; i < u->count; i++) {
        json_begin(j, NULL, '{');
        json_int(j, "at", (int64_t)u->marks[i].index);
        json_clean(j, "text", u->marks[i].text);
        json_clean(j, "kind", series_mark_name(u->marks[i].kind));
        json_end(j, '}');
    }
    json_end(j, ']');
}

// ---- the drawing
// -----------------------------------------------------------------------------------

static struct chart_level *levels_of(const struct series_chart *chart, const struct site_levels *l)
{
    struct chart_level *levels = xcalloc(l->count + 1, sizeof(*levels));
    for (size_t i = 0; i < l->count; i++) {
        const struct site_level *from = &l->levels[i];
        levels[i] = (struct chart_level){series_place(chart, from->commit, from->time_s),
                                         from->level, from->mark};
    }
    return levels;
}

static void write_caption(struct markup *m, const struct site_levels *l, bool timed)
{
    markup_element(
        m, "figcaption", NULL,
        !timed     ? "The level of each code: its time against the first code's, by links, which "
                     "are pairs measured side by side. Shaded: its interval. Dashed: a change"
        : l->count ? "Above: the level of each code, its time against the first code's, by links, "
                     "which are pairs measured side by side. Below: time per launch of each run. "
                     "Shaded: intervals. Upright: dashed a change, solid one accepted, dotted one "
                     "declared"
                   : "Time per launch over commits with its interval; dotted: predicted, where "
                     "it lies within. Upright: dashed a change found, solid one accepted, dotted "
                     "one declared");
}

static struct series_chart chart_of(const struct site_detail *d)
{
    return (struct series_chart){.history = &d->history,
                                 .at = d->at,
                                 .total = d->total,
                                 .lower_ns = d->lower_ns,
                                 .upper_ns = d->upper_ns};
}

void site_chart(struct site_page *p, size_t series, const struct site_detail *d)
{
    char anchor[SITE_ANCHOR], name[SITE_ANCHOR];
    struct series_chart chart = chart_of(d);
    if (d->history.count == 0)
        return;
    site_anchor(anchor, p->map->site, series);
    site_series_name(name, p->map->site, series);
    struct uprights u = uprights_of(&chart, d);
    struct chart_level *levels = levels_of(&chart, &d->linked);
    chart.data_name = anchor;
    chart.line_name = name;
    chart.marks = u.marks;
    chart.mark_count = u.count;
    chart.levels = levels;
    chart.level_count = d->linked.count;
    markup_open(p->m, "figure", "wide");
    write_caption(p->m, &d->linked, d->total > 0);
    series_chart(p->m, &chart);
    markup_end(p->m);
    free(levels);
    free(u.marks);
    free(u.texts);
}

void site_chart_data(struct json *j, const struct site_map *map, size_t series,
                     const struct site_detail *d)
{
    const struct site *site = map->site;
    const struct site_series *s = &site->series[series];
    const struct series_chart chart = chart_of(d);
    struct uprights u = uprights_of(&chart, d);
    char text[SITE_ANCHOR], shape[PROBLEM_TEXT];
    struct buffer label = {0};
    view_shape(shape, &s->problem);
    buffer_printf(&label, "%s on %s", shape, site->devices[s->device].name);
    site_anchor(text, site, series);
    json_clean(j, "anchor", text);
    site_series_name(text, site, series);
    json_clean(j, "name", text);
    json_clean(j, "label", label.bytes);
    write_levels(j, &d->linked);
    write_marks(j, &u);
    write_points(j, d);
    write_pageless(j, map, d);
    buffer_free(&label);
    free(u.marks);
    free(u.texts);
}
