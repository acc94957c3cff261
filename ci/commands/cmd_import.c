// SPDX-License-Identifier: Apache-2.0
//
// plumb import: adds measurements of other origin to the store.
#include "ci/command.h"
#include "ci/settings/context.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct arguments {
    struct options options;
    const char *format, *commit, *kernel, *exclude, *control, *device, *unit;
    struct problem problem;
    bool problem_given, strict;
    bool own; // the format is one of plumb's own
};

#define FORMATS                                                                                    \
    "csv, links, json, nvbench, google, pytest, cutlass, ncu, nsys, kineto, hyperfine, bmf, "      \
    "ghbench, asv or triton"

static int take_format(void *arguments, const char *text)
{
    struct arguments *a = arguments;
    a->format = text;
    return store_import_knows(text, &a->own) ? 0 : -1;
}

// Parses a problem; ":bf16" gives only the type.
static int take_problem(void *arguments, const char *text)
{
    struct arguments *a = arguments;
    struct error ignored;
    char *whole = xprintf("%s%s", text[0] == ':' ? "1x1x1" : "", text);
    const int status = problem_parse(&a->problem, whole, &ignored);
    a->problem_given = true;
    if (text[0] == ':')
        a->problem.m = a->problem.n = a->problem.k = 0;
    free(whole);
    return status;
}

static const struct command_option own_options[] = {
    OPTION_OWN("format", 0, "NAME", FORMATS " [by the file's content]", take_format, FORMATS),
    OPTION_TEXT("commit", 0, "REV", "Of other tools: what was measured [the file's word, or HEAD]",
                commit),
    OPTION_OWN("problem", 0, "PROBLEM",
               "Of other tools: of benchmarks that name no problem; its type, or :TYPE, of those "
               "that name no type",
               take_problem, "MxNxK:TYPE, NAME=NUMBER,...:TYPE or :TYPE"),
    OPTION_TEXT("kernel", 0, "PATTERN", "Of other tools: only these kernels", kernel),
    OPTION_TEXT("exclude", 0, "PATTERN", "Of other tools: but not these kernels", exclude),
    OPTION_TEXT("control", 0, "PATTERN",
                "These kernels never change: what moves them is the machine, and is divided out",
                control),
    OPTION_FLAG("strict", 0,
                "Refuse a file with a row that cannot be read, instead of leaving it out", strict),
    OPTION_TEXT("device", 0, "UUID", "Of other tools: what was measured on [as the file says]",
                device),
    OPTION_TEXT("unit", 0, "UNIT", "Of triton: of columns that do not say theirs, ms or TFLOPS",
                unit),
    {0},
};

static int check(void *arguments, struct error *err)
{
    const struct arguments *a = arguments;
    return a->options.words.count
               ? 0
               : error_set(err, "name the files or folders to import, or - for standard input");
}

struct asked {
    struct context *context;
    const struct arguments *arguments;
    const char *path;
    size_t folder; // if a folder was named, the length of its part of the path; 0: the file itself
                   // was named
};

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

// Finds the commit of a file in a folder with one file for each commit, such as
// results/0123abcd/gemm.json. The last word of its path that is a commit's id counts.
static int commit_of_path(struct commit *out, const struct asked *asked, struct error *err)
{
    struct context *c = asked->context;
    const char *from = asked->path + asked->folder, *at = from + strlen(from);
    struct error ignored;
    while (at > from) {
        char id[OBJECT_ID_TEXT];
        const char *end = at;
        while (at > from && is_hex(at[-1]))
            at--;
        const size_t length = (size_t)(end - at);
        const bool word = (at == from || !isalnum((unsigned char)at[-1])) &&
                          !isalnum((unsigned char)*end) && length >= 7;
        if (word && text_copy(id, sizeof(id), arena_strndup(&c->arena, at, length)) &&
            repository_commit(out, c->repository, id, &c->arena, &ignored) == 0)
            return 0;
        at -= at > from;
    }
    return error_set(err,
                     "%.200s: it does not say which commit it measured, and neither does its path; "
                     "name it so, gemm-0123abcd.json, or say --commit",
                     asked->path);
}

