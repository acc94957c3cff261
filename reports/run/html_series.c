// SPDX-License-Identifier: Apache-2.0
//
// One folded part per series: what was measured, what was predicted, what it was before.
#include "reports/run/html.h"

#include "reports/charts/series_chart.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Figures of a series take about 10 KB; beyond this many, series that are the same go without.
enum { DRAWN = 150 };

void html_anchor(char out[32], const struct view *view)
{
    snprintf(out, 32, "series-%zu", view->index);
}

void html_fact(struct markup *m, const char *term, const char *value)
{
    if (!value || !value[0] || strcmp(value, "-") == 0)
        return;
    markup_element(m, "dt", NULL, term);
    markup_element(m, "dd", NULL, value);
}

void html_factf(struct markup *m, const char *term, const char *format, ...)
{
    char text[256];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof(text), format, values);
    va_end(values);
    html_fact(m, term, text);
}

static void change_facts(struct markup *m, const struct view *view)
{
    const struct verdict *v = &view->result->verdict;
    char change[VIEW_TEXT], interval[VIEW_TEXT], text[VIEW_TEXT];
    if (isfinite(view->change.value)) {
        view_percent(change, view->change.value);
        view_interval(interval, view->change);
        html_factf(m, "change", "%s, %g %% interval %s, margin %.2g %%", change,
                   v->confidence * 100, interval, v->margin * 100);
        html_factf(m, "evidence", "10^%.1f against no change, from %u %s in %u %s (%.2g s)",
                   v->log_evidence / M_LN10, v->pairs, plural(v->pairs, "pair", "pairs"),
                   v->processes, plural(v->processes, "process", "processes"), v->gpu_s);
    }
    if (v->cause != CAUSE_NONE)
        html_fact(m, "cause", cause_name(v->cause));
    if (isfinite(view->detectable)) {
        view_percent(text, view->detectable);
        html_factf(m, "smallest detectable change", "%s", text + 1);
    }
    if (isfinite(view->extra->false_alarm_rate))
        html_factf(m, "achieved false-alarm rate", "%.2g %%", view->extra->false_alarm_rate * 100);
}

static void time_fact(struct markup *m, const char *term, const struct measurement *s,
                      double time_ns, double clock_hz)
{
    char time[VIEW_TEXT], clock[VIEW_TEXT];
    if (s->state == MEASURED_NOT_TAKEN)
        return;
    if (s->state != MEASURED_OK) {
        html_fact(m, term, measurement_state_name(s->state));
        return;
    }
    if (!isfinite(time_ns))
        return;
    view_time(time, time_ns);
    view_clock(clock, clock_hz);
    html_factf(m, term, "%s per launch at %s, %zu %s", time, clock, s->count,
               plural(s->count, "sample", "samples"));
}

static void prediction_fact(struct markup *m, const struct view *view)
{
    const struct prediction *p = &view->result->prediction;
    char time[VIEW_TEXT], clock[VIEW_TEXT], ratio[VIEW_TEXT] = "";
    if (!p->model)
        return;
    if (!p->feasible) {
        html_factf(m, "prediction", "none: %.200s", p->why ? p->why : "not feasible");
        return;
    }
    view_time(time, p->time_ns);
    view_clock(clock, p->clock_hz);
    if (isfinite(view->actual_predicted))
        snprintf(ratio, sizeof(ratio), "; actual / predicted %.3f", view->actual_predicted);
    html_factf(m, "prediction", "%s at %s by %s %s, bound by %s%s", time, clock, p->model,
               p->version ? p->version : "", bound_name(p->bound), ratio);
}

static void power_fact(struct markup *m, const struct measurement *s)
{
    double power = 0, hottest = INT16_MIN;
    size_t count = 0;
    for (size_t i = 0; i < s->count; i++) {
        if (s->samples[i].power_mw >= 0) {
            power += s->samples[i].power_mw / 1e3;
            count++;
        }
        hottest = fmax(hottest, s->samples[i].temperature_c);
    }
    if (count > 0 && hottest > INT16_MIN)
        html_factf(m, "power", "%.0f W on average, %.0f °C at most", power / (double)count,
                   hottest);
}

static void code_fact(struct markup *m, const struct view *view)
{
    const struct result *r = view->result;
    if (view_same_code(view))
        html_factf(m, "machine code", "identical in base and head (%.12s)", r->head_code);
    else if (r->base_code[0] && r->head_code[0])
        html_factf(m, "machine code", "changed, %.12s to %.12s", r->base_code, r->head_code);
    else if (r->head_code[0])
        html_factf(m, "machine code", "%.12s", r->head_code);
}

