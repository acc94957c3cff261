// SPDX-License-Identifier: Apache-2.0
//
// Every model either counts an epilogue, a layout or block scales, or says that it does not know
// it.
#include "model/predict.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <string.h>

static const struct traits tile = {
    .tile_m = 128, .tile_n = 128, .tile_k = 64, .threads = 384, .persistent = 1};

static struct problem plain(void)
{
    return (struct problem){
        .m = 4096, .n = 4096, .k = 4096, .in = DTYPE_BF16, .out = DTYPE_BF16, .batch = 1};
}

static struct prediction ask(const struct model *model, const struct problem *plain, int32_t scales)
{
    struct problem p = *plain;
    p.scales =
        (struct block_scales){.vector = scales, .rows_a = 1, .rows_b = 1, .type = DTYPE_E8M0};
    const struct predict_input in = {
        .gpu = gpu_find("h200-sxm"), .traits = &tile, .problem = &p, .clock_hz = 1.6e9};
    return model->predict(&in);
}

TEST(a_second_product_costs_or_is_refused)
{
    size_t counted = 0;
    for (size_t i = 0; i < model_count; i++) {
        struct problem p = plain();
        double once = ask(models[i], &p, 0).time_ns;
        p.epilogue = EPILOGUE_DUAL_SILU;
        struct prediction dual = ask(models[i], &p, 0);
        if (dual.feasible)
            assert_true(dual.time_ns > 1.5 * once), counted++;
        else
            assert_non_null(strstr(dual.why, "epilogue"));
    }
    assert_int_equal(counted, 2); // sol and hopper
}

TEST(block_scales_cost_or_are_refused)
{
    size_t counted = 0;
    for (size_t i = 0; i < model_count; i++) {
        struct problem p = plain();
        p.k = 64, p.m = 65536; // bound by memory
        double without = ask(models[i], &p, 0).time_ns;
        struct prediction scaled = ask(models[i], &p, 2);
        if (scaled.feasible)
            assert_true(scaled.time_ns > without), counted++;
        else
            assert_non_null(strstr(scaled.why, "scales"));
    }
    assert_int_equal(counted, 3); // sol, ws-persistent, hopper
}

TEST(a_transposition_costs_or_is_refused)
{
    struct problem p = plain();
    p.in = DTYPE_TF32, p.out = DTYPE_FP32;
    struct prediction tn = ask(model_find("hopper"), &p, 0);
    p.layout = LAYOUT_NN;
    struct prediction nn = ask(model_find("hopper"), &p, 0);
    // 39.5 us measured at this size (recorded/h200/ladder/nn.ncu.txt).
    assert_true(fabs((nn.time_ns - tn.time_ns) / 39.5e3 - 1) < 0.15);
    static const char *const refusing[] = {"ws-persistent", "ws-pipeline", "deepgemm"};
    for (size_t i = 0; i < ARRAY_COUNT(refusing); i++)
        assert_non_null(strstr(ask(model_find(refusing[i]), &p, 0).why, "layout"));
    p = plain(); // wgmma reads either way of 2-byte types
    double k_major = ask(model_find("hopper"), &p, 0).time_ns;
    p.layout = LAYOUT_NN;
    assert_true(ask(model_find("hopper"), &p, 0).time_ns == k_major);
}

TEST(what_is_no_gemm_has_no_model)
{
    struct problem p;
    struct error err;
    assert_int_equal(problem_parse(&p, "S=4096,H=128:bf16", &err), 0);
    for (size_t i = 0; i < model_count; i++) {
        const struct prediction none = ask(models[i], &p, 0);
        assert_false(none.feasible);
        assert_non_null(strstr(none.why, "no model"));
        assert_true(none.time_ns == 0);
    }
}

TEST(groups_and_a_c_that_is_read_cost_or_are_refused)
{
    static const char *const texts[] = {"4096x4096x64:bf16:contiguous8",
                                        "4096x4096x64:bf16:beta=1"};
    for (size_t t = 0; t < ARRAY_COUNT(texts); t++) {
        size_t counted = 0;
        for (size_t i = 0; i < model_count; i++) {
            struct problem p = plain(), form;
            struct error err;
            p.k = 64;
            const double without = ask(models[i], &p, 0).time_ns;
            assert_int_equal(problem_parse(&form, texts[t], &err), 0);
            const struct prediction with = ask(models[i], &form, 0);
            counted += with.feasible;
            if (with.feasible)
                assert_true(with.time_ns > without);
            else
                assert_non_null(strstr(with.why, t ? "beta" : "groups"));
        }
        assert_int_equal(counted, t ? 1 : 2); // sol, and of groups hopper
    }
}
