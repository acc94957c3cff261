// SPDX-License-Identifier: Apache-2.0
//
// A store as tables for spreadsheets and scripts: RFC 4180, one row per measurement or per metric.
#include "baselines/exchange/export.h"
#include "baselines/fields.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

void export_cell(struct buffer *out, const char *text)
{
    buffer_csv(out, text);
    buffer_puts(out, ",");
}

void export_real_cell(struct buffer *out, double value, bool known)
{
    if (known && isfinite(value))
        buffer_number(out, value);
    buffer_puts(out, ",");
}

static void put_conclusions(struct buffer *out, const struct result *r)
{
    const struct verdict *v = &r->verdict;
    bool judged = v->sentence != NULL;
    export_real_cell(out, r->prediction.time_ns, r->prediction.model && r->prediction.feasible);
    export_cell(out, r->prediction.model ? r->prediction.model : "");
    export_cell(out, r->prediction.version ? r->prediction.version : "");
    export_real_cell(out, v->log_ratio.value, judged);
    export_real_cell(out, v->log_ratio.low, judged);
    export_real_cell(out, v->log_ratio.high, judged);
    buffer_puts(out, judged ? verdict_kind_name(v->kind) : "");
}

// Fields of a verdict that have a column further to the left.
static const char *const placed[] = {"kind", "log_ratio", "lower", "upper"};

static void put_further(struct buffer *out, const struct verdict *v)
{
    for (size_t i = 0; i < verdict_fields.count; i++) {
        if (field_named(&verdict_fields.items[i], placed, ARRAY_COUNT(placed)))
            continue;
        if (v && v->sentence)
            field_csv(out, &verdict_fields.items[i], v);
        else
            buffer_puts(out, ",");
    }
}

static void put_run_cells(struct buffer *out, const struct run *run, const char *uid,
                          const struct commit *commit)
{
    buffer_printf(out, "%s,%s,%" PRId64 ",%s,%" PRId64, uid, run_kind_name(run->kind),
                  run->started_s, commit->id, commit->time_s);
}

static void put_row(struct buffer *out, const struct run *run, const char *uid,
                    const struct result *r, enum sample_role role)
{
    char problem[PROBLEM_TEXT];
    const struct measurement *m = role == ROLE_HEAD ? &r->head : &r->base;
    const struct commit *commit = role == ROLE_HEAD ? &run->head : &run->base;
    const struct device *device = &run->devices[r->device];
    double time_ns = m->state == MEASURED_OK ? measurement_time_ns(m) : 0;
    double clock_hz = measurement_clock_hz(m);
    problem_format(problem, &r->problem);
    put_run_cells(out, run, uid, commit);
    buffer_puts(out, ",");
    export_cell(out, r->kernel);
    export_cell(out, problem);
    export_cell(out, device->uuid);
    export_cell(out, device->name);
    export_cell(out, role == ROLE_HEAD ? "head" : "base");
    export_cell(out, role == ROLE_HEAD ? r->head_code : r->base_code);
    export_cell(out, measurement_state_name(m->state));
    buffer_printf(out, "%d,", r->reused);
    export_real_cell(out, time_ns, time_ns > 0);
    export_real_cell(out, clock_hz, clock_hz > 0);
    buffer_printf(out, "%zu,", m->count);
    export_real_cell(out, m->max_error, true);
    export_real_cell(out, m->tolerance, true);
    export_cell(out, m->regime);
    if (role == ROLE_HEAD)
        put_conclusions(out, r);
    else
        buffer_puts(out, ",,,,,,");
    buffer_printf(out, ",%s", run_toolchain(run, role));
    put_further(out, role == ROLE_HEAD ? &r->verdict : NULL);
    buffer_puts(out, "\n");
}

static void put_run(FILE *file, const struct export_filter *filter, const struct run *run,
                    const char *uid)
{
    struct buffer out = {0};
    for (size_t i = 0; i < run->count; i++) {
        const struct result *r = &run->results[i];
        if (filter->kernel && strcmp(filter->kernel, r->kernel) != 0)
            continue;
        if (r->base.state != MEASURED_NOT_TAKEN)
            put_row(&out, run, uid, r, ROLE_BASE);
        if (r->head.state != MEASURED_NOT_TAKEN)
            put_row(&out, run, uid, r, ROLE_HEAD);
    }
    if (out.length)
        fwrite(out.bytes, 1, out.length, file);
    buffer_free(&out);
}

int store_export_csv(struct store *store, const struct export_filter *filter, FILE *file,
                     struct error *err)
{
    fputs("run,kind,started_s,commit,commit_s,kernel,problem,device,device_name,role,"
          "code,state,reused,time_ns,clock_hz,samples,max_error,tolerance,regime,"
          "predicted_ns,model,model_version,log_ratio,lower,upper,verdict,toolchain",
          file);
    for (size_t i = 0; i < verdict_fields.count; i++) {
        if (!field_named(&verdict_fields.items[i], placed, ARRAY_COUNT(placed)))
            fprintf(file, ",%s", verdict_fields.items[i].name);
    }
    fputs("\n", file);
    return export_runs(store, filter, file, put_run, err);
}

// ---- metrics ----

static bool is_of(const struct metric_result *m, const char *kernel)
{
    const size_t length = strlen(kernel);
    return strncmp(m->subject, kernel, length) == 0 &&
           (m->subject[length] == '\0' || m->subject[length] == ' ');
}

static void put_metrics(FILE *file, const struct export_filter *filter, const struct run *run,
                        const char *uid)
{
    struct buffer out = {0};
    for (size_t i = 0; i < run->metric_count; i++) {
        const struct metric_result *m = &run->metrics[i];
        if (filter->kernel && !is_of(m, filter->kernel))
            continue;
        put_run_cells(&out, run, uid, &run->head);
        buffer_printf(&out, ",%s", run->base.id);
        for (size_t k = 0; k < metric_fields.count; k++)
            metric_cell(&out, &metric_fields.items[k], m);
        buffer_puts(&out, "\n");
    }
    if (out.length)
        fwrite(out.bytes, 1, out.length, file);
    buffer_free(&out);
}

int store_export_metrics(struct store *store, const struct export_filter *filter, FILE *file,
                         struct error *err)
{
    struct buffer heads = {0};
    for (size_t i = 0; i < metric_fields.count; i++)
        metric_cell(&heads, &metric_fields.items[i], NULL);
    fprintf(file, "run,kind,started_s,commit,commit_s,base_commit%s\n", heads.bytes);
    buffer_free(&heads);
    return export_runs(store, filter, file, put_metrics, err);
}
