// SPDX-License-Identifier: Apache-2.0
//
// Stream-K's grid and time against the published form.
#include "model/predict/parts/streamk.h"
#include "tests/helpers/helper_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct streamk_shape shape(int64_t m, int64_t n, int64_t k, int32_t tm, int32_t tn,
                                  int32_t tk)
{
    struct problem p = {.m = m, .n = n, .k = k, .in = DTYPE_FP16, .out = DTYPE_FP16, .batch = 1};
    return streamk_shape(&p, tm, tn, tk);
}

static void times_equal_the_published_form(void **state)
{
    (void)state;
    struct csv t = table_read("conformance_streamk.csv");
    for (size_t row = 0; row < t.count; row++) {
        struct streamk_shape s =
            shape((int64_t)table_number(&t, row, "M"), (int64_t)table_number(&t, row, "N"),
                  (int64_t)table_number(&t, row, "K"), (int32_t)table_number(&t, row, "mt_m"),
                  (int32_t)table_number(&t, row, "mt_n"), (int32_t)table_number(&t, row, "mt_k"));
        struct streamk_time time =
            streamk_time(&s, (int64_t)table_number(&t, row, "g"), &streamk_published_cost);
        assert_int_equal(s.tiles, (int64_t)table_number(&t, row, "output_tiles"));
        assert_int_equal(s.iterations, (int64_t)table_number(&t, row, "iters_per_tile"));
        assert_int_equal(time.iterations_per_block,
                         (int64_t)table_number(&t, row, "iters_per_cta"));
        assert_int_equal(time.peers, (int64_t)table_number(&t, row, "fixup_peers"));
        assert_true(close_to(time.time, table_number(&t, row, "runtime"), 1e-12));
    }
    csv_free(&t);
}

static void few_tiles_are_split_and_never_past_the_sms(void **state)
{
    (void)state;
    struct streamk_shape s = shape(256, 256, 8192, 128, 128, 64); // 4 tiles of 128 slabs
    assert_int_equal(streamk_grid(&s, 132), 64);                  // 16 blocks to each
    s = shape(256, 256, 512, 128, 128, 64); // 4 tiles of 8 slabs: 8 is the least a block gets
    assert_int_equal(streamk_grid(&s, 132), 4);
    for (int64_t m = 128; m <= 16384; m += 128) {
        s = shape(m, 1024, 4096, 128, 128, 64);
        int64_t grid = streamk_grid(&s, 132);
        assert_in_range(grid, 1, 132);
    }
}

static void whole_waves_stay_whole(void **state)
{
    (void)state;
    struct streamk_shape s = shape(132 * 128, 256, 4096, 128, 128, 64);
    assert_int_equal(s.tiles, 264);
    assert_int_equal(streamk_grid(&s, 132), 132);
}

static void huge_problems_saturate(void **state)
{
    (void)state;
    struct streamk_shape s = shape(INT32_MAX, INT32_MAX, INT32_MAX, 1, 1, 1);
    assert_true(streamk_time(&s, 1, &streamk_published_cost).time > 0);
    assert_in_range(streamk_grid(&s, 132), 1, 132);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_equal_the_published_form),
        cmocka_unit_test(few_tiles_are_split_and_never_past_the_sms),
        cmocka_unit_test(whole_waves_stay_whole),
        cmocka_unit_test(huge_problems_saturate),
    };
    return cmocka_run_group_tests_name("streamk", tests, NULL, NULL);
}
