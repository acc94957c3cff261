// SPDX-License-Identifier: Apache-2.0
//
// The newest runs; compare.html finds all.
#include "reports/site/site_parts.h"

#include "reports/text/clean.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS_SHOWN = 200 };

// Beside the run before it, when both have times.
static void compare_cell(struct site_page *p, size_t index)
{
    const struct site *site = p->map->site;
    size_t before = site_comparable(&site->runs[index]) ? site_run_before(site, index) : SIZE_MAX;
    page_cell(p->m, "compare", before == SIZE_MAX ? "empty" : NULL, NAN, false);
    if (before == SIZE_MAX) {
        markup_text(p->m, "-");
    } else {
        markup_start(p->m, "a");
        markup_attrf(p->m, "href", "%scompare.html#%lld..%lld", p->root,
                     (long long)site->runs[before].id, (long long)site->runs[index].id);
        markup_textf(p->m, "with %lld", (long long)site->runs[before].id);
        markup_end(p->m);
    }
    markup_end(p->m);
}

static void run_row(struct site_page *p, size_t index)
{
    const struct site_run *run = &p->map->site->runs[index];
    struct markup *m = p->m;
    char when[VIEW_TEXT];
    struct buffer summary = {0};
    view_date(when, run->started_s);
    clean_line(&summary, run->summary, CLEAN_LINE);
    page_row_begin(m, NULL);
    page_cell(m, "run", NULL, (double)run->id, true);
    site_run_link(p, run);
    markup_end(m);
    page_cell(m, "started", "nowrap", (double)run->started_s, false);
    markup_text(m, when);
    markup_end(m);
    page_cell(m, "kind", NULL, NAN, false);
    markup_text(m, run_kind_name(run->kind));
    markup_end(m);
    page_cell(m, "commit", "wrap", NAN, false);
    if (run->base[0]) {
        site_commit(p, run->base);
        markup_text(m, " .. ");
    }
    site_commit(p, run->head);
    markup_elementf(m, "span", "muted small", " %s", summary.bytes ? summary.bytes : "");
    markup_end(m);
    page_cell(m, "conclusion", "nowrap", NAN, false);
    site_conclusion(m, run);
    markup_end(m);
    page_cell(m, "headline", "wrap", NAN, false);
    markup_text(m, run->headline ? run->headline : "");
    markup_end(m);
    compare_cell(p, index);
    markup_end(m);
    buffer_free(&summary);
}

static void run_json(struct json *j, const struct site_run *run)
{
    json_newline(j);
    json_begin(j, NULL, '{');
    json_int(j, "id", run->id);
    json_clean(j, "kind", run_kind_name(run->kind));
    json_int(j, "started_s", run->started_s);
    json_int(j, "finished_s", run->finished_s);
    json_clean(j, "base", run->base[0] ? run->base : NULL);
    json_clean(j, "head", run->head);
    json_clean(j, "conclusion", view_conclusion(run->conclusion));
    json_int(j, "exit_code", (int64_t)run->conclusion);
    json_clean(j, "headline", run->headline);
    json_end(j, '}');
}

void site_runs_of(struct site_page *p, const size_t *runs, size_t count, bool filter)
{
    page_table_begin(p->m, filter ? "cards sortable filter" : "cards", "Runs, newest first");
    page_table_head(p->m, "Run", PAGE_SORT_NUMBER, NULL);
    page_table_head(p->m, "Started", PAGE_SORT_NUMBER, NULL);
    page_table_head(p->m, "Kind", PAGE_SORT_TEXT, NULL);
    page_table_head(p->m, "Commit", PAGE_SORT_NONE, NULL);
    page_table_head(p->m, "Conclusion", PAGE_SORT_TEXT, NULL);
    page_table_head(p->m, "Headline", PAGE_SORT_NONE, NULL);
    page_table_head(p->m, "Compare", PAGE_SORT_NONE, NULL);
    page_table_body(p->m);
    for (size_t i = 0; i < count; i++)
        run_row(p, runs[i]);
    page_table_end(p->m);
}

void site_runs_table(struct site_page *p, size_t most, bool filter)
{
    const size_t known = p->map->site->run_count, count = most < known ? most : known;
    size_t *runs = xcalloc(count + 1, sizeof(*runs));
    for (size_t i = 0; i < count; i++)
        runs[i] = i;
    site_runs_of(p, runs, count, filter);
    free(runs);
}

void site_runs(struct buffer *html, struct buffer *json, const struct site_map *map)
{
    struct site_page p = {.map = map, .root = "", .json = {.out = json}};
    struct page page;
    size_t known = map->site->run_count, shown = known < RUNS_SHOWN ? known : RUNS_SHOWN;
    site_begin(&p, &page, "Runs", SITE_PLAIN);
    json_begin(&p.json, "runs", '[');
    for (size_t i = 0; i < shown; i++)
        run_json(&p.json, &map->site->runs[i]);
    json_end(&p.json, ']');
    markup_element(p.m, "h1", NULL, "Runs");
    if (known > shown) {
        markup_open(p.m, "p", "muted");
        markup_textf(p.m, "The newest %zu of %zu. Older ones are found where runs are ", shown,
                     known);
        markup_start(p.m, "a");
        markup_attr(p.m, "href", "compare.html");
        markup_text(p.m, "compared");
        markup_end(p.m);
        markup_text(p.m, ".");
        markup_end(p.m);
    }
    if (shown > 0)
        site_runs_table(&p, shown, true);
    else
        markup_element(p.m, "p", NULL,
                       "There are no runs yet: `plumb run` and `plumb gate` make them.");
    site_finish(&p, &page, html);
}
