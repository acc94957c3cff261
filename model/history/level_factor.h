// SPDX-License-Identifier: Apache-2.0
//
// The inside of levels.h, for the files beside it: links, and the factored equations.
#ifndef PLUMB_LEVEL_FACTOR_H
#define PLUMB_LEVEL_FACTOR_H

#include "model/history/levels.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct level_factor {
    // Links, and for each code those that end at it: first[code], then next[2 link + end].
    struct level_link *links;
    double *doubt; // of each, the variance that it has besides while it is doubted
    size_t *next, *first;
    size_t link_room, code_room, next_room;
    // Components: a code's parent in its tree; of a root, its mark.
    size_t *parent, *root_mark;
    // Order of the equations.
    size_t *at, *code; // position of a code, code at a position
    bool *hub;         // linked from far behind: last in the order
    size_t hubs;
    size_t dirty; // positions from here on are to be factored again
    // Row b of blocks of the factor: those of the columns begin[b]..b at value[offset[b]], one
    // after the other ("blocks" below), the last one inverted.
    size_t *begin, *offset, blocks;
    double *value, *right; // right: the right hand side, forward substituted
    size_t value_room;
    // Of the inverse of A, what lies where the factor has room. Its blocks on the diagonal are
    // whole.
    double *inverse;
    bool inverted; // it is that of the factor as it is
};

#define LEVEL_NO_LINK SIZE_MAX

static const double level_bridge = 1e-7; // redundancy of a link in no loop, but for rounding

// How far a link's codes are unlike, d of levels.c.
double level_change(const struct level_link *link);

double level_weight(const struct levels *levels, size_t link);

// Makes room for the rows of blocks from one on. -1: they are too many.
int level_lay_out(struct levels *levels, size_t from, struct error *err);

// Fills and factors the rows of blocks from one on, and the right hand side with them.
void level_factor_rows(struct levels *levels, size_t from);

// Sets all levels from the factor and the right hand side.
void level_substitute_back(struct levels *levels);

// Works out factor->inverse, unless it stands.
void level_invert(const struct levels *levels);

// Variance of the difference of two codes' levels, from the inverse; for the two ends of a link.
double level_variance(const struct levels *levels, size_t a, size_t b);

// ---- blocks ----
//
// Blocks of 4 x 4 numbers, and the products that levelling spends its time in. A block stands
// column by column: element (row, column) at 4 column + row. Blocks of one row stand one after the
// other, so a stretch of them is a matrix of 4 rows, column by column.
// Four numbers are one vector: a register where the processor has such (BLOCK_WIDE compiles a
// function for one that has), two elsewhere. Each element is multiplied and added in the same order
// either way, so both give the same bits.

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

#endif
