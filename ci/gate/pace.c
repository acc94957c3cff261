// SPDX-License-Identifier: Apache-2.0
//
// Expected times, by least squares over sums that are kept.
#include "ci/gate/pace.h"

#include <math.h>
#include <string.h>

void pace_add(struct pace *pace, double size, double seconds)
{
    pace->count += 1;
    pace->size += size;
    pace->size2 += size * size;
    pace->seconds += seconds;
    pace->product += size * seconds;
}

double pace_expect(const struct pace *p, double size)
{
    if (p->count == 0)
        return NAN;
    const double mean = p->seconds / p->count, middle = p->size / p->count;
    const double spread = p->size2 - p->size * middle;
    double slope = (p->product - p->seconds * middle) / spread, fixed = mean - slope * middle;
    // Sizes that are all alike: a longer one is taken to be longer, a shorter one as long.
    if (!(spread > 1e-9 * p->size2))
        return middle > 0 ? mean * fmax(1, size / middle) : mean;
    if (slope < 0)
        slope = 0, fixed = mean;
    if (fixed < 0)
        fixed = 0, slope = p->product / p->size2;
    return fixed + slope * size;
}

int pace_size(double *out, const struct task *task, struct context *context, struct error *err)
{
    const struct result *r = task->result;
    const struct device *device = &task->device->unit;
    const struct series series = {r->kernel, &r->problem, device->uuid};
    const struct history_query newest = {.limit = 1, .comparisons = true};
    const double rate = strcmp(device->kind, "cuda") == 0 ? 1e14 : 1e10; // operations per second
    struct stored_points stored = {0};
    struct arena arena = {0};
    int status = store_points(&stored, context->store, &series, &newest, &arena, err);
    if (status == 0)
        *out = stored.count ? stored.points[stored.count - 1].time_ns / 1e9
                            : problem_flops(&r->problem) / rate;
    arena_free(&arena);
    return status;
}
