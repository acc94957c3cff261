// SPDX-License-Identifier: Apache-2.0
//
// Judges one series from the points of its history: its levels, its changes, and whose they are.
// Where the points come from is not its business, nor what is kept of the judgement.
#include "ci/history/history.h"
#include "model/history/focus.h"
#include "model/robust.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CONTROLS_MOST = 8 };

const struct history_options history_defaults = {.margin = 0.01, .confidence = 0.99};

// ---- values ----

bool history_predicted(const struct stored_points *stored)
{
    for (size_t i = 0; i < stored->count; i++) {
        if (!(stored->points[i].predicted_ns > 0))
            return false;
    }
    return stored->count > 0;
}

static double *values_of(const struct stored_points *stored, bool against_model,
                         struct arena *arena)
{
    double *values = arena_alloc(arena, stored->count * sizeof(*values));
    for (size_t i = 0; i < stored->count; i++) {
        const struct stored_point *p = &stored->points[i];
        values[i] = log(against_model ? p->time_ns / p->predicted_ns : p->time_ns);
    }
    return values;
}

// ---- the common mode ----

struct shift {
    int64_t run;
    double value;
    struct history_commit at;
};

struct shifts {
    struct shift *items;
    size_t count;
};

static struct history_commit commit_of(const struct stored_point *point)
{
    struct history_commit out = {.time_s = point->time_s};
    memcpy(out.id, point->commit, sizeof(out.id));
    return out;
}

static int by_run(const void *left, const void *right)
{
    const struct shift *a = left, *b = right;
    return a->run < b->run ? -1 : a->run > b->run;
}

static int add_control(struct shifts *all, struct store *store, const struct series_entry *entry,
                       const struct history_query *query, struct error *err)
{
    const struct series series = {entry->kernel, &entry->problem, entry->device_uuid};
    struct arena arena = {0};
    struct stored_points stored;
    int status = store_points(&stored, store, &series, query, &arena, err);
    if (status == 0 && stored.count) {
        double *values = values_of(&stored, history_predicted(&stored), &arena);
        double *work = arena_copy(&arena, values, stored.count * sizeof(*work));
        double level = robust_median(work, stored.count);
        all->items = xrealloc(all->items, all->count + stored.count, sizeof(*all->items));
        for (size_t i = 0; i < stored.count; i++)
            all->items[all->count++] = (struct shift){stored.points[i].run_id, values[i] - level,
                                                      commit_of(&stored.points[i])};
    }
    arena_free(&arena);
    return status;
}

static void settle(struct common_mode *out, struct shifts *all, struct arena *arena)
{
    double *work = xcalloc(all->count, sizeof(*work));
    out->runs = arena_alloc(arena, all->count * sizeof(*out->runs));
    out->shifts = arena_alloc(arena, all->count * sizeof(*out->shifts));
    out->commits = arena_alloc(arena, all->count * sizeof(*out->commits));
    if (all->count)
        qsort(all->items, all->count, sizeof(*all->items), by_run);
    for (size_t first = 0, end; first < all->count; first = end) {
        for (end = first; end < all->count && all->items[end].run == all->items[first].run; end++)
            work[end - first] = all->items[end].value;
        if (end - first < CONTROLS_FEWEST)
            continue;
        out->runs[out->count] = all->items[first].run;
        out->commits[out->count] = all->items[first].at;
        out->shifts[out->count++] = robust_median(work, end - first);
    }
    free(work);
}

int history_common_mode(struct common_mode *out, struct store *store,
                        const struct series_entry *series, size_t count, const char *device_uuid,
                        const struct history_query *query, struct arena *arena, struct error *err)
{
    struct common_mode made = {.device_uuid = device_uuid};
    struct shifts all = {0};
    int status = 0;
    for (size_t i = 0; status == 0 && i < count && made.controls < CONTROLS_MOST; i++) {
        if (!series[i].control || strcmp(series[i].device_uuid, device_uuid) != 0)
            continue;
        status = add_control(&all, store, &series[i], query, err);
        made.controls++;
    }
    if (status == 0 && made.controls >= CONTROLS_FEWEST)
        settle(&made, &all, arena);
    free(all.items);
    if (status == 0)
        *out = made;
    return status;
}

