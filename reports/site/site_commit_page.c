// SPDX-License-Identifier: Apache-2.0
//
// The page of a commit: what began with it, and its runs.
#include "reports/site/site_parts.h"

#include "model/text.h"
#include "reports/text/clean.h"

#include <math.h>
#include <stdio.h>

static void write_banner(struct site_page *p, const struct site_commit *c)
{
    char when[VIEW_TEXT], id[VIEW_TEXT];
    struct buffer summary = {0};
    view_short_id(id, c->id);
    view_date(when, c->time_s);
    clean_line(&summary, c->summary, CLEAN_LINE);
    markup_open(p->m, "section", c->change_count ? "card banner v-slower" : "card banner v-same");
    markup_element(p->m, "div", "word", "commit");
    markup_elementf(p->m, "h1", NULL, "%s %s", id, summary.bytes ? summary.bytes : "");
    markup_open(p->m, "dl", "facts");
    markup_element(p->m, "dt", NULL, "id");
    markup_open(p->m, "dd", "mono");
    view_commit(p->m, p->map->site->commit_url, c->id);
    markup_elementf(p->m, "span", "muted", " %s", c->id);
    markup_end(p->m);
    if (c->author[0]) {
        markup_element(p->m, "dt", NULL, "author");
        markup_element(p->m, "dd", NULL, c->author);
    }
    if (c->time_s > 0) {
        markup_element(p->m, "dt", NULL, "date");
        markup_element(p->m, "dd", NULL, when);
    }
    markup_end(p->m);
    markup_end(p->m);
    buffer_free(&summary);
}

static void change_row(struct site_page *p, const struct site_alarm *a)
{
    const struct site_series *s = &p->map->site->series[a->series];
    char shape[PROBLEM_TEXT], change[VIEW_TEXT];
    view_shape(shape, &s->problem);
    view_percent(change, expm1(a->log_ratio));
    page_row_begin(p->m, NULL);
    page_cell(p->m, "state", "nowrap", NAN, false);
    page_tag(p->m, chart_verdict_class(a->kind, a->cause == CAUSE_ENVIRONMENT),
             view_symbol(a->kind), verdict_kind_name(a->kind));
    markup_end(p->m);
    page_cell(p->m, "kernel", NULL, NAN, true);
    site_series_link(p, a->series, s->kernel);
    markup_end(p->m);
    page_text_cell(p->m, "problem", "mono nowrap", NAN, shape);
    page_text_cell(p->m, "device", NULL, NAN, p->map->site->devices[s->device].name);
    page_text_cell(p->m, "change", "right nowrap", expm1(a->log_ratio), change);
    page_text_cell(p->m, "why", "wrap", NAN, a->sentence ? a->sentence : cause_name(a->cause));
    markup_end(p->m);
}

static void write_changes(struct site_page *p, const struct site_commit *c)
{
    site_heading(p->m, "What began with it");
    if (c->change_count == 0) {
        markup_element(p->m, "p", "muted", "Nothing that was found.");
        return;
    }
    page_table_begin(p->m, "cards", "Series that changed with this commit");
    page_table_head(p->m, "State", PAGE_SORT_NONE, NULL);
    page_table_head(p->m, "Kernel", PAGE_SORT_NONE, NULL);
    page_table_head(p->m, "Problem", PAGE_SORT_NONE, NULL);
    page_table_head(p->m, "Device", PAGE_SORT_NONE, NULL);
    page_table_head(p->m, "Change", PAGE_SORT_NONE, "right");
    page_table_head(p->m, "Why", PAGE_SORT_NONE, NULL);
    page_table_body(p->m);
    for (size_t i = 0; i < c->change_count; i++)
        change_row(p, &p->map->site->alarms[c->changes[i]]);
    page_table_end(p->m);
}

static void write_neighbour(struct site_page *p, const char *what, const struct site_commit *c)
{
    struct buffer summary = {0};
    clean_line(&summary, c->summary, SITE_SUMMARY);
    markup_start(p->m, "li");
    markup_textf(p->m, "%s ", what);
    site_commit(p, c->id);
    markup_elementf(p->m, "span", "muted", " %s", summary.bytes ? summary.bytes : "");
    markup_end(p->m);
    buffer_free(&summary);
}

void site_commit_page(struct buffer *html, const struct site_map *map, size_t commit)
{
    const struct site_commit *c = &map->commits[commit];
    struct buffer unused = {0};
    struct site_page p = {.map = map, .root = "../", .json = {.out = &unused}};
    struct page page;
    char title[VIEW_TEXT], id[VIEW_TEXT];
    view_short_id(id, c->id);
    snprintf(title, sizeof(title), "Commit %.40s", id);
    site_begin(&p, &page, title, SITE_SMALL, NULL);
    write_banner(&p, c);
    write_changes(&p, c);
    site_heading(p.m, "Its runs");
    site_runs_of(&p, c->runs, c->run_count, false);
    site_heading(p.m, "Measured before and after it");
    markup_start(p.m, "ul");
    if (commit > 0)
        write_neighbour(&p, "before:", c - 1);
    if (commit + 1 < map->commit_count)
        write_neighbour(&p, "after:", c + 1);
    markup_end(p.m);
    site_finish(&p, &page, html);
    buffer_free(&unused);
}
