// SPDX-License-Identifier: Apache-2.0
//
// One series of a run in plain text. Its clauses about code come ready from the run.
#include "reports/run/explain.h"

#include <math.h>

static void explain_change(struct buffer *out, const struct view *view)
{
    const struct verdict *v = &view->result->verdict;
    char change[VIEW_TEXT], interval[VIEW_TEXT];
    if (isnan(view->change.value))
        return;
    view_percent(change, view->change.value);
    view_interval(interval, view->change);
    buffer_printf(out, "change: %s, %g %% interval %s, margin %.2g %%\n", change,
                  v->confidence * 100, interval, v->margin * 100);
    buffer_printf(out, "evidence: 10^%.1f against no change, %u %s in %u %s\n",
                  v->log_evidence / M_LN10, v->pairs, plural(v->pairs, "pair", "pairs"),
                  v->processes, plural(v->processes, "process", "processes"));
}

static void explain_time(struct buffer *out, const char *name, const struct measurement *m,
                         double time_ns, double clock_hz, const char *commit)
{
    char time[VIEW_TEXT], clock[VIEW_TEXT], id[VIEW_TEXT];
    view_time(time, time_ns);
    view_clock(clock, clock_hz);
    view_short_id(id, commit);
    if (m->state == MEASURED_NOT_TAKEN)
        return;
    if (m->state != MEASURED_OK)
        buffer_printf(out, "%s: %s, commit %s\n", name, measurement_state_name(m->state), id);
    else if (isfinite(time_ns))
        buffer_printf(out, "%s: %s at %s, %zu %s, commit %s\n", name, time, clock, m->count,
                      plural(m->count, "sample", "samples"), id);
}

static void explain_prediction(struct buffer *out, const struct view *view)
{
    const struct prediction *p = &view->result->prediction;
    char time[VIEW_TEXT], clock[VIEW_TEXT];
    if (!p->model)
        return;
    if (!p->feasible) {
        buffer_printf(out, "prediction: none by %s %s: %s\n", p->model,
                      p->version ? p->version : "", p->why ? p->why : "not feasible");
        return;
    }
    view_time(time, p->time_ns);
    view_clock(clock, p->clock_hz);
    buffer_printf(out, "prediction: %s at %s by %s %s, bound by %s", time, clock, p->model,
                  p->version ? p->version : "", bound_name(p->bound));
    if (isfinite(view->actual_predicted))
        buffer_printf(out, "; actual/predicted %.3f", view->actual_predicted);
    buffer_puts(out, "\n");
    for (size_t i = 0; i < p->part_count; i++) {
        view_time(time, p->parts[i].time_ns);
        buffer_printf(out, "%s%s %s", i ? ", " : "parts: ", p->parts[i].name, time);
    }
    buffer_puts(out, p->part_count ? "\n" : "");
}

static void explain_code(struct buffer *out, const struct view *view)
{
    const struct result *r = view->result;
    if (view_same_code(view))
        buffer_printf(out, "code: identical (%.16s)\n", r->head_code);
    else if (r->base_code[0] && r->head_code[0])
        buffer_printf(out, "code: changed (%.16s to %.16s)\n", r->base_code, r->head_code);
}

void explain_series(struct buffer *out, const struct view *view, const struct run *run)
{
    const struct result *r = view->result;
    char throttle[VIEW_TEXT];
    buffer_printf(out, "verdict: %s\ncause: %s\n", verdict_kind_name(r->verdict.kind),
                  cause_name(r->verdict.cause));
    view_sentence(out, view);
    buffer_puts(out, "\n");
    if (r->verdict.explanation && r->verdict.explanation[0])
        buffer_printf(out, "%s\n", r->verdict.explanation);
    explain_change(out, view);
    if (run->base.id[0])
        explain_time(out, "base", &r->base, view->base_ns, view->base_hz, run->base.id);
    explain_time(out, "head", &r->head, view->head_ns, view->head_hz, run->head.id);
    explain_prediction(out, view);
    view_throttle(throttle, view->throttle);
    buffer_printf(out, "clocks: %.0f %% of head samples throttled (%s)\n", view->throttled * 100,
                  throttle);
    explain_code(out, view);
    buffer_printf(out, "device: %s (%s), driver %s, runtime %s\n", view->device->name,
                  view->device->uuid, view->device->driver, view->device->runtime);
    if (result_timed(r)[0])
        buffer_printf(out, "timed: %s%s\n", result_timed(r), result_timed_note(r, view->device));
    if (r->head.regime)
        buffer_printf(out, "regime: %s\n", r->head.regime);
    const char *detail = view_detail(view);
    if (detail[0])
        buffer_printf(out, "detail: %s\n", detail);
}
