// SPDX-License-Identifier: Apache-2.0
//
// Lines of JSON as store_export.c writes them. Results belong to the run line before them.
#include "baselines/exchange/export.h"
#include "baselines/exchange/import.h"
#include "baselines/range.h"
#include "baselines/unbuilt.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool import_commit(struct commit *out, const struct node *node, struct arena *arena)
{
    *out = (struct commit){.summary = "", .author = ""};
    if (!node || node->type != NODE_OBJECT)
        return true; // null: there is none
    bool fits = text_copy(out->id, sizeof(out->id), node_text(node, "id", "")) &&
                text_copy(out->tree, sizeof(out->tree), node_text(node, "tree", "")) &&
                text_copy(out->parent, sizeof(out->parent), node_text(node, "parent", ""));
    out->summary = arena_strdup(arena, node_text(node, "summary", ""));
    out->author = arena_strdup(arena, node_text(node, "author", ""));
    out->time_s = node_int(node, "time_s", 0);
    return fits && import_is_object_id(out->id) && range_is_time(out->time_s);
}

static bool read_unbuilt(struct run *run, enum sample_role role, const struct node *node)
{
    struct build_failure *f = &run->unbuilt[role];
    if (!node || node->type != NODE_OBJECT)
        return true; // it builds
    f->reason = arena_strdup(&run->arena, node_text(node, "reason", ""));
    f->log = arena_strdup(&run->arena, node_text(node, "log", ""));
    return unbuilt_errors_parse(f, node_text(node, "errors", ""), &run->arena);
}

static void read_devices(struct run *run, const struct node *list)
{
    size_t count = list && list->type == NODE_ARRAY ? list->count : 0;
    run->devices = arena_alloc(&run->arena, count * sizeof(*run->devices));
    run->device_count = count;
    const struct node *node = count ? list->children : NULL;
    for (size_t i = 0; i < count; i++, node = node->next) {
        const char *names[] = {"kind", "uuid", "name", "driver", "runtime", "profile"};
        const char *texts[ARRAY_COUNT(names)];
        for (size_t k = 0; k < ARRAY_COUNT(names); k++)
            texts[k] = arena_strdup(&run->arena, node_text(node, names[k], ""));
        run->devices[i] =
            (struct device){texts[0], texts[1], texts[2], texts[3], texts[4], texts[5]};
    }
}

static bool devices_sound(const struct run *run)
{
    for (size_t i = 0; i < run->device_count; i++) {
        if (!run->devices[i].uuid[0])
            return false;
    }
    return run->device_count > 0;
}

// False: it is no name of a toolchain.
static bool read_toolchain(struct run *run, enum sample_role role, const char *name)
{
    if (name && !toolchain_name_sound(name))
        return false;
    run->toolchain[role] = name ? arena_strdup(&run->arena, name) : NULL;
    return true;
}

static int read_run(struct import *in, const struct node *node, struct error *err)
{
    struct run run = {0};
    const char *uid = node_text(node, "uid", "");
    const struct node *test = node_member(node, "self_test");
    int64_t conclusion = node_int(node, "conclusion", -1);
    if (import_end(in, err))
        return -1;
    bool sound = strlen(uid) == STORE_UID_TEXT - 1 && strspn(uid, "0123456789abcdef") == 32 &&
                 run_kind_parse(&run.kind, node_text(node, "kind", "")) == 0 &&
                 conclusion >= CONCLUDE_OK && conclusion <= CONCLUDE_FAILED &&
                 import_commit(&run.base, node_member(node, "base"), &run.arena) &&
                 import_commit(&run.head, node_member(node, "head"), &run.arena) &&
                 node_int(node, "started_s", 0) > 0 && node_int(node, "finished_s", -1) >= 0;
    run.started_s = node_int(node, "started_s", 0);
    run.finished_s = node_int(node, "finished_s", 0);
    run.tool_version = arena_strdup(&run.arena, node_text(node, "tool_version", ""));
    run.repository = arena_strdup(&run.arena, node_text(node, "repository", ""));
    run.policy = arena_strdup(&run.arena, node_text(node, "policy", ""));
    run.headline = arena_strdup(&run.arena, node_text(node, "headline", ""));
    run.conclusion = sound ? (enum conclusion)conclusion : CONCLUDE_FAILED;
    run.self_test = (struct self_test){
        (uint32_t)node_int(test, "series", 0), (uint32_t)node_int(test, "alarms", 0),
        node_real(test, "worst_log_evidence", 0), node_bool(test, "void", false)};
    sound = sound && read_toolchain(&run, ROLE_BASE, node_text(node, "base_toolchain", NULL)) &&
            read_toolchain(&run, ROLE_HEAD, node_text(node, "head_toolchain", NULL));
    sound = sound && read_unbuilt(&run, ROLE_BASE, node_member(node, "base_unbuilt")) &&
            read_unbuilt(&run, ROLE_HEAD, node_member(node, "head_unbuilt"));
    read_devices(&run, node_member(node, "devices"));
    in->run = run;
    if (!sound || !devices_sound(&run))
        return import_refuse(in, "a run needs uid, kind, times, conclusion, commits and devices",
                             err);
    return import_begin(in, uid, err);
}

