// SPDX-License-Identifier: Apache-2.0
//
// A store as a table for spreadsheets and scripts: RFC 4180, one row per measurement, empty when
// not known. A text that a spreadsheet would take for a formula gets an apostrophe in front.
#include "baselines/exchange/export.h"
#include "model/sink.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

static void write_file(void *file, const char *text, size_t length)
{
    fwrite(text, 1, length, file);
}

static void put_text(const struct sink *sink, const char *text)
{
    char guarded[512];
    if (text[0] && strchr("=+-@'", text[0])) {
        snprintf(guarded, sizeof(guarded), "'%.500s", text);
        text = guarded;
    }
    sink_csv_field(sink, text);
    sink_text(sink, ",");
}

static void put_real(const struct sink *sink, double value, bool known)
{
    if (known && isfinite(value))
        sink_printf(sink, "%.17g", value);
    sink_text(sink, ",");
}

static void put_conclusions(const struct sink *sink, const struct result *r)
{
    const struct verdict *v = &r->verdict;
    bool judged = v->sentence != NULL;
    put_real(sink, r->prediction.time_ns, r->prediction.model && r->prediction.feasible);
    put_text(sink, r->prediction.model ? r->prediction.model : "");
    put_text(sink, r->prediction.version ? r->prediction.version : "");
    put_real(sink, v->log_ratio, judged);
    put_real(sink, v->lower, judged);
    put_real(sink, v->upper, judged);
    sink_text(sink, judged ? verdict_kind_name(v->kind) : "");
}

static void put_row(const struct sink *sink, const struct run *run, const char *uid,
                    const struct result *r, enum sample_role role)
{
    char problem[PROBLEM_TEXT];
    const struct measurement *m = role == ROLE_HEAD ? &r->head : &r->base;
    const struct commit *commit = role == ROLE_HEAD ? &run->head : &run->base;
    const struct device *device = &run->devices[r->device];
    double time_ns = m->state == MEASURED_OK ? measurement_time_ns(m) : 0;
    double clock_hz = measurement_clock_hz(m);
    problem_format(problem, &r->problem);
    sink_printf(sink, "%s,%s,%" PRId64 ",%s,%" PRId64 ",", uid, run_kind_name(run->kind),
                run->started_s, commit->id, commit->time_s);
    put_text(sink, r->kernel);
    put_text(sink, problem);
    put_text(sink, device->uuid);
    put_text(sink, device->name);
    put_text(sink, role == ROLE_HEAD ? "head" : "base");
    put_text(sink, role == ROLE_HEAD ? r->head_code : r->base_code);
    put_text(sink, measurement_state_name(m->state));
    sink_printf(sink, "%d,", r->reused);
    put_real(sink, time_ns, time_ns > 0);
    put_real(sink, clock_hz, clock_hz > 0);
    sink_printf(sink, "%zu,", m->count);
    put_real(sink, m->max_error, true);
    put_real(sink, m->tolerance, true);
    put_text(sink, m->regime);
    if (role == ROLE_HEAD)
        put_conclusions(sink, r);
    else
        sink_text(sink, ",,,,,,");
    sink_text(sink, "\n");
}

static void put_run(FILE *file, const struct export_filter *filter, const struct run *run,
                    const char *uid)
{
    const struct sink sink = {write_file, file};
    for (size_t i = 0; i < run->count; i++) {
        const struct result *r = &run->results[i];
        if (filter->kernel && strcmp(filter->kernel, r->kernel) != 0)
            continue;
        if (r->base.count || r->base.state != MEASURED_OK)
            put_row(&sink, run, uid, r, ROLE_BASE);
        if (r->head.count || r->head.state != MEASURED_OK)
            put_row(&sink, run, uid, r, ROLE_HEAD);
    }
}

int store_export_csv(struct store *store, const struct export_filter *filter, FILE *file,
                     struct error *err)
{
    const struct sink sink = {write_file, file};
    sink_text(&sink, "run,kind,started_s,commit,commit_s,kernel,problem,device,device_name,role,"
                     "code,state,reused,time_ns,clock_hz,samples,max_error,tolerance,regime,"
                     "predicted_ns,model,model_version,log_ratio,lower,upper,verdict\n");
    return export_runs(store, filter, file, put_run, err);
}
