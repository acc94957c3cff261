// SPDX-License-Identifier: Apache-2.0
//
// Swapped operands, for m smaller than the matrix instruction's 64 rows: the kernel computes C^T =
// B * A^T, so that B's n rows lie along the instruction's 64 and A's m along its width, 16 to 256.
// Nothing of a stage is then loaded or multiplied for rows that do not exist, and shared memory
// holds more of B. Everything but the way out is the same kernel with its operands exchanged
// (oriented(), launch.cuh); here is the way out: a warp's sums, 16 columns of C (rows of C^T) by
// `width` rows, leave as 32 contiguous bytes per row of C.
#ifndef PLUMB_TRANSPOSED_CUH
#define PLUMB_TRANSPOSED_CUH

#include "element.cuh"

struct output_target {
    void *c;
    int m, n;   // as computed: of C^T where operands are swapped
    int direct; // 1: rows of C are not 16-byte multiples and are stored element by element
};

// Shared memory of a warp's piece: 16 columns of at most 64 rows of C; 4-byte outputs need none.
template <class output, int n>
constexpr int transposed_bytes = sizeof(typename output::type) == 2 ? (n < 64 ? n : 64) * 32 : 0;

// Columns x = row .. row + 15 of C's rows column .. column + width - 1, from words as hold() leaves
// them (epilogue.cuh). Their 16-byte halves change places every four rows, so that eight rows at a
// time lie in different banks.
template <class output, int width>
DEVICE void store_transposed(const uint32_t *held, const output_target &target, uint32_t piece,
                             int row, int column)
{
    typename output::type *c = static_cast<typename output::type *>(target.c);
    const int lane = threadIdx.x % 32;
    if constexpr (sizeof(typename output::type) == 2) {
        const int line = lane % 8 + lane / 16 * 8, half = lane / 8 % 2;
        __syncwarp();
#pragma unroll
        for (int i = 0; i < width / 16; ++i)
            store_matrices_transposed(piece + i * 512 + line * 32 + (half ^ line / 4 % 2) * 16,
                                      held[4 * i], held[4 * i + 1], held[4 * i + 2],
                                      held[4 * i + 3]);
        __syncwarp();
        const int x = row + lane % 2 * 8;
        const uint32_t from = piece + lane / 2 * 32 + (lane % 2 ^ lane / 8 % 2) * 16;
#pragma unroll
        for (int i = 0; i < width / 16; ++i) {
            const int64_t y = column + i * 16 + lane / 2;
            if (y < target.n && x < target.m)
                *reinterpret_cast<float4 *>(c + y * target.m + x) = load_shared(from + i * 512);
        }
    } else {
#pragma unroll
        for (int i = 0; i < width / 2; ++i) {
            const int x = row + lane / 4 + i / 2 % 2 * 8;
            const int64_t y = column + i / 4 * 8 + lane % 4 * 2 + i % 2;
            if (y < target.n && x < target.m)
                c[y * target.m + x] = __uint_as_float(held[i]);
        }
    }
}

#endif
