// SPDX-License-Identifier: Apache-2.0
//
// Judges one series from the points of its history: its levels, its changes, and their causes.
// Reading points and keeping judgements is done elsewhere.
#include "ci/history/history.h"

#include "baselines/judgement.h"
#include "ci/history/load.h"
#include "model/base.h"
#include "model/history/changepoint.h"
#include "model/history/device.h"
#include "model/history/event.h"
#include "model/history/shape.h"
#include "model/robust.h"
#include "reports/charts/charts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    HISTORY_LEVEL_POINTS = 10
}; // how many points give the level of the accepted state, and how
   // many the newest level

enum { CONTROLS_MOST = 8 };

const struct history_options history_defaults = {.margin = 0.01, .confidence = 0.99};

// ---- values ----

// Whether every point has a prediction.
static bool history_predicted(const struct stored_points *stored)
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

static void settle(struct control_shifts *out, struct shifts *all, struct arena *arena)
{
    const size_t fewest = out->controls < CONTROLS_FEWEST ? 1 : CONTROLS_FEWEST;
    double *work = xcalloc(all->count, sizeof(*work));
    out->runs = arena_alloc(arena, all->count * sizeof(*out->runs));
    out->shifts = arena_alloc(arena, all->count * sizeof(*out->shifts));
    out->commits = arena_alloc(arena, all->count * sizeof(*out->commits));
    if (all->count)
        qsort(all->items, all->count, sizeof(*all->items), by_run);
    for (size_t first = 0, end; first < all->count; first = end) {
        for (end = first; end < all->count && all->items[end].run == all->items[first].run; end++)
            work[end - first] = all->items[end].value;
        if (end - first < fewest)
            continue;
        out->runs[out->count] = all->items[first].run;
        out->commits[out->count] = all->items[first].at;
        out->shifts[out->count++] = robust_median(work, end - first);
    }
    if (fewest == 1) {
        out->levels = arena_alloc(arena, (out->count + 1) * sizeof(*out->levels));
        control_levels(out->levels, out->shifts, out->count);
    }
    free(work);
}

