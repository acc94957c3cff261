// SPDX-License-Identifier: Apache-2.0
//
// The equations of levels.c, row by row, and their factor.
#include "model/history/level_factor.h"

#include "model/history/level_block.h"

#include <stdlib.h>
#include <string.h>

double *level_at(const struct level_factor *f, double *values, size_t row, size_t column)
{
    const size_t b = row / BLOCK, q = column / BLOCK;
    return values + f->offset[b] + BLOCK_SIZE * (q - f->begin[b]) + BLOCK * (column % BLOCK) +
           row % BLOCK;
}

void level_put_in_order(struct levels *levels)
{
    struct level_factor *f = levels->factor;
    size_t plain = 0, last = levels->codes - f->hubs;
    for (size_t code = 0; code < levels->codes; code++) {
        const size_t at = f->hub[code] ? last++ : plain++;
        f->at[code] = at;
        f->code[at] = code;
    }
}

// The link's other end if it is an unknown that comes before position p; else p.
static size_t column_of(const struct levels *levels, size_t end, size_t p)
{
    const struct level_factor *f = levels->factor;
    const struct level_link *link = &f->links[end / 2];
    const size_t other = end % 2 ? link->from : link->to;
    if (levels->fit[end / 2] == LINK_ASIDE || level_known(levels, other) || f->at[other] > p)
        return p;
    return f->at[other];
}

// The position of a settled code if it is an unknown that does not come behind position p; else
// SIZE_MAX.
static size_t settled_column(const struct levels *levels, size_t code, size_t p)
{
    const size_t at = levels->factor->at[code];
    return level_known(levels, code) || at > p ? SIZE_MAX : at;
}

// The first column that is not zero in the row at position p, or would not be if no link were set
// aside: the inverse is asked about the codes of those, too (levels_fit_chance).
static size_t first_column(const struct levels *levels, size_t p)
{
    const struct level_factor *f = levels->factor;
    const size_t settled = f->code[p] < f->settled.codes ? f->settled.codes : 0;
    size_t first = p;
    if (level_known(levels, f->code[p]))
        return p;
    for (size_t code = 0; code < settled; code++) {
        const size_t column = settled_column(levels, code, p);
        first = column < first ? column : first;
    }
    for (size_t end = f->first[f->code[p]]; end != LEVEL_NO_LINK; end = f->next[end]) {
        const struct level_link *link = &f->links[end / 2];
        const size_t other = end % 2 ? link->from : link->to;
        const size_t column = level_known(levels, other) ? p : f->at[other];
        first = column < first ? column : first;
    }
    return first;
}

int level_lay_out(struct levels *levels, size_t from, struct error *err)
{
    struct level_factor *f = levels->factor;
    f->blocks = (levels->codes + BLOCK - 1) / BLOCK;
    f->offset[0] = 0;
    for (size_t b = from; b < f->blocks; b++) {
        f->begin[b] = b;
        for (size_t p = BLOCK * b; p < BLOCK * (b + 1) && p < levels->codes; p++) {
            const size_t column = first_column(levels, p) / BLOCK;
            f->begin[b] = column < f->begin[b] ? column : f->begin[b];
        }
        f->offset[b + 1] = f->offset[b] + BLOCK_SIZE * (b - f->begin[b] + 1);
        if (f->offset[b + 1] > LEVELS_ROOM)
            return error_set(err,
                             "links reach too far back to be levelled together: after %zu of "
                             "%zu codes they take %d numbers",
                             BLOCK * b, levels->codes, LEVELS_ROOM);
    }
    const size_t size = f->offset[f->blocks];
    if (size > f->value_room) {
        f->value_room = size + size / 2;
        f->value = xrealloc(f->value, f->value_room, sizeof(*f->value));
    }
    return 0;
}

// What settled links say of the row at position p.
static void fill_settled(struct levels *levels, size_t p)
{
    struct level_factor *f = levels->factor;
    const struct levels_settled *s = &f->settled;
    const size_t code = f->code[p];
    for (size_t other = 0; other < s->codes; other++) {
        const size_t column = settled_column(levels, other, p);
        if (column != SIZE_MAX)
            *level_at(f, f->value, p, column) += s->information[code * s->codes + other];
    }
    f->right[p] += s->right[code];
}

// The row of A at position p, into its block row's place, and its right hand side.
static void fill_row(struct levels *levels, size_t p)
{
    struct level_factor *f = levels->factor;
    double *diagonal = level_at(f, f->value, p, p);
    f->right[p] = 0;
    if (p >= levels->codes || level_known(levels, f->code[p])) {
        *diagonal = 1;
        return;
    }
    if (f->code[p] < f->settled.codes)
        fill_settled(levels, p);
    for (size_t end = f->first[f->code[p]]; end != LEVEL_NO_LINK; end = f->next[end]) {
        if (levels->fit[end / 2] == LINK_ASIDE)
            continue;
        const double weight = level_weight(levels, end / 2);
        const double ratio = f->links[end / 2].log_ratio;
        const size_t column = column_of(levels, end, p);
        *diagonal += weight;
        f->right[p] += end % 2 ? weight * ratio : -weight * ratio;
        if (column < p)
            *level_at(f, f->value, p, column) -= weight;
    }
}

