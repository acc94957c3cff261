// SPDX-License-Identifier: Apache-2.0
//
// Pages of metrics, the figures beside time that a policy asks for. metrics.html shows by commit
// where they changed, and the course of each. A kernel's page shows the kernel's metrics. The first
// screen shows metrics that became worse without a person's decision.
#include "reports/site/site_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EVENTS_SHOWN = 200, TRENDS_SHOWN = 40, TREND_POINTS = 400, ANSWERS_SHOWN = 3, LISTED = 8 };

// Whether a metric's subject belongs to the kernel: "gemm" and "gemm 4096x4096x4096:bf16" belong
// to gemm.
static bool is_of(const struct site_metric *s, const char *kernel)
{
    const size_t length = kernel ? strlen(kernel) : 0;
    return !kernel || (strncmp(s->subject, kernel, length) == 0 &&
                       (s->subject[length] == '\0' || s->subject[length] == ' '));
}

static bool has_metrics(const struct site *site, const char *kernel)
{
    for (size_t i = 0; i < site->metric_count; i++) {
        if (is_of(&site->metrics[i], kernel))
            return true;
    }
    return false;
}

// ---- the table of metrics ----

static void write_json(struct json *j, const struct site_metric *s)
{
    json_newline(j);
    json_begin(j, NULL, '{');
    json_clean(j, "metric", s->name);
    json_clean(j, "subject", s->subject);
    json_clean(j, "device", s->device);
    json_clean(j, "unit", s->unit);
    json_begin(j, "values", '[');
    for (size_t i = 0; i < s->count; i++) {
        json_begin(j, NULL, '{');
        json_clean(j, "commit", s->commits[i]->id);
        json_number(j, "value", s->values[i]);
        json_end(j, '}');
    }
    json_end(j, ']');
    json_begin(j, "changes", '[');
    for (size_t i = 0; i < s->change_count; i++)
        json_clean(j, NULL, s->commits[s->changes[i]]->id);
    json_end(j, ']');
    json_end(j, '}');
}

// Writes the newest change: its old and new value, and its commit.
static void write_step(struct site_page *p, const struct site_metric *s)
{
    char before[VIEW_TEXT], when[VIEW_TEXT];
    if (!s->change_count) {
        markup_text(p->m, "-");
        return;
    }
    const size_t at = s->changes[s->change_count - 1];
    view_metric_value(before, s->values[at - 1], s->unit);
    view_date(when, s->commits[at]->time_s);
    when[10] = '\0';
    markup_textf(p->m, "from %s in ", before);
    site_commit_link(p, s->commits[at]->id);
    markup_text(p->m, " ");
    markup_element(p->m, "span", "muted small nowrap", when);
}

static void write_row(struct site_page *p, const struct site_metric *s)
{
    const double now = s->values[s->count - 1];
    const size_t first = s->count > SITE_SPARK ? s->count - SITE_SPARK : 0;
    char value[VIEW_TEXT];
    view_metric_value(value, now, s->unit);
    page_row_begin(p->m, NULL);
    page_text_cell(p->m, "metric", "nowrap", NAN, s->name);
    page_text_cell(p->m, "of", "mono wrap", NAN, s->subject);
    page_text_cell(p->m, "device", "wrap", NAN, s->device[0] ? s->device : "-");
    page_text_cell(p->m, "now", "num nowrap", now, value);
    page_cell(p->m, "last change", NULL,
              s->change_count ? (double)s->commits[s->changes[s->change_count - 1]]->time_s : 0,
              false);
    write_step(p, s);
    markup_end(p->m);
    page_cell(p->m, "course", NULL, NAN, false);
    chart_spark(p->m, s->values + first, s->count - first, 0.02);
    markup_end(p->m);
    markup_end(p->m);
}

void site_metrics_table(struct site_page *p, const char *title, const char *kernel)
{
    static const struct {
        const char *label;
        enum page_sort sort;
    } heads[] = {{"Metric", PAGE_SORT_TEXT},        {"Of", PAGE_SORT_TEXT},
                 {"Device", PAGE_SORT_TEXT},        {"Now", PAGE_SORT_NUMBER},
                 {"Last change", PAGE_SORT_NUMBER}, {"Course", PAGE_SORT_NONE}};
    const struct site *site = p->map->site;
    if (!has_metrics(site, kernel))
        return;
    site_heading(p->m, title);
    page_table_begin(p->m, "cards sortable filter", "Figures beside time");
    for (size_t i = 0; i < ARRAY_COUNT(heads); i++)
        page_table_head(p->m, heads[i].label, heads[i].sort, NULL);
    page_table_body(p->m);
    json_begin(&p->json, "metrics", '[');
    for (size_t i = 0; i < site->metric_count; i++) {
        if (!is_of(&site->metrics[i], kernel))
            continue;
        write_row(p, &site->metrics[i]);
        write_json(&p->json, &site->metrics[i]);
    }
    json_end(&p->json, ']');
    page_table_end(p->m);
}

