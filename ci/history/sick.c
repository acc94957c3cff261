// SPDX-License-Identifier: Apache-2.0
//
// A device's controls as the store has them: whether they work, and how long they take against what
// they took under the same driver and runtime. Another driver is a change of the environment, which
// events name, and no sickness.
#include "ci/history/sick.h"

#include "baselines/store.h"
#include "model/history/device.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CONTROLS_READ = 16, POINTS_READ = 60, RUNS_AFTER = 2 };

// Log times under the newest point's driver and runtime.
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

static int by_run(const void *left, const void *right)
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
        // A run may be of an older commit: what was measured last counts, whichever commit it is
        // of.
        qsort(stored.points, stored.count, sizeof(*stored.points), by_run);
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

// Code that gave right results here and gives wrong ones now tells at once; one that crashes may
// have its own reason, most of them have not.
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
