// SPDX-License-Identifier: Apache-2.0
//
// Converts e2m1 and e4m3 to bits of FP16, for kernels that multiply in FP16 (nvfp4/nvfp4.cuh). It
// is plain C, so that a test compares every code with its definition.
//
// The two exponent bits and the fraction of an e2m1 are put where FP16 has its lowest two exponent
// bits and its highest fraction bit. Read as FP16 that is 2^-14 of the value, also for zeros and
// the subnormal. The seven bits of a scale, put in the same way, are 2^-8 of its value; a NaN
// becomes 2^-8 of 480.
#ifndef PLUMB_GEMM_NVFP4_BITS_H
#define PLUMB_GEMM_NVFP4_BITS_H

#include <stdint.h>

#ifdef __CUDACC__
#define NVFP4_INLINE static __device__ __forceinline__
#else
#define NVFP4_INLINE static inline
#endif

// Moves bytes 0 and 2 of a word to the upper bytes of a pair, over zeros.
NVFP4_INLINE uint32_t nvfp4_spread(uint32_t bytes)
{
#ifdef __CUDACC__
    return __byte_perm(bytes, 0, 0x2404);
#else
    return (bytes & 0x00ff00ffu) << 8;
#endif
}

// Converts eight codes to pairs of FP16. A pair takes its codes from the same place of the word's
// two halves, so pair i has elements i and i + 4. First the upper bytes of four results are made at
// once, from the codes in the upper halves of bytes, then from the others; each time bytes 1 and 3
// make one pair, and bytes 0 and 2 another. (Multiplying instead of shifting, to spare the units of
// logic, made products of few rows 3 to 5 % slower.)
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

// A pair whose halves are the scale in the upper byte of each half of `upper`.
NVFP4_INLINE uint32_t nvfp4_scale_pair(uint32_t upper)
{
    return (upper & 0x80008000) | (upper >> 1 & 0x3f803f80);
}

#endif
