// SPDX-License-Identifier: Apache-2.0
//
// Levels by weighted least squares.
//
// Model. A link from code a to code b says y = x_b - x_a + e. Here x is the log time of a code, and
// the error e has the variance v = s^2 + t^2 + u^2 d^2: s is the standard error of the link's own
// pairs; t and u d are errors that pairs cannot show ("closing the loops" below). The levels are
// the x that minimise sum w (y - x_b + x_a)^2 with w = 1 / v. This gives the normal equations A x =
// c, where A is the graph's Laplacian. Links show only differences, so one code of each component,
// its mark (the first code), has level 0 and is taken out of the equations. Levels of different
// components cannot be compared.
//
// Factor. A = L L', row by row, each row from its first column that is not zero (its envelope; a
// factor's row never grows beyond it, George and Liu 1981, chapter 4). With codes in the order in
// which they came, a row begins at the code's farthest link: if marks are 8 and 64 codes back, that
// is 64 codes, and 10,000 codes take 20 million multiplications. A code with a link from much
// farther behind (an old code that came back, an accepted one) would make every row in between that
// long. Such codes, called hubs, come last, where each costs one full row. The mark costs nothing.
//
// One more link changes only the rows from its older end on, and only these are computed again. For
// a new code at the end these are as many rows as its links reach back.
//
// Errors. var(x_b - x_a) is |z|^2 with L z = e_b - e_a. For all pairs of codes at once, they follow
// from the inverse (level_invert()).
#include "model/history/levels.h"

#include "model/robust.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { FAR = 128 }; // a code is a hub if one of its links is from so many codes behind

#define NO_LINK SIZE_MAX

static const double level_bridge = 1e-7; // redundancy of a link that is in no loop,
                                         // except for rounding

// ---- the equations, row by row, and their factor: products ----

// Four sums at once, in the same order on every processor, so the result is the same with and
// without vector instructions.
typedef double four __attribute__((vector_size(32), aligned(8), may_alias));

// Loops that call these functions are compiled a second time for processors whose vectors hold all
// four sums: levelling 10,000 codes then takes 42 ms instead of 71 (on one thread of a core whose
// other thread is busy).
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

static const double alike_most = 0.01; // codes whose log ratio is smaller count as alike

// Whether a code's level is an unknown. That of a mark is not.
static bool level_known(const struct levels *levels, size_t code)
{
    return levels->mark[code] == code;
}

// By how much a link's codes are unlike: d of the formula above.
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

// A row of the factor or of the inverse, indexed by column. Only the columns of its envelope exist.
// A row has at least one number, so the result never points before the array.
static double *row_of(const struct level_factor *f, double *values, size_t row)
{
    return values + (f->offset[row] - f->begin[row]);
}

// The position of the link's other end, if that is an unknown before position p; otherwise p.
static size_t column_of(const struct levels *levels, size_t end, size_t p)
{
    const struct level_factor *f = levels->factor;
    const struct level_link *link = &f->links[end / 2];
    const size_t other = end % 2 ? link->from : link->to;
    if (levels->fit[end / 2] == LINK_ASIDE || level_known(levels, other) || f->at[other] > p)
        return p;
    return f->at[other];
}

// The first column that is not zero in the row at position p. Links that were set aside count, too,
// because the inverse is needed for their codes (levels_fit_chance).
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

// Makes room for the rows from `from` on. -1: there are too many.
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

// Fills in the row of A at position p, and its right-hand side.
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

// Fills and factors the rows from `from` on, and their right-hand sides.
OF_PRODUCTS static void level_factor_rows(struct levels *levels, size_t from)
{
    for (size_t p = from; p < levels->codes; p++) {
        fill_row(levels, p);
        factor_row(levels->factor, p);
    }
}

// Computes the levels by back substitution.
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
// upper triangular, so for column i, with k running over the rows below it,
//     Z_ji = -(sum_k Z_jk L_ki) / L_ii,    Z_ii = (1 / L_ii - sum_k Z_ki L_ki) / L_ii.
// Z is symmetric, and only its lower half is stored. So the elements of row k left of the diagonal
// serve two sums: that of row k itself, and those of the rows before it.

struct column {
    const struct level_factor *f;
    size_t codes, plain; // plain: number of rows before those of the hubs
    size_t *last;        // for each column, the last plain row that may have an element in it
    size_t *rows;        // rows below the diagonal that have an element in this column
    size_t count;
    double *l, *sum; // l: for each row its element of L, 0 where it has none; sum: the sums of
                     // Z_jk times these
};

// Adds row k's part of the sums in columns from..to-1, which are not right of its diagonal.
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

// Computes factor->inverse, unless it is up to date.
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

// The variance of the difference of two codes' levels, taken from the inverse. The codes are the
// ends of a link.
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

// Whether the inverse has an element for these two codes.
static bool in_envelope(const struct levels *levels, size_t a, size_t b)
{
    const struct level_factor *f = levels->factor;
    const size_t p = f->at[a] > f->at[b] ? f->at[a] : f->at[b];
    const size_t q = f->at[a] > f->at[b] ? f->at[b] : f->at[a];
    return level_known(levels, a) || level_known(levels, b) || q >= f->begin[p];
}

