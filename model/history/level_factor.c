// SPDX-License-Identifier: Apache-2.0
//
// The equations of levels.c, row by row, and their factor.
#include "model/history/level_factor.h"

#include "model/history/levels.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

// ---- products ----

// Four sums at once, in the same order on every processor: no other result where it has vectors.
typedef double four __attribute__((vector_size(32), aligned(8), may_alias));

static double dot(const double *a, const double *b, size_t n)
{
    four sums = {0};
    double rest = 0;
    size_t i = 0;
    for (; i + 4 <= n; i += 4)
        sums += *(const four *)(a + i) * *(const four *)(b + i);
    for (; i < n; i++)
        rest += a[i] * b[i];
    return (sums[0] + sums[2]) + (sums[1] + sums[3]) + rest;
}

static void add_times(double *to, const double *from, double times, size_t n)
{
    size_t i = 0;
    for (; i + 4 <= n; i += 4)
        *(four *)(to + i) += *(const four *)(from + i) * times;
    for (; i < n; i++)
        to[i] += from[i] * times;
}

// ---- the equations ----

static const double alike = 0.01; // log ratio of codes that pairs see as they see equal ones

// A code's mark is not among the unknowns.
static bool level_known(const struct levels *levels, size_t code)
{
    return levels->mark[code] == code;
}

double level_change(const struct level_link *link)
{
    return fmax(fabs(link->log_ratio) - alike, 0);
}

double level_weight(const struct levels *levels, size_t link)
{
    const struct level_link *l = &levels->factor->links[link];
    const double change = levels->weighed_unlike * level_change(l);
    return 1 / (l->error * l->error + levels->weighed * levels->weighed + change * change +
                levels->factor->doubt[link]);
}

