// SPDX-License-Identifier: Apache-2.0
//
// Names of the configuration space, read back into rows and macros.
#include "kernels/sweep/rows.h"
#include "tests/helpers/test.h"

#include <string.h>

static void prints(const char *name, const char *expected)
{
    struct sweep_row row;
    char text[256];
    assert_true(sweep_row_parse(&row, name));
    sweep_row_print(text, sizeof text, &row);
    assert_string_equal(text, expected);
}

static void test_names_become_the_macros_that_make_them(void **state)
{
    prints("bf16-128x256-w2x1-c2x1-s4-e2-m16-coop",
           "ROW(type, 128, 256, 2, 1, 2, 1, 4, 2, m, 16, coop)");
    prints("tf32-64x112-w1x1-k4-s3-m8-split", "SPLIT_ROW(type, 64, 112, 1, 1, 4, 3, m, 8)");
    prints("e4m3-64x64-w1x1-k2-s10-m8-promote-split",
           "SPLIT_PROMOTED_ROW(type, 64, 64, 1, 1, 2, 10, m, 8)");
    prints("bf16-64x64-w1x1-c1x1-s5-e2-m8-twin-stream",
           "STREAM_ROW(type, 64, 64, 1, 1, 1, 1, 5, 2, m, 8, twin)");
    prints("e4m3-16x64-w1x1-c1x1-s8-n8-twin-swapped",
           "SWAPPED_ROW(type, 16, 64, 1, 1, 1, 1, 8, n, 8, twin)");
    prints("bf16-32x64-w1x1-k4-s8-n8-swapped-split",
           "SWAPPED_SPLIT_ROW(type, 32, 64, 1, 1, 4, 8, n, 8)");
    prints("tf32-64x96-w1x1-c1x1-s5-e2-m8-wide", "ROW(type, 64, 96, 1, 1, 1, 1, 5, 2, m, 8, wide)");
    prints("bf16-64x64-w1x1-s10-m8-coop-spread", "SPREAD_ROW(type, 64, 64, 1, 1, 10, m, 8, coop)");
    prints("e4m3-16x64-w1x1-s16-n8-promote-swapped-spread",
           "SWAPPED_SPREAD_ROW(type, 16, 64, 1, 1, 16, n, 8, promote)");
    prints("bf16-64x64-w1x1-c1x1-s4-e2-m4-wide-brief",
           "BRIEF_ROW(type, 64, 64, 1, 1, 1, 1, 4, 2, m, 4, wide)");
    prints("e4m3-32x64-w1x1-k2-s8-n8-promote-swapped-split",
           "SWAPPED_SPLIT_PROMOTED_ROW(type, 32, 64, 1, 1, 2, 8, n, 8)");
    prints("e4m3-16x64-w1x1-c1x1-s8-n8-promote_twin-swapped",
           "SWAPPED_ROW(type, 16, 64, 1, 1, 1, 1, 8, n, 8, promote_twin)");
    prints("bf16-gemv", "GEMV_ROW(type)");
    prints("bf16-gemv-dual", "DUAL_GEMV_ROW(type)");
    prints("bf16-128x96-w2x1-c1x2-s5-e1-m8-coop-dual",
           "DUAL_ROW(type, 128, 96, 2, 1, 1, 2, 5, 1, m, 8, coop)");
    prints("bf16-128x128-w2x1-k2-s4-e2-m8-split-dual",
           "DUAL_SPLIT_ROW(type, 128, 128, 2, 1, 2, 4, 2, m, 8)");
    prints("bf16-64x64-w1x1-c1x1-s8-e2-m8-coop-stream-dual",
           "DUAL_STREAM_ROW(type, 64, 64, 1, 1, 1, 1, 8, 2, m, 8, coop)");
    prints("bf16-16x64-w1x1-c1x1-s5-n8-twin-stream-swapped-dual",
           "DUAL_SWAPPED_STREAM_ROW(type, 16, 64, 1, 1, 1, 1, 5, n, 8, twin)");
    prints("bf16-16x64-w1x1-k4-s9-n8-swapped-split-dual",
           "DUAL_SWAPPED_SPLIT_ROW(type, 16, 64, 1, 1, 4, 9, n, 8)");
    prints("e4m3-gemv-promote", "GEMV_PROMOTED_ROW(type)");
    prints("e4m3-128x160-w2x1-c2x1-s5-e2-m8-scaled",
           "SCALED_ROW(type, 128, 160, 2, 1, 2, 1, 5, 2, m, 8, scaled)");
    prints("e4m3-64x64-w1x1-c1x1-s5-e2-m8-twin_scaled",
           "SCALED_ROW(type, 64, 64, 1, 1, 1, 1, 5, 2, m, 8, twin_scaled)");
    prints("e4m3-64x64-w1x1-k4-s5-m8-scaled-split",
           "SCALED_SPLIT_ROW(type, 64, 64, 1, 1, 4, 5, m, 8)");
}

static void test_traits_are_those_of_the_name(void **state)
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

static void test_block_scales_are_a_kind_of_their_own_and_take_shared_memory(void **state)
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

static void test_a_dual_row_is_of_its_own_kind_and_its_tile_is_of_c(void **state)
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

static void test_a_wide_row_has_twice_the_k_of_others_per_stage(void **state)
{
    struct sweep_row row;
    assert_true(sweep_row_parse(&row, "bf16-64x64-w1x1-c1x1-s10-e2-m8-coop"));
    assert_int_equal(row.traits.tile_k, 64);
    assert_true(sweep_row_parse(&row, "bf16-64x64-w1x1-c1x1-s6-e2-m8-wide"));
    assert_int_equal(row.traits.tile_k, 128);
}

static void test_rows_for_one_row_of_a_are_of_both_kinds_of_fp8(void **state)
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

static void test_split_rows_that_fit_twice_have_two_blocks_per_sm(void **state)
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

static void test_other_names_are_no_rows(void **state)
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
                                        "bf16-128x256-w2x1-c2x1-s4-e2-m16-coop-and-a-name-that-is-"
                                        "longer-than-any-row-can-be"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct sweep_row row;
        assert_false(sweep_row_parse(&row, names[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_become_the_macros_that_make_them),
        cmocka_unit_test(test_traits_are_those_of_the_name),
        cmocka_unit_test(test_block_scales_are_a_kind_of_their_own_and_take_shared_memory),
        cmocka_unit_test(test_a_dual_row_is_of_its_own_kind_and_its_tile_is_of_c),
        cmocka_unit_test(test_a_wide_row_has_twice_the_k_of_others_per_stage),
        cmocka_unit_test(test_rows_for_one_row_of_a_are_of_both_kinds_of_fp8),
        cmocka_unit_test(test_split_rows_that_fit_twice_have_two_blocks_per_sm),
        cmocka_unit_test(test_other_names_are_no_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
