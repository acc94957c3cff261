// SPDX-License-Identifier: Apache-2.0
//
// Reads pytest-benchmark's JSON (--benchmark-json FILE): "machine_info",
// "commit_info", "benchmarks".
//   kernel   the test's name up to its '[', then the parameters that are no problem: test.tile-2
//   problem  params and extra_info m, n, k, dtype or problem; without names, the text in brackets
//   time     stats.data, seconds each, if it was saved (--benchmark-save-data); else the median
//   device   the host, by its processor, because a runner has another name each time
//   commit   commit_info.id, unless the tree was dirty
// Fields: pytest-benchmark's documentation; tests/data/import/pytest.json was written by it.
#include "baselines/exchange/foreign.h"

#include <string.h>

static bool is_plain(const struct node *value)
{
    return value->type == NODE_TEXT || value->type == NODE_NUMBER;
}

// Reads the parameters that parametrize() names; false: it gives no names.
static bool read_params(struct foreign *f, int *status, const struct node *params)
{
    if (!params || params->type != NODE_OBJECT || !params->count)
        return false;
    for (const struct node *at = params->children; at && *status == 0; at = at->next) {
        if (is_plain(at))
            *status = foreign_argument(f, at->name, at->text);
    }
    return true;
}

// Reads "512-512-512-bf16"; a problem in it may have dashes of its own.
static int read_brackets(struct foreign *f, char *text)
{
    struct problem problem;
    struct error ignored;
    if (problem_parse(&problem, text, &ignored) == 0)
        return foreign_argument(f, NULL, text);
    for (char *part = text, *dash; part; part = dash ? dash + 1 : NULL) {
        dash = strchr(part, '-');
        if (dash)
            *dash = '\0';
        if (part[0] && foreign_argument(f, NULL, part))
            return -1;
    }
    return 0;
}

static int read_name(struct foreign *f, const struct node *benchmark, struct arena *arena)
{
    char *name = arena_strdup(arena, node_text(benchmark, "name", ""));
    char *bracket = strchr(name, '[');
    int status = 0;
    if (bracket) {
        *bracket++ = '\0';
        const size_t length = strlen(bracket);
        if (length && bracket[length - 1] == ']')
            bracket[length - 1] = '\0';
    }
    foreign_name(f, name);
    if (!read_params(f, &status, node_member(benchmark, "params")) && bracket)
        status = read_brackets(f, bracket);
    const struct node *more = node_member(benchmark, "extra_info");
    const struct node *at = more && more->type == NODE_OBJECT ? more->children : NULL;
    for (; at && status == 0; at = at->next) {
        if (is_plain(at) && foreign_is_axis(at->name))
            status = foreign_argument(f, at->name, at->text);
    }
    return status;
}

static int read_benchmark(struct import *in, const struct node *benchmark, size_t device,
                          struct error *err)
{
    const char *short_name = node_text(benchmark, "name", "");
    struct foreign f = {.name = node_text(benchmark, "fullname", short_name),
                        .device = device,
                        .state = MEASURED_OK,
                        .regime = "pytest-benchmark"};
    const struct node *stats = node_member(benchmark, "stats"), *data = node_member(stats, "data");
    size_t count = data && data->type == NODE_ARRAY ? data->count : 0;
    double median = node_real(stats, "median", 0) * 1e9, *times_ns = &median;
    foreign_at(in, benchmark);
    if (read_name(&f, benchmark, &in->run.arena))
        return foreign_leave(in, &f, count ? count : 1, "m, n, k, dtype or problem that is none",
                             err);
    if (count) {
        times_ns = arena_alloc(&in->run.arena, count * sizeof(*times_ns));
        const struct node *at = data->children;
        for (size_t i = 0; i < count; i++, at = at->next)
            times_ns[i] = node_value(at) * 1e9;
    }
    return foreign_add(in, &f, times_ns, count ? count : 1, err);
}

static bool is_pytest(const struct import_file *file)
{
    return node_member(file->json, "machine_info") && node_member(file->json, "benchmarks");
}

static int import_pytest(struct import *in, const struct import_file *file, struct error *err)
{
    const struct node *list = node_member(file->json, "benchmarks");
    const struct node *machine = node_member(file->json, "machine_info");
    const struct node *commit = node_member(file->json, "commit_info");
    const struct node *cpu = node_member(machine, "cpu");
    const char *node = node_text(machine, "node", "unknown"), *id = node_text(commit, "id", "");
    if (!machine || !list || list->type != NODE_ARRAY)
        return error_set(err, "%.200s: not pytest-benchmark's JSON: no machine_info or benchmarks",
                         in->name);
    const bool dirty = node_bool(commit, "dirty", false);
    const bool known = import_is_object_id(id) && !dirty;
    const struct commit named = foreign_commit(id);
    if (dirty && in->source->strict && !in->source->commit_told)
        return error_set(err,
                         "%.200s: it measured %.12s with changes that are in no commit; say "
                         "--commit=REV",
                         in->name, id);
    if (foreign_begin(in, "pytest-benchmark", known ? &named : NULL, file, err))
        return -1;
    // The file's JSON is freed before the import ends.
    in->dirty = dirty ? arena_strdup(&in->run.arena, id) : NULL;
    const char *brand = node_text(cpu, "brand_raw", node_text(machine, "machine", "unknown"));
    size_t device = foreign_device(
        in, "host", arena_printf(&in->run.arena, "pytest-benchmark:%.100s", brand), node);
    for (const struct node *at = list->children; at; at = at->next) {
        if (read_benchmark(in, at, device, err))
            return -1;
    }
    return foreign_end(in, err);
}

const struct importer importer_pytest = {"pytest", is_pytest, import_pytest, NULL};
