// SPDX-License-Identifier: Apache-2.0
//
// results.csv for spreadsheets and scripts: one row per series, RFC 4180, UTF-8. Times are
// nanoseconds, clocks Hz, changes relative; an empty field is "not known". A text that a
// spreadsheet would take for a formula gets an apostrophe in front (OWASP, "CSV Injection").
#include "model/fields.h"
#include "reports/text/clean.h"
#include "reports/view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void put_text(struct buffer *out, const char *text)
{
    char *field = clean_field(text);
    buffer_puts(out, field);
    buffer_puts(out, ",");
    free(field);
}

static void put_number(struct buffer *out, double value)
{
    char text[NUMBER_TEXT];
    json_format_number(text, value);
    buffer_puts(out, isfinite(value) ? text : "");
    buffer_puts(out, ",");
}

// Fields of a verdict that have a column; the others follow behind them.
static const char *const placed[] = {"kind",  "cause",      "log_ratio",    "lower",
                                     "upper", "confidence", "log_evidence", "margin",
                                     "pairs", "sentence",   "explanation"};

static void put_further(struct buffer *out, const struct verdict *v)
{
    for (size_t i = 0; i < verdict_fields.count; i++) {
        const struct stored_field *field = &verdict_fields.items[i];
        if (field_named(field, placed, ARRAY_COUNT(placed)))
            continue;
        if (field->type == FIELD_LOG)
            put_number(out, expm1(field_number(field, v)));
        else if (field_is_number(field->type))
            put_number(out, field_number(field, v));
        else
            put_text(out, field_text(field, v));
    }
}

static void put_row(struct buffer *out, const struct view *view, const struct run *run)
{
    const struct result *r = view->result;
    const struct verdict *v = &r->verdict;
    struct buffer sentence = {0};
    char reason[VIEW_TEXT * 4];
    view_sentence(&sentence, view);
    put_text(out, r->kernel);
    put_text(out, view->problem);
    put_text(out, view->device->name);
    put_text(out, view->device->uuid);
    put_text(out, measurement_state_name(r->head.state));
    put_text(out, verdict_kind_name(v->kind));
    put_text(out, cause_name(v->cause));
    put_number(out, view->base_ns);
    put_number(out, view->head_ns);
    put_number(out, view->change.value);
    put_number(out, view->change.low);
    put_number(out, view->change.high);
    put_number(out, v->confidence);
    put_number(out, v->log_evidence);
    put_number(out, v->margin);
    put_number(out, v->pairs);
    put_number(out, view->base_hz);
    put_number(out, view->head_hz);
    put_number(out, view->throttled);
    put_text(out, r->prediction.model ? r->prediction.model : "");
    put_number(out, r->prediction.feasible ? r->prediction.time_ns : NAN);
    put_number(out, view->actual_predicted);
    put_text(out, r->prediction.feasible ? bound_name(r->prediction.bound) : "");
    put_text(out, r->base_code);
    put_text(out, r->head_code);
    put_text(out, result_timed(r));
    for (enum run_lack lack = 0; lack < RUN_LACKS; lack++) {
        run_lacks(reason, sizeof(reason), run, lack);
        put_text(out, reason);
    }
    put_text(out, sentence.bytes);
    put_further(out, v);
    put_number(out, view->mean);
    put_number(out, view->p95);
    out->length--; // the last comma
    buffer_puts(out, "\r\n");
    buffer_free(&sentence);
}

static void write(struct buffer *out, const struct run *run, const struct report_context *context)
{
    struct view *views = view_all(run, context);
    buffer_puts(out, "kernel,problem,device,uuid,state,verdict,cause,base_ns,head_ns,change,lower,"
                     "upper,confidence,log_evidence,margin,pairs,base_clock_hz,head_clock_hz,"
                     "throttled,model,predicted_ns,actual_predicted,bound,base_code,head_code,"
                     "timed,unconfined,unlimited,sentence");
    for (size_t i = 0; i < verdict_fields.count; i++) {
        if (!field_named(&verdict_fields.items[i], placed, ARRAY_COUNT(placed)))
            buffer_printf(out, ",%s", verdict_fields.items[i].name);
    }
    buffer_puts(out, ",mean_change,p95_change\r\n");
    for (size_t i = 0; i < run->count; i++)
        put_row(out, &views[i], run);
    free(views);
}

const struct report report_csv = {
    .name = "csv",
    .file = "results.csv",
    .why = "one row per series, for spreadsheets and scripts",
    .write = write,
};
