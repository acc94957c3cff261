// SPDX-License-Identifier: Apache-2.0
//
// Levels by weighted least squares.
//
// Model. Link l from code a to code b says y = x_b - x_a + e, where x is the log time of a code and
// e has the variance v = s^2 + t^2 + u^2 d^2: s is the standard error of the link's own pairs, the
// rest what pairs cannot see, t of any two codes and u of unlike ones (below). The levels
// are the x that make sum w (y - x_b + x_a)^2 least, w = 1 / v: normal equations A x = c, where A
// is the graph's Laplacian.
// Only differences are seen, so each component has one code, its mark (the first), whose level is 0
// and which is taken out of the equations. Between components nothing is known, and nothing is
// said.
//
// Factor. A = L L', row by row, each row from its first column that is not zero (its envelope; a
// row's fill never leaves it, George and Liu 1981, chapter 4). In the order in which codes came, a
// row reaches back as far as the code's farthest link: 64 codes when the marks are 8 and 64 codes
// back, so that 10,000 codes take 20 million multiplications.
// A code that is linked from much farther behind (an old code that came back, an accepted one)
// would make every row in between that long; such hubs are put last, where each costs one full row.
// The mark itself costs nothing.
//
// One link more changes the rows from its older end on, and no other: those are computed again.
// For a new code at the end these are as many rows as its links reach back.
//
// Errors. var(x_b - x_a) is |z|^2 with L z = e_b - e_a; all at once they follow from the inverse
// (level_invert()).
#include "model/history/levels.h"

#include "model/robust.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { FAR = 128 }; // codes between a link's ends that make the older one a hub

#define NO_LINK SIZE_MAX

static const double level_bridge = 1e-7; // redundancy of a link in no loop, but for rounding

// ---- the equations, row by row, and their factor: products ----

// Four sums at once, in the same order on every processor: no other result where it has vectors.
typedef double four __attribute__((vector_size(32), aligned(8), may_alias));

// The loops that call these are compiled a second time for processors whose vectors hold all four:
// 10,000 codes are levelled in 42 ms in place of 71 (on one thread of a core whose other is busy).
#define PRODUCT static inline __attribute__((always_inline))
#ifdef __x86_64__
#define OF_PRODUCTS __attribute__((target_clones("avx2", "default")))
#else
#define OF_PRODUCTS
#endif

PRODUCT double dot(const double *a, const double *b, size_t n)
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

PRODUCT void add_times(double *to, const double *from, double times, size_t n)
{
    size_t i = 0;
    for (; i + 4 <= n; i += 4)
        *(four *)(to + i) += *(const four *)(from + i) * times;
    for (; i < n; i++)
        to[i] += from[i] * times;
}

// ---- the equations ----

static const double alike_most = 0.01; // log ratio of codes that pairs see as they see equal ones

// A code's mark is not among the unknowns.
static bool level_known(const struct levels *levels, size_t code)
{
    return levels->mark[code] == code;
}

// How far a link's codes are unlike, d of levels.c.
static double level_change(const struct level_link *link)
{
    return fmax(fabs(link->log_ratio) - alike_most, 0);
}

static double level_weight(const struct levels *levels, size_t link)
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
    for (size_t end = f->first[f->code[p]]; end != NO_LINK; end = f->next[end]) {
        const struct level_link *link = &f->links[end / 2];
        const size_t other = end % 2 ? link->from : link->to;
        const size_t column = level_known(levels, other) ? p : f->at[other];
        first = column < first ? column : first;
    }
    return first;
}

