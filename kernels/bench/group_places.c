// SPDX-License-Identifier: Apache-2.0
//
// Where the rows of groups lie.
#include "kernels/bench/group_places.h"
#include "kernels/device/form.h"

void group_places_of(struct group_places *out, const struct problem *p)
{
    int64_t at = 0;
    problem_group_rows(out->rows, p);
    for (int32_t g = 0; g < p->groups.count; g++) {
        out->first[g] = (int32_t)at;
        at += p->groups.kind == GROUPS_MASKED ? p->m : form_up(out->rows[g], GROUP_ALIGN);
    }
}

int group_places_clear(const struct device_ops *ops, struct device_base *device, void *memory,
                       size_t bytes, const struct problem *p, struct error *err)
{
    struct group_places groups;
    if (!p->groups.kind)
        return 0;
    const int64_t stored = problem_stored_rows(p);
    const size_t row_bytes = bytes / (size_t)stored; // dense, k of e2m1 is even
    group_places_of(&groups, p);
    for (int32_t g = 0; g < p->groups.count; g++) {
        const int64_t from = (int64_t)groups.first[g] + groups.rows[g];
        const int64_t to = g + 1 < p->groups.count ? groups.first[g + 1] : stored;
        char *rows = (char *)memory + (size_t)from * row_bytes;
        if (to > from && ops->set(device, rows, 0, (size_t)(to - from) * row_bytes, err))
            return -1;
    }
    return 0;
}
