// SPDX-License-Identifier: Apache-2.0
//
// Reads Google Benchmark's JSON (--benchmark_format=json, --benchmark_out):
// "context" and "benchmarks".
//   kernel   the part of run_name before the first '/', then the arguments that are no problem
//   problem  arguments (/512/512/512, /M:512), the label, or counters M, N and K
//   time     real_time in time_unit. Repetitions are samples. If a benchmark has only aggregates,
//            its median is read, or else its mean. Before 2019 there was no run_type, and an
//            aggregate is recognised by its name
//   device   the host, by its number of processors, because a runner has another name each time
// An error is a crash with its message. Words about the way of measuring (real_time, iterations:10)
// are left out of the name. Fields: github.com/google/benchmark, json_reporter.cc and its user
// guide; tests/data/import/google.json was written by it.
#include "baselines/exchange/foreign.h"

#include <stdlib.h>
#include <string.h>

// Reads a name such as "Gemm<float>/512/512/512/threads:2/real_time": the first part, then
// arguments.
static int read_name(struct foreign *f, const char *name, struct arena *arena)
{
    static const char *const how[] = {"iterations", "repeats",     "min_time",    "min_warmup_time",
                                      "real_time",  "manual_time", "process_time"};
    char *text = arena_strdup(arena, name), *slash = strchr(text, '/');
    if (slash)
        *slash = '\0';
    foreign_name(f, text);
    while (slash) {
        char *part = slash + 1, *colon;
        bool skip = false;
        struct problem problem;
        struct error ignored;
        slash = strchr(part, '/');
        if (slash)
            *slash = '\0';
        colon = problem_parse(&problem, part, &ignored) ? strchr(part, ':') : NULL;
        if (colon)
            *colon = '\0';
        for (size_t i = 0; i < ARRAY_COUNT(how); i++)
            skip = skip || strcmp(part, how[i]) == 0;
        if (!skip && foreign_argument(f, colon ? part : NULL, colon ? colon + 1 : part))
            return -1;
    }
    return 0;
}

static int read_more(struct foreign *f, const struct node *benchmark)
{
    struct problem problem;
    struct error ignored;
    const char *label = node_text(benchmark, "label", "");
    if (problem_parse(&problem, label, &ignored) == 0 && foreign_argument(f, "problem", label))
        return -1;
    // Counters are a problem if all three are there; one alone is a user's own figure.
    static const char *const sizes[][2] = {{"M", "m"}, {"N", "n"}, {"K", "k"}};
    const struct node *found[ARRAY_COUNT(sizes)];
    for (size_t i = 0; i < ARRAY_COUNT(sizes); i++) {
        found[i] = node_member(benchmark, sizes[i][0]);
        found[i] = found[i] ? found[i] : node_member(benchmark, sizes[i][1]);
        if (!found[i] || found[i]->type != NODE_NUMBER)
            return 0;
    }
    for (size_t i = 0; i < ARRAY_COUNT(sizes); i++) {
        if (foreign_argument(f, sizes[i][1], found[i]->text))
            return -1;
    }
    return 0;
}

// A benchmark of the file; they are sorted by the name of their run.
struct benchmark_entry {
    const struct node *node;
    const char *run;       // the name that repetitions and their aggregates share
    const char *aggregate; // which aggregate it is; NULL: it is a repetition
    size_t order;
};

static int read_benchmark(struct import *in, const struct benchmark_entry *entry, size_t device,
                          struct error *err)
{
    const struct node *benchmark = entry->node;
    struct foreign f = {.name = entry->run,
                        .device = device,
                        .state = MEASURED_OK,
                        .regime = "google benchmark, wall clock"};
    const double unit_ns = foreign_unit_ns(node_text(benchmark, "time_unit", "ns"));
    const double time_ns = node_real(benchmark, "real_time", 0) * unit_ns;
    foreign_at(in, benchmark);
    if (benchmark->type != NODE_OBJECT || read_name(&f, f.name, &in->run.arena) ||
        read_more(&f, benchmark))
        return foreign_leave(in, &f, 1, "M, N, K or a type that is none", err);
    if (node_bool(benchmark, "skipped", false)) {
        f.state = MEASURED_UNSUPPORTED;
        f.detail = node_text(benchmark, "skip_message", "skipped");
    } else if (node_bool(benchmark, "error_occurred", false)) {
        f.state = MEASURED_CRASHED;
        f.detail = node_text(benchmark, "error_message", "an error");
    } else if (unit_ns == 0) {
        return foreign_leave(in, &f, 1, "time_unit is ns, us, ms or s", err);
    }
    return foreign_add(in, &f, &time_ns, f.state == MEASURED_OK, err);
}

// The ending of an aggregate's name that says which aggregate it is; NULL: it is none.
static const char *aggregate_ending(const char *name)
{
    static const char *const endings[] = {"_mean", "_median", "_stddev", "_cv", "_min", "_max"};
    const size_t length = strlen(name);
    for (size_t i = 0; i < ARRAY_COUNT(endings); i++) {
        const size_t ending = strlen(endings[i]);
        if (length > ending && strcmp(name + length - ending, endings[i]) == 0)
            return endings[i];
    }
    return NULL;
}

static int by_run(const void *left, const void *right)
{
    const struct benchmark_entry *a = left, *b = right;
    const int order = strcmp(a->run, b->run);
    return order ? order : (a->order > b->order) - (a->order < b->order);
}

