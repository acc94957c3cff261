// SPDX-License-Identifier: Apache-2.0
//
// e2m1 and e4m3 as bits of FP16, for kernels that multiply in FP16 (nvfp4/nvfp4.cuh). Plain C, so
// that a test holds every code against its definition.
//
// Of e2m1 the two exponent bits and the fraction are put where FP16 has its lowest two of the
// exponent and its highest of the fraction, which is 2^-14 of the value, zeros and the subnormal
// included. A scale's seven bits, put likewise, are 2^-8 of it; of NaN, 480 is.
#ifndef PLUMB_GEMM_NVFP4_BITS_H
#define PLUMB_GEMM_NVFP4_BITS_H

#include <stdint.h>

#ifdef __CUDACC__
#define NVFP4_INLINE static __device__ __forceinline__
#else
#define NVFP4_INLINE static inline
#endif

// Of a word's bytes 0 and 2 those of a pair, over zeros.
NVFP4_INLINE uint32_t nvfp4_spread(uint32_t bytes)
{
#ifdef __CUDACC__
    return __byte_perm(bytes, 0, 0x2404);
#else
    return (bytes & 0x00ff00ffu) << 8;
#endif
}

// Eight codes, as pairs of FP16: those of a word's two halves that stand in the same place, so pair
// i has elements i and i + 4. First the upper bytes of four at once: those of codes in the upper
// halves of bytes, then of the others; each gives the pair of bytes 1 and 3 and that of 0 and 2.
// (Multiplied instead of shifted, to spare the units of logic, few rows took 3 to 5 % longer.)
NVFP4_INLINE void nvfp4_pairs(uint32_t *pairs, uint32_t codes)
{
    const uint32_t signs = 0x80808080, rest = 0x0e0e0e0e, upper = 0xff00ff00;
    const uint32_t odd = (codes & signs) | (codes >> 3 & rest);
    const uint32_t even = (codes << 4 & signs) | (codes << 1 & rest);
    pairs[3] = odd & upper;
    pairs[1] = nvfp4_spread(odd);
    pairs[2] = even & upper;
    pairs[0] = nvfp4_spread(even);
}

// A scale that stands in the upper byte of both halves, as a pair.
NVFP4_INLINE uint32_t nvfp4_scale_pair(uint32_t upper)
{
    return (upper & 0x80008000) | (upper >> 1 & 0x3f803f80);
}

#endif
