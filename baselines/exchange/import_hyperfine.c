// SPDX-License-Identifier: Apache-2.0
//
// Reads hyperfine's JSON (--export-json FILE): "results", one per command.
//   kernel   the command's words, then its parameters that are no problem (--parameter-scan)
//   problem  parameters m, n, k, dtype or problem; or --problem
//   time     each of "times", in seconds; a time whose command failed (exit_codes) is left out
//   device   the host; the file does not say which one: --device
// Fields: github.com/sharkdp/hyperfine, src/benchmark/benchmark_result.rs.
#include "baselines/exchange/foreign.h"

#include <math.h>
#include <string.h>

static int read_parameters(struct foreign *f, const struct node *parameters)
{
    const struct node *at =
        parameters && parameters->type == NODE_OBJECT ? parameters->children : NULL;
    for (; at; at = at->next) {
        if ((at->type == NODE_TEXT || at->type == NODE_NUMBER) &&
            foreign_argument(f, at->name, at->text))
            return -1;
    }
    return 0;
}

// Returns times in nanoseconds; NaN where the command failed.
static double *read_times(size_t *count, const struct node *result, struct arena *arena)
{
    const struct node *times = node_member(result, "times");
    const struct node *codes = node_member(result, "exit_codes");
    const bool listed = times && times->type == NODE_ARRAY && times->count;
    *count = listed ? times->count : 1;
    double *out = arena_alloc(arena, *count * sizeof(*out));
    out[0] = node_real(result, "median", node_real(result, "mean", NAN)) * 1e9;
    const struct node *at = listed ? times->children : NULL;
    const struct node *code = codes && codes->type == NODE_ARRAY ? codes->children : NULL;
    for (size_t i = 0; at; i++, at = at->next) {
        const bool failed = code && code->type == NODE_NUMBER && node_value(code) != 0;
        out[i] = failed ? NAN : node_value(at) * 1e9;
        code = code ? code->next : NULL;
    }
    return out;
}

static int read_result(struct import *in, const struct node *result, size_t device,
                       struct error *err)
{
    struct foreign f = {.name = node_text(result, "command", ""),
                        .device = device,
                        .state = MEASURED_OK,
                        .regime = "hyperfine, a process"};
    size_t count;
    const double *times_ns = read_times(&count, result, &in->run.arena);
    foreign_at(in, result);
    foreign_part(&f, NULL, strncmp(f.name, "./", 2) == 0 ? f.name + 2 : f.name);
    if (read_parameters(&f, node_member(result, "parameters")))
        return foreign_leave(in, &f, count, "m, n, k or problem that is none", err);
    return foreign_add(in, &f, times_ns, count, err);
}

static bool is_hyperfine(const struct import_file *file)
{
    const struct node *results = node_member(file->json, "results");
    return results && results->type == NODE_ARRAY &&
           (!results->count || node_member(results->children, "command"));
}

static int import_hyperfine(struct import *in, const struct import_file *file, struct error *err)
{
    const struct node *results = node_member(file->json, "results");
    if (!results || results->type != NODE_ARRAY)
        return error_set(err, "%.200s: not hyperfine's JSON: no results", in->name);
    if (foreign_begin(in, "hyperfine", NULL, file, err))
        return -1;
    const size_t device = foreign_device(in, "host", "hyperfine", "unknown");
    for (const struct node *at = results->children; at; at = at->next) {
        if (read_result(in, at, device, err))
            return -1;
    }
    return foreign_end(in, err);
}

const struct importer importer_hyperfine = {"hyperfine", is_hyperfine, import_hyperfine, NULL};
