// SPDX-License-Identifier: Apache-2.0
//
// Blocks of 4 x 4 numbers, and the products that levelling spends its time in. A block stands
// column by column: element (row, column) at 4 column + row. Blocks of one row stand one after the
// other, so a stretch of them is a matrix of 4 rows, column by column.
//
// Four numbers are one vector: a register where the processor has such (BLOCK_WIDE compiles a
// function for one that has), two elsewhere. Each element is multiplied and added in the same order
// either way, so both give the same bits.
#ifndef PLUMB_LEVEL_BLOCK_H
#define PLUMB_LEVEL_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum { BLOCK = 4, BLOCK_SIZE = BLOCK * BLOCK };

typedef double block_column __attribute__((vector_size(32), aligned(8), may_alias));

// Functions of blocks are inlined where they are used, so that they are compiled for that place.
#define BLOCK_INLINE static inline __attribute__((always_inline))
#if defined(__x86_64__)
#define BLOCK_WIDE __attribute__((target("avx2")))
BLOCK_INLINE bool block_is_wide(void)
{
    return __builtin_cpu_supports("avx2");
}
#else
#define BLOCK_WIDE
BLOCK_INLINE bool block_is_wide(void)
{
    return false;
}
#endif

BLOCK_INLINE block_column *block_columns(double *of)
{
    return (block_column *)of;
}

BLOCK_INLINE const block_column *block_columns_of(const double *of)
{
    return (const block_column *)of;
}

// sum += X Y', where X and Y have 4 rows and so many columns.
BLOCK_INLINE void block_multiply(double sum[BLOCK_SIZE], const double *x, const double *y,
                                 size_t columns)
{
    block_column *const s = block_columns(sum);
    block_column s0 = s[0], s1 = s[1], s2 = s[2], s3 = s[3];
    for (size_t k = 0; k < columns; k++, x += BLOCK, y += BLOCK) {
        const block_column column = *block_columns_of(x);
        s0 += column * y[0];
        s1 += column * y[1];
        s2 += column * y[2];
        s3 += column * y[3];
    }
    s[0] = s0;
    s[1] = s1;
    s[2] = s2;
    s[3] = s3;
}

// sum_i += X B_i for each of so many blocks, one after the other in `sums` as in `blocks`.
BLOCK_INLINE void block_multiply_each(double *sums, const double x[BLOCK_SIZE],
                                      const double *blocks, size_t count)
{
    const block_column *const xs = block_columns_of(x);
    const block_column x0 = xs[0], x1 = xs[1], x2 = xs[2], x3 = xs[3];
    for (size_t i = 0; i < BLOCK * count; i++, sums += BLOCK, blocks += BLOCK)
        *block_columns(sums) = *block_columns(sums) + (x0 * blocks[0] + x1 * blocks[1]) +
                               (x2 * blocks[2] + x3 * blocks[3]);
}

// sum += X v
BLOCK_INLINE void block_apply(double sum[BLOCK], const double x[BLOCK_SIZE], const double v[BLOCK])
{
    const block_column *const xs = block_columns_of(x);
    *block_columns(sum) =
        *block_columns(sum) + (xs[0] * v[0] + xs[1] * v[1]) + (xs[2] * v[2] + xs[3] * v[3]);
}

// sum += X' v
BLOCK_INLINE void block_apply_transposed(double sum[BLOCK], const double x[BLOCK_SIZE],
                                         const double v[BLOCK])
{
    for (size_t i = 0; i < BLOCK; i++) {
        const block_column dot = block_columns_of(x)[i] * *block_columns_of(v);
        sum[i] += (dot[0] + dot[2]) + (dot[1] + dot[3]);
    }
}

BLOCK_INLINE void block_transpose(double out[BLOCK_SIZE], const double in[BLOCK_SIZE])
{
    for (size_t i = 0; i < BLOCK; i++) {
        for (size_t j = 0; j < BLOCK; j++)
            out[BLOCK * i + j] = in[BLOCK * j + i];
    }
}

// The inverse of the lower triangular factor of a symmetric block less `sum`, 0 above the diagonal.
// A pivot that rounding has made nothing is taken as 1e-15 of its element.
void block_factor(double out[BLOCK_SIZE], const double symmetric[BLOCK_SIZE],
                  const double sum[BLOCK_SIZE]);

#endif
