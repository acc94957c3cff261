// SPDX-License-Identifier: Apache-2.0
//
// nvbench's JSON (--json FILE): benchmarks, each with states, each with axis_values and summaries.
//   kernel   the benchmark's name; axes other than the problem's are appended: gemm.tile-128
//   problem  axes M, N, K (any case), and T, type or dtype for the element type (fp32 if none)
//   time     summary nv/cold/time/gpu/mean, seconds; clock: nv/cold/sm_clock_rate/mean, Hz
//   device   its name and id: nvbench does not write the UUID
// A skipped state is unsupported. Field and tag names: NVIDIA/nvbench, json_printer and its
// nvbench_compare script.
#include "baselines/exchange/import.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

static int refuse(const struct import *in, const char *state, const char *what, struct error *err)
{
    return error_set(err, "%.200s: state '%.80s': %s", in->name, state, what);
}

// A kernel's name is lower case, digits and "_.-".
static void append_name(char name[KERNEL_NAME_TEXT], const char *separator, const char *text)
{
    size_t used = strlen(name);
    for (const char *c = separator; *c && used + 1 < KERNEL_NAME_TEXT; c++)
        name[used++] = *c;
    for (const char *c = text; *c && used + 1 < KERNEL_NAME_TEXT; c++) {
        bool plain = isalnum((unsigned char)*c) || *c == '_' || *c == '.';
        name[used++] = plain ? (char)tolower((unsigned char)*c) : '-';
    }
    name[used] = '\0';
}

// An axis value as text: nvbench writes numbers as strings.
static const char *axis_text(const struct node *axis)
{
    const struct node *value = node_member(axis, "value");
    if (!value || (value->type != NODE_TEXT && value->type != NODE_NUMBER))
        return node_text(axis, "input_string", "");
    return value->text;
}

// Type names as nvbench prints them (F16, BF16, F32) and as we do.
static int parse_type(enum dtype *out, const char *text)
{
    char name[16] = "";
    bool bare = (text[0] == 'F' || text[0] == 'f') && isdigit((unsigned char)text[1]);
    snprintf(name, sizeof(name), "%s%.10s", bare ? "fp" : "", text + (bare ? 1 : 0));
    for (char *c = name; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    return dtype_parse(out, name);
}

static int read_axis(struct result *r, const struct node *axis)
{
    const char *name = node_text(axis, "name", ""), *text = axis_text(axis);
    int64_t *dimensions[] = {&r->problem.m, &r->problem.n, &r->problem.k};
    static const char *const names[] = {"m", "n", "k"};
    for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
        if (strcasecmp(name, names[i]) == 0)
            return parse_int64(dimensions[i], text) || *dimensions[i] < 1 ||
                           *dimensions[i] > INT32_MAX
                       ? -1
                       : 0;
    }
    if (strcasecmp(name, "t") == 0 || strcasecmp(name, "type") == 0 ||
        strcasecmp(name, "dtype") == 0) {
        if (parse_type(&r->problem.in, text))
            return -1;
        r->problem.out = problem_default_out(r->problem.in);
        return 0;
    }
    append_name(r->kernel, ".", name);
    append_name(r->kernel, "-", text);
    return 0;
}

// The value of a summary, NaN if there is none. Numbers are written as strings.
static double summary(const struct node *state, const char *tag)
{
    const struct node *list = node_member(state, "summaries");
    const struct node *at = list && list->type == NODE_ARRAY ? list->children : NULL;
    while (at && strcmp(node_text(at, "tag", ""), tag) != 0)
        at = at->next;
    const struct node *data = node_member(at, "data");
    const struct node *item = data && data->type == NODE_ARRAY ? data->children : NULL;
    while (item && strcmp(node_text(item, "name", ""), "value") != 0)
        item = item->next;
    const struct node *value = node_member(item, "value");
    double number;
    if (!value || (value->type != NODE_TEXT && value->type != NODE_NUMBER) ||
        parse_double(&number, value->text))
        return NAN;
    return number;
}

