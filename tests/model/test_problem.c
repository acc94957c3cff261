// SPDX-License-Identifier: Apache-2.0
//
// A problem's text reads back, and counts work and bytes.
#include "model/problem.h"
#include "tests/helpers/test.h"

#include <string.h>

static void problem_text_reads_back(void **state)
{
    static const char *const texts[][2] = {
        {"4096x7168x512:bf16", "4096x7168x512:bf16-bf16:tn"},
        {"64x64x64:fp8-bf16:nn:b8", "64x64x64:e4m3-bf16:nn:b8"},
        {"1x1x1", "1x1x1:fp32-fp32:tn"},
        {"8x8x2147483647:tf32", "8x8x2147483647:tf32-fp32:tn"},
        {"256x4096x7168:nvfp4-fp16:tn:dual-silu", "256x4096x7168:e2m1-fp16:tn:dual-silu"},
    };
    for (size_t i = 0; i < ARRAY_COUNT(texts); i++) {
        struct problem first, again;
        struct error err;
        char text[PROBLEM_TEXT];
        assert_int_equal(problem_parse(&first, texts[i][0], &err), 0);
        problem_format(text, &first);
        assert_string_equal(text, texts[i][1]);
        assert_int_equal(problem_parse(&again, text, &err), 0);
        assert_true(problem_equal(&first, &again));
    }
}

// Longer than any problem, made of parts that are fine.
#define TN        ":tn:tn:tn:tn:tn:tn:tn:tn"
#define LONG_TEXT "1x1x1:fp32" TN TN TN TN

static void problem_bad_text_is_refused_in_one_line(void **state)
{
    static const char *const texts[] = {
        "",
        ":",
        "4096",
        "4096x4096",
        "1x2x3x4",
        "0x1x1",
        "-1x1x1",
        "2147483648x1x1",
        "99999999999999999999x1x1",
        "1x1x1:",
        "1x1x1:fp99",
        "1x1x1:fp32-",
        "1x1x1:fp32:xx",
        "1x1x1:fp32:b0",
        "1x1x1:fp32:b65536",
        "1 x1x1",
        "1x1x1.5",
        "axbxc",
        "0x10x10x10",
        LONG_TEXT,
    };
    for (size_t i = 0; i < ARRAY_COUNT(texts); i++) {
        struct problem problem = {.m = 7};
        struct error err = {""};
        if (problem_parse(&problem, texts[i], &err) == 0)
            fail_msg("'%s' was read", texts[i]);
        assert_int_equal(problem.m, 7);
        assert_true(strlen(err.text) > 0);
        assert_null(strchr(err.text, '\n'));
    }
}

static void problem_counts_work_and_bytes(void **state)
{
    struct problem p;
    struct error err;
    assert_int_equal(problem_parse(&p, "2x3x5:fp16-fp32:tn:b4", &err), 0);
    assert_true(problem_flops(&p) == 2.0 * 2 * 3 * 5 * 4);
    assert_true(problem_bytes(&p) == 4 * ((2 * 5 + 3 * 5) * 2.0 + 2 * 3 * 4.0));
    assert_int_equal(problem_parse(&p, "2x3x5:bf16:tn:dual-silu", &err), 0);
    assert_true(problem_flops(&p) == 2 * 2.0 * 2 * 3 * 5);
    assert_true(problem_bytes(&p) == (2 * 5 + 2 * 3 * 5) * 2.0 + 2 * 3 * 2.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(problem_text_reads_back),
        cmocka_unit_test(problem_bad_text_is_refused_in_one_line),
        cmocka_unit_test(problem_counts_work_and_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
