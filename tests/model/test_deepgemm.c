// SPDX-License-Identifier: Apache-2.0
//
// Scores and groups equal DeepGEMM's own.
#include "model/predict.h"
#include "model/predict/parts/select.h"
#include "tests/helpers/helper_table.h"
#include "tests/helpers/test.h"

#include <stdlib.h>

TEST(scores_equal_deepgemm)
{
    struct csv t = table_read("conformance_deepgemm_score.csv");
    for (size_t i = 0; i < t.count; i++) {
        struct problem p = {.m = (int64_t)table_number(&t, i, "m"),
                            .n = (int64_t)table_number(&t, i, "n"),
                            .k = (int64_t)table_number(&t, i, "k"),
                            .in = DTYPE_BF16,
                            .out = DTYPE_BF16,
                            .batch = 1};
        struct deepgemm_layout l = {.block_m = (int32_t)table_number(&t, i, "block_m"),
                                    .block_n = (int32_t)table_number(&t, i, "block_n"),
                                    .cluster_m = (int32_t)table_number(&t, i, "cluster_m"),
                                    .cluster_n = (int32_t)table_number(&t, i, "cluster_n")};
        struct deepgemm_score s;
        assert_null(deepgemm_score(&s, &p, &l, false, (int32_t)table_number(&t, i, "num_sms")));
        const struct {
            const char *column;
            int64_t value;
        } exact[] = {{"num_blocks", s.blocks},
                     {"num_waves", s.waves},
                     {"last_wave_util", s.last_wave},
                     {"l2_bytes_per_cycle", s.l2_bytes_clk},
                     {"l1_bytes_per_cycle", s.l1_bytes_clk},
                     {"num_bytes_l2_ab", s.l2_ab},
                     {"num_bytes_l1_ab", s.l1_ab},
                     {"num_bytes_l1_tc", s.l1_tc},
                     {"num_bytes_cd", s.cd},
                     {"num_l2_cycles", s.l2_cycles},
                     {"num_l1_cycles", s.l1_cycles}};
        for (size_t j = 0; j < ARRAY_COUNT(exact); j++)
            assert_int_equal(exact[j].value, (int64_t)table_number(&t, i, exact[j].column));
        assert_true(close_to(s.wave_efficiency, table_number(&t, i, "wave_efficiency"), 1e-12));
        assert_true(llabs(s.cycles - (int64_t)table_number(&t, i, "num_cycles")) <= 1);
    }
    csv_free(&t);
}

TEST(groups_equal_deepgemm)
{
    struct csv t = table_read("conformance_deepgemm_group.csv");
    for (size_t i = 0; i < t.count; i++) {
        int32_t bm = (int32_t)table_number(&t, i, "block_m");
        int32_t bn = (int32_t)table_number(&t, i, "block_n");
        int32_t sms = (int32_t)table_number(&t, i, "num_sms");
        struct deepgemm_group b = deepgemm_group(bm, bn, sms, false);
        struct deepgemm_group a = deepgemm_group(bm, bn, sms, true);
        assert_int_equal(b.usage, (int64_t)table_number(&t, i, "multicast_on_b_usage"));
        assert_int_equal(b.blocks, (int)table_number(&t, i, "multicast_on_b_blocks_per_group"));
        assert_int_equal(a.usage, (int64_t)table_number(&t, i, "multicast_on_a_usage"));
        assert_int_equal(a.blocks, (int)table_number(&t, i, "multicast_on_a_blocks_per_group"));
    }
    csv_free(&t);
}

TEST(layouts_it_would_not_use_are_infeasible)
{
    struct problem p = {
        .m = 4096, .n = 4096, .k = 4096, .in = DTYPE_BF16, .out = DTYPE_BF16, .batch = 1};
    const struct deepgemm_layout bad[] = {{256, 256, 1, 1, 0}, {128, 128, 2, 2, 0},
                                          {128, 128, 1, 1, 3}, {128, 256, 1, 1, 2},
                                          {0, 128, 1, 1, 0},   {128, 128, 0, 1, 0}};
    struct deepgemm_score s;
    for (size_t i = 0; i < ARRAY_COUNT(bad); i++)
        assert_non_null(deepgemm_score(&s, &p, &bad[i], false, 132));
    const struct deepgemm_layout multicast = {128, 128, 2, 1, 0};
    p.m = p.n = 1024; // one wave
    assert_non_null(deepgemm_score(&s, &p, &multicast, false, 132));
    p.m = p.n = p.k = INT32_MAX;
    assert_non_null(deepgemm_score(&s, &p, &multicast, false, 132)); // would overflow
}

TEST(the_score_prefers_wide_tiles)
{
    struct problem p = {
        .m = 4096, .n = 4096, .k = 4096, .in = DTYPE_BF16, .out = DTYPE_BF16, .batch = 1};
    struct traits wide = {.tile_m = 128, .tile_n = 256, .cluster_m = 2, .cluster_n = 1};
    struct traits square = {.tile_m = 128, .tile_n = 128, .cluster_m = 1, .cluster_n = 2};
    struct predict_input in = {.gpu = gpu_find("h200-sxm"), .traits = &wide, .problem = &p};
    double first = model_find("deepgemm")->predict(&in).time_ns;
    in.traits = &square;
    assert_true(first < model_find("deepgemm")->predict(&in).time_ns);
}
