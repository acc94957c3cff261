// SPDX-License-Identifier: Apache-2.0
//
// Pages of kernels, and the files of their series. A kernel's page is a table of its series,
// followed by a part for each series with its chart, its newest changes and its prediction. A
// series has a page of its own if it has many changes, or if its kernel has many series. If a
// kernel's stamp differs, each of its series is loaded once and gives its part of the page; there
// are as many threads as contexts.
//
// The files that a page loads lie next to it. series/NAME.js has the chart of a series,
// points/NAME.js the points of a long series that its page leaves out, and series.js the names of
// all series. In a folder (file:) a page can run scripts but cannot read other files. So these
// files are scripts that hand JSON over, and the same JSON without the call lies next to each.
#include "reports/site/site_parts.h"

#include "model/base.h"
#include "reports/charts/charts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- the chart of a series, drawn and as data ---------------------------------------------------

enum { LEVEL_DIGITS = 5, TIME_DIGITS = 7 };

// ---- vertical lines -----------------------------------------------------------------------------

static int by_index(const void *left, const void *right)
{
    const struct chart_mark *a = left, *b = right;
    return a->index < b->index ? -1 : a->index > b->index;
}

// Writes the text of a break in a series' history: what was declared to have changed, such as
// "driver".
static void break_text(char out[VIEW_TEXT], const struct site_break *b)
{
    char percent[VIEW_TEXT] = "";
    if (isfinite(b->log_ratio.value))
        view_percent(percent, expm1(b->log_ratio.value));
    snprintf(out, VIEW_TEXT, "%.*s%s%.40s", (int)strcspn(b->what, " "), b->what,
             *percent ? " " : "", percent);
}

struct uprights {
    struct chart_mark *marks; // sorted by index
    char (*texts)[VIEW_TEXT];
    size_t count;
};

static void add_mark(struct uprights *u, size_t index, enum chart_mark_kind kind)
{
    u->marks[u->count] = (struct chart_mark){index, u->texts[u->count], kind};
    u->count++;
}

// Returns the vertical lines of a chart; the caller frees both arrays.
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
        // For a series without times, or one that was accepted before its first time, the index
        // tells nothing; the date is a day.
        const int64_t day_s = 86400;
        add_mark(&u,
                 d->total && d->epochs[i].index
                     ? d->epochs[i].index
                     : series_place(chart, d->epochs[i].commit, d->epochs[i].when_s + day_s - 1),
                 MARK_EPOCH);
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

// Writes for each point: commit, its time, nanoseconds, their interval, its index among all points,
// and the predicted time.
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

// Writes the commits that have no page, because no run was about them. Points with times belong to
// runs. A point that has only links may belong to the base of a gate, or may have been imported.
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

// Writes for each level: the commit it begins with, its time, the natural log ratio with its
// interval, and its mark.
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

