// SPDX-License-Identifier: Apache-2.0
//
// The model `ws-persistent` equals seed 0 in every row and every wave.
#include "model/predict/ws_pipeline.h"
#include "tests/helpers/helper_deepseek.h"
#include "tests/helpers/helper_table.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// A row of the contract's columns as model input.
struct row_input {
    struct problem problem;
    struct traits traits;
    struct predict_input input;
};

static void read_row(struct row_input *out, const struct csv *t, size_t row)
{
    memset(out, 0, sizeof(*out));
    out->problem.m = (int64_t)table_number(t, row, "m");
    out->problem.n = (int64_t)table_number(t, row, "n");
    out->problem.k = (int64_t)table_number(t, row, "k");
    out->problem.batch = 1;
    assert_int_equal(dtype_parse(&out->problem.in, table_text(t, row, "in_dtype")), 0);
    assert_int_equal(dtype_parse(&out->problem.out, table_text(t, row, "out_dtype")), 0);
    out->traits.tile_m = (int32_t)table_number(t, row, "cta_m");
    out->traits.tile_n = (int32_t)table_number(t, row, "cta_n");
    out->traits.cluster_m = (int32_t)table_number(t, row, "cluster_m");
    out->traits.cluster_n = (int32_t)table_number(t, row, "cluster_n");
    out->input = (struct predict_input){
        .gpu = gpu_find("b200-1300"), .traits = &out->traits, .problem = &out->problem};
    struct block_scales *scales = &out->problem.scales;
    scales->vector = (int32_t)table_number(t, row, "sf_vec_size");
    scales->rows_a = scales->rows_b = 1;
    if (scales->vector)
        assert_int_equal(dtype_parse(&scales->type, table_text(t, row, "sf_dtype")), 0);
}

TEST(predictions_equal_seed_0)
{
    struct csv t = table_read("conformance_ws_persistent.csv");
    const struct model *ws = model_find("ws_persistent"), *sol = model_find("sol");
    for (size_t row = 0; row < t.count; row++) {
        struct row_input r;
        read_row(&r, &t, row);
        double none = table_number(&t, row, "runtime_us_l2hit_0") * 1e3;
        assert_true(close_to(ws->predict(&r.input).time_ns, none, 1e-12));
        r.input.l2_hit_rate = 0.4;
        double some = table_number(&t, row, "runtime_us_l2hit_0p4") * 1e3;
        assert_true(close_to(ws->predict(&r.input).time_ns, some, 1e-12));
        struct prediction s = sol->predict(&r.input);
        assert_true(close_to(s.time_ns, table_number(&t, row, "sol_us") * 1e3, 1e-12));
        bool math = strcmp(table_text(&t, row, "sol_bound"), "MATH") == 0;
        assert_int_equal(s.bound, math ? BOUND_COMPUTE : BOUND_MEMORY);
    }
    csv_free(&t);
}

static void check_wave(const struct csv *t, size_t row, const struct ws_wave *w, const char *which)
{
    const char *const parts[] = {"dma", "math", "epilogue"};
    const double values[] = {w->dma_ns, w->math_ns, w->epilogue_ns};
    for (size_t i = 0; i < 3; i++) {
        char column[64];
        snprintf(column, sizeof(column), "%s_wave_%s_us", which, parts[i]);
        if (table_has(t, row, column))
            assert_true(close_to(values[i], table_number(t, row, column) * 1e3, 1e-12));
    }
}

TEST(breakdown_equals_seed_0)
{
    struct csv t = table_read("conformance_ws_persistent.csv");
    for (size_t row = 0; row < t.count; row++) {
        struct row_input r;
        read_row(&r, &t, row);
        struct ws_breakdown b;
        assert_null(ws_persistent(&b, &r.input));
        check_wave(&t, row, b.full_waves ? &b.full : &b.last, "first");
        check_wave(&t, row, &b.last, "last");
        if (table_has(&t, row, "tiles_ctas"))
            assert_int_equal(b.tiles, (int64_t)table_number(&t, row, "tiles_ctas"));
        if (table_has(&t, row, "full_waves"))
            assert_int_equal(b.full_waves, (int64_t)table_number(&t, row, "full_waves"));
        if (table_has(&t, row, "first_dma_us"))
            assert_true(
                close_to(b.first_dma_ns, table_number(&t, row, "first_dma_us") * 1e3, 1e-12));
        if (table_has(&t, row, "limiter"))
            assert_string_equal(ws_limiter_name((b.full_waves ? b.full : b.last).limiter),
                                table_text(&t, row, "limiter"));
    }
    csv_free(&t);
}

