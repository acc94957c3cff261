// SPDX-License-Identifier: Apache-2.0
//
// How `hopper` times kernels without wgmma: recorded times are met, and its laws hold on any input.
#include "model/predict/hopper.h"
#include "model/predict/parts/select.h"

#include "model/predict/parts/accuracy.h"
#include "tests/helpers/helper_table.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct problem fp32(int64_t m, int64_t n, int64_t k)
{
    return (struct problem){.m = m, .n = n, .k = k, .batch = 1}; // DTYPE_FP32 is 0
}

// naive_fp32 and tiled_fp32 of kernels/gemm/cuda.
static struct traits naive(void)
{
    return (struct traits){.tile_m = 16,
                           .tile_n = 16,
                           .tile_k = 1,
                           .stages = 1,
                           .threads = 256,
                           .registers = 32,
                           .blocks_per_sm = 8,
                           .raster = RASTER_N,
                           .raster_group = 1,
                           .split_k = 1,
                           .multiply = MULTIPLY_FMA};
}

static struct traits tiled(void)
{
    return (struct traits){.tile_m = 128,
                           .tile_n = 128,
                           .tile_k = 8,
                           .stages = 2,
                           .threads = 256,
                           .smem_bytes = 8448,
                           .registers = 128,
                           .blocks_per_sm = 2,
                           .raster = RASTER_N,
                           .raster_group = 1,
                           .split_k = 1,
                           .multiply = MULTIPLY_FMA};
}

static struct prediction predict_on(const struct gpu *gpu, const struct problem *p,
                                    const struct traits *t, double clock_hz)
{
    const struct predict_input in = {.gpu = gpu, .traits = t, .problem = p, .clock_hz = clock_hz};
    struct prediction out = model_find("hopper")->predict(&in);
    if (!out.feasible)
        fail_msg("%s", out.why);
    return out;
}

static double time_of(const struct problem *p, const struct traits *t)
{
    return predict_on(gpu_find("h200-sxm"), p, t, 1.98e9).time_ns;
}

static struct hopper_breakdown parts_of(const struct problem *p, const struct traits *t)
{
    const struct predict_input in = {
        .gpu = gpu_find("h200-sxm"), .traits = t, .problem = p, .clock_hz = 1.98e9};
    struct hopper_breakdown b;
    const char *why = hopper(&b, &in);
    if (why)
        fail_msg("%s", why);
    return b;
}

static double pipe_clk(const struct problem *p, const struct traits *t)
{
    return parts_of(p, t).limits_ns[HOPPER_SHARED] * 1.98 / (double)p->k;
}

// The figures that baselines/recorded/h200/accuracy/README.md states.
TEST(recorded_times_are_met)
{
    struct csv t = table_read("../../baselines/recorded/h200/accuracy/fp32.csv");
    struct accuracy_row *rows[3] = {xcalloc(t.count, sizeof(**rows)),
                                    xcalloc(t.count, sizeof(**rows)),
                                    xcalloc(t.count, sizeof(**rows))};
    static const char *const kernels[] = {"naive_fp32", "tiled_fp32", "cublaslt"};
    static const double mape[] = {0.06, 0.06, 0.20};
    size_t counts[3] = {0};
    for (size_t i = 0; i < t.count; i++) {
        size_t k = 0;
        while (strcmp(table_text(&t, i, "kernel"), kernels[k]) != 0)
            assert_true(++k < 3);
        struct problem p =
            fp32((int64_t)table_number(&t, i, "m"), (int64_t)table_number(&t, i, "n"),
                 (int64_t)table_number(&t, i, "k"));
        struct traits traits = k == 0 ? naive() : k == 1 ? tiled() : (struct traits){0};
        if (k == 0) { // as it was compiled then
            traits.registers = 40;
            traits.blocks_per_sm = 6;
        }
        double predicted =
            predict_on(gpu_find("h200-sxm"), &p, &traits, table_number(&t, i, "clock_mhz") * 1e6)
                .time_ns;
        rows[k][counts[k]++] = (struct accuracy_row){
            "all", predicted, table_number(&t, i, "measured_us") * 1e3, NULL, 0, 0};
    }
    for (size_t k = 0; k < 3; k++) {
        assert_int_equal(counts[k], 10);
        assert_true(accuracy_of(rows[k], counts[k]).mape < mape[k]);
        free(rows[k]);
    }
    csv_free(&t);
}