// |z|^2 with L z = e_b - e_a, by forward substitution.
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
            f->dirty = 0; // hubs must be moved to the end again
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

// Joins two components; the mark of one of them becomes an unknown.
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

// Puts the equations in order: hubs last.
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
// How certain levels are, by Student's t, whose degrees of freedom say how well the hidden
// errors are known.

// The probability of a value of Student's t that is at least as far from 0 as t,
// in either direction.
static double tail(double degrees, double t)
{
    assert(degrees > 0);
    return incomplete_beta(degrees / 2, 0.5, degrees / (degrees + t * t));
}

// The tail falls as t grows, so bisection finds where it is 1 - confidence.
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

// The degrees of freedom of a sum of a known variance and a part p with n degrees of freedom: n /
// p^2 (Satterthwaite 1946).
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

// A link that was set aside does not count among the links that place its codes. If a link is
// doubted, others are doubted with it, so they say little now; earlier they showed that its error
// is beyond chance.
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

// ---- one link's evidence about the variances ----

// The evidence of a link in a loop: a sample of the variance that links of its kind have.
struct link_told {
    double pairs;      // s^2
    double change;     // d^2
    double redundancy; // 1 - h: the share of an independent loop that the link is
    double square;     // r^2 / redundancy; its mean is the link's variance
};

// The variances of errors that pairs cannot show: t^2 of any link, and u^2, which is multiplied by
// the square of the link's change d.
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

// Computes a link's evidence. False: the link is in no loop, or does not fit. *weight and *residual
// are set if it does.
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
// Estimates the errors that pairs cannot show, from how well the loops of links close.
//
// The errors. The pairs of one process share the placement of code and data. So two codes differ by
// an amount t, the misclosure, that more pairs do not remove, and that the pairs' standard error s
// does not include. Codes of different speed also disturb each other, by the power use and the
// cache content that each leaves to the next. This error grows with their difference: u d, where d
// is the part of the change beyond 1 %. So a link's variance is s^2 + t^2 + u^2 d^2. The links of
// the project simplegemm on an H200 need the last term: for its changes of 5 to 39 % they miss by
// up to 3.7 %, for those below 2 % by 0.1 % (baselines/recorded/h200/history). These errors become
// visible where links form a loop, because the log ratios of a loop must add up to zero.
//
// Which loops count. All of them: the residuals r of the least squares contain the misclosures of
// every loop, however one chooses the loops. There are as many independent loops as links, less
// codes, plus components. Components are levelled separately, but their loops are counted together,
// because they belong to one series and device, and so have the same t and u. A component without a
// loop has residuals of zero; it adds nothing to the estimate, and uses the estimate of the others.
//
// The estimator is restricted maximum likelihood (Patterson and Thompson 1971). With v the links'
// variances, weights 1 / v and leverages h_l = var(x_b - x_a) / v_l, it requires that
//     sum (r^2 - (1 - h) v) f / v^2 = 0    for f = 1 and for f = d^2,
// which holds exactly in expectation. A link has the weight 1 / v^2 in it. So precise loops
// decide about t; the misclosure of an imprecise link, which its own s or d explains, hardly
// counts. For fixed r and h this is a least-squares fit of r^2 / (1 - h) - s^2 to 1 and d^2,
// repeated with new weights until it does not change. Two priors count as observations (the mode
// with a scaled inverse chi-square each). The prior of t is the caller's, 0.1 % with the weight
// of four loops. That of u is 1 %, with the weight of one: on an H200, our own kernels and those
// of strangers have at most that, and simplegemm has far more. Without any loop, t and u are the
// priors. If the residual of unlike codes is more than a fifth of their change, it is a misfit
// and does not count for u. Therefore one to three loops change t little, and intervals cover
// what they should (test_levels_unlike.c).
//
// The equations are weighted and factored again only if a variance differs by more than a fifth
// from the one that they were weighted with. Then all errors are multiplied by the square root of
// the mean ratio that is left, which surveyors call the standard deviation of unit weight. It
// starts with the priors; two factorisations and two inverses are nearly always enough. Intervals
// use Student's t. Its degrees of freedom are the prior's weight and the loops, each of which
// counts as (t^2 / v)^2 of one, because so much of its error tells about t.
//
// Misfits. The residual of a link over its own standard deviation, sqrt((1 - h) / w), is compared
// with those of all others (externally studentised, so that neither a wrong link nor a wrong t
// hides it; Baarda 1968 had the idea for levelling nets). The worst link within 128 codes is set
// aside, and then the next. One wrong link cannot hide behind its own square, but several can hide
// behind each other's: with 5 in 100 links off by 3 %, t came out as 0.18 % and u as 17 %, only 17
// in 100 of them were found, and intervals of 95 % covered 91.6 %. So while misfits are searched,
// no link counts for more than 1.5 standard deviations, neither for t and u nor for what the worst
// link is compared with: squares are min(r^2, (1.5 sd)^2) over 0.778, their mean for normal errors
// (Huber's proposal 2, 1964). At the end the remaining links are estimated once more by their full
// squares, because heavy tails are not misfits and should count. The chance that any good link is
// taken for bad is 1 % over all links, and 1 % more for each link that is aside already: of those
// set aside, one in a hundred is good (Benjamini and Hochberg 1995).
//
// Doubt. Links that are in exactly the same loops have the same score, whichever of them is
// wrong. Then all k of them are doubted, none is set aside, and the next worst link is examined.
// So one loop alone never convicts a link. The misclosure of their loops, M = r / (1 - h), is the
// error of one of them, so each gets a variance of M^2 / k in addition to its own. The intervals
// of the codes between them then cover either answer. A doubted link does not count for t and u.
// Whenever another link was set aside, a doubted one is examined again, because many doubts come
// from such a link.
//
// Codes without a majority. Taking the worst link again and again can remove the good ones: if
// three of a code's six links are off by the same amount, the three others are set aside, and the
// code seems to have moved. So at the end a code that lost at least as many links as it kept is
// doubted, with all its n links. It is either at M or at 0, where M is the misclosure of the lost
// links. A variance of n M^2 / 4 for each link makes the code's interval cover both. This happened
// to five of 24,000 codes with 5 misfits in 100 links; all five would have been false changes.

