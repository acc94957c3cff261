// SPDX-License-Identifier: Apache-2.0
//
// plumb import: measurements of other origin into the store.
#include "ci/command.h"
#include "ci/settings/store_option.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct arguments {
    struct options options;
    const char *format, *commit;
};

static const struct {
    const char *name;
    enum import_format format;
} formats[] = {{"csv", IMPORT_CSV}, {"json", IMPORT_JSON}, {"nvbench", IMPORT_NVBENCH}};

static const struct command_option own_options[] = {
    OPTION_TEXT("format", 0, "NAME", "csv, json or nvbench [csv or json by the file's name]",
                format),
    OPTION_TEXT("commit", 0, "REV", "nvbench: the commit that was measured [HEAD]", commit),
    {0},
};

static int check(void *arguments, struct error *err)
{
    const struct arguments *a = arguments;
    return a->options.words.count
               ? 0
               : error_set(err, "name the files to import, or - for standard input");
}

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

static int run(enum conclusion *out, struct context *context, void *arguments, struct error *err)
{
    const struct arguments *a = arguments;
    (void)out;
    int status = store_option_open(context, &a->options, STORE_WRITE, err);
    for (size_t i = 0; status == 0 && i < a->options.words.count; i++)
        status = import_file(context, a, a->options.words.items[i], err);
    return status;
}

const struct command command_import = {
    .name = "import",
    .summary = "Read measurements from CSV, JSON or nvbench's JSON",
    .words = "FILE...",
    .words_most = WORDS_ANY,
    .shared = SHARED_STORE,
    .options = own_options,
    .check = check,
    .size = sizeof(struct arguments),
    .run = run,
    .doc = "Reads measurements of other origin into the store. Importing a file again adds "
           "nothing.\v"
           "csv      columns commit, kernel, problem, time_ns, and more\n"
           "json     what `plumb export --format=json` writes\n"
           "nvbench  what a benchmark using nvbench writes with --json\n"
           "All are described in baselines/README.md.",
};