// NVIDIA RTX A6000: 84 SMs, 38.7 TFLOPS at 1.8 GHz, 768 GB/s, 6 MB of L2 (datasheet); 100 KB of
// shared memory per SM (CUDA C++ Programming Guide, compute capability 8.6); latencies are H200's.
static const struct gpu a6000 = {.name = "a6000",
                                 .sm_count = {.value = 84},
                                 .clock_hz = {.value = 1.8e9},
                                 .flops_clk_fp32 = {.value = 256},
                                 .dram_bytes_s = {.value = 768e9},
                                 .l2_bytes = {.value = 6291456},
                                 .smem_bytes = {.value = 101376},
                                 .smem_sm_bytes = {.value = 102400},
                                 .smem_bytes_clk = {.value = 128},
                                 .registers = {.value = 65536},
                                 .dram_latency_clk = {.value = 684},
                                 .l2_latency_clk = {.value = 280},
                                 .launch_s = {.value = 2e-6}};

// Kernels, layouts and a device that gave no number: rungs that lie 60 times apart.
TEST(a_published_ladder_of_another_device_is_met)
{
    struct csv t = table_read("sgemm_a6000.csv");
    struct accuracy_row *rows = xcalloc(t.count, sizeof(*rows));
    for (size_t i = 0; i < t.count; i++) {
        struct problem p = fp32(4092, 4092, 4092);
        p.layout = strcmp(table_text(&t, i, "layout"), "tt") ? LAYOUT_NN : LAYOUT_TT;
        const struct traits traits = {.tile_m = (int32_t)table_number(&t, i, "cta_m"),
                                      .tile_n = (int32_t)table_number(&t, i, "cta_n"),
                                      .tile_k = (int32_t)table_number(&t, i, "cta_k"),
                                      .threads = (int32_t)table_number(&t, i, "threads"),
                                      .smem_bytes = (int32_t)table_number(&t, i, "smem_bytes"),
                                      .blocks_per_sm =
                                          (int32_t)table_number(&t, i, "blocks_per_sm"),
                                      .stages = 1,
                                      .raster = RASTER_N,
                                      .raster_group = 1,
                                      .split_k = 1};
        rows[i] = (struct accuracy_row){"all",
                                        predict_on(&a6000, &p, &traits, 0).time_ns,
                                        problem_flops(&p) / table_number(&t, i, "gflops"),
                                        NULL,
                                        0,
                                        0};
    }
    struct accuracy a = accuracy_of(rows, t.count);
    assert_true(a.mape < 0.12 && a.worst < 0.30 && a.tau > 0.95);
    free(rows);
    csv_free(&t);
}

// By hand, for a warp of 2 x 16 threads of a block of 16 x 16.
TEST(a_global_load_takes_a_clock_per_line)
{
    struct traits t = naive();
    struct problem p = fp32(16, 16, 1024);                 // one block: 8 warps
    assert_true(close_to(pipe_clk(&p, &t), 8 * 18, 1e-9)); // 2 rows of A, 16 of B
    p.layout = LAYOUT_NN;                                  // 16 columns of B in one line
    assert_true(close_to(pipe_clk(&p, &t), 8 * 3, 1e-9));
    p.layout = LAYOUT_TT; // 2 neighbours of A in one line
    assert_true(close_to(pipe_clk(&p, &t), 8 * 17, 1e-9));
    p.layout = LAYOUT_NT;
    assert_true(close_to(pipe_clk(&p, &t), 8 * 2, 1e-9));
}

// 256 threads read 16 floats a step, 256 floats are written, 256 rows of 32 bytes are loaded per 8.
TEST(shared_memory_passes_128_bytes_a_clock)
{
    struct traits t = tiled();
    struct problem p = fp32(128, 128, 1024);
    assert_true(close_to(pipe_clk(&p, &t), 128 + 8 + 32, 1e-9));
    t.tile_k = 32; // whole lines
    assert_true(close_to(pipe_clk(&p, &t), 128 + 8 + 8, 1e-9));
}

