// SPDX-License-Identifier: Apache-2.0
//
// Every code of the narrow types is the number that its definition says (OCP 8-bit floating point,
// 2023; OCP microscaling formats, 2023), numbers become the nearest code, and scales of tiles lie
// where Blackwell looks for them: bit by bit.
#include "kernels/device/form.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double load(int type, uint32_t code)
{
    const uint8_t byte = (uint8_t)code;
    return inputs_load(type, &byte, 0);
}

TEST(e2m1_is_its_table)
{
    static const double table[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
    uint8_t bytes[8];
    for (uint32_t code = 0; code < 16; code++) {
        const double value = code & 8 ? -table[code & 7] : table[code & 7];
        assert_true((double)inputs_decode_e2m1(code) == value);
        assert_int_equal(!signbit(inputs_decode_e2m1(code)), !(code & 8));
        assert_int_equal(inputs_encode_e2m1((float)value), code == 8 ? 0 : code); // no -0
    }
    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(2 * i | (2 * i + 1) << 4);
    for (uint32_t i = 0; i < 16; i++) // the first of a byte is its lower half
        assert_true(inputs_load(PLUMB_E2M1, bytes, i) == (double)inputs_decode_e2m1(i));
}

// Nearest, and of two as near the even one; all numbers that bf16 has up to 8.
TEST(e2m1_takes_the_nearest)
{
    static const double table[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
    for (uint32_t bits = 0; bits <= 0x41000000; bits += 0x10000) {
        float value;
        memcpy(&value, &bits, sizeof(value));
        uint32_t best = 0;
        for (uint32_t code = 1; code < 8; code++) {
            const double off = fabs(table[code] - (double)value);
            const double least = fabs(table[best] - (double)value);
            if (off < least || (off == least && code % 2 == 0))
                best = code;
        }
        assert_int_equal(inputs_encode_e2m1(value), best);
        assert_int_equal(inputs_encode_e2m1(-value), value == 0 ? 0 : best | 8);
    }
    assert_int_equal(inputs_encode_e2m1(1e30f), 7);
}

TEST(e4m3_and_e5m2_are_their_definitions)
{
    for (uint32_t code = 0; code < 256; code++) {
        const double sign = code & 128 ? -1 : 1;
        const int e = (int)(code >> 3 & 15), m = (int)(code & 7);
        const double e4m3 = e ? ldexp(1 + m / 8.0, e - 7) : ldexp(m / 8.0, -6);
        if ((code & 127) == 127)
            assert_true(isnan(load(PLUMB_E4M3, code)));
        else
            assert_true(load(PLUMB_E4M3, code) == sign * e4m3);
        const int e5 = (int)(code >> 2 & 31), m2 = (int)(code & 3);
        const double e5m2 = e5 ? ldexp(1 + m2 / 4.0, e5 - 15) : ldexp(m2 / 4.0, -14);
        if (e5 == 31)
            assert_true(m2 ? isnan(load(PLUMB_E5M2, code))
                           : load(PLUMB_E5M2, code) == sign * INFINITY);
        else
            assert_true(load(PLUMB_E5M2, code) == sign * e5m2);
    }
    assert_true(load(PLUMB_E4M3, 0x7e) == 448);
}

TEST(e8m0_is_a_power_of_two)
{
    for (uint32_t code = 0; code < 255; code++)
        assert_true(load(PLUMB_E8M0, code) == ldexp(1, (int)code - 127));
    assert_true(isnan(load(PLUMB_E8M0, 255)));
}

// e2m1 times e4m3 has six significant bits at most: exact in bf16, as kernels on Hopper need it.
TEST(nvfp4_is_exact_in_bf16)
{
    const struct inputs_format bf16 = inputs_format(PLUMB_BF16);
    for (uint32_t scale = 0; scale < 127; scale++) {
        for (uint32_t code = 0; code < 16; code++) {
            const float product = inputs_decode_e2m1(code) * (float)load(PLUMB_E4M3, scale);
            const uint16_t rounded = (uint16_t)inputs_encode(bf16, product);
            assert_true(inputs_load(PLUMB_BF16, &rounded, 0) == (double)product);
        }
    }
}

static struct plumb_form form_of(int64_t n, int64_t k, int32_t vector, int32_t rows, int32_t layout)
{
    return (struct plumb_form){.problem = {.m = n, .n = n, .k = k},
                               .scale_type = PLUMB_E4M3,
                               .scale_vector = vector,
                               .scale_rows_a = rows,
                               .scale_rows_b = rows,
                               .scale_layout = layout};
}

// By the definition of the scale factors' layout in cuBLAS' manual: tiles of 128 x 4, of which
// offset = (row % 32) * 16 + (row / 32) * 4 + column.
TEST(tiled_scales_lie_as_tensor_cores_take_them)
{
    const struct plumb_form f = form_of(300, 160, 16, 1, PLUMB_SCALES_TILED); // 10 of k: 3 tiles
    assert_int_equal(form_scale_count(&f, 300, 1), 3 * 3 * 512);
    for (int64_t row = 0; row < 300; row++) {
        for (int64_t l = 0; l < 160; l++) {
            const int64_t b = l / 16, tile = row / 128 * 3 + b / 4, in = row % 128;
            const int64_t offset = in % 32 * 16 + in / 32 * 4 + b % 4;
            assert_int_equal(form_scale_at(&f, 300, 1, row, l), tile * 512 + offset);
        }
    }
}

// The scale of A's row i, block b at [b * M + i]; of B's block j at [j * L4 + b], L4 = 8 of 7.
TEST(columns_of_scales_lie_as_cublaslt_takes_them)
{
    struct plumb_form f = form_of(256, 896, 128, 1, PLUMB_SCALES_COLUMNS);
    assert_int_equal(form_scale_count(&f, 100, 1), 700);
    assert_int_equal(form_scale_at(&f, 100, 1, 33, 895), 6 * 100 + 33);
    f = form_of(300, 896, 128, 128, PLUMB_SCALES_COLUMNS);
    assert_int_equal(form_scale_count(&f, 300, 128), 3 * 8);
    assert_int_equal(form_scale_at(&f, 300, 128, 299, 895), 2 * 8 + 6);
    f = form_of(300, 900, 128, 128, PLUMB_SCALES_ROWS);
    assert_int_equal(form_scale_count(&f, 300, 128), 3 * 8);
    assert_int_equal(form_scale_at(&f, 300, 128, 299, 899), 2 * 8 + 7);
}

// Whole numbers of int8 are normal ones and, one in eight, the extremes.
TEST(contents_are_what_they_say)
{
    enum { COUNT = 20000 };
    struct inputs_recipe recipe = {.type = PLUMB_INT8, .which = 3, .seed = 5, .scale = 32};
    int8_t *values = calloc(COUNT, 4);
    double squares = 0;
    size_t least = 0, most = 0, others = 0;
    for (uint64_t i = 0; i < COUNT; i++) {
        inputs_store(values, i, &recipe);
        least += values[i] == -128;
        most += values[i] == 127;
        others += abs(values[i]) < 127;
        squares += abs(values[i]) < 127 ? (double)values[i] * values[i] : 0;
    }
    assert_in_range(least, COUNT / 16 - 200, COUNT / 16 + 200);
    assert_in_range(most, COUNT / 16 - 200, COUNT / 16 + 200);
    assert_true(fabs(sqrt(squares / (double)others) - 32) < 1);
    recipe = (struct inputs_recipe){
        .type = PLUMB_INT32, .which = 3, .seed = 5, .scale = 10, .contents = INPUTS_INDEX};
    size_t counts[10] = {0};
    for (uint64_t i = 0; i < COUNT / 4; i++) {
        inputs_store(values, i, &recipe);
        const int32_t index = ((int32_t *)(void *)values)[i];
        assert_in_range(index, 0, 9);
        counts[index]++;
    }
    for (int i = 0; i < 10; i++)
        assert_in_range(counts[i], 400, 600);
    free(values);
}
