// SPDX-License-Identifier: Apache-2.0
//
// The list of this process's references; a process has one device.
#include "kernels/bench/references.h"

#include <stdlib.h>

static struct shared_reference *all;

int references_take(struct shared_reference **out, const struct device_ops *ops,
                    struct device_base *device, const struct problem *problem,
                    const struct plumb_args *args, uint64_t seed, struct error *err)
{
    struct shared_reference *r = all;
    while (r && (r->device != device || r->seed != seed || !problem_equal(&r->problem, problem)))
        r = r->next;
    if (!r) {
        struct reference *exact;
        if (ops->reference(&exact, device, problem, args, &seed, err))
            return -1;
        r = xcalloc(1, sizeof(*r));
        *r = (struct shared_reference){exact, device, *problem, seed, 0, all};
        all = r;
    }
    r->users++;
    *out = r;
    return 0;
}

void references_give(struct shared_reference *reference, const struct device_ops *ops)
{
    if (--reference->users)
        return;
    struct shared_reference **at = &all;
    while (*at != reference)
        at = &(*at)->next;
    *at = reference->next;
    ops->reference_free(reference->device, reference->exact);
    free(reference);
}
