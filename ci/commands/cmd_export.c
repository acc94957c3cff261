// SPDX-License-Identifier: Apache-2.0
//
// plumb export: what the store has, as CSV or lines of JSON.
#include "ci/command.h"
#include "ci/settings/options.h"
#include "ci/settings/store_option.h"
#include "ci/settings/text_file.h"

#include <string.h>

struct arguments {
    struct options options;
    struct export_filter filter;
    const char *format, *output;
};

enum { OPT_RUN = 2000, OPT_KERNEL, OPT_FORMAT };

static const struct argp_option table[] = {
    {"format", OPT_FORMAT, "NAME", 0, "csv or json [by the output's name, else csv]", 1},
    {"run", OPT_RUN, "ID", 0, "Only this run [all finished ones]", 1},
    {"kernel", OPT_KERNEL, "NAME", 0, "Only results of this kernel", 1},
    {"output", 'o', "FILE", 0, "Write there [standard output]", 1},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &a->options;
        return 0;
    case OPT_FORMAT:
        if (strcmp(arg, "csv") != 0 && strcmp(arg, "json") != 0)
            argp_error(state, "--format=%s: csv or json", arg);
        a->format = arg;
        return 0;
    case OPT_RUN:
        if (parse_int64(&a->filter.run_id, arg) || a->filter.run_id < 1)
            argp_error(state, "--run=%s: needs the number that `plumb report --list` shows", arg);
        return 0;
    case OPT_KERNEL:
        a->filter.kernel = arg;
        return 0;
    case 'o':
        a->output = arg;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&store_option_argp, 0, NULL, 0}, {0}};
static const struct argp argp = {
    .options = table,
    .parser = parse,
    .doc = "Writes what the store has in a form other programs read.\v"
           "csv   a table, one row per measurement\n"
           "json  one object per line, complete with samples; `plumb import` reads it back\n"
           "Both are described in baselines/README.md.",
    .children = children,
};

static bool wants_json(const struct arguments *a)
{
    if (a->format)
        return strcmp(a->format, "json") == 0;
    const char *dot = a->output ? strrchr(a->output, '.') : NULL;
    return dot && strncmp(dot, ".json", 5) == 0;
}

static int export(const struct arguments *a, struct error *err)
{
    struct context context = {0};
    struct output_file out;
    int status = store_option_open(&context, &a->options, STORE_READ, err);
    if (status == 0)
        status = output_file_open(&out, a->output, err);
    if (status == 0) {
        status = (wants_json(a) ? store_export_json : store_export_csv)(context.store, &a->filter,
                                                                        out.file, err);
        status = output_file_close(&out, status, err);
    }
    context_close(&context);
    return status;
}

static int run_export(int argc, char **argv)
{
    struct arguments a = {0};
    struct error err;
    int code = options_parse(&argp, argc, argv, &a);
    if (code)
        return code - 1;
    return export(&a, &err) ? fail(&err) : CONCLUDE_OK;
}

const struct command command_export = {
    .name = "export",
    .summary = "Write the store's contents as CSV or JSON",
    .run = run_export,
};