int history_common_mode(struct control_shifts *out, struct store *store,
                        const struct series_entry *series, size_t count, const char *device_uuid,
                        const struct history_query *query, struct arena *arena, struct error *err)
{
    struct control_shifts made = {.device_uuid = device_uuid};
    struct shifts all = {0};
    int status = 0;
    for (size_t i = 0; status == 0 && i < count && made.controls < CONTROLS_MOST; i++) {
        if (!series[i].control || strcmp(series[i].device_uuid, device_uuid) != 0)
            continue;
        status = add_control(&all, store, &series[i], query, err);
        made.controls++;
    }
    if (status == 0 && all.count)
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

// The index of a run in the common mode; SIZE_MAX: it is not there.
static size_t shift_of(const struct control_shifts *s, int64_t run)
{
    const int64_t *found = bsearch(&run, s->runs, s->count, sizeof(*s->runs), compare_runs);
    return found ? (size_t)(found - s->runs) : SIZE_MAX;
}

static bool take_off(double *values, const struct stored_points *stored,
                     const struct control_shifts *s)
{
    const size_t count = s && s->count ? stored->count : 0;
    double *shifts = xcalloc(2 * count + 1, sizeof(*shifts)), *levels = shifts + count;
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        const size_t at = shift_of(s, stored->points[i].run_id);
        shifts[i] = at == SIZE_MAX ? NAN : s->shifts[at];
        levels[i] = at == SIZE_MAX || !s->levels ? NAN : s->levels[at];
        any |= at != SIZE_MAX;
        if (at != SIZE_MAX && !s->levels)
            values[i] -= shifts[i];
    }
    if (any && s->levels)
        control_take_off(values, levels, shifts, count);
    free(shifts);
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

// Lists the ids of a change's commits. A commit that was measured several times in a row is listed
// once.
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

// Finds the movements of all points that are no change of level.
static void tell(struct series_history *s, const struct changepoints *found)
{
    struct shape shape;
    shape_find(&shape, s->values, s->stored.count, found, history_defaults.confidence);
    s->told = (struct told){shape.creeps, shape.creep, found->pattern};
}

// Does the same for settled and newer points that were judged separately.
static void tell_joined(struct series_history *s, struct pattern newest)
{
    struct changepoints found = {.changes = xcalloc(s->change_count + 1, sizeof(struct change)),
                                 .sigma = s->sigma,
                                 .drift = s->drift,
                                 .pattern = newest};
    for (size_t i = 0; i < s->change_count; i++)
        found.changes[found.count++] = s->changes[i].change;
    tell(s, &found);
    changepoints_free(&found);
}

static void take_changes(struct series_history *s, struct changepoints *found, struct arena *keep)
{
    s->sigma = found->sigma;
    s->correlation = found->correlation;
    s->drift = found->drift;
    tell(s, found);
    s->changes = arena_alloc(keep, (found->count + 1) * sizeof(*s->changes));
    for (size_t i = 0; i < found->count; i++)
        add_change(s, &found->changes[i], keep);
    changepoints_free(found);
}

// Computes out->values from out->stored and out->against_model.
static void history_values(struct series_history *out, const struct control_shifts *common,
                           struct arena *scratch)
{
    out->values = values_of(&out->stored, out->against_model, scratch);
    // The control is the only one, so nothing can be subtracted from it.
    const bool alone = common && common->levels && out->series->control;
    out->common_mode = !alone && take_off(out->values, &out->stored, common);
}

// Finds out->breaks and out->changes. These `count` changes were found before, and are kept as long
// as the points support them. `find`: changepoints_more() or changepoints_again().
static void history_find(struct series_history *out, const struct change *earlier, size_t count,
                         void (*find)(struct changepoints *, const double *, size_t,
                                      const struct change *, size_t),
                         struct arena *keep)
{
    struct changepoints found;
    find_breaks(out, keep);
    find(&found, out->values, out->stored.count, earlier, count);
    take_changes(out, &found, keep);
}

// ---- comparing with the accepted state ----

// Finds the first point of the accepted state. False: it was not measured yet, and *out is 0.
static bool epoch_begins(size_t *out, const struct epoch *epoch, const struct stored_points *stored)
{
    for (*out = 0; *out < stored->count; ++*out) {
        if (strcmp(stored->points[*out].commit, epoch->commit) == 0)
            return true;
    }
    // The epoch's commit was not measured. Then it is the newest point of the accepted day from
    // which on the machine code is the same, or else the first later point.
    size_t at = 0;
    while (at < stored->count && stored->points[at].time_s < epoch->when_s)
        at++;
    while (at + 1 < stored->count && stored->points[at + 1].time_s < epoch->when_s + EPOCH_DAY_S)
        at++;
    *out = 0;
    if (at == stored->count)
        return false;
    while (at > 0 && stored->points[at].code &&
           stored->points[at - 1].code == stored->points[at].code)
        at--;
    *out = at;
    return true;
}

// Where the points of the accepted state end: at the first change, or if that comes late, so early
// that as many points are left. A level that is compared with its own points never moves.
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

// Sets out->newest and out->recent; out->stored has at least one point.
static void history_remember(struct series_history *s)
{
    size_t first = s->stored.count > HISTORY_RECENT ? s->stored.count - HISTORY_RECENT : 0;
    s->newest = s->stored.points[s->stored.count - 1];
    s->recent_count = 0;
    for (size_t i = first; i < s->stored.count; i++)
        s->recent[s->recent_count++] = (float)s->stored.points[i].time_ns;
}

// ---- the cause of a change that several series share ----

static size_t device_number(const struct series_history *all, size_t i)
{
    size_t d = 0;
    while (d < i && strcmp(all[d].series->device_uuid, all[i].series->device_uuid) != 0)
        d++;
    return d;
}

// A commit that may have begun a change: one word of change->held.
struct held {
    const char *id; // `length` bytes
    size_t length, series, index;
    bool likely; // the change most likely began with it
};

static int compare_ids(const struct held *a, const struct held *b)
{
    const int order = memcmp(a->id, b->id, a->length < b->length ? a->length : b->length);
    return order ? order : (a->length > b->length) - (a->length < b->length);
}

static int by_id(const void *left, const void *right)
{
    const struct held *a = left, *b = right;
    const int order = compare_ids(a, b);
    if (order)
        return order;
    return a->series != b->series ? (a->series > b->series) - (a->series < b->series)
                                  : (a->index > b->index) - (a->index < b->index);
}

// Lists all such commits, sorted by id, then by series, then by change.
static struct held *all_held(size_t *count, const struct series_history *all, size_t series)
{
    struct held *list = NULL;
    size_t used = 0, room = 0;
    for (size_t i = 0; i < series; i++) {
        for (size_t k = 0; k < all[i].change_count; k++) {
            const struct history_change *c = &all[i].changes[k];
            const char *word = c->held;
            for (size_t length; *word; word += length + strspn(word + length, " ")) {
                length = strcspn(word, " ");
                list = xgrow(list, used, &room, sizeof(*list));
                list[used++] =
                    (struct held){word, length, i, k,
                                  strncmp(word, c->at.id, length) == 0 && c->at.id[length] == '\0'};
            }
        }
    }
    if (used)
        qsort(list, used, sizeof(*list), by_id);
    *count = used;
    return list;
}

// Finds the cause of the changes at one commit, given by `held`. Of a series the first such change
// counts.
static void attribute_commit(struct series_history *all, size_t count, const size_t *devices,
                             const struct held *held, size_t held_count)
{
    struct attribution_series *input = xcalloc(count, sizeof(*input));
    enum attribution *output = xcalloc(count, sizeof(*output));
    for (size_t i = 0; i < count; i++)
        input[i] = (struct attribution_series){.device = devices[i],
                                               .bound = all[i].newest.bound,
                                               .code_known = all[i].newest.code != 0};
    for (size_t i = 0; i < held_count; i++) {
        struct attribution_series *of = &input[held[i].series];
        const struct history_change *c = &all[held[i].series].changes[held[i].index];
        if (of->changed)
            continue;
        of->changed = true;
        of->size = c->change.size.value;
        of->code_changed = c->code_changed;
        of->model_changed = c->model_changed;
    }
    attribution_find(output, input, count);
    for (size_t i = 0; i < held_count; i++) {
        struct history_change *c = &all[held[i].series].changes[held[i].index];
        const enum attribution found = output[held[i].series];
        if (!held[i].likely || found == ATTRIBUTION_NONE || found == ATTRIBUTION_KERNEL)
            continue;
        c->shared = true;
        if (c->attribution != ATTRIBUTION_BREAK)
            c->attribution = found;
    }
    free(input);
    free(output);
}

void history_attribute(struct series_history *all, size_t count)
{
    size_t held_count;
    struct held *held = all_held(&held_count, all, count);
    size_t *devices = xcalloc(count, sizeof(*devices));
    for (size_t i = 0; i < count; i++)
        devices[i] = device_number(all, i);
    for (size_t first = 0, end; first < held_count; first = end) {
        size_t likely = 0;
        for (end = first; end < held_count && compare_ids(&held[first], &held[end]) == 0; end++)
            likely += held[end].likely;
        if (likely >= CONTROLS_FEWEST)
            attribute_commit(all, count, devices, held + first, end - first);
    }
    free(devices);
    free(held);
}

// ---- the points of a chart: settled ones are thinned once, later ones are all shown ----

static int add_chart_point(struct chart_point *out, struct store *store,
                           const struct stored_point *p, size_t index, struct error *err)
{
    *out = (struct chart_point){.index = index,
                                .time_s = p->time_s,
                                .time_ns = p->time_ns,
                                .predicted_ns = p->predicted_ns};
    memcpy(out->commit, p->commit, sizeof(out->commit));
    return store_half_width(&out->half_ns, store, p->measurement, err);
}

// Sets kept->chart, in `keep`: the settled points of `stored`, thinned to about HISTORY_CHART.
static int history_kept_settle(struct history_kept *kept, struct store *store,
                               const struct stored_points *stored, struct arena *keep,
                               struct error *err)
{
    size_t settled = kept->judgement.settled, count;
    int status = 0;
    struct history h = {.points = xcalloc(settled, sizeof(*h.points)), .count = settled};
    for (size_t i = 0; i < settled; i++)
        h.points[i].time_ns = stored->points[i].time_ns;
    size_t *shown = series_thin(&h, HISTORY_CHART, &count);
    kept->chart = arena_alloc(keep, count * sizeof(*kept->chart));
    kept->chart_count = count;
    for (size_t i = 0; status == 0 && i < count; i++)
        status = add_chart_point(&kept->chart[i], store, &stored->points[shown[i]], shown[i], err);
    free(shown);
    free(h.points);
    return status;
}

int history_kept_chart(struct chart_point **out, size_t *count, struct store *store,
                       const struct series_entry *entry, const struct point_places *places,
                       const struct judgement *j, struct arena *arena, struct error *err)
{
    const struct series series = {entry->kernel, &entry->problem, entry->device_uuid};
    const struct history_query query = {
        .places = places, .until_key = j->newest_key, .from_s = j->settled_s};
    struct chart_point *settled = NULL;
    struct stored_points newer;
    size_t first = 0, used = 0;
    if (j->settled && store_load_chart(&settled, &used, store, &series, arena, err))
        return -1;
    if (store_points(&newer, store, &series, &query, arena, err))
        return -1;
    while (j->settled && first < newer.count && newer.points[first].measurement != j->settled_key)
        first++;
    first += j->settled > 0;
    if (first > newer.count || newer.count - first != j->points - j->settled)
        return error_set(err, "%s: points of %s changed while the site was written; write it again",
                         store_path(store), entry->kernel);
    struct chart_point *all = arena_alloc(arena, (used + newer.count - first) * sizeof(*all));
    if (used)
        memcpy(all, settled, used * sizeof(*all));
    for (size_t i = first; i < newer.count; i++) {
        if (add_chart_point(&all[used++], store, &newer.points[i], j->settled + i - first, err))
            return -1;
    }
    *out = all;
    *count = used;
    return 0;
}

// ---- earlier judgements and new points ----

// Joins the earlier judgement of a series with that of its new points, and decides what is kept. It
// judges everything anew if something other than new points has changed. Otherwise a change that
// was certain stays.

// Raised when this file would draw other conclusions from the same points.
enum { HISTORY_KEPT_VERSION = 9 };

// Makes a text that identifies what a judgement depends on: settings, the accepted epoch of the
// series, and which of its points count at other commits.
static void maker_of(char out[JUDGEMENT_MAKER_TEXT], const struct history_options *options,
                     const struct epoch *epoch, int64_t series)
{
    const uint64_t placed = point_places_hash(options->query.places, series);
    uint64_t hash = hash_bytes(HASH_START, &options->margin, sizeof(options->margin));
    hash = hash_bytes(hash, &options->confidence, sizeof(options->confidence));
    if (placed)
        hash = hash_bytes(hash, &placed, sizeof(placed));
    if (epoch) {
        hash = hash_text(hash_text(hash, epoch->series), epoch->commit);
        hash = hash_bytes(hash, &epoch->level, sizeof(epoch->level));
        hash = hash_bytes(hash, &epoch->when_s, sizeof(epoch->when_s));
    }
    snprintf(out, JUDGEMENT_MAKER_TEXT, "%d.%d/%016llx", CHANGEPOINT_VERSION, HISTORY_KEPT_VERSION,
             (unsigned long long)hash);
}

bool history_kept_believed(const struct judgement *judgement)
{
    char begin[JUDGEMENT_MAKER_TEXT];
    snprintf(begin, sizeof(begin), "%d.%d/", CHANGEPOINT_VERSION, HISTORY_KEPT_VERSION);
    return strncmp(judgement->maker, begin, strlen(begin)) == 0;
}

// How many of a series' `count` points are settled.
static size_t settled_of(size_t count, const struct series_entry *series)
{
    char problem[PROBLEM_TEXT];
    if (count < HISTORY_CONTEXT + 2 * HISTORY_BLOCK)
        return 0;
    problem_format(problem, &series->problem);
    uint64_t hash = hash_text(hash_text(HASH_START, series->kernel), problem);
    size_t offset = (size_t)(hash_text(hash, series->device_uuid) >> 20) % HISTORY_BLOCK;
    return (count - offset) / HISTORY_BLOCK * HISTORY_BLOCK + offset;
}

// ---- reading ----

static int read_points(struct stored_points *out, struct store *store,
                       const struct series_entry *entry, const struct history_query *query,
                       struct arena *arena, struct error *err)
{
    const struct series series = {entry->kernel, &entry->problem, entry->device_uuid};
    return store_points(out, store, &series, query, arena, err);
}

static void begin(struct series_history *out, const struct series_entry *entry,
                  const struct history_options *options)
{
    *out = (struct series_history){.series = entry};
    if (options->epochs)
        out->epoch =
            epoch_find(options->epochs, entry->kernel, &entry->problem, entry->device_uuid);
}

// Copies the series' part between a judgement and its history.
static void say(struct judgement *j, const struct series_history *s)
{
    j->against_model = s->against_model;
    j->common_mode = s->common_mode;
    j->drift = s->drift;
    j->told = s->told;
    j->sigma = s->sigma;
    j->correlation = s->correlation;
    j->since = s->since_known ? s->since : SIZE_MAX;
    j->level = s->level;
    j->level_se = s->level_se;
    j->creep = s->creep;
    j->changes = s->changes;
    j->change_count = s->change_count;
    j->breaks = s->breaks;
    j->break_count = s->break_count;
}

static void repeat(struct series_history *s, const struct judgement *j)
{
    s->against_model = j->against_model;
    s->common_mode = j->common_mode;
    s->drift = j->drift;
    s->told = j->told;
    s->sigma = j->sigma;
    s->correlation = j->correlation;
    s->since_known = j->since != SIZE_MAX;
    s->since = s->since_known ? j->since : 0;
    s->level = j->level;
    s->level_se = j->level_se;
    s->creep = j->creep;
    s->changes = j->changes;
    s->change_count = j->change_count;
    s->breaks = j->breaks;
    s->break_count = j->break_count;
}

int history_kept_find(struct series_history *out, struct history_kept *kept, bool *found,
                      struct store *store, const struct series_entry *entry,
                      const struct history_options *options, struct arena *scratch,
                      struct arena *keep, struct error *err)
{
    const struct series series = {entry->kernel, &entry->problem, entry->device_uuid};
    char maker[JUDGEMENT_MAKER_TEXT];
    *kept = (struct history_kept){0};
    *found = false;
    begin(out, entry, options);
    maker_of(maker, options, out->epoch, entry->key);
    if (store_load_judgement(&kept->judgement, store, &series, keep, err))
        return -1;
    bool ours = strcmp(kept->judgement.maker, maker) == 0;
    if (!ours)
        kept->judgement = (struct judgement){.marks = kept->judgement.marks};
    memcpy(kept->judgement.maker, maker, sizeof(maker));
    if (!ours || kept->judgement.changed)
        return 0;
    const struct history_query newest = {.places = options->query.places,
                                         .limit = HISTORY_RECENT,
                                         .until_key = kept->judgement.newest_key};
    if (kept->judgement.points && read_points(&out->stored, store, entry, &newest, scratch, err))
        return -1;
    if (kept->judgement.points && out->stored.count == 0)
        return 0; // it was removed without a mark, by another program
    if (out->stored.count)
        history_remember(out);
    repeat(out, &kept->judgement);
    out->stored.count = kept->judgement.points;
    *found = true;
    return 0;
}

// ---- judging ----

// Makes a series of a stretch of points and values.
static struct series_history stretch(const struct series_history *s, size_t first, size_t end)
{
    struct series_history out = *s;
    out.stored.points += first;
    out.stored.count = end - first;
    out.values += first;
    out.changes = NULL;
    out.change_count = 0;
    out.breaks = NULL;
    out.break_count = 0;
    return out;
}

static bool is_known(const struct history_change *changes, size_t count,
                     const struct history_change *c)
{
    for (size_t i = 0; i < count; i++) {
        const struct history_change *k = &changes[i];
        if (k->change.latest >= c->change.earliest && k->change.earliest <= c->change.latest &&
            (k->change.size.value > 0) == (c->change.size.value > 0))
            return true;
    }
    return false;
}

// Joins the settled changes before `seam` with those of the newer points, the first of which has
// the index `base`.
static void join(struct series_history *out, const struct history_change *settled,
                 size_t settled_count, const struct series_history *newer, size_t base, size_t seam,
                 struct arena *keep)
{
    struct history_change *all =
        arena_alloc(keep, (settled_count + newer->change_count) * sizeof(*all));
    size_t count = 0, before;
    for (size_t i = 0; i < settled_count; i++) {
        if (settled[i].change.index < seam)
            all[count++] = settled[i];
    }
    before = count;
    for (size_t i = 0; i < newer->change_count; i++) {
        struct history_change c = newer->changes[i];
        c.change.index += base;
        c.change.earliest += base;
        c.change.latest += base;
        if (c.change.index >= seam && !is_known(all, before, &c))
            all[count++] = c;
    }
    out->changes = all;
    out->change_count = count;
}

// Joins breaks. A break lies between two points: those up to `base` are known, later ones come from
// the newer points.
static void join_breaks(struct series_history *out, const struct history_break *settled,
                        size_t settled_count, const struct series_history *newer, size_t base,
                        struct arena *keep)
{
    struct history_break *all =
        arena_alloc(keep, (settled_count + newer->break_count) * sizeof(*all));
    size_t count = 0;
    for (size_t i = 0; i < settled_count && settled[i].index <= base; i++)
        all[count++] = settled[i];
    for (size_t i = 0; i < newer->break_count; i++) {
        all[count] = newer->breaks[i];
        all[count++].index += base;
    }
    out->breaks = all;
    out->break_count = count;
}

// The present index of a change's commit, because points may have been added before it. SIZE_MAX:
// it is not there.
static size_t place_now(const struct series_history *s, const struct history_change *c, size_t base)
{
    const size_t was = c->change.index - base;
    size_t at = 0;
    if (c->change.index >= base && was < s->stored.count &&
        strcmp(s->stored.points[was].commit, c->at.id) == 0)
        return was;
    while (at < s->stored.count && strcmp(s->stored.points[at].commit, c->at.id) != 0)
        at++;
    return at < s->stored.count ? at : SIZE_MAX;
}

// Collects earlier changes among the points from `base` on that are still there.
static size_t found_before(struct change *out, const struct series_history *s,
                           const struct judgement *j, size_t base)
{
    size_t count = 0;
    for (size_t i = 0; i < j->change_count; i++) {
        struct change c = j->changes[i].change;
        const size_t at = place_now(s, &j->changes[i], base);
        const size_t before = c.index - c.earliest, behind = c.latest - c.index;
        if (at == SIZE_MAX || at <= before || at + behind >= s->stored.count)
            continue;
        c.earliest = at - before;
        c.latest = at + behind;
        c.index = at;
        out[count++] = c;
    }
    return count;
}

// Judges a series all of whose points were read. Changes that were reported for a series that is
// not settled stay as long as the points support them.
static void judge_whole(struct series_history *s, const struct judgement *j, size_t settled,
                        const struct history_options *options, struct arena *keep)
{
    if (settled == 0) {
        struct change *before = xcalloc(j->change_count + 1, sizeof(*before));
        history_find(s, before, found_before(before, s, j, 0), changepoints_more, keep);
        free(before);
    } else {
        struct series_history older = stretch(s, 0, settled);
        struct series_history newer = stretch(s, settled - HISTORY_CONTEXT, s->stored.count);
        history_find(&older, NULL, 0, changepoints_more, keep);
        history_find(&newer, NULL, 0, changepoints_more, keep);
        s->sigma = older.sigma;
        s->correlation = older.correlation;
        s->drift = older.drift;
        join(s, older.changes, older.change_count, &newer, settled - HISTORY_CONTEXT,
             settled - HISTORY_CONTEXT / 2, keep);
        join_breaks(s, older.breaks, older.break_count, &newer, settled - HISTORY_CONTEXT, keep);
        tell_joined(s, newer.told.pattern);
    }
    history_accepted(s);
    history_recent(s, s->values, 0, s->stored.count, options);
}

static int judge_anew(struct series_history *s, struct history_kept *kept, struct store *store,
                      const struct control_shifts *common, const struct history_options *options,
                      int64_t newest_key, struct arena *scratch, struct arena *keep,
                      struct error *err)
{
    struct judgement *j = &kept->judgement;
    struct history_query query = options->query;
    query.until_key = newest_key;
    if (read_points(&s->stored, store, s->series, &query, scratch, err))
        return -1;
    s->against_model = history_predicted(&s->stored);
    history_values(s, common, scratch);
    j->points = s->stored.count;
    j->settled = settled_of(s->stored.count, s->series);
    j->settled_s = j->settled_key = j->context_s = 0;
    j->settled_marks = j->marks;
    if (s->stored.count == 0)
        return 0;
    history_remember(s);
    judge_whole(s, j, j->settled, options, keep);
    if (j->settled == 0 || !options->keeps)
        return 0;
    j->settled_s = s->stored.points[j->settled - 1].time_s;
    j->settled_key = s->stored.points[j->settled - 1].measurement;
    j->context_s = s->stored.points[j->settled - HISTORY_CONTEXT].time_s;
    return history_kept_settle(kept, store, &s->stored, keep, err);
}

// Reads the points after the settled ones, with the context before them. False: the settled part is
// no longer valid, or must grow.
static bool newer_points(struct stored_points *out, const struct judgement *j,
                         const struct series_entry *entry)
{
    size_t before = 0;
    while (before < out->count && out->points[before].measurement != j->settled_key) {
        if (out->points[before++].measurement > j->newest_key)
            return false;
    }
    before++; // includes the last settled point
    if (before > out->count || before < HISTORY_CONTEXT)
        return false;
    out->points += before - HISTORY_CONTEXT;
    out->count -= before - HISTORY_CONTEXT;
    return settled_of(j->settled + out->count - HISTORY_CONTEXT, entry) == j->settled;
}

// Whether the beginning of the accepted state must be looked for among all points, because the
// epoch's commit was measured only now, or not yet.
static bool begins_anew(const struct series_history *s, const struct judgement *j)
{
    if (!s->epoch)
        return false;
    for (size_t i = 0; i < s->stored.count; i++) {
        if (s->stored.points[i].measurement > j->newest_key &&
            strcmp(s->stored.points[i].commit, s->epoch->commit) == 0)
            return true;
    }
    return j->since == SIZE_MAX;
}

// Computes the level of an accepted state that begins where it did; new points may change the
// level.
static void accept_newer(struct series_history *s, const struct judgement *j, size_t base)
{
    s->since_known = true;
    s->since = j->since;
    s->level = j->level;
    s->level_se = j->level_se;
    if (s->since < base)
        return;
    struct series_history tail = stretch(s, 0, s->stored.count);
    tail.changes = xcalloc(s->change_count + 1, sizeof(*tail.changes));
    for (size_t i = 0; i < s->change_count; i++) {
        if (s->changes[i].change.index < base)
            continue;
        tail.changes[tail.change_count] = s->changes[i];
        tail.changes[tail.change_count++].change.index -= base;
    }
    history_accepted(&tail);
    free(tail.changes);
    s->since = tail.since + base;
    s->level = tail.level;
    s->level_se = tail.level_se;
}

static int judge_newer(struct series_history *s, struct history_kept *kept, bool *done,
                       struct store *store, const struct control_shifts *common,
                       const struct history_options *options, int64_t newest_key,
                       struct arena *scratch, struct arena *keep, struct error *err)
{
    struct judgement *j = &kept->judgement;
    const struct history_query query = {
        .places = options->query.places, .until_key = newest_key, .from_s = j->context_s};
    *done = false;
    if (j->settled == 0 || (j->changed && j->changed_s <= j->settled_s))
        return 0;
    if (read_points(&s->stored, store, s->series, &query, scratch, err))
        return -1;
    if (!newer_points(&s->stored, j, s->series) || begins_anew(s, j) ||
        (j->against_model && !history_predicted(&s->stored)))
        return 0;
    size_t base = j->settled - HISTORY_CONTEXT;
    s->against_model = j->against_model;
    s->drift = j->drift;
    s->sigma = j->sigma;
    s->correlation = j->correlation;
    history_remember(s);
    history_values(s, common, scratch);
    struct series_history newer = stretch(s, 0, s->stored.count);
    struct change *before = xcalloc(j->change_count + 1, sizeof(*before));
    history_find(&newer, before, found_before(before, s, j, base), changepoints_again, keep);
    free(before);
    join(s, j->changes, j->change_count, &newer, base, j->settled - HISTORY_CONTEXT / 2, keep);
    join_breaks(s, j->breaks, j->break_count, &newer, base, keep);
    // Creep over all points is only tested when more of them settle.
    s->told = j->told;
    s->told.pattern = newer.told.pattern;
    accept_newer(s, j, base);
    history_recent(s, s->values, base, s->stored.count, options);
    s->stored.count += base;
    j->points = s->stored.count;
    *done = true;
    return 0;
}

int history_kept_judge(struct series_history *out, struct history_kept *kept, struct store *store,
                       const struct series_entry *entry, const struct control_shifts *common,
                       const struct history_options *options, int64_t newest_key,
                       struct arena *scratch, struct arena *keep, struct error *err)
{
    bool done;
    begin(out, entry, options);
    if (judge_newer(out, kept, &done, store, common, options, newest_key, scratch, keep, err))
        return -1;
    if (!done) {
        begin(out, entry, options);
        if (judge_anew(out, kept, store, common, options, newest_key, scratch, keep, err))
            return -1;
    }
    kept->judgement.newest_key = newest_key;
    say(&kept->judgement, out);
    kept->fresh = true;
    return 0;
}
