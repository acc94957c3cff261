// SPDX-License-Identifier: Apache-2.0
//
// plumb export: what the store has, as CSV or lines of JSON.
#include "ci/command.h"
#include "ci/settings/store_option.h"
#include "ci/settings/text_file.h"

#include <string.h>

struct arguments {
    struct options options;
    struct export_filter filter;
    const char *format, *output;
};

static int take_format(void *arguments, const char *text)
{
    ((struct arguments *)arguments)->format = text;
    return strcmp(text, "csv") != 0 && strcmp(text, "json") != 0 ? -1 : 0;
}

static const struct command_option own_options[] = {
    OPTION_OWN("format", 0, "NAME", "csv or json [by the output's name, else csv]", take_format,
               "csv or json"),
    OPTION_RUN("run", "Only this run [all finished ones]", filter.run_id),
    OPTION_TEXT("kernel", 0, "NAME", "Only results of this kernel", filter.kernel),
    OPTION_TEXT("output", 'o', "FILE", "Write there [standard output]", output),
    {0},
};

static bool wants_json(const struct arguments *a)
{
    if (a->format)
        return strcmp(a->format, "json") == 0;
    const char *dot = a->output ? strrchr(a->output, '.') : NULL;
    return dot && strncmp(dot, ".json", 5) == 0;
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
        status = (wants_json(a) ? store_export_json : store_export_csv)(context->store, &a->filter,
                                                                        file.file, err);
        status = output_file_close(&file, status, err);
    }
    return status;
}

const struct command command_export = {
    .name = "export",
    .summary = "Write the store's contents as CSV or JSON",
    .shared = SHARED_STORE,
    .options = own_options,
    .size = sizeof(struct arguments),
    .run = run,
    .doc = "Writes what the store has in a form other programs read.\v"
           "csv   a table, one row per measurement\n"
           "json  one object per line, complete with samples; `plumb import` reads it back\n"
           "Both are described in baselines/README.md.",
};