static bool has_run(const struct benchmark_entry *entries, size_t count, const char *run)
{
    const struct benchmark_entry wanted = {.run = run, .order = SIZE_MAX};
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (by_run(&entries[middle], &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && strcmp(entries[low - 1].run, run) == 0;
}

// Decides whether an entry is an aggregate if there is no run_type. A name that looks like an
// aggregate's is one if the file has the benchmark itself, or its standard deviation.
static void guess_aggregate(struct benchmark_entry *e, const struct benchmark_entry *sorted,
                            size_t count, struct arena *arena)
{
    const char *ending = aggregate_ending(e->run);
    if (!ending || node_member(e->node, "run_type"))
        return;
    const char *run = arena_strndup(arena, e->run, strlen(e->run) - strlen(ending));
    const char *spread = arena_printf(arena, "%s_stddev", run);
    if (!has_run(sorted, count, run) && !has_run(sorted, count, spread))
        return;
    e->run = run;
    e->aggregate = ending + 1;
}

static struct benchmark_entry *list_entries(const struct node *list, struct arena *arena)
{
    struct benchmark_entry *entries = arena_alloc(arena, (list->count + 1) * sizeof(*entries)),
                           *sorted;
    size_t i = 0;
    for (const struct node *at = list->children; at; at = at->next, i++) {
        const bool aggregate = strcmp(node_text(at, "run_type", ""), "aggregate") == 0;
        entries[i] = (struct benchmark_entry){
            .node = at,
            .run = node_text(at, "run_name", node_text(at, "name", "")),
            .aggregate = aggregate ? node_text(at, "aggregate_name", "unnamed") : NULL,
            .order = i};
    }
    sorted = arena_copy(arena, entries, list->count * sizeof(*entries));
    qsort(sorted, list->count, sizeof(*sorted), by_run);
    for (i = 0; i < list->count; i++)
        guess_aggregate(&entries[i], sorted, list->count, arena);
    qsort(entries, list->count, sizeof(*entries), by_run);
    return entries;
}

// Whether the entry describes how a family of benchmarks scales; it is then no benchmark's time.
static bool is_fit(const struct benchmark_entry *e)
{
    return strcmp(e->aggregate, "BigO") == 0 || strcmp(e->aggregate, "RMS") == 0;
}

// The aggregate that is used for the benchmark: the median, or else the mean. NULL: there is
// neither.
static const struct benchmark_entry *best_aggregate(const struct benchmark_entry *entries,
                                                    size_t count)
{
    static const char *const names[] = {"median", "mean"};
    for (size_t n = 0; n < ARRAY_COUNT(names); n++) {
        for (size_t i = 0; i < count; i++) {
            if (strcmp(entries[i].aggregate, names[n]) == 0)
                return &entries[i];
        }
    }
    return NULL;
}

static int leave_aggregates(struct import *in, const struct benchmark_entry *entries, size_t count,
                            size_t device, struct error *err)
{
    struct foreign f = {.name = entries->run, .device = device};
    bool fits = true;
    foreign_at(in, entries->node);
    for (size_t i = 0; i < count; i++)
        fits &= is_fit(&entries[i]);
    in->report.aggregates += fits ? count : count - 1;
    if (fits)
        return 0;
    read_name(&f, f.name, &in->run.arena);
    return foreign_leave(in, &f, 1, "has aggregates alone, and none is a median or a mean", err);
}

// Reads one benchmark: its repetitions, or the median of their aggregates.
static int read_run(struct import *in, const struct benchmark_entry *entries, size_t count,
                    size_t device, struct error *err)
{
    bool repeated = false;
    for (size_t i = 0; i < count; i++)
        repeated |= !entries[i].aggregate;
    const struct benchmark_entry *best = repeated ? NULL : best_aggregate(entries, count);
    if (!repeated && !best)
        return leave_aggregates(in, entries, count, device, err);
    for (size_t i = 0; i < count; i++) {
        const struct benchmark_entry *e = &entries[i];
        const bool counts = repeated ? !e->aggregate : e == best;
        if (counts && read_benchmark(in, e, device, err))
            return -1;
        in->report.aggregates += !counts;
    }
    return 0;
}

static bool is_google(const struct import_file *file)
{
    return node_member(file->json, "context") && node_member(file->json, "benchmarks");
}

static int import_google(struct import *in, const struct import_file *file, struct error *err)
{
    const struct node *list = node_member(file->json, "benchmarks");
    const struct node *context = node_member(file->json, "context");
    const char *host = node_text(context, "host_name", "unknown");
    if (!context || !list || list->type != NODE_ARRAY)
        return error_set(err, "%.200s: not Google Benchmark's JSON: no context or benchmarks",
                         in->name);
    if (foreign_begin(in, "google-benchmark", NULL, file, err))
        return -1;
    struct arena *arena = &in->run.arena;
    const int64_t cpus = node_int(context, "num_cpus", 0);
    const char *uuid = cpus > 0 ? arena_printf(arena, "google-benchmark:%lld-cpus", (long long)cpus)
                                : "google-benchmark";
    size_t device = foreign_device(in, "host", uuid, host);
    struct benchmark_entry *entries = list_entries(list, arena);
    for (size_t from = 0, to; from < list->count; from = to) {
        for (to = from + 1; to < list->count && strcmp(entries[to].run, entries[from].run) == 0;)
            to++;
        if (read_run(in, &entries[from], to - from, device, err))
            return -1;
    }
    return foreign_end(in, err);
}

const struct importer importer_google = {"google", is_google, import_google, NULL};
