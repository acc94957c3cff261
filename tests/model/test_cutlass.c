// SPDX-License-Identifier: Apache-2.0
//
// The scheduler's walk equals CUTLASS's, and shared Hopper figures equal the published ones.
#include "model/gpu.h"
#include "model/predict/hopper.h"
#include "tests/helpers/helper_table.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <string.h>

static int32_t whole(const struct csv *t, size_t row, const char *column)
{
    return (int32_t)table_number(t, row, column);
}

TEST(scheduler_equals_cutlass)
{
    struct csv t = table_read("conformance_cutlass_sched.csv");
    assert_int_equal(t.count, 5);
    for (size_t i = 0; i < t.count; i++) {
        assert_int_equal(cutlass_resident_blocks(whole(&t, i, "max_sm_per_gpc"),
                                                 whole(&t, i, "cluster_size"),
                                                 whole(&t, i, "sm_count")),
                         whole(&t, i, "ctas"));
    }
    csv_free(&t);
}

TEST(resident_blocks_are_whole_clusters)
{
    for (int32_t sms = 1; sms <= 200; sms++) {
        for (int32_t cluster = 1; cluster <= 18; cluster++) {
            int32_t blocks = cutlass_resident_blocks(18, cluster, sms);
            assert_int_equal(blocks % cluster, 0);
            assert_true(blocks <= sms);
        }
    }
    assert_int_equal(cutlass_resident_blocks(18, 19, 132), 0);
    assert_int_equal(cutlass_resident_blocks(0, 1, 132), 0);
}

TEST(hopper_figures_equal_the_published_ones)
{
    struct csv t = table_read("conformance_hopper.csv");
    const struct gpu *gpu = gpu_find("h200-sxm");
    for (size_t i = 0; i < t.count; i++) {
        double rate = table_number(&t, i, "num_sms") * table_number(&t, i, "flops_per_clk_per_sm");
        assert_true(rate == gpu->sm_count.value * gpu->flops_clk_fp16.value ||
                    rate == gpu->sm_count.value * gpu->flops_clk_fp8.value ||
                    rate == gpu->sm_count.value * gpu->flops_clk_tf32.value);
        if (table_has(&t, i, "clock_hz"))
            assert_true(close_to(rate * table_number(&t, i, "clock_hz") / 1e12,
                                 table_number(&t, i, "tflops"), 1e-9));
        else
            assert_true(fabs(table_number(&t, i, "tflops") * 1e12 / rate / 1e9 -
                             table_number(&t, i, "clock_ghz")) < 1e-6);
    }
    csv_free(&t);
}