// One column of `count` values: a number for all, or an array of that many.
static bool read_column(double *out, size_t count, const struct node *samples, const char *name,
                        double low, double high)
{
    const struct node *node = node_member(samples, name);
    bool array = node && node->type == NODE_ARRAY;
    if (array && node->count != count)
        return false;
    const struct node *at = array ? node->children : node;
    for (size_t i = 0; i < count; i++) {
        out[i] = node_value(at);
        if (!(out[i] >= low && out[i] <= high))
            return false;
        at = array ? at->next : at;
    }
    return true;
}

static bool read_samples(struct measurement *m, const struct node *node, struct arena *arena)
{
    enum { SAMPLES_LIMIT = 1 << 17 };
    int64_t count = node_int(node, "count", -1);
    if (!node)
        return true;
    if (count < 1 || count > SAMPLES_LIMIT)
        return false;
    m->count = (size_t)count;
    m->samples = arena_alloc(arena, m->count * sizeof(*m->samples));
    double *column = xcalloc(m->count, sizeof(*column));
    bool sound = true;
#define X(field, low, high)                                                                        \
    sound = sound && read_column(column, m->count, node, #field, low, high);                       \
    for (size_t i = 0; sound && i < m->count; i++)                                                 \
        m->samples[i].field = (__typeof__(m->samples->field))column[i];
    SAMPLE_COLUMNS(X)
#undef X
    free(column);
    return sound;
}

static bool read_measurement(struct measurement *out, const struct node *node, struct arena *arena)
{
    struct measurement m = {.regime = "", .detail = ""};
    *out = m;
    if (!node || node->type != NODE_OBJECT)
        return true;
    if (measurement_state_parse(&m.state, node_text(node, "state", "")) ||
        m.state == MEASURED_NOT_TAKEN)
        return false;
    m.max_error = node_real(node, "max_error", NAN);
    m.tolerance = node_real(node, "tolerance", NAN);
    m.regime = node_text(node, "regime", "");
    m.detail = node_text(node, "detail", "");
    m.seed = strtoull(node_text(node, "seed", "0"), NULL, 10);
    if (!read_samples(&m, node_member(node, "samples"), arena) ||
        (m.state == MEASURED_OK && m.count == 0))
        return false;
    *out = m;
    return true;
}

static bool read_prediction(struct prediction *out, const struct node *node)
{
    struct prediction p = {.model = node_text(node, "model", NULL),
                           .version = node_text(node, "version", ""),
                           .feasible = node_bool(node, "feasible", true),
                           .why = node_text(node, "why", ""),
                           .time_ns = node_real(node, "time_ns", 0),
                           .clock_hz = node_real(node, "clock_hz", 0),
                           .clock_exponent = node_real(node, "clock_exponent", 0),
                           .band = node_real(node, "band", 0)};
    const char *bound = node_text(node, "bound", "unknown");
    const struct node *parts = node_member(node, "parts");
    if (!node)
        return true;
    while (p.bound < BOUNDS && strcmp(bound_name(p.bound), bound) != 0)
        p.bound++;
    const struct node *part = parts && parts->type == NODE_ARRAY ? parts->children : NULL;
    for (; part && p.part_count < PREDICTION_PARTS; part = part->next) {
        if (part->type != NODE_ARRAY || part->count != 2 || part->children->type != NODE_TEXT)
            return false;
        p.parts[p.part_count++] =
            (struct prediction_part){part->children->text, node_value(part->children->next)};
    }
    *out = p;
    return p.model && p.bound < BOUNDS;
}

static bool read_verdict(struct verdict *out, const struct node *node)
{
    struct verdict v = {.log_ratio = {node_real(node, "log_ratio", NAN),
                                      node_real(node, "lower", NAN), node_real(node, "upper", NAN)},
                        .confidence = node_real(node, "confidence", 0),
                        .log_evidence = node_real(node, "log_evidence", 0),
                        .margin = node_real(node, "margin", 0),
                        .pairs = (uint32_t)node_int(node, "pairs", 0),
                        .processes = (uint32_t)node_int(node, "processes", 0),
                        .gpu_s = node_real(node, "gpu_s", 0),
                        .detectable = node_real(node, "detectable", NAN),
                        .sentence = node_text(node, "sentence", ""),
                        .explanation = node_text(node, "explanation", NULL),
                        .model = node_text(node, "model", ""),
                        .version = node_text(node, "version", "")};
    if (!node)
        return true;
    if (verdict_kind_parse(&v.kind, node_text(node, "kind", "")) ||
        cause_parse(&v.cause, node_text(node, "cause", "")))
        return false;
    *out = v;
    return true;
}

static int read_result(struct import *in, const struct node *node, struct arena *arena,
                       struct error *err)
{
    struct result r = {0};
    int64_t device = node_int(node, "device", -1);
    const char *base = node_text(node, "base_code", ""), *head = node_text(node, "head_code", "");
    if (!in->open)
        return import_refuse(in, "a result before its run", err);
    if (!text_copy(r.kernel, sizeof(r.kernel), node_text(node, "kernel", "")) || !r.kernel[0])
        return import_refuse(in, "a result's kernel is 1 to 200 bytes", err);
    if (problem_parse(&r.problem, node_text(node, "problem", ""), err))
        return import_blame(in, err);
    if (device < 0 || (size_t)device >= in->run.device_count)
        return import_refuse(in, "a result's device is not one of its run", err);
    if (!import_is_code(base) || !import_is_code(head))
        return import_refuse(in, "a code id is one word of at most 64 bytes", err);
    r.device = (size_t)device;
    text_copy(r.base_code, sizeof(r.base_code), base);
    text_copy(r.head_code, sizeof(r.head_code), head);
    r.control = node_bool(node, "control", false);
    r.reused = node_bool(node, "reused", false);
    import_traits(&r.traits, node_member(node, "traits"));
    if (!read_measurement(&r.base, node_member(node, "base"), arena) ||
        !read_measurement(&r.head, node_member(node, "head"), arena))
        return import_refuse(in, "a measurement has a state and columns of samples in range", err);
    if (!read_prediction(&r.prediction, node_member(node, "prediction")) ||
        !read_verdict(&r.verdict, node_member(node, "verdict")))
        return import_refuse(in, "a prediction or verdict this version does not know", err);
    return import_result(in, &r, err);
}

static int read_line(struct import *in, const struct node *line, struct arena *arena,
                     struct error *err)
{
    const struct node *node = line->type == NODE_OBJECT ? line->children : NULL;
    if (!node || node->type != NODE_OBJECT)
        return import_refuse(in, "a line is one object such as {\"run\":{...}}", err);
    if (strcmp(node->name, "run") == 0)
        return read_run(in, node, err);
    if (strcmp(node->name, "result") == 0)
        return read_result(in, node, arena, err);
    if (strcmp(node->name, "study") == 0)
        return import_study(in, node, err);
    if (strcmp(node->name, "build") == 0)
        return import_build(in, node, arena, err);
    if (strcmp(node->name, "profile") == 0)
        return import_profile(in, node, err);
    if (strcmp(node->name, "epoch") == 0)
        return import_epoch(in, node, err);
    if (strcmp(node->name, "link") == 0)
        return import_link(in, node, arena, err);
    if (strcmp(node->name, "event") == 0)
        return import_event(in, node, arena, err);
    if (strcmp(node->name, "plumb") != 0)
        return import_refuse(
            in, "neither plumb, run, result, study, link, event, build, profile nor epoch", err);
    if (node_int(node, "export", 0) != 1)
        return import_refuse(in, "an export of another version; install a newer plumb", err);
    return 0;
}

int import_json(struct import *in, const char *text, size_t length, struct error *err)
{
    const char *end = text + length;
    int status = 0;
    for (in->line = 1; status == 0 && text < end; in->line++) {
        char where[IMPORT_WHERE];
        struct arena arena = {0};
        const struct node *line = NULL;
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        size_t bytes = (size_t)((stop ? stop : end) - text);
        import_where(where, in);
        if (bytes > 0)
            status = node_parse(&line, text, bytes, where, &arena, err) ||
                             read_line(in, line, &arena, err)
                         ? -1
                         : 0;
        arena_free(&arena);
        text = stop ? stop + 1 : end;
    }
    return status;
}
