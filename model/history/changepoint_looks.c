// SPDX-License-Identifier: Apache-2.0
//
// What was surely seen stays: a series is looked at when it had 60 values and each time it has
// grown by a fifth, and a change of 20 nats and more that one of these looks saw is kept where the
// newest does not see it, whose noise, memory or walk is fitted to more. So it goes only when it
// was found between two looks and is gone by the next. Series of more than 1,500 values are looked
// at once.
#include "model/base.h"
#include "model/history/changepoint_look.h"

#include <stdlib.h>

enum { FIRST_LOOK = 60, LAST_LOOK = 1500, APART = 5 };
static const double look_growth = 1.2, sure = 20;

static bool listed(const struct changepoints *c, const struct change *change)
{
    for (size_t i = 0; i < c->count; i++) {
        const struct change *other = &c->changes[i];
        if ((other->earliest <= change->latest + APART &&
             change->earliest <= other->latest + APART))
            return true;
    }
    return false;
}

// Puts what an earlier look was sure of where it belongs, if the newest does not have it.
static void keep(struct changepoints *now, const struct changepoints *earlier)
{
    for (size_t i = 0; i < earlier->count; i++) {
        const struct change *old = &earlier->changes[i];
        if (old->evidence < sure || listed(now, old))
            continue;
        now->changes = xrealloc(now->changes, now->count + 1, sizeof(*now->changes));
        size_t at = now->count++;
        for (; at > 0 && now->changes[at - 1].index > old->index; at--)
            now->changes[at] = now->changes[at - 1];
        now->changes[at] = *old;
    }
}

void changepoints_find(struct changepoints *out, const double *values, size_t n,
                       const struct changepoint_options *options)
{
    const struct changepoint_options *o = options ? options : &changepoint_defaults;
    struct changepoints kept = {0}, next;
    for (double length = FIRST_LOOK; n <= LAST_LOOK && length < (double)n; length *= look_growth) {
        changepoints_look(&next, values, (size_t)length, o);
        keep(&next, &kept);
        changepoints_free(&kept);
        kept = next;
    }
    changepoints_look(out, values, n, o);
    keep(out, &kept);
    changepoints_free(&kept);
}
