// SPDX-License-Identifier: Apache-2.0
//
// e2m1 and e4m3 as bits of FP16, for kernels that multiply in FP16 (nvfp4.cuh). Plain C, so that a
// test holds every code against its definition.
//
// Of e2m1 the two exponent bits and the fraction are put where FP16 has its lowest two of the
// exponent and its highest of the fraction, which is 2^-14 of the value, zeros and the subnormal
// included. A scale's seven bits, put likewise, are 2^-8 of it; of NaN, 480 is.
#ifndef PLUMB_NVFP4_BITS_H
#define PLUMB_NVFP4_BITS_H

#include <stdint.h>

#ifdef __CUDACC__
#define NVFP4_INLINE static __device__ __forceinline__
#else
#define NVFP4_INLINE static inline
#endif

// Factors that the compiler does not know: kernels get them as parameters, so that shifts stay
// multiplications and go to units of their own, beside those of logic, which take half a warp per
// cycle and are what decoding waits for.
struct nvfp4_factors {
    uint32_t two, sixteen, byte, minus_one;
};
#define NVFP4_FACTORS                                                                              \
    {                                                                                              \
        2, 16, 256, (uint32_t)-1                                                                   \
    }

// Eight codes, as pairs of FP16: those of a word's two halves that stand in the same place, so pair
// i has elements i and i + 4. First the upper bytes of four at once: those of codes in the upper
// halves of bytes, then of the others; each gives the pair of bytes 1 and 3 and that of 0 and 2.
NVFP4_INLINE void nvfp4_pairs(uint32_t *pairs, uint32_t codes, const struct nvfp4_factors *f)
{
    const uint32_t signs = 0x80808080, rest = 0x0e0e0e0e, lower = 0x00ff00ff;
    const uint32_t odd = (codes & signs) | (codes >> 3 & rest);
    const uint32_t even = (codes * f->sixteen & signs) | (codes * f->two & rest);
    const uint32_t odd_low = odd & lower, even_low = even & lower;
    pairs[3] = odd_low * f->minus_one + odd;
    pairs[1] = odd_low * f->byte;
    pairs[2] = even_low * f->minus_one + even;
    pairs[0] = even_low * f->byte;
}

// A scale that stands in the upper byte of both halves, as a pair.
NVFP4_INLINE uint32_t nvfp4_scale_pair(uint32_t upper)
{
    return (upper & 0x80008000) | (upper >> 1 & 0x3f803f80);
}

#endif
