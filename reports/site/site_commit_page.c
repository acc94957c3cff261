// SPDX-License-Identifier: Apache-2.0
//
// The page of a commit: what began with it, and its runs.
#include "reports/site/site_parts.h"

#include "model/text.h"
#include "reports/text/clean.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// The worst of what began with it and of what its runs concluded.
static const char *class_of(const struct site *site, const struct site_commit *c)
{
    const char *class = "v-same";
    for (size_t i = 0; i < c->event_count; i++) {
        const struct event *e = site->events[c->events[i]].event;
        const bool slower = site_event_slower(e) > 0;
        if (slower || strcmp(class, "v-same") == 0)
            class = slower ? "v-slower" : "v-faster";
    }
    for (size_t i = 0; i < c->run_count; i++) {
        const struct site_run *run = &site->runs[c->runs[i]];
        if (run->finished_s && run->conclusion == CONCLUDE_BROKEN)
            return "v-broken";
        if (run->finished_s && run->conclusion == CONCLUDE_REGRESSION)
            class = "v-slower";
    }
    return class;
}

static void write_banner(struct site_page *p, const struct site_commit *c)
{
    char when[VIEW_TEXT], id[VIEW_TEXT];
    struct buffer summary = {0};
    view_short_id(id, c->id);
    view_date(when, c->time_s);
    clean_line(&summary, c->summary, CLEAN_LINE);
    markup_start(p->m, "section");
    markup_attrf(p->m, "class", "card banner %s", class_of(p->map->site, c));
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

static void change_row(struct site_page *p, const struct event_change *c)
{
    const struct site_series *s = &p->map->site->series[c->series];
    char shape[PROBLEM_TEXT], change[VIEW_TEXT], interval[VIEW_TEXT];
    view_shape(shape, &s->problem);
    view_percent(change, expm1(c->size.value));
    view_interval(interval, interval_relative(c->size));
    page_row_begin(p->m, NULL);
    page_cell(p->m, "kernel", NULL, NAN, true);
    site_series_link(p, c->series, s->kernel);
    markup_end(p->m);
    page_text_cell(p->m, "problem", "mono nowrap", NAN, shape);
    page_text_cell(p->m, "device", NULL, NAN, p->map->site->devices[s->device].name);
    page_cell(p->m, "against the commit before", "right nowrap", NAN, false);
    markup_textf(p->m, "%s %s", change, isfinite(c->size.low) ? interval : "");
    markup_end(p->m);
    page_text_cell(p->m, "measured", NULL, NAN, c->paired ? "side by side" : "from run to run");
    page_cell(p->m, "evidence", "right nowrap", NAN, false);
    markup_textf(p->m, "10^%.1f", c->log_evidence / M_LN10);
    markup_end(p->m);
    markup_end(p->m);
}

static void write_entries(struct site_page *p, const struct event *e)
{
    markup_open(p->m, "ul", "epochs");
    for (size_t i = 0; i < e->entry_count; i++) {
        const struct event_entry *entry = &e->entries[i];
        char when[VIEW_TEXT];
        view_date(when, entry->when_s);
        markup_start(p->m, "li");
        markup_text(p->m, event_state_name(entry->state));
        if (entry->when_s) // of links without a run nothing says when
            markup_textf(p->m, " on %.10s", when);
        markup_textf(p->m, " by %s%s%s", entry->who ? entry->who : "unknown",
                     entry->why && *entry->why ? ": " : "", entry->why ? entry->why : "");
        markup_end(p->m);
    }
    markup_end(p->m);
}

// Of several commits that it may have begun with the likeliest comes first.
static void write_candidates(struct site_page *p, const struct event *e)
{
    if (e->culprit_count < 2)
        return;
    markup_start(p->m, "p");
    markup_text(p->m, "It began with one of these, the likeliest first: ");
    for (size_t i = 0; i < e->culprit_count; i++) {
        markup_text(p->m, i ? ", " : "");
        site_commit(p, e->commits[i].id);
    }
    markup_text(p->m, ".");
    markup_end(p->m);
}

static void write_event(struct site_page *p, const struct site_event *event)
{
    const struct event *e = event->event;
    markup_start(p->m, "section");
    markup_attrf(p->m, "aria-label", "Event %s", e->name);
    markup_start(p->m, "p");
    site_event_state(p->m, e);
    markup_text(p->m, " ");
    site_event_size(p->m, e);
    markup_elementf(p->m, "span", "muted", " event %s: %s", e->name,
                    event->sentence ? event->sentence : "");
    markup_end(p->m);
    write_candidates(p, e);
    if (e->entry_count)
        write_entries(p, e);
    page_table_begin(p->m, "cards", "Series that the event touches, largest change first");
    page_table_head(p->m, "Kernel", PAGE_SORT_NONE, NULL);
    page_table_head(p->m, "Problem", PAGE_SORT_NONE, NULL);
    page_table_head(p->m, "Device", PAGE_SORT_NONE, NULL);
    page_table_head(p->m, "Against the commit before", PAGE_SORT_NONE, "right");
    page_table_head(p->m, "Measured", PAGE_SORT_NONE, NULL);
    page_table_head(p->m, "Evidence", PAGE_SORT_NONE, "right");
    page_table_body(p->m);
    for (size_t i = 0; i < e->count; i++)
        change_row(p, &e->changes[i]);
    page_table_end(p->m);
    markup_end(p->m);
}

// What its runs concluded other than that all is well; false: nothing.
static bool write_conclusions(struct site_page *p, const struct site_commit *c)
{
    bool any = false;
    for (size_t i = 0; i < c->run_count; i++) {
        const struct site_run *run = &p->map->site->runs[c->runs[i]];
        if (!run->finished_s || run->conclusion == CONCLUDE_OK)
            continue;
        markup_start(p->m, "p");
        site_conclusion(p->m, run);
        markup_text(p->m, " in run ");
        site_run_link(p, run);
        markup_textf(p->m, " (%s): %s", run_kind_name(run->kind),
                     run->headline ? run->headline : "");
        markup_end(p->m);
        any = true;
    }
    return any;
}

static void write_events(struct site_page *p, const struct site_commit *c)
{
    site_heading(p->m, "What began with it");
    const bool concluded = write_conclusions(p, c);
    if (c->event_count == 0)
        markup_element(p->m, "p", "muted",
                       concluded
                           ? "No change of a level began with it."
                           : "Nothing: no change of a level, and its runs found nothing wrong.");
    for (size_t i = 0; i < c->event_count; i++)
        write_event(p, &p->map->site->events[c->events[i]]);
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
    site_begin(&p, &page, title, SITE_SMALL);
    write_banner(&p, c);
    write_events(&p, c);
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
