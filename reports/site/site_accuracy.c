// SPDX-License-Identifier: Apache-2.0
//
// accuracy.html: how good each model is, run by run, so that a model that got worse is noticed as a
// kernel is. The page carries a stamp of its inputs, because finding where the figures changed
// takes long.
#include "reports/site/site_parts.h"

#include "model/base.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

double site_accuracy_value(const struct site_accuracy_point *point,
                           enum site_accuracy_figure figure)
{
    const double values[SITE_ACCURACY_FIGURES] = {point->mape, point->bias, point->tau,
                                                  point->within};
    return values[figure];
}

static const char *const figure_names[SITE_ACCURACY_FIGURES] = {"mape", "bias", "tau", "within"};

// Writes a cell; `text` is the figure as shown. NaN leaves the cell empty.
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
    json_clean(j, "model", a->model);
    json_clean(j, "version", a->version);
    json_clean(j, "kernel", a->kernel[0] ? a->kernel : NULL);
    json_clean(j, "dtype", dtype_name(a->dtype));
    json_clean(j, "device", p->map->site->devices[a->device].uuid);
    json_begin(j, "nights", '[');
    for (size_t i = 0; i < a->count; i++) {
        const struct site_accuracy_point *point = &a->points[i];
        json_begin(j, NULL, '{');
        json_time(j, "time_s", point->time_s);
        json_clean(j, "commit", point->commit);
        json_int(j, "count", (int64_t)point->count);
        json_number(j, "mape", point->mape);
        json_number(j, "bias", point->bias);
        json_number(j, "tau", point->tau);
        json_number(j, "within", point->within);
        json_end(j, '}');
    }
    json_end(j, ']');
    json_begin(j, "changes", '{');
    for (size_t f = 0; f < SITE_ACCURACY_FIGURES; f++) {
        json_begin(j, figure_names[f], '[');
        for (size_t i = 0; i < a->changes[f].count; i++)
            json_clean(j, NULL, a->points[a->changes[f].at[i]].commit);
        json_end(j, ']');
    }
    json_end(j, '}');
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

enum { OVERVIEW_ROWS = 12 };

static bool is_moved(const struct site_accuracy *a)
{
    for (size_t f = 0; f < SITE_ACCURACY_FIGURES; f++) {
        if (a->changes[f].count)
            return true;
    }
    return false;
}

static bool has_totals(const struct site *site)
{
    for (size_t i = 0; i < site->accuracy_count; i++) {
        if (site->accuracy[i].kernel[0] == '\0')
            return true;
    }
    return false;
}

// Writes the table of accuracies. `newest_only` is for the overview: it has only the lines over all
// kernels, or the first few lines if there are none.
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
    page_table_begin(p->m, newest_only ? "cards sortable" : "cards sortable filter",
                     "Accuracy of each model, newest run");
    for (size_t i = 0; i < ARRAY_COUNT(heads); i++)
        page_table_head(p->m, heads[i].label, heads[i].sort, i >= 4 && i < 9 ? "right" : NULL);
    page_table_body(p->m);
    bool totals = newest_only && has_totals(site);
    size_t shown = 0;
    for (size_t i = 0; i < site->accuracy_count; i++) {
        const struct site_accuracy *a = &site->accuracy[i];
        if (a->count == 0 || (totals && a->kernel[0]) || (newest_only && shown == OVERVIEW_ROWS))
            continue;
        row(p, i, newest_only);
        shown++;
    }
    page_table_end(p->m);
    if (!totals && newest_only && shown < site->accuracy_count)
        markup_elementf(p->m, "p", "hint", "%zu more %s on the page of model accuracy.",
                        site->accuracy_count - shown,
                        plural(site->accuracy_count - shown, "is", "are"));
}

static void figure_trend(struct site_page *p, const struct site_accuracy *a,
                         enum site_accuracy_figure f)
{
    static const struct chart_trend_axis axes[SITE_ACCURACY_FIGURES] = {
        {"Mean absolute percentage error", 100, " %", 0, 0.01},
        {"Bias: mean of measured / predicted, less 1", 100, " %", 0, 0.01},
        {"Rank tau: are the problems ordered right?", 1, "", 0, 1},
        {"Share of problems predicted within 10 %", 100, " %", 0, 1}};
    double *values = xcalloc(a->count, sizeof(*values));
    int64_t *times = xcalloc(a->count, sizeof(*times));
    for (size_t i = 0; i < a->count; i++) {
        values[i] = site_accuracy_value(&a->points[i], f);
        times[i] = a->points[i].time_s;
    }
    markup_start(p->m, "figure");
    markup_elementf(p->m, "figcaption", NULL, "%s%s", axes[f].label,
                    a->changes[f].count ? "; dashed: its level changed" : "");
    chart_trend(p->m, &axes[f], values, times, a->count, a->changes[f].at, a->changes[f].count);
    markup_end(p->m);
    free(values);
    free(times);
}

