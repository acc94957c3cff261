// SPDX-License-Identifier: Apache-2.0
//
// The last parts of index.html: how far the run can be trusted, and where its figures come from.
#include "model/gate/study.h"
#include "reports/run/html.h"

#include <math.h>
#include <stdio.h>

static void section(struct markup *m, const char *title)
{
    markup_start(m, "section");
    markup_attr(m, "aria-label", title);
    markup_element(m, "h2", NULL, title);
    markup_open(m, "div", "card");
}

static void section_end(struct markup *m)
{
    markup_end(m);
    markup_end(m);
}

// Largest over the series that are known, NaN when none is.
static double worst_of(const struct html *html, double (*get)(const struct view *))
{
    double worst = NAN;
    for (size_t i = 0; i < html->count; i++)
        worst = fmax(worst, get(&html->views[i]));
    return worst;
}

static double get_rate(const struct view *view)
{
    return view->extra->false_alarm_rate;
}

static double get_detectable(const struct view *view)
{
    return view->detectable;
}

// A rate of none of none says nothing: only what was counted is told.
static void record_facts(const struct html *html)
{
    const struct report_record *records = html->context->records;
    for (size_t i = 0; records && i < html->run->device_count; i++) {
        const struct report_record *r = &records[i];
        struct buffer text = {0};
        if (r->gates)
            buffer_printf(
                &text,
                "%llu in %llu %s of identical code by studies: at most %.2g %% (95 %%, exact)",
                (unsigned long long)r->alarms, (unsigned long long)r->gates,
                plural(r->gates, "gate", "gates"),
                100 * study_rate_upper(r->alarms, r->gates, 0.95));
        if (r->self_tests)
            buffer_printf(&text, "%s%llu in %llu series of self tests", r->gates ? "; " : "",
                          (unsigned long long)r->self_alarms, (unsigned long long)r->self_tests);
        if (text.length)
            html_fact(html->m,
                      html->run->device_count > 1 ? html->run->devices[i].name : "false alarms",
                      text.bytes);
        buffer_free(&text);
    }
}

static void control_fact(const struct html *html)
{
    size_t controls = 0;
    double most = 0;
    char text[160], change[VIEW_TEXT];
    for (size_t i = 0; i < html->count; i++) {
        const struct view *view = &html->views[i];
        if (!view->result->control || isnan(view->change.value))
            continue;
        controls++;
        if (fabs(view->change.value) > fabs(most))
            most = view->change.value;
    }
    view_percent(change, most);
    snprintf(text, sizeof(text), "%zu series that cannot have changed; the largest moved by %s",
             controls, change);
    html_fact(html->m, "controls", controls ? text : "none in this run");
}

void html_trust(const struct html *html)
{
    const struct self_test *test = &html->run->self_test;
    struct markup *m = html->m;
    char text[200];
    double rate = worst_of(html, get_rate), detectable = worst_of(html, get_detectable);
    section(m, "How far to trust this run");
    markup_open(m, "dl", "facts");
    if (test->series > 0)
        snprintf(text, sizeof(text),
                 "%u series of identical code compared with themselves, %u told "
                 "apart%s",
                 test->series, test->alarms, test->void_run ? ": the run is void" : "");
    else
        snprintf(text, sizeof(text), "none in this run");
    html_fact(m, "self-test (A/A)", text);
    if (test->series > 0)
        html_factf(m, "largest A/A evidence", "10^%.2f", test->worst_log_evidence / M_LN10);
    record_facts(html);
    control_fact(html);
    if (isfinite(rate))
        html_factf(m, "achieved false-alarm rate", "%.2g %% (worst series)", rate * 100);
    if (isfinite(detectable))
        html_factf(m, "smallest detectable change", "%.2g %% (worst series)", detectable * 100);
    markup_end(m);
    section_end(m);
}

static void device_facts(struct markup *m, const struct device *d)
{
    struct buffer text = {0};
    buffer_printf(&text, "%s, driver %s, runtime %s, profile %s, %s", d->name, d->driver,
                  d->runtime, d->profile[0] ? d->profile : "none", d->uuid);
    html_fact(m, "device", text.bytes);
    buffer_free(&text);
}

static void commit_fact(struct markup *m, const char *term, const struct commit *c)
{
    struct buffer text = {0};
    if (!c->id[0])
        return;
    buffer_printf(&text, "%s, tree %.12s, by %s", c->id, c->tree,
                  c->author ? c->author : "unknown");
    html_fact(m, term, text.bytes);
    buffer_free(&text);
}

void html_origin(const struct html *html)
{
    const struct run *run = html->run;
    struct markup *m = html->m;
    char started[VIEW_TEXT], finished[VIEW_TEXT], text[128];
    view_date(started, run->started_s);
    view_date(finished, run->finished_s);
    section(m, "Where this comes from");
    markup_open(m, "dl", "facts");
    commit_fact(m, "base", &run->base);
    commit_fact(m, "head", &run->head);
    if (run->toolchain[ROLE_BASE])
        html_fact(m, "base's toolchain", run_toolchain(run, ROLE_BASE));
    if (run->toolchain[ROLE_HEAD])
        html_fact(m, "head's toolchain", run_toolchain(run, ROLE_HEAD));
    for (size_t i = 0; i < run->device_count; i++)
        device_facts(m, &run->devices[i]);
    snprintf(text, sizeof(text), "plumb %.40s, %s run %lld",
             run->tool_version ? run->tool_version : "", run_kind_name(run->kind),
             (long long)run->id);
    html_fact(m, "tool", text);
    if (run_overlay(text, sizeof(text), run))
        html_fact(m, "overlay", text);
    html_fact(m, "started", started);
    html_fact(m, "finished", run->finished_s ? finished : "interrupted");
    html_fact(m, "series charts", page_has_dygraphs ? "dygraphs, embedded" : "static SVG");
    markup_end(m);
    if (run->policy && run->policy[0]) {
        markup_start(m, "details");
        markup_element(m, "summary", NULL, "Policy in force");
        markup_element(m, "pre", NULL, run->policy);
        markup_end(m);
    }
    section_end(m);
}