static void traits_fact(struct markup *m, const struct traits *t)
{
    struct buffer text = {0};
#define X(name)                                                                                    \
    if (t->name != 0)                                                                              \
        buffer_printf(&text, "%s%s %d", text.length ? ", " : "", #name, t->name);
    TRAITS(X)
#undef X
    html_fact(m, "traits", text.bytes);
    buffer_free(&text);
}

static void write_facts(struct markup *m, const struct view *view)
{
    const struct result *r = view->result;
    char throttle[VIEW_TEXT];
    markup_open(m, "dl", "facts");
    change_facts(m, view);
    time_fact(m, "base", &r->base, view->base_ns, view->base_hz);
    time_fact(m, "head", &r->head, view->head_ns, view->head_hz);
    prediction_fact(m, view);
    if (r->head.count > 0) {
        view_throttle(throttle, view->throttle);
        html_factf(m, "throttled", "%.0f %% of samples (%s)", view->throttled * 100, throttle);
        html_factf(m, "largest error", "%.2g of a tolerance of %.2g", r->head.max_error,
                   r->head.tolerance);
    }
    power_fact(m, &r->head);
    if (result_timed(r)[0])
        html_factf(m, "timed", "%s%s", result_timed(r), result_timed_note(r, view->device));
    html_fact(m, "regime", r->head.regime);
    code_fact(m, view);
    traits_fact(m, &r->traits);
    html_fact(m, "device", view->device->name);
    markup_end(m);
    if (view_detail(view)[0])
        markup_element(m, "pre", NULL, view_detail(view));
}

static void figure(struct markup *m, const char *class, const char *caption,
                   void (*draw)(struct markup *, const struct view *), const struct view *view)
{
    markup_open(m, "figure", class);
    markup_element(m, "figcaption", NULL, caption);
    draw(m, view);
    markup_end(m);
}

// Texts of the marks live in `texts`; the caller frees both.
static struct chart_mark *marks_of(const struct view *view, char (**texts)[VIEW_TEXT])
{
    size_t count = view->extra->change_count;
    struct chart_mark *marks = xcalloc(count ? count : 1, sizeof(*marks));
    *texts = xcalloc(count ? count : 1, sizeof(**texts));
    for (size_t i = 0; i < count; i++) {
        double size = view->extra->changes[i].log_ratio;
        view_percent((*texts)[i], expm1(size));
        marks[i] = (struct chart_mark){view->extra->changes[i].index, (*texts)[i],
                                       size > 0 ? MARK_SLOWER : MARK_FASTER};
    }
    return marks;
}

static void history_figure(struct markup *m, const struct view *view)
{
    char(*texts)[VIEW_TEXT];
    struct chart_mark *marks = marks_of(view, &texts);
    struct series_chart chart = {
        .history = &view->result->history, .marks = marks, .mark_count = view->extra->change_count};
    markup_open(m, "figure", "wide");
    markup_element(m, "figcaption", NULL,
                   "Time per launch over commits; dotted: predicted, where it lies within; "
                   "upright: a change found");
    series_chart(m, &chart);
    markup_end(m);
    free(marks);
    free(texts);
}

static void parts_figure(struct markup *m, const struct view *view)
{
    markup_start(m, "figure");
    markup_element(m, "figcaption", NULL, "What the predicted time is made of");
    chart_parts(m, &view->result->prediction, view->head_ns);
    markup_end(m);
}

static void write_figures(struct markup *m, const struct view *view)
{
    const struct result *r = view->result;
    markup_open(m, "div", "figures");
    if (r->head.count > 1)
        figure(m, NULL, "Samples and their distribution", chart_samples, view);
    if (r->head.count > 1 && r->base.count > 1)
        figure(m, NULL, "Head over base, pair by pair; shaded: the margin", chart_pairs, view);
    if (r->prediction.feasible && r->prediction.part_count > 0 && r->prediction.time_ns > 0)
        parts_figure(m, view);
    if (r->history.count > 1)
        history_figure(m, view);
    markup_end(m);
}

static void write_one(const struct html *html, const struct view *view, bool drawn)
{
    struct markup *m = html->m;
    struct buffer sentence = {0};
    char anchor[32], change[VIEW_TEXT];
    html_anchor(anchor, view);
    view_reason(&sentence, view);
    view_percent(change, view->change.value);
    markup_open(m, "details",
                view->result->verdict.kind == VERDICT_SAME ? "series" : "series changed");
    markup_attr(m, "id", anchor);
    markup_start(m, "summary");
    markup_element(m, "h3", NULL, view->result->kernel);
    markup_element(m, "span", "mono", view->shape);
    html_tag(m, view);
    if (isfinite(view->change.value))
        markup_element(m, "span", NULL, change);
    markup_end(m);
    markup_start(m, "div");
    markup_element(m, "p", "sentence", sentence.bytes);
    if (view->result->verdict.explanation && view->result->verdict.explanation[0])
        markup_element(m, "pre", "explanation", view->result->verdict.explanation);
    write_facts(m, view);
    if (drawn)
        write_figures(m, view);
    else
        markup_element(m, "p", "hint", "Figures are left out here to keep the page small.");
    markup_end(m);
    markup_end(m);
    buffer_free(&sentence);
}

void html_series(const struct html *html)
{
    if (html->count == 0)
        return;
    markup_start(html->m, "section");
    markup_attr(html->m, "aria-label", "Series one by one");
    markup_element(html->m, "h2", NULL, "Series one by one");
    for (size_t i = 0; i < html->count; i++)
        write_one(html, &html->views[i], i < DRAWN);
    markup_end(html->m);
}
