// SPDX-License-Identifier: Apache-2.0
//
// What a device sets to a kernel: thread blocks of an SM, and the least time.
#include "model/predict/parts/limits.h"
#include "tests/helpers/helper_table.h"
#include "tests/helpers/test.h"

#include <math.h>

// Numbers worked out by hand from the rules of the CUDA C++ Programming Guide for an H200: 65536
// registers, 228 KiB of shared memory, 64 warps and 32 blocks per SM.

TEST(occupancy_follows_the_scarcest_resource)
{
    static const struct {
        int32_t threads, registers, smem, blocks, warps;
        enum occupancy_limit limit;
    } rows[] = {
        {32, 16, 0, 32, 32, OCCUPANCY_BLOCKS},
        {1024, 32, 0, 2, 64, OCCUPANCY_THREADS},
        {256, 128, 8448, 2, 16, OCCUPANCY_REGISTERS},
        {256, 129, 8448, 1, 8, OCCUPANCY_REGISTERS}, // one register more costs a block
        {256, 32, 0, 8, 64, OCCUPANCY_THREADS},
        {384, 168, 0, 1, 12, OCCUPANCY_REGISTERS},
        {128, 64, 231424, 1, 4, OCCUPANCY_SHARED}, // + 1 KiB is 227 KiB: one fits
        {128, 64, 115712, 2, 8, OCCUPANCY_SHARED}, // + 1 KiB is 114 KiB: two fill 228 KiB
        {128, 64, 115713, 1, 4, OCCUPANCY_SHARED},
        {1024, 128, 0, 0, 0, OCCUPANCY_REGISTERS}, // cannot be launched
    };
    const struct gpu *gpu = gpu_find("h200-sxm");
    assert_non_null(gpu);
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        struct occupancy o = occupancy_of(gpu, rows[i].threads, rows[i].registers, rows[i].smem);
        if (o.blocks != rows[i].blocks || o.warps != rows[i].warps || o.limit != rows[i].limit)
            fail_msg("row %zu: %d blocks, %d warps, limit %s", i, o.blocks, o.warps,
                     occupancy_limit_name(o.limit));
    }
}

TEST(occupancy_never_grows_with_what_a_block_takes)
{
    const struct gpu *gpu = gpu_find("h200-sxm");
    for (int32_t threads = 1; threads <= 1024; threads += 31) {
        int32_t last = 32;
        for (int32_t registers = 1; registers <= 255; registers++) {
            struct occupancy o = occupancy_of(gpu, threads, registers, 0);
            assert_true(o.blocks <= last);
            assert_true(o.blocks * ((threads + 31) / 32) <= 64);
            last = o.blocks;
        }
    }
}

TEST(occupancy_of_nonsense_is_unknown)
{
    const struct gpu *gpu = gpu_find("h200-sxm");
    const struct gpu nothing = {0};
    assert_int_equal(occupancy_of(gpu, 0, 32, 0).limit, OCCUPANCY_UNKNOWN);
    assert_int_equal(occupancy_of(gpu, 2048, 32, 0).limit, OCCUPANCY_UNKNOWN);
    assert_int_equal(occupancy_of(gpu, 32, -1, 0).limit, OCCUPANCY_UNKNOWN);
    assert_int_equal(occupancy_of(gpu, 32, 32, INT32_MAX).limit, OCCUPANCY_UNKNOWN);
    assert_int_equal(occupancy_of(&nothing, 32, 32, 0).limit, OCCUPANCY_UNKNOWN);
}

// No honest kernel is below the bound that voids a pair, and what is far below is.

static double least(const char *text, const struct gpu *gpu)
{
    struct problem problem;
    struct error err;
    assert_int_equal(problem_parse(&problem, text, &err), 0);
    return least_time_ns(gpu, &problem);
}

TEST(bound_is_the_longer_of_both_times)
{
    const struct gpu *h200 = gpu_find("h200-sxm");
    // 2 * 4096^3 multiply-adds at 132 SMs, 4096 FLOP a clock, 1.98 GHz; 90 %.
    const double math_ns = 0.9 * 2 * pow(4096, 3) / (132 * 4096 * 1.98e9) * 1e9;
    assert_true(close_to(least("4096x4096x4096:bf16", h200), math_ns, 1e-9));
    // 128 rows: both operands are read, 29.9 MB at 4.55e12 B/s.
    const double read_ns = 0.9 * (128 + 7168.0) * 2048 * 2 / 4.55e12 * 1e9;
    assert_true(close_to(least("128x7168x2048:bf16", h200), read_ns, 1e-9));
    // Both weights of a dual GEMM.
    const double dual_ns = 0.9 * (128 + 2 * 7168.0) * 2048 * 2 / 4.55e12 * 1e9;
    assert_true(close_to(least("128x7168x2048:bf16:dual-silu", h200), dual_ns, 1e-9));
    // FP32 put together from three TF32 products.
    const double emulated_ns = 0.9 * 2 * pow(4096, 3) / (132 * 2048 / 3.0 * 1.98e9) * 1e9;
    assert_true(close_to(least("4096x4096x4096:fp32", h200), emulated_ns, 1e-9));
}

TEST(profile_that_says_nothing_bounds_nothing)
{
    const struct gpu none = {.name = "none"};
    assert_true(least("4096x4096x4096:bf16", &none) == 0);
}

// Times of cuBLASLt and DeepGEMM on H200 boards, cold.
TEST(no_measured_time_is_below_it)
{
    const struct gpu *h200 = gpu_find("h200-sxm");
    struct csv t = table_read("h200_gemm_cold.csv");
    double nearest = INFINITY;
    for (size_t i = 0; i < t.count; i++) {
        struct problem p = {.m = (int64_t)table_number(&t, i, "m"),
                            .n = (int64_t)table_number(&t, i, "n"),
                            .k = (int64_t)table_number(&t, i, "k"),
                            .batch = 1};
        assert_int_equal(dtype_parse(&p.in, table_text(&t, i, "in_dtype")), 0);
        assert_int_equal(dtype_parse(&p.out, table_text(&t, i, "out_dtype")), 0);
        nearest = fmin(nearest, 1e3 * table_number(&t, i, "measured_us") / least_time_ns(h200, &p));
    }
    print_message("%zu times, the nearest %.2f times the bound\n", t.count, nearest);
    assert_true(t.count > 50 && nearest > 1.05);
    csv_free(&t);
}
