// SPDX-License-Identifier: Apache-2.0
//
// Levels by weighted least squares.
//
// Model. Link l from code a to code b says y = x_b - x_a + e, where x is the log time of a code and
// e has the variance v = s^2 + t^2 + u^2 d^2: s is the standard error of the link's own pairs, the
// rest what pairs cannot see, t of any two codes and u of unlike ones (levels_close.c). The levels
// are the x that make sum w (y - x_b + x_a)^2 least, w = 1 / v: normal equations A x = c, where A
// is the graph's Laplacian.
// Only differences are seen, so each component has one code, its mark (the first), whose level is 0
// and which is taken out of the equations. Between components nothing is known, and nothing is
// said.
//
// Factor. A = L L', row by row, each row from its first column that is not zero (its envelope; a
// row's fill never leaves it, George and Liu 1981, chapter 4). In the order in which codes came, a
// row reaches back as far as the code's farthest link: 64 codes when the marks are 8 and 64 codes
// back, so that 10,000 codes take 20 million multiplications. Rows and columns are taken four at a
// time, as blocks (level_block.h): the processor's registers then hold what is summed.
// A code that is linked from much farther behind (an old code that came back, an accepted one)
// would make every row in between that long; such hubs are put last, where each costs one full row.
// The mark itself costs nothing.
//
// One link more changes the rows from its older end on, and no other: those are computed again.
// For a new code at the end these are as many rows as its links reach back.
//
// Errors. var(x_b - x_a) is |z|^2 with L z = e_b - e_a; all at once they follow from the inverse
// (level_inverse.c).
#include "model/history/levels.h"

#include "model/history/level_block.h"
#include "model/history/level_factor.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FAR = 128 }; // codes between a link's ends that make the older one a hub

static const double alike = 0.01; // log ratio of codes that pairs see as they see equal ones

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
    f->right = xrealloc(f->right, room + BLOCK, sizeof(*f->right));
    levels->level = xrealloc(levels->level, room, sizeof(*levels->level));
    f->code_room = room;
}

static void add_codes(struct levels *levels, size_t codes)
{
    struct level_factor *f = levels->factor;
    make_room(levels, codes);
    for (size_t i = levels->codes; i < codes; i++) {
        f->first[i] = LEVEL_NO_LINK;
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

void levels_begin(struct levels *levels, const struct levels_settled *settled)
{
    assert(levels->codes == 0);
    levels->factor->settled = *settled;
    add_codes(levels, settled->codes);
    for (size_t i = 0; i < settled->codes; i++)
        join(levels, settled->mark[i], i);
}

bool level_known(const struct levels *levels, size_t code)
{
    return levels->mark[code] == code && !levels->factor->afloat;
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

// ---- solving ----

void level_marks(struct levels *levels)
{
    struct level_factor *f = levels->factor;
    for (size_t i = 0; i < levels->codes; i++)
        levels->mark[i] = f->root_mark[root_of(f, i)];
}

int levels_solve(struct levels *levels, struct error *err)
{
    struct level_factor *f = levels->factor;
    size_t used = f->settled.links;
    if (levels->codes == 0)
        return 0;
    if (f->dirty == 0)
        level_put_in_order(levels);
    level_marks(levels);
    const size_t from = f->dirty / BLOCK;
    if (level_lay_out(levels, from, err))
        return -1;
    level_factor_rows(levels, from, f->blocks);
    f->inverted &= f->dirty >= levels->codes;
    f->dirty = levels->codes;
    level_substitute_back(levels);
    for (size_t i = 0; i < levels->links; i++)
        used += levels->fit[i] != LINK_ASIDE;
    levels->loops = used + levels->components - levels->codes - f->settled.gone;
    return 0;
}
