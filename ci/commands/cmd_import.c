// SPDX-License-Identifier: Apache-2.0
//
// plumb import: measurements of other origin into the store.
#include "ci/command.h"
#include "ci/settings/options.h"
#include "ci/settings/store_option.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct arguments {
    struct options options;
    const char *format, *commit;
    char **files;
    int file_count;
};

enum { OPT_FORMAT = 2000, OPT_COMMIT };

static const struct argp_option table[] = {
    {"format", OPT_FORMAT, "NAME", 0, "csv, json or nvbench [csv or json by the file's name]", 1},
    {"commit", OPT_COMMIT, "REV", 0, "nvbench: the commit that was measured [HEAD]", 1},
    {0},
};

static const struct {
    const char *name;
    enum import_format format;
} formats[] = {{"csv", IMPORT_CSV}, {"json", IMPORT_JSON}, {"nvbench", IMPORT_NVBENCH}};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &a->options;
        return 0;
    case OPT_FORMAT:
        a->format = arg;
        return 0;
    case OPT_COMMIT:
        a->commit = arg;
        return 0;
    case ARGP_KEY_ARGS:
        a->files = state->argv + state->next;
        a->file_count = state->argc - state->next;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "name the files to import, or - for standard input");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&store_option_argp, 0, NULL, 0}, {0}};
static const struct argp argp = {
    .options = table,
    .parser = parse,
    .args_doc = "FILE...",
    .doc = "Reads measurements of other origin into the store. Importing a file again adds "
           "nothing.\v"
           "csv      columns commit, kernel, problem, time_ns, and more\n"
           "json     what `plumb export --format=json` writes\n"
           "nvbench  what a benchmark using nvbench writes with --json\n"
           "All are described in baselines/README.md.",
    .children = children,
};

static int choose_format(enum import_format *out, const struct arguments *a, const char *file,
                         struct error *err)
{
    const char *dot = strrchr(file, '.');
    const char *name = a->format ? a->format : dot ? dot + 1 : "";
    for (size_t i = 0; i < ARRAY_COUNT(formats); i++) {
        if (strcmp(name, formats[i].name) == 0 ||
            (!a->format && strcmp(name, "jsonl") == 0 && formats[i].format == IMPORT_JSON)) {
            *out = formats[i].format;
            return 0;
        }
    }
    return error_set(err, "%s: say what it is with --format=csv, json or nvbench", file);
}

// The commit an nvbench file measured: nvbench does not know it.
static int find_commit(struct commit *out, struct context *context, const struct arguments *a,
                       struct error *err)
{
    const char *where = a->options.repository ? a->options.repository : ".";
    if (!context->repository && repository_open(&context->repository, where, err))
        return -1;
    return repository_commit(out, context->repository, a->commit ? a->commit : "HEAD",
                             &context->arena, err);
}

static int import_file(struct context *context, const struct arguments *a, const char *path,
                       struct error *err)
{
    struct commit commit = {.summary = "", .author = ""};
    struct import_source source = {.name = path, .commit = &commit};
    struct store_counts added;
    if (choose_format(&source.format, a, path, err) ||
        (source.format == IMPORT_NVBENCH && find_commit(&commit, context, a, err)))
        return -1;
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "r");
    if (!file)
        return error_set(err, "%s: %s", path, strerror(errno));
    int status = store_import(context->store, file, &source, &added, err);
    if (file != stdin)
        fclose(file);
    if (status == 0)
        printf("%s: %" PRId64 " %s, %" PRId64 " %s added\n", path, added.runs,
               plural((uint64_t)added.runs, "run", "runs"), added.measurements,
               plural((uint64_t)added.measurements, "result", "results"));
    return status;
}

static int import(const struct arguments *a, struct error *err)
{
    struct context context = {0};
    int status = store_option_open(&context, &a->options, STORE_WRITE, err);
    for (int i = 0; status == 0 && i < a->file_count; i++)
        status = import_file(&context, a, a->files[i], err);
    context_close(&context);
    return status;
}

static int run_import(int argc, char **argv)
{
    struct arguments a = {0};
    struct error err;
    int code = options_parse(&argp, argc, argv, &a);
    if (code)
        return code - 1;
    return import(&a, &err) ? fail(&err) : CONCLUDE_OK;
}

const struct command command_import = {
    .name = "import",
    .summary = "Read measurements from CSV, JSON or nvbench's JSON",
    .run = run_import,
};
