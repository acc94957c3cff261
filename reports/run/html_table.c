// SPDX-License-Identifier: Apache-2.0
//
// Every series in one table whose change column is a forest plot, and the sorted curves.
#include "reports/run/html.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { FOREST_WIDTH = 180 };

static void name_cell(struct markup *m, const struct view *view)
{
    char anchor[32];
    html_anchor(anchor, view);
    page_cell(m, "kernel", "wrap", NAN, true);
    markup_start(m, "a");
    markup_attrf(m, "href", "#%s", anchor);
    markup_text(m, view->result->kernel);
    markup_end(m);
    if (view->result->control)
        markup_element(m, "span", "muted small", " control");
    markup_end(m);
}

static void change_cells(struct markup *m, const struct view *view, const struct scale *x)
{
    char change[VIEW_TEXT], interval[VIEW_TEXT];
    view_percent(change, view->change.value);
    view_interval(interval, view->change);
    page_text_cell(m, "change", "right nowrap", view->change.value, change);
    bool identical = isnan(view->change.value) && view_same_code(view);
    page_cell(m, "interval", isnan(view->change.value) && !identical ? "empty" : NULL, NAN, false);
    if (identical)
        markup_element(m, "span", "muted small", "identical machine code");
    if (!isnan(view->change.value)) {
        markup_start(m, "span");
        markup_attr(m, "title", interval);
        chart_interval(m, view, x, FOREST_WIDTH);
        markup_element(m, "span", "unseen", interval);
        markup_end(m);
    }
    markup_end(m);
}

// A column is left out when no series has anything for it: comparing builds with identical machine
// code, say, measures nothing, and then the sentence is what there is to say.
struct columns {
    bool change, base, head, accuracy, bound, clock, why;
};

static struct columns columns_of(const struct html *html)
{
    struct columns c = {0};
    for (size_t i = 0; i < html->count; i++) {
        const struct view *v = &html->views[i];
        c.change = c.change || isfinite(v->change.value);
        c.base = c.base || isfinite(v->base_ns);
        c.head = c.head || isfinite(v->head_ns);
        c.accuracy = c.accuracy || isfinite(v->actual_predicted);
        c.bound = c.bound || v->result->prediction.feasible;
        c.clock = c.clock || isfinite(v->head_hz);
    }
    c.why = !c.change && !c.head;
    return c;
}

static void figure_cells(struct markup *m, const struct view *view, const struct columns *c)
{
    char text[VIEW_TEXT] = "-";
    const struct prediction *p = &view->result->prediction;
    if (c->accuracy) {
        if (isfinite(view->actual_predicted))
            snprintf(text, sizeof(text), "%.2f", view->actual_predicted);
        page_text_cell(m, "actual/predicted", "right nowrap", view->actual_predicted, text);
    }
    if (c->bound)
        page_text_cell(m, "bound", NULL, NAN, p->feasible ? bound_name(p->bound) : "-");
    if (c->clock) {
        view_clock(text, view->head_hz);
        page_text_cell(m, "clock", "right nowrap", view->head_hz, text);
    }
    if (c->why) {
        struct buffer sentence = {0};
        view_reason(&sentence, view);
        page_text_cell(m, "why", "wrap", NAN, sentence.bytes);
        buffer_free(&sentence);
    }
}

static void write_row(const struct html *html, const struct view *view, const struct columns *c,
                      const struct scale *x)
{
    struct markup *m = html->m;
    char text[VIEW_TEXT];
    const struct prediction *p = &view->result->prediction;
    markup_start(m, "tr");
    markup_attr(m, "data-verdict", verdict_kind_name(view->result->verdict.kind));
    markup_attr(m, "data-device", view->device->name);
    markup_attr(m, "data-bound", p->feasible ? bound_name(p->bound) : NULL);
    name_cell(m, view);
    page_text_cell(m, "problem", "mono nowrap", NAN, view->shape);
    page_cell(m, "verdict", "nowrap", NAN, false);
    html_tag(m, view);
    if (view->is_environment)
        markup_element(m, "span", "muted small", cause_name(view->result->verdict.cause));
    markup_end(m);
    if (c->change)
        change_cells(m, view, x);
    if (c->base) {
        view_time(text, view->base_ns);
        page_text_cell(m, "base", "right nowrap", view->base_ns, text);
    }
    if (c->head) {
        view_time(text, view->head_ns);
        page_text_cell(m, "head", "right nowrap", view->head_ns, text);
    }
    figure_cells(m, view, c);
    markup_end(m);
}

