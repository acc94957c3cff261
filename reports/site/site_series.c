// SPDX-License-Identifier: Apache-2.0
//
// One series: its part of its kernel's page with the newest changes, a page of all changes where
// there are more, and the data of its chart.
#include "reports/site/site_parts.h"

#include "model/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    site_commit(p, c->commit);
    markup_elementf(m, "span", "muted small", " %s", when);
    markup_end(m);
    page_cell(m, "size", "right nowrap", NAN, false);
    markup_textf(m, "%s %s", size, isnan(c->log_ratio.low) ? "" : interval);
    markup_end(m);
    page_cell(m, "began in", "nowrap", NAN, false);
    if (c->linked) {
        // Which may be its parent, or many commits before: then it began with one of them.
        markup_text(m, "after ");
        site_commit(p, c->first_commit);
        markup_text(m, ", side by side with it");
    } else if (c->commits > 1) {
        site_commit(p, c->first_commit);
        markup_text(m, " .. ");
        site_commit(p, c->last_commit);
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

// The newest, at most so many of them.
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
        site_commit(p, e->commit);
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
        site_commit(p, b->commit);
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

// Against the first code: what many steps, each too small to be told, have come to.
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

// What the series' change is held against.
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
    if (isfinite(site_ratio(s))) {
        view_time(predicted, s->predicted_ns);
        snprintf(more, sizeof(more),
                 "%.40s by %.60s %.20s, bound by %.20s; actual / predicted %.3f", predicted,
                 d->prediction.model ? d->prediction.model : "",
                 d->prediction.version ? d->prediction.version : "", bound_name(s->bound),
                 site_ratio(s));
        fact(p->m, "prediction", more);
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
        markup_attr(m, "tabindex", "0"); // on a narrow screen it scrolls
        markup_element(m, "figcaption", NULL,
                       d->span_note ? d->span_note : "The pipeline as the model runs it");
        chart_timeline(m, d->spans, d->span_count);
        markup_end(m);
    }
}

// ---- on its kernel's page ----

static void write_summary(struct site_page *p, size_t index, const struct site_detail *d)
{
    const struct site_series *s = &p->map->site->series[index];
    char shape[PROBLEM_TEXT], change[VIEW_TEXT];
    view_shape(shape, &s->problem);
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

void site_series_part(struct buffer *html, const struct site_map *map, size_t index,
                      const struct site_detail *d, bool open)
{
    struct site_page p = {.map = map, .root = "../", .m = markup_new(MARKUP_PART)};
    const struct site_series *s = &map->site->series[index];
    char anchor[SITE_ANCHOR], name[SITE_ANCHOR];
    site_anchor(anchor, map->site, index);
    site_series_name(name, map->site, index);
    markup_open(p.m, "details", s->kind == VERDICT_SAME ? "series" : "series changed");
    markup_attrf(p.m, "id", "%s", anchor);
    markup_attr(p.m, "open", open ? "" : NULL);
    write_summary(&p, index, d);
    markup_start(p.m, "div");
    if (s->sentence)
        markup_element(p.m, "p", "sentence", s->sentence);
    markup_open(p.m, "div", "figures");
    site_chart(&p, index, d);
    markup_end(p.m);
    write_facts(&p, s, d);
    markup_open(p.m, "div", "figures");
    write_model(p.m, s, d);
    markup_end(p.m);
    write_changes(&p, d, CHANGES_SHOWN);
    if (site_series_has_page(d)) {
        markup_start(p.m, "p");
        markup_start(p.m, "a");
        markup_attrf(p.m, "href", "../series/%s.html", name);
        markup_textf(p.m, "All %zu changes", d->change_count);
        markup_end(p.m);
        markup_end(p.m);
    }
    write_epochs(&p, d);
    write_breaks(&p, d);
    markup_end(p.m);
    markup_end(p.m);
    markup_finish(p.m, html);
}

// ---- a page of all its changes ----

bool site_series_has_page(const struct site_detail *d)
{
    return d->change_count > CHANGES_SHOWN;
}

// What it shows, as it shows it: most runs add nothing.
uint64_t site_series_stamp(const struct site_map *map, size_t index, const struct site_detail *d)
{
    char name[SITE_ANCHOR], text[VIEW_TEXT];
    site_series_name(name, map->site, index);
    uint64_t hash = hash_text(hash_text(HASH_START, map->site->tool_version), page_version());
    hash = hash_text(hash_text(hash, map->site->repository), map->site->commit_url);
    hash =
        hash_text(hash_text(hash, name), map->site->devices[map->site->series[index].device].name);
    for (size_t i = 0; i < d->change_count; i++) {
        const struct site_change *c = &d->changes[i];
        hash = hash_text(hash_text(hash_text(hash, c->commit), c->first_commit), c->last_commit);
        view_percent(text, expm1(c->log_ratio.value));
        hash = hash_text(hash, text);
        view_interval(text, interval_relative(c->log_ratio));
        hash = hash_text(hash, text);
        snprintf(text, sizeof(text), "%.1f %d %d", c->log_evidence / M_LN10, (int)c->cause,
                 (int)c->linked);
        hash = hash_text(hash_text(hash, text), c->sentence);
    }
    return hash;
}

void site_series_page(struct buffer *html, const struct site_map *map, size_t index,
                      const struct site_detail *d)
{
    const struct site_series *s = &map->site->series[index];
    struct buffer unused = {0}, title = {0};
    struct site_page p = {.map = map, .root = "../", .json = {.out = &unused}};
    struct page page;
    char shape[PROBLEM_TEXT];
    view_shape(shape, &s->problem);
    buffer_printf(&title, "%s %s", s->kernel, shape);
    site_begin(&p, &page, title.bytes, SITE_SMALL);
    markup_open(p.m, "section", "card banner v-same");
    markup_element(p.m, "div", "word", "series");
    markup_element(p.m, "h1", NULL, title.bytes);
    markup_start(p.m, "p");
    markup_textf(
        p.m, "On %s. Its chart and what else is known of it: ", map->site->devices[s->device].name);
    site_series_link(&p, index, "on its kernel's page");
    markup_end(p.m);
    markup_end(p.m);
    site_heading(p.m, "All of its changes");
    write_changes(&p, d, SIZE_MAX);
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

void site_series_data(struct buffer *json, const struct site_map *map, size_t index,
                      const struct site_detail *d, uint64_t stamp)
{
    const struct site *site = map->site;
    const struct site_series *s = &site->series[index];
    struct json j = {.out = json};
    char problem[PROBLEM_TEXT], text[32];
    problem_format(problem, &s->problem);
    snprintf(text, sizeof(text), "%016llx", (unsigned long long)stamp);
    json_begin(&j, NULL, '{');
    json_clean(&j, "stamp", text);
    json_clean(&j, "kernel", s->kernel);
    json_clean(&j, "problem", problem);
    json_clean(&j, "device", site->devices[s->device].uuid);
    site_chart_data(&j, map, index, d);
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