// The blocks of one row in the columns before `end`, from what they are in A, by the rows before.
BLOCK_INLINE void factor_before(struct level_factor *f, size_t b, size_t end)
{
    const size_t begin = f->begin[b];
    double *row = f->value + f->offset[b];
    for (size_t q = begin; q < end; q++) {
        double *block = row + BLOCK_SIZE * (q - begin), sum[BLOCK_SIZE] = {0};
        const double *above = f->value + f->offset[q];
        const size_t from = f->begin[q] > begin ? f->begin[q] : begin;
        block_multiply(sum, row + BLOCK_SIZE * (from - begin),
                       above + BLOCK_SIZE * (from - f->begin[q]), BLOCK * (q - from));
        for (size_t i = 0; i < BLOCK_SIZE; i++)
            sum[i] = block[i] - sum[i];
        memset(block, 0, sizeof(sum));
        block_multiply(block, sum, above + BLOCK_SIZE * (q - f->begin[q]), BLOCK);
    }
}

// The right hand side of one row less what the columns before `end` say.
BLOCK_INLINE void reduce_right(double right[BLOCK], const struct level_factor *f, size_t b,
                               size_t end)
{
    const double *row = f->value + f->offset[b];
    double sum[BLOCK] = {0};
    for (size_t q = f->begin[b]; q < end; q++)
        block_apply(sum, row + BLOCK_SIZE * (q - f->begin[b]), f->right + BLOCK * q);
    for (size_t i = 0; i < BLOCK; i++)
        right[i] = f->right[BLOCK * b + i] - sum[i];
}

BLOCK_INLINE void factor_row(struct level_factor *f, size_t b)
{
    const size_t begin = f->begin[b];
    double *row = f->value + f->offset[b], *diagonal = row + BLOCK_SIZE * (b - begin);
    double sum[BLOCK_SIZE] = {0}, whole[BLOCK_SIZE], right[BLOCK];
    factor_before(f, b, b);
    block_multiply(sum, row, row, BLOCK * (b - begin));
    memcpy(whole, diagonal, sizeof(whole));
    block_factor(diagonal, whole, sum);
    reduce_right(right, f, b, b);
    memset(f->right + BLOCK * b, 0, BLOCK * sizeof(*right));
    block_apply(f->right + BLOCK * b, diagonal, right);
}

// One row without what the columns before `end` say of it: of A, and of the right hand side, what
// is left where these are eliminated.
BLOCK_INLINE void reduce_row(struct level_factor *f, size_t b, size_t end)
{
    const size_t begin = f->begin[b];
    double *row = f->value + f->offset[b], right[BLOCK];
    if (begin >= end)
        return;
    factor_before(f, b, end);
    reduce_right(right, f, b, end);
    memcpy(f->right + BLOCK * b, right, sizeof(right));
    for (size_t q = end; q <= b; q++) {
        double *block = row + BLOCK_SIZE * (q - begin), sum[BLOCK_SIZE] = {0};
        const size_t from = f->begin[q] > begin ? f->begin[q] : begin;
        if (from >= end)
            continue;
        block_multiply(sum, row + BLOCK_SIZE * (from - begin),
                       f->value + f->offset[q] + BLOCK_SIZE * (from - f->begin[q]),
                       BLOCK * (end - from));
        for (size_t i = 0; i < BLOCK_SIZE; i++)
            block[i] -= sum[i];
    }
}

// Back substitution of the right hand side: the levels.
void level_substitute_back(struct levels *levels)
{
    const struct level_factor *f = levels->factor;
    double *left = xcalloc(BLOCK * f->blocks, sizeof(*left));
    memcpy(left, f->right, BLOCK * f->blocks * sizeof(*left));
    for (size_t b = f->blocks; b-- > 0;) {
        const double *row = f->value + f->offset[b];
        double x[BLOCK] = {0};
        block_apply_transposed(x, row + BLOCK_SIZE * (b - f->begin[b]), left + BLOCK * b);
        for (size_t q = f->begin[b]; q < b; q++) {
            double sum[BLOCK] = {0};
            block_apply_transposed(sum, row + BLOCK_SIZE * (q - f->begin[b]), x);
            for (size_t i = 0; i < BLOCK; i++)
                left[BLOCK * q + i] -= sum[i];
        }
        for (size_t i = 0; i < BLOCK && BLOCK * b + i < levels->codes; i++)
            levels->level[f->code[BLOCK * b + i]] = x[i];
    }
    free(left);
}

// All rows of blocks from one on; those from `end` on are only reduced.
BLOCK_INLINE void factor_rows(struct levels *levels, size_t from, size_t end)
{
    struct level_factor *f = levels->factor;
    for (size_t b = from; b < f->blocks; b++) {
        memset(f->value + f->offset[b], 0, (f->offset[b + 1] - f->offset[b]) * sizeof(*f->value));
        for (size_t i = 0; i < BLOCK; i++)
            fill_row(levels, BLOCK * b + i);
        if (b < end)
            factor_row(f, b);
        else
            reduce_row(f, b, end);
    }
}

BLOCK_WIDE static void factor_wide(struct levels *levels, size_t from, size_t end)
{
    factor_rows(levels, from, end);
}

static void factor_narrow(struct levels *levels, size_t from, size_t end)
{
    factor_rows(levels, from, end);
}

void level_factor_rows(struct levels *levels, size_t from, size_t end)
{
    (block_is_wide() ? factor_wide : factor_narrow)(levels, from, end);
}