// Makes room for the rows from one on. -1: they are too many.
static int level_lay_out(struct levels *levels, size_t from, struct error *err)
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
    for (size_t end = f->first[f->code[p]]; end != NO_LINK; end = f->next[end]) {
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

PRODUCT void factor_row(struct level_factor *f, size_t p)
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

// Fills and factors the rows from one on, and the right hand side with them.
OF_PRODUCTS static void level_factor_rows(struct levels *levels, size_t from)
{
    for (size_t p = from; p < levels->codes; p++) {
        fill_row(levels, p);
        factor_row(levels->factor, p);
    }
}

// Back substitution of the right hand side: the levels.
static void level_substitute_back(struct levels *levels)
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
PRODUCT void add_range(struct column *c, size_t k, size_t from, size_t to)
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

OF_PRODUCTS static void invert_column(struct column *c, size_t i)
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

// Works out factor->inverse, unless it stands.
static void level_invert(const struct levels *levels)
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

// Variance of the difference of two codes' levels, from the inverse; for the two ends of a link.
static double level_variance(const struct levels *levels, size_t a, size_t b)
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

// ---- making and freeing ----

struct levels *levels_new(void)
{
    struct levels *levels = xcalloc(1, sizeof(*levels));
    levels->factor = xcalloc(1, sizeof(*levels->factor));
    levels->unit = 1;
    return levels;
}

void levels_free(struct levels *levels)
{
    if (!levels)
        return;
    struct level_factor *f = levels->factor;
    void *const all[] = {f->links,      f->doubt,     f->next,     f->first,   f->parent,
                         f->root_mark,  f->at,        f->code,     f->hub,     f->begin,
                         f->offset,     f->value,     f->right,    f->inverse, f,
                         levels->level, levels->mark, levels->fit, levels};
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
    f->doubt = xrealloc(f->doubt, f->link_room, sizeof(*f->doubt));
    f->next = xrealloc(f->next, 2 * f->link_room, sizeof(*f->next));
    const size_t at = levels->links++;
    f->links[at] = *link;
    f->doubt[at] = 0;
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

// ---- solving ----

// Sets the mark of every code.
static void level_marks(struct levels *levels)
{
    struct level_factor *f = levels->factor;
    for (size_t i = 0; i < levels->codes; i++)
        levels->mark[i] = f->root_mark[root_of(f, i)];
}

// The order of the equations: hubs last.
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

int levels_solve(struct levels *levels, struct error *err)
{
    struct level_factor *f = levels->factor;
    size_t used = 0;
    if (levels->codes == 0)
        return 0;
    if (f->dirty == 0)
        put_in_order(levels);
    level_marks(levels);
    if (level_lay_out(levels, f->dirty, err))
        return -1;
    level_factor_rows(levels, f->dirty);
    f->inverted &= f->dirty >= levels->codes;
    f->dirty = levels->codes;
    level_substitute_back(levels);
    for (size_t i = 0; i < levels->links; i++)
        used += levels->fit[i] != LINK_ASIDE;
    levels->loops = used + levels->components - levels->codes;
    return 0;
}

// ---- chances ----
//
// How sure levels are: Student's t, with what is known of the errors that pairs cannot see.

// Student's t, or farther from 0, either way.
static double tail(double degrees, double t)
{
    assert(degrees > 0);
    return incomplete_beta(degrees / 2, 0.5, degrees / (degrees + t * t));
}

// The tail falls with t, so halving finds where it is 1 - confidence.
double levels_reach(const struct levels *levels, double confidence)
{
    assert(confidence > 0 && confidence < 1);
    double low = 0, high = 1e6;
    for (int i = 0; i < 100; i++) {
        const double t = (low + high) / 2;
        *(tail(levels->degrees, t) > 1 - confidence ? &low : &high) = t;
    }
    return high;
}

// A sum of a variance that is known and of a part p with n degrees of freedom has n / p^2
// (Satterthwaite 1946).
static double degrees_of_loops(const struct levels *levels, const struct level_link *l)
{
    const double change = levels->unlike * level_change(l);
    const double unseen = levels->misclosure * levels->misclosure + change * change;
    const double part = unseen / (unseen + l->error * l->error);
    return fmin(levels->degrees / (part * part), 1e6);
}

double levels_link_chance(const struct levels *levels, size_t link, double errors)
{
    return tail(degrees_of_loops(levels, &levels->factor->links[link]), errors);
}

// A link that was set aside is not among those that say where its codes are. Of one that is
// doubted, the others that are doubted with it say little now; what they said was beyond chance.
double levels_fit_chance(const struct levels *levels, size_t link)
{
    const struct level_link *l = &levels->factor->links[link];
    const double r = l->log_ratio - (levels->level[l->to] - levels->level[l->from]);
    if (levels->fit[link] == LINK_DOUBTED)
        return 0;
    const double w = level_weight(levels, link);
    level_invert(levels);
    const double h = w * level_variance(levels, l->from, l->to);
    const double redundancy = levels->fit[link] == LINK_ASIDE ? 1 + h : 1 - h;
    if (!(redundancy > level_bridge))
        return 1;
    return tail(degrees_of_loops(levels, l), fabs(r) * sqrt(w / redundancy) / levels->unit);
}

// ---- what is told ----

// A link in a loop, as a sample of the variance that links of its kind have.
struct link_told {
    double pairs;      // s^2
    double change;     // d^2
    double redundancy; // 1 - h: the part of an independent loop that it is
    double square;     // r^2 / redundancy; its mean is the link's variance
};

// What pairs cannot see: t^2 of any link, and u^2 for the square of its change.
struct unseen {
    double any, change;
};

static inline double told_variance(const struct link_told *t, struct unseen u)
{
    return t->pairs + u.any + u.change * t->change;
}

static struct unseen level_weighed_with(const struct levels *levels)
{
    return (struct unseen){levels->weighed * levels->weighed,
                           levels->weighed_unlike * levels->weighed_unlike};
}

// False: the link is in no loop, or does not fit. *weight and *residual are set if it does.
static bool level_tell(struct link_told *out, double *weight, double *residual,
                       const struct levels *levels, size_t link)
{
    const struct level_link *l = &levels->factor->links[link];
    if (levels->fit[link] != LINK_FITS)
        return false;
    const double w = level_weight(levels, link);
    const double r = l->log_ratio - (levels->level[l->to] - levels->level[l->from]);
    const double redundancy = 1 - w * level_variance(levels, l->from, l->to);
    const double change = level_change(l);
    *weight = w;
    *residual = r;
    if (!(redundancy > level_bridge))
        return false;
    *out = (struct link_told){l->error * l->error, change * change, redundancy, r * r / redundancy};
    return true;
}

// ---- closing the loops ----
//
// How well the loops of links close, and what that says of the levels' errors.
// What pairs cannot see. Pairs of one process share the placement of code and data, so two codes
// differ by an amount that more pairs do not take away, and that the standard error s of the pairs
// does not know: t, the misclosure. Codes of unlike speed also disturb each other, by the power and
// the cache that they leave to the next, and that grows with how unlike they are: u d, where d is
// what the change has beyond 1 %. So a link's variance is s^2 + t^2 + u^2 d^2. Simplegemm's on an
// H200 need the last: its changes of 5 to 39 % miss by up to 3.7 %, those below 2 % by 0.1 %
// (baselines/recorded/h200/history). It all shows where links form a loop: their log ratios must
// add up to zero.
// Which loops. All: the residuals r of the least squares are what is left of the misclosures of
// every loop, and do not depend on which of them one would write down. There are as many
// independent ones as links less codes plus components. Components are levelled apart, but their
// loops count together: they are of one series and device, so t and u are one. A component without
// a loop has residuals of zero; it adds nothing to the estimate, and takes both from the others.
// Which estimator. Restricted maximum likelihood (Patterson and Thompson 1971). With v the links'
// variances, weights 1 / v and leverages h_l = var(x_b - x_a) / v_l, it asks that
//     sum (r^2 - (1 - h) v) f / v^2 = 0    for f = 1 and for f = d^2,
// whose expectation is exact. A link tells of t by 1 / v^2: so sure loops decide on it, and what a
// coarse link misses by, which its own s or its d explain, hardly counts. For fixed r and h that is
// a least squares of r^2 / (1 - h) - s^2 on 1 and d^2, weighed anew until it stands still. Two
// priors are observations among them (the mode with a scaled inverse chi-square each): for t the
// caller's, 0.1 % as if from four loops; for u 1 %, as if from one, because own and strangers'
// kernels on an H200 are at or below it and simplegemm far above it; without any loop they are
// t and u. A residual of unlike codes beyond a fifth of their change is no u, but a misfit. One to
// three loops thus move t little, and intervals hold what they should (test_levels_unlike.c).
// The equations are weighed and factored anew only where a variance came out more than a fifth off
// what it was weighed with; then all errors are multiplied by the square root of what is left on
// average, the standard deviation of unit weight of the surveyors. It begins with the priors,
// and two factors and two inverses are nearly always all. Intervals are Student's: degrees of
// freedom are the prior's weight and the loops, each counted for (t^2 / v)^2 of one, which is how
// far it tells of t. A link that does not fit. Its residual over its own standard deviation,
// sqrt((1 - h) / w), is held against those of all others (externally studentised, so that neither a
// wrong link nor a wrong t hides it; Baarda 1968 had the idea for levelling nets). The worst within
// 128 codes is set aside, and then the next. One wrong link cannot hide behind its own square, but
// several can behind each other's: with 5 in 100 off by 3 %, t came out at 0.18 %, u at 17 %, 17 in
// 100 of them were found, and intervals of 95 % held 91.6 %. So while misfits are looked for, no
// link counts for more than 1.5 standard deviations, in t, in u and in what the worst is held
// against: squares are min(r^2, (1.5 sd)^2) over 0.778, their mean where errors are normal (Huber's
// proposal 2, 1964). What then remains is estimated once more by its whole squares: heavy tails are
// no misfits and shall count. The chance is 1 % over all links that any good one is taken for bad,
// and 1 % more for each that is already aside: of those set aside, one in a hundred is good
// (Benjamini and Hochberg 1995). Doubt. Links that are in the same loops and no others have the
// same score, whichever of them is wrong: then all k of them are doubted and none is set aside, and
// the next worst is looked at. So one loop alone convicts nobody. What their loops miss, M = r / (1
// - h), is the error of one of them: for each, a variance of M^2 / k besides its own. So the
// intervals of the codes between them hold either answer. A doubted link tells nothing of t and u.
// It is asked anew whenever another was set aside: many doubts came from that one. Taking the worst
// again and again can take the good ones: where three of a code's six links are off alike, three
// others go, and the code seems to have moved. So at the end a code that has lost at least as many
// links as it kept is doubted, with all n of them: it is at M or at 0, where M is what those that
// were lost miss, and with a variance of n M^2 / 4 each its interval holds both. Of 24,000 codes
// with 5 misfits in 100 links that is so of five; all five were false changes.

enum { UPDATES = 6, STEPS_MOST = 60, STRIDE = 4 };

static const double false_alarm = 0.01;

static const double tie = 0.999; // of the worst score: as bad as the worst

static const double near_enough = 0.2; // of a variance

static const double still = 0.01; // of a variance, from step to step

static const double bound = 1.5; // standard deviations

static const double bounded_mean = 0.778469; // of the square of a normal value within them

static const double alike_share = 0.8; // of the squares of what is off alike, at least

static const double own_errors = 3; // a residual within so many of its link's errors is none

const struct moderation levels_prior = {.sd = 0.001, .weight = 4};

// u of the top.
static const struct moderation unlike_prior = {.sd = 0.01, .weight = 1};

static const double unlike_most = 0.2;

// ---- misclosure ----

struct closing {
    struct link_told *told; // of the links that are in a loop
    size_t count;
    double square, loops; // sum w r^2, and of redundancy
    double bounded;       // sum of redundancy r^2 / v, as bounded()
    bool wary;            // misfits may be among them: what each can add is bounded
    size_t aside;
    double *scores, *parts; // of each link; part: its redundancy
    size_t *worst;          // links with a score, the worst first
    size_t worst_count;
    bool *met; // of each code: a worse link is near
};

// The square of a link with that variance, for an estimate that misfits shall not move far.
static double bounded(double square, double variance)
{
    return fmin(square, bound * bound * variance) * (1 / bounded_mean);
}

static void look(struct closing *c, const struct levels *levels)
{
    double w, r;
    level_invert(levels);
    c->square = c->loops = 0;
    c->count = c->worst_count = 0;
    for (size_t i = 0; i < levels->links; i++) {
        struct link_told *t = &c->told[c->count];
        c->scores[i] = 0;
        if (!level_tell(t, &w, &r, levels, i))
            continue;
        c->count++;
        const double error = levels->factor->links[i].error;
        c->square += w * r * r;
        c->loops += t->redundancy;
        c->scores[i] = fabs(r) > own_errors * error ? fabs(r) * sqrt(w / t->redundancy) : 0;
        c->parts[i] = t->redundancy;
        if (c->scores[i] > 0)
            c->worst[c->worst_count++] = i;
    }
}

// Whether a link is beyond what chance gives the worst of so many good ones.
static bool misfit(const struct closing *c, size_t link, double unit)
{
    const double degrees = c->loops - 1, part = c->parts[link];
    if (degrees < 1 - level_bridge)
        return false;
    const double square = c->scores[link] * c->scores[link], unit2 = unit * unit;
    const double plain = fmax(c->square - square, 1e-12 * c->square) / degrees;
    const double crowd =
        (unit2 * c->bounded - part * bounded(square, unit2)) / fmax(c->loops - part, level_bridge);
    const double t2 = square / fmin(plain, fmax(crowd, 1e-12 * unit2));
    const double p = incomplete_beta(degrees / 2, 0.5, degrees / (degrees + t2));
    return p * (double)c->count < false_alarm * (double)(1 + c->aside);
}

// The link has another weight from now on.
static void put(struct levels *levels, size_t link, enum link_fit fit, double doubt)
{
    struct level_factor *f = levels->factor;
    const size_t from = f->at[f->links[link].from], to = f->at[f->links[link].to];
    const size_t old = from < to ? from : to;
    levels->fit[link] = fit;
    f->doubt[link] = doubt;
    f->dirty = old < f->dirty ? old : f->dirty;
}

// The codes whose levels a link moves: its own and those beside them.
struct reach {
    size_t first, end;
};

static struct reach reach_of(const struct levels *levels, size_t link)
{
    const struct level_link *l = &levels->factor->links[link];
    const size_t older = l->from < l->to ? l->from : l->to, newer = l->from + l->to - older;
    return (struct reach){older > FAR ? older - FAR : 0,
                          newer + FAR < levels->codes ? newer + FAR : levels->codes};
}

static bool is_within(const struct levels *levels, size_t link, struct reach reach)
{
    const struct level_link *l = &levels->factor->links[link];
    return l->from >= reach.first && l->to >= reach.first && l->from < reach.end &&
           l->to < reach.end;
}

// All near it that are as bad as the worst link, each with its part of what their loops miss.
// False: it alone is.
static bool doubted(struct levels *levels, const struct closing *c, size_t worst,
                    struct reach reach)
{
    struct link_told told;
    double w, r;
    size_t tied = 0;
    bool *with = xcalloc(levels->links, sizeof(*with));
    for (size_t i = 0; i < levels->links; i++) {
        with[i] = levels->fit[i] == LINK_FITS && c->scores[i] >= tie * c->scores[worst] &&
                  is_within(levels, i, reach);
        tied += with[i];
    }
    level_tell(&told, &w, &r, levels, worst);
    for (size_t i = 0; tied > 1 && i < levels->links; i++) {
        if (with[i])
            put(levels, i, LINK_DOUBTED, told.square / told.redundancy / (double)tied);
    }
    free(with);
    return tied > 1;
}

static void set_one_aside(struct levels *levels, struct closing *c, size_t link, struct reach reach)
{
    if (doubted(levels, c, link, reach))
        return; // behind them there may be one that is wrong alone
    put(levels, link, LINK_ASIDE, 0);
    c->aside++;
    for (size_t i = 0; i < levels->links; i++) {
        if (levels->fit[i] == LINK_DOUBTED && is_within(levels, i, reach))
            put(levels, i, LINK_FITS, 0); // it may not be so bad without the other
    }
}

// By how much a code's lost links miss, all alike; 0: they do not, or it has kept more than it
// lost.
static double torn(const struct levels *levels, size_t code, size_t *links)
{
    const struct level_factor *f = levels->factor;
    double aside = 0, doubted = 0, sum = 0, square = 0;
    *links = 0;
    for (size_t end = f->first[code]; end != NO_LINK; end = f->next[end], ++*links) {
        const struct level_link *l = &f->links[end / 2];
        const double r = l->log_ratio - (levels->level[l->to] - levels->level[l->from]);
        doubted += levels->fit[end / 2] == LINK_DOUBTED;
        if (levels->fit[end / 2] != LINK_ASIDE)
            continue;
        aside++;
        sum += end % 2 ? r : -r;
        square += r * r;
    }
    const bool alike = sum * sum > alike_share * square * aside;
    return alike && 2 * (aside + doubted) >= (double)*links ? sum / aside : 0;
}

// Codes that no majority of their links places. True: the equations are others now.
static bool doubt_torn(struct levels *levels)
{
    const struct level_factor *f = levels->factor;
    bool any = false;
    for (size_t code = 0; code < levels->codes; code++) {
        size_t links;
        const double apart = torn(levels, code, &links);
        for (size_t end = f->first[code]; apart != 0 && end != NO_LINK; end = f->next[end])
            put(levels, end / 2, LINK_DOUBTED, apart * apart * (double)links / 4);
        any |= apart != 0;
    }
    return any;
}

static int by_score(const void *left, const void *right, void *scores)
{
    const double *of = scores, a = of[*(const size_t *)left], b = of[*(const size_t *)right];
    return (a < b) - (a > b);
}

// The worst of each neighbourhood: what is near a worse one may look so bad because of that. True:
// the equations are others now.
static bool set_aside(struct levels *levels, struct closing *c)
{
    bool any = false;
    qsort_r(c->worst, c->worst_count, sizeof(*c->worst), by_score, c->scores);
    memset(c->met, 0, levels->codes * sizeof(*c->met));
    for (size_t k = 0; k < c->worst_count && misfit(c, c->worst[k], levels->unit); k++) {
        const struct reach reach = reach_of(levels, c->worst[k]);
        const bool behind = memchr(c->met + reach.first, true, reach.end - reach.first) != NULL;
        memset(c->met + reach.first, true, reach.end - reach.first);
        if (!behind)
            set_one_aside(levels, c, c->worst[k], reach);
        any |= !behind;
    }
    return any;
}

// ---- variances ----

static struct unseen found_in(const struct levels *levels)
{
    return (struct unseen){levels->misclosure * levels->misclosure,
                           levels->unlike * levels->unlike};
}

struct score {
    double aa, ac, cc, a, c;
};

static void add_score(struct score *s, const struct link_told *t, struct unseen at, bool wary)
{
    const double variance = told_variance(t, at);
    const double w = t->redundancy / (variance * variance);
    const double left = (wary ? bounded(t->square, variance) : t->square) - t->pairs;
    s->aa += w;
    s->ac += w * t->change;
    s->cc += w * t->change * t->change;
    s->a += w * left;
    s->c += w * left * t->change;
}

// One step of scoring: least squares of what is left of the squares, on 1 and d^2, with the weights
// that `at` gives them; each prior is an observation.
static struct unseen scored(const struct closing *c, struct unseen at,
                            const struct moderation *prior)
{
    const double any = prior->weight / (at.any * at.any);
    const double change = unlike_prior.weight / (at.change * at.change);
    struct score s = {.aa = any,
                      .cc = change,
                      .a = any * prior->sd * prior->sd,
                      .c = change * unlike_prior.sd * unlike_prior.sd};
    for (size_t i = 0; i < c->count; i++)
        add_score(&s, &c->told[i], at, c->wary);
    const double all = s.aa * s.cc - s.ac * s.ac;
    return (struct unseen){(s.a * s.cc - s.c * s.ac) / all, (s.c * s.aa - s.a * s.ac) / all};
}

static double within(double value, double about)
{
    return fmin(fmax(value, about / STRIDE), about * STRIDE);
}

// How far a loop tells of what no link's pairs see.
static double degrees_of(const struct link_told *t, struct unseen u)
{
    const double share = u.any / told_variance(t, u);
    return t->redundancy * share * share;
}

// Both by what the residuals say, and how far these tell of what no link's pairs see.
static void estimate(struct levels *levels, const struct closing *c, const struct moderation *prior)
{
    struct unseen u = c->wary ? level_weighed_with(levels) : found_in(levels);
    for (int step = 0; step < STEPS_MOST; step++) {
        const struct unseen next = scored(c, u, prior), last = u;
        u = (struct unseen){within(next.any, last.any),
                            fmin(within(next.change, last.change), unlike_most * unlike_most)};
        if (fabs(u.any - last.any) <= still * last.any &&
            fabs(u.change - last.change) <= still * last.change)
            break;
    }
    levels->misclosure = sqrt(u.any);
    levels->unlike = sqrt(u.change);
    levels->degrees = prior->weight;
    for (size_t i = 0; !c->wary && i < c->count; i++)
        levels->degrees += degrees_of(&c->told[i], u);
}

// Sets the unit to what is left of the links' variances over those that they are weighed with.
// True: it is about the same for all of them, and near 1.
static bool well_weighed(struct levels *levels, struct closing *c)
{
    const struct unseen at = level_weighed_with(levels), found = found_in(levels);
    double least = 1, most = 1, left = 0, loops = 0;
    c->bounded = 0;
    for (size_t i = 0; i < c->count; i++) {
        const struct link_told *t = &c->told[i];
        const double variance = told_variance(t, found), ratio = variance / told_variance(t, at);
        least = fmin(least, ratio);
        most = fmax(most, ratio);
        left += t->redundancy * ratio;
        c->bounded += t->redundancy * bounded(t->square / variance, 1);
        loops += t->redundancy;
    }
    levels->unit = loops > 0 ? sqrt(left / loops) : 1;
    return most < 1 + near_enough && least > 1 - near_enough;
}

static void weigh(struct levels *levels, double misclosure, double unlike)
{
    levels->weighed = misclosure;
    levels->weighed_unlike = unlike;
    levels->factor->dirty = 0;
    levels->rounds++;
}

static void begin_with(struct levels *levels, const struct moderation *prior)
{
    for (size_t i = 0; i < levels->links; i++)
        levels->fit[i] = LINK_FITS;
    memset(levels->factor->doubt, 0, levels->links * sizeof(*levels->factor->doubt));
    levels->misclosure = prior->sd;
    levels->unlike = unlike_prior.sd;
    levels->unit = 1;
    levels->degrees = prior->weight;
    levels->rounds = 0;
    weigh(levels, prior->sd, unlike_prior.sd);
}

int levels_close(struct levels *levels, const struct moderation *prior, struct error *err)
{
    assert(prior->sd > 0 && prior->weight > 0);
    struct closing c = {.scores = xcalloc(levels->links + 1, sizeof(*c.scores)),
                        .parts = xcalloc(levels->links + 1, sizeof(*c.parts)),
                        .worst = xcalloc(levels->links + 1, sizeof(*c.worst)),
                        .met = xcalloc(levels->codes + 1, sizeof(*c.met)),
                        .told = xcalloc(levels->links + 1, sizeof(*c.told))};
    size_t updates = 0;
    int status;
    c.wary = true;
    begin_with(levels, prior);
    while ((status = levels_solve(levels, err)) == 0 && levels->codes) {
        look(&c, levels);
        estimate(levels, &c, prior);
        const bool well = well_weighed(levels, &c);
        if (!well && updates++ < UPDATES) {
            weigh(levels, levels->misclosure, levels->unlike);
            continue;
        }
        if (!c.wary)
            break;
        updates = 0;
        if (set_aside(levels, &c)) // until they look like scatter, and the intervals widen
            continue;
        c.wary = false;
        if (doubt_torn(levels))
            continue;
        estimate(levels, &c, prior);
        if (well_weighed(levels, &c))
            break;
        weigh(levels, levels->misclosure, levels->unlike);
    }
    void *const all[] = {c.scores, c.parts, c.worst, c.met, c.told};
    for (size_t i = 0; i < ARRAY_COUNT(all); i++)
        free(all[i]);
    return status;
}