static void write_heads(struct markup *m, const struct columns *c, const struct scale *x)
{
    page_table_head(m, "Kernel", PAGE_SORT_TEXT, NULL);
    page_table_head(m, "Problem", PAGE_SORT_TEXT, NULL);
    page_table_head(m, "Verdict", PAGE_SORT_TEXT, NULL);
    if (c->change) {
        page_table_head(m, "Change", PAGE_SORT_NUMBER, "right");
        markup_start(m, "th");
        markup_attr(m, "scope", "col");
        markup_text(m, "Interval and margin");
        chart_interval_axis(m, x, FOREST_WIDTH);
        markup_end(m);
    }
    if (c->base)
        page_table_head(m, "Base", PAGE_SORT_NUMBER, "right");
    if (c->head)
        page_table_head(m, "Head", PAGE_SORT_NUMBER, "right");
    if (c->accuracy)
        page_table_head(m, "Actual / predicted", PAGE_SORT_NUMBER, "right");
    if (c->bound)
        page_table_head(m, "Bound", PAGE_SORT_TEXT, NULL);
    if (c->clock)
        page_table_head(m, "Clock", PAGE_SORT_NUMBER, "right");
    if (c->why)
        page_table_head(m, "Why", PAGE_SORT_TEXT, NULL);
}

static const char *legend(const struct html *html)
{
    return html->run->base.id[0]
               ? "Interval: change of head over base with its confidence interval; shaded: the "
                 "margin below which a change does not count; an arrow head: goes on beyond."
               : "Interval: change against the series' own past; shaded: the margin below which a "
                 "change does not count; an arrow head: goes on beyond.";
}

void html_table(const struct html *html)
{
    struct markup *m = html->m;
    struct columns columns = columns_of(html);
    struct scale x = chart_change_scale(html->views, html->count, 6, FOREST_WIDTH - 6);
    if (html->count == 0)
        return;
    markup_start(m, "section");
    markup_attr(m, "aria-labelledby", "all");
    markup_start(m, "h2");
    markup_attr(m, "id", "all");
    markup_text(m, "All series");
    markup_end(m);
    page_table_begin(m, "cards sortable filter", "All series, worst first");
    write_heads(m, &columns, &x);
    page_table_body(m);
    for (size_t i = 0; i < html->count; i++)
        write_row(html, &html->views[i], &columns, &x);
    page_table_end(m);
    if (columns.change)
        markup_element(m, "p", "hint", legend(html));
    markup_end(m);
}

// One point per view; the caller frees.
static struct curve_point *points_of(const struct html *html, bool accuracy)
{
    struct curve_point *points = xcalloc(html->count ? html->count : 1, sizeof(*points));
    for (size_t i = 0; i < html->count; i++) {
        const struct view *v = &html->views[i];
        points[i] =
            (struct curve_point){v->change, chart_class(v), chart_shape(v->result->verdict.kind)};
        if (accuracy)
            points[i].y.value = v->actual_predicted;
    }
    return points;
}

static bool has_curve(const struct html *html, bool accuracy)
{
    size_t used = 0;
    for (size_t i = 0; i < html->count; i++) {
        const struct view *v = &html->views[i];
        used += isfinite(accuracy ? v->actual_predicted : v->change.value);
    }
    return used >= 2;
}

static void curve_figure(const struct html *html, bool accuracy, const char *caption,
                         void (*draw)(struct markup *, struct curve_point *, size_t))
{
    if (!has_curve(html, accuracy))
        return;
    struct curve_point *points = points_of(html, accuracy);
    chart_figure(html->m, caption, points, html->count, draw);
    free(points);
}

void html_curves(const struct html *html)
{
    bool gate = html->run->base.id[0];
    if (!has_curve(html, false) && !has_curve(html, true))
        return;
    markup_start(html->m, "section");
    markup_attr(html->m, "aria-label", "All series at a glance");
    markup_element(html->m, "h2", NULL, "At a glance");
    markup_open(html->m, "div", "figures");
    curve_figure(html, false,
                 gate ? "Change of head over base, every series sorted"
                      : "Change against the series' own past, every series sorted",
                 chart_curve_change);
    curve_figure(html, true,
                 "Measured time over predicted time, every series sorted; shaded: within 10 %",
                 chart_curve_accuracy);
    markup_end(html->m);
    markup_end(html->m);
}