// Finds the commit that another tool measured; few tools record it.
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
    if (!a->commit && asked->folder)
        return commit_of_path(out, asked, err);
    return repository_commit(out, c->repository, a->commit ? a->commit : "HEAD", &c->arena, err);
}

// Prints which rows were left out to standard error, and after what was added the other counts.
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
    if (r->means)
        printf(", %zu by its mean, for its samples are not beside the file", r->means);
    if (r->unwanted)
        printf(", %zu not wanted", r->unwanted);
    printf(", %zu left out", r->left);
    if (r->aggregates)
        printf("; %zu %s beside them not read", r->aggregates,
               plural(r->aggregates, "aggregate", "aggregates"));
    puts("");
    for (char *line = r->where.bytes, *next; line && *line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        printf("%s: to %s", path, line);
        if (r->told)
            printf(", problem %s as told for %zu", problem, r->told);
        if (r->typed)
            printf(", type %s as told for %zu", strchr(problem, ':') + 1, r->typed);
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

static int import_file(struct asked *asked, FILE *file, struct error *err)
{
    const struct arguments *a = asked->arguments;
    const char *path = asked->path, *slash = strrchr(path, '/');
    char *beside = slash ? xprintf("%.*s", (int)(slash - path) + 1, path) : xstrdup(".");
    struct import_source source = {.name = path,
                                   .find_commit = find_commit,
                                   .commit_told = a->commit != NULL,
                                   .context = asked,
                                   .format = a->format,
                                   .problem = a->problem_given ? &a->problem : NULL,
                                   .kernel = a->kernel,
                                   .exclude = a->exclude,
                                   .control = a->control,
                                   .strict = a->strict,
                                   .device = a->device,
                                   .unit = a->unit,
                                   .beside = file == stdin ? NULL : beside};
    struct store_counts added;
    struct import_report report = {0};
    char problem[PROBLEM_TEXT] = "";
    const int status = store_import(asked->context->store, file, &source, &added, &report, err);
    if (status == 0)
        tell(path, &added);
    if (a->problem_given)
        problem_format(problem, &a->problem);
    if (status == 0)
        tell_rows(path, &report, problem);
    import_report_free(&report);
    free(beside);
    return status;
}

// ---- folders ----

// Selects and sorts entries by name, so that two machines read them in the same order. Hidden files
// and links are left out, and so is a folder of samples that another file refers to.
static int is_entry(const struct dirent *entry)
{
    const char *name = entry->d_name;
    const size_t length = strlen(name);
    return name[0] != '.' && !(length > 4 && strcmp(name + length - 4, "-bin") == 0);
}

struct folder_counts {
    size_t read, left;
};

static int import_folder(struct folder_counts *counts, struct asked *asked, int depth,
                         struct error *err);

// Imports one of many files. If it cannot be read, a message says so, and the others are still
// imported.
static int import_entry(struct folder_counts *counts, struct asked *asked, int depth,
                        struct error *err)
{
    struct stat info;
    const int file = open(asked->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file >= 0 && fstat(file, &info) == 0 && S_ISDIR(info.st_mode)) {
        close(file);
        return import_folder(counts, asked, depth + 1, err);
    }
    FILE *stream = file >= 0 && S_ISREG(info.st_mode) ? fdopen(file, "r") : NULL;
    int status = 0;
    if (!stream) {
        if (file >= 0)
            close(file);
        status = error_set(err, "%s: no plain file", asked->path);
    } else {
        status = import_file(asked, stream, err);
        fclose(stream);
    }
    if (status == 0) {
        counts->read++;
        return 0;
    }
    counts->left++;
    fprintf(stderr, "plumb: not read: %s\n", err->text);
    return asked->arguments->strict ? -1 : 0;
}

static int import_folder(struct folder_counts *counts, struct asked *asked, int depth,
                         struct error *err)
{
    enum { DEPTH_MOST = 16 };
    struct dirent **entries = NULL;
    const char *path = asked->path;
    int status = 0;
    const int count = depth < DEPTH_MOST ? scandir(path, &entries, is_entry, alphasort) : -1;
    if (count < 0)
        return error_set(err, "%s: %s", path,
                         depth < DEPTH_MOST ? strerror(errno) : "nested more than 16 deep");
    for (int i = 0; i < count; i++) {
        if (status == 0) {
            char *entry = xprintf("%s/%s", path, entries[i]->d_name);
            asked->path = entry;
            status = import_entry(counts, asked, depth, err);
            free(entry);
        }
        free(entries[i]);
    }
    free(entries);
    asked->path = path;
    return status;
}

static int import_path(struct context *context, const struct arguments *a, const char *path,
                       struct error *err)
{
    struct asked asked = {context, a, path, 0};
    struct stat info;
    if (strcmp(path, "-") != 0 && stat(path, &info) == 0 && S_ISDIR(info.st_mode)) {
        struct folder_counts counts = {0};
        asked.folder = strlen(path);
        if (import_folder(&counts, &asked, 0, err))
            return -1;
        printf("%s: %zu %s read, %zu not\n", path, counts.read,
               plural(counts.read, "file", "files"), counts.left);
        return counts.read ? 0 : error_set(err, "%s: no file in it could be read", path);
    }
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "r");
    if (!file)
        return error_set(err, "%s: %s", path, strerror(errno));
    const int status = import_file(&asked, file, err);
    if (file != stdin)
        fclose(file);
    return status;
}