TEST(more_resident_blocks_hide_latency)
{
    struct problem p = fp32(4096, 4096, 1024);
    struct traits t = naive();
    double before = INFINITY;
    for (t.blocks_per_sm = 1; t.blocks_per_sm <= 8; t.blocks_per_sm *= 2) {
        double now = time_of(&p, &t);
        assert_true(now < before);
        before = now;
    }
    t.blocks_per_sm = 0; // found from threads and registers
    assert_true(time_of(&p, &t) == before);
    struct traits alone = tiled(), prefetching = tiled();
    alone.stages = 1;
    assert_true(time_of(&p, &alone) > time_of(&p, &prefetching));
}

TEST(the_branch_is_chosen_by_the_traits)
{
    struct problem p = fp32(1024, 1024, 1024);
    struct traits t = {0};
    struct gpu host = {.name = "host", .flops_clk_fp32 = {.value = 32}};
    struct predict_input in = {.gpu = gpu_find("h200-sxm"), .traits = &t, .problem = &p};
    assert_true(simt_applies(&in)); // FP32 has no tensor cores
    p.in = DTYPE_TF32;
    assert_false(simt_applies(&in));
    t.multiply = MULTIPLY_WGMMA;
    assert_false(simt_applies(&in));
    t.multiply = MULTIPLY_MMA;
    assert_true(simt_applies(&in));
    assert_true(simt_flops_clk(&in) < gpu_flops_clk(in.gpu, DTYPE_TF32));
    t.multiply = MULTIPLY_FMA;
    assert_true(simt_flops_clk(&in) == gpu_flops_clk(in.gpu, DTYPE_FP32));
    in.gpu = &host; // no registers, no shared memory
    assert_false(simt_applies(&in));
}

TEST(a_kernel_that_says_nothing_is_the_best_of_the_candidates)
{
    struct traits none = {0}, t;
    const int64_t sizes[][3] = {
        {4096, 4096, 4096}, {1024, 1024, 1024}, {64, 512, 512}, {64, 64, 65536}};
    for (size_t i = 0; i < ARRAY_COUNT(sizes); i++) {
        struct problem p = fp32(sizes[i][0], sizes[i][1], sizes[i][2]);
        double best = INFINITY;
        const struct candidate_set all = candidates_of(gpu_find("h200-sxm"), &p);
        for (size_t j = 0; j < all.count; j++) {
            assert_true(candidate(&t, &all, gpu_find("h200-sxm"), &p, j));
            best = fmin(best, time_of(&p, &t));
        }
        assert_true(time_of(&p, &none) == best);
    }
    none.tile_m = 16; // what is stated stays
    struct problem p = fp32(4096, 4096, 4096);
    double stated = time_of(&p, &none);
    none.tile_m = 0;
    assert_true(stated > time_of(&p, &none));
}

TEST(mma_sync_is_slower_than_wgmma)
{
    struct problem p = fp32(4096, 8192, 16384);
    p.in = DTYPE_TF32;
    struct traits wgmma = tiled();
    wgmma.multiply = MULTIPLY_WGMMA;
    wgmma.threads = 128, wgmma.registers = 180, wgmma.smem_bytes = 12288, wgmma.stages = 1;
    struct traits pipelined = {.tile_m = 128, .tile_n = 128, .stages = 4};
    struct traits mma = wgmma;
    mma.multiply = MULTIPLY_MMA;
    double measured = 14568.8e3; // baselines/recorded/h200/ladder/seed2.csv, tf32-2-shared-k8
    assert_true(time_of(&p, &mma) > 2 * time_of(&p, &pipelined));
    assert_true(fabs(time_of(&p, &mma) / measured - 1) < 0.25);
    struct traits direct = mma;
    direct.smem_bytes = 0;
    assert_true(time_of(&p, &direct) > time_of(&p, &mma));
}