static int compare_runs(const void *left, const void *right)
{
    const int64_t *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

static bool take_off(double *values, const struct stored_points *stored,
                     const struct common_mode *s)
{
    bool any = false;
    for (size_t i = 0; s && s->count && i < stored->count; i++) {
        const int64_t *run =
            bsearch(&stored->points[i].run_id, s->runs, s->count, sizeof(*s->runs), compare_runs);
        if (!run)
            continue;
        values[i] -= s->shifts[run - s->runs];
        any = true;
    }
    return any;
}

// ---- breaks ----

static void add_break(struct series_history *out, size_t index, const char *what, bool model,
                      struct arena *keep)
{
    if ((out->break_count & (out->break_count - 1)) == 0) {
        size_t room = out->break_count ? 2 * out->break_count : 1;
        struct history_break *grown = arena_alloc(keep, room * sizeof(*grown));
        if (out->break_count)
            memcpy(grown, out->breaks, out->break_count * sizeof(*grown));
        out->breaks = grown;
    }
    out->breaks[out->break_count++] = (struct history_break){
        .index = index, .at = commit_of(&out->stored.points[index]), .what = what, .model = model};
}

static void find_breaks(struct series_history *out, struct arena *keep)
{
    for (size_t i = 1; i < out->stored.count; i++) {
        const struct stored_point *a = &out->stored.points[i - 1], *b = &out->stored.points[i];
        const struct {
            const char *name, *from, *to;
        } kinds[] = {{"driver", a->driver, b->driver},
                     {"runtime", a->runtime, b->runtime},
                     {"model", a->model, b->model}};
        for (size_t k = 0; k < ARRAY_COUNT(kinds); k++) {
            if (*kinds[k].from && *kinds[k].to && strcmp(kinds[k].from, kinds[k].to) != 0)
                add_break(
                    out, i,
                    arena_printf(keep, "%s %s -> %s", kinds[k].name, kinds[k].from, kinds[k].to),
                    k == 2, keep);
        }
    }
}

// ---- changes ----

static void attribute_alone(struct history_change *c, const struct series_history *s)
{
    c->attribution = c->code_changed ? ATTRIBUTION_KERNEL : ATTRIBUTION_ENVIRONMENT;
    for (size_t i = 0; i < s->break_count; i++) {
        const struct history_break *b = &s->breaks[i];
        if (b->index < c->change.earliest || b->index > c->change.latest ||
            (b->model && !s->against_model))
            continue;
        c->attribution = b->model ? ATTRIBUTION_MODEL : ATTRIBUTION_BREAK;
        c->what = b->what;
        c->model_changed |= b->model;
    }
}

// Each once where it comes again at once, as a commit does that was measured several times.
static const char *held_by(const struct stored_point *points, const struct change *change,
                           struct arena *keep)
{
    size_t length = 0, used = 0;
    for (size_t i = change->earliest; i <= change->latest; i++)
        length += strlen(points[i].commit) + 1;
    char *text = arena_alloc(keep, length);
    for (size_t i = change->earliest; i <= change->latest; i++) {
        const size_t size = strlen(points[i].commit);
        if (i > change->earliest && strcmp(points[i].commit, points[i - 1].commit) == 0)
            continue;
        if (used)
            text[used++] = ' ';
        memcpy(text + used, points[i].commit, size);
        used += size;
    }
    text[used] = '\0';
    return text;
}

static void add_change(struct series_history *s, const struct change *change, struct arena *keep)
{
    const struct stored_point *points = s->stored.points;
    struct history_change *c = &s->changes[s->change_count++];
    *c = (struct history_change){.change = *change,
                                 .at = commit_of(&points[change->index]),
                                 .earliest = commit_of(&points[change->earliest]),
                                 .latest = commit_of(&points[change->latest]),
                                 .commits = 1,
                                 .held = held_by(points, change, keep)};
    for (size_t i = change->earliest; i <= change->latest; i++) {
        const struct stored_point *before = &points[i ? i - 1 : 0];
        c->code_changed |= points[i].code == 0 || points[i].code != before->code;
        c->commits += i > change->earliest && strcmp(points[i].commit, before->commit) != 0;
    }
    attribute_alone(c, s);
}

// What the segmentation found and, last, an alarm of online detection about the newest points.
static void take_changes(struct series_history *s, struct changepoints *found, bool ends_now,
                         struct arena *keep)
{
    struct change newest;
    s->sigma = found->sigma;
    s->correlation = found->correlation;
    s->drift = found->drift;
    s->changes = arena_alloc(keep, (found->count + 1) * sizeof(*s->changes));
    for (size_t i = 0; i < found->count; i++)
        add_change(s, &found->changes[i], keep);
    if (ends_now && focus_newest(&newest, s->values, s->stored.count, found, NULL) == FOCUS_ALARM) {
        add_change(s, &newest, keep);
        s->changes[s->change_count - 1].newest = true;
    }
    changepoints_free(found);
}

void history_values(struct series_history *out, const struct common_mode *common,
                    struct arena *scratch)
{
    out->values = values_of(&out->stored, out->against_model, scratch);
    out->common_mode = take_off(out->values, &out->stored, common);
}

void history_find(struct series_history *out, bool newest, struct arena *keep)
{
    struct changepoints found;
    find_breaks(out, keep);
    changepoints_find(&found, out->values, out->stored.count, NULL);
    take_changes(out, &found, newest, keep);
}

void history_find_again(struct series_history *out, const struct change *earlier, size_t count,
                        struct arena *keep)
{
    struct changepoints found;
    find_breaks(out, keep);
    changepoints_again(&found, out->values, out->stored.count, earlier, count);
    take_changes(out, &found, true, keep);
}

// ---- against the accepted state ----

// The first point of the accepted state; false: it was not measured yet, and *out is 0.
static bool epoch_begins(size_t *out, const struct epoch *epoch, const struct stored_points *stored)
{
    for (*out = 0; *out < stored->count; ++*out) {
        if (strcmp(stored->points[*out].commit, epoch->commit) == 0)
            return true;
    }
    for (*out = 0; *out < stored->count; ++*out) { // accepted at a commit that was not measured
        if (stored->points[*out].time_s >= epoch->when_s)
            return true;
    }
    *out = 0;
    return false;
}

// Where the accepted state's points end: at the first change, and where there is none early enough
// that as many are left. A level that is held against its own points never moves.
static size_t accepted_end(const struct series_history *s, size_t count)
{
    size_t end = count;
    for (size_t i = s->change_count; i-- > 0;) {
        const size_t index = s->changes[i].change.index;
        if (index > s->since && index < end)
            end = index;
    }
    if (end == count)
        end -= (count - s->since) / 2;
    return end < s->since + HISTORY_LEVEL_POINTS ? end : s->since + HISTORY_LEVEL_POINTS;
}

void history_accepted(struct series_history *out)
{
    out->since = 0;
    out->since_known = !out->epoch || epoch_begins(&out->since, out->epoch, &out->stored);
    const size_t end = accepted_end(out, out->stored.count);
    double *work = xcalloc(end - out->since + 1, sizeof(*work));
    memcpy(work, out->values + out->since, (end - out->since) * sizeof(*work));
    double se = out->sigma / sqrt((double)(end - out->since));
    out->level = robust_median(work, end - out->since);
    out->level_se = isfinite(se) ? se : 0;
    free(work);
}

void history_recent(struct series_history *out, const double *values, size_t first, size_t count,
                    const struct history_options *options)
{
    size_t skip = count > HISTORY_LEVEL_POINTS ? count - HISTORY_LEVEL_POINTS : 0;
    size_t from = first + skip;
    if (out->change_count && out->changes[out->change_count - 1].change.index > from)
        from = out->changes[out->change_count - 1].change.index;
    const size_t end = accepted_end(out, first + count);
    if (from < end)
        from = end;
    skip = from - first < count ? from - first : count;
    out->creep = creep_test(out->level, out->level_se, values + skip, count - skip, options->margin,
                            options->confidence);
}

struct history_now history_now(const struct series_history *s)
{
    const struct linked_history *l = &s->linked;
    if (l->level_count == 0 || l->neighbours == 0)
        return (struct history_now){s->creep.size, s->creep.moved, false};
    return (struct history_now){s->epoch ? l->accepted : l->now, l->moved, true};
}

void history_remember(struct series_history *s)
{
    size_t first = s->stored.count > HISTORY_RECENT ? s->stored.count - HISTORY_RECENT : 0;
    s->newest = s->stored.points[s->stored.count - 1];
    s->recent_count = 0;
    for (size_t i = first; i < s->stored.count; i++)
        s->recent[s->recent_count++] = (float)s->stored.points[i].time_ns;
}

void history_forget(struct series_history *stored)
{
    stored->stored.points = NULL;
    stored->values = NULL;
    stored->newest.model = stored->newest.driver = stored->newest.runtime = NULL;
}