static int run(enum conclusion *out, struct context *context, void *arguments, struct error *err)
{
    const struct arguments *a = arguments;
    (void)out;
    int status = store_option_open(context, &a->options, STORE_WRITE, err);
    for (size_t i = 0; status == 0 && i < a->options.words.count; i++)
        status = import_path(context, a, a->options.words.items[i], err);
    return status;
}

static bool takes_others(const void *arguments)
{
    const struct arguments *a = arguments;
    return !a->own;
}

static bool takes_triton(const void *arguments)
{
    const struct arguments *a = arguments;
    return !a->format || strcmp(a->format, "triton") == 0;
}

static const struct option_use uses[] = {
    {"commit problem kernel exclude device", takes_others, "files of other tools"},
    {"unit", takes_triton, "tables of triton"},
    {0},
};

const struct command command_import = {
    .name = "import",
    .summary = "Read measurements from tables and other tools' files",
    .words = "FILE|FOLDER...",
    .words_most = WORDS_ANY,
    .shared = SHARED_STORE,
    .options = own_options,
    .check = check,
    .uses = uses,
    .size = sizeof(struct arguments),
    .run = run,
    .doc =
        "Reads measurements of other origin into the store. Importing a file again adds "
        "nothing. Of a folder all files are read, each of the commit that it or its path names."
        "\v"
        "csv      columns commit, kernel, problem, time_ns, and more\n"
        "links    what `plumb export --format=links` writes\n"
        "json     what `plumb export --format=json` writes\n"
        "nvbench  what a benchmark using nvbench writes with --json\n"
        "google   Google Benchmark's JSON, --benchmark_out\n"
        "pytest   pytest-benchmark's JSON, --benchmark-json\n"
        "cutlass  the CUTLASS profiler's CSV, --output\n"
        "ncu      what `ncu --csv` prints; needs --problem\n"
        "nsys     nsys stats' cuda_gpu_kern_sum or cuda_gpu_trace, or its SQLite; needs --problem\n"
        "kineto   torch.profiler's trace: its kernels; needs --problem\n"
        "hyperfine  hyperfine's JSON, --export-json\n"
        "bmf      Bencher Metric Format: the measure latency\n"
        "ghbench  github-action-benchmark's data.js: each commit of its history\n"
        "asv      a result file of airspeed velocity; name all for the whole history\n"
        "triton   the CSV of triton.testing.perf_report, of columns that say their unit, or "
        "--unit\n"
        "All are described in baselines/README.md.",
};
