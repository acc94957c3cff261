// SPDX-License-Identifier: Apache-2.0
//
// How sure levels are: Student's t, with what is known of the errors that pairs cannot see.
#include "model/history/level_factor.h"

#include <assert.h>
#include <math.h>

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
static double degrees_of(const struct levels *levels, const struct level_link *l)
{
    const double change = levels->unlike * level_change(l);
    const double unseen = levels->misclosure * levels->misclosure + change * change;
    const double part = unseen / (unseen + l->error * l->error);
    return fmin(levels->degrees / (part * part), 1e6);
}

double levels_link_chance(const struct levels *levels, size_t link, double errors)
{
    return tail(degrees_of(levels, &levels->factor->links[link]), errors);
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
    return tail(degrees_of(levels, l), fabs(r) * sqrt(w / redundancy) / levels->unit);
}
