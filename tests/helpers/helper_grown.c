// SPDX-License-Identifier: Apache-2.0
//
// Makes large stores, for measurements of speed.
#include "tests/helpers/helper_grown.h"

#include "tests/helpers/helper_store.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(int status, const struct error *err)
{
    if (status) {
        fprintf(stderr, "helper_grown: %s\n", err->text);
        exit(1);
    }
}

static void advance(struct grown *w, uint64_t *seed)
{
    w->drift = 0.8 * w->drift + 0.003 * 0.6 * draw_normal(seed);
    if (draw_unit(seed) < 1.0 / 400)
        w->log_level += (draw_unit(seed) < 0.5 ? -1 : 1) * (0.005 + 0.045 * draw_unit(seed));
    const bool changes = draw_unit(seed) < 0.1;
    w->code += changes && !w->pinned;
}

void grown_samples(struct sample *samples, double level_ns, uint64_t *seed)
{
    for (int i = 0; i < GROWN_SAMPLES; i++) {
        double noise = 0.003 * draw_normal(seed) + (draw_bits(seed) % 50 == 0 ? 0.3 : 0);
        double clock_hz = 1.65e9 * (1 - 0.5 * noise);
        samples[i] = (struct sample){.time_ns = round(level_ns * exp(noise) * 4 / 32) * 8,
                                     .clock_hz = round(clock_hz / 1e5) * 1e5,
                                     .launches = 4,
                                     .pair = (uint32_t)i,
                                     .role = ROLE_HEAD,
                                     .order = (uint8_t)(draw_bits(seed) & 1),
                                     .throttle = THROTTLE_POWER,
                                     .temperature_c = (int16_t)(50 + draw_bits(seed) % 2),
                                     .power_mw = 650000 + (int32_t)(draw_bits(seed) % 8000)};
    }
}

void grown_result(struct result *r, unsigned series, const struct grown *walk,
                  struct sample *samples)
{
    double level_ns = exp(walk->log_level + walk->drift);
    memset(r, 0, sizeof(*r));
    snprintf(r->kernel, sizeof(r->kernel), "kernel-%02u", series / GROWN_PROBLEMS);
    r->problem = (struct problem){.m = 64 * (1 + series % GROWN_PROBLEMS),
                                  .n = 4096,
                                  .k = 4096,
                                  .in = DTYPE_BF16,
                                  .out = DTYPE_BF16,
                                  .batch = 1};
    r->traits = (struct traits){.in = DTYPE_BF16, .out = DTYPE_BF16, .tile_m = 128, .stages = 4};
    snprintf(r->head_code, sizeof(r->head_code), "%08x%032x", series / GROWN_PROBLEMS, walk->code);
    r->head = (struct measurement){.state = MEASURED_OK,
                                   .samples = samples,
                                   .count = GROWN_SAMPLES,
                                   .max_error = 0.1,
                                   .tolerance = 1,
                                   .regime = "cold, read flush, back to back",
                                   .detail = "",
                                   .seed = 42};
    r->prediction = (struct prediction){.model = "hopper",
                                        .version = "1",
                                        .feasible = true,
                                        .time_ns = walk->predicted_ns,
                                        .clock_hz = 1.65e9,
                                        .clock_exponent = -0.7,
                                        .band = 0.05,
                                        .bound = BOUND_COMPUTE,
                                        .parts = {{"launch", 2000},
                                                  {"prologue", 1500.5},
                                                  {"mainloop", level_ns * 0.8},
                                                  {"epilogue", level_ns * 0.1}},
                                        .part_count = 4};
}

void grown_commit(struct run *run, unsigned number)
{
    struct device *device = arena_alloc(&run->arena, sizeof(*device));
    *device = (struct device){"cuda", "GPU-0", "NVIDIA H200", "580.65", "13.0", "h200-sxm"};
    run->kind = RUN_MEASURE;
    run->started_s = 1600000000 + 3600 * (int64_t)number;
    run->finished_s = run->started_s + 60;
    run->tool_version = "0.1.0";
    run->repository = "kernels";
    run->policy = "generated";
    run->headline = "measured";
    run->base = (struct commit){.summary = "", .author = ""};
    snprintf(run->head.id, sizeof(run->head.id), "%08x%032x", (number + 1) * 2654435761u,
             number + 1); // short ids differ, as those of git do
    snprintf(run->head.tree, sizeof(run->head.tree), "f%039x", number + 1);
    run->head.summary =
        arena_printf(&run->arena, "kernels: change %u of the generated ones", number);
    run->head.author = "A. Author <author@example.org>";
    run->head.time_s = run->started_s;
    run->devices = device;
    run->device_count = 1;
}

static void record_build(struct store *store, const struct run *run, const struct grown *walks)
{
    struct build_kernel kernels[GROWN_SERIES / GROWN_PROBLEMS];
    struct error err;
    memset(kernels, 0, sizeof(kernels));
    for (unsigned k = 0; k < GROWN_SERIES / GROWN_PROBLEMS; k++) {
        snprintf(kernels[k].name, sizeof(kernels[k].name), "kernel-%02u", k);
        snprintf(kernels[k].code, sizeof(kernels[k].code), "%08x%032x", k,
                 walks[k * GROWN_PROBLEMS].code);
    }
    const struct build_record build = {
        run->head.tree, "cuda", MEASURED_OK, "", kernels, GROWN_SERIES / GROWN_PROBLEMS};
    must(store_record_build(store, &run->head, &build, &err), &err);
}

void grown_save(struct store *store, struct grown *walks, unsigned number, uint64_t *seed)
{
    struct run run = {0};
    struct error err;
    grown_commit(&run, number);
    for (unsigned s = 0; s < GROWN_SERIES; s++) {
        advance(&walks[s], seed);
        walks[s].code = walks[s - s % GROWN_PROBLEMS].code; // a kernel's series share its code
    }
    record_build(store, &run, walks);
    must(store_begin_run(store, &run, &err), &err);
    for (unsigned s = 0; s < GROWN_SERIES; s++) {
        struct sample samples[GROWN_SAMPLES];
        struct result result;
        grown_samples(samples, exp(walks[s].log_level + walks[s].drift), seed);
        grown_result(&result, s, &walks[s], samples);
        result.reused = walks[s].reused;
        if (result.reused) // predicted as before
            result.prediction = (struct prediction){0};
        must(store_save_result(store, &run, &result, &err), &err);
    }
    must(store_finish_run(store, &run, &err), &err);
    run_free(&run);
}
