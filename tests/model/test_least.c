// SPDX-License-Identifier: Apache-2.0
//
// No honest kernel is below the bound that voids a pair, and what is far below is.
#include "model/predict/parts/limits.h"
#include "tests/helpers/helper_table.h"
#include "tests/helpers/test.h"

#include <math.h>

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
