// SPDX-License-Identifier: Apache-2.0
//
// How good each model is, night by night, so that a model that got worse is caught as a kernel is.
#include "reports/site_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

// `text` is the figure as shown; NaN shows nothing.
static void number_cell(struct markup *m, const char *label, double value, const char *text)
{
    page_cell(m, label, isfinite(value) ? "right nowrap" : "right empty", value, false);
    markup_text(m, isfinite(value) ? text : "-");
    markup_end(m);
}

static void figures(struct markup *m, const struct site_accuracy_point *point)
{
    char text[VIEW_TEXT];
    snprintf(text, sizeof(text), "%.1f %%", point->mape * 100);
    number_cell(m, "MAPE", point->mape, text);
    view_percent(text, point->bias);
    number_cell(m, "bias", point->bias, text);
    snprintf(text, sizeof(text), "%.3f", point->tau);
    number_cell(m, "rank tau", point->tau, text);
    snprintf(text, sizeof(text), "%.0f %%", point->within * 100);
    number_cell(m, "within 10 %", point->within, text);
    snprintf(text, sizeof(text), "%zu", point->count);
    number_cell(m, "problems", (double)point->count, text);
}

static void spark_of(struct markup *m, const struct site_accuracy *a)
{
    double values[SITE_SPARK];
    size_t count = a->count < SITE_SPARK ? a->count : SITE_SPARK;
    for (size_t i = 0; i < count; i++)
        values[i] = a->points[a->count - count + i].mape;
    chart_spark(m, values, count, 0.2);
}

static void row_json(struct json *j, const struct site_page *p, const struct site_accuracy *a)
{
    json_newline(j);
    json_begin(j, NULL, '{');
    json_string(j, "model", a->model);
    json_string(j, "version", a->version);
    json_string(j, "kernel", a->kernel[0] ? a->kernel : NULL);
    json_string(j, "dtype", dtype_name(a->dtype));
    json_string(j, "device", p->map->site->devices[a->device].uuid);
    json_begin(j, "nights", '[');
    for (size_t i = 0; i < a->count; i++) {
        const struct site_accuracy_point *point = &a->points[i];
        json_begin(j, NULL, '{');
        json_integer(j, "time_s", point->time_s);
        json_string(j, "commit", point->commit);
        json_integer(j, "count", (int64_t)point->count);
        json_number(j, "mape", point->mape);
        json_number(j, "bias", point->bias);
        json_number(j, "tau", point->tau);
        json_number(j, "within", point->within);
        json_end(j, '}');
    }
    json_end(j, ']');
    json_end(j, '}');
}

static void row(struct site_page *p, size_t index, bool newest_only)
{
    const struct site_accuracy *a = &p->map->site->accuracy[index];
    const struct site_accuracy_point *newest = &a->points[a->count - 1];
    struct markup *m = p->m;
    page_row_begin(m, NULL);
    page_cell(m, "model", NULL, NAN, true);
    markup_start(m, "a");
    markup_attrf(m, "href", "%saccuracy.html#accuracy-%zu", p->root, index);
    markup_text(m, a->model);
    markup_end(m);
    markup_elementf(m, "span", "muted small", " %s", a->version ? a->version : "");
    markup_end(m);
    page_cell(m, "kernel", NULL, NAN, false);
    markup_text(m, a->kernel[0] ? a->kernel : "all");
    markup_end(m);
    page_cell(m, "type", "mono", NAN, false);
    markup_text(m, dtype_name(a->dtype));
    markup_end(m);
    page_cell(m, "device", NULL, NAN, false);
    markup_text(m, p->map->site->devices[a->device].name);
    markup_end(m);
    figures(m, newest);
    page_cell(m, "MAPE trend", a->count > 1 ? NULL : "empty", NAN, false);
    spark_of(m, a);
    markup_end(m);
    markup_end(m);
    if (!newest_only)
        row_json(&p->json, p, a);
}

