// SPDX-License-Identifier: Apache-2.0
//
// The list of this process's references; a process has one device.
#include "kernels/bench/series.h"

#include <stdlib.h>

static struct shared_reference *all; // the most recently used one comes first

enum { ROOM_PART = 4 };

static double bytes_of(const struct problem *p)
{
    return (double)p->m * (double)p->n * (double)p->batch * sizeof(double);
}

static struct shared_reference *take_out(struct shared_reference **at)
{
    struct shared_reference *r = *at;
    *at = r->next;
    return r;
}

// Frees unused references, but keeps the latest as long as all together fit into this many bytes.
static void drop_beyond(double room, const struct device_ops *ops)
{
    double kept = 0;
    for (struct shared_reference **at = &all; *at;) {
        kept += (*at)->users ? 0 : (*at)->bytes;
        if ((*at)->users || kept <= room) {
            at = &(*at)->next;
            continue;
        }
        struct shared_reference *r = take_out(at);
        kept -= r->bytes;
        ops->reference_free(r->device, r->exact);
        free(r);
    }
}

int references_take(struct shared_reference **out, const struct device_ops *ops,
                    struct device_base *device, const struct problem *problem,
                    const struct plumb_args *args, uint64_t seed, struct error *err)
{
    struct shared_reference **at = &all, *r;
    while ((r = *at) &&
           (r->device != device || r->seed != seed || !problem_equal(&r->problem, problem)))
        at = &r->next;
    if (!r) {
        struct reference *exact;
        if (ops->reference(&exact, device, problem, args, &seed, err))
            return -1;
        r = xcalloc(1, sizeof(*r));
        *r = (struct shared_reference){exact, device, *problem, seed, 0, bytes_of(problem), NULL};
    } else {
        take_out(at);
    }
    r->next = all;
    all = r;
    r->users++;
    *out = r;
    return 0;
}

void references_give(struct shared_reference *reference, const struct device_ops *ops)
{
    if (--reference->users == 0)
        drop_beyond((double)ops->free_bytes(reference->device) / ROOM_PART, ops);
}

void references_drop(const struct device_ops *ops)
{
    drop_beyond(-1, ops);
}
