// SPDX-License-Identifier: Apache-2.0
//
// The inverse where the factor has room, and the levels' errors from it.
//
// The part of Z = A^-1 that lies in the envelope follows from the factor alone, from the last
// column to the first (Takahashi, Fagan and Chen 1973; Erisman and Tinney 1975). Z L = L^-T is
// upper triangular, so that for the blocks of column I, with K running over the rows below it,
//     Z_JI = -(sum_K Z_JK L_KI) L_II^-1,    Z_II = (L_II^-T - sum_K Z_KI' L_KI) L_II^-1.
// Z is symmetric and has only its lower half: what a row K has left of its diagonal is a part of
// its own sum, and, transposed, of the sums of the rows before it.
#include "model/history/level_block.h"
#include "model/history/level_factor.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct column {
    const struct level_factor *f;
    size_t plain; // rows of blocks before those with hubs
    size_t *last; // of each column: the last plain row that may have a block in it
    size_t *rows; // below the diagonal that have one in this column
    size_t count;
    // By row: its block of L, transposed, 0 where it has none; Z_J times them, and transposed.
    double *l, *sum, *turned;
};

static const double *block_of(const struct level_factor *f, const double *values, size_t row,
                              size_t column)
{
    return values + f->offset[row] + BLOCK_SIZE * (column - f->begin[row]);
}

// Row k's part, in its columns from..to-1, which are not right of its diagonal.
BLOCK_INLINE void add_range(struct column *c, size_t k, size_t from, size_t to)
{
    if (from >= to)
        return;
    const double *z = block_of(c->f, c->f->inverse, k, from);
    const size_t before = to > k ? k : to;
    block_multiply(c->sum + BLOCK_SIZE * k, z, c->l + BLOCK_SIZE * from, BLOCK * (to - from));
    block_multiply_each(c->turned + BLOCK_SIZE * from, c->l + BLOCK_SIZE * k, z, before - from);
}

BLOCK_INLINE void take_row(struct column *c, size_t k, size_t i)
{
    if (c->f->begin[k] > i)
        return;
    c->rows[c->count++] = k;
    block_transpose(c->l + BLOCK_SIZE * k, block_of(c->f, c->f->value, k, i));
}

// (L_II^-T - own) L_II^-1
BLOCK_INLINE void put_diagonal(double z[BLOCK_SIZE], const double pivot[BLOCK_SIZE],
                               const double own[BLOCK_SIZE])
{
    double left[BLOCK_SIZE], turned[BLOCK_SIZE];
    block_transpose(turned, pivot);
    for (size_t i = 0; i < BLOCK_SIZE; i++)
        left[i] = turned[i] - own[i];
    memset(z, 0, sizeof(left));
    block_multiply(z, left, turned, BLOCK);
}

BLOCK_INLINE void invert_column(struct column *c, size_t i)
{
    const struct level_factor *f = c->f;
    const size_t near = i < c->plain ? c->last[i] + 1 : i + 1;
    const size_t hubs = c->plain > i ? c->plain : i + 1;
    const double *pivot = block_of(f, f->value, i, i);
    double turned[BLOCK_SIZE], own[BLOCK_SIZE] = {0}, own_turned[BLOCK_SIZE] = {0};
    c->count = 0;
    for (size_t k = i + 1; k < near; k++)
        take_row(c, k, i);
    for (size_t k = hubs; k < f->blocks; k++)
        take_row(c, k, i);
    for (size_t n = 0; n < c->count; n++) {
        const size_t k = c->rows[n];
        add_range(c, k, i + 1, k < near ? k + 1 : near);
        if (k >= hubs)
            add_range(c, k, hubs, k + 1);
    }
    block_transpose(turned, pivot);
    for (size_t n = 0; n < c->count; n++) {
        const size_t k = c->rows[n];
        double *z = f->inverse + f->offset[k] + BLOCK_SIZE * (i - f->begin[k]), sum[BLOCK_SIZE];
        block_transpose(sum, c->turned + BLOCK_SIZE * k);
        for (size_t e = 0; e < BLOCK_SIZE; e++)
            sum[e] = -(sum[e] + c->sum[BLOCK_SIZE * k + e]);
        memset(z, 0, sizeof(sum));
        block_multiply(z, sum, turned, BLOCK);
        block_multiply_each(own_turned, c->l + BLOCK_SIZE * k, z, 1);
    }
    block_transpose(own, own_turned);
    put_diagonal(f->inverse + f->offset[i] + BLOCK_SIZE * (i - f->begin[i]), pivot, own);
    for (size_t n = 0; n < c->count; n++)
        memset(c->l + BLOCK_SIZE * c->rows[n], 0, sizeof(own));
    memset(c->sum + BLOCK_SIZE * i, 0, BLOCK_SIZE * (near - i) * sizeof(*c->sum));
    memset(c->turned + BLOCK_SIZE * i, 0, BLOCK_SIZE * (near - i) * sizeof(*c->turned));
    memset(c->sum + BLOCK_SIZE * hubs, 0, BLOCK_SIZE * (f->blocks - hubs) * sizeof(*c->sum));
    memset(c->turned + BLOCK_SIZE * hubs, 0, BLOCK_SIZE * (f->blocks - hubs) * sizeof(*c->turned));
}