enum { UPDATES = 6, STEPS_MOST = 60, STRIDE = 4 };

static const double false_alarm = 0.01;

static const double tie = 0.999; // a score of at least this part of the worst counts as equally bad

static const double near_enough = 0.2; // a variance that differs by less than this part needs
                                       // no new weights

static const double still = 0.01; // the fit has ended when a variance changes by less
                                  // than this part

static const double bound = 1.5; // standard deviations for which a link counts at most while
                                 // misfits are searched

static const double bounded_mean = 0.778469; // mean square of a normal value limited to `bound`

static const double alike_share = 0.8; // lost links miss alike if their common misclosure explains
                                       // this part of their squares

static const double own_errors = 3; // a residual within so many of its link's own errors
                                    // is no misfit

const struct moderation levels_prior = {.sd = 0.001, .weight = 4};

// The prior of u that the text above names.
static const struct moderation unlike_prior = {.sd = 0.01, .weight = 1};

static const double unlike_most = 0.2;

// ---- misclosure ----

struct closing {
    struct link_told *told; // evidence of the links that are in a loop
    size_t count;
    double square, loops; // sums of w r^2 and of redundancy
    double bounded;       // sum of redundancy r^2 / v, limited as bounded() does
    bool wary;            // misfits may be among the links, so what each can add is limited
    size_t aside;
    double *scores, *parts; // of each link; parts: its redundancies
    size_t *worst;          // links with a score, the worst first
    size_t worst_count;
    bool *met; // for each code: a worse link is near
};

// The square that a link with that variance counts for, limited so that misfits do not move
// the estimate far.
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

// Whether a link is worse than the worst of so many good links would be by chance.
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

// Changes how a link fits, and so its weight.
static void put(struct levels *levels, size_t link, enum link_fit fit, double doubt)
{
    struct level_factor *f = levels->factor;
    const size_t from = f->at[f->links[link].from], to = f->at[f->links[link].to];
    const size_t old = from < to ? from : to;
    levels->fit[link] = fit;
    f->doubt[link] = doubt;
    f->dirty = old < f->dirty ? old : f->dirty;
}

// The codes whose levels a link moves: its own and those near them.
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

// Finds all links near the worst one that are equally bad, and gives each its part of their loops'
// misclosure. False: the worst link is alone.
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
        return; // without these, one may turn out to be wrong alone
    put(levels, link, LINK_ASIDE, 0);
    c->aside++;
    for (size_t i = 0; i < levels->links; i++) {
        if (levels->fit[i] == LINK_DOUBTED && is_within(levels, i, reach))
            put(levels, i, LINK_FITS, 0); // it may fit better without the other link
    }
}

// The common misclosure of a code's lost links; 0: they have none in common, or the code kept more
// links than it lost.
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

// Doubts the links of codes that no majority of their links places. True: the
// equations have changed.
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

// Sets aside the worst link of each neighbourhood. A link near a worse one waits, because it may
// look bad only because of that one. True: the equations have changed.
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

// One step of scoring: a least-squares fit of the squares to 1 and d^2, with the weights that `at`
// gives. Each prior counts as an observation.
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

// The share of a loop that tells about the errors that no pairs show.
static double degrees_of(const struct link_told *t, struct unseen u)
{
    const double share = u.any / told_variance(t, u);
    return t->redundancy * share * share;
}

// Estimates both variances from the residuals, and how much these tell about the hidden errors.
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

// Sets the unit to the mean of the links' variances over those that they are weighted with. True:
// the ratio is nearly the same for all of them, and near 1.
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
        if (set_aside(levels, &c)) // until the rest looks like scatter, which
                                   // widens intervals instead
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
