// SPDX-License-Identifier: Apache-2.0
//
// Reads Bencher Metric Format: {"BENCHMARK": {"MEASURE": {"value": NUMBER}}}.
//   kernel   the benchmark's name up to its first blank or '/'; the rest of the name is read as
//            arguments
//   problem  MxNxK:TYPE, or M, N and K, among these; or --problem
//   time     the measure "latency", nanoseconds; other measures are no times, and left out
//   device   the file does not say it: --device
// `plumb export --format=bmf` writes this format, too; its names end in the device, which becomes a
// part of the kernel's name here. Format: bencher.dev/docs/reference/bencher-metric-format.
#include "baselines/exchange/foreign.h"

#include <string.h>

static int read_measure(struct import *in, const struct node *benchmark, const struct node *measure,
                        size_t device, struct error *err)
{
    struct foreign f = {.name = benchmark->name,
                        .device = device,
                        .state = MEASURED_OK,
                        .regime = "bencher metric format"};
    const double time_ns = node_real(measure, "value", 0);
    foreign_at(in, measure);
    if (foreign_words(&f, benchmark->name, &in->run.arena))
        return foreign_leave(in, &f, 1, "M, N, K or a type that is none", err);
    if (strcmp(measure->name, "latency") != 0) {
        char why[120];
        snprintf(why, sizeof(why), "'%.60s' is no time; only latency is read", measure->name);
        return foreign_leave(in, &f, 1, why, err);
    }
    return foreign_add(in, &f, &time_ns, 1, err);
}

// A file is BMF if every measure of every benchmark has a value.
static bool is_bmf(const struct import_file *file)
{
    const struct node *json = file->json;
    const struct node *at = json && json->type == NODE_OBJECT ? json->children : NULL;
    for (; at; at = at->next) {
        const struct node *measure = at->type == NODE_OBJECT ? at->children : NULL;
        for (; measure; measure = measure->next) {
            if (node_member(measure, "value"))
                return true;
        }
    }
    return false;
}

static int import_bmf(struct import *in, const struct import_file *file, struct error *err)
{
    if (!file->json || file->json->type != NODE_OBJECT)
        return error_set(err, "%.200s: not Bencher Metric Format: no object of benchmarks",
                         in->name);
    if (foreign_begin(in, "bencher", NULL, file, err))
        return -1;
    const size_t device = foreign_device(in, "cuda", "bencher", "unknown");
    for (const struct node *at = file->json->children; at; at = at->next) {
        const struct node *measure = at->type == NODE_OBJECT ? at->children : NULL;
        struct foreign f = {.name = at->name};
        foreign_name(&f, at->name);
        foreign_at(in, at);
        if (!measure && foreign_leave(in, &f, 1, "has no measure", err))
            return -1;
        for (; measure; measure = measure->next) {
            if (read_measure(in, at, measure, device, err))
                return -1;
        }
    }
    return foreign_end(in, err);
}

const struct importer importer_bmf = {"bmf", is_bmf, import_bmf, NULL};
