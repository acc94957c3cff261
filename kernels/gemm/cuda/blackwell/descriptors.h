// SPDX-License-Identifier: Apache-2.0
//
// The bit patterns that the tensor cores of Blackwell (sm_100a, tcgen05) read: instruction and
// shared-memory descriptors, addresses of tensor memory, and the place of a block scale in it. It
// is plain C, so that a test compares each bit with the tables of the PTX ISA (9.0, section
// "TensorCore 5th Generation Family Instructions") on a machine without such a device.
#ifndef PLUMB_GEMM_BLACKWELL_DESCRIPTORS_H
#define PLUMB_GEMM_BLACKWELL_DESCRIPTORS_H

#include <stdint.h>

#ifdef __CUDACC__
#define BLACKWELL_INLINE static constexpr __host__ __device__ inline
#else
#define BLACKWELL_INLINE static inline
#endif

// ---- instruction descriptor of kind::mxf4nvf4, 32 bits ----

// Makes the descriptor for two operands of e2m1 along K: 64 of K per instruction, dense, neither
// operand negated, scales ue4m3 from byte 0 of their words. m: 128, or 256 for two blocks. n: a
// multiple of 8 (for two blocks of 16), at most 256.
//     bits 4-5 scales of B from which byte (0)   7-9 type of A (1: e2m1)   10-12 type of B (1)
//     13, 14 negate   15, 16 not along K   17-22 n / 8   23 scales are ue8m0   27-28 m / 128
//     29-30 scales of A from which byte (0)   31 K of 96
BLACKWELL_INLINE uint32_t blackwell_instruction(int m, int n)
{
    return 1u << 7 | 1u << 10 | (uint32_t)(n / 8) << 17 | (uint32_t)(m / 128) << 27;
}

// ---- shared-memory descriptor, 64 bits ----

// Addresses and distances are in units of 16 bytes, 14 bits each. Bits 0-13: where the matrix
// begins. 16-29: distance from one column of core matrices to the next. 32-45: distance from eight
// rows to the next eight. Bits 46-48 are 1. Bits 61-63: the swizzle.
enum blackwell_swizzle {
    BLACKWELL_PLAIN = 0,
    BLACKWELL_128 = 2,
    BLACKWELL_64 = 4,
    BLACKWELL_32 = 6
};

BLACKWELL_INLINE uint64_t blackwell_matrix(uint32_t address, uint32_t eight_rows_bytes,
                                           enum blackwell_swizzle swizzle)
{
    return (uint64_t)((address & 0x3ffffu) >> 4) |
           (uint64_t)((eight_rows_bytes & 0x3ffffu) >> 4) << 32 | (uint64_t)1 << 46 |
           (uint64_t)swizzle << 61;
}

// The descriptor of an operand: rows of 128 bytes (256 elements of e2m1) as the copy engine
// swizzles them, from a multiple of 1024 bytes on. The next 64 of K begin 32 bytes later.
BLACKWELL_INLINE uint64_t blackwell_operand(uint32_t address, int step)
{
    return blackwell_matrix(address, 8 * 128, BLACKWELL_128) + (uint64_t)(step * 32 / 16);
}

// The descriptor of a tile of scales as memory has it: 32 rows of 16 bytes.
BLACKWELL_INLINE uint64_t blackwell_scales(uint32_t address)
{
    return blackwell_matrix(address, 8 * 16, BLACKWELL_PLAIN);
}

// ---- tensor memory: 128 lanes of 512 columns, 32 bits each ----

BLACKWELL_INLINE uint32_t blackwell_tensor_address(uint32_t lane, uint32_t column)
{
    return lane << 16 | column;
}

// The place where the tensor cores look for a scale (scale vector 4X, blocks of 16). The four
// scales of 64 of K are one word; the word of row r is in lane r % 32, column r / 32. All four
// quarters of the lanes hold it.
struct blackwell_place {
    int lane, column, byte;
};

BLACKWELL_INLINE struct blackwell_place blackwell_scale_place(int row, int block)
{
    const struct blackwell_place place = {row % 32, row / 32, block % 4};
    return place;
}

// ---- how a block of the dual GEMM uses both ----

enum {
    BLACKWELL_ROWS = 128,         // rows of A per block
    BLACKWELL_SLAB = 256,         // elements of K per stage: 128 bytes of a row
    BLACKWELL_SCALE_COLUMNS = 16, // columns of tensor memory for the scales of 128 rows and a stage
    BLACKWELL_SHARED = 227 * 1024
};

struct blackwell_layout {
    int a_bytes, b_bytes, scale_bytes; // bytes in a stage: of A, of one B, of one matrix' scales
    int stage_bytes, stages, shared_bytes;
    int gate, up, scales, columns; // columns of tensor memory: where the two sums begin, and the
                                   // scales; number of all
};

// n: number of columns of C per block. group: number of blocks that share an instruction, each with
// half of B's rows and with all of their scales.
BLACKWELL_INLINE struct blackwell_layout blackwell_layout_of(int n, int group)
{
    struct blackwell_layout l = {0};
    l.a_bytes = BLACKWELL_ROWS * 128;
    l.b_bytes = n / group * 128;
    l.scale_bytes = 4 * 512;
    l.stage_bytes = l.a_bytes + 2 * l.b_bytes + 3 * l.scale_bytes;
    l.up = n;
    l.scales = 2 * n;
    const int by_memory = (BLACKWELL_SHARED - 2048) / l.stage_bytes;
    const int by_columns = (512 - 2 * n) / (3 * BLACKWELL_SCALE_COLUMNS);
    l.stages = by_memory < by_columns ? by_memory : by_columns;
    // Stages begin at a multiple of 1024 bytes; the barriers get the 1024 bytes before.
    l.stage_bytes = (l.stage_bytes + 1023) / 1024 * 1024;
    l.shared_bytes = l.stages * l.stage_bytes + 2048;
    l.columns = 512;
    return l;
}

#endif
