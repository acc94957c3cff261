// SPDX-License-Identifier: Apache-2.0
//
// plumb export: writes what the store has: as CSV (also links and metrics), lines of JSON, BMF or
// OpenMetrics.
#include "ci/command.h"
#include "ci/settings/context.h"
#include "ci/settings/text_file.h"

#include <string.h>

struct arguments {
    struct options options;
    struct export_filter filter;
    const char *format, *output;
};

static const struct {
    const char *name;
    int (*write)(struct store *, const struct export_filter *, FILE *, struct error *);
} formats[] = {{"csv", store_export_csv},         {"links", store_export_links},
               {"metrics", store_export_metrics}, {"json", store_export_json},
               {"bmf", store_export_bmf},         {"openmetrics", store_export_openmetrics}};

#define FORMATS "csv, links, metrics, json, bmf or openmetrics"

// Finds the format's index; -1: there is none of that name.
static int find_format(const char *name)
{
    for (size_t i = 0; i < ARRAY_COUNT(formats); i++) {
        if (strcmp(name, formats[i].name) == 0)
            return (int)i;
    }
    return -1;
}

static int take_format(void *arguments, const char *text)
{
    ((struct arguments *)arguments)->format = text;
    return find_format(text) < 0 ? -1 : 0;
}

static const struct command_option own_options[] = {
    OPTION_OWN("format", 0, "NAME", FORMATS " [by the output's name, else csv]", take_format,
               FORMATS),
    OPTION_RUN("run", "Only this run [all finished ones]", filter.run_id),
    OPTION_TEXT("kernel", 0, "NAME", "Only results of this kernel", filter.kernel),
    OPTION_TEXT("output", 'o', "FILE", "Write there [standard output]", output),
    {0},
};

static int choose_format(const struct arguments *a)
{
    const char *dot = a->output ? strrchr(a->output, '.') : NULL;
    return find_format(a->format                              ? a->format
                       : dot && strncmp(dot, ".json", 5) == 0 ? "json"
                                                              : "csv");
}

static int run(enum conclusion *out, struct context *context, void *arguments, struct error *err)
{
    const struct arguments *a = arguments;
    struct output_file file;
    (void)out;
    int status = store_option_open(context, &a->options, STORE_READ, err);
    if (status == 0)
        status = output_file_open(&file, a->output, err);
    if (status == 0) {
        status = formats[choose_format(a)].write(context->store, &a->filter, file.file, err);
        status = output_file_close(&file, status, err);
    }
    return status;
}

const struct command command_export = {
    .name = "export",
    .summary = "Write the store's contents for other programs",
    .shared = SHARED_STORE,
    .options = own_options,
    .size = sizeof(struct arguments),
    .run = run,
    .doc = "Writes what the store has in a form other programs read.\v"
           "csv          a table, one row per measurement\n"
           "links        a table, one row per link; `plumb import` reads it back\n"
           "metrics      a table, one row per figure beside time, [metric] of the policy\n"
           "json         one object per line, complete with samples; `plumb import` reads it back\n"
           "bmf          the newest time of each series and metrics, in Bencher Metric Format\n"
           "openmetrics  the newest time, prediction and clock of each series, and metrics, for "
           "Prometheus\n"
           "The last two are of the newest commit, or of one run with --run.\n"
           "All are described in baselines/README.md.",
};
