// SPDX-License-Identifier: Apache-2.0
//
// What a run decided, series by series: first what is not simply the same, worst first, then,
// folded, what is.
#include "reports/site/site_parts.h"

#include "model/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Those of a gate, and those of any run that did not end well. Plain runs are many, and what they
// say of levels is what pages of kernels show.
bool site_run_has_verdicts(const struct site_run *run)
{
    return run->finished_s && (run->kind == RUN_GATE || run->conclusion != CONCLUDE_OK);
}

// The series on this site; SIZE_MAX: it has none of them.
static size_t find_series(const struct site *site, const struct view *view)
{
    for (size_t i = 0; i < site->series_count; i++) {
        const struct site_series *s = &site->series[i];
        if (strcmp(s->kernel, view->result->kernel) == 0 &&
            problem_equal(&s->problem, &view->result->problem) &&
            strcmp(site->devices[s->device].uuid, view->device->uuid) == 0)
            return i;
    }
    return SIZE_MAX;
}

static void write_row(struct site_page *p, const struct view *view)
{
    const size_t series = find_series(p->map->site, view);
    const enum verdict_kind kind = view->result->verdict.kind;
    char change[VIEW_TEXT], interval[VIEW_TEXT], time[VIEW_TEXT];
    struct buffer reason = {0};
    view_percent(change, view->change.value);
    view_interval(interval, view->change);
    view_reason(&reason, view);
    page_row_begin(p->m, NULL);
    page_cell(p->m, "kernel", "nowrap", NAN, true);
    if (series == SIZE_MAX)
        markup_text(p->m, view->result->kernel);
    else
        site_series_link(p, series, view->result->kernel);
    markup_end(p->m);
    page_text_cell(p->m, "problem", "mono nowrap", NAN, view->shape);
    page_cell(p->m, "verdict", "nowrap", NAN, false);
    page_tag(p->m, chart_verdict_class(kind, view->is_environment), view_symbol(kind),
             verdict_kind_name(kind));
    markup_end(p->m);
    page_cell(p->m, "change", "right nowrap", NAN, false);
    markup_textf(p->m, "%s %s", change, isfinite(view->change.low) ? interval : "");
    markup_end(p->m);
    view_time(time, view->base_ns);
    page_text_cell(p->m, "base", "right nowrap", NAN, time);
    view_time(time, view->head_ns);
    page_text_cell(p->m, "head", "right nowrap", NAN, time);
    page_text_cell(p->m, "why", "wrap", NAN, reason.bytes ? reason.bytes : "");
    markup_end(p->m);
    buffer_free(&reason);
}

static void write_table(struct site_page *p, const char *caption, const struct view *views,
                        size_t count, bool same)
{
    static const char *const heads[] = {"Kernel", "Problem", "Verdict", "Change",
                                        "Base",   "Head",    "Why"};
    page_table_begin(p->m, "cards", caption);
    for (size_t i = 0; i < ARRAY_COUNT(heads); i++)
        page_table_head(p->m, heads[i], PAGE_SORT_NONE, i >= 3 && i <= 5 ? "right" : NULL);
    page_table_body(p->m);
    for (size_t i = 0; i < count; i++) {
        if ((views[i].result->verdict.kind == VERDICT_SAME) == same)
            write_row(p, &views[i]);
    }
    page_table_end(p->m);
}

static void write_unbuilt(struct site_page *p, const struct run *run)
{
    static const char *const roles[] = {[ROLE_BASE] = "The base", [ROLE_HEAD] = "The head"};
    for (int role = ROLE_BASE; role <= ROLE_HEAD; role++) {
        const struct build_failure *failure = &run->unbuilt[role];
        if (!failure->reason)
            continue;
        markup_open(p->m, "p", "v-broken");
        page_tag(p->m, "v-broken", "✕", "broken");
        markup_textf(p->m, " %s does not build: %s", run->base.id[0] ? roles[role] : "The commit",
                     failure->count ? failure->errors[0].text : failure->reason);
        markup_end(p->m);
    }
}

void site_verdicts(struct site_page *p, const struct run *run)
{
    struct view *views = view_all(run, NULL);
    size_t same = 0;
    for (size_t i = 0; i < run->count; i++)
        same += run->results[i].verdict.kind == VERDICT_SAME;
    site_heading(p->m, run->base.id[0] ? "Verdicts: the head against the base, side by side"
                                       : "Verdicts: the commit against what was measured before");
    write_unbuilt(p, run);
    if (run->count == 0)
        markup_element(p->m, "p", "muted", "No series was judged.");
    if (same < run->count)
        write_table(p, "Verdicts that are not \"same\", worst first", views, run->count, false);
    if (same > 0) {
        markup_open(p->m, "details", "series run");
        markup_attr(p->m, "open", same == run->count ? "" : NULL);
        markup_elementf(p->m, "summary", NULL, "%zu %s the same", same,
                        plural(same, "series is", "series are"));
        markup_start(p->m, "div");
        write_table(p, "Verdicts that are \"same\"", views, run->count, true);
        markup_end(p->m);
        markup_end(p->m);
    }
    free(views);
}