// Newest only: the lines over all kernels, for the overview.
void site_accuracy_table(struct site_page *p, bool newest_only)
{
    static const struct {
        const char *label;
        enum page_sort sort;
    } heads[] = {{"Model", PAGE_SORT_TEXT},      {"Kernel", PAGE_SORT_TEXT},
                 {"Type", PAGE_SORT_TEXT},       {"Device", PAGE_SORT_TEXT},
                 {"MAPE", PAGE_SORT_NUMBER},     {"Bias", PAGE_SORT_NUMBER},
                 {"Rank tau", PAGE_SORT_NUMBER}, {"Within 10 %", PAGE_SORT_NUMBER},
                 {"Problems", PAGE_SORT_NUMBER}, {"MAPE trend", PAGE_SORT_NONE}};
    const struct site *site = p->map->site;
    markup_open(p->m, "div", "scroll");
    page_table_begin(p->m, newest_only ? "cards sortable" : "cards sortable filter",
                     "Accuracy of each model, newest night");
    for (size_t i = 0; i < ARRAY_COUNT(heads); i++)
        page_table_head(p->m, heads[i].label, heads[i].sort, i >= 4 && i < 9 ? "right" : NULL);
    page_table_body(p->m);
    for (size_t i = 0; i < site->accuracy_count; i++) {
        const struct site_accuracy *a = &site->accuracy[i];
        if (a->count > 0 && (!newest_only || a->kernel[0] == '\0'))
            row(p, i, newest_only);
    }
    page_table_end(p->m);
    markup_end(p->m);
}

static void trend(struct site_page *p, size_t index)
{
    const struct site_accuracy *a = &p->map->site->accuracy[index];
    double *values = xcalloc(a->count, sizeof(*values));
    int64_t *times = xcalloc(a->count, sizeof(*times));
    for (size_t i = 0; i < a->count; i++) {
        values[i] = a->points[i].mape;
        times[i] = a->points[i].time_s;
    }
    markup_open(p->m, "details", "series");
    markup_attrf(p->m, "id", "accuracy-%zu", index);
    markup_attr(p->m, "open", a->change_count > 0 ? "" : NULL);
    markup_start(p->m, "summary");
    markup_elementf(p->m, "h3", NULL, "%s %s", a->model, a->version ? a->version : "");
    markup_elementf(p->m, "span", NULL, "%s, %s", a->kernel[0] ? a->kernel : "all kernels",
                    dtype_name(a->dtype));
    markup_element(p->m, "span", "muted", p->map->site->devices[a->device].name);
    markup_end(p->m);
    markup_start(p->m, "div");
    markup_start(p->m, "figure");
    markup_element(p->m, "figcaption", NULL,
                   "Mean absolute percentage error, night by night; dashed: a change found");
    chart_trend(p->m, values, times, a->count, a->changes, a->change_count);
    markup_end(p->m);
    markup_end(p->m);
    markup_end(p->m);
    free(values);
    free(times);
}

void site_accuracy_page(struct buffer *html, struct buffer *json, const struct site_map *map)
{
    struct site_page p = {.map = map, .root = "", .json = {.out = json}};
    struct page page;
    site_begin(&p, &page, "Model accuracy", false);
    json_begin(&p.json, "accuracy", '[');
    markup_element(p.m, "h1", NULL, "Model accuracy");
    markup_element(p.m, "p", "muted",
                   "Predicted against measured time over all problems of a night. MAPE: mean "
                   "absolute percentage error; bias: mean of measured / predicted - 1; rank tau: "
                   "does the model order the problems right (1 = always).");
    if (map->site->accuracy_count == 0)
        markup_element(p.m, "p", NULL, "No accuracy has been recorded yet.");
    else
        site_accuracy_table(&p, false);
    json_end(&p.json, ']');
    site_heading(p.m, "Trends");
    for (size_t i = 0; i < map->site->accuracy_count; i++) {
        if (map->site->accuracy[i].count > 0)
            trend(&p, i);
    }
    site_finish(&p, &page, html);
}
