// SPDX-License-Identifier: Apache-2.0
//
// What happened to devices: changes that a driver made to many series at once, and devices that are
// sick.
#include "ci/history/history.h"

#include "baselines/store.h"
#include "ci/history/load.h"
#include "model/history/device.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// ==== what a driver changed ====
//
// A code that ran under both drivers forms a series of its own, in which only the driver or the day
// can differ. If no code of a series did, its codes are compared through their links, which were
// measured by pairs under one driver or the other; the series then counts by its levels.

// A point, with the level and mark by which it may be compared.
struct timed {
    size_t series;
    int64_t run, code;
    const char *driver;
    double log_time;
    size_t mark; // the mark of its level, from 1; 0: it has no level
    double level;
};

struct device_points {
    struct timed *items;
    size_t count, room;
};

// ---- points ----

// Finds the level of the code that came with this commit.
static const struct linked_level *level_at(const struct linked_levels *levels, const char *commit)
{
    for (size_t i = 0; i < levels->step_count; i++) {
        if (strcmp(levels->steps[i].at->id, commit) == 0)
            return &levels->levels[levels->steps[i].level];
    }
    return NULL;
}

static void set_levels(struct timed *items, const struct stored_points *stored,
                       const struct linked_levels *levels)
{
    for (size_t i = 0; i < stored->count; i++) {
        const struct linked_level *level = level_at(levels, stored->points[i].commit);
        for (size_t j = 0; level && j < stored->count; j++) {
            if (stored->points[j].code && stored->points[j].code == stored->points[i].code) {
                items[j].mark = level->mark + 1;
                items[j].level = level->level.value;
            }
        }
    }
}

static int read_series(struct device_points *out, struct store *store,
                       const struct commit_places *places, const struct series_entry *e,
                       size_t number, struct arena *arena, struct error *err)
{
    const struct series series = {e->kernel, &e->problem, e->device_uuid};
    const struct history_query query = {0};
    struct stored_points stored;
    struct linked_history linked = {0};
    struct linked_levels levels;
    if (store_points(&stored, store, &series, &query, arena, err) ||
        (!e->control &&
         history_links(&linked, &levels, store, places, &series, NULL, arena, arena, err)))
        return -1;
    const size_t first = out->count;
    for (size_t i = 0; i < stored.count; i++) {
        const struct stored_point *p = &stored.points[i];
        out->items = xgrow(out->items, out->count, &out->room, sizeof(*out->items));
        out->items[out->count++] = (struct timed){.series = number,
                                                  .run = p->run_id,
                                                  .code = p->code,
                                                  .driver = arena_strdup(arena, p->driver),
                                                  .log_time = log(p->time_ns)};
    }
    if (linked.links && !linked.trouble)
        set_levels(out->items + first, &stored, &levels);
    return 0;
}

// ---- two drivers ----

struct comparing {
    const struct timed *before, *after;
    size_t before_count, after_count;
    struct driver_point *points;
    size_t count, series; // numbers of points and of series
};

static bool has_code(const struct timed *items, size_t count, const struct timed *like)
{
    for (size_t i = 0; i < count; i++) {
        if (items[i].series == like->series && items[i].code && items[i].code == like->code)
            return true;
    }
    return false;
}

// Adds a point. Points that may be compared, by their code or by levels with the same mark, get the
// same series number.
static void add(struct comparing *c, const struct timed *p, bool after, bool levelled,
                struct timed *keys)
{
    size_t at = 0;
    while (at < c->series && (keys[at].series != p->series ||
                              (levelled ? keys[at].mark != p->mark : keys[at].code != p->code)))
        at++;
    if (at == c->series)
        keys[c->series++] = *p;
    c->points[c->count++] =
        (struct driver_point){at, p->run, after, p->log_time - (levelled ? p->level : 0)};
}

static bool is_comparable(const struct comparing *c, const struct timed *p, bool after,
                          bool levelled)
{
    return levelled ? p->mark != 0
           : after  ? has_code(c->before, c->before_count, p)
                    : has_code(c->after, c->after_count, p);
}

