// SPDX-License-Identifier: Apache-2.0
//
// Accuracy over runs as a table, CSV or JSON. The figures are made in accuracy_history.c.
#include "ci/history/accuracy_history.h"
#include "ci/settings/plain.h"
#include "reports/text/clean.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void table_run(const struct accuracy_series *s, const struct run_accuracy *n,
                      const char *what)
{
    char *model = plain_line(s->model), *kernel = plain_line(s->kernel);
    printf("%-20s %-24s %-5s %5zu %8.2f %+8.2f %8.1f %6.2f  %.10s  %s\n", model, kernel,
           dtype_name(s->dtype), n->count, 100 * n->mape, 100 * n->bias, 100 * n->within, n->tau,
           n->commit, what);
    free(model);
    free(kernel);
}

static const struct change *change_at(const struct changepoints *changes, size_t run)
{
    for (size_t i = 0; i < changes->count; i++) {
        if (changes->changes[i].index == run)
            return &changes->changes[i];
    }
    return NULL;
}

static void table_changes(const struct accuracy_series *s, size_t run)
{
    const struct change *bias = change_at(&s->bias, run), *error = change_at(&s->error, run);
    char what[96];
    size_t used = 0;
    if (!bias && !error)
        return;
    if (bias)
        used = (size_t)snprintf(what, sizeof(what), "bias moved by %+.2f %%%s",
                                100 * expm1(bias->size.value), error ? ", " : "");
    if (error)
        snprintf(what + used, sizeof(what) - used, "MAPE went from %.2f %% to %.2f %%",
                 100 * exp(error->before) - 0.1, 100 * exp(error->after) - 0.1);
    table_run(s, &s->runs[run], what);
}

void accuracy_history_print_table(const struct accuracy_history *accuracy)
{
    printf("%-20s %-24s %-5s %5s %8s %8s %8s %6s\n", "model", "kernel", "type", "rows", "MAPE %",
           "bias %", "in 10 %", "tau");
    for (size_t i = 0; i < accuracy->count; i++) {
        const struct accuracy_series *s = &accuracy->series[i];
        for (size_t k = 0; k < s->count; k++)
            table_changes(s, k);
        table_run(s, &s->runs[s->count - 1], "newest");
    }
}

static void cell(const char *text)
{
    char *field = clean_field(text);
    printf("%s,", field);
    free(field);
}

void accuracy_history_print_csv(const struct accuracy_history *accuracy)
{
    puts("model,kernel,dtype,device,commit,time_s,rows,mape,bias,within_10,tau,bias_moved,mape_"
         "moved");
    for (size_t i = 0; i < accuracy->count; i++) {
        const struct accuracy_series *s = &accuracy->series[i];
        for (size_t k = 0; k < s->count; k++) {
            const struct run_accuracy *n = &s->runs[k];
            cell(s->model);
            cell(s->kernel);
            printf("%s,", dtype_name(s->dtype));
            cell(s->device_uuid);
            printf("%s,%lld,%zu,%.6g,%.6g,%.6g,", n->commit, (long long)n->time_s, n->count,
                   n->mape, n->bias, n->within);
            if (isfinite(n->tau))
                printf("%.6g", n->tau);
            printf(",%d,%d\n", change_at(&s->bias, k) != NULL, change_at(&s->error, k) != NULL);
        }
    }
}

void accuracy_history_print_json(const struct accuracy_history *accuracy)
{
    struct buffer out = {0};
    struct json json = {.out = &out};
    json_begin(&json, NULL, '{');
    json_begin(&json, "accuracy", '[');
    for (size_t i = 0; i < accuracy->count; i++) {
        const struct accuracy_series *s = &accuracy->series[i];
        for (size_t k = 0; k < s->count; k++) {
            const struct run_accuracy *n = &s->runs[k];
            json_newline(&json);
            json_begin(&json, NULL, '{');
            json_clean(&json, "model", s->model);
            json_clean(&json, "kernel", s->kernel);
            json_clean(&json, "dtype", dtype_name(s->dtype));
            json_clean(&json, "device", s->device_uuid);
            json_clean(&json, "commit", n->commit);
            json_time(&json, "time_s", n->time_s);
            json_int(&json, "rows", (int64_t)n->count);
            json_number(&json, "mape", n->mape);
            json_number(&json, "bias", n->bias);
            json_number(&json, "within_10", n->within);
            json_number(&json, "tau", n->tau);
            json_bool(&json, "bias_moved", change_at(&s->bias, k) != NULL);
            json_bool(&json, "mape_moved", change_at(&s->error, k) != NULL);
            json_end(&json, '}');
        }
    }
    json_end(&json, ']');
    json_end(&json, '}');
    puts(out.bytes);
    buffer_free(&out);
}