// ---- where they changed ----

static void write_event_json(struct json *j, const struct site_metric_event *e)
{
    json_newline(j);
    json_begin(j, NULL, '{');
    json_clean(j, "name", e->name);
    json_clean(j, "state", event_state_name(e->state));
    json_clean(j, "sentence", e->sentence);
    json_clean(j, "commit", e->at->id);
    json_int(j, "commits", (int64_t)e->commits);
    json_begin(j, "changes", '[');
    for (size_t i = 0; i < e->count; i++)
        json_clean(j, NULL, e->changes[i]);
    json_end(j, ']');
    json_end(j, '}');
}

static void write_changes(struct site_page *p, const struct site_metric_event *e)
{
    const size_t shown = e->count < LISTED ? e->count : LISTED;
    for (size_t i = 0; i < shown; i++) {
        markup_start(p->m, "div");
        markup_text(p->m, e->changes[i]);
        if (e->whys[i])
            markup_elementf(p->m, "span", "muted small", " %s", e->whys[i]);
        markup_end(p->m);
    }
    if (e->count > shown)
        markup_elementf(p->m, "span", "muted small", "and %zu more, all in metrics.json",
                        e->count - shown);
}

static void write_event(struct site_page *p, const struct site_metric_event *e)
{
    char when[VIEW_TEXT];
    struct buffer summary = {0};
    view_date(when, e->at->time_s);
    when[10] = '\0';
    clean_line(&summary, e->at->summary ? e->at->summary : "", SITE_SUMMARY);
    markup_start(p->m, "tr");
    markup_attrf(p->m, "id", "m-%s", e->name);
    page_cell(p->m, "state", "nowrap", NAN, false);
    if (e->open || e->state == EVENT_CONFIRMED) // it made something better
        page_tag(p->m, e->open ? "v-slower" : "v-faster", e->open ? "▲" : "▼",
                 e->open ? "worse" : "better");
    else
        page_tag(p->m, "v-same", "✓", event_state_name(e->state));
    markup_end(p->m);
    page_cell(p->m, "commit", "wrap", NAN, true);
    site_commit_link(p, e->at->id);
    markup_textf(p->m, " %s", summary.bytes ? summary.bytes : "");
    if (e->commits > 1)
        markup_elementf(p->m, "span", "muted small", " or one of %zu before it", e->commits - 1);
    markup_end(p->m);
    page_cell(p->m, "what", "wrap", (double)e->count, false);
    write_changes(p, e);
    markup_end(p->m);
    page_text_cell(p->m, "since", "nowrap", (double)e->at->time_s, when);
    markup_end(p->m);
    buffer_free(&summary);
}

static void write_events(struct site_page *p)
{
    const struct site *site = p->map->site;
    const size_t count = site->metric_event_count;
    json_begin(&p->json, "events", '[');
    for (size_t i = 0; i < count; i++)
        write_event_json(&p->json, &site->metric_events[i]);
    json_end(&p->json, ']');
    if (!count) {
        markup_element(p->m, "p", "muted", "None has changed by more than its margin.");
        return;
    }
    page_table_begin(p->m, "findings cards sortable filter", "Changes of metrics, newest first");
    page_table_head(p->m, "State", PAGE_SORT_TEXT, NULL);
    page_table_head(p->m, "Commit", PAGE_SORT_TEXT, NULL);
    page_table_head(p->m, "What", PAGE_SORT_NUMBER, NULL);
    page_table_head(p->m, "Since", PAGE_SORT_NUMBER, NULL);
    page_table_body(p->m);
    for (size_t i = 0; i < count && i < EVENTS_SHOWN; i++)
        write_event(p, &site->metric_events[i]);
    page_table_end(p->m);
    if (count > EVENTS_SHOWN)
        markup_elementf(p->m, "p", "hint", "%zu older ones are in metrics.json.",
                        count - EVENTS_SHOWN);
}

// ---- the course of those that changed ----

// The factor for large numbers (thousands, millions or billions), so that ticks are short.
static double scale_of(const char **prefix, const struct site_metric *s, size_t first)
{
    static const struct {
        double from, factor;
        const char *prefix;
    } scales[] = {{2e9, 1e-9, "G"}, {2e6, 1e-6, "M"}, {2e4, 1e-3, "k"}};
    double most = 0;
    for (size_t i = first; i < s->count; i++)
        most = fmax(most, s->values[i]);
    for (size_t i = 0; i < ARRAY_COUNT(scales); i++) {
        *prefix = scales[i].prefix;
        if (most >= scales[i].from)
            return scales[i].factor;
    }
    *prefix = "";
    return 1;
}

