// SPDX-License-Identifier: Apache-2.0
//
// results.csv for spreadsheets and scripts: one row per series, RFC 4180, UTF-8. Times are
// nanoseconds, clocks Hz, changes relative; an empty cell is "not known".
#include "model/fields.h"
#include "reports/text/clean.h"
#include "reports/view.h"

#include <math.h>
#include <stdlib.h>

// The fields of a verdict that have columns here; the others follow after them.
static const char *const placed[] = {"kind",  "cause",      "log_ratio",    "lower",
                                     "upper", "confidence", "log_evidence", "margin",
                                     "pairs", "sentence",   "explanation"};

// The fields of a prediction whose columns stand further to the left.
static const char *const predicted[] = {"why", "time_ns", "clock_hz", "bound"};

// Writes the other fields of a verdict or a prediction; with `thing` NULL, their heads.
static void put_further(struct csv_line *line, const struct stored_fields *fields,
                        const char *const *names, size_t count, const void *thing)
{
    for (size_t i = 0; i < fields->count; i++) {
        const struct stored_field *field = &fields->items[i];
        if (field_named(field, names, count))
            continue;
        if (!thing)
            csv_text(line, field->name);
        else if (field->type == FIELD_LOG)
            csv_real(line, expm1(field_number(field, thing)));
        else
            field_csv(line, field, thing, csv_clean);
    }
}

static void put_rest(struct csv_line *line, const struct result *r)
{
    put_further(line, &verdict_fields, placed, ARRAY_COUNT(placed), r ? &r->verdict : NULL);
    put_further(line, &prediction_fields, predicted, ARRAY_COUNT(predicted),
                r ? &r->prediction : NULL);
}

static void put_row(struct csv_line *line, const struct view *view, const struct run *run)
{
    const struct result *r = view->result;
    const struct verdict *v = &r->verdict;
    struct buffer sentence = {0};
    char reason[VIEW_TEXT * 4];
    view_sentence(&sentence, view);
    csv_clean(line, r->kernel);
    csv_clean(line, view->problem);
    csv_clean(line, view->device->name);
    csv_clean(line, view->device->uuid);
    csv_clean(line, measurement_state_name(r->head.state));
    csv_clean(line, verdict_kind_name(v->kind));
    csv_clean(line, cause_name(v->cause));
    csv_real(line, view->base_ns);
    csv_real(line, view->head_ns);
    csv_real(line, view->change.value);
    csv_real(line, view->change.low);
    csv_real(line, view->change.high);
    csv_real(line, v->confidence);
    csv_real(line, v->log_evidence);
    csv_real(line, v->margin);
    csv_real(line, v->pairs);
    csv_real(line, view->base_hz);
    csv_real(line, view->head_hz);
    csv_real(line, view->throttled);
    csv_clean(line, r->prediction.model ? r->prediction.model : "");
    csv_real(line, r->prediction.feasible ? r->prediction.time_ns : NAN);
    csv_real(line, view->actual_predicted);
    csv_clean(line, r->prediction.feasible ? bound_name(r->prediction.bound) : "");
    csv_clean(line, r->base_code);
    csv_clean(line, r->head_code);
    csv_clean(line, result_timed(r));
    for (enum run_lack lack = 0; lack < RUN_LACKS; lack++) {
        run_lacks(reason, sizeof(reason), run, lack);
        csv_clean(line, reason);
    }
    csv_clean(line, sentence.bytes);
    put_rest(line, r);
    csv_real(line, view->mean);
    csv_real(line, view->p95);
    csv_end(line, "\r\n");
    buffer_free(&sentence);
}

static void write(struct buffer *out, const struct run *run, const struct report_context *context)
{
    struct view *views = view_all(run, context);
    struct csv_line line = {.out = out};
    csv_raw(&line, "kernel,problem,device,uuid,state,verdict,cause,base_ns,head_ns,change,lower,"
                   "upper,confidence,log_evidence,margin,pairs,base_clock_hz,head_clock_hz,"
                   "throttled,model,predicted_ns,actual_predicted,bound,base_code,head_code,"
                   "timed,unconfined,unlimited,sentence");
    put_rest(&line, NULL);
    csv_raw(&line, "mean_change,p95_change");
    csv_end(&line, "\r\n");
    for (size_t i = 0; i < run->count; i++)
        put_row(&line, &views[i], run);
    free(views);
}

const struct report report_csv = {
    .name = "csv",
    .file = "results.csv",
    .why = "one row per series, for spreadsheets and scripts",
    .write = write,
};
