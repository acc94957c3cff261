// SPDX-License-Identifier: Apache-2.0
//
// The runs, and any two of them side by side.
#include "reports/site_parts.h"

#include "reports/clean.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Values embedded in compare.html: about 8 bytes each, so at most some 2 MB.
enum { COMPARE_VALUES = 250000, COMPARE_RUNS = 200 };

static void conclusion_tag(struct markup *m, enum conclusion conclusion, bool finished)
{
    static const struct {
        const char *class, *sign;
    } tags[] = {{"v-faster", "✓"},
                {"v-slower", "▲"},
                {"v-undecided", "?"},
                {"v-broken", "✕"},
                {"v-broken", "!"}};
    size_t i = (size_t)conclusion < ARRAY_COUNT(tags) ? conclusion : 4;
    if (finished)
        page_tag(m, tags[i].class, tags[i].sign, view_conclusion(conclusion));
    else
        page_tag(m, "v-same", "…", "interrupted");
}

static void run_row(struct site_page *p, const struct site_run *run)
{
    struct markup *m = p->m;
    char when[VIEW_TEXT];
    struct buffer summary = {0};
    view_date(when, run->started_s);
    clean_line(&summary, run->summary, CLEAN_LINE);
    page_row_begin(m, NULL);
    page_cell(m, "run", NULL, (double)run->id, true);
    markup_open(m, run->href ? "a" : "span", NULL);
    if (run->href)
        markup_attrf(m, "href", "%s%s", p->root, run->href);
    markup_textf(m, "%lld", (long long)run->id);
    markup_end(m);
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
    conclusion_tag(m, run->conclusion, run->finished_s != 0);
    markup_end(m);
    page_cell(m, "headline", "wrap", NAN, false);
    markup_text(m, run->headline ? run->headline : "");
    markup_end(m);
    markup_end(m);
    buffer_free(&summary);
}

static void run_json(struct json *j, const struct site_run *run)
{
    json_newline(j);
    json_begin(j, NULL, '{');
    json_integer(j, "id", run->id);
    json_string(j, "kind", run_kind_name(run->kind));
    json_integer(j, "started_s", run->started_s);
    json_integer(j, "finished_s", run->finished_s);
    json_string(j, "base", run->base[0] ? run->base : NULL);
    json_string(j, "head", run->head);
    json_string(j, "conclusion", view_conclusion(run->conclusion));
    json_integer(j, "exit_code", (int64_t)run->conclusion);
    json_string(j, "headline", run->headline);
    json_end(j, '}');
}

void site_runs_table(struct site_page *p, size_t most)
{
    const struct site *site = p->map->site;
    size_t count = most > 0 && most < site->run_count ? most : site->run_count;
    markup_open(p->m, "div", "scroll");
    page_table_begin(p->m, most ? "cards" : "cards sortable filter", "Runs, newest first");
    page_table_head(p->m, "Run", PAGE_SORT_NUMBER, NULL);
    page_table_head(p->m, "Started", PAGE_SORT_NUMBER, NULL);
    page_table_head(p->m, "Kind", PAGE_SORT_TEXT, NULL);
    page_table_head(p->m, "Commit", PAGE_SORT_NONE, NULL);
    page_table_head(p->m, "Conclusion", PAGE_SORT_TEXT, NULL);
    page_table_head(p->m, "Headline", PAGE_SORT_NONE, NULL);
    page_table_body(p->m);
    for (size_t i = 0; i < count; i++)
        run_row(p, &site->runs[i]);
    page_table_end(p->m);
    markup_end(p->m);
}

void site_runs(struct buffer *html, struct buffer *json, const struct site_map *map)
{
    struct site_page p = {.map = map, .root = "", .json = {.out = json}};
    struct page page;
    site_begin(&p, &page, "Runs", false);
    json_begin(&p.json, "runs", '[');
    for (size_t i = 0; i < map->site->run_count; i++)
        run_json(&p.json, &map->site->runs[i]);
    json_end(&p.json, ']');
    markup_element(p.m, "h1", NULL, "Runs");
    if (map->site->run_count > 0)
        site_runs_table(&p, 0);
    else
        markup_element(p.m, "p", NULL, "There are no runs yet.");
    site_finish(&p, &page, html);
}