static void write_trend(struct site_page *p, const struct site_metric *s)
{
    const size_t first = s->count > TREND_POINTS ? s->count - TREND_POINTS : 0;
    const size_t count = s->count - first;
    int64_t *times = xcalloc(count, sizeof(*times));
    size_t *changes = xcalloc(s->change_count, sizeof(*changes)), shown = 0;
    const char *prefix;
    const double factor = scale_of(&prefix, s, first);
    char unit[24];
    snprintf(unit, sizeof(unit), " %s%.8s", prefix, s->unit);
    const struct chart_trend_axis axis = {s->name, factor, unit, s->values[first],
                                          s->values[first]};
    for (size_t i = 0; i < count; i++)
        times[i] = s->commits[first + i]->time_s;
    for (size_t i = 0; i < s->change_count; i++) {
        if (s->changes[i] >= first)
            changes[shown++] = s->changes[i] - first;
    }
    markup_start(p->m, "figure");
    markup_start(p->m, "figcaption");
    markup_textf(p->m, "%s of %s %s%s", s->name, s->subject, s->device,
                 first ? ", its newest commits" : "");
    markup_end(p->m);
    chart_trend(p->m, &axis, s->values + first, times, count, changes, shown);
    markup_end(p->m);
    free(changes);
    free(times);
}

static void write_trends(struct site_page *p)
{
    const struct site *site = p->map->site;
    size_t shown = 0;
    site_heading(p->m, "Those that changed, commit by commit");
    markup_open(p->m, "div", "figures two");
    for (size_t i = 0; i < site->metric_count; i++) {
        if (site->metrics[i].change_count && shown++ < TRENDS_SHOWN)
            write_trend(p, &site->metrics[i]);
    }
    markup_end(p->m);
    if (shown > TRENDS_SHOWN)
        markup_elementf(p->m, "p", "hint", "%zu more changed; metrics.json has their values.",
                        shown - TRENDS_SHOWN);
}

int site_write_metrics(struct site_target *target, const struct site_map *map, struct error *err)
{
    struct buffer html = {0}, json = {0};
    struct site_page p = {.map = map, .root = "", .json = {.out = &json}};
    struct page page;
    site_begin(&p, &page, "Metrics", SITE_PLAIN);
    markup_element(p.m, "h1", NULL, "Metrics");
    markup_element(p.m, "p", "muted",
                   "Figures beside time that the policy asks for, along the line of first parents. "
                   "A change is one beyond the figure's margin.");
    site_heading(p.m, "What changed, by commit");
    write_events(&p);
    if (map->site->metric_event_count)
        write_trends(&p);
    if (!map->site->metric_count)
        markup_element(p.m, "p", "muted",
                       "None is known: [metric \"registers\"] in the policy asks for one, and "
                       "`plumb run` records it.");
    site_metrics_table(&p, "All metrics", NULL);
    site_finish(&p, &page, &html);
    return site_put_both(target, "", "metrics", ".html", &html, &json, err);
}

// ---- the first screen ----

static void write_answer(struct site_page *p, const struct site_metric_event *e)
{
    char when[VIEW_TEXT];
    struct buffer text = {0};
    view_date(when, e->at->time_s);
    when[10] = '\0';
    clean_line(&text, e->at->summary ? e->at->summary : "", SITE_SUMMARY);
    markup_start(p->m, "dd");
    page_tag(p->m, "v-slower", "▲", "worse");
    markup_text(p->m, " ");
    markup_start(p->m, "a");
    markup_attrf(p->m, "href", "metrics.html#m-%s", e->name);
    markup_text(p->m, e->sentence);
    markup_end(p->m);
    markup_textf(p->m, ", since %s by ", when);
    site_commit_link(p, e->at->id);
    markup_textf(p->m, " %s", text.bytes ? text.bytes : "");
    buffer_free(&text);
    if (e->taken.who)
        site_taken(p, &e->taken);
    else if (e->at->author && *e->at->author)
        site_person(p, e->at->author, "its author");
    markup_end(p->m);
}

void site_metric_answers(struct site_page *p)
{
    const struct site *site = p->map->site;
    size_t open = 0;
    if (!site->metric_count)
        return;
    markup_element(p->m, "dt", NULL, "Worse beside time");
    json_begin(&p->json, "worse", '[');
    for (size_t i = 0; i < site->metric_event_count; i++) {
        const struct site_metric_event *e = &site->metric_events[i];
        if (!e->open || open++ >= ANSWERS_SHOWN)
            continue;
        json_newline(&p->json);
        json_begin(&p->json, NULL, '{');
        json_clean(&p->json, "event", e->name);
        json_clean(&p->json, "sentence", e->sentence);
        json_clean(&p->json, "since", e->at->id);
        write_answer(p, e);
        json_end(&p->json, '}');
    }
    json_end(&p->json, ']');
    if (!open)
        markup_element(p->m, "dd", "muted", "nothing");
    if (open <= ANSWERS_SHOWN)
        return;
    markup_start(p->m, "dd");
    markup_start(p->m, "a");
    markup_attr(p->m, "href", "metrics.html");
    markup_textf(p->m, "%zu more", open - ANSWERS_SHOWN);
    markup_end(p->m);
    markup_end(p->m);
}
