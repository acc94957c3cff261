// SPDX-License-Identifier: Apache-2.0
//
// plumb estimate: computes startup latency and throughput from measured transfers, as seed 1 does
// for the parameters of its model.
#include "ci/command.h"
#include "ci/commands/output.h"
#include "model/predict/parts/pipeline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct arguments {
    struct options options;
    bool json;
};

static const struct command_option own_options[] = {OPTION_FORMAT(json), {0}};

// Parses BYTES:TIME.
static int parse_point(struct pipeline_point *out, const char *text, struct error *err)
{
    char copy[128];
    char *colon = text_copy(copy, sizeof(copy), text) ? strchr(copy, ':') : NULL;
    if (colon)
        *colon = '\0';
    if (!colon || parse_double(&out->bytes, copy) || parse_double(&out->time, colon + 1) ||
        !(out->bytes > 0) || !(out->time > 0))
        return error_set(err, "%.60s: a measured transfer is BYTES:TIME, two positive numbers",
                         text);
    return 0;
}

static void print(const struct pipeline_rate *rate, const struct pipeline_point *points,
                  size_t count)
{
    printf("startup %.9g time units, throughput %.9g bytes per time unit%s\n", rate->startup,
           rate->throughput, rate->startup < 0 ? " (a startup below zero is noise)" : "");
    for (size_t i = 0; i < count; i++)
        printf("%.9g bytes: measured %.9g, the line says %.9g\n", points[i].bytes, points[i].time,
               rate->startup + points[i].bytes / rate->throughput);
}

static void print_json(const struct pipeline_rate *rate, const struct pipeline_point *points,
                       size_t count)
{
    struct answer answer;
    answer_begin(&answer, "transfers");
    for (size_t i = 0; i < count; i++) {
        struct json *row = answer_row(&answer);
        json_number(row, "bytes", points[i].bytes);
        json_number(row, "measured", points[i].time);
        json_number(row, "line", rate->startup + points[i].bytes / rate->throughput);
    }
    struct json *whole = answer_whole(&answer);
    json_number(whole, "startup", rate->startup);
    json_number(whole, "throughput", rate->throughput);
    answer_end(&answer);
}

static int run(enum conclusion *out, struct context *context, void *arguments, struct error *err)
{
    const struct arguments *a = arguments;
    const size_t count = a->options.words.count;
    (void)out;
    (void)context;
    struct pipeline_point *points = xcalloc(count, sizeof(*points));
    struct pipeline_rate rate;
    int status = 0;
    for (size_t i = 0; i < count && status == 0; i++)
        status = parse_point(&points[i], a->options.words.items[i], err);
    if (status == 0)
        status = pipeline_estimate(&rate, points, count, err);
    if (status == 0)
        (a->json ? print_json : print)(&rate, points, count);
    free(points);
    return status;
}

const struct command command_estimate = {
    .name = "estimate",
    .summary = "Estimate startup and throughput from measured transfers",
    .words = "BYTES:TIME BYTES:TIME...",
    .words_least = 2,
    .words_most = WORDS_ANY,
    .json = "transfers (bytes, measured, line: the time that the line says), then startup and "
            "throughput, in the units of the times given.",
    .options = own_options,
    .size = sizeof(struct arguments),
    .run = run,
    .doc =
        "Two transfers give the document's equations 4 and 5, more the line of least squares. For "
        "computing warps (equations 6 and 7) give multiply-adds for bytes.",
};
