// SPDX-License-Identifier: Apache-2.0
//
// Blocks of 4 x 4 numbers, and the products that levelling spends its time in. A block stands
// column by column: element (row, column) at 4 column + row. Blocks of one row stand one after the
// other, so a stretch of them is a matrix of 4 rows, column by column.
//
// Every processor of 64 bits holds two numbers in a register; a block is eight of those, which is
// as many sums as stay in registers beside what they are made of.
#ifndef PLUMB_LEVEL_BLOCK_H
#define PLUMB_LEVEL_BLOCK_H

#include <stddef.h>
#include <string.h>

enum { BLOCK = 4, BLOCK_SIZE = BLOCK * BLOCK };

typedef double block_pair __attribute__((vector_size(16)));

static inline block_pair block_load(const double *from)
{
    block_pair out;
    memcpy(&out, from, sizeof(out));
    return out;
}

static inline void block_store(double *to, block_pair value)
{
    memcpy(to, &value, sizeof(value));
}

static inline block_pair block_both(double value)
{
    return (block_pair){value, value};
}

// sum += X Y', where X and Y have 4 rows and so many columns.
static inline void block_multiply(double sum[BLOCK_SIZE], const double *x, const double *y,
                                  size_t columns)
{
    block_pair a0 = block_load(sum), b0 = block_load(sum + 2), a1 = block_load(sum + 4),
               b1 = block_load(sum + 6);
    block_pair a2 = block_load(sum + 8), b2 = block_load(sum + 10), a3 = block_load(sum + 12),
               b3 = block_load(sum + 14);
    for (size_t k = 0; k < columns; k++, x += BLOCK, y += BLOCK) {
        const block_pair a = block_load(x), b = block_load(x + 2);
        const block_pair y0 = block_both(y[0]), y1 = block_both(y[1]), y2 = block_both(y[2]),
                         y3 = block_both(y[3]);
        a0 += a * y0;
        b0 += b * y0;
        a1 += a * y1;
        b1 += b * y1;
        a2 += a * y2;
        b2 += b * y2;
        a3 += a * y3;
        b3 += b * y3;
    }
    const block_pair all[] = {a0, b0, a1, b1, a2, b2, a3, b3};
    memcpy(sum, all, sizeof(all));
}

// sum_i += X B_i for each of so many blocks, one after the other in `sums` as in `blocks`.
static inline void block_multiply_each(double *sums, const double x[BLOCK_SIZE],
                                       const double *blocks, size_t count)
{
    const block_pair a0 = block_load(x), b0 = block_load(x + 2), a1 = block_load(x + 4),
                     b1 = block_load(x + 6);
    const block_pair a2 = block_load(x + 8), b2 = block_load(x + 10), a3 = block_load(x + 12),
                     b3 = block_load(x + 14);
    for (size_t i = 0; i < BLOCK * count; i++, sums += BLOCK, blocks += BLOCK) {
        const block_pair y0 = block_both(blocks[0]), y1 = block_both(blocks[1]);
        const block_pair y2 = block_both(blocks[2]), y3 = block_both(blocks[3]);
        block_store(sums, block_load(sums) + (a0 * y0 + a1 * y1) + (a2 * y2 + a3 * y3));
        block_store(sums + 2, block_load(sums + 2) + (b0 * y0 + b1 * y1) + (b2 * y2 + b3 * y3));
    }
}

// sum += X v
static inline void block_apply(double sum[BLOCK], const double x[BLOCK_SIZE], const double v[BLOCK])
{
    const block_pair v0 = block_both(v[0]), v1 = block_both(v[1]), v2 = block_both(v[2]),
                     v3 = block_both(v[3]);
    block_store(sum, block_load(sum) + (block_load(x) * v0 + block_load(x + 4) * v1) +
                         (block_load(x + 8) * v2 + block_load(x + 12) * v3));
    block_store(sum + 2, block_load(sum + 2) + (block_load(x + 2) * v0 + block_load(x + 6) * v1) +
                             (block_load(x + 10) * v2 + block_load(x + 14) * v3));
}

// sum += X' v
static inline void block_apply_transposed(double sum[BLOCK], const double x[BLOCK_SIZE],
                                          const double v[BLOCK])
{
    const block_pair a = block_load(v), b = block_load(v + 2);
    for (size_t i = 0; i < BLOCK; i++) {
        const block_pair dot = block_load(x + BLOCK * i) * a + block_load(x + BLOCK * i + 2) * b;
        sum[i] += dot[0] + dot[1];
    }
}

static inline void block_turn(double *out, block_pair a, block_pair b)
{
    block_store(out, (block_pair){a[0], b[0]});
    block_store(out + BLOCK, (block_pair){a[1], b[1]});
}

static inline void block_transpose(double out[BLOCK_SIZE], const double in[BLOCK_SIZE])
{
    block_turn(out, block_load(in), block_load(in + 4));
    block_turn(out + 2, block_load(in + 8), block_load(in + 12));
    block_turn(out + 8, block_load(in + 2), block_load(in + 6));
    block_turn(out + 10, block_load(in + 10), block_load(in + 14));
}

// The inverse of the lower triangular factor of a symmetric block less `sum`, 0 above the diagonal.
// A pivot that rounding has made nothing is taken as 1e-15 of its element.
void block_factor(double out[BLOCK_SIZE], const double symmetric[BLOCK_SIZE],
                  const double sum[BLOCK_SIZE]);

#endif
