// SPDX-License-Identifier: Apache-2.0
//
// What links in loops tell of the variances of links: for levels_close.c, which estimates them, and
// levels_told.c.
#ifndef PLUMB_LEVEL_TOLD_H
#define PLUMB_LEVEL_TOLD_H

#include "model/history/levels.h"

// What a link in a loop tells of the variances of such links.
struct told {
    double pairs;      // s^2
    double change;     // d^2
    double redundancy; // 1 - h: the part of an independent loop that it is
    double square;     // r^2 / redundancy; its mean is the link's variance
};

// What pairs cannot see: t^2 of any link, and u^2 for the square of its change.
struct unseen {
    double any, change;
};

static inline double told_variance(const struct told *t, struct unseen u)
{
    return t->pairs + u.any + u.change * t->change;
}

struct unseen level_weighed_with(const struct levels *levels);
// False: the link is in no loop, or does not fit. *weight and *residual are set if it does.
bool level_tell(struct told *out, double *weight, double *residual, const struct levels *levels,
                size_t link);

#endif
