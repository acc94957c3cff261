// SPDX-License-Identifier: Apache-2.0
//
// What must hold of every prediction of the model hopper, whatever its accuracy, tried on random
// problems, kernels and profiles: more work never takes less time, and nothing beats the roofline.
#include "model/predict.h"
#include "tests/helpers/helper_random.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdlib.h>

enum { ROUNDS = 60000 };

static int below(struct random *r, int most)
{
    return (int)(random_uniform(r) * most);
}

// One of the 1 .. 40,000 that people use, small ones as often as large ones.
static int64_t any_size(struct random *r)
{
    return 1 + (int64_t)exp(random_uniform(r) * log(40000));
}

static struct problem any_problem(struct random *r)
{
    static const enum dtype types[] = {DTYPE_BF16, DTYPE_TF32, DTYPE_E4M3,
                                       DTYPE_FP16, DTYPE_FP32, DTYPE_E2M1};
    struct problem p = {.m = any_size(r), .n = any_size(r), .k = any_size(r)};
    p.batch = below(r, 8) ? 1 : 1 + below(r, 20);
    p.in = types[below(r, ARRAY_COUNT(types))];
    p.out = below(r, 2) ? dtype_default_out(p.in) : (enum dtype)below(r, 4);
    p.layout = below(r, 4) ? LAYOUT_TN : (enum layout)below(r, LAYOUT_COUNT);
    p.epilogue = below(r, 8) ? EPILOGUE_NONE : EPILOGUE_DUAL_SILU;
    if (!below(r, 6))
        p.scales = (struct block_scales){
            .vector = 16 << below(r, 4), .rows_a = 1, .rows_b = 1, .type = DTYPE_E8M0};
    return p;
}

// Tiles as instructions have them; one in ten says nothing and is a library's.
static struct traits any_traits(struct random *r, const struct problem *p)
{
    struct traits t = {0};
    if (below(r, 10)) {
        t.tile_m = 8 * (1 + below(r, 32));
        t.tile_n = 8 * (1 + below(r, 40));
        t.tile_k = below(r, 8) ? (int32_t)((32 << below(r, 4)) / dtype_bytes(p->in)) : 0;
    }
    t.stages = below(r, 9);
    t.cluster_m = below(r, 4);
    t.cluster_n = below(r, 3) ? 1 : below(r, 4);
    t.threads = below(r, 4) ? 128 * (1 + below(r, 5)) : below(r, 1000);
    t.registers = below(r, 3) ? 0 : below(r, 256);
    t.blocks_per_sm = below(r, 4);
    t.persistent = below(r, 2);
    t.raster = below(r, 3);
    t.raster_group = below(r, 20);
    t.split_k = below(r, 2) ? 1 : below(r, 12) - 2; // -1: stream-K
    t.overlap = below(r, 3);
    t.promote_k = below(r, 4) ? 0 : 128;
    t.multiply = below(r, 3) ? MULTIPLY_UNKNOWN : below(r, 4);
    t.smem_bytes = below(r, 3) ? 0 : below(r, 220000);
    return t;
}

static struct predict_input any_input(struct random *r, const struct problem *p,
                                      const struct traits *t)
{
    struct predict_input in = {.gpu = gpus[below(r, (int)gpu_count)], .traits = t, .problem = p};
    in.clock_hz = below(r, 2) ? 0 : 1e9 * (1 + random_uniform(r));
    in.warm = !below(r, 3);
    return in;
}

static double time_of(const struct predict_input *in, const struct problem *p)
{
    struct predict_input with = *in;
    with.problem = p;
    struct prediction out = model_find("hopper")->predict(&with);
    return out.feasible ? out.time_ns : NAN;
}

// In m, n and k, by whole tiles: that leaves the rows' alignment as it was. A library may choose
// any of its tiles, so it is given all of them. Stream-K shares one tile among as many blocks as
// there are, though each further one is waited for: there a second tile may save time, on devices
// too, and K alone grows. K spread over SMs is in as many parts as find an SM, and as many blocks
// add up a tile: a longer K may have more of them, and a tile more may leave SMs over.
TEST(growing_by_whole_tiles_never_takes_less_time)
{
    struct random r = (struct random){18};
    size_t tried = 0;
    for (int i = 0; i < ROUNDS; i++) {
        struct problem p = any_problem(&r), larger = p;
        struct traits t = any_traits(&r, &p);
        struct predict_input in = any_input(&r, &p, &t);
        if (t.split_k == SPLIT_STREAM && i % 3 < 2)
            continue;
        const int64_t steps[] = {t.tile_m ? t.tile_m : 768, t.tile_n ? t.tile_n : 768,
                                 t.tile_k ? t.tile_k : 256};
        *(int64_t *[]){&larger.m, &larger.n, &larger.k}[i % 3] += steps[i % 3] * (1 + below(&r, 3));
        double before = time_of(&in, &p), after = time_of(&in, &larger);
        if (isnan(before) || isnan(after) || t.split_k == SPLIT_SPREAD)
            continue;
        tried++;
        // L2's time goes by blocks, of which some only fill a cluster: that is worth 1e-11.
        if (!(after >= before * (1 - 1e-9)))
            fail_msg("%s: %lldx%lldx%lld takes %.3f ns, %lldx%lldx%lld %.3f ns", in.gpu->name,
                     (long long)p.m, (long long)p.n, (long long)p.k, before, (long long)larger.m,
                     (long long)larger.n, (long long)larger.k, after);
    }
    assert_true(tried > ROUNDS / 4);
}

// 128 -> 129 rows: between the whole tiles on either side.
TEST(one_row_more_is_at_most_one_tile_row_dearer)
{
    struct random r = (struct random){19};
    size_t tried = 0;
    for (int i = 0; i < ROUNDS; i++) {
        struct problem p = any_problem(&r);
        struct traits t = any_traits(&r, &p);
        struct predict_input in = any_input(&r, &p, &t);
        if (t.tile_m == 0 || t.split_k < 0)
            continue;
        p.m = (int64_t)t.tile_m * (1 + below(&r, 5));
        struct problem row = p, tile = p;
        row.m += 1;
        tile.m += t.tile_m;
        double whole = time_of(&in, &p), more = time_of(&in, &row), next = time_of(&in, &tile);
        if (isnan(whole) || isnan(next))
            continue;
        tried++;
        assert_true(more >= whole * (1 - 1e-12) && more <= next * (1 + 1e-12));
    }
    assert_true(tried > ROUNDS / 4);
    const struct traits plain = {.tile_m = 128, .tile_n = 128, .tile_k = 64, .persistent = 1};
    struct problem p = {.m = 128, .n = 4096, .k = 4096, .in = DTYPE_BF16, .out = DTYPE_BF16};
    p.batch = 1;
    struct predict_input in = {.gpu = gpu_find("h200-sxm"), .traits = &plain, .clock_hz = 1.7e9};
    double whole = time_of(&in, &p);
    p.m = 129;
    assert_true(time_of(&in, &p) < 2 * whole);
}

TEST(nothing_is_faster_than_the_roofline)
{
    struct random r = (struct random){20};
    size_t tried = 0;
    for (int i = 0; i < 2 * ROUNDS; i++) {
        struct problem p = any_problem(&r);
        struct traits t = any_traits(&r, &p);
        struct predict_input in = any_input(&r, &p, &t);
        double time_ns = time_of(&in, &p);
        struct prediction floor = model_find("sol")->predict(&in);
        if (isnan(time_ns) || !floor.feasible)
            continue;
        tried++;
        assert_true(time_ns >= floor.time_ns);
    }
    assert_true(tried > ROUNDS / 2);
}
