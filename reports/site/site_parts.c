// SPDX-License-Identifier: Apache-2.0
//
// What the pages of the site share: the frame, links, tags, and the table of series.
#include "reports/site/site_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct page_link links[] = {
    {"index.html", "Overview"},  {"events.html", "Events"}, {"accuracy.html", "Model accuracy"},
    {"metrics.html", "Metrics"}, {"runs.html", "Runs"},     {"compare.html", "Compare"}};
static const struct page_link links_up[] = {{"../index.html", "Overview"},
                                            {"../events.html", "Events"},
                                            {"../accuracy.html", "Model accuracy"},
                                            {"../metrics.html", "Metrics"},
                                            {"../runs.html", "Runs"},
                                            {"../compare.html", "Compare"}};

void site_begin(struct site_page *p, struct page *page, const char *title, enum site_frame frame)
{
    const struct site *site = p->map->site;
    bool up = p->root[0] != '\0';
    *page = (struct page){.title = title,
                          .subtitle = site->repository,
                          .links = up ? links_up : links,
                          .link_count = ARRAY_COUNT(links),
                          .interactive = frame == SITE_WITH_CHARTS,
                          .loads = frame == SITE_WITH_CHARTS || frame == SITE_LOADS,
                          .shares_style = frame == SITE_SMALL,
                          .root = p->root,
                          .feed = up ? "../feed.xml" : "feed.xml"};
    p->m = page_begin(page);
    p->json.comma = false;
    json_begin(&p->json, NULL, '{');
    json_int(&p->json, "format", 1);
    json_clean(&p->json, "repository", site->repository);
    json_int(&p->json, "made_s", site->made_s);
}

void site_finish(struct site_page *p, const struct page *page, struct buffer *html)
{
    const struct site *site = p->map->site;
    char when[VIEW_TEXT], note[200];
    view_date(when, site->made_s);
    // A page of a run or commit stays as it is when more is stored; links alone have no newest run.
    const bool dated = !page->shares_style && site->made_s != 0;
    snprintf(note, sizeof(note), "Made by plumb %.40s from what was stored%s%s.",
             site->tool_version ? site->tool_version : "", dated ? " up to " : "",
             dated ? when : "");
    json_end(&p->json, '}');
    json_newline(&p->json);
    page_finish(p->m, page, note, html);
}

void site_heading(struct markup *m, const char *text)
{
    markup_element(m, "h2", NULL, text);
}

double site_ratio(const struct site_series *s)
{
    bool known = s->predicted_ns > 0 && s->time_ns > 0 && isfinite(s->time_ns / s->predicted_ns);
    return known ? s->time_ns / s->predicted_ns : NAN;
}

// To its page, or, of a commit that no run was about, to where the policy says commits are.
void site_commit_link(struct site_page *p, const char *id)
{
    const struct site_commit *commit = site_find_commit(p->map, id);
    char text[VIEW_TEXT];
    if (!commit) {
        view_commit(p->m, p->map->site->commit_url, id);
        return;
    }
    view_short_id(text, id);
    markup_open(p->m, "a", "mono");
    markup_attrf(p->m, "href", "%scommit/%s.html", p->root, commit->slug);
    markup_text(p->m, text);
    markup_end(p->m);
}

enum { AUTHOR_SHOWN = 40 };

void site_person(struct site_page *p, const char *name, const char *why)
{
    struct buffer text = {0};
    char *own = xstrdup(name), *end = strchr(own, '<');
    if (end && end > own)
        *end = '\0';
    for (size_t n = strlen(own); n && own[n - 1] == ' '; n--)
        own[n - 1] = '\0';
    clean_line(&text, own, AUTHOR_SHOWN);
    markup_text(p->m, "; ask ");
    markup_element(p->m, "strong", NULL, text.bytes ? text.bytes : "");
    markup_elementf(p->m, "span", "muted small", " (%s)", why);
    json_clean(&p->json, "ask", name);
    buffer_free(&text);
    free(own);
}

void site_anchor(char out[SITE_ANCHOR], const struct site *site, size_t series)
{
    const struct site_series *s = &site->series[series];
    const char *uuid = site->devices[s->device].uuid;
    char problem[PROBLEM_TEXT];
    problem_format(problem, &s->problem);
    uint64_t hash = hash_bytes(HASH_START, problem, strlen(problem) + 1);
    hash = hash_bytes(hash, uuid, strlen(uuid));
    snprintf(out, SITE_ANCHOR, "s-%012llx", (unsigned long long)(hash >> 16));
}

void site_series_name(char out[SITE_ANCHOR], const struct site *site, size_t series)
{
    const struct site_series *s = &site->series[series];
    const char *uuid = site->devices[s->device].uuid;
    char problem[PROBLEM_TEXT];
    problem_format(problem, &s->problem);
    uint64_t hash = hash_bytes(HASH_START, s->kernel, strlen(s->kernel) + 1);
    hash = hash_bytes(hash, problem, strlen(problem) + 1);
    hash = hash_bytes(hash, uuid, strlen(uuid));
    snprintf(out, SITE_ANCHOR, "%014llx", (unsigned long long)(hash >> 8));
}

