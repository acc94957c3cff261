// SPDX-License-Identifier: Apache-2.0
//
// Google Benchmark's JSON (--benchmark_format=json, --benchmark_out): "context" and "benchmarks".
//   kernel   what stands before the first '/' of run_name, then the arguments that are no problem
//   problem  arguments (/512/512/512, /M:512), the label, or counters M, N and K
//   time     real_time in time_unit; repetitions are samples; when only aggregates were written,
//            the median
//   device   the host, by host_name
// An error is a crash with its message; what says how it was measured (real_time, iterations:10)
// is left out of the name. Fields: github.com/google/benchmark, json_reporter.cc and its user
// guide; tests/data/import/google.json is one it wrote.
#include "baselines/exchange/foreign.h"

#include <string.h>

// "Gemm<float>/512/512/512/threads:2/real_time": the first part, then arguments.
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
    for (const struct node *at = benchmark->children; at; at = at->next) {
        if (at->type == NODE_NUMBER && foreign_is_axis(at->name) &&
            foreign_argument(f, at->name, at->text))
            return -1;
    }
    return 0;
}

static int read_benchmark(struct import *in, const struct node *benchmark, size_t device,
                          struct error *err)
{
    const char *whole = node_text(benchmark, "name", "");
    struct foreign f = {.name = node_text(benchmark, "run_name", whole),
                        .device = device,
                        .state = MEASURED_OK,
                        .regime = "google benchmark, wall clock"};
    const double unit_ns = foreign_unit_ns(node_text(benchmark, "time_unit", "ns"));
    const double time_ns = node_real(benchmark, "real_time", 0) * unit_ns;
    if (benchmark->type != NODE_OBJECT || read_name(&f, f.name, &in->run.arena) ||
        read_more(&f, benchmark))
        return error_set(err, "%.200s: benchmark '%.100s': M, N, K or a type that is none",
                         in->name, f.name);
    if (node_bool(benchmark, "skipped", false)) {
        f.state = MEASURED_UNSUPPORTED;
        f.detail = node_text(benchmark, "skip_message", "skipped");
    } else if (node_bool(benchmark, "error_occurred", false)) {
        f.state = MEASURED_CRASHED;
        f.detail = node_text(benchmark, "error_message", "an error");
    } else if (unit_ns == 0) {
        return error_set(err, "%.200s: benchmark '%.100s': time_unit is ns, us, ms or s", in->name,
                         f.name);
    }
    return foreign_add(in, &f, &time_ns, f.state == MEASURED_OK, err);
}

static bool is_aggregate(const struct node *benchmark)
{
    return strcmp(node_text(benchmark, "run_type", ""), "aggregate") == 0;
}

// Aggregates are read only where the repetitions themselves were not written.
static bool counts(const struct node *benchmark, bool aggregates)
{
    return aggregates ? strcmp(node_text(benchmark, "aggregate_name", ""), "median") == 0
                      : !is_aggregate(benchmark);
}

int import_google(struct import *in, const struct node *file, const char *text, size_t length,
                  struct error *err)
{
    const struct node *list = node_member(file, "benchmarks");
    const char *host = node_text(node_member(file, "context"), "host_name", "unknown");
    if (!node_member(file, "context") || !list || list->type != NODE_ARRAY)
        return error_set(err, "%.200s: not Google Benchmark's JSON: no context or benchmarks",
                         in->name);
    if (foreign_begin(in, "google-benchmark", NULL, text, length, err))
        return -1;
    size_t device =
        foreign_device(in, "host", arena_printf(&in->run.arena, "google-benchmark:%s", host), host);
    bool aggregates = true;
    for (const struct node *at = list->children; at; at = at->next)
        aggregates = aggregates && is_aggregate(at);
    for (const struct node *at = list->children; at; at = at->next) {
        if (counts(at, aggregates) && read_benchmark(in, at, device, err))
            return -1;
    }
    return foreign_end(in, err);
}
