// SPDX-License-Identifier: Apache-2.0
//
// The roofline counts what must be read and computed.
#include "model/predict.h"
#include "tests/helpers/helper_table.h"
#include "tests/helpers/test.h"

// Seed 4's dual GEMM: every byte once, both weights and all scale factors, and no measured time
// below that floor.
TEST(dual_gemm_floor_counts_both_weights_and_scales)
{
    struct csv t = table_read("conformance_dual_gemm_floor.csv");
    for (size_t i = 0; i < t.count; i++) {
        struct gpu gpu = *gpu_find("b200-1300");
        gpu.dram_bytes_s.value = table_number(&t, i, "dram_bytes_per_s");
        struct problem p = {.m = (int64_t)table_number(&t, i, "m"),
                            .n = (int64_t)table_number(&t, i, "n"),
                            .k = (int64_t)table_number(&t, i, "k"),
                            .in = DTYPE_E2M1,
                            .out = DTYPE_FP16,
                            .batch = 1,
                            .epilogue = EPILOGUE_DUAL_SILU,
                            .scales = {.vector = (int32_t)table_number(&t, i, "sf_vec"),
                                       .rows_a = 1,
                                       .rows_b = 1,
                                       .type = DTYPE_E8M0}};
        struct traits traits = {0};
        struct predict_input in = {.gpu = &gpu, .traits = &traits, .problem = &p};
        struct prediction out = model_find("sol")->predict(&in);
        assert_true(close_to(problem_flops(&p), table_number(&t, i, "flops"), 1e-12));
        assert_string_equal(out.parts[1].name, "dram");
        assert_true(
            close_to(out.parts[1].time_ns, table_number(&t, i, "dram_floor_us") * 1e3, 1e-9));
        assert_true(close_to(out.parts[1].time_ns * gpu.dram_bytes_s.value / 1e9,
                             table_number(&t, i, "compulsory_bytes"), 1e-9));
        assert_true(out.time_ns < table_number(&t, i, "measured_us") * 1e3);
    }
    csv_free(&t);
}

TEST(a_rate_that_is_not_known_is_infeasible)
{
    struct problem p = {.m = 64, .n = 64, .k = 64, .in = DTYPE_FP64, .out = DTYPE_FP64, .batch = 1};
    struct traits traits = {0};
    struct predict_input in = {.gpu = gpu_find("h200-sxm"), .traits = &traits, .problem = &p};
    assert_false(model_find("sol")->predict(&in).feasible);
}

// Hopper has no tensor cores for FP4: kernels decode it to FP16, whose rate is the peak then.
TEST(fp4_without_tensor_cores_for_it_is_fp16)
{
    struct problem p = {.m = 512,
                        .n = 4096,
                        .k = 7168,
                        .in = DTYPE_E2M1,
                        .out = DTYPE_FP16,
                        .batch = 1,
                        .epilogue = EPILOGUE_DUAL_SILU,
                        .scales = {.vector = 16, .rows_a = 1, .rows_b = 1, .type = DTYPE_E4M3}};
    struct traits traits = {0};
    struct predict_input in = {.gpu = gpu_find("h200-sxm"), .traits = &traits, .problem = &p};
    const struct prediction fp4 = model_find("sol")->predict(&in);
    assert_true(fp4.feasible);
    p.in = DTYPE_FP16;
    p.scales = (struct block_scales){0};
    const struct prediction fp16 = model_find("sol")->predict(&in);
    assert_true(close_to(fp4.parts[0].time_ns, fp16.parts[0].time_ns, 1e-12));
    assert_true(fp4.parts[1].time_ns < fp16.parts[1].time_ns / 3);
}