static void compare(struct driver_shift *out, struct comparing *c, bool levelled)
{
    const size_t most = c->before_count + c->after_count;
    struct timed *keys = xcalloc(most + 1, sizeof(*keys));
    c->points = xcalloc(most + 1, sizeof(*c->points));
    c->count = c->series = 0;
    for (size_t i = 0; i < most; i++) {
        const bool after = i >= c->before_count;
        const struct timed *p = after ? &c->after[i - c->before_count] : &c->before[i];
        if (is_comparable(c, p, after, levelled))
            add(c, p, after, levelled, keys);
    }
    driver_shift_find(out, c->points, c->count);
    free(c->points);
    free(keys);
}

// ---- a device ----

static int by_run(const void *left, const void *right)
{
    const struct timed *a = left, *b = right;
    if (a->run != b->run)
        return a->run < b->run ? -1 : 1;
    return (a->series > b->series) - (a->series < b->series);
}

static size_t end_of(const struct device_points *points, size_t from)
{
    size_t end = from;
    while (end < points->count &&
           strcmp(points->items[end].driver, points->items[from].driver) == 0)
        end++;
    return end;
}

static void add_steps(struct driver_steps *out, struct device_points *points,
                      const struct series_entry *e, struct arena *arena)
{
    if (points->count)
        qsort(points->items, points->count, sizeof(*points->items), by_run);
    for (size_t from = 0; from < points->count;) {
        const size_t middle = end_of(points, from);
        if (middle == points->count)
            break;
        struct comparing c = {.before = points->items + from,
                              .before_count = middle - from,
                              .after = points->items + middle,
                              .after_count = end_of(points, middle) - middle};
        struct driver_step step = {.device_uuid = e->device_uuid,
                                   .device_name = e->device_name,
                                   .from = points->items[from].driver,
                                   .to = points->items[middle].driver};
        compare(&step.shift, &c, false);
        step.levelled = step.shift.series == 0;
        if (step.levelled)
            compare(&step.shift, &c, true);
        struct driver_step *grown = arena_alloc(arena, (out->count + 1) * sizeof(*grown));
        if (out->count)
            memcpy(grown, out->items, out->count * sizeof(*grown));
        grown[out->count++] = step;
        out->items = grown;
        from = middle;
    }
}

int drivers_find(struct driver_steps *out, struct store *store, const struct history_wanted *wanted,
                 bool controls, struct arena *arena, struct error *err)
{
    struct series_entry *entries;
    struct commit_places places = {0};
    struct driver_steps steps = {0};
    size_t count;
    int status = store_list_series(&entries, &count, store, arena, err) ||
                         store_commit_places(&places, store, arena, err)
                     ? -1
                     : 0;
    bool *seen = xcalloc(status ? 1 : count + 1, sizeof(*seen));
    for (size_t i = 0; status == 0 && i < count; i++) {
        struct device_points points = {0};
        for (size_t j = i; status == 0 && !seen[i] && j < count; j++) {
            if (strcmp(entries[i].device_uuid, entries[j].device_uuid) != 0)
                continue;
            seen[j] = j > i;
            if (history_selects(wanted, &entries[j]) && (!controls || entries[j].control))
                status = read_series(&points, store, &places, &entries[j], j, arena, err);
        }
        add_steps(&steps, &points, &entries[i], arena);
        free(points.items);
    }
    free(seen);
    *out = steps;
    return status;
}

// ==== devices that are sick ====
//
// Looks at a device's stored controls: whether they work, and how their times compare with earlier
// ones under the same driver and runtime. Another driver is a change of the environment, which
// events name, and no sickness.

enum { CONTROLS_READ = 16, POINTS_READ = 60, RUNS_AFTER = 2 };

// Reads the log times under the newest point's driver and runtime.
static void read_values(struct sickness_control *out, const struct stored_points *stored,
                        struct arena *arena)
{
    double *values = arena_alloc(arena, stored->count * sizeof(*values));
    size_t count = 0;
    const struct stored_point *newest = &stored->points[stored->count - 1];
    for (size_t i = 0; i < stored->count; i++) {
        const struct stored_point *p = &stored->points[i];
        if (strcmp(p->driver, newest->driver) == 0 && strcmp(p->runtime, newest->runtime) == 0)
            values[count++] = log(p->time_ns);
    }
    *out = (struct sickness_control){values, count};
}

static int by_run_id(const void *left, const void *right)
{
    const struct stored_point *a = left, *b = right;
    return (a->run_id > b->run_id) - (a->run_id < b->run_id);
}

