// SPDX-License-Identifier: Apache-2.0
//
// The page of a run: what it was, what it concluded and decided, and where it differs most from the
// run before.
#include "reports/site/site_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { SHOWN = 12 };

static void term(struct site_page *p, const char *text)
{
    markup_element(p->m, "dt", NULL, text);
}

static void fact(struct site_page *p, const char *name, const char *value)
{
    if (!value[0])
        return;
    term(p, name);
    markup_element(p->m, "dd", NULL, value);
}

static void commit_fact(struct site_page *p, const char *name, const char *id, const char *summary)
{
    if (!id[0])
        return;
    term(p, name);
    markup_start(p->m, "dd");
    site_commit(p, id);
    markup_textf(p->m, " %s", summary ? summary : "");
    markup_end(p->m);
}

static void write_facts(struct site_page *p, const struct site_run *run)
{
    char when[VIEW_TEXT], took[VIEW_TEXT] = "";
    view_date(when, run->started_s);
    if (run->finished_s >= run->started_s && run->finished_s)
        snprintf(took, sizeof(took), "%lld s", (long long)(run->finished_s - run->started_s));
    markup_open(p->m, "dl", "facts");
    fact(p, "kind", run_kind_name(run->kind));
    commit_fact(p, "base", run->base, NULL);
    commit_fact(p, run->base[0] ? "head" : "commit", run->head, run->summary);
    fact(p, "started", when);
    fact(p, "took", took);
    if (run->device < p->map->site->device_count)
        fact(p, "device", p->map->site->devices[run->device].name);
    markup_end(p->m);
}

struct difference {
    size_t series;
    double log_ratio;
};

static int largest_first(const void *left, const void *right)
{
    const struct difference *a = left, *b = right;
    const double x = fabs(a->log_ratio), y = fabs(b->log_ratio);
    return x != y ? (x < y) - (x > y) : (a->series > b->series) - (a->series < b->series);
}

static void difference_row(struct site_page *p, const struct difference *d, const double *before_ns,
                           const double *times_ns)
{
    const struct site_series *s = &p->map->site->series[d->series];
    char shape[PROBLEM_TEXT], text[VIEW_TEXT];
    view_shape(shape, &s->problem);
    page_row_begin(p->m, NULL);
    page_cell(p->m, "kernel", NULL, NAN, true);
    site_series_link(p, d->series, s->kernel);
    markup_end(p->m);
    page_text_cell(p->m, "problem", "mono nowrap", NAN, shape);
    view_time(text, before_ns[d->series]);
    page_text_cell(p->m, "before", "right nowrap", NAN, text);
    view_time(text, times_ns[d->series]);
    page_text_cell(p->m, "this run", "right nowrap", NAN, text);
    view_percent(text, expm1(d->log_ratio));
    page_text_cell(p->m, "difference", "right nowrap", NAN, text);
    markup_end(p->m);
}

static void write_differences(struct site_page *p, const struct site_run *run,
                              const struct site_run *before, const double *before_ns,
                              const double *times_ns)
{
    const size_t count = p->map->site->series_count;
    struct difference *list = xcalloc(count + 1, sizeof(*list));
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        if (before_ns[i] > 0 && times_ns[i] > 0)
            list[used++] = (struct difference){i, log(times_ns[i] / before_ns[i])};
    }
    qsort(list, used, sizeof(*list), largest_first);
    markup_start(p->m, "p");
    if (used == 0)
        markup_textf(p->m, "No series has a time in both%s. ",
                     run->kind == RUN_GATE || before->kind == RUN_GATE
                         ? ": a gate measures only machine code that differs"
                         : "");
    else
        markup_textf(p->m, "%zu series %s measured in both. ", used, plural(used, "was", "were"));
    markup_start(p->m, "a");
    markup_attrf(p->m, "href", "%scompare.html#%lld..%lld", p->root, (long long)before->id,
                 (long long)run->id);
    markup_text(p->m, "The two side by side");
    markup_end(p->m);
    if (used > 0)
        markup_text(p->m, ". Minus is faster than before; different runs saw different clocks and "
                          "temperatures: read a few percent as a hint");
    markup_text(p->m, ".");
    markup_end(p->m);
    if (used > 0) {
        page_table_begin(p->m, "cards", "Largest differences to the run before");
        page_table_head(p->m, "Kernel", PAGE_SORT_NONE, NULL);
        page_table_head(p->m, "Problem", PAGE_SORT_NONE, NULL);
        page_table_head(p->m, "Before", PAGE_SORT_NONE, "right");
        page_table_head(p->m, "This run", PAGE_SORT_NONE, "right");
        page_table_head(p->m, "Difference", PAGE_SORT_NONE, "right");
        page_table_body(p->m);
        for (size_t i = 0; i < used && i < SHOWN; i++)
            difference_row(p, &list[i], before_ns, times_ns);
        page_table_end(p->m);
    }
    free(list);
}

static void write_banner(struct site_page *p, const struct site_run *run, const char *title)
{
    markup_start(p->m, "section");
    markup_attrf(p->m, "class", "card banner %s", site_conclusion_class(run));
    markup_element(p->m, "div", "word", "run");
    markup_element(p->m, "h1", NULL, title);
    markup_start(p->m, "p");
    site_conclusion(p->m, run);
    markup_textf(p->m, " %s", run->headline ? run->headline : "");
    markup_end(p->m);
    write_facts(p, run);
    if (run->href) {
        markup_start(p->m, "a");
        markup_attrf(p->m, "href", "../%s", run->href);
        markup_text(p->m, "Its own report");
        markup_end(p->m);
    }
    markup_end(p->m);
}

void site_run_page(struct buffer *html, const struct site_map *map, size_t index,
                   const struct run *whole, const double *before_ns, const double *times_ns)
{
    const struct site_run *run = &map->site->runs[index];
    struct buffer unused = {0};
    struct site_page p = {.map = map, .root = "../", .json = {.out = &unused}};
    struct page page;
    char title[VIEW_TEXT];
    snprintf(title, sizeof(title), "Run %lld", (long long)run->id);
    site_begin(&p, &page, title, SITE_SMALL);
    write_banner(&p, run, title);
    if (whole)
        site_verdicts(&p, whole);
    if (before_ns && times_ns) {
        const struct site_run *before = &map->site->runs[site_run_before(map->site, index)];
        snprintf(title, sizeof(title), "Against run %lld", (long long)before->id);
        site_heading(p.m, title);
        write_differences(&p, run, before, before_ns, times_ns);
    } else {
        markup_element(p.m, "p", "hint",
                       times_ns ? "There is no run before it to hold it against."
                                : "It has no times to compare.");
    }
    site_finish(&p, &page, html);
    buffer_free(&unused);
}