void site_wrap(struct buffer *js, const char *call, const struct buffer *json)
{
    buffer_printf(js, "%s(", call);
    buffer_add(js, json->bytes, json->length);
    buffer_puts(js, ");\n");
}

void site_series_link(struct site_page *p, size_t series, const char *text)
{
    const struct site_group *kernel = &p->map->kernels[p->map->kernel_of[series]];
    char anchor[SITE_ANCHOR];
    markup_start(p->m, "a");
    site_anchor(anchor, p->map->site, series);
    markup_attrf(p->m, "href", "%skernel/%s.html#%s", p->root, kernel->slug, anchor);
    markup_text(p->m, text);
    markup_end(p->m);
}

void site_counts(struct site_page *p, const size_t *series, size_t count)
{
    size_t counts[VERDICT_KINDS] = {0};
    for (size_t i = 0; i < count; i++)
        counts[p->map->site->series[series[i]].kind]++;
    chart_counts(p->m, counts);
}

// ---- the table of series ------------------------------------------------------------------------

void site_step(struct site_page *p, const struct site_series *s)
{
    char size[VIEW_TEXT], when[VIEW_TEXT];
    view_percent(size, expm1(s->step));
    view_date(when, s->since_s);
    when[10] = '\0';
    if (!s->since) {
        markup_text(p->m, "-");
        return;
    }
    markup_start(p->m, "span");
    if (isfinite(s->step))
        markup_elementf(p->m, "span", "nowrap", "%s in ", size);
    site_commit_link(p, s->since);
    markup_text(p->m, " ");
    markup_element(p->m, "span", "muted small nowrap", when);
    markup_end(p->m);
}

// Explains below a table of series what its columns of change and last step hold.
static void change_hint(struct markup *m, bool steps)
{
    markup_elementf(m, "p", "hint told",
                    "Against accepted: the time now against the last accepted state, or, where "
                    "nothing was accepted, against the first one known; minus is faster.%s",
                    steps ? " Last step: the newest single change in that direction, and its "
                            "commit; several may have added up."
                          : "");
}

static void step_cell(struct site_page *p, const struct site_series *s)
{
    page_cell(p->m, "last step", s->since ? "since" : "empty", s->since ? (double)s->since_s : NAN,
              false);
    site_step(p, s);
    markup_end(p->m);
}

static void names(struct site_page *p, size_t index, unsigned columns)
{
    const struct site_series *s = &p->map->site->series[index];
    char shape[PROBLEM_TEXT];
    problem_format(shape, &s->problem);
    if (columns & SITE_WITH_KERNEL) {
        page_cell(p->m, "kernel", NULL, NAN, true);
        site_series_link(p, index, s->kernel);
        markup_end(p->m);
        page_text_cell(p->m, "problem", "mono nowrap", NAN, shape);
    } else {
        page_cell(p->m, "problem", "mono nowrap", NAN, true);
        site_series_link(p, index, shape);
        markup_end(p->m);
    }
    if (columns & SITE_WITH_DEVICE)
        page_text_cell(p->m, "device", "name", NAN, p->map->site->devices[s->device].name);
}

static void spark(struct markup *m, const struct site_series *s)
{
    double values[SITE_SPARK];
    for (size_t i = 0; i < s->spark_count && i < SITE_SPARK; i++)
        values[i] = (double)s->spark[i];
    chart_spark(m, values, s->spark_count, 0.02);
}

// The columns that any of the series has something for, beside enum site_column.
enum { WITH_STEP = 0x100, WITH_TIME = 0x200, WITH_TREND = 0x400, WITH_MODEL = 0x800 };

static unsigned columns_of(const struct site *site, const size_t *series, size_t count)
{
    unsigned columns = 0;
    for (size_t i = 0; i < count; i++) {
        const struct site_series *s = &site->series[series[i]];
        columns |= (s->since ? WITH_STEP : 0) | (s->time_ns > 0 ? WITH_TIME : 0) |
                   (s->spark_count > 1 ? WITH_TREND : 0) |
                   (isfinite(site_ratio(s)) || s->bound != BOUND_UNKNOWN ? WITH_MODEL : 0);
    }
    return columns;
}

static void model_cells(struct site_page *p, const struct site_series *s)
{
    char ratio[VIEW_TEXT] = "-";
    if (isfinite(site_ratio(s)))
        snprintf(ratio, sizeof(ratio), "%.2f", site_ratio(s));
    page_text_cell(p->m, "act./pred.", "right", site_ratio(s), ratio);
    page_text_cell(p->m, "bound", NULL, NAN,
                   s->bound == BOUND_UNKNOWN ? "-" : bound_name(s->bound));
}

