// SPDX-License-Identifier: Apache-2.0
//
// The exact search finds what simulation of all tilings finds, and what Z3 finds.
#include "model/predict/parts/pipeline.h"
#include "tests/helpers/test.h"

#include <stdio.h>

// Loads much faster than maths, much slower, and on a par (seed 1, section 3.3).
static const struct pipeline_machine machines[] = {
    {1680, 100, 5, 50, 400, 900, 20, 96, 84, 4, 1, 1},
    {1680, 300, 500, 10, 3, 900, 20, 96, 84, 4, 1, 1},
    {1680, 100, 40, 20, 40, 900, 20, 96, 84, 4, 2, 1},
};

// Simulates every tiling: neither the closed form nor the pruning of the depths.
static int64_t by_simulation(const struct pipeline_machine *m, const int64_t mnk[3],
                             enum pipeline_goal goal)
{
    int64_t best = INT64_MAX;
    for (int64_t i = 0; i < 32 * 32 * 32 * m->depth_max; i++) {
        int64_t tm = i % 32 + 1, tn = i / 32 % 32 + 1, tk = i / 1024 % 32 + 1,
                depth = i / 32768 + 1;
        if (mnk[0] % (tm * 32) || mnk[1] % (tn * 32) || mnk[2] % (tk * 32) ||
            depth * (tm + tn) * tk > m->smem_blocks)
            continue;
        struct pipeline p = {.load_a = (double)(m->load_startup + m->load_block * tm * tk),
                             .load_b = (double)(m->load_startup + m->load_block * tk * tn),
                             .math = (double)(m->math_startup + m->math_block * tm * tn * tk),
                             .epilogue =
                                 (double)(m->epilogue_startup + m->epilogue_block * tm * tn),
                             .depth = (int32_t)depth,
                             .dma_warps = m->dma_warps,
                             .stages = mnk[2] / 32 / tk};
        struct pipeline_events e;
        struct error err;
        assert_int_equal(pipeline_simulate(&e, &p, &err), 0);
        int64_t tiles = mnk[0] / 32 / tm * (mnk[1] / 32 / tn);
        int64_t value = goal == PIPELINE_LEAST_WAIT
                            ? tiles * (int64_t)e.time.wait
                            : m->launch + (tiles + m->sms - 1) / m->sms * (int64_t)e.time.wave;
        best = value < best ? value : best;
        pipeline_events_free(&e);
    }
    return best;
}

static const int64_t sizes[][3] = {
    {512, 512, 512}, {1024, 512, 512}, {1024, 1024, 1024}, {32, 1024, 96}, {960, 992, 640},
};

TEST(search_finds_the_simulated_optimum)
{
    for (size_t i = 0; i < ARRAY_COUNT(sizes) * ARRAY_COUNT(machines) * 2; i++) {
        const struct pipeline_machine *m = &machines[i / 2 % ARRAY_COUNT(machines)];
        const int64_t *mnk = sizes[i / 2 / ARRAY_COUNT(machines)];
        enum pipeline_goal goal = (enum pipeline_goal)(i % 2);
        struct pipeline_choice c;
        struct error err;
        assert_int_equal(pipeline_optimise(&c, m, mnk, goal, &err), 0);
        int64_t value = goal == PIPELINE_LEAST_TIME ? c.time : c.wait;
        assert_int_equal(value, by_simulation(m, mnk, goal));
        assert_true(mnk[0] % c.tile_m == 0 && mnk[1] % c.tile_n == 0 && mnk[2] % c.tile_k == 0);
    }
}

TEST(bad_questions_are_refused)
{
    struct pipeline_choice c;
    struct error err;
    const int64_t good[3] = {512, 512, 512}, odd[3] = {512, 500, 512}, zero[3] = {0, 32, 32};
    assert_int_equal(pipeline_optimise(&c, &machines[0], odd, PIPELINE_LEAST_TIME, &err), -1);
    assert_int_equal(pipeline_optimise(&c, &machines[0], zero, PIPELINE_LEAST_TIME, &err), -1);
    struct pipeline_machine m = machines[0];
    m.smem_blocks = 1;
    assert_int_equal(pipeline_optimise(&c, &m, good, PIPELINE_LEAST_TIME, &err), -1);
    m = machines[0];
    m.math_block = -1;
    assert_int_equal(pipeline_optimise(&c, &m, good, PIPELINE_LEAST_TIME, &err), -1);
}

TEST(the_largest_costs_do_not_overflow)
{
    struct pipeline_machine m = {100000, 100000,  100000, 100000, 100000, 100000,
                                 100000, 1 << 20, 1,      8,      1,      1};
    const int64_t mnk[3] = {65536, 65536, 65536};
    struct pipeline_choice c;
    struct error err;
    assert_int_equal(pipeline_optimise(&c, &m, mnk, PIPELINE_LEAST_TIME, &err), 0);
    assert_true(c.time > 0 && c.wait > 0);
}

#ifdef PLUMB_HAVE_Z3
// On seed 1's table, which took it 5 to 12 s each before its starts were bounded from below only,
// and on sizes with many divisors. bench_models times it.
TEST(z3_proves_the_same_optimum)
{
    const int64_t table[][3] = {{512, 512, 512},   {1024, 512, 512},   {1024, 1024, 512},
                                {1024, 512, 1024}, {1024, 1024, 1024}, {128, 64, 96},
                                {65536, 32, 960}};
    for (size_t i = 0; i < ARRAY_COUNT(table) * 2; i++) {
        struct pipeline_machine m = machines[i % ARRAY_COUNT(machines)];
        const int64_t *mnk = table[i / 2];
        enum pipeline_goal goal = (enum pipeline_goal)(i % 2);
        struct pipeline_choice ours, z3;
        struct error err;
        if (i == 3)
            m.dma_warps = 5, m.math_warps = 3;
        assert_int_equal(pipeline_optimise(&ours, &m, mnk, goal, &err), 0);
        if (pipeline_optimise_z3(&z3, &m, mnk, goal, 120000, &err))
            fail_msg("%s", err.text);
        if (goal == PIPELINE_LEAST_TIME)
            assert_int_equal(ours.time, z3.time);
        else
            assert_int_equal(ours.wait, z3.wait);
    }
}
#endif

// More warps never take longer, and by hand: A of 4 blocks and B of 16 on five loading warps are
// one and four, so 100 + 4 x 40 ticks a stage; maths of 8 blocks on three warps 20 + 107.
TEST(more_warps_share_a_stage)
{
    struct pipeline_machine m = machines[2];
    const int64_t mnk[3] = {64, 256, 64};
    struct pipeline_choice c = {64, 256, 64, 1, 0, 0};
    m.dma_warps = 5, m.math_warps = 3;
    pipeline_evaluate(&c, &m, mnk);
    int64_t load = 100 + 4 * 40, math = 20 + (40 * 2 * 8 * 2 + 2) / 3, epilogue = 900 + 20 * 16;
    assert_int_equal(c.time, 1680 + load + math + epilogue);
    int64_t before = INT64_MAX;
    for (m.dma_warps = 1; m.dma_warps <= 16; m.dma_warps++) {
        pipeline_evaluate(&c, &m, mnk);
        assert_true(c.time <= before);
        before = c.time;
    }
    m.dma_warps = 65;
    struct error err;
    assert_int_equal(pipeline_optimise(&c, &m, mnk, PIPELINE_LEAST_TIME, &err), -1);
}
