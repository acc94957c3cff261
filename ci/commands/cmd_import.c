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
    const char *format, *commit, *kernel, *exclude, *device;
    struct problem problem;
    bool problem_given, strict;
};

#define FORMATS                                                                                    \
    "csv, links, json, nvbench, google, pytest, cutlass, ncu, hyperfine, bmf, ghbench, asv or "    \
    "triton"

static int take_format(void *arguments, const char *text)
{
    ((struct arguments *)arguments)->format = text;
    return store_import_knows(text) ? 0 : -1;
}

static int take_problem(void *arguments, const char *text)
{
    struct arguments *a = arguments;
    struct error ignored;
    a->problem_given = true;
    return problem_parse(&a->problem, text, &ignored);
}

static const struct command_option own_options[] = {
    OPTION_OWN("format", 0, "NAME", FORMATS " [by the file's content]", take_format, FORMATS),
    OPTION_TEXT("commit", 0, "REV", "Of other tools: what was measured [the file's word, or HEAD]",
                commit),
    OPTION_OWN("problem", 0, "PROBLEM", "Of other tools: of benchmarks that name no problem",
               take_problem, "MxNxK:TYPE"),
    OPTION_TEXT("kernel", 0, "PATTERN", "Of other tools: only these kernels", kernel),
    OPTION_TEXT("exclude", 0, "PATTERN", "Of other tools: but not these kernels", exclude),
    OPTION_FLAG("strict", 0,
                "Refuse a file with a row that cannot be read, instead of leaving it out", strict),
    OPTION_TEXT("device", 0, "UUID", "Of other tools: what was measured on [as the file says]",
                device),
    {0},
};

static int check(void *arguments, struct error *err)
{
    const struct arguments *a = arguments;
    return a->options.words.count
               ? 0
               : error_set(err, "name the files to import, or - for standard input");
}

struct asked {
    struct context *context;
    const struct arguments *arguments;
};

// The commit that another tool measured: few of them know it.
static int find_commit(struct commit *out, const char *named, void *context, struct error *err)
{
    const struct asked *asked = context;
    const struct arguments *a = asked->arguments;
    const char *where = a->options.repository ? a->options.repository : ".";
    struct context *c = asked->context;
    if (!c->repository && repository_open(&c->repository, where, err))
        return -1;
    if (!a->commit && named && repository_commit(out, c->repository, named, &c->arena, err))
        return error_set(err,
                         "the file says it measured %.64s, which is not in %.200s; say "
                         "--commit=REV",
                         named, where);
    if (!a->commit && named)
        return 0;
    return repository_commit(out, c->repository, a->commit ? a->commit : "HEAD", &c->arena, err);
}

// What was left out goes where warnings go; the rest behind what was added.
static void tell_rows(const char *path, const struct import_report *r, const char *problem)
{
    for (char *line = r->said.bytes, *next; line && *line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        fprintf(stderr, "plumb: left out: %s\n", line);
    }
    if (!r->rows)
        return;
    printf("%s: %zu %s read: %zu %s, %zu without a time", path, r->rows,
           plural(r->rows, "row", "rows"), r->samples, plural(r->samples, "sample", "samples"),
           r->failures);
    if (r->unwanted)
        printf(", %zu not wanted", r->unwanted);
    printf(", %zu left out", r->left);
    if (r->aggregates)
        printf("; %zu %s of them not read", r->aggregates,
               plural(r->aggregates, "aggregate", "aggregates"));
    puts("");
    for (char *line = r->where.bytes, *next; line && *line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        printf("%s: to %s", path, line);
        if (r->told)
            printf(", problem %s as told for %zu", problem, r->told);
        puts("");
    }
}

static void tell(const char *path, const struct store_counts *added)
{
    printf("%s: %" PRId64 " %s, %" PRId64 " %s", path, added->runs,
           plural((uint64_t)added->runs, "run", "runs"), added->measurements,
           plural((uint64_t)added->measurements, "result", "results"));
    if (added->links)
        printf(", %" PRId64 " %s", added->links, plural((uint64_t)added->links, "link", "links"));
    if (added->events)
        printf(", %" PRId64 " %s", added->events,
               plural((uint64_t)added->events, "event", "events"));
    puts(" added");
}

static int import_file(struct context *context, const struct arguments *a, const char *path,
                       struct error *err)
{
    struct asked asked = {context, a};
    struct import_source source = {.name = path,
                                   .find_commit = find_commit,
                                   .context = &asked,
                                   .format = a->format,
                                   .problem = a->problem_given ? &a->problem : NULL,
                                   .kernel = a->kernel,
                                   .exclude = a->exclude,
                                   .strict = a->strict,
                                   .device = a->device};
    struct store_counts added;
    struct import_report report = {0};
    char problem[PROBLEM_TEXT] = "";
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "r");
    if (!file)
        return error_set(err, "%s: %s", path, strerror(errno));
    int status = store_import(context->store, file, &source, &added, &report, err);
    if (file != stdin)
        fclose(file);
    if (status == 0)
        tell(path, &added);
    if (a->problem_given)
        problem_format(problem, &a->problem);
    if (status == 0)
        tell_rows(path, &report, problem);
    import_report_free(&report);
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
    .summary = "Read measurements from tables and other tools' files",
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
           "links    what `plumb export --format=links` writes\n"
           "json     what `plumb export --format=json` writes\n"
           "nvbench  what a benchmark using nvbench writes with --json\n"
           "google   Google Benchmark's JSON, --benchmark_out\n"
           "pytest   pytest-benchmark's JSON, --benchmark-json\n"
           "cutlass  the CUTLASS profiler's CSV, --output\n"
           "ncu      what `ncu --csv` prints; needs --problem\n"
           "hyperfine  hyperfine's JSON, --export-json\n"
           "bmf      Bencher Metric Format: the measure latency\n"
           "ghbench  github-action-benchmark's data.js: each commit of its history\n"
           "asv      a result file of airspeed velocity; name all for the whole history\n"
           "triton   the CSV of triton.testing.perf_report, of columns that say their unit\n"
           "All are described in baselines/README.md.",
};
