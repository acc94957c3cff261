// SPDX-License-Identifier: Apache-2.0
//
// Makes stores in which one thing happens at a known commit.
#include "tests/helpers/helper_scene.h"

#include "tests/helpers/helper_scratch.h"

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
