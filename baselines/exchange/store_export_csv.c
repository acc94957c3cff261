// SPDX-License-Identifier: Apache-2.0
//
// A store as tables for spreadsheets and scripts: RFC 4180, one row per measurement or per metric.
#include "baselines/exchange/export.h"
#include "baselines/fields.h"

#include <math.h>
#include <string.h>

// Fields of a verdict that have a column further to the left.
static const char *const placed[] = {"kind", "log_ratio", "lower", "upper"};

// Writes the other fields; v NULL: empty cells.
static void put_further(struct csv_line *line, const struct verdict *v)
{
    for (size_t i = 0; i < verdict_fields.count; i++) {
        if (field_named(&verdict_fields.items[i], placed, ARRAY_COUNT(placed)))
            continue;
        if (v)
            field_csv(line, &verdict_fields.items[i], v, csv_text);
        else
            csv_empty(line, 1);
    }
}

static void put_run_cells(struct csv_line *line, const struct run *run, const char *uid,
                          const struct commit *commit)
{
    csv_text(line, uid);
    csv_text(line, run_kind_name(run->kind));
    csv_int(line, run->started_s);
    csv_text(line, commit->id);
    csv_int(line, commit->time_s);
}

static void put_prediction(struct csv_line *line, const struct prediction *p)
{
    csv_real(line, p->model && p->feasible ? p->time_ns : NAN);
    csv_text(line, p->model);
    csv_text(line, p->version);
}

static void put_row(struct csv_line *line, const struct run *run, const char *uid,
                    const struct result *r, enum sample_role role)
{
    char problem[PROBLEM_TEXT];
    const bool head = role == ROLE_HEAD;
    const struct measurement *m = head ? &r->head : &r->base;
    const struct device *device = &run->devices[r->device];
    // A verdict is of a head, where there is one.
    const struct verdict *v = head && r->verdict.sentence ? &r->verdict : NULL;
    const double time_ns = m->state == MEASURED_OK ? measurement_time_ns(m) : 0;
    const double clock_hz = measurement_clock_hz(m);
    problem_format(problem, &r->problem);
    put_run_cells(line, run, uid, head ? &run->head : &run->base);
    csv_text(line, r->kernel);
    csv_text(line, problem);
    csv_text(line, device->uuid);
    csv_text(line, device->name);
    csv_text(line, head ? "head" : "base");
    csv_text(line, head ? r->head_code : r->base_code);
    csv_text(line, measurement_state_name(m->state));
    csv_int(line, r->reused);
    csv_real(line, time_ns > 0 ? time_ns : NAN);
    csv_real(line, clock_hz > 0 ? clock_hz : NAN);
    csv_int(line, (int64_t)m->count);
    csv_real(line, m->max_error);
    csv_real(line, m->tolerance);
    csv_text(line, m->regime);
    if (head)
        put_prediction(line, &r->prediction);
    else
        csv_empty(line, 3);
    csv_real(line, v ? v->log_ratio.value : NAN);
    csv_real(line, v ? v->log_ratio.low : NAN);
    csv_real(line, v ? v->log_ratio.high : NAN);
    csv_text(line, v ? verdict_kind_name(v->kind) : NULL);
    csv_text(line, run_toolchain(run, role));
    put_further(line, v);
    csv_end(line, "\n");
}

static void put_run(FILE *file, const struct export_filter *filter, const struct run *run,
                    const char *uid)
{
    struct buffer out = {0};
    struct csv_line line = {.out = &out};
    for (size_t i = 0; i < run->count; i++) {
        const struct result *r = &run->results[i];
        if (filter->kernel && strcmp(filter->kernel, r->kernel) != 0)
            continue;
        if (r->base.state != MEASURED_NOT_TAKEN)
            put_row(&line, run, uid, r, ROLE_BASE);
        if (r->head.state != MEASURED_NOT_TAKEN)
            put_row(&line, run, uid, r, ROLE_HEAD);
    }
    buffer_print(&out, file);
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
    struct csv_line line = {.out = &out};
    for (size_t i = 0; i < run->metric_count; i++) {
        const struct metric_result *m = &run->metrics[i];
        if (filter->kernel && !is_of(m, filter->kernel))
            continue;
        put_run_cells(&line, run, uid, &run->head);
        csv_text(&line, run->base.id);
        metric_csv(&line, m, csv_text);
        csv_end(&line, "\n");
    }
    buffer_print(&out, file);
}

int store_export_metrics(struct store *store, const struct export_filter *filter, FILE *file,
                         struct error *err)
{
    struct buffer heads = {0};
    struct csv_line line = {.out = &heads};
    csv_raw(&line, "run,kind,started_s,commit,commit_s,base_commit");
    metric_csv(&line, NULL, csv_text);
    csv_end(&line, "\n");
    buffer_print(&heads, file);
    return export_runs(store, filter, file, put_metrics, err);
}
