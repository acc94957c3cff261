// SPDX-License-Identifier: Apache-2.0
//
// Stores with a history: a scene in which something happens, and a series that steps.
#include "tests/helpers/helper_history.h"

#include "tests/helpers/helper_store.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(int status, const struct error *err)
{
    if (status) {
        fprintf(stderr, "helper_scene: %s\n", err->text);
        exit(1);
    }
}

static void fill(struct result *r, struct sample *sample, const struct scene *scene, int kernel,
                 int commit, uint64_t *seed)
{
    double log_time = 10 + kernel + 0.002 * draw_normal(seed);
    if (commit >= STEP)
        log_time += scene->common + (kernel == 0 ? scene->step : 0);
    memset(r, 0, sizeof(*r));
    snprintf(r->kernel, sizeof(r->kernel), kernel ? "control-%d" : "kernel", kernel);
    r->problem = (struct problem){
        .m = 64, .n = 64, .k = 64, .in = DTYPE_FP32, .out = DTYPE_FP32, .batch = 1};
    bool changed = !scene->keep_code && kernel == 0 && commit >= STEP;
    snprintf(r->head_code, sizeof(r->head_code), "%02d%038d", kernel, changed);
    r->control = kernel > 0 && !scene->no_controls;
    *sample = (struct sample){.time_ns = exp(log_time),
                              .clock_hz = 1.5e9,
                              .launches = 1,
                              .role = ROLE_HEAD,
                              .power_mw = -1,
                              .temperature_c = INT16_MIN};
    r->head = (struct measurement){
        .state = MEASURED_OK, .samples = sample, .count = 1, .regime = "cold", .detail = ""};
    if (scene->wrong && r->control && commit >= STEP)
        r->head = (struct measurement){.state = MEASURED_WRONG, .regime = "cold", .detail = ""};
    const bool remodelled = scene->remodel && kernel == 0 && commit >= STEP;
    r->prediction = (struct prediction){.model = "sol",
                                        .version = remodelled ? "2" : "1",
                                        .feasible = true,
                                        .time_ns = exp(10 + kernel) / (remodelled ? 1.2 : 1.25),
                                        .clock_hz = 1.5e9,
                                        .bound = BOUND_COMPUTE};
}

static void save(struct store *store, const struct scene *scene, int commit, uint64_t *seed)
{
    struct error err;
    struct run run = {.kind = RUN_MEASURE,
                      .tool_version = "1",
                      .repository = "r",
                      .policy = "p",
                      .headline = "measured",
                      .device_count = 1};
    struct device device = {"cuda", "GPU-1", "H", "570.1", "13.0", "h"};
    struct result results[KERNELS];
    struct sample samples[KERNELS];
    if (scene->driver && commit >= STEP)
        device.driver = "580.2";
    if (scene->turns ? commit % 2 : scene->card && commit >= STEP) {
        device.uuid = scene->card;
        device.name = scene->model ? scene->model : device.name;
    }
    run.devices = &device;
    run.started_s = 1700000000 + 3600 * (int64_t)commit;
    run.finished_s = run.started_s + 60;
    run.base = (struct commit){.summary = "", .author = ""};
    snprintf(run.head.id, sizeof(run.head.id), "%s%036d", scene->ids ? scene->ids : "aaaa", commit);
    snprintf(run.head.tree, sizeof(run.head.tree), "%040d", commit);
    run.head.summary = run.head.author = "";
    if (scene->parents && commit > 0)
        snprintf(run.head.parent, sizeof(run.head.parent), "%s%036d",
                 scene->ids ? scene->ids : "aaaa", commit - 1);
    run.head.time_s = scene->time ? scene->time(commit) : run.started_s;
    must(store_begin_run(store, &run, &err), &err);
    for (int k = 0; k < KERNELS; k++) {
        fill(&results[k], &samples[k], scene, k, commit, seed);
        must(store_save_result(store, &run, &results[k], &err), &err);
    }
    must(store_finish_run(store, &run, &err), &err);
}

void scene_save(struct store *store, const struct scene *scene, int first, int end, uint64_t seed)
{
    for (int c = first; c < end; c++) {
        if (scene->gaps && c % 3 == 1)
            continue;
        for (int i = 0; i <= scene->repeat; i++)
            save(store, scene, c, &seed);
    }
}

struct store *scene_store(const char *name, const struct scene *scene)
{
    struct store *store = scratch_store(scratch_in(name), STORE_WRITE);
    scene_save(store, scene, 0, COMMITS, 7);
    return store;
}

bool stepped_unsteady = false;

_Noreturn static void die(const char *why)
{
    fprintf(stderr, "helper_stepped: %s\n", why);
    exit(1);
}

void stepped_commit(struct store *store, unsigned number, double more)
{
    struct error err;
    struct run run = {0};
    const char *driver = number < 300 ? "1" : number < 1050 ? "2" : "3";
    struct device device = {"cuda", "GPU-0", "Test GPU", driver, "2", ""};
    struct sample samples[4];
    struct result r = {.kernel = "kernel"};
    uint64_t seed = 1000 + number;
    double level = 10 + (number >= FIRST_STEP ? 0.02 : 0) + (number >= SECOND_STEP ? -0.03 : 0) +
                   (number >= THIRD_STEP ? 0.025 : 0) + 0.002 * draw_normal(&seed) + more;
    for (size_t i = 0; i < 4; i++)
        samples[i] = (struct sample){.time_ns = exp(level) * (1 + 0.0001 * (double)i),
                                     .clock_hz = 1.5e9,
                                     .launches = 1,
                                     .role = ROLE_HEAD,
                                     .temperature_c = 40,
                                     .power_mw = -1};
    run.kind = RUN_MEASURE;
    run.started_s = 1700000000 + 60 * (int64_t)number;
    run.tool_version = run.repository = run.policy = "t";
    run.headline = "";
    run.devices = &device;
    run.device_count = 1;
    snprintf(run.head.id, sizeof(run.head.id), "%040u", number);
    run.head.summary = run.head.author = "";
    run.head.time_s = run.started_s;
    if (stepped_unsteady)
        run.head.time_s -= number % 7 == 3 ? 60 * 40 : number % 5 == 0 ? 60 : 0;
    r.problem = (struct problem){.m = 64, .n = 64, .k = 64, .batch = 1};
    snprintf(r.head_code, sizeof(r.head_code), "%040u", number / 10);
    r.head = (struct measurement){
        .state = MEASURED_OK, .samples = samples, .count = 4, .detail = "", .regime = ""};
    r.prediction = (struct prediction){
        .model = "m", .version = "1", .feasible = true, .time_ns = exp(9.9), .bound = BOUND_MEMORY};
    if (store_begin_run(store, &run, &err) || store_save_result(store, &run, &r, &err) ||
        store_finish_run(store, &run, &err))
        die(err.text);
    run.devices = NULL;
    run_free(&run);
}

void stepped_commits(struct store *store, unsigned from, unsigned to)
{
    struct error err;
    if (store_begin_batch(store, &err))
        die(err.text);
    for (unsigned i = from; i < to; i++)
        stepped_commit(store, i, 0);
    if (store_commit_batch(store, &err))
        die(err.text);
}

struct store *stepped_store(const char *path, unsigned from, unsigned to)
{
    struct store *store = scratch_store(path, STORE_WRITE);
    stepped_commits(store, from, to);
    return store;
}
