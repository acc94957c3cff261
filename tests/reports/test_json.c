// SPDX-License-Identifier: Apache-2.0
//
// Rounded numbers in JSON are within half a digit of what was given.
#include "reports/text/clean.h"
#include "tests/helpers/helper_store.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void says(const char *expected, double value, int digits)
{
    struct buffer out = {0};
    struct json j = {.out = &out};
    json_rounded(&j, NULL, value, digits);
    assert_string_equal(out.bytes, expected);
    buffer_free(&out);
}

TEST(rounded_numbers_read_as_they_are_written)
{
    says("1", 1, 6);
    says("-1.5", -1.5, 6);
    says("1.05", 1.05, 6);
    says("100", 99.9999999, 6);
    says("10.0001", 10.0001, 6);
    says("1234.57", 1234.567, 6);
    says("123456789", 123456789.2, 6);
    says("0.0499983", 0.04999831, 6);
    says("0", 0, 6);
    says("1e+12", 1e12, 6);
    says("null", NAN, 6);
    says("null", -INFINITY, 6);
}

TEST(rounded_numbers_are_within_half_a_digit)
{
    uint64_t seed = 5;
    for (int i = 0; i < 100000; i++) {
        double value = exp(60 * (draw_unit(&seed) - 0.5)) * (i % 2 ? 1 : -1);
        struct buffer out = {0};
        struct json j = {.out = &out};
        json_rounded(&j, NULL, value, 6);
        if (!(fabs(strtod(out.bytes, NULL) / value - 1) <= 5.1e-6))
            fail_msg("%.17g is written %s", value, out.bytes);
        buffer_free(&out);
    }
}
