// SPDX-License-Identifier: Apache-2.0
//
// What each link tells, and what settled ones told, summed up: those that are about as sure and as
// unlike count as one later, so that what is estimated can still weigh them by what it finds.
#include "model/history/level_told.h"

#include "model/history/level_factor.h"

#include <math.h>

struct unseen level_weighed_with(const struct levels *levels)
{
    return (struct unseen){levels->weighed * levels->weighed,
                           levels->weighed_unlike * levels->weighed_unlike};
}

bool level_tell(struct told *out, double *weight, double *residual, const struct levels *levels,
                size_t link)
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
    *out = (struct told){l->error * l->error, change * change, redundancy, r * r / redundancy};
    return true;
}

// By octaves of s, from 2^-17 on, and of d, from 2^-8 on.
static struct settled_told *kind_of(struct settled_sums *sums, const struct told *t)
{
    const int sure = ilogb(t->pairs) / 2 + 17;
    const int unlike = t->change > 0 ? ilogb(t->change) / 2 + 8 : 0;
    return &sums->told[sure < 0 ? 0
                       : sure < SETTLED_ERRORS
                           ? sure
                           : SETTLED_ERRORS - 1][unlike < 0                 ? 0
                                                 : unlike < SETTLED_CHANGES ? unlike
                                                                            : SETTLED_CHANGES - 1];
}

void level_settle_sums(struct levels_settled *out, const struct levels *levels, size_t links)
{
    const struct unseen at = level_weighed_with(levels);
    struct told t;
    double w, r;
    out->sums = levels->factor->settled.sums;
    out->misclosure = levels->misclosure;
    out->unlike = levels->unlike;
    level_invert(levels);
    for (size_t i = 0; i < links; i++) {
        struct settled_sums *s = &out->sums;
        if (!level_tell(&t, &w, &r, levels, i))
            continue;
        const double share = t.redundancy / told_variance(&t, at);
        struct settled_told *kind = kind_of(s, &t);
        s->count++;
        s->square += w * r * r;
        s->loops += t.redundancy;
        s->pairs += share * t.pairs;
        s->any += share;
        s->change += share * t.change;
        s->redundancy += t.redundancy;
        kind->redundancy += t.redundancy;
        kind->pairs += t.redundancy * t.pairs;
        kind->change += t.redundancy * t.change;
        kind->square += t.redundancy * t.square;
    }
}
