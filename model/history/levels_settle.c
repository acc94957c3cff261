// SPDX-License-Identifier: Apache-2.0
//
// Settling. The codes that no later link names are eliminated from the equations of the settled
// links, A x = c: with E those and K the kept ones,
//     (A_KK - A_KE A_EE^-1 A_EK) x_K = c_K - A_KE A_EE^-1 c_E,
// so what is left of both sides says of the kept codes all that the settled links say of them (for
// networks of resistors, Kron 1939; for sequential least squares of nets, Helmert 1880). No mark is
// held at 0 in this, and all are kept: so two components can still become one.
//
// The weights are those that the settled links were closed with, and what is estimated from all
// links has sums over the settled ones, with what each told when it was settled.
#include "model/history/level_block.h"
#include "model/history/level_factor.h"

#include <assert.h>
#include <string.h>

enum { KEPT_MOST = 512 };

// The settled links alone, with the weights that they were closed with.
static struct levels *settled_part(const struct levels *levels, size_t links)
{
    struct levels *part = levels_new();
    levels_begin(part, &levels->factor->settled);
    for (size_t i = 0; i < links; i++) {
        levels_add(part, &levels->factor->links[i]);
        part->fit[i] = levels->fit[i];
        part->factor->doubt[i] = levels->factor->doubt[i];
    }
    part->weighed = levels->weighed;
    part->weighed_unlike = levels->weighed_unlike;
    part->factor->afloat = true;
    return part;
}

// Marks are kept, and so many codes more that the eliminated ones fill their blocks.
static size_t choose(bool *keep, const struct levels *part)
{
    size_t gone = 0;
    for (size_t i = 0; i < part->codes; i++) {
        keep[i] |= part->mark[i] == i;
        gone += !keep[i];
    }
    for (size_t i = part->codes; gone % BLOCK;) {
        gone -= !keep[--i];
        keep[i] = true;
    }
    return gone;
}

static void take(struct levels_settled *out, struct levels *part, const bool *keep, size_t gone,
                 struct arena *arena)
{
    struct level_factor *f = part->factor;
    const size_t codes = part->codes - gone;
    size_t *number = arena_alloc(arena, part->codes * sizeof(*number));
    out->codes = 0;
    for (size_t i = 0; i < part->codes; i++)
        number[i] = keep[i] ? out->codes++ : SIZE_MAX;
    out->mark = arena_alloc(arena, codes * sizeof(*out->mark));
    out->right = arena_alloc(arena, codes * sizeof(*out->right));
    out->information = arena_alloc(arena, codes * codes * sizeof(*out->information));
    for (size_t i = 0; i < codes; i++) {
        const size_t p = gone + i, first = BLOCK * f->begin[p / BLOCK];
        out->mark[i] = number[part->mark[f->code[p]]];
        out->right[i] = f->right[p];
        for (size_t q = first > gone ? first : gone; q <= p; q++) {
            const double left = *level_at(f, f->value, p, q);
            out->information[i * codes + (q - gone)] = left;
            out->information[(q - gone) * codes + i] = left;
        }
    }
}

int levels_settle(struct levels_settled *out, const struct levels *levels, size_t links, bool *keep,
                  struct arena *arena)
{
    struct levels *part = settled_part(levels, links);
    struct level_factor *f = part->factor;
    struct error tangled;
    assert(links <= levels->links && levels->factor->dirty >= levels->codes);
    level_marks(part);
    const size_t gone = choose(keep, part);
    for (size_t i = 0; i < part->codes; i++)
        f->hub[i] = keep[i];
    f->hubs = part->codes - gone;
    level_put_in_order(part);
    const int status = f->hubs > KEPT_MOST ? -1 : level_lay_out(part, 0, &tangled);
    if (status == 0) {
        struct levels_settled settled = {.gone = levels->factor->settled.gone + gone,
                                         .links = levels->factor->settled.links};
        level_factor_rows(part, 0, gone / BLOCK);
        take(&settled, part, keep, gone, arena);
        for (size_t i = 0; i < links; i++)
            settled.links += levels->fit[i] != LINK_ASIDE;
        level_settle_sums(&settled, levels, links);
        *out = settled;
    }
    levels_free(part);
    return status;
}
