// SPDX-License-Identifier: Apache-2.0
//
// NVFP4 on Hopper, which has no instruction for e2m1. Elements become FP16 in registers
// (nvfp4/bits.h) and are multiplied by their block's e4m3 scale; this product is exact. A scale is
// used as 2^-8 of its value times 2^15, at most 57,344. An element with its scale is then 2^-7 of
// its value: six significant bits, from 2^-17 to 21. So a sum over products of two such numbers is
// 2^-14 of its value, and the scale of the output corrects this.
//
// The elements may be summed in any order of K that is the same for both operands.
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

// The permutation that puts byte `byte` of a word of scales into the upper byte of both halves.
constexpr __host__ __device__ uint32_t nvfp4_scale_at(uint32_t byte)
{
    return 0x0404 + 0x1010 * byte;
}

// That scale times 2^7, in both halves.
DEVICE uint32_t nvfp4_scale(uint32_t scales, uint32_t at)
{
    return half2_product(nvfp4_scale_pair(__byte_perm(scales, 0, at)), 0x78007800);
}

// Two scales times 2^7 as a pair: bytes 0 and 1 of a word of scales, or 2 and 3.
DEVICE uint32_t nvfp4_two_scales(uint32_t scales, uint32_t upper)
{
    return half2_product(nvfp4_scale_pair(__byte_perm(scales, 0, 0x1404 + 0x2020 * upper)),
                         0x78007800);
}

// Copies one half of a pair to both halves. It costs nothing before a multiplication, whose
// instruction selects the half itself.
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

// Decodes to pairs of FP16, which are 2^-7 of the values times their scale.
DEVICE void nvfp4_decode(uint32_t (&pairs)[4], uint32_t codes, uint32_t scale)
{
    nvfp4_pairs(pairs, codes);
#pragma unroll
    for (int i = 0; i < 4; ++i)
        pairs[i] = half2_product(pairs[i], scale);
}

// Does the same with one of two scales.
DEVICE void nvfp4_decode(uint32_t (&pairs)[4], uint32_t codes, uint32_t scales, bool upper)
{
    nvfp4_pairs(pairs, codes);
#pragma unroll
    for (int i = 0; i < 4; ++i)
        pairs[i] = half2_product(pairs[i], half_twice(scales, upper));
}

// Copies `bytes` (4, 8 or 16) from global to shared memory, or zeros if !is_there.
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
