// SPDX-License-Identifier: Apache-2.0
//
// Rows that begin anywhere, word by word to where the copy engine would put them, swizzled. A row's
// words begin at multiples of 4 bytes in TF32; in BF16 each half of a word is a load of its own, so
// that nothing outside the matrix is read.
#ifndef PLUMB_GEMM_ODD_K_WORD_ROWS_CUH
#define PLUMB_GEMM_ODD_K_WORD_ROWS_CUH

#include <type_traits>

#include "../element.cuh"
#include "copies.h"

// A way to do a problem as it is.
struct ragged_way {
    const char *name;
    int (*launch)(const plumb_args *args, void *stream);
};

// The value that lies there, or zeros where !valid. It is loaded without a branch: behind one, each
// load would wait for the one before.
DEVICE uint32_t load_valid(const float *from, bool valid)
{
    uint32_t word;
    asm volatile("{\n"
                 ".reg .pred p;\n"
                 "setp.ne.b32 p, %2, 0;\n"
                 "mov.b32 %0, 0;\n"
                 "@p ld.global.nc.b32 %0, [%1];\n"
                 "}"
                 : "=r"(word)
                 : "l"(from), "r"((int)valid));
    return word;
}

DEVICE uint32_t load_valid(const uint16_t *from, bool valid)
{
    uint16_t half;
    asm volatile("{\n"
                 ".reg .pred p;\n"
                 "setp.ne.b32 p, %2, 0;\n"
                 "mov.b16 %0, 0;\n"
                 "@p ld.global.nc.b16 %0, [%1];\n"
                 "}"
                 : "=h"(half)
                 : "l"(from), "r"((int)valid));
    return half;
}

// A warp's rows of an operand's tile: every `warps`-th.
template <class type, int tile_rows, int warps> struct word_rows {
    static constexpr int each = tile_rows / warps;
    static constexpr int halves = 4 / type::bytes; // loads of a word
    uint32_t words[halves][each];

    DEVICE void load(const uint8_t *matrix, int rows, int k, int first, int slab)
    {
        using element = std::conditional_t<type::bytes == 4, float, uint16_t>;
        const int row = first + (int)uniform(threadIdx.x / 32);
        const int column = slab * slab_elements<type> + threadIdx.x % 32 * halves;
        const int64_t step = (int64_t)warps * k;
        const element *from = reinterpret_cast<const element *>(matrix) + (int64_t)row * k + column;
#pragma unroll
        for (int j = 0; j < each; ++j, from += step)
#pragma unroll
            for (int half = 0; half < halves; ++half)
                words[half][j] =
                    load_valid(from + half, column + half < k && row + j * warps < rows);
    }

    DEVICE void store(uint32_t shared) const
    {
        const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
#pragma unroll
        for (int j = 0; j < each; ++j) {
            uint32_t word = words[0][j];
            if constexpr (halves == 2)
                word |= words[1][j] << 16;
            else
                word = round_tf32(__uint_as_float(word));
            asm volatile(
                "st.shared.b32 [%0], %1;" ::"r"(shared + loose_place(warp + j * warps, lane)),
                "r"(word)
                : "memory");
        }
    }
};

#endif