// ---- compare ------------------------------------------------------------------------------------

// The newest runs that have times, as many as fit; returns how many, indices in `list`.
static size_t comparable(const struct site *site, size_t list[COMPARE_RUNS])
{
    size_t count = 0, most = COMPARE_VALUES / (site->series_count ? site->series_count : 1);
    if (most > COMPARE_RUNS)
        most = COMPARE_RUNS;
    if (most < 2)
        most = 2;
    for (size_t i = 0; i < site->run_count && count < most; i++) {
        if (site->runs[i].times_ns)
            list[count++] = i;
    }
    return count;
}

// The newest run before list[0] of the same device and another commit, for there is most to see.
static size_t older_like(const struct site *site, const size_t *list, size_t count)
{
    const struct site_run *newest = &site->runs[list[0]];
    size_t found = 0;
    for (size_t i = count; i-- > 1;) {
        const struct site_run *r = &site->runs[list[i]];
        if (r->device == newest->device && strcmp(r->head, newest->head) != 0)
            found = i;
    }
    return found ? found : 1;
}

static void run_label(char out[VIEW_TEXT], const struct site_run *run)
{
    char when[VIEW_TEXT];
    view_date(when, run->started_s);
    snprintf(out, VIEW_TEXT, "%lld: %.10s, %.20s", (long long)run->id, run->head, when);
}

// Times in nanoseconds with 5 digits: 0.001 %, in rows of the table's order.
static void put_times(struct json *j, const struct site_map *map, const struct site_run *run)
{
    json_newline(j);
    json_begin(j, NULL, '[');
    for (size_t i = 0; i < map->site->series_count; i++) {
        double time = run->times_ns[map->order[i]];
        json_rounded(j, NULL, time > 0 ? time : NAN, 5);
    }
    json_end(j, ']');
}

static void put_data(struct buffer *out, const struct site_map *map, const size_t *list,
                     size_t count, size_t older)
{
    struct json j = {.out = out};
    char label[VIEW_TEXT];
    json_begin(&j, NULL, '{');
    json_integer(&j, "first", (int64_t)older);
    json_begin(&j, "runs", '[');
    for (size_t i = 0; i < count; i++) {
        run_label(label, &map->site->runs[list[i]]);
        json_string(&j, NULL, label);
    }
    json_end(&j, ']');
    json_begin(&j, "times", '[');
    for (size_t i = 0; i < count; i++)
        put_times(&j, map, &map->site->runs[list[i]]);
    json_end(&j, ']');
    json_end(&j, '}');
}

static void figure_cell(struct markup *m, const char *label, double value, const char *text)
{
    page_cell(m, label, "right nowrap", value, false);
    markup_text(m, text);
    markup_end(m);
}

// `place`: of the series in the data that page.js fills the row from.
static void compare_row(struct site_page *p, size_t index, size_t place, const struct site_run *a,
                        const struct site_run *b)
{
    const struct site_series *s = &p->map->site->series[index];
    char shape[PROBLEM_TEXT], text[VIEW_TEXT];
    double before = a->times_ns[index], after = b->times_ns[index];
    view_shape(shape, &s->problem);
    markup_start(p->m, "tr");
    markup_attrf(p->m, "data-place", "%zu", place);
    markup_attr(p->m, "data-device", p->map->site->devices[s->device].name);
    page_cell(p->m, "kernel", NULL, NAN, true);
    site_series_link(p, index, s->kernel);
    markup_end(p->m);
    page_cell(p->m, "problem", "mono nowrap", NAN, false);
    markup_text(p->m, shape);
    markup_end(p->m);
    page_cell(p->m, "device", NULL, NAN, false);
    markup_text(p->m, p->map->site->devices[s->device].name);
    markup_end(p->m);
    view_time(text, before > 0 ? before : NAN);
    figure_cell(p->m, "first", before, text);
    view_time(text, after > 0 ? after : NAN);
    figure_cell(p->m, "second", after, text);
    view_percent(text, before > 0 ? after / before - 1 : NAN);
    figure_cell(p->m, "change", before > 0 ? after / before - 1 : NAN, text);
    markup_end(p->m);
}

