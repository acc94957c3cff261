// SPDX-License-Identifier: Apache-2.0
//
// NVFP4 on Hopper, which multiplies no e2m1: elements become FP16 in registers (nvfp4_bits.h),
// times their block's e4m3 scale, and the product is exact. 2^-8 of a scale, times 2^15, is at most
// 57,344, and an element with its scale is then 2^-7 of its value: six significant bits, from 2^-17
// to 21. So a sum of products of two of them is 2^-14 of what it should be, which the scale of the
// output makes good.
//
// Any order of K is right that both operands have.
#ifndef PLUMB_NVFP4_CUH
#define PLUMB_NVFP4_CUH

#include "nvfp4_bits.h"
#include "nvfp4_form.cuh"

constexpr float nvfp4_unscale = 16384; // 2^14

DEVICE uint32_t half2_product(uint32_t x, uint32_t y)
{
    uint32_t z;
    asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(z) : "r"(x), "r"(y));
    return z;
}

// Which byte of a word of scales: the permutation that puts it into the upper byte of both halves.
constexpr __host__ __device__ uint32_t nvfp4_scale_at(uint32_t byte)
{
    return 0x0404 + 0x1010 * byte;
}

// That scale times 2^7, twice.
DEVICE uint32_t nvfp4_scale(uint32_t scales, uint32_t at)
{
    return half2_product(nvfp4_scale_pair(__byte_perm(scales, 0, at)), 0x78007800);
}

// Pairs of FP16, 2^-7 of their values times the scale's.
DEVICE void nvfp4_decode(uint32_t (&pairs)[4], uint32_t codes, uint32_t scale)
{
    nvfp4_pairs(pairs, codes);
#pragma unroll
    for (int i = 0; i < 4; ++i)
        pairs[i] = half2_product(pairs[i], scale);
}

#endif
