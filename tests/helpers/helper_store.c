// SPDX-License-Identifier: Apache-2.0
//
// Makes runs from a seed, and compares what a store gives back with them.
#include "tests/helpers/helper_store.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void die(const char *what, const char *why)
{
    fprintf(stderr, "test helper: %s: %s\n", what, why);
    exit(1);
}

const char *scratch_path(struct arena *arena, const char *folder, const char *name)
{
    return arena_printf(arena, "%s/%s", folder, name);
}

struct store *scratch_store(const char *path, enum store_mode mode)
{
    struct store *store = NULL;
    struct error err;
    if (store_open(&store, path, mode, &err))
        die("store_open", err.text);
    return store;
}

// splitmix64: small, and the same everywhere.
uint64_t draw_bits(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

double draw_unit(uint64_t *state)
{
    return (double)(draw_bits(state) >> 11) * 0x1p-53;
}

double draw_normal(uint64_t *state)
{
    double u = 1 - draw_unit(state), v = draw_unit(state);
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

static void make_commit(struct commit *out, struct arena *arena, unsigned number)
{
    snprintf(out->id, sizeof(out->id), "%040x", number + 1);
    snprintf(out->tree, sizeof(out->tree), "7ree%036x", number + 1);
    if (number)
        snprintf(out->parent, sizeof(out->parent), "%040x", number);
    out->summary = arena_printf(arena, "commit %u: \"quotes\", \xc3\xa4 and a\ttab", number);
    out->author = "A. Author <author@example.org>";
    out->time_s = 1700000000 + 3600 * (int64_t)(int32_t)number; // -1: before the first
}

static void make_samples(struct measurement *out, struct arena *arena, enum sample_role role,
                         size_t count, uint64_t *state)
{
    double level = 50000 * (1 + draw_unit(state));
    out->samples = arena_alloc(arena, count * sizeof(*out->samples));
    out->count = count;
    out->state = count ? MEASURED_OK : MEASURED_NOT_TAKEN;
    for (size_t i = 0; i < count; i++) {
        double noise = 1 + 0.003 * draw_normal(state);
        out->samples[i] = (struct sample){.time_ns = round(level * noise * 1000) / 1000,
                                          .clock_hz = round(1.7e9 * noise),
                                          .launches = 4,
                                          .pair = (uint32_t)i,
                                          .block = (uint16_t)(i / 16),
                                          .role = (uint8_t)role,
                                          .order = draw_bits(state) & 1,
                                          .throttle = i % 7 == 0 ? THROTTLE_POWER : 0,
                                          .excluded = i % 11 == 5,
                                          .temperature_c = 51,
                                          .power_mw = 612345 + (int32_t)i};
    }
    out->max_error = 0.25;
    out->tolerance = 1;
    out->regime = "cold, read flush, back to back";
    out->detail = "algorithm 7";
    out->seed = 0xfedcba9876543210u;
}

static void make_prediction(struct prediction *out, double time_ns)
{
    *out = (struct prediction){.model = "sol",
                               .version = "1",
                               .feasible = true,
                               .time_ns = time_ns * 0.9,
                               .clock_hz = 1.71e9,
                               .clock_exponent = -0.75,
                               .band = 0.1,
                               .band_95 = 0.25,
                               .bias_rows = 7,
                               .bound = BOUND_MEMORY,
                               .parts = {{"launch", 1234.5}, {"mainloop", time_ns / 3}},
                               .part_count = 2};
}

void make_result(struct result *out, struct run *run, unsigned kernel, uint64_t *state)
{
    memset(out, 0, sizeof(*out));
    snprintf(out->kernel, sizeof(out->kernel), "tile-%02u", kernel / 4);
    out->problem = (struct problem){.m = 1024 << (kernel % 4),
                                    .n = 4096,
                                    .k = 512,
                                    .in = DTYPE_BF16,
                                    .out = DTYPE_BF16,
                                    .batch = 1};
    out->traits = (struct traits){.in = DTYPE_BF16,
                                  .out = DTYPE_BF16,
                                  .acc = DTYPE_FP32,
                                  .tile_m = 128,
                                  .stages = 4,
                                  .split_k = -1};
    snprintf(out->head_code, sizeof(out->head_code), "c0de%s%02u", run->head.id + 30, kernel / 4);
    make_samples(&out->head, &run->arena, ROLE_HEAD, 20, state);
    if (run->kind == RUN_GATE) {
        snprintf(out->base_code, sizeof(out->base_code), "ba5e%s", run->base.id + 30);
        make_samples(&out->base, &run->arena, ROLE_BASE, 20, state);
    }
    make_prediction(&out->prediction, out->head.samples[0].time_ns);
    out->verdict = (struct verdict){.kind = run->kind == RUN_GATE ? VERDICT_SLOWER : VERDICT_NEW,
                                    .cause = CAUSE_KERNEL,
                                    .log_ratio = {run->kind == RUN_GATE ? 0.02 : NAN, 0.01, 0.03},
                                    .confidence = 0.95,
                                    .log_evidence = 12.5,
                                    .margin = 0.003,
                                    .pairs = 20,
                                    .processes = 1,
                                    .gpu_s = 0.5,
                                    .detectable = 0.0042,
                                    .sentence = "2.0 % slower, and sure of it",
                                    .explanation = "it spills now\nregisters: 64 -> 255",
                                    .model = "duet",
                                    .version = "1"};
}

void make_run(struct run *out, enum run_kind kind, unsigned number, size_t count, uint64_t seed)
{
    struct run run = {.kind = kind,
                      .started_s = 1700000000 + 3600 * (int64_t)number,
                      .finished_s = 1700000000 + 3600 * (int64_t)number + 60,
                      .tool_version = "0.1.0",
                      .repository = "kernels",
                      .policy = "[gate]\n\tmargin = 0.003\n",
                      .conclusion = CONCLUDE_REGRESSION,
                      .self_test = {count ? 1 : 0, 0, -0.5, false},
                      .headline = "1 of 4 slower"};
    uint64_t state = seed;
    static struct build_error errors[] = {{"kernels/a b.c", 34, "error: 'x' undeclared"},
                                          {"", 0, "cannot find -lx"}};
    make_commit(&run.head, &run.arena, number);
    if (kind == RUN_GATE)
        run.toolchain[ROLE_BASE] = "cuda-12.8";
    if (kind == RUN_GATE)
        run.unbuilt[ROLE_BASE] =
            (struct build_failure){"exit status 1", "/cache/log", errors, ARRAY_COUNT(errors)};
    if (kind == RUN_GATE)
        make_commit(&run.base, &run.arena, number - 1);
    else
        run.base = (struct commit){.summary = "", .author = ""};
    run.devices = arena_alloc(&run.arena, sizeof(*run.devices));
    run.devices[0] =
        (struct device){"cuda", "GPU-00000000-0001", "NVIDIA H200", "580.65", "13.0", "h200-sxm"};
    run.device_count = 1;
    run.results = arena_alloc(&run.arena, count * sizeof(*run.results));
    run.count = count;
    for (size_t i = 0; i < count; i++)
        make_result(&run.results[i], &run, (unsigned)i, &state);
    *out = run;
}

void save_whole_run(struct store *store, struct run *run)
{
    struct error err;
    if (store_begin_run(store, run, &err))
        die("store_begin_run", err.text);
    for (size_t i = 0; i < run->count; i++) {
        if (store_save_result(store, run, &run->results[i], &err))
            die("store_save_result", err.text);
    }
    if (store_finish_run(store, run, &err))
        die("store_finish_run", err.text);
}

static bool differ(const char *what)
{
    fprintf(stderr, "    differs: %s\n", what);
    return false;
}

static bool same_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

static bool same_real(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

bool same_measurement(const struct measurement *a, const struct measurement *b)
{
    if (a->state != b->state || a->count != b->count || a->seed != b->seed)
        return differ("measurement state, count or seed");
    if (a->count && (!same_real(a->max_error, b->max_error) || a->tolerance != b->tolerance))
        return differ("measurement error or tolerance");
    if (!same_text(a->detail, b->detail) || !same_text(a->regime, b->regime))
        return differ("measurement detail or regime");
    for (size_t i = 0; i < a->count; i++) {
        const struct sample *s = &a->samples[i], *t = &b->samples[i];
        if (s->time_ns != t->time_ns || s->clock_hz != t->clock_hz || s->launches != t->launches ||
            s->pair != t->pair || s->block != t->block || s->process != t->process ||
            s->role != t->role || s->order != t->order || s->throttle != t->throttle ||
            s->excluded != t->excluded || s->temperature_c != t->temperature_c ||
            s->power_mw != t->power_mw)
            return differ("a sample");
    }
    return true;
}

static bool same_prediction(const struct prediction *a, const struct prediction *b)
{
    if (!same_text(a->model, b->model) || !same_text(a->version, b->version) ||
        !same_text(a->why, b->why) || a->feasible != b->feasible || a->time_ns != b->time_ns ||
        a->clock_hz != b->clock_hz || a->clock_exponent != b->clock_exponent ||
        a->band != b->band || a->band_95 != b->band_95 || a->bias_rows != b->bias_rows ||
        a->bound != b->bound || a->part_count != b->part_count)
        return differ("prediction");
    for (size_t i = 0; i < a->part_count; i++) {
        if (!same_text(a->parts[i].name, b->parts[i].name) ||
            a->parts[i].time_ns != b->parts[i].time_ns)
            return differ("a part of the prediction");
    }
    return true;
}

static bool same_verdict(const struct verdict *a, const struct verdict *b)
{
    return (same_text(a->sentence, b->sentence) && same_text(a->explanation, b->explanation) &&
            a->kind == b->kind && a->cause == b->cause &&
            same_real(a->log_ratio.value, b->log_ratio.value) &&
            same_real(a->log_ratio.low, b->log_ratio.low) &&
            same_real(a->log_ratio.high, b->log_ratio.high) &&
            same_real(a->detectable, b->detectable) && a->confidence == b->confidence &&
            a->log_evidence == b->log_evidence && a->margin == b->margin && a->pairs == b->pairs &&
            a->processes == b->processes && a->gpu_s == b->gpu_s && same_text(a->model, b->model) &&
            same_text(a->version, b->version)) ||
           differ("verdict");
}

bool same_result(const struct result *a, const struct result *b)
{
    if (strcmp(a->kernel, b->kernel) != 0 || !problem_equal(&a->problem, &b->problem) ||
        memcmp(&a->traits, &b->traits, sizeof(a->traits)) != 0 || a->device != b->device ||
        strcmp(a->base_code, b->base_code) != 0 || strcmp(a->head_code, b->head_code) != 0 ||
        a->control != b->control || a->reused != b->reused)
        return differ("result");
    return same_measurement(&a->base, &b->base) && same_measurement(&a->head, &b->head) &&
           same_prediction(&a->prediction, &b->prediction) &&
           same_verdict(&a->verdict, &b->verdict);
}

static bool same_commit(const struct commit *a, const struct commit *b)
{
    return (strcmp(a->id, b->id) == 0 && strcmp(a->tree, b->tree) == 0 &&
            strcmp(a->parent, b->parent) == 0 && same_text(a->summary, b->summary) &&
            same_text(a->author, b->author) && a->time_s == b->time_s) ||
           differ("commit");
}

static bool same_failure(const struct build_failure *a, const struct build_failure *b)
{
    if (!same_text(a->reason, b->reason) || !same_text(a->log, b->log) || a->count != b->count)
        return differ("why it does not build");
    for (size_t i = 0; i < a->count; i++) {
        const struct build_error *e = &a->errors[i], *f = &b->errors[i];
        if (strcmp(e->file, f->file) || e->line != f->line || strcmp(e->text, f->text))
            return differ("an error of the build");
    }
    return true;
}

bool same_run(const struct run *a, const struct run *b)
{
    if (a->kind != b->kind || a->started_s != b->started_s || a->finished_s != b->finished_s ||
        a->conclusion != b->conclusion || !same_text(a->tool_version, b->tool_version) ||
        !same_text(a->repository, b->repository) || !same_text(a->policy, b->policy) ||
        !same_text(a->headline, b->headline) || a->self_test.series != b->self_test.series ||
        a->self_test.alarms != b->self_test.alarms ||
        a->self_test.worst_log_evidence != b->self_test.worst_log_evidence ||
        a->self_test.void_run != b->self_test.void_run)
        return differ("run");
    if (strcmp(run_toolchain(a, ROLE_BASE), run_toolchain(b, ROLE_BASE)) != 0 ||
        strcmp(run_toolchain(a, ROLE_HEAD), run_toolchain(b, ROLE_HEAD)) != 0)
        return differ("toolchain");
    if (!same_commit(&a->base, &b->base) || !same_commit(&a->head, &b->head) ||
        !same_failure(&a->unbuilt[0], &b->unbuilt[0]) ||
        !same_failure(&a->unbuilt[1], &b->unbuilt[1]))
        return false;
    if (a->device_count != b->device_count || a->count != b->count)
        return differ("number of devices or results");
    for (size_t i = 0; i < a->device_count; i++) {
        const struct device *d = &a->devices[i], *e = &b->devices[i];
        if (!same_text(d->kind, e->kind) || !same_text(d->uuid, e->uuid) ||
            !same_text(d->name, e->name) || !same_text(d->driver, e->driver) ||
            !same_text(d->runtime, e->runtime) || !same_text(d->profile, e->profile))
            return differ("device");
    }
    for (size_t i = 0; i < a->count; i++) {
        if (!same_result(&a->results[i], &b->results[i]))
            return false;
    }
    return true;
}

struct scratch scratch;

int scratch_set_up(void **state)
{
    scratch.folder = helper_directory();
    return 0;
}

int scratch_tear_down(void **state)
{
    helper_discard(scratch.folder);
    free(scratch.folder);
    arena_free(&scratch.arena);
    return 0;
}

const char *scratch_in(const char *name)
{
    return scratch_path(&scratch.arena, scratch.folder, name);
}