// A row of the factor or of the inverse, by columns: those of its envelope are there. No row is
// shorter than one number, so the first of its columns is never before the array.
static double *row_of(const struct level_factor *f, double *values, size_t row)
{
    return values + (f->offset[row] - f->begin[row]);
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

// The first column that is not zero in the row at position p, or would not be if no link were set
// aside: the inverse is asked about the codes of those, too (levels_fit_chance).
static size_t first_column(const struct levels *levels, size_t p)
{
    const struct level_factor *f = levels->factor;
    size_t first = p;
    if (level_known(levels, f->code[p]))
        return p;
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
    f->offset[0] = 0;
    for (size_t p = from; p < levels->codes; p++) {
        f->begin[p] = first_column(levels, p);
        f->offset[p + 1] = f->offset[p] + p - f->begin[p] + 1;
        if (f->offset[p + 1] > LEVELS_ROOM)
            return error_set(err,
                             "links reach too far back to be levelled together: after %zu of "
                             "%zu codes they take %d numbers",
                             p, levels->codes, LEVELS_ROOM);
    }
    const size_t size = f->offset[levels->codes];
    if (size > f->value_room) {
        f->value_room = size + size / 2;
        f->value = xrealloc(f->value, f->value_room, sizeof(*f->value));
    }
    return 0;
}

// The row of A at position p, into its row's place, and its right hand side.
static void fill_row(struct levels *levels, size_t p)
{
    struct level_factor *f = levels->factor;
    double *row = row_of(f, f->value, p);
    memset(row + f->begin[p], 0, (p - f->begin[p] + 1) * sizeof(*row));
    f->right[p] = 0;
    if (level_known(levels, f->code[p])) {
        row[p] = 1;
        return;
    }
    for (size_t end = f->first[f->code[p]]; end != LEVEL_NO_LINK; end = f->next[end]) {
        if (levels->fit[end / 2] == LINK_ASIDE)
            continue;
        const double weight = level_weight(levels, end / 2);
        const double ratio = f->links[end / 2].log_ratio;
        const size_t column = column_of(levels, end, p);
        row[p] += weight;
        f->right[p] += end % 2 ? weight * ratio : -weight * ratio;
        if (column < p)
            row[column] -= weight;
    }
}

static void factor_row(struct level_factor *f, size_t p)
{
    const size_t begin = f->begin[p];
    double *row = row_of(f, f->value, p);
    for (size_t q = begin; q < p; q++) {
        const double *above = row_of(f, f->value, q);
        const size_t from = f->begin[q] > begin ? f->begin[q] : begin;
        row[q] = (row[q] - dot(row + from, above + from, q - from)) * above[q];
    }
    const double left = row[p] - dot(row + begin, row + begin, p - begin);
    row[p] = 1 / sqrt(fmax(left, row[p] * 1e-15));
    f->right[p] = (f->right[p] - dot(row + begin, f->right + begin, p - begin)) * row[p];
}

void level_factor_rows(struct levels *levels, size_t from)
{
    for (size_t p = from; p < levels->codes; p++) {
        fill_row(levels, p);
        factor_row(levels->factor, p);
    }
}

// Back substitution of the right hand side: the levels.
void level_substitute_back(struct levels *levels)
{
    const struct level_factor *f = levels->factor;
    double *left = xcalloc(levels->codes, sizeof(*left));
    memcpy(left, f->right, levels->codes * sizeof(*left));
    for (size_t p = levels->codes; p-- > 0;) {
        const double *row = row_of(f, f->value, p);
        const double x = left[p] * row[p];
        add_times(left + f->begin[p], row + f->begin[p], -x, p - f->begin[p]);
        levels->level[f->code[p]] = x;
    }
    free(left);
}

// ---- the inverse where the factor has room ----
//
// The part of Z = A^-1 that lies in the envelope follows from the factor alone, from the last
// column to the first (Takahashi, Fagan and Chen 1973; Erisman and Tinney 1975). Z L = L^-T is
// upper triangular, so that for column i, with k running over the rows below it,
//     Z_ji = -(sum_k Z_jk L_ki) / L_ii,    Z_ii = (1 / L_ii - sum_k Z_ki L_ki) / L_ii.
// Z is symmetric and has only its lower half: what a row k has left of its diagonal is a part of
// its own sum, and of the sums of the rows before it.

struct column {
    const struct level_factor *f;
    size_t codes, plain; // plain: rows before the hubs'
    size_t *last;        // of each column: the last plain row that may have something in it
    size_t *rows;        // below the diagonal that have something in this column
    size_t count;
    double *l, *sum; // by row: its element of L, 0 where it has none; Z_j times them
};

// Row k's part, in its columns from..to-1, which are not right of its diagonal.
static void add_range(struct column *c, size_t k, size_t from, size_t to)
{
    if (from >= to)
        return;
    const double *z = row_of(c->f, c->f->inverse, k);
    c->sum[k] += dot(z + from, c->l + from, to - from);
    add_times(c->sum + from, z + from, c->l[k], (to > k ? k : to) - from);
}

static void take_row(struct column *c, size_t k, size_t i)
{
    if (c->f->begin[k] > i)
        return;
    c->rows[c->count++] = k;
    c->l[k] = row_of(c->f, c->f->value, k)[i];
}

static void invert_column(struct column *c, size_t i)
{
    const struct level_factor *f = c->f;
    const size_t near = i < c->plain ? c->last[i] + 1 : i + 1;
    const size_t hubs = c->plain > i ? c->plain : i + 1;
    const double pivot = row_of(f, f->value, i)[i];
    double own = 0;
    c->count = 0;
    for (size_t k = i + 1; k < near; k++)
        take_row(c, k, i);
    for (size_t k = hubs; k < c->codes; k++)
        take_row(c, k, i);
    for (size_t n = 0; n < c->count; n++) {
        const size_t k = c->rows[n];
        add_range(c, k, i + 1, k < near ? k + 1 : near);
        if (k >= hubs)
            add_range(c, k, hubs, k + 1);
    }
    for (size_t n = 0; n < c->count; n++) {
        const size_t k = c->rows[n];
        const double z = -c->sum[k] * pivot;
        row_of(f, f->inverse, k)[i] = z;
        own += z * c->l[k];
        c->l[k] = 0;
    }
    row_of(f, f->inverse, i)[i] = (pivot - own) * pivot;
    memset(c->sum + i, 0, (near - i) * sizeof(*c->sum));
    memset(c->sum + hubs, 0, (c->codes - hubs) * sizeof(*c->sum));
}

void level_invert(const struct levels *levels)
{
    struct level_factor *f = levels->factor;
    const size_t codes = levels->codes;
    assert(f->dirty >= codes);
    if (f->inverted)
        return;
    f->inverse = xrealloc(f->inverse, f->offset[codes], sizeof(*f->inverse));
    struct column c = {.f = f,
                       .codes = codes,
                       .plain = codes - f->hubs,
                       .last = xcalloc(codes, sizeof(size_t)),
                       .rows = xcalloc(codes, sizeof(size_t)),
                       .l = xcalloc(codes, sizeof(double)),
                       .sum = xcalloc(codes, sizeof(double))};
    for (size_t k = 0; k < c.plain; k++)
        c.last[f->begin[k]] = k;
    for (size_t i = 1; i < c.plain; i++)
        c.last[i] = c.last[i] > c.last[i - 1] ? c.last[i] : c.last[i - 1];
    for (size_t i = codes; i-- > 0;)
        invert_column(&c, i);
    free(c.last);
    free(c.rows);
    free(c.l);
    free(c.sum);
    f->inverted = true;
}

// ---- errors ----

static double inverse_at(const struct levels *levels, size_t a, size_t b)
{
    const struct level_factor *f = levels->factor;
    if (level_known(levels, a) || level_known(levels, b))
        return 0;
    return f->at[a] > f->at[b] ? row_of(f, f->inverse, f->at[a])[f->at[b]]
                               : row_of(f, f->inverse, f->at[b])[f->at[a]];
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
    return level_known(levels, a) || level_known(levels, b) || q >= f->begin[p];
}

// |z|^2 with L z = e_b - e_a
static double substitute(const struct levels *levels, size_t from, size_t to)
{
    const struct level_factor *f = levels->factor;
    const size_t first = f->at[from] < f->at[to] ? f->at[from] : f->at[to];
    double *z = xcalloc(levels->codes, sizeof(*z)), square = 0;
    if (!level_known(levels, from))
        z[f->at[from]] = -1;
    if (!level_known(levels, to))
        z[f->at[to]] = 1;
    for (size_t p = first; p < levels->codes; p++) {
        const double *row = row_of(f, f->value, p);
        const size_t begin = f->begin[p] > first ? f->begin[p] : first;
        z[p] = (z[p] - dot(row + begin, z + begin, p - begin)) * row[p];
        square += z[p] * z[p];
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