static int read_controls(struct sickness_control *controls, size_t *count, struct store *store,
                         const struct series_entry *series, size_t series_count, const char *uuid,
                         struct arena *arena, struct error *err)
{
    size_t used = 0;
    for (size_t i = 0; i < series_count && used < CONTROLS_READ; i++) {
        const struct series one = {series[i].kernel, &series[i].problem, uuid};
        const struct history_query query = {.limit = POINTS_READ};
        struct stored_points stored;
        if (!series[i].control || strcmp(series[i].device_uuid, uuid) != 0)
            continue;
        if (store_points(&stored, store, &one, &query, arena, err))
            return -1;
        if (!stored.count)
            continue;
        // A run may measure an older commit. The order of measuring counts here, whichever the
        // commit.
        qsort(stored.points, stored.count, sizeof(*stored.points), by_run_id);
        read_values(&controls[used++], &stored, arena);
    }
    *count = used;
    return 0;
}

static void judge_times(struct sick_finding *f, const struct sickness_control *controls,
                        size_t count, double margin, struct arena *arena)
{
    struct sickness s;
    sickness_find(&s, controls, count, margin);
    f->known = s.known;
    f->sick = s.slow;
    if (!s.known)
        f->why = arena_printf(arena,
                              "%zu of %d controls have %d points under its driver: it cannot be "
                              "judged",
                              s.controls, SICKNESS_CONTROLS, SICKNESS_EARLIER + 2);
    else
        f->why = arena_printf(arena, "its %zu controls are %+.1f %% slower in the last two runs%s",
                              s.controls, 100 * expm1(s.log_ratio),
                              s.slow ? "" : ", within what is allowed");
}

// Judges controls that fail. Code whose results were correct here and are wrong now is decisive at
// once. Code that crashes may have a reason of its own, so most of the controls must fail.
static void judge_failures(struct sick_finding *f, const struct control_failures *failures,
                           struct arena *arena)
{
    const bool lost = failures->lost >= 2 && 2 * failures->lost >= failures->controls;
    if (!failures->wrong && !lost)
        return;
    f->known = f->sick = true;
    f->why =
        failures->wrong
            ? arena_printf(arena, "%zu of its %zu controls compute wrong results, %.120s first",
                           failures->wrong, failures->controls, failures->examples)
            : arena_printf(arena, "%zu of its %zu controls crash or hang, %.120s first",
                           failures->lost, failures->controls, failures->examples);
}

static int judge(struct sick_finding *f, struct store *store, const struct series_entry *series,
                 size_t series_count, double margin, struct arena *arena, struct error *err)
{
    struct sickness_control controls[CONTROLS_READ];
    struct control_failures failures;
    struct device_entry_state state;
    size_t count;
    int64_t since = 0;
    bool found;
    if (store_device_state(&state, &found, store, f->uuid, arena, err))
        return -1;
    if (found && state.out) {
        f->out = true;
        f->why = state.why;
        return 0;
    }
    if (found && store_device_runs(&since, store, f->uuid, state.when_s, err))
        return -1;
    if (found && since < RUNS_AFTER) {
        f->why = "it was brought back and is judged after two more runs";
        return 0;
    }
    if (read_controls(controls, &count, store, series, series_count, f->uuid, arena, err) ||
        store_control_failures(&failures, store, f->uuid, arena, err))
        return -1;
    judge_times(f, controls, count, margin, arena);
    judge_failures(f, &failures, arena);
    return 0;
}

int sick_find(struct sick_finding **out, size_t *count, struct store *store, double margin,
              struct arena *arena, struct error *err)
{
    struct device_entry *devices;
    struct series_entry *series;
    size_t device_count, series_count, used = 0;
    if (store_list_devices(&devices, &device_count, store, arena, err) ||
        store_list_series(&series, &series_count, store, arena, err))
        return -1;
    struct sick_finding *found = arena_alloc(arena, (device_count + 1) * sizeof(*found));
    for (size_t i = 0; margin > 0 && i < device_count; i++) {
        if (strncmp(devices[i].uuid, "away:", 5) == 0 ||
            strncmp(devices[i].uuid, "static:", 7) == 0)
            continue;
        struct sick_finding *f = &found[used++];
        *f = (struct sick_finding){.uuid = devices[i].uuid,
                                   .name = devices[i].name,
                                   .gpu = strcmp(devices[i].kind, "cuda") == 0};
        if (judge(f, store, series, series_count, margin, arena, err))
            return -1;
    }
    *out = found;
    *count = used;
    return 0;
}