// Of cuBLAS in BF16 on an A100 SXM, as published (gau-nernst/learn-cuda); nothing is fitted to
// them.
TEST(tensor_cores_before_hopper_are_met)
{
    const struct {
        int64_t side;
        double us, within;
    } rows[] = {{2048, 110.6, 0.25}, {4096, 558.0, 0.05}, {8192, 4199.5, 0.05}};
    const struct traits none = {0};
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        struct problem p = fp32(rows[i].side, rows[i].side, rows[i].side);
        p.in = p.out = DTYPE_BF16;
        double us = predict_on(gpu_find("a100-sxm"), &p, &none, 0).time_ns / 1e3;
        assert_true(fabs(us / rows[i].us - 1) < rows[i].within);
    }
}

// No warpgroup is set aside to load where threads load for themselves.
TEST(all_warps_multiply_where_threads_load)
{
    struct problem p = fp32(4096, 4096, 4096);
    p.in = p.out = DTYPE_BF16;
    const struct traits t = {.tile_m = 256,
                             .tile_n = 128,
                             .tile_k = 32,
                             .stages = 3,
                             .threads = 256,
                             .smem_bytes = 73728};
    assert_true(predict_on(gpu_find("a100-sxm"), &p, &t, 0).time_ns > 0);
}

// A tile from the command line tells its stages, and not the bytes of shared memory they take.
TEST(stages_of_tensor_cores_are_in_shared_memory)
{
    struct problem p = fp32(4096, 4096, 4096);
    p.in = p.out = DTYPE_BF16;
    struct traits t = {.tile_m = 256, .tile_n = 128, .tile_k = 32, .stages = 3, .threads = 256};
    const double said_ns = predict_on(gpu_find("a100-sxm"), &p, &t, 0).time_ns;
    t.smem_bytes = 3 * (256 + 128) * 32 * 2;
    assert_true(said_ns > 0);
    assert_true(said_ns == predict_on(gpu_find("a100-sxm"), &p, &t, 0).time_ns);
}

// Nor does a tile alone. Taken for a kernel that reads global memory at each step, it was 3.6 times
// as slow; so was one of two stages.
TEST(a_tile_of_tensor_cores_is_staged_if_nobody_says_how)
{
    struct problem p = fp32(4096, 4096, 4096);
    p.in = p.out = DTYPE_BF16;
    struct traits t = {.tile_m = 256, .tile_n = 128, .tile_k = 64, .threads = 256, .stages = 3};
    const double three_ns = predict_on(gpu_find("a100-sxm"), &p, &t, 0).time_ns;
    t.stages = 2;
    const double two_ns = predict_on(gpu_find("a100-sxm"), &p, &t, 0).time_ns;
    t.stages = 0;
    assert_true(predict_on(gpu_find("a100-sxm"), &p, &t, 0).time_ns == three_ns);
    assert_true(two_ns > three_ns && two_ns < 2 * three_ns);
    t.registers = 200; // of a kernel that was read, whose shared memory would be known
    assert_true(predict_on(gpu_find("a100-sxm"), &p, &t, 0).time_ns > 2 * three_ns);
}

// What copies fetch of a line counts, and not the line: slabs of half a line take as long as
// whole ones do.
TEST(half_a_line_is_half_the_work)
{
    struct problem p = fp32(8192, 8192, 8192);
    p.in = p.out = DTYPE_BF16;
    struct traits t = {.tile_m = 64, .tile_n = 64, .tile_k = 64, .stages = 4, .threads = 128};
    t.smem_bytes = 65536;
    const double whole = predict_on(gpu_find("a100-sxm"), &p, &t, 0).time_ns;
    t.tile_k = 32;
    t.smem_bytes = 32768;
    const double half = predict_on(gpu_find("a100-sxm"), &p, &t, 0).time_ns;
    assert_true(fabs(half / whole - 1) < 0.02);
}

// A slab of a library's is a whole line deep where tensor cores multiply and there is room.
TEST(slabs_are_as_deep_as_a_line_where_they_fit)
{
    const struct gpu *a100 = gpu_find("a100-sxm");
    struct problem p = fp32(4096, 4096, 4096);
    p.in = p.out = DTYPE_BF16;
    for (int fp32_too = 0; fp32_too < 2; fp32_too++) {
        const struct candidate_set all = candidates_of(a100, &p);
        for (size_t i = 0; i < all.count; i++) {
            struct traits t;
            assert_true(candidate(&t, &all, a100, &p, i));
            const bool fits = 3 * (t.tile_m + t.tile_n) * 128 <= a100->smem_bytes.value;
            assert_int_equal(t.tile_k * (int)dtype_bytes(p.in), !fp32_too && fits ? 128 : 64);
        }
        p.in = p.out = DTYPE_FP32;
    }
}

