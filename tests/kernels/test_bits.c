// SPDX-License-Identifier: Apache-2.0
//
// How kernels on Hopper decode NVFP4 (kernels/gemm/cuda/nvfp4/bits.h) is exact: every code in every
// place, every scale, every product of the two, as bits of FP16.
#include "kernels/device/inputs.h"
#include "kernels/gemm/cuda/nvfp4/bits.h"
#include "tests/helpers/test.h"

#include <math.h>

static double fp16(uint32_t bits)
{
    return (double)inputs_decode(inputs_format(PLUMB_FP16), bits & 0xffff);
}

TEST(every_code_is_its_value_in_every_place)
{
    for (uint32_t noise = 0; noise < 16; noise++) {
        for (uint32_t code = 0; code < 16; code++) {
            for (int place = 0; place < 8; place++) {
                const uint32_t others = noise * 0x11111111u & ~(15u << 4 * place);
                uint32_t pairs[4];
                nvfp4_pairs(pairs, others | code << 4 * place);
                const uint32_t bits = pairs[place % 4] >> 16 * (place / 4);
                assert_true(fp16(bits) == (double)inputs_decode_e2m1(code) * 0x1p-14);
                assert_int_equal(bits >> 15 & 1, code >> 3);
                const uint32_t neighbour = pairs[(place + 1) % 4] >> 16 * (place / 4);
                assert_true(fp16(neighbour) == (double)inputs_decode_e2m1(noise) * 0x1p-14);
            }
        }
    }
}

TEST(every_scale_is_its_value)
{
    for (uint32_t code = 0; code < 256; code++) {
        const double value = (double)inputs_decode(inputs_format(PLUMB_E4M3), code);
        const double wanted = isnan(value) ? (code & 128 ? -480 : 480) : value;
        const uint32_t pair = nvfp4_scale_pair(code << 8 | code << 24);
        assert_true(fp16(pair) == wanted * 0x1p-8);
        assert_int_equal(pair >> 16, pair & 0xffff);
        const uint32_t with_another = nvfp4_scale_pair(code << 8 | (255 - code) << 24);
        assert_int_equal(with_another & 0xffff, pair & 0xffff);
        assert_int_equal(with_another >> 16, nvfp4_scale_pair((255 - code) << 8));
    }
}

static int is_fp16(double value)
{
    const struct inputs_format format = inputs_format(PLUMB_FP16);
    return (double)inputs_decode(format, inputs_encode(format, (float)value)) == value;
}

// A scale times 2^15 is a number of FP16, and so is an element times that: nothing is rounded.
TEST(every_product_is_exact)
{
    for (uint32_t scale = 0; scale < 256; scale++) {
        const double times = fp16(nvfp4_scale_pair(scale << 8)) * 0x1p15;
        assert_true(is_fp16(times));
        for (uint32_t code = 0; code < 16; code++)
            assert_true(is_fp16((double)inputs_decode_e2m1(code) * 0x1p-14 * times));
    }
}