static void chart(struct site_page *p, size_t series, const struct site_detail *d, bool drawn)
{
    char anchor[SITE_ANCHOR], name[SITE_ANCHOR];
    struct series_chart chart = chart_of(d);
    if (d->history.count == 0)
        return;
    site_anchor(anchor, p->map->site, series);
    site_series_name(name, p->map->site, series);
    struct uprights u = uprights_of(&chart, d);
    struct chart_level *levels = levels_of(&chart, &d->linked);
    chart.undrawn = !drawn;
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

static void chart_data(struct json *j, const struct site_map *map, size_t series,
                       const struct site_detail *d)
{
    const struct site *site = map->site;
    const struct site_series *s = &site->series[series];
    const struct series_chart chart = chart_of(d);
    struct uprights u = uprights_of(&chart, d);
    char text[SITE_ANCHOR], shape[PROBLEM_TEXT];
    struct buffer label = {0};
    problem_tell(shape, &s->problem);
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

// ---- one series ---------------------------------------------------------------------------------

enum { CHANGES_SHOWN = 8 };

// ---- changes ----

static void change_row(struct site_page *p, const struct site_change *c)
{
    struct markup *m = p->m;
    char size[VIEW_TEXT], interval[VIEW_TEXT], when[VIEW_TEXT];
    view_percent(size, expm1(c->log_ratio.value));
    view_interval(interval, interval_relative(c->log_ratio));
    view_date(when, c->time_s);
    when[10] = '\0';
    page_row_begin(m, NULL);
    page_cell(m, "since", "nowrap", NAN, true);
    site_commit_link(p, c->commit);
    markup_elementf(m, "span", "muted small", " %s", when);
    markup_end(m);
    page_cell(m, "size", "right nowrap", NAN, false);
    markup_textf(m, "%s %s", size, isnan(c->log_ratio.low) ? "" : interval);
    markup_end(m);
    page_cell(m, "began in", "nowrap", NAN, false);
    if (c->linked) {
        // This may be its parent, or lie many commits before; then the change began with one of
        // those between.
        markup_text(m, "after ");
        site_commit_link(p, c->first_commit);
        markup_text(m, ", side by side with it");
    } else if (c->commits > 1) {
        site_commit_link(p, c->first_commit);
        markup_text(m, " .. ");
        site_commit_link(p, c->last_commit);
        markup_elementf(m, "span", "muted small", " (%zu commits)", c->commits);
    } else {
        markup_text(m, "this commit");
    }
    markup_end(m);
    page_cell(m, "evidence", "nowrap", NAN, false);
    markup_textf(m, "10^%.1f", c->log_evidence / M_LN10);
    markup_end(m);
    page_cell(m, "cause", "wrap", NAN, false);
    markup_textf(m, "%s%s%s", cause_name(c->cause), c->sentence ? ": " : "",
                 c->sentence ? c->sentence : "");
    markup_end(m);
    markup_end(m);
}

// Writes the newest changes, at most `most` of them.
static void write_changes(struct site_page *p, const struct site_detail *d, size_t most)
{
    static const char *const heads[] = {"Since", "Size", "Began in", "Evidence", "Cause"};
    if (d->change_count == 0)
        return;
    page_table_begin(p->m, "cards", "Changes found in this series, newest first");
    for (size_t i = 0; i < ARRAY_COUNT(heads); i++)
        page_table_head(p->m, heads[i], PAGE_SORT_NONE, i == 1 ? "right" : NULL);
    page_table_body(p->m);
    for (size_t i = 0; i < d->change_count && i < most; i++)
        change_row(p, &d->changes[d->change_count - 1 - i]);
    page_table_end(p->m);
}

static void write_epochs(struct site_page *p, const struct site_detail *d)
{
    char level[VIEW_TEXT], when[VIEW_TEXT];
    if (d->epoch_count == 0)
        return;
    markup_open(p->m, "ul", "epochs");
    for (size_t i = d->epoch_count; i-- > 0;) {
        const struct site_epoch *e = &d->epochs[i];
        view_percent(level, expm1(e->level));
        view_date(when, e->when_s);
        when[10] = '\0';
        markup_start(p->m, "li");
        markup_textf(p->m, "%s accepted from ", level);
        site_commit_link(p, e->commit);
        markup_textf(p->m, " on %s by %s: %s", when, e->who ? e->who : "unknown",
                     e->reason ? e->reason : "");
        markup_end(p->m);
    }
    markup_end(p->m);
}

static void write_breaks(struct site_page *p, const struct site_detail *d)
{
    if (d->break_count == 0)
        return;
    markup_open(p->m, "ul", "epochs");
    for (size_t i = d->break_count; i-- > 0;) {
        const struct site_break *b = &d->breaks[i];
        char size[VIEW_TEXT], interval[VIEW_TEXT], when[VIEW_TEXT];
        view_date(when, b->time_s);
        when[10] = '\0';
        markup_start(p->m, "li");
        markup_textf(p->m, "%s from ", b->what);
        site_commit_link(p, b->commit);
        markup_textf(p->m, " on %s", when);
        if (isfinite(b->log_ratio.value)) {
            view_percent(size, expm1(b->log_ratio.value));
            view_interval(interval, interval_relative(b->log_ratio));
            markup_textf(p->m, ": times moved by %s %s with it", size, interval);
        }
        markup_end(p->m);
    }
    markup_end(p->m);
}

// ---- facts ----

static void fact(struct markup *m, const char *term, const char *value)
{
    if (strcmp(value, "-") == 0 || value[0] == '\0')
        return;
    markup_element(m, "dt", NULL, term);
    markup_element(m, "dd", NULL, value);
}

// Writes the level relative to the first code. It is the sum of many steps, each of which may be
// too small to be reported.
static void write_level_fact(struct markup *m, const struct site_levels *l)
{
    char level[VIEW_TEXT], interval[VIEW_TEXT], since[VIEW_TEXT], more[300];
    if (l->trouble)
        fact(m, "level", l->trouble);
    if (l->count == 0)
        return;
    const struct site_level *now = &l->levels[l->count - 1];
    size_t first = l->count - 1;
    while (first > 0 && l->levels[first - 1].mark == now->mark)
        first--;
    view_percent(level, expm1(now->level.value));
    view_interval(interval, interval_relative(now->level));
    view_short_id(since, l->levels[first].commit);
    snprintf(more, sizeof(more),
             "%.40s %.60s since %.12s, by %zu %s with %zu %s that close to %.2f %%", level,
             interval, since, l->links, plural(l->links, "link", "links"), l->loops,
             plural(l->loops, "loop", "loops"), 100 * l->misclosure);
    fact(m, "level", more);
}

// The reference with which the series is compared.
static const char *reference_of(const struct site_detail *d)
{
    return d->epoch_count ? "the last accepted state" : "the beginning";
}

static void write_facts(struct site_page *p, const struct site_series *s,
                        const struct site_detail *d)
{
    char text[VIEW_TEXT], more[200], predicted[VIEW_TEXT];
    markup_open(p->m, "dl", "facts");
    if (isfinite(s->log_ratio.value)) {
        char interval[VIEW_TEXT];
        view_percent(text, expm1(s->log_ratio.value));
        view_interval(interval, interval_relative(s->log_ratio));
        snprintf(more, sizeof(more), "%.40s %.60s against %s", text,
                 isnan(s->log_ratio.low) ? "" : interval, reference_of(d));
        fact(p->m, "change", more);
    }
    view_time(text, s->time_ns);
    view_clock(predicted, s->clock_hz);
    snprintf(more, sizeof(more), "%.40s at %.40s", text, predicted);
    fact(p->m, "newest", s->clock_hz > 0 ? more : text);
    if (isfinite(site_ratio(s)) && d->prediction.model) {
        struct buffer prediction = {0};
        view_prediction(&prediction, &d->prediction, site_ratio(s));
        fact(p->m, "prediction", prediction.bytes);
        buffer_free(&prediction);
    }
    snprintf(more, sizeof(more), "%zu %s", d->total, plural(d->total, "point", "points"));
    fact(p->m, "history",
         d->total          ? more
         : d->linked.links ? "no times of runs: its codes were compared by links alone"
                           : "no times of runs: gates alone know it");
    write_level_fact(p->m, &d->linked);
    fact(p->m, "device", p->map->site->devices[s->device].name);
    markup_end(p->m);
}

static void write_model(struct markup *m, const struct site_series *s, const struct site_detail *d)
{
    const struct prediction *prediction = &d->prediction;
    bool parts = prediction->feasible && prediction->part_count > 0 && prediction->time_ns > 0;
    if (parts) {
        markup_start(m, "figure");
        markup_element(m, "figcaption", NULL, "What the predicted time is made of");
        chart_parts(m, prediction, s->time_ns);
        markup_end(m);
    }
    if (d->span_count > 0) {
        markup_open(m, "figure", parts ? "rest" : "wide");
        markup_attr(m, "tabindex", "0"); // so that the keyboard can scroll it on a narrow screen
        markup_element(m, "figcaption", NULL,
                       d->span_note ? d->span_note : "The pipeline as the model runs it");
        const struct chart_timeline timeline = {"What each lane of the pipeline does over time",
                                                NULL, d->spans, d->span_count};
        chart_timeline(m, &timeline);
        markup_end(m);
    }
}

// ---- on its kernel's page ----

static void write_summary(struct site_page *p, size_t index, const struct site_detail *d)
{
    const struct site_series *s = &p->map->site->series[index];
    char shape[PROBLEM_TEXT], change[VIEW_TEXT];
    problem_tell(shape, &s->problem);
    view_percent(change, expm1(s->log_ratio.value));
    markup_start(p->m, "summary");
    markup_element(p->m, "h3", "mono", shape);
    markup_element(p->m, "span", "muted", p->map->site->devices[s->device].name);
    page_tag(p->m, chart_verdict_class(s->kind, site_is_environment(s)), view_symbol(s->kind),
             verdict_kind_name(s->kind));
    if (isfinite(s->log_ratio.value))
        markup_elementf(p->m, "span", NULL, "%s against %s", change, reference_of(d));
    markup_end(p->m);
}

// Of a kernel with many series, only the worst are shown completely on its page. For the others it
// has the most important facts. A script draws their charts there from the series' file. Their
// changes and predictions are on pages of their own, because a page with all drawings would take
// megabytes.
enum { OPEN_AT_FIRST = 3, WHOLE_MOST = 8 };

struct page_part { // part of a kernel's page
    size_t series;
    bool open, whole;
    struct buffer html;
};

static bool series_has_page(const struct page_part *part, const struct site_detail *d)
{
    return !part->whole || d->change_count > CHANGES_SHOWN;
}

// Writes the chart, either as a drawing (`drawn`) or as a place in which a script draws it.
static void write_chart(struct site_page *p, size_t index, const struct site_detail *d, bool drawn)
{
    const struct site_series *s = &p->map->site->series[index];
    if (s->sentence)
        markup_element(p->m, "p", "sentence", s->sentence);
    markup_open(p->m, "div", "figures");
    chart(p, index, d, drawn);
    markup_end(p->m);
    write_facts(p, s, d);
}

static void write_rest(struct site_page *p, size_t index, const struct site_detail *d, size_t most)
{
    markup_open(p->m, "div", "figures");
    write_model(p->m, &p->map->site->series[index], d);
    markup_end(p->m);
    write_changes(p, d, most);
}

static void series_part(struct page_part *part, const struct site_map *map,
                        const struct site_detail *d)
{
    const size_t index = part->series;
    struct site_page p = {.map = map, .root = "../", .m = markup_new(MARKUP_PART)};
    const struct site_series *s = &map->site->series[index];
    char anchor[SITE_ANCHOR], name[SITE_ANCHOR];
    site_anchor(anchor, map->site, index);
    site_series_name(name, map->site, index);
    markup_open(p.m, "details", s->kind == VERDICT_SAME ? "series" : "series changed");
    markup_attrf(p.m, "id", "%s", anchor);
    markup_attr(p.m, "open", part->open ? "" : NULL);
    write_summary(&p, index, d);
    markup_start(p.m, "div");
    write_chart(&p, index, d, part->whole);
    if (part->whole)
        write_rest(&p, index, d, CHANGES_SHOWN);
    if (series_has_page(part, d)) {
        markup_start(p.m, "p");
        markup_start(p.m, "a");
        markup_attrf(p.m, "href", "../series/%s.html", name);
        markup_textf(p.m, part->whole ? "All %zu changes" : "Its drawing, prediction and %zu %s",
                     d->change_count, plural(d->change_count, "change", "changes"));
        markup_end(p.m);
        markup_end(p.m);
    }
    if (part->whole) {
        write_epochs(&p, d);
        write_breaks(&p, d);
    }
    markup_end(p.m);
    markup_end(p.m);
    markup_finish(p.m, &part->html);
}

// ---- its own page ----

static void series_page(struct buffer *html, const struct site_map *map, size_t index,
                        const struct site_detail *d)
{
    const struct site_series *s = &map->site->series[index];
    struct buffer unused = {0}, title = {0};
    struct site_page p = {.map = map, .root = "../", .json = {.out = &unused}};
    struct page page;
    char shape[PROBLEM_TEXT];
    problem_tell(shape, &s->problem);
    buffer_printf(&title, "%s %s", s->kernel, shape);
    site_begin(&p, &page, title.bytes, SITE_SMALL);
    markup_open(p.m, "section", "card banner v-same");
    markup_element(p.m, "div", "word", "series");
    markup_element(p.m, "h1", NULL, title.bytes);
    markup_start(p.m, "p");
    markup_textf(p.m, "On %s. A chart to zoom, and the kernel's other series: ",
                 map->site->devices[s->device].name);
    site_series_link(&p, index, "on its kernel's page");
    markup_end(p.m);
    markup_end(p.m);
    write_chart(&p, index, d, true);
    write_rest(&p, index, d, SIZE_MAX);
    write_epochs(&p, d);
    write_breaks(&p, d);
    site_finish(&p, &page, html);
    buffer_free(&title);
    buffer_free(&unused);
}

// ---- as data ----

static void put_change(struct json *j, const struct site_change *c)
{
    json_begin(j, NULL, '{');
    json_clean(j, "commit", c->commit);
    json_clean(j, "first", c->first_commit);
    json_clean(j, "last", c->last_commit);
    json_interval(j, "change", interval_relative(c->log_ratio));
    json_number(j, "log_evidence", c->log_evidence);
    json_bool(j, "linked", c->linked);
    json_clean(j, "cause", cause_name(c->cause));
    json_end(j, '}');
}

static void put_break(struct json *j, const struct site_break *b)
{
    json_begin(j, NULL, '{');
    json_clean(j, "commit", b->commit);
    json_clean(j, "what", b->what);
    json_interval(j, "change", interval_relative(b->log_ratio));
    json_end(j, '}');
}

static void series_data(struct buffer *json, const struct site_map *map, size_t index,
                        const struct site_detail *d)
{
    const struct site *site = map->site;
    const struct site_series *s = &site->series[index];
    struct json j = {.out = json};
    char problem[PROBLEM_TEXT];
    problem_format(problem, &s->problem);
    json_begin(&j, NULL, '{');
    json_clean(&j, "kernel", s->kernel);
    json_clean(&j, "problem", problem);
    json_clean(&j, "device", site->devices[s->device].uuid);
    chart_data(&j, map, index, d);
    json_begin(&j, "changes", '[');
    for (size_t i = d->change_count; i-- > 0;)
        put_change(&j, &d->changes[i]);
    json_end(&j, ']');
    json_begin(&j, "breaks", '[');
    for (size_t i = d->break_count; i-- > 0;)
        put_break(&j, &d->breaks[i]);
    json_end(&j, ']');
    json_end(&j, '}');
}

// ---- the page of a kernel -----------------------------------------------------------------------

static void kernel(struct buffer *html, struct buffer *json, const struct site_map *map,
                   const struct site_group *kernel, uint64_t stamp, const struct buffer *parts)
{
    struct site_page p = {.map = map, .root = "../", .json = {.out = json}};
    struct page page;
    char text[32];
    snprintf(text, sizeof(text), "%016llx", (unsigned long long)stamp);
    site_begin(&p, &page, kernel->name, SITE_WITH_CHARTS);
    json_clean(&p.json, "stamp", text);
    json_clean(&p.json, "kernel", kernel->name);
    json_clean(&p.json, "slug", kernel->slug);
    markup_open(p.m, "section", "card banner v-same");
    markup_element(p.m, "div", "word", "kernel");
    markup_element(p.m, "h1", NULL, kernel->name);
    site_counts(&p, kernel->series, kernel->count);
    markup_end(p.m);
    site_heading(p.m, "Series of this kernel");
    site_table(&p, "table", kernel->series, kernel->count, SITE_WITH_DEVICE);
    site_metrics_table(&p, "Beside time", kernel->name);
    site_heading(p.m, "Series one by one");
    json_begin(&p.json, "series", '[');
    for (size_t i = 0; i < kernel->count; i++) {
        char name[SITE_ANCHOR];
        site_series_name(name, map->site, kernel->series[i]);
        json_clean(&p.json, NULL, name);
        markup_raw(p.m, parts[i].bytes);
    }
    json_end(&p.json, ']');
    site_finish(&p, &page, html);
}

// ---- the data of a page ----

// A stamp of everything that a kernel's page is made of: the table rows as JSON, the revisions of
// the results of `load`, and the program itself.
static uint64_t stamp_of(const struct site_map *map, const struct site_group *kernel)
{
    struct buffer text = {0}, unused = {0};
    struct site_page p = {.map = map, .root = "../", .json = {.out = &text}};
    p.m = markup_new(MARKUP_HTML);
    site_table(&p, "series", kernel->series, kernel->count, SITE_WITH_DEVICE);
    site_metrics_table(&p, "Beside time", kernel->name);
    markup_finish(p.m, &unused);
    uint64_t hash = hash_text(HASH_START, map->site->tool_version);
    hash = hash_text(hash, page_version());
    hash = hash_text(hash, map->site->repository);
    hash = hash_text(hash, map->site->commit_url);
    hash = hash_bytes(hash, unused.bytes, unused.length);
    hash = hash_bytes(hash, text.bytes, text.length);
    for (size_t i = 0; i < kernel->count; i++) {
        hash = hash_bytes(hash, &map->site->series[kernel->series[i]].revision, sizeof(uint64_t));
        hash = hash_text(hash, map->site->series[kernel->series[i]].sentence);
    }
    buffer_free(&text);
    buffer_free(&unused);
    return hash;
}

// ---- the points of one series ----

// Writes the settled points. A run's number is written as the difference from the run before, which
// is short.
static void settled(struct buffer *js, struct buffer *json, const char *name,
                    const struct site_point *points, size_t count, uint64_t stamp)
{
    struct json j = {.out = json};
    char text[32];
    int64_t last = 0;
    snprintf(text, sizeof(text), "%016llx", (unsigned long long)stamp);
    json_begin(&j, NULL, '{');
    json_clean(&j, "stamp", text);
    json_clean(&j, "series", name);
    json_begin(&j, "runs", '[');
    for (size_t i = 0; i < count; i++) {
        json_int(&j, NULL, points[i].run - last);
        last = points[i].run;
    }
    json_end(&j, ']');
    json_begin(&j, "times_ns", '[');
    for (size_t i = 0; i < count; i++)
        json_rounded(&j, NULL, points[i].time_ns > 0 ? points[i].time_ns : NAN, TIME_DIGITS);
    json_end(&j, ']');
    json_end(&j, '}');
    site_wrap(js, "plumbPoints", json);
}

// ---- all series ----

// Writes for each series: [name, its kernel's page, kernel, problem, device, whether it is a
// control]
static void series_list(struct buffer *js, struct buffer *json, const struct site_map *map)
{
    struct json j = {.out = json};
    json_begin(&j, NULL, '[');
    for (size_t k = 0; k < map->kernel_count; k++) {
        for (size_t i = 0; i < map->kernels[k].count; i++) {
            const size_t index = map->kernels[k].series[i];
            const struct site_series *s = &map->site->series[index];
            char name[SITE_ANCHOR], shape[PROBLEM_TEXT];
            site_series_name(name, map->site, index);
            problem_tell(shape, &s->problem);
            json_newline(&j);
            json_begin(&j, NULL, '[');
            json_clean(&j, NULL, name);
            json_clean(&j, NULL, map->kernels[k].slug);
            json_clean(&j, NULL, s->kernel);
            json_clean(&j, NULL, shape);
            json_clean(&j, NULL, map->site->devices[s->device].name);
            json_bool(&j, NULL, s->control);
            json_end(&j, ']');
        }
    }
    json_end(&j, ']');
    site_wrap(js, "plumbSeries", json);
}

// ---- one series ----

// Writes the points that the kernel's page leaves out of a long series.
static int write_settled(struct site_target *target, void *context, const struct site *site,
                         size_t series, const struct site_detail *detail, struct error *err)
{
    struct buffer js = {0}, json = {0};
    char name[SITE_ANCHOR];
    site_series_name(name, site, series);
    if (detail->settled == 0)
        return 0;
    if (site_has_stamp(target, "points/", name, ".js", detail->settled_revision)) {
        target->written.unchanged += 2;
        return 0;
    }
    struct site_point *points = xcalloc(detail->settled, sizeof(*points));
    int status = site->load_points(points, detail->settled, series, context, err);
    target->written.loaded_points++;
    if (status == 0)
        settled(&js, &json, name, points, detail->settled, detail->settled_revision);
    free(points);
    return status ? -1 : site_put_both(target, "points/", name, ".js", &js, &json, err);
}

static int put_series(struct site_target *target, const struct site_map *map,
                      const struct page_part *part, const struct site_detail *detail,
                      struct error *err)
{
    struct buffer html = {0}, js = {0}, json = {0};
    char name[SITE_ANCHOR];
    site_series_name(name, map->site, part->series);
    if (series_has_page(part, detail)) {
        series_page(&html, map, part->series, detail);
        if (site_put(target, "series/", name, ".html", &html, err))
            return -1;
    }
    series_data(&json, map, part->series, detail);
    site_wrap(&js, "plumbLine", &json);
    return site_put_both(target, "series/", name, ".js", &js, &json, err);
}

struct page_parts {
    const struct site_map *map;
    struct page_part *items;
    size_t count;
};

static int make_part(struct site_target *target, void *context, size_t job, void *all,
                     struct error *err)
{
    const struct page_parts *parts = all;
    const struct site *site = parts->map->site;
    struct page_part *part = &parts->items[job];
    struct site_detail detail = {0};
    struct arena arena = {0};
    int status = site->load(&detail, part->series, context, &arena, err);
    target->written.loaded += status == 0;
    if (status == 0 && (write_settled(target, context, site, part->series, &detail, err) ||
                        put_series(target, parts->map, part, &detail, err)))
        status = -1;
    if (status == 0)
        series_part(part, parts->map, &detail);
    arena_free(&arena);
    return status;
}

// ---- all ----

// The kernels whose pages must be made, and the parts of these pages.
struct page_making {
    const struct site_group *kernel;
    uint64_t stamp;
    size_t first; // index of the first of its parts
};

static size_t find_changed(struct page_making *out, struct page_parts *parts,
                           struct site_target *target)
{
    const struct site_map *map = parts->map;
    size_t count = 0;
    for (size_t k = 0; k < map->kernel_count; k++) {
        const struct site_group *kernel = &map->kernels[k];
        const uint64_t stamp = stamp_of(map, kernel);
        if (site_has_stamp(target, "kernel/", kernel->slug, ".html", stamp)) {
            target->written.unchanged += 2 + 2 * kernel->count; // data and JSON of each series
            continue;
        }
        out[count++] = (struct page_making){kernel, stamp, parts->count};
        for (size_t i = 0; i < kernel->count; i++) {
            const bool changed = map->site->series[kernel->series[i]].kind != VERDICT_SAME;
            parts->items[parts->count++] =
                (struct page_part){.series = kernel->series[i],
                                   .open = (changed || i == 0) && i < OPEN_AT_FIRST,
                                   .whole = kernel->count <= WHOLE_MOST || i < OPEN_AT_FIRST};
        }
    }
    return count;
}

static int put_kernel(struct site_target *target, const struct page_parts *parts,
                      const struct page_making *making, struct error *err)
{
    struct buffer html = {0}, json = {0};
    const size_t count = making->kernel->count;
    struct buffer *of_page = xcalloc(count, sizeof(*of_page));
    for (size_t i = 0; i < count; i++)
        of_page[i] = parts->items[making->first + i].html;
    kernel(&html, &json, parts->map, making->kernel, making->stamp, of_page);
    free(of_page);
    return site_put_both(target, "kernel/", making->kernel->slug, ".html", &html, &json, err);
}

static int write_changed(struct site_target *target, const struct site_map *map, struct error *err)
{
    struct page_parts parts = {map, xcalloc(map->site->series_count + 1, sizeof(*parts.items)), 0};
    struct page_making *making = xcalloc(map->kernel_count + 1, sizeof(*making));
    const size_t count = find_changed(making, &parts, target);
    int status = site_jobs(target, map->site, parts.count, make_part, &parts, err);
    for (size_t k = 0; status == 0 && k < count; k++)
        status = put_kernel(target, &parts, &making[k], err);
    for (size_t i = 0; i < parts.count; i++)
        buffer_free(&parts.items[i].html);
    free(parts.items);
    free(making);
    return status;
}

int site_write_kernels(struct site_target *target, const struct site_map *map, struct error *err)
{
    struct buffer js = {0}, json = {0};
    if (write_changed(target, map, err))
        return -1;
    series_list(&js, &json, map);
    return site_put_both(target, "", "series", ".js", &js, &json, err);
}