// A library splits K as often as it takes to fill the GPU.
TEST(a_library_splits_a_long_k)
{
    const struct traits none = {0};
    struct problem p = fp32(256, 256, 524288);
    double ns = predict_on(gpu_find("h100-sxm"), &p, &none, 0).time_ns;
    double peak_ns = problem_flops(&p) / (132 * 256 * 1.83e9) * 1e9;
    assert_true(ns > peak_ns && ns < 2 * peak_ns); // 3.4 times with eight parts
    const struct candidate_set all = candidates_of(gpu_find("h100-sxm"), &p);
    int32_t parts = 0;
    for (size_t i = 0; i < all.count; i++) {
        struct traits t;
        if (candidate(&t, &all, gpu_find("h100-sxm"), &p, i) && t.split_k > parts)
            parts = t.split_k;
    }
    assert_int_equal(parts, 64);
}

// cuBLASLt in FP32, recorded on an H100, launched back to back on sets of operands in turn: batches
// are not split, and stores of short products meet nobody's multiplications.
TEST(batches_of_a_library_are_met)
{
    static const struct {
        int64_t m, n, k;
        int32_t batch;
        double us;
    } rows[] = {{576, 128, 64, 28, 14.33},
                {896, 1152, 576, 50, 1180.3},
                {128, 128, 1600, 48, 89.98},
                {256, 64, 192, 108, 27.86}};
    const struct traits none = {0};
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        struct problem p = fp32(rows[i].m, rows[i].n, rows[i].k);
        p.batch = rows[i].batch;
        const struct predict_input in = {.gpu = gpu_find("h100-sxm"),
                                         .traits = &none,
                                         .problem = &p,
                                         .clock_hz = 1.98e9,
                                         .launches_together = 10};
        double us = model_find("hopper")->predict(&in).time_ns / 1e3;
        assert_true(fabs(us / rows[i].us - 1) < 0.2);
    }
}

// TF32 that lies along N: turned and multiplied by wgmma, or read as it lies by mma.sync.
TEST(a_library_turns_operands_only_where_that_is_faster)
{
    const struct gpu *gpu = gpu_find("h100-sxm");
    const struct traits none = {0};
    struct problem p = fp32(512, 256, 1024);
    p.in = DTYPE_TF32;
    p.layout = LAYOUT_NN;
    double best = INFINITY;
    const struct candidate_set all = candidates_mma();
    for (size_t i = 0; i < all.count; i++) {
        struct traits t;
        if (candidate(&t, &all, gpu, &p, i))
            best = fmin(best, predict_on(gpu, &p, &t, 0).time_ns);
    }
    assert_true(predict_on(gpu, &p, &none, 0).time_ns <= best);
    p.layout = LAYOUT_TN;
    assert_true(predict_on(gpu, &p, &none, 0).time_ns < best);
}

static uint32_t next(uint32_t *seed, uint32_t below)
{
    *seed = *seed * 1664525 + 1013904223;
    return (*seed >> 8) % below;
}

static struct traits any_traits(uint32_t *seed)
{
    struct traits t = next(seed, 2) ? naive() : tiled();
    t.tile_m = 16 << next(seed, 4);
    t.tile_n = 16 << next(seed, 4);
    t.tile_k = 1 << next(seed, 6);
    t.stages = (int32_t)next(seed, 4) + 1;
    t.threads = 64 << next(seed, 4);
    t.smem_bytes = next(seed, 2) ? 8448 : 0;
    t.registers = 0;
    t.blocks_per_sm = (int32_t)next(seed, 3);
    t.multiply = next(seed, 2) ? MULTIPLY_FMA : MULTIPLY_MMA;
    return t;
}