static void trend(struct site_page *p, size_t index)
{
    const struct site_accuracy *a = &p->map->site->accuracy[index];
    markup_open(p->m, "details", "series");
    markup_attrf(p->m, "id", "accuracy-%zu", index);
    markup_attr(p->m, "open", is_moved(a) ? "" : NULL);
    markup_start(p->m, "summary");
    markup_elementf(p->m, "h3", NULL, "%s %s", a->model, a->version ? a->version : "");
    markup_elementf(p->m, "span", NULL, "%s, %s", a->kernel[0] ? a->kernel : "all kernels",
                    dtype_name(a->dtype));
    markup_element(p->m, "span", "muted", p->map->site->devices[a->device].name);
    markup_end(p->m);
    markup_open(p->m, "div", "figures two");
    for (int f = 0; f < SITE_ACCURACY_FIGURES; f++)
        figure_trend(p, a, (enum site_accuracy_figure)f);
    markup_end(p->m);
    markup_end(p->m);
}

static void accuracy_page(struct buffer *html, struct buffer *json, const struct site_map *map,
                          uint64_t stamp)
{
    char text[24];
    struct site_page p = {.map = map, .root = "", .json = {.out = json}};
    struct page page;
    site_begin(&p, &page, "Model accuracy", SITE_PLAIN);
    snprintf(text, sizeof(text), "%016llx", (unsigned long long)stamp);
    json_clean(&p.json, "stamp", text);
    json_begin(&p.json, "accuracy", '[');
    markup_element(p.m, "h1", NULL, "Model accuracy");
    markup_element(p.m, "p", "muted",
                   "Predicted against measured time over all problems of a run. MAPE: mean "
                   "absolute percentage error; bias: mean of measured / predicted - 1; rank tau: "
                   "does the model order the problems right (1 = always).");
    if (map->site->accuracy_count == 0)
        markup_element(p.m, "p", NULL,
                       "None yet: `plumb run` records it of series that a model predicts.");
    else
        site_accuracy_table(&p, false);
    json_end(&p.json, ']');
    if (map->site->accuracy_count > 0)
        site_heading(p.m, "Trends");
    for (size_t i = 0; i < map->site->accuracy_count; i++) {
        if (map->site->accuracy[i].count > 0)
            trend(&p, i);
    }
    site_finish(&p, &page, html);
}

// A stamp of all inputs of the page. The places where the figures changed are not part of it,
// because they follow from the inputs.
static uint64_t accuracy_stamp(const struct site *site)
{
    uint64_t hash = hash_text(hash_text(HASH_START, site->tool_version), page_version());
    hash = hash_text(hash, site->repository);
    hash = hash_bytes(hash, &site->made_s, sizeof(site->made_s));
    hash = hash_bytes(hash, &site->accuracy_judge, sizeof(site->accuracy_judge));
    for (size_t i = 0; i < site->accuracy_count; i++) {
        const struct site_accuracy *a = &site->accuracy[i];
        const struct device *device = &site->devices[a->device];
        const char *const texts[] = {a->model,     a->version,  a->kernel, dtype_name(a->dtype),
                                     device->uuid, device->name};
        for (size_t k = 0; k < ARRAY_COUNT(texts); k++)
            hash = hash_text(hash, texts[k]);
        for (size_t k = 0; k < a->count; k++) {
            const struct site_accuracy_point *p = &a->points[k];
            const double values[] = {(double)p->time_s, (double)p->count, p->mape,
                                     p->bias,           p->tau,           p->within};
            hash = hash_bytes(hash_text(hash, p->commit), values, sizeof(values));
        }
    }
    return hash;
}

int site_write_accuracy(struct site_target *target, const struct site_map *map, struct error *err)
{
    const struct site *site = map->site;
    const uint64_t stamp = accuracy_stamp(site);
    struct buffer html = {0}, json = {0};
    if (site_has_stamp(target, "", "accuracy", ".html", stamp)) {
        target->written.unchanged += 2;
        return 0;
    }
    if (site->judge_accuracy)
        site->judge_accuracy(site->context);
    accuracy_page(&html, &json, map, stamp);
    return site_put_both(target, "", "accuracy", ".html", &html, &json, err);
}
