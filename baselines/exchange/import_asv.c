// SPDX-License-Identifier: Apache-2.0
//
// Reads a result file of airspeed velocity (results/MACHINE/COMMIT-ENVIRONMENT.json). A file has
// one commit of a history; to import the whole history, name all files on the command line.
//   kernel   the benchmark's name, then the parameters that are no problem
//   problem  three bare numbers, or MxNxK:TYPE, among the parameters; or --problem
//   time     "result" of a benchmark whose name has time_ or timeraw_ in its last part, in seconds.
//            Other benchmarks (mem_, peakmem_, track_) are no times and are left out; null is a
//            failure
//   commit   commit_hash; its time is "date" if the repository does not have it
//   device   params.machine, a name that asv's user has given
// Version 2 has columns ("result_columns"), version 1 an object or a number per benchmark. Fields:
// asv.readthedocs.io, "Benchmark suite layout and file formats".
#include "baselines/exchange/foreign.h"

#include <math.h>
#include <string.h>

static bool is_time(const char *benchmark)
{
    const char *last = strrchr(benchmark, '.');
    last = last ? last + 1 : benchmark;
    return strncmp(last, "time_", 5) == 0 || strncmp(last, "timeraw_", 8) == 0;
}

// Finds a value of a benchmark: by its name in version 1, by its column in version 2.
static const struct node *part(const struct node *benchmark, const struct node *columns,
                               const char *name)
{
    if (benchmark->type == NODE_OBJECT)
        return node_member(benchmark, name);
    if (benchmark->type != NODE_ARRAY || !columns || columns->type != NODE_ARRAY)
        return NULL;
    const struct node *at = benchmark->children;
    for (const struct node *column = columns->children; column && at;
         column = column->next, at = at->next) {
        if (column->type == NODE_TEXT && strcmp(column->text, name) == 0)
            return at;
    }
    return NULL;
}

// The values of each parameter of a benchmark. The last parameter changes fastest.
struct parameters {
    const struct node **values[16];
    size_t counts[16], count;
};

static void list_parameters(struct parameters *out, const struct node *params, struct arena *arena)
{
    const struct node *at = params && params->type == NODE_ARRAY ? params->children : NULL;
    *out = (struct parameters){.count = 0};
    for (; at && out->count < ARRAY_COUNT(out->values) && at->type == NODE_ARRAY && at->count;
         at = at->next) {
        const struct node **values = arena_alloc(arena, at->count * sizeof(*values));
        size_t count = 0;
        for (const struct node *value = at->children; value; value = value->next)
            values[count++] = value;
        out->values[out->count] = values;
        out->counts[out->count++] = count;
    }
}

// Reads the parameters of the result with number `index`. Texts are in Python's quotes.
static int read_parameters(struct foreign *f, const struct parameters *params, size_t index,
                           struct arena *arena)
{
    size_t of[16];
    for (size_t i = params->count; i > 0; i--) {
        of[i - 1] = index % params->counts[i - 1];
        index /= params->counts[i - 1];
    }
    for (size_t i = 0; i < params->count; i++) {
        const struct node *value = params->values[i][of[i]];
        if (value->type != NODE_TEXT && value->type != NODE_NUMBER)
            continue;
        size_t length = strlen(value->text);
        const bool quoted =
            length >= 2 && value->text[0] == '\'' && value->text[length - 1] == '\'';
        const char *text = quoted ? arena_strndup(arena, value->text + 1, length - 2) : value->text;
        if (foreign_argument(f, NULL, text))
            return -1;
    }
    return 0;
}

static int read_value(struct import *in, const struct node *benchmark,
                      const struct parameters *params, const struct node *value, size_t index,
                      struct error *err)
{
    const bool none = value->type == NODE_NULL, skipped = none && value->text; // NaN
    struct foreign f = {.name = benchmark->name,
                        .state = skipped ? MEASURED_UNSUPPORTED
                                 : none  ? MEASURED_CRASHED
                                         : MEASURED_OK,
                        .detail = skipped ? "skipped"
                                  : none  ? "it failed"
                                          : NULL,
                        .regime = "airspeed velocity"};
    const double time_ns = node_value(value) * 1e9;
    foreign_at(in, benchmark);
    foreign_part(&f, NULL, benchmark->name);
    if (read_parameters(&f, params, index, &in->run.arena))
        return foreign_leave(in, &f, 1, "M, N, K or a type that is none", err);
    f.name = arena_printf(&in->run.arena, "%s #%zu", benchmark->name, index);
    if (!is_time(benchmark->name))
        return foreign_leave(in, &f, 1, "is no time", err);
    return foreign_add(in, &f, &time_ns, f.state == MEASURED_OK, err);
}

static int read_benchmark(struct import *in, const struct node *benchmark,
                          const struct node *columns, struct error *err)
{
    const struct node *result = part(benchmark, columns, "result");
    struct parameters params;
    list_parameters(&params, part(benchmark, columns, "params"), &in->run.arena);
    if (benchmark->type == NODE_NUMBER || benchmark->type == NODE_NULL || !result)
        return read_value(in, benchmark, &(struct parameters){.count = 0}, benchmark, 0, err);
    if (result->type != NODE_ARRAY)
        return read_value(in, benchmark, &(struct parameters){.count = 0}, result, 0, err);
    size_t index = 0;
    for (const struct node *at = result->children; at; at = at->next) {
        if (read_value(in, benchmark, &params, at, index++, err))
            return -1;
    }
    return 0;
}

static bool is_asv(const struct import_file *file)
{
    return node_member(file->json, "commit_hash") && node_member(file->json, "results");
}

static int import_asv(struct import *in, const struct import_file *file, struct error *err)
{
    const struct node *results = node_member(file->json, "results");
    const char *id = node_text(file->json, "commit_hash", "");
    const double date_ms = node_real(file->json, "date", 0);
    struct commit commit = foreign_commit(id);
    if (!results || results->type != NODE_OBJECT || !import_is_object_id(id))
        return error_set(
            err, "%.200s: not a result of airspeed velocity: no commit_hash or results", in->name);
    commit.time_s = date_ms > 0 && date_ms < 1e15 ? (int64_t)(date_ms / 1000) : 0;
    if (foreign_begin(in, "asv", &commit, file, err))
        return -1;
    const struct node *params = node_member(file->json, "params");
    const char *machine = node_text(params, "machine", "unknown");
    foreign_device(in, "host", arena_printf(&in->run.arena, "asv:%.100s", machine), machine);
    const struct node *columns = node_member(file->json, "result_columns");
    for (const struct node *at = results->children; at; at = at->next) {
        if (read_benchmark(in, at, columns, err))
            return -1;
    }
    return foreign_end(in, err);
}

const struct importer importer_asv = {"asv", is_asv, import_asv, NULL};