// The parts add up, the analytic clock exponent is the numerical one, nothing is NaN, and a floor
// stays a floor, over the whole published sweep.
TEST(sweep_is_consistent)
{
    const struct model *ws = model_find("ws-persistent");
    assert_int_equal(deepseek_v3_shape_count, 40);
    assert_int_equal(sweep_tile_count * sweep_cluster_count * deepseek_v3_shape_count, 640);
    for (size_t i = 0; i < deepseek_v3_shape_count * sweep_tile_count; i++) {
        const struct shape *s = &deepseek_v3_shapes[i / sweep_tile_count];
        struct problem p = {
            .m = s->m, .n = s->n, .k = s->k, .in = DTYPE_FP16, .out = DTYPE_FP16, .batch = 1};
        struct traits traits = {.tile_m = sweep_tiles[i % sweep_tile_count].tile_m,
                                .tile_n = sweep_tiles[i % sweep_tile_count].tile_n,
                                .cluster_m = 2,
                                .cluster_n = 1};
        struct predict_input in = {.gpu = gpu_find("b200-1300"), .traits = &traits, .problem = &p};
        struct prediction out = ws->predict(&in);
        assert_true(out.feasible && isfinite(out.time_ns) && out.time_ns > 0);
        double sum = 0;
        for (size_t j = 0; j < out.part_count; j++)
            sum += out.parts[j].time_ns;
        assert_true(close_to(sum, out.time_ns, 1e-12));
        in.clock_hz = 1.3e9 * (1 + 1e-7);
        double slope = log(ws->predict(&in).time_ns / out.time_ns) / log(1 + 1e-7);
        assert_true(fabs(slope - out.clock_exponent) < 1e-5);
    }
}

TEST(impossible_inputs_are_infeasible_with_a_reason)
{
    const struct model *ws = model_find("ws-persistent");
    struct problem p = {
        .m = 128, .n = 128, .k = 64, .in = DTYPE_FP16, .out = DTYPE_FP16, .batch = 1};
    const struct traits bad[] = {{.tile_m = -1},
                                 {.tile_n = 4096},
                                 {.cluster_m = 16, .cluster_n = 16},
                                 {.cluster_m = -2},
                                 {.cluster_m = INT32_MAX, .cluster_n = INT32_MAX}};
    for (size_t i = 0; i < ARRAY_COUNT(bad); i++) {
        struct predict_input in = {.gpu = gpu_find("b200-1300"), .traits = &bad[i], .problem = &p};
        struct prediction out = ws->predict(&in);
        assert_false(out.feasible);
        assert_non_null(out.why);
    }
    struct traits plain = {0};
    struct predict_input in = {.gpu = gpu_find("b200-1300"), .traits = &plain, .problem = &p};
    in.l2_hit_rate = NAN;
    assert_false(ws->predict(&in).feasible);
    in.l2_hit_rate = 0;
    p.in = DTYPE_FP64;
    assert_false(ws->predict(&in).feasible);
}

TEST(the_largest_problem_has_a_finite_time)
{
    struct problem p = {.m = INT32_MAX,
                        .n = INT32_MAX,
                        .k = INT32_MAX,
                        .in = DTYPE_FP16,
                        .out = DTYPE_FP32,
                        .batch = 65535};
    struct traits traits = {.tile_m = 1, .tile_n = 1};
    struct predict_input in = {.gpu = gpu_find("b200-1300"), .traits = &traits, .problem = &p};
    struct prediction out = model_find("ws-persistent")->predict(&in);
    assert_true(!out.feasible || (isfinite(out.time_ns) && out.time_ns > 0));
}
