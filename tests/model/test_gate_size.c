// SPDX-License-Identifier: Apache-2.0
//
// The margin of a series follows from its size, and not from how hot the GPU is.
#include "model/gate/gate.h"
#include "tests/helpers/test.h"

#include <math.h>

enum { BLOCK = 8 };

static const struct problem fp8_cube = {
    .m = 4096, .n = 4096, .k = 4096, .batch = 1, .in = DTYPE_E4M3, .out = DTYPE_BF16};
static const struct problem thin = {
    .m = 65536, .n = 4, .k = 1024, .batch = 1, .in = DTYPE_FP32, .out = DTYPE_FP32};

static void fill(struct sample *out, uint16_t block, double time_us, double clock_ghz)
{
    for (uint32_t i = 0; i < BLOCK; i++)
        out[i] = (struct sample){.time_ns = time_us * 1e3,
                                 .clock_hz = clock_ghz * 1e9,
                                 .launches = 1,
                                 .pair = i,
                                 .block = block};
}

static double size_us(const struct problem *problem, const struct gpu *gpu, double time_us,
                      double clock_ghz)
{
    struct sample samples[BLOCK];
    fill(samples, 0, time_us, clock_ghz);
    return gate_size_ns(samples, BLOCK, problem, gpu) / 1e3;
}

static double margin(double size_us)
{
    return gate_policy_default("cuda", size_us * 1e3).margin;
}

// What an H200 took for one FP8 kernel, cool and beside a process that heats it
// (study/clocks-step).
TEST(a_hot_gpu_gives_a_kernel_no_other_margin)
{
    const struct gpu *h200 = gpu_find("h200-sxm");
    const double cool = size_us(&fp8_cube, h200, 93.5, 1.645);
    const double hot = size_us(&fp8_cube, h200, 118.3, 1.315);
    assert_true(fabs(hot / cool - 1) < 0.02);
    assert_true(cool > 75 && cool < 80);
    assert_true(margin(cool) == 0.005 && margin(hot) == 0.005);
}

TEST(half_a_percent_of_large_kernels_stays_in_reach)
{
    const struct gpu *h200 = gpu_find("h200-sxm");
    struct problem cube = fp8_cube;
    cube.in = DTYPE_BF16;
    const double cool = size_us(&cube, h200, 173, 1.64), hot = size_us(&cube, h200, 214, 1.315);
    assert_true(fabs(cool - 143.3) < 0.1 && fabs(hot / cool - 1) < 0.02);
    assert_true(margin(cool) == 0.003 && margin(hot) == 0.003);
}

// Bytes do not wait for the SMs: time at a low clock is the time at a high one.
TEST(what_memory_bounds_keeps_its_time)
{
    const struct gpu *h200 = gpu_find("h200-sxm");
    assert_true(fabs(size_us(&thin, h200, 110, 1.3) - 110) < 1e-6);
    assert_true(fabs(size_us(&thin, h200, 110, 1.96) - 110) < 1e-6);
}

TEST(without_clocks_the_time_is_all_there_is)
{
    const struct gpu *h200 = gpu_find("h200-sxm"), none = {0};
    assert_true(fabs(size_us(&fp8_cube, h200, 118.3, 0) - 118.3) < 1e-6);
    assert_true(fabs(size_us(&fp8_cube, &none, 118.3, 1.315) - 118.3) < 1e-6);
    // Stamps of a clock above the top one are noise.
    assert_true(fabs(size_us(&fp8_cube, h200, 78, 1.9805) - 78) < 1e-6);
    assert_true(gate_size_ns(NULL, 0, &fp8_cube, h200) == 0);
}

TEST(a_profile_without_rates_follows_the_clock)
{
    const struct gpu unknown = {.clock_max_hz = {.value = 2e9}};
    assert_true(fabs(size_us(&fp8_cube, &unknown, 120, 1.5) - 90) < 1e-6);
}

// Judging stored samples again, with all blocks at hand, must find what measuring found after one.
TEST(only_the_first_block_counts)
{
    struct sample samples[3 * BLOCK];
    fill(samples, 5, 94, 1.64);
    fill(samples + BLOCK, 6, 300, 1.64);
    fill(samples + 2 * BLOCK, 5, 300, 1.64);
    for (size_t i = 2 * BLOCK; i < 3 * BLOCK; i++)
        samples[i].process = 1;
    const struct gpu *h200 = gpu_find("h200-sxm");
    const double first = gate_size_ns(samples, BLOCK, &fp8_cube, h200);
    assert_true(first > 77e3 && first < 79e3);
    assert_true(gate_size_ns(samples, 3 * BLOCK, &fp8_cube, h200) == first);
}
