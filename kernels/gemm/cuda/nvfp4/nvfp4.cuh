// SPDX-License-Identifier: Apache-2.0
//
// NVFP4 on Hopper, which multiplies no e2m1: elements become FP16 in registers (nvfp4/bits.h),
// times their block's e4m3 scale, and the product is exact. 2^-8 of a scale, times 2^15, is at most
// 57,344, and an element with its scale is then 2^-7 of its value: six significant bits, from 2^-17
// to 21. So a sum of products of two of them is 2^-14 of what it should be, which the scale of the
// output makes good.
//
// Any order of K is right that both operands have.
#ifndef PLUMB_GEMM_NVFP4_NVFP4_CUH
#define PLUMB_GEMM_NVFP4_NVFP4_CUH

#include "bits.h"
#include "form.cuh"

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

// Of a word of scales bytes 0 and 1, or 2 and 3, times 2^7, as a pair.
DEVICE uint32_t nvfp4_two_scales(uint32_t scales, uint32_t upper)
{
    return half2_product(nvfp4_scale_pair(__byte_perm(scales, 0, 0x1404 + 0x2020 * upper)),
                         0x78007800);
}

// One half of a pair, twice; costs nothing before a product, whose instruction picks it itself.
DEVICE uint32_t half_twice(uint32_t pair, bool upper)
{
    uint32_t twice;
    if (upper)
        asm("{ .reg .b16 l, h; mov.b32 {l, h}, %1; mov.b32 %0, {h, h}; }"
            : "=r"(twice)
            : "r"(pair));
    else
        asm("{ .reg .b16 l, h; mov.b32 {l, h}, %1; mov.b32 %0, {l, l}; }"
            : "=r"(twice)
            : "r"(pair));
    return twice;
}

// Pairs of FP16, 2^-7 of their values times the scale's.
DEVICE void nvfp4_decode(uint32_t (&pairs)[4], uint32_t codes, uint32_t scale)
{
    nvfp4_pairs(pairs, codes);
#pragma unroll
    for (int i = 0; i < 4; ++i)
        pairs[i] = half2_product(pairs[i], scale);
}

// The same by one of two scales.
DEVICE void nvfp4_decode(uint32_t (&pairs)[4], uint32_t codes, uint32_t scales, bool upper)
{
    nvfp4_pairs(pairs, codes);
#pragma unroll
    for (int i = 0; i < 4; ++i)
        pairs[i] = half2_product(pairs[i], half_twice(scales, upper));
}

// `bytes` (4, 8 or 16) from memory to shared memory, zeros where it is not there.
template <int bytes> DEVICE void copy_async(uint32_t shared, const void *global, bool is_there)
{
    if constexpr (bytes == 16)
        asm volatile("cp.async.cg.shared.global.L2::256B [%0], [%1], 16, %2;" ::"r"(shared),
                     "l"(global), "r"(is_there ? 16 : 0)
                     : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %3, %2;" ::"r"(shared), "l"(global),
                     "r"(is_there ? bytes : 0), "n"(bytes)
                     : "memory");
}

#endif
