// SPDX-License-Identifier: Apache-2.0
//
// A device that took another's place. A series is kernel x problem x device, so a replaced device
// begins new ones; that their times are another device's is named as a break, and how much it
// moved them is said.
//
// Which one took which one's place: of the same kind and model name, and first measured after the
// other's last run. Devices that are measured side by side, or turn about, replace nobody; another
// model is other hardware and is not compared.
//
// How much: the trimmed mean log time of the series' first points less that of the last points on
// the other device, each without what lies beyond a change of level. Its interval is three standard
// errors (99 % for ten points on either side), widened for serial correlation r as for an AR(1)
// process by (1 + r) / (1 - r). A commit between the two, and the time that passed, are in it too.
#include "ci/history/history.h"
#include "model/robust.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS = 10, POINTS_FEWEST = 5 };

// Of the devices that stopped before this one began, the last. NULL: none.
static const struct device_entry *taken_over(const struct device_entry *devices, size_t count,
                                             const struct device_entry *later)
{
    const struct device_entry *found = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct device_entry *d = &devices[i];
        if (d != later && d->last_s < later->first_s && strcmp(d->kind, later->kind) == 0 &&
            strcmp(d->name, later->name) == 0 && (!found || d->last_s > found->last_s))
            found = d;
    }
    // Two that began after it cannot both have its place: the first one has.
    for (size_t i = 0; found && i < count; i++) {
        const struct device_entry *d = &devices[i];
        if (d != later && d->first_s > found->last_s && d->first_s < later->first_s &&
            strcmp(d->kind, later->kind) == 0 && strcmp(d->name, later->name) == 0)
            return NULL;
    }
    return found;
}

static struct series_history *find_series(struct series_history *all, size_t count,
                                          const char *uuid, const struct series_entry *like)
{
    for (size_t i = 0; i < count; i++) {
        const struct series_entry *e = all[i].series;
        if (strcmp(e->device_uuid, uuid) == 0 && strcmp(e->kernel, like->kernel) == 0 &&
            problem_equal(&e->problem, &like->problem))
            return &all[i];
    }
    return NULL;
}

// ---- the two levels ----

static int read_end(struct stored_points *out, struct store *store, const struct series_entry *like,
                    const char *uuid, bool oldest, struct arena *arena, struct error *err)
{
    const struct series series = {like->kernel, &like->problem, uuid};
    const struct history_query query = {.limit = POINTS, .oldest = oldest};
    return store_points(out, store, &series, &query, arena, err);
}

static struct robust_mean level_of(const struct stored_points *stored, size_t first, size_t end,
                                   double correlation)
{
    double work[POINTS];
    double r = correlation > 0 ? fmin(correlation, 0.9) : 0;
    for (size_t i = first; i < end; i++)
        work[i - first] = log(stored->points[i].time_ns);
    struct robust_mean level = robust_mean(work, end - first);
    level.se *= sqrt((1 + r) / (1 - r));
    return level;
}

// The newest points on the other device after its last change, the first here before the first.
// `before` NULL: the other series' changes are not known.
static void measure(struct history_break *out, const struct series_history *before,
                    const struct stored_points *last, const struct series_history *after,
                    const struct stored_points *first)
{
    size_t from = 0, end = first->count;
    if (before && before->change_count) {
        size_t index = before->changes[before->change_count - 1].change.index;
        size_t skipped = before->stored.count - last->count;
        from = index > skipped ? index - skipped : 0;
    }
    if (after->change_count && after->changes[0].change.index < end)
        end = after->changes[0].change.index;
    out->size = interval_none;
    if (from > last->count || last->count - from < POINTS_FEWEST || end < POINTS_FEWEST)
        return;
    struct robust_mean a = level_of(last, from, last->count, before ? before->correlation : 0);
    struct robust_mean b = level_of(first, 0, end, after->correlation);
    out->size = interval_about(b.mean - a.mean, 3 * hypot(a.se, b.se));
}

// ---- the break ----

// Before all others: it lies before the first point.
static void put_first(struct series_history *s, const struct history_break *first,
                      struct arena *keep)
{
    struct history_break *breaks = arena_alloc(keep, (s->break_count + 1) * sizeof(*breaks));
    breaks[0] = *first;
    if (s->break_count)
        memcpy(breaks + 1, s->breaks, s->break_count * sizeof(*breaks));
    s->breaks = breaks;
    s->break_count++;
}

// A new device often comes with a new driver.
static const char *name_of(const struct series_history *after, const char *uuid,
                           const struct stored_point *last, const struct stored_point *first,
                           struct arena *keep)
{
    const char *what = arena_printf(keep, "device %s %s -> %s", after->series->device_name, uuid,
                                    after->series->device_uuid);
    if (*last->driver && *first->driver && strcmp(last->driver, first->driver) != 0)
        what = arena_printf(keep, "%s, driver %s -> %s", what, last->driver, first->driver);
    if (*last->runtime && *first->runtime && strcmp(last->runtime, first->runtime) != 0)
        what = arena_printf(keep, "%s, runtime %s -> %s", what, last->runtime, first->runtime);
    return what;
}

static int add_takeover(struct series_history *after, const char *uuid,
                        struct series_history *before, struct store *store, struct arena *keep,
                        struct error *err)
{
    struct arena scratch = {0};
    struct stored_points last, first;
    int status = -1;
    if (read_end(&last, store, after->series, uuid, false, &scratch, err) ||
        read_end(&first, store, after->series, after->series->device_uuid, true, &scratch, err))
        goto done;
    status = 0;
    if (last.count && first.count) {
        const struct stored_point *newest = &last.points[last.count - 1], *oldest = first.points;
        struct history_break b = {.device = true,
                                  .at = {.time_s = oldest->time_s},
                                  .what = name_of(after, uuid, newest, oldest, keep)};
        memcpy(b.at.id, oldest->commit, sizeof(b.at.id));
        measure(&b, before, &last, after, &first);
        put_first(after, &b, keep);
        if (before)
            before->replaced_by = after->series->device_uuid;
    }
done:
    arena_free(&scratch);
    return status;
}

int history_devices(struct series_history *all, size_t count, struct store *store,
                    struct arena *keep, struct error *err)
{
    struct device_entry *devices;
    size_t device_count;
    if (store_list_devices(&devices, &device_count, store, keep, err))
        return -1;
    for (size_t d = 0; d < device_count; d++) {
        const struct device_entry *replaced = taken_over(devices, device_count, &devices[d]);
        for (size_t i = 0; replaced && i < count; i++) {
            if (strcmp(all[i].series->device_uuid, devices[d].uuid) == 0 &&
                add_takeover(&all[i], replaced->uuid,
                             find_series(all, count, replaced->uuid, all[i].series), store, keep,
                             err))
                return -1;
        }
    }
    return 0;
}