static int read_state(struct import *in, const struct node *benchmark, const struct node *state,
                      struct error *err)
{
    struct result r = {.problem = {.in = DTYPE_FP32, .out = DTYPE_FP32, .batch = 1}};
    const char *name = node_text(state, "name", "?");
    const struct node *axes = node_member(state, "axis_values");
    int64_t device = node_int(state, "device", 0);
    append_name(r.kernel, "", node_text(benchmark, "name", ""));
    const struct node *axis = axes && axes->type == NODE_ARRAY ? axes->children : NULL;
    for (; axis; axis = axis->next) {
        if (read_axis(&r, axis))
            return refuse(in, name, "an axis M, N, K or T with a value that is none", err);
    }
    if (!r.kernel[0] || !r.problem.m || !r.problem.n || !r.problem.k)
        return refuse(in, name, "needs a benchmark name and the axes M, N and K", err);
    while (r.device < in->run.device_count && in->ids[r.device] != device)
        r.device++;
    if (r.device == in->run.device_count)
        return refuse(in, name, "its device is not in the file's list", err);
    double time_s = summary(state, "nv/cold/time/gpu/mean");
    double clock_hz = summary(state, "nv/cold/sm_clock_rate/mean");
    bool skipped = node_bool(state, "is_skipped", false);
    r.head = (struct measurement){
        .max_error = NAN, .tolerance = NAN, .regime = "nvbench cold", .detail = "imported"};
    if (skipped)
        r.head.state = MEASURED_UNSUPPORTED;
    else if (!(time_s > 0))
        return refuse(in, name, "has no time nv/cold/time/gpu/mean above 0", err);
    else
        import_stand_in(&r.head, &in->run.arena, time_s * 1e9, clock_hz > 0 ? clock_hz : 0);
    return import_result(in, &r, err);
}

static int begin_run(struct import *in, const struct node *file, struct error *err)
{
    struct run *run = &in->run;
    char uid[STORE_UID_TEXT];
    const struct node *list = node_member(file, "devices");
    size_t count = list && list->type == NODE_ARRAY ? list->count : 0;
    *run = (struct run){.kind = RUN_IMPORT,
                        .tool_version = PLUMB_VERSION,
                        .repository = "",
                        .policy = "",
                        .base = {.summary = "", .author = ""},
                        .head = *in->commit,
                        .headline = "imported from nvbench"};
    run->started_s = run->finished_s = in->commit->time_s ? in->commit->time_s : time(NULL);
    if (count == 0)
        return error_set(err, "%s: not nvbench's JSON: it lists no devices", in->name);
    run->devices = arena_alloc(&run->arena, count * sizeof(*run->devices));
    in->ids = arena_alloc(&run->arena, count * sizeof(*in->ids));
    const struct node *at = list->children;
    for (; run->device_count < count; at = at->next) {
        const char *name = node_text(at, "name", "unknown");
        in->ids[run->device_count] = node_int(at, "id", 0);
        run->devices[run->device_count++] =
            (struct device){.kind = "cuda",
                            .uuid = arena_printf(&run->arena, "nvbench:%s:%lld", name,
                                                 (long long)node_int(at, "id", 0)),
                            .name = arena_strdup(&run->arena, name),
                            .driver = "",
                            .runtime = "",
                            .profile = ""};
    }
    const char *identity[] = {"nvbench", run->head.id, run->devices[0].uuid};
    import_uid(uid, identity, ARRAY_COUNT(identity));
    return import_begin(in, uid, err);
}

int import_nvbench(struct import *in, const char *text, size_t length, struct error *err)
{
    struct arena arena = {0};
    const struct node *file = NULL;
    int status =
        node_parse(&file, text, length, in->name, &arena, err) || begin_run(in, file, err) ? -1 : 0;
    const struct node *list = node_member(file, "benchmarks");
    const struct node *benchmark = list && list->type == NODE_ARRAY ? list->children : NULL;
    for (; status == 0 && benchmark; benchmark = benchmark->next) {
        const struct node *states = node_member(benchmark, "states");
        const struct node *state = states && states->type == NODE_ARRAY ? states->children : NULL;
        for (; status == 0 && state; state = state->next)
            status = read_state(in, benchmark, state, err);
    }
    arena_free(&arena);
    return status;
}
