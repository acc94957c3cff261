// SPDX-License-Identifier: Apache-2.0
//
// What is faster than the roofline is no time of this kernel, whatever the stopwatch read.
#include "ci/gate/duets_void.h"

#include <math.h>

enum { ENOUGH = 32 };

void duet_void_pairs(struct duet *d)
{
    for (size_t i = d->fed; i < d->base_samples.count; i++) {
        struct sample *base = &d->base_samples.items[i], *head = &d->head_samples.items[i];
        if (fmin(base->time_ns, head->time_ns) >= d->least_ns)
            continue;
        base->excluded = head->excluded = 1;
        d->voided++;
    }
}

bool duet_is_void(const struct duet *d)
{
    return d->voided >= ENOUGH && 2 * (size_t)d->voided > d->base_samples.count;
}