BLOCK_WIDE static void invert_wide(struct column *c)
{
    for (size_t i = c->f->blocks; i-- > 0;)
        invert_column(c, i);
}

static void invert_narrow(struct column *c)
{
    for (size_t i = c->f->blocks; i-- > 0;)
        invert_column(c, i);
}

void level_invert(const struct levels *levels)
{
    struct level_factor *f = levels->factor;
    assert(f->dirty >= levels->codes);
    if (f->inverted)
        return;
    f->inverse = xrealloc(f->inverse, f->offset[f->blocks], sizeof(*f->inverse));
    struct column c = {.f = f,
                       .plain = (levels->codes - f->hubs) / BLOCK,
                       .last = xcalloc(f->blocks, sizeof(size_t)),
                       .rows = xcalloc(f->blocks, sizeof(size_t)),
                       .l = xcalloc(BLOCK_SIZE * f->blocks, sizeof(double)),
                       .sum = xcalloc(BLOCK_SIZE * f->blocks, sizeof(double)),
                       .turned = xcalloc(BLOCK_SIZE * f->blocks, sizeof(double))};
    if (f->hubs == 0)
        c.plain = f->blocks;
    for (size_t k = 0; k < c.plain; k++)
        c.last[f->begin[k]] = k;
    for (size_t i = 1; i < c.plain; i++)
        c.last[i] = c.last[i] > c.last[i - 1] ? c.last[i] : c.last[i - 1];
    (block_is_wide() ? invert_wide : invert_narrow)(&c);
    void *const all[] = {c.last, c.rows, c.l, c.sum, c.turned};
    for (size_t i = 0; i < ARRAY_COUNT(all); i++)
        free(all[i]);
    f->inverted = true;
}

// ---- errors ----

static double inverse_at(const struct levels *levels, size_t a, size_t b)
{
    const struct level_factor *f = levels->factor;
    if (level_known(levels, a) || level_known(levels, b))
        return 0;
    return f->at[a] > f->at[b] ? *level_at(f, f->inverse, f->at[a], f->at[b])
                               : *level_at(f, f->inverse, f->at[b], f->at[a]);
}

double level_variance(const struct levels *levels, size_t a, size_t b)
{
    return inverse_at(levels, a, a) + inverse_at(levels, b, b) - 2 * inverse_at(levels, a, b);
}

static double deviation(const struct levels *levels, double variance)
{
    return levels->unit * sqrt(fmax(variance, 0));
}

void levels_errors(double *out, const struct levels *levels)
{
    if (levels->codes == 0)
        return;
    level_invert(levels);
    for (size_t i = 0; i < levels->codes; i++)
        out[i] = deviation(levels, inverse_at(levels, i, i));
}

// The inverse has an element for these two codes.
static bool in_envelope(const struct levels *levels, size_t a, size_t b)
{
    const struct level_factor *f = levels->factor;
    const size_t p = f->at[a] > f->at[b] ? f->at[a] : f->at[b];
    const size_t q = f->at[a] > f->at[b] ? f->at[b] : f->at[a];
    return level_known(levels, a) || level_known(levels, b) || q / BLOCK >= f->begin[p / BLOCK];
}

// |z|^2 with L z = e_b - e_a
static double substitute(const struct levels *levels, size_t from, size_t to)
{
    const struct level_factor *f = levels->factor;
    const size_t first = (f->at[from] < f->at[to] ? f->at[from] : f->at[to]) / BLOCK;
    double *z = xcalloc(BLOCK * f->blocks, sizeof(*z)), square = 0;
    if (!level_known(levels, from))
        z[f->at[from]] = -1;
    if (!level_known(levels, to))
        z[f->at[to]] = 1;
    for (size_t b = first; b < f->blocks; b++) {
        double left[BLOCK] = {0};
        for (size_t q = f->begin[b] > first ? f->begin[b] : first; q < b; q++)
            block_apply(left, block_of(f, f->value, b, q), z + BLOCK * q);
        for (size_t i = 0; i < BLOCK; i++)
            left[i] = z[BLOCK * b + i] - left[i];
        memset(z + BLOCK * b, 0, sizeof(left));
        block_apply(z + BLOCK * b, block_of(f, f->value, b, b), left);
        for (size_t i = 0; i < BLOCK; i++)
            square += z[BLOCK * b + i] * z[BLOCK * b + i];
    }
    free(z);
    return square;
}

void levels_between(double *size, double *error, const struct levels *levels, size_t from,
                    size_t to)
{
    const struct level_factor *f = levels->factor;
    assert(from < levels->codes && to < levels->codes && f->dirty == levels->codes);
    *size = *error = INFINITY;
    if (levels->mark[from] != levels->mark[to])
        return;
    *size = levels->level[to] - levels->level[from];
    if (from == to)
        *error = 0;
    else if (f->inverted && in_envelope(levels, from, to))
        *error = deviation(levels, level_variance(levels, from, to));
    else
        *error = deviation(levels, substitute(levels, from, to));
}