static void figures(struct site_page *p, const struct site_series *s, unsigned columns, bool trend)
{
    char change[VIEW_TEXT], time[VIEW_TEXT];
    view_percent(change, expm1(s->log_ratio.value));
    view_time(time, s->time_ns);
    page_text_cell(p->m, "against accepted", "right nowrap", expm1(s->log_ratio.value), change);
    if (columns & WITH_STEP)
        step_cell(p, s);
    if (columns & WITH_TIME)
        page_text_cell(p->m, "newest", "right nowrap", s->time_ns, time);
    if (columns & WITH_TREND) {
        page_cell(p->m, "trend", trend && s->spark_count > 1 ? NULL : "empty", NAN, false);
        if (trend)
            spark(p->m, s);
        markup_end(p->m);
    }
    if (columns & WITH_MODEL)
        model_cells(p, s);
}

// Sparklines are a third of a row; in a long table only the first rows, the worst, have one.
enum { SPARKS = 1000 };

static void row(struct site_page *p, size_t index, unsigned columns, bool trend)
{
    const struct site_series *s = &p->map->site->series[index];
    markup_start(p->m, "tr");
    markup_attr(p->m, "data-verdict", verdict_kind_name(s->kind));
    if (columns & SITE_WITH_DEVICE)
        markup_attr(p->m, "data-device", p->map->site->devices[s->device].name);
    if (s->bound != BOUND_UNKNOWN)
        markup_attr(p->m, "data-bound", bound_name(s->bound));
    names(p, index, columns);
    page_cell(p->m, "state", "nowrap", NAN, false);
    page_tag(p->m, chart_verdict_class(s->kind, site_is_environment(s)), view_symbol(s->kind),
             verdict_kind_name(s->kind));
    if (site_is_environment(s))
        markup_element(p->m, "span", "muted small", cause_name(s->cause));
    markup_end(p->m);
    figures(p, s, columns, trend);
    markup_end(p->m);
}

static void row_json(struct site_page *p, size_t index)
{
    const struct site_series *s = &p->map->site->series[index];
    struct json *j = &p->json;
    char problem[PROBLEM_TEXT];
    problem_format(problem, &s->problem);
    json_newline(j);
    json_begin(j, NULL, '{');
    json_clean(j, "kernel", s->kernel);
    json_clean(j, "problem", problem);
    json_clean(j, "device", p->map->site->devices[s->device].uuid);
    json_clean(j, "verdict", verdict_kind_name(s->kind));
    json_clean(j, "cause", cause_name(s->cause));
    json_interval(j, "change", interval_relative(s->log_ratio));
    json_clean(j, "since", s->since);
    json_number(j, "step", expm1(s->step));
    json_number(j, "time_ns", s->time_ns);
    json_number(j, "clock_hz", s->clock_hz > 0 ? s->clock_hz : NAN);
    json_number(j, "predicted_ns", s->predicted_ns > 0 ? s->predicted_ns : NAN);
    json_number(j, "actual_predicted", site_ratio(s));
    json_clean(j, "bound", bound_name(s->bound));
    json_int(j, "points", (int64_t)s->points);
    json_int(j, "newest_s", s->newest_s);
    json_end(j, '}');
}

static void heads(struct markup *m, unsigned columns)
{
    if (columns & SITE_WITH_KERNEL)
        page_table_head(m, "Kernel", PAGE_SORT_TEXT, NULL);
    page_table_head(m, "Problem", PAGE_SORT_TEXT, NULL);
    if (columns & SITE_WITH_DEVICE)
        page_table_head(m, "Device", PAGE_SORT_TEXT, NULL);
    page_table_head(m, "State", PAGE_SORT_TEXT, NULL);
    page_table_head(m, "Against accepted", PAGE_SORT_NUMBER, "right");
    if (columns & WITH_STEP)
        page_table_head(m, "Last step", PAGE_SORT_NUMBER, NULL);
    if (columns & WITH_TIME)
        page_table_head(m, "Newest", PAGE_SORT_NUMBER, "right");
    if (columns & WITH_TREND)
        page_table_head(m, "Trend", PAGE_SORT_NONE, NULL);
    if (columns & WITH_MODEL) {
        page_table_head(m, "Act. / pred.", PAGE_SORT_NUMBER, "right");
        page_table_head(m, "Bound", PAGE_SORT_TEXT, NULL);
    }
}

void site_table(struct site_page *p, const char *name, const size_t *series, size_t count,
                unsigned columns)
{
    struct markup *m = p->m;
    json_begin(&p->json, name, '[');
    for (size_t i = 0; i < count; i++)
        row_json(p, series[i]);
    json_end(&p->json, ']');
    if (count == 0)
        return;
    columns |= columns_of(p->map->site, series, count);
    page_table_begin(m, "cards sortable filter", "Series, worst first");
    heads(m, columns);
    page_table_body(m);
    for (size_t i = 0; i < count; i++)
        row(p, series[i], columns, i < SPARKS);
    page_table_end(m);
    change_hint(m, columns & WITH_STEP);
}
