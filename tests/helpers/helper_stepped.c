// SPDX-License-Identifier: Apache-2.0
//
// Makes the store of one long history whose steps are known.
#include "tests/helpers/helper_stepped.h"

#include "tests/helpers/helper_store.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

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
