// SPDX-License-Identifier: Apache-2.0
//
// Levels by weighted least squares.
//
// Model. Link l from code a to code b says y = x_b - x_a + e, where x is the log time of a code and
// e has the variance s^2 + t^2: s is the standard error of the link's own pairs, t the misclosure,
// what pairs cannot see (levels_close.c). The levels are the x that make sum w (y - x_b + x_a)^2
// least, w = 1 / (s^2 + t^2): normal equations A x = c, where A is the graph's Laplacian.
// Only differences are seen, so each component has one code, its mark (the first), whose level is 0
// and which is taken out of the equations. Between components nothing is known, and nothing is
// said.
//
// Factor. A = L L', row by row, each row from its first column that is not zero (its envelope; a
// row's fill never leaves it, George and Liu 1981, chapter 4). In the order in which codes came, a
// row reaches back as far as the code's farthest link: 64 codes when the marks are 8 and 64 codes
// back, so that 10,000 codes take 20 million multiplications. A code that is linked from much
// farther behind (an old code that came back, an accepted one) would make every row in between that
// long; such hubs are put last, where each costs one full row. The mark itself costs nothing.
//
// One link more changes the rows from its older end on, and no other: those are computed again.
// For a new code at the end these are as many rows as its links reach back.
//
// Errors. var(x_b - x_a) is |z|^2 with L z = e_b - e_a. All at once: the part of the inverse that
// lies in the envelope follows from L alone, from the last row to the first (Takahashi, Fagan and
// Chen 1973; Erisman and Tinney 1975): for column i, with k running over the rows below it,
//     Z_ji = -(sum_k L_ki Z_kj) / L_ii,    Z_ii = (1 / L_ii - sum_k L_ki Z_ki) / L_ii.
#include "model/history/levels.h"

#include "model/history/level_factor.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FAR = 128 }; // codes between a link's ends that make the older one a hub

#define NO_LINK SIZE_MAX

struct levels *levels_new(void)
{
    struct levels *levels = xcalloc(1, sizeof(*levels));
    levels->factor = xcalloc(1, sizeof(*levels->factor));
    return levels;
}

void levels_free(struct levels *levels)
{
    if (!levels)
        return;
    struct level_factor *f = levels->factor;
    void *const all[] = {f->links, f->next,       f->first,     f->parent,   f->root_mark, f->at,
                         f->code,  f->hub,        f->begin,     f->offset,   f->value,     f->right,
                         f,        levels->level, levels->mark, levels->fit, levels};
    for (size_t i = 0; i < ARRAY_COUNT(all); i++)
        free(all[i]);
}

// ---- links and components ----

static void make_room(struct levels *levels, size_t codes)
{
    struct level_factor *f = levels->factor;
    if (codes <= f->code_room)
        return;
    const size_t room = codes > 2 * f->code_room ? codes : 2 * f->code_room;
    size_t **const sizes[] = {&f->first, &f->parent, &f->root_mark, &f->at,
                              &f->code,  &f->begin,  &f->offset,    &levels->mark};
    for (size_t i = 0; i < ARRAY_COUNT(sizes); i++)
        *sizes[i] = xrealloc(*sizes[i], room + 1, sizeof(**sizes[i]));
    f->hub = xrealloc(f->hub, room, sizeof(*f->hub));
    f->right = xrealloc(f->right, room, sizeof(*f->right));
    levels->level = xrealloc(levels->level, room, sizeof(*levels->level));
    f->code_room = room;
}

static void add_codes(struct levels *levels, size_t codes)
{
    struct level_factor *f = levels->factor;
    make_room(levels, codes);
    for (size_t i = levels->codes; i < codes; i++) {
        f->first[i] = NO_LINK;
        f->parent[i] = f->root_mark[i] = i;
        f->hub[i] = false;
        f->at[i] = f->code[i] = i;
        levels->level[i] = 0;
        levels->mark[i] = i;
        levels->components++;
    }
    if (codes > levels->codes) {
        if (f->hubs)
            f->dirty = 0; // the hubs are no longer last
        levels->codes = codes;
    }
}

static size_t root_of(struct level_factor *f, size_t code)
{
    while (f->parent[code] != code)
        code = f->parent[code] = f->parent[f->parent[code]];
    return code;
}

static void dirty_from(struct level_factor *f, size_t position)
{
    if (position < f->dirty)
        f->dirty = position;
}

// Two components become one, and one of their marks an unknown.
static void join(struct levels *levels, size_t a, size_t b)
{
    struct level_factor *f = levels->factor;
    size_t kept = root_of(f, a), lost = root_of(f, b);
    if (kept == lost)
        return;
    if (f->root_mark[lost] < f->root_mark[kept]) {
        const size_t other = kept;
        kept = lost;
        lost = other;
    }
    dirty_from(f, f->at[f->root_mark[lost]]);
    f->parent[lost] = kept;
    levels->components--;
}

static void make_hub(struct level_factor *f, size_t code)
{
    if (f->hub[code])
        return;
    f->hub[code] = true;
    f->hubs++;
    f->dirty = 0;
}

