// SPDX-License-Identifier: Apache-2.0
//
// Pairs do not mind a slow device, for it is slow for both builds. But its absolute times are
// another device's, and who compares them should know.
#include "ci/gate/unit_times.h"
#include "model/gate/apart.h"
#include "model/robust.h"

#include <math.h>
#include <stdlib.h>

struct unit_time {
    const void *series;
    size_t unit;
    double log_ns;
};

void unit_times_free(struct unit_times *times)
{
    free(times->items);
    *times = (struct unit_times){0};
}

static bool was_on(const struct duet *d, uint16_t process, size_t unit)
{
    for (size_t i = 0; i < d->visit_count; i++) {
        if (d->visits[i].process == process)
            return d->visits[i].unit == unit;
    }
    return false;
}

static void add_unit(struct unit_times *times, const struct duet *d, const void *series,
                     size_t unit)
{
    double *work = xcalloc(d->base_samples.count + 1, sizeof(*work));
    size_t count = 0;
    for (size_t i = 0; i < d->base_samples.count; i++) {
        const struct sample *s = &d->base_samples.items[i];
        if (!s->excluded && s->time_ns > 0 && was_on(d, s->process, unit))
            work[count++] = log(s->time_ns);
    }
    if (count) {
        times->items = xgrow(times->items, times->count, &times->capacity, sizeof(*times->items));
        times->items[times->count++] = (struct unit_time){series, unit, robust_median(work, count)};
    }
    free(work);
}

void unit_times_add(struct unit_times *times, const struct duet *d, const void *series)
{
    bool seen[UNITS_MOST] = {false};
    if (!d->judged)
        return;
    for (size_t i = 0; i < d->visit_count; i++) {
        const size_t unit = d->visits[i].unit;
        if (!seen[unit])
            add_unit(times, d, series, unit);
        seen[unit] = true;
    }
}

// The log ratios of the unit's times to those of the first, series by series.
static size_t differences(double *out, const struct unit_times *times, size_t unit)
{
    size_t count = 0;
    for (size_t i = 0; i < times->count; i++) {
        const struct unit_time *own = &times->items[i];
        for (size_t j = 0; own->unit == unit && j < times->count; j++) {
            const struct unit_time *other = &times->items[j];
            if (other->unit != 0 || other->series != own->series)
                continue;
            out[count++] = own->log_ns - other->log_ns;
            break;
        }
    }
    return count;
}

void unit_times_tell(struct unit_times *times, struct context *context,
                     struct context_device *first)
{
    double *work = xcalloc(times->count + 1, sizeof(*work));
    for (size_t unit = 1; unit < first->units; unit++) {
        struct context_device *device = &first[unit];
        const size_t count = differences(work, times, unit);
        const struct apart apart = apart_of(work, count);
        if (!apart.told)
            continue;
        device->odd = arena_printf(&context->arena, "%s is %.2f %% %s than %s", device->unit.uuid,
                                   100 * fabs(expm1(apart.log_ratio)),
                                   apart.log_ratio > 0 ? "slower" : "faster", first->unit.uuid);
        progress_note(&context->progress,
                      "device %s: %s (+-%.2f, same code in %zu series): they are not equal; "
                      "`plumb doctor` looks for why",
                      device->policy->name, device->odd, 200 * apart.se, count);
    }
    free(work);
}