static void compare_json(struct site_page *p, size_t index, const struct site_run *a,
                         const struct site_run *b)
{
    const struct site_series *s = &p->map->site->series[index];
    struct json *j = &p->json;
    double before = a->times_ns[index], after = b->times_ns[index];
    char problem[PROBLEM_TEXT];
    problem_format(problem, &s->problem);
    json_newline(j);
    json_begin(j, NULL, '{');
    json_string(j, "kernel", s->kernel);
    json_string(j, "problem", problem);
    json_string(j, "device", p->map->site->devices[s->device].uuid);
    json_rounded(j, "first_ns", before > 0 ? before : NAN, 7);
    json_rounded(j, "second_ns", after > 0 ? after : NAN, 7);
    json_rounded(j, "change", before > 0 ? after / before - 1 : NAN, 7);
    json_end(j, '}');
}

// Series that both runs have come first; each half keeps the site's order.
static void compare_rows(struct site_page *p, const struct site_run *a, const struct site_run *b)
{
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < p->map->site->series_count; i++) {
            size_t index = p->map->order[i];
            bool both = a->times_ns[index] > 0 && b->times_ns[index] > 0;
            if (both != (pass == 0))
                continue;
            compare_row(p, index, i, a, b);
            compare_json(p, index, a, b);
        }
    }
}

static void compare_table(struct site_page *p, const struct site_run *a, const struct site_run *b)
{
    markup_open(p->m, "div", "scroll");
    page_table_begin(p->m, "cards sortable filter compare", "The two runs side by side");
    page_table_head(p->m, "Kernel", PAGE_SORT_TEXT, NULL);
    page_table_head(p->m, "Problem", PAGE_SORT_TEXT, NULL);
    page_table_head(p->m, "Device", PAGE_SORT_TEXT, NULL);
    page_table_head(p->m, "First", PAGE_SORT_NUMBER, "right");
    page_table_head(p->m, "Second", PAGE_SORT_NUMBER, "right");
    page_table_head(p->m, "Change", PAGE_SORT_NUMBER, "right");
    page_table_body(p->m);
    compare_rows(p, a, b);
    page_table_end(p->m);
    markup_end(p->m);
}

void site_compare(struct buffer *html, struct buffer *json, const struct site_map *map)
{
    struct site_page p = {.map = map, .root = "", .json = {.out = json}};
    struct page page;
    size_t list[COMPARE_RUNS], count = comparable(map->site, list);
    char first[VIEW_TEXT], second[VIEW_TEXT];
    site_begin(&p, &page, "Compare runs", false);
    markup_element(p.m, "h1", NULL, "Compare two runs");
    if (count < 2) {
        markup_element(p.m, "p", NULL, "Two finished runs are needed to compare.");
        site_finish(&p, &page, html);
        return;
    }
    struct buffer data = {0};
    size_t before = older_like(map->site, list, count);
    const struct site_run *older = &map->site->runs[list[before]];
    const struct site_run *newer = &map->site->runs[list[0]];
    run_label(first, older);
    run_label(second, newer);
    markup_elementf(p.m, "p", "muted compared", "%s against %s", first, second);
    markup_element(p.m, "p", "muted",
                   "Runs of different nights saw different clocks and temperatures: read a few "
                   "percent as a hint, and let a gate, which measures both side by side, decide.");
    put_data(&data, map, list, count, before);
    markup_start(p.m, "script");
    markup_attr(p.m, "type", "application/json");
    markup_attr(p.m, "id", "compare-data");
    markup_raw(p.m, data.bytes);
    markup_end(p.m);
    json_string(&p.json, "first", first);
    json_string(&p.json, "second", second);
    json_begin(&p.json, "series", '[');
    compare_table(&p, older, newer);
    json_end(&p.json, ']');
    buffer_free(&data);
    site_finish(&p, &page, html);
}