static struct problem any_problem(uint32_t *seed, const struct traits *t)
{
    struct problem p = fp32(1 + next(seed, 5000), 1 + next(seed, 5000), 1 + next(seed, 5000));
    p.layout = (enum layout)next(seed, 4);
    p.in = t->multiply == MULTIPLY_MMA ? DTYPE_TF32 : DTYPE_FP32;
    return p;
}

TEST(time_grows_with_each_dimension)
{
    uint32_t seed = 11;
    for (int i = 0; i < 20000; i++) {
        struct traits t = any_traits(&seed);
        struct problem p = any_problem(&seed, &t), larger = p;
        int64_t *dimension = (int64_t *[]){&larger.m, &larger.n, &larger.k}[i % 3];
        *dimension += 1 + next(&seed, 1000);
        assert_true(time_of(&larger, &t) >= time_of(&p, &t) * (1 - 1e-12));
    }
}

TEST(a_faster_clock_is_never_slower_and_the_exponent_is_its_slope)
{
    uint32_t seed = 12;
    for (int i = 0; i < 5000; i++) {
        struct traits t = any_traits(&seed);
        struct problem p = any_problem(&seed, &t);
        double clock = 1e9 + 1e5 * next(&seed, 10000);
        struct prediction slow = predict_on(gpu_find("h200-sxm"), &p, &t, clock);
        struct prediction fast = predict_on(gpu_find("h200-sxm"), &p, &t, clock * (1 + 1e-6));
        assert_true(fast.time_ns <= slow.time_ns);
        double slope = log(fast.time_ns / slow.time_ns) / 1e-6;
        assert_true(fabs(slope - slow.clock_exponent) < 1e-3);
        double sum = 0;
        for (size_t j = 0; j < slow.part_count; j++)
            sum += slow.parts[j].time_ns;
        assert_true(close_to(sum, slow.time_ns, 1e-12));
    }
}

TEST(no_prediction_beats_the_roofline)
{
    uint32_t seed = 13;
    for (int i = 0; i < 20000; i++) {
        struct traits t = any_traits(&seed);
        struct problem p = any_problem(&seed, &t);
        const struct predict_input in = {
            .gpu = gpu_find("h200-sxm"), .traits = &t, .problem = &p, .clock_hz = 1.98e9};
        assert_true(time_of(&p, &t) > model_find("sol")->predict(&in).time_ns);
    }
}

// Where one resource is scarce and the others are plenty, the time is that resource's.
TEST(the_roofline_is_the_limit)
{
    struct traits t = tiled();
    t.stages = 3;
    t.tile_m = t.tile_n = 256; // 256 outputs a thread: loads hardly count
    t.threads = 256, t.registers = 0, t.blocks_per_sm = 1;
    struct problem compute = fp32(256 * 66, 256 * 64, 65536);
    struct problem memory = fp32(256 * 132, 256, 65536), stores = fp32(256 * 132, 256 * 16, 8);
    struct gpu gpu = *gpu_find("h200-sxm");
    gpu.smem_bytes_clk.value = 1e9;
    gpu.l2_bytes_clk.value = gpu.l2_latency_clk.value = gpu.dram_latency_clk.value = 0;
    struct predict_input in = {.gpu = &gpu, .traits = &t, .problem = &compute, .clock_hz = 1.9e9};
    double ratio =
        predict_on(&gpu, &compute, &t, 1.9e9).time_ns / model_find("sol")->predict(&in).time_ns;
    assert_true(ratio > 1 &&
                ratio < 1.15 / 0.9); // of the multipliers, asynchronous copies reach 0.9
    gpu.dram_bytes_s.value /= 1000;
    in.problem = &memory;
    struct prediction slow = predict_on(&gpu, &memory, &t, 1.9e9);
    ratio = slow.time_ns / model_find("sol")->predict(&in).time_ns;
    assert_true(ratio >= 1 && ratio < 1.1); // of DRAM's rate kernels reach 0.92
    assert_int_equal(slow.bound, BOUND_MEMORY);
    in.problem = &stores; // the last of 16 waves is paid for again at the end
    ratio = predict_on(&gpu, &stores, &t, 1.9e9).time_ns / model_find("sol")->predict(&in).time_ns;
    assert_true(ratio >= 1 && ratio < 1.05 + 1 / (16 * 0.597));
}
