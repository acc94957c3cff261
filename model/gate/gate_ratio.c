// SPDX-License-Identifier: Apache-2.0
//
// The size of what pairs show, with the error that they know of: a robust mean per process, and a
// random-effects mean over processes.
#include "model/gate/gate.h"

#include <math.h>

bool gate_ratio(double *log_ratio, double *error, const struct measurement *base,
                const struct measurement *head, struct arena *arena)
{
    enum { PROCESSES = 32 };
    const size_t most = base->count < head->count ? base->count : head->count;
    struct gate_pair *pairs = arena_alloc(arena, most * sizeof(*pairs));
    double *work = arena_alloc(arena, most * sizeof(*work));
    double means[PROCESSES], errors[PROCESSES];
    const size_t count = gate_pairs(pairs, base, head, arena);
    size_t groups = 0;
    for (size_t first = 0, end; first < count && groups < PROCESSES; first = end) {
        for (end = first; end < count && pairs[end].process == pairs[first].process; end++)
            work[end - first] = pairs[end].log_ratio;
        struct robust_mean m = robust_mean(work, end - first);
        if (!isfinite(m.se))
            continue;
        means[groups] = m.mean;
        errors[groups++] = fmax(m.se, 1e-5);
    }
    if (groups == 0)
        return false;
    struct pooled pooled = pool_random_effects(means, errors, groups);
    *log_ratio = pooled.mean;
    *error = pooled.se;
    return true;
}
