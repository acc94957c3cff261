// SPDX-License-Identifier: Apache-2.0
//
// Names of the configuration space, read back into rows.
#include "kernels/sweep/times.h"
#include "tests/helpers/test.h"

#include <string.h>

TEST(test_traits_are_those_of_the_name)
{
    struct sweep_row row;
    assert_true(sweep_row_parse(&row, "e4m3-128x96-w2x1-k4-s5-m8-promote-split"));
    assert_string_equal(row.kind, "e4m3-promoted");
    assert_int_equal(row.traits.in_type, PLUMB_E4M3);
    assert_int_equal(row.traits.out_type, PLUMB_BF16);
    assert_int_equal(row.traits.tile_m, 128);
    assert_int_equal(row.traits.tile_n, 96);
    assert_int_equal(row.traits.tile_k, 128);
    assert_int_equal(row.traits.split_k, 4);
    assert_int_equal(row.traits.stages, 5);
    assert_int_equal(row.traits.blocks_per_sm, 1);
}

TEST(test_block_scales_are_a_kind_of_their_own_and_take_shared_memory)
{
    struct sweep_row row;
    assert_true(sweep_row_parse(&row, "e4m3-128x160-w2x1-c2x1-s5-e2-m8-scaled"));
    assert_string_equal(row.kind, "e4m3-scaled");
    assert_int_equal(row.traits.tile_k, 128);
    assert_true(sweep_row_parse(&row, "e4m3-64x64-w1x1-c1x1-s5-e2-m8-twin_scaled"));
    assert_string_equal(row.kind, "e4m3-scaled");
    assert_int_equal(row.traits.blocks_per_sm, 2);
    assert_true(sweep_row_parse(&row, "e4m3-64x64-w1x1-k2-s5-m8-scaled-split"));
    assert_int_equal(row.traits.blocks_per_sm, 2);
    assert_false(sweep_row_parse(&row, "bf16-128x128-w2x1-c1x1-s5-e2-m8-scaled"));
}

TEST(test_a_dual_row_is_of_its_own_kind_and_its_tile_is_of_c)
{
    struct sweep_row row;
    assert_true(sweep_row_parse(&row, "bf16-64x64-w1x1-c1x1-s4-e2-m8-twin-dual"));
    assert_string_equal(row.kind, "bf16-dual");
    assert_int_equal(row.traits.tile_n, 64);
    assert_int_equal(row.traits.blocks_per_sm, 2);
    assert_true(sweep_row_parse(&row, "bf16-64x64-w1x1-k2-s8-e2-m8-split-dual"));
    assert_int_equal(row.traits.blocks_per_sm, 1);
    assert_false(sweep_row_parse(&row, "tf32-64x64-w1x1-c1x1-s4-e2-m8-twin-dual"));
}

TEST(test_a_wide_row_has_twice_the_k_of_others_per_stage)
{
    struct sweep_row row;
    assert_true(sweep_row_parse(&row, "bf16-64x64-w1x1-c1x1-s10-e2-m8-coop"));
    assert_int_equal(row.traits.tile_k, 64);
    assert_true(sweep_row_parse(&row, "bf16-64x64-w1x1-c1x1-s6-e2-m8-wide"));
    assert_int_equal(row.traits.tile_k, 128);
}

TEST(test_rows_for_one_row_of_a_are_of_both_kinds_of_fp8)
{
    struct sweep_row row;
    assert_true(sweep_row_parse(&row, "e4m3-gemv"));
    assert_string_equal(row.kind, "e4m3");
    assert_int_equal(row.traits.tile_m, 1);
    assert_int_equal(row.traits.tile_n, 16);
    assert_int_equal(row.traits.tile_k, 1024);
    assert_int_equal(row.traits.blocks_per_sm, 4);
    assert_true(sweep_row_parse(&row, "e4m3-gemv-promote"));
    assert_string_equal(row.kind, "e4m3-promoted");
    assert_true(sweep_row_parse(&row, "e4m3-16x64-w1x1-c1x1-s8-n8-promote_twin-swapped"));
    assert_string_equal(row.kind, "e4m3-promoted");
    assert_int_equal(row.traits.blocks_per_sm, 2);
}

TEST(test_split_rows_that_fit_twice_have_two_blocks_per_sm)
{
    struct sweep_row row;
    assert_true(sweep_row_parse(&row, "bf16-64x64-w1x1-k2-s5-m8-split"));
    assert_int_equal(row.traits.blocks_per_sm, 2);
    assert_true(sweep_row_parse(&row, "bf16-64x64-w1x1-k2-s10-m8-split"));
    assert_int_equal(row.traits.blocks_per_sm, 1);
    assert_true(sweep_row_parse(&row, "bf16-32x64-w1x1-k4-s8-n8-swapped-split"));
    assert_int_equal(row.traits.blocks_per_sm, 2);
    assert_true(sweep_row_parse(&row, "bf16-64x64-w1x1-k2-s12-n8-swapped-split"));
    assert_int_equal(row.traits.blocks_per_sm, 1);
    assert_true(sweep_row_parse(&row, "bf16-64x64-w1x1-c1x1-s5-e2-m8-twin-stream"));
    assert_int_equal(row.traits.blocks_per_sm, 2);
    assert_int_equal(row.traits.split_k, -1);
}

TEST(test_other_names_are_no_rows)
{
    static const char *const names[] = {"",
                                        "cublaslt#0",
                                        "select-bf16",
                                        "bf16-persistent",
                                        "bf16-128x256",
                                        "bf16-gemv-promote",
                                        "e4m3-gemv-twice",
                                        "int8-128x256-w2x1-c2x1-s4-e2-m16-coop",
                                        "bf16-128x256x2-w2x1-c2x1-s4-e2-m16-coop",
                                        "bf16-128x256-w2x1-c2x1-s4-e2-m16-amodethatistoolong",
                                        ("bf16-128x256-w2x1-c2x1-s4-e2-m16-coop-and-a-name-that-is-"
                                         "longer-than-any-row-can-be")};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct sweep_row row;
        assert_false(sweep_row_parse(&row, names[i]));
    }
}