void levels_add(struct levels *levels, const struct level_link *link)
{
    struct level_factor *f = levels->factor;
    const size_t older = link->from < link->to ? link->from : link->to;
    const size_t newer = link->from < link->to ? link->to : link->from;
    assert(older != newer && isfinite(link->log_ratio) && link->error > 0 && isfinite(link->error));
    add_codes(levels, newer + 1);
    size_t fit_room = f->link_room;
    levels->fit = xgrow(levels->fit, levels->links, &fit_room, sizeof(*levels->fit));
    f->links = xgrow(f->links, levels->links, &f->link_room, sizeof(*f->links));
    f->next = xrealloc(f->next, 2 * f->link_room, sizeof(*f->next));
    const size_t at = levels->links++;
    f->links[at] = *link;
    levels->fit[at] = LINK_FITS;
    f->next[2 * at] = f->first[link->from];
    f->first[link->from] = 2 * at;
    f->next[2 * at + 1] = f->first[link->to];
    f->first[link->to] = 2 * at + 1;
    join(levels, older, newer);
    if (newer - older > FAR && f->root_mark[root_of(f, older)] != older)
        make_hub(f, older);
    dirty_from(f, f->at[older]);
    dirty_from(f, f->at[newer]);
}

bool level_known(const struct levels *levels, size_t code)
{
    return levels->mark[code] == code;
}

double level_weight(const struct levels *levels, size_t link)
{
    const double error = levels->factor->links[link].error;
    return 1 / (error * error + levels->misclosure * levels->misclosure);
}

// ---- the factor ----

// Four sums at once, so that the processor does not wait for one.
double level_dot(const double *a, const double *b, size_t count)
{
    double sum[4] = {0};
    size_t i = 0;
    for (; i + 4 <= count; i += 4) {
        for (size_t k = 0; k < 4; k++)
            sum[k] += a[i + k] * b[i + k];
    }
    for (; i < count; i++)
        sum[0] += a[i] * b[i];
    return sum[0] + sum[1] + (sum[2] + sum[3]);
}

static void put_in_order(struct levels *levels)
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

static int lay_out(struct levels *levels, size_t from, struct error *err)
{
    struct level_factor *f = levels->factor;
    f->offset[0] = 0;
    for (size_t p = from; p < levels->codes; p++) {
        f->begin[p] = p;
        for (size_t end = f->first[f->code[p]]; end != NO_LINK; end = f->next[end]) {
            const size_t column = level_known(levels, f->code[p]) ? p : column_of(levels, end, p);
            if (column < f->begin[p])
                f->begin[p] = column;
        }
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

// Row p of A, in the factor's place, and its right hand side.
static void fill_row(struct levels *levels, size_t p)
{
    struct level_factor *f = levels->factor;
    double *row = f->value + f->offset[p];
    const size_t last = p - f->begin[p];
    memset(row, 0, (last + 1) * sizeof(*row));
    f->right[p] = 0;
    if (level_known(levels, f->code[p])) {
        row[last] = 1;
        return;
    }
    for (size_t end = f->first[f->code[p]]; end != NO_LINK; end = f->next[end]) {
        if (levels->fit[end / 2] == LINK_ASIDE)
            continue;
        const double weight = level_weight(levels, end / 2);
        const double ratio = f->links[end / 2].log_ratio;
        const size_t column = column_of(levels, end, p);
        row[last] += weight;
        f->right[p] += end % 2 ? weight * ratio : -weight * ratio;
        if (column < p)
            row[column - f->begin[p]] -= weight;
    }
}

static void factor_row(struct level_factor *f, size_t p)
{
    double *row = f->value + f->offset[p];
    const size_t begin = f->begin[p];
    for (size_t q = begin; q < p; q++) {
        const double *above = f->value + f->offset[q];
        const size_t from = f->begin[q] > begin ? f->begin[q] : begin;
        const double dot = level_dot(row + (from - begin), above + (from - f->begin[q]), q - from);
        row[q - begin] = (row[q - begin] - dot) * above[q - f->begin[q]];
    }
    const size_t last = p - begin;
    // Positive but for rounding: every component is held by its mark.
    const double square = row[last] - level_dot(row, row, last);
    row[last] = 1 / sqrt(fmax(square, row[last] * 1e-15));
    f->right[p] = (f->right[p] - level_dot(row, f->right + begin, last)) * row[last];
}

// Back substitution of the right hand side: the levels.
static void substitute_back(struct levels *levels)
{
    const struct level_factor *f = levels->factor;
    double *x = xcalloc(levels->codes + 1, sizeof(*x));
    memcpy(x, f->right, levels->codes * sizeof(*x));
    for (size_t p = levels->codes; p-- > 0;) {
        const double *row = f->value + f->offset[p];
        const size_t begin = f->begin[p];
        x[p] *= row[p - begin];
        for (size_t q = begin; q < p; q++)
            x[q] -= row[q - begin] * x[p];
        levels->level[f->code[p]] = x[p];
    }
    free(x);
}

int levels_solve(struct levels *levels, struct error *err)
{
    struct level_factor *f = levels->factor;
    size_t used = 0;
    if (levels->codes == 0)
        return 0;
    if (f->dirty == 0)
        put_in_order(levels);
    for (size_t i = 0; i < levels->codes; i++)
        levels->mark[i] = f->root_mark[root_of(f, i)];
    if (lay_out(levels, f->dirty, err))
        return -1;
    for (size_t p = f->dirty; p < levels->codes; p++) {
        fill_row(levels, p);
        factor_row(f, p);
    }
    f->dirty = levels->codes;
    substitute_back(levels);
    for (size_t i = 0; i < levels->links; i++)
        used += levels->fit[i] != LINK_ASIDE;
    levels->loops = used + levels->components - levels->codes;
    return 0;
}
