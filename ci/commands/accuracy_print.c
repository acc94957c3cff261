// SPDX-License-Identifier: Apache-2.0
//
// Accuracy of models as a table or as JSON.
#include "ci/commands/accuracy_print.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void accuracy_print_header(const struct answer *answer)
{
    if (!answer)
        printf("%-22s %5s %6s %7s %7s %7s %8s %7s %7s %7s %7s %7s\n", "model", "rows", "refuse",
               "MAPE %", "median", "p90", "p99", "bias", "in 10%", "tau", "A/BF", "worst");
}

static void print_share(double value)
{
    if (isnan(value))
        printf(" %7s", "-"); // one row per problem: nothing to rank
    else
        printf(" %7.3f", value);
}

static void print_line(const char *name, const struct accuracy *a, size_t refused)
{
    printf("%-22s %5zu %6zu", name, a->rows, refused);
    if (a->rows == 0) {
        printf("  it predicts none of these rows\n");
        return;
    }
    printf(" %7.2f %7.2f %7.2f %8.2f %+7.2f %7.1f", 100 * a->mape, 100 * a->median, 100 * a->p90,
           100 * a->p99, 100 * a->bias, 100 * a->within_10);
    print_share(a->tau);
    print_share(a->picked);
    print_share(a->picked_worst);
    printf("\n");
}

void accuracy_print(struct answer *answer, const char *name, const struct accuracy *accuracy,
                    size_t refused)
{
    const bool any = accuracy->rows > 0;
    if (!answer) {
        print_line(name, accuracy, refused);
        return;
    }
    struct json *row = answer_row(answer);
    const struct {
        const char *name;
        double value;
    } figures[] = {
        {"mape", accuracy->mape},
        {"median", accuracy->median},
        {"p90", accuracy->p90},
        {"p99", accuracy->p99},
        {"bias", accuracy->bias},
        {"within_10", accuracy->within_10},
        {"tau", accuracy->tau},
        {"picked", accuracy->picked},
        {"picked_worst", accuracy->picked_worst},
    };
    json_clean(row, "model", name);
    json_int(row, "rows", (int64_t)accuracy->rows);
    json_int(row, "refused", (int64_t)refused);
    for (size_t i = 0; i < ARRAY_COUNT(figures); i++)
        json_number(row, figures[i].name, any ? figures[i].value : NAN);
}

static int by_distance(const void *left, const void *right)
{
    const struct accuracy_row *a = left, *b = right;
    double x = fabs(log(a->predicted_ns / a->measured_ns));
    double y = fabs(log(b->predicted_ns / b->measured_ns));
    return (y > x) - (y < x);
}

static void worst_json(struct json *json, const struct accuracy_row *rows, size_t count)
{
    json_begin(json, "worst", '[');
    for (size_t i = 0; i < count; i++) {
        json_newline(json);
        json_begin(json, NULL, '{');
        json_number(json, "ratio", rows[i].predicted_ns / rows[i].measured_ns);
        json_number(json, "predicted_us", rows[i].predicted_ns / 1e3);
        json_number(json, "measured_us", rows[i].measured_ns / 1e3);
        json_clean(json, "kernel", rows[i].kernel);
        json_clean(json, "problem", rows[i].problem);
        json_end(json, '}');
    }
    json_end(json, ']');
}

void accuracy_print_worst(struct answer *answer, struct accuracy_row *rows, size_t count,
                          size_t most)
{
    qsort(rows, count, sizeof(*rows), by_distance);
    count = count < most ? count : most;
    if (answer) {
        worst_json(answer_whole(answer), rows, count);
        return;
    }
    printf("\n%-9s %-14s %-14s %-36s %s\n", "ratio", "predicted_us", "measured_us", "kernel",
           "problem");
    for (size_t i = 0; i < count; i++)
        printf("%-9.3f %-14.3f %-14.3f %-36s %s\n", rows[i].predicted_ns / rows[i].measured_ns,
               rows[i].predicted_ns / 1e3, rows[i].measured_ns / 1e3, rows[i].kernel,
               rows[i].problem);
}
