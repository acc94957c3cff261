// SPDX-License-Identifier: Apache-2.0
//
// Collects what the site's overview needs from all series, then provides the details of series
// whose pages are written. reports/site/ makes the pages.
#include "ci/site/site_data.h"

#include "ci/history/events.h"
#include "ci/history/history.h"
#include "ci/history/load.h"
#include "model/base.h"
#include "model/predict/ws_pipeline.h"
#include "reports/charts/charts.h"
#include "reports/site/site.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t site_mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    return hash ^ (hash >> 29);
}

static size_t site_device_index(const struct site *site, const char *uuid)
{
    for (size_t i = 0; i < site->device_count; i++) {
        if (strcmp(site->devices[i].uuid, uuid) == 0)
            return i;
    }
    return SIZE_MAX;
}

static enum cause site_cause(enum attribution attribution)
{
    switch (attribution) {
    case ATTRIBUTION_KERNEL:
        return CAUSE_KERNEL;
    case ATTRIBUTION_MODEL:
        return CAUSE_MODEL;
    case ATTRIBUTION_NONE:
        return CAUSE_NONE;
    default:
        return CAUSE_ENVIRONMENT;
    }
}

// ---- the models' accuracy, run by run ----

// A figure in the form in which changes of level are looked for: a ratio is replaced by its
// logarithm, so that a change counts the same at any size.
static double level_of(const struct site_accuracy_point *p, enum site_accuracy_figure figure)
{
    double value = site_accuracy_value(p, figure);
    if (figure == SITE_MAPE)
        return value > 0 ? log(value) : NAN;
    return figure == SITE_BIAS ? log1p(value) : value;
}

// From this many runs on, the oldest ones drop out of the list as new ones come. Its beginning then
// changes each time, so the list is judged as a whole.
enum { MANY_RUNS = 500 };

// Raised whenever the same figures would get changes at other places.
enum { MOVES_VERSION = 1 };

static void find_moves(struct site_accuracy *a, struct arena *arena)
{
    double *values = xcalloc(a->count + 1, sizeof(*values));
    for (int f = 0; f < SITE_ACCURACY_FIGURES; f++) {
        struct changepoints found;
        for (size_t k = 0; k < a->count; k++)
            values[k] = level_of(&a->points[k], (enum site_accuracy_figure)f);
        if (a->count < MANY_RUNS)
            changepoints_find(&found, values, a->count, NULL);
        else
            changepoints_again(&found, values, a->count, NULL, 0);
        size_t *at = arena_alloc(arena, found.count * sizeof(*at));
        for (size_t k = 0; k < found.count; k++)
            at[k] = found.changes[k].index;
        a->changes[f] = (struct site_accuracy_changes){at, found.count};
        changepoints_free(&found);
    }
    free(values);
}

// Each model's figures are judged by a thread that is free.
struct judging {
    struct site_data *data;
    struct arena arena; // for what this thread found
    atomic_size_t *next;
};

static void judge_some(void *context)
{
    struct judging *j = context;
    size_t i;
    while ((i = atomic_fetch_add(j->next, 1)) < j->data->site.accuracy_count)
        find_moves(&j->data->figures[i], &j->arena);
}

static void judge(void *context)
{
    struct site_data *data = ((struct site_reading *)context)->data;
    struct judging all[TOGETHER_MOST];
    void *contexts[TOGETHER_MOST];
    const size_t count = together_threads(data->site.accuracy_count, 1);
    atomic_size_t next = 0;
    for (size_t i = 0; i < count; i++) {
        all[i] = (struct judging){.data = data, .next = &next};
        contexts[i] = &all[i];
    }
    together(judge_some, contexts, count);
    for (size_t i = 0; i < count; i++)
        arena_adopt(&data->set.arena, &all[i].arena);
}

static void site_fill_accuracy(struct site_data *data)
{
    struct arena *arena = &data->set.arena;
    const struct accuracy_history *accuracy = &data->accuracy;
    struct site_accuracy *all = arena_alloc(arena, accuracy->count * sizeof(*all));
    for (size_t i = 0; i < accuracy->count; i++) {
        const struct accuracy_series *s = &accuracy->series[i];
        const char *space = strchr(s->model, ' ');
        struct site_accuracy_point *points = arena_alloc(arena, s->count * sizeof(*points));
        for (size_t k = 0; k < s->count; k++) {
            const struct kept_accuracy *n = &s->runs[k];
            points[k] = (struct site_accuracy_point){.time_s = n->time_s,
                                                     .count = n->count,
                                                     .mape = n->mape,
                                                     .bias = n->bias,
                                                     .tau = n->tau,
                                                     .within = n->within};
            memcpy(points[k].commit, n->commit, sizeof(points[k].commit));
        }
        all[i] = (struct site_accuracy){
            .model = space ? arena_strndup(arena, s->model, (size_t)(space - s->model)) : s->model,
            .version = space ? space + 1 : "",
            .kernel = s->kernel,
            .dtype = s->dtype,
            .device = site_device_index(&data->site, s->device_uuid),
            .points = points,
            .count = s->count};
    }
    data->figures = all;
    data->site.accuracy = all;
    data->site.accuracy_judge = 1000 * CHANGEPOINT_VERSION + MOVES_VERSION;
    data->site.judge_accuracy = judge;
    data->site.accuracy_count = accuracy->count;
}

// ---- all runs, and what the newest runs tell about devices and broken series ----

enum { RUNS_READ = 20 }; // how many of the newest runs are read completely when they are needed

static int by_key(const void *left, const void *right)
{
    const struct site_place *a = left, *b = right;
    return a->key < b->key ? -1 : a->key > b->key;
}

// Lists the index of each series, sorted by the series' keys.
static struct site_place *all_places(struct site_data *data)
{
    size_t count = data->set.count;
    struct site_place *places = arena_alloc(&data->set.arena, (count + 1) * sizeof(*places));
    for (size_t i = 0; i < count; i++)
        places[i] = (struct site_place){data->set.series[i].series->key, i};
    if (count)
        qsort(places, count, sizeof(*places), by_key);
    return places;
}

static int site_run_times(double *times_ns, int64_t *codes, size_t run, void *context,
                          struct error *err)
{
    const struct site_reading *reading = context;
    const struct site_data *data = reading->data;
    const struct site *site = &data->site;
    struct arena arena = {0};
    struct run_time *times;
    size_t count, at = 0;
    int status = store_run_times(&times, &count, reading->store, site->runs[run].id, &arena, err);
    for (size_t i = 0; i < site->series_count; i++) {
        times_ns[i] = NAN;
        if (codes)
            codes[i] = 0;
    }
    for (size_t k = 0; status == 0 && k < count; k++) {
        while (at < site->series_count && data->places[at].key < times[k].series)
            at++;
        if (at == site->series_count || data->places[at].key != times[k].series)
            continue;
        times_ns[data->places[at].index] = times[k].time_ns;
        if (codes)
            codes[data->places[at].index] = times[k].code;
    }
    arena_free(&arena);
    return status;
}

static int site_run_whole(struct run *out, size_t run, void *context, struct error *err)
{
    const struct site_reading *reading = context;
    return store_load_run(out, reading->store, reading->data->site.runs[run].id, err);
}

// Whether a verdict tells more than the history: the series is broken, or it is slower or faster
// and its history is too short to show it.
static bool says_more(const struct verdict *v, const struct site_series *s)
{
    const bool moved = v->kind == VERDICT_SLOWER || v->kind == VERDICT_FASTER;
    return v->kind == VERDICT_BROKEN || (moved && s->kind == VERDICT_NEW);
}

static void mark_series(struct site_series *s, const struct verdict *v, const struct run *run,
                        struct arena *arena)
{
    s->kind = v->kind;
    s->cause = v->kind == VERDICT_BROKEN ? CAUSE_KERNEL : v->cause;
    if (v->kind != VERDICT_BROKEN)
        s->log_ratio = v->log_ratio;
    s->since = arena_strdup(arena, run->head.id);
    s->since_s = run->head.time_s;
    s->step = NAN;
    s->sentence = arena_strdup(arena, v->sentence);
    s->revision = site_mix(s->revision, (uint64_t)run->id);
}

// Marks the series for which the newest plain run has such a verdict, because only that run knows
// the present state.
static void mark_newest(struct site_series *series, struct site_data *data, const struct run *run)
{
    for (size_t k = 0; k < run->count; k++) {
        const struct result *r = &run->results[k];
        size_t device = site_device_index(&data->site, run->devices[r->device].uuid);
        for (size_t i = 0; i < data->site.series_count; i++) {
            struct site_series *s = &series[i];
            if (s->device == device && strcmp(s->kernel, r->kernel) == 0 &&
                problem_equal(&s->problem, &r->problem) && says_more(&r->verdict, s))
                mark_series(s, &r->verdict, run, &data->set.arena);
        }
    }
}

static void describe_devices(struct site_data *data, struct device *devices, const struct run *run)
{
    struct arena *arena = &data->set.arena;
    for (size_t d = 0; d < run->device_count; d++) {
        const struct device *seen = &run->devices[d];
        size_t i = site_device_index(&data->site, seen->uuid);
        if (i == SIZE_MAX || devices[i].kind[0])
            continue;
        data->health[i].void_run = run->self_test.void_run;
        devices[i].kind = arena_strdup(arena, seen->kind);
        devices[i].driver = arena_strdup(arena, seen->driver);
        devices[i].runtime = arena_strdup(arena, seen->runtime);
        devices[i].profile = arena_strdup(arena, seen->profile);
    }
}

// A number for the times of a finished run, which never change; 0: it is not finished. The key
// alone is not enough, because another store may use it for another run.
static uint64_t run_revision(const struct run_entry *e)
{
    uint64_t hash = (uint64_t)e->finished_s;
    for (const char *c = e->uid; *c; c++)
        hash = site_mix(hash, (unsigned char)*c);
    return e->finished_s ? hash | 1 : 0;
}

static void fill_run(struct site_run *out, const struct site_data *data, const struct run_entry *e)
{
    size_t device = site_device_index(&data->site, e->device_uuid);
    *out = (struct site_run){.id = e->id,
                             .kind = e->kind,
                             .started_s = e->started_s,
                             .finished_s = e->finished_s,
                             .conclusion = e->conclusion,
                             .headline = e->headline,
                             .summary = e->summary,
                             .author = e->author,
                             .commit_s = e->head_s,
                             .revision = run_revision(e),
                             .device = device == SIZE_MAX ? 0 : device};
    memcpy(out->base, e->base, sizeof(out->base));
    memcpy(out->head, e->head, sizeof(out->head));
}

// Reads from the newest run what only a whole run tells: the present devices, and the series that
// are broken.
static int read_run(struct site_data *data, struct device *devices, struct site_series *series,
                    const struct run_entry *e, bool *newest, struct error *err)
{
    struct run run = {0};
    if (store_load_run(&run, data->store, e->id, err))
        return -1;
    describe_devices(data, devices, &run);
    if (*newest && e->kind == RUN_MEASURE) {
        mark_newest(series, data, &run);
        *newest = false;
    }
    if (!data->site.repository)
        data->site.repository = arena_strdup(&data->set.arena, run.repository);
    run_free(&run);
    return 0;
}

static bool all_described(const struct site *site)
{
    for (size_t i = 0; i < site->device_count; i++) {
        if (!site->devices[i].kind[0])
            return false;
    }
    return true;
}

// Fills in data->site.runs, marks the series that are broken, and describes the devices.
static int site_fill_runs(struct site_data *data, struct device *devices,
                          struct site_series *series, struct error *err)
{
    struct run_entry *entries;
    struct arena *arena = &data->set.arena;
    size_t count;
    bool newest = true;
    data->places = all_places(data);
    if (store_list_runs(&entries, &count, data->store, STORE_ALL_RUNS, 0, arena, err))
        return -1;
    struct site_run *runs = arena_alloc(arena, count * sizeof(*runs));
    for (size_t i = 0; i < count; i++) {
        fill_run(&runs[i], data, &entries[i]);
        if (i < RUNS_READ && entries[i].finished_s && (newest || !all_described(&data->site)) &&
            read_run(data, devices, series, &entries[i], &newest, err))
            return -1;
    }
    data->site.runs = runs;
    data->site.run_count = count;
    data->site.made_s = count ? entries[0].started_s : 0;
    return 0;
}

static int by_series(const void *a, const void *b)
{
    const struct site_pair *x = a, *y = b;
    if (x->series != y->series)
        return x->series < y->series ? -1 : 1;
    return (x->key < y->key) - (x->key > y->key);
}

// Fills in data->site.pairs, the comparisons of two codes by pairs.
static int site_fill_pairs(struct site_data *data, struct error *err)
{
    struct link_pair *found;
    struct arena *arena = &data->set.arena;
    size_t count, at = 0, used = 0;
    if (store_newest_pairs(&found, &count, data->store, SITE_PAIRS, arena, err))
        return -1;
    struct site_pair *pairs = arena_alloc(arena, count * sizeof(*pairs));
    for (size_t i = 0; i < count; i++) {
        const struct link_pair *p = &found[i];
        while (at < data->site.series_count && data->places[at].key < p->series)
            at++;
        if (at == data->site.series_count || data->places[at].key != p->series)
            continue;
        pairs[used++] = (struct site_pair){
            data->places[at].index, p->key,   p->base_code, p->head_code, p->kind,
            p->log_ratio,           p->error, p->pairs};
    }
    qsort(pairs, used, sizeof(*pairs), by_series);
    data->site.pairs = pairs;
    data->site.pair_count = used;
    return 0;
}

// ---- one series for its page ----

enum { STAGES_SHOWN = 12 };

// ---- points -------------------------------------------------------------------------------------

static void fill_points(struct site_detail *out, const struct chart_point *points, size_t count,
                        struct arena *arena)
{
    double *lower = arena_alloc(arena, count * sizeof(*lower));
    double *upper = arena_alloc(arena, count * sizeof(*upper));
    size_t *at = arena_alloc(arena, count * sizeof(*at));
    out->history.points = arena_alloc(arena, count * sizeof(*out->history.points));
    out->history.count = count;
    out->at = at;
    for (size_t i = 0; i < count; i++) {
        const struct chart_point *p = &points[i];
        struct history_point *to = &out->history.points[i];
        *to = (struct history_point){
            .time_s = p->time_s, .time_ns = p->time_ns, .predicted_ns = p->predicted_ns};
        memcpy(to->commit, p->commit, sizeof(to->commit));
        at[i] = p->index;
        lower[i] = p->time_ns - p->half_ns; // NaN without samples; then there is no interval
        upper[i] = p->time_ns + p->half_ns;
    }
    out->lower_ns = lower;
    out->upper_ns = upper;
}

// Reads the newest points of a series, at most data->points. Other points are skipped before their
// samples are read.
static int read_points(struct chart_point **out, size_t *count, const struct site_reading *reading,
                       const struct series_history *s, struct arena *arena, struct error *err)
{
    const struct series_entry *e = s->series;
    const struct series series = {e->kernel, &e->problem, e->device_uuid};
    const struct history_query query = {.places = &reading->data->set.points,
                                        .limit = reading->data->points};
    struct stored_points stored;
    struct history all = {0};
    int status = 0;
    if (store_points(&stored, reading->store, &series, &query, arena, err))
        return -1;
    if (stored.count < s->stored.count)
        return error_set(err,
                         "%s: points of %s are gone while the site was written; write it again",
                         store_path(reading->store), e->kernel);
    stored.count = s->stored.count; // a run may have been saved meanwhile
    all.points = arena_alloc(arena, stored.count * sizeof(*all.points));
    all.count = stored.count;
    for (size_t i = 0; i < stored.count; i++)
        all.points[i].time_ns = stored.points[i].time_ns;
    size_t *shown = series_thin(&all, SERIES_CHART_POINTS, count);
    *out = arena_alloc(arena, *count * sizeof(**out));
    for (size_t i = 0; status == 0 && i < *count; i++) {
        const struct stored_point *p = &stored.points[shown[i]];
        struct chart_point *to = &(*out)[i];
        *to = (struct chart_point){.index = shown[i],
                                   .time_s = p->time_s,
                                   .time_ns = p->time_ns,
                                   .predicted_ns = p->predicted_ns};
        memcpy(to->commit, p->commit, sizeof(to->commit));
        status = store_half_width(&to->half_ns, reading->store, p->measurement, err);
    }
    free(shown);
    return status;
}

// ---- changes ------------------------------------------------------------------------------------

// The reason of a change, if its cause alone does not tell it.
static const char *why(const struct history_change *c)
{
    const char *name = attribution_name(c->attribution);
    if (c->what)
        return c->what;
    return strcmp(name, cause_name(site_cause(c->attribution))) == 0 ? NULL : name;
}

static void fill_levels(struct site_detail *out, const struct linked_history *linked,
                        const struct linked_levels *drawn, struct arena *arena)
{
    struct site_level *levels = arena_alloc(arena, drawn->step_count * sizeof(*levels));
    for (size_t i = 0; i < drawn->step_count; i++) {
        const struct commit_place *at = drawn->steps[i].at;
        const struct linked_level *l = &drawn->levels[drawn->steps[i].level];
        levels[i] = (struct site_level){.time_s = at->time_s, .level = l->level, .mark = l->mark};
        memcpy(levels[i].commit, at->id, sizeof(levels->commit));
    }
    out->linked = (struct site_levels){.levels = levels,
                                       .count = drawn->step_count,
                                       .total = drawn->total,
                                       .links = linked->links,
                                       .loops = linked->loops,
                                       .misclosure = linked->misclosure,
                                       .trouble = linked->trouble};
}

static void fill_linked(struct site_change *out, const struct linked_change *c)
{
    *out = (struct site_change){.linked = true,
                                .commits = 1,
                                .time_s = c->at.time_s,
                                .log_ratio = c->size,
                                .log_evidence = c->evidence,
                                .cause = CAUSE_KERNEL,
                                .sentence =
                                    c->misfit ? "does not fit its loops: measure it again" : NULL};
    memcpy(out->commit, c->at.id, sizeof(out->commit));
    memcpy(out->first_commit, c->base.id, sizeof(out->first_commit));
    memcpy(out->last_commit, c->at.id, sizeof(out->last_commit));
}

static void fill_breaks(struct site_detail *out, const struct series_history *s,
                        struct arena *arena)
{
    struct site_break *breaks = arena_alloc(arena, s->break_count * sizeof(*breaks));
    for (size_t i = 0; i < s->break_count; i++) {
        const struct history_break *b = &s->breaks[i];
        breaks[i] = (struct site_break){.index = b->index,
                                        .time_s = b->at.time_s,
                                        .what = b->what,
                                        .log_ratio = b->device ? b->size : interval_none};
        memcpy(breaks[i].commit, b->at.id, sizeof(b->at.id));
    }
    out->breaks = breaks;
    out->break_count = s->break_count;
}

static int by_time(const void *left, const void *right)
{
    const struct site_change *a = left, *b = right;
    return (a->time_s > b->time_s) - (a->time_s < b->time_s);
}

// Fills in a series' changes with the causes that were found from all series together: changes
// found by pairs, and changes of absolute times that no link shows.
static void fill_changes(struct site_detail *out, const struct series_history *s,
                         struct arena *arena)
{
    const size_t most = s->change_count + s->linked.change_count;
    struct site_change *changes = arena_alloc(arena, (most + 1) * sizeof(*changes));
    size_t count = 0;
    for (size_t i = 0; i < s->linked.change_count; i++)
        fill_linked(&changes[count++], &s->linked.changes[i]);
    for (size_t i = 0; i < s->change_count; i++) {
        const struct history_change *c = &s->changes[i];
        if (history_is_linked(&s->linked, c))
            continue;
        changes[count] = (struct site_change){.index = c->change.index,
                                              .commits = c->commits,
                                              .time_s = c->at.time_s,
                                              .log_ratio = c->change.size,
                                              .log_evidence = c->change.evidence,
                                              .cause = site_cause(c->attribution),
                                              .sentence = why(c)};
        memcpy(changes[count].commit, c->at.id, sizeof(c->at.id));
        memcpy(changes[count].first_commit, c->earliest.id, sizeof(c->earliest.id));
        memcpy(changes[count].last_commit, c->latest.id, sizeof(c->latest.id));
        count++;
    }
    qsort(changes, count, sizeof(*changes), by_time);
    out->changes = changes;
    out->change_count = count;
    fill_breaks(out, s, arena);
    if (s->epoch) {
        struct site_epoch *epoch = arena_alloc(arena, sizeof(*epoch));
        *epoch = (struct site_epoch){.index = s->since,
                                     .level = s->epoch->level,
                                     .reason = s->epoch->reason,
                                     .who = s->epoch->who,
                                     .when_s = s->epoch->when_s};
        memcpy(epoch->commit, s->epoch->commit, sizeof(epoch->commit));
        out->epochs = epoch;
        out->epoch_count = 1;
    }
}

// ---- the pipeline -------------------------------------------------------------------------------

// Makes the spans of one wave.
static void fill_spans(struct site_detail *out, const struct ws_pipeline *w,
                       const struct pipeline_events *e, struct arena *arena)
{
    const size_t shown = e->stages < STAGES_SHOWN ? (size_t)e->stages : STAGES_SHOWN;
    out->spans = chart_pipeline(&out->span_count, &w->pipeline, e, STAGES_SHOWN, arena);
    out->span_note =
        arena_printf(arena,
                     "One wave of %lld as the pipeline model (ws-pipeline) runs it: "
                     "tile %d x %d x %d, %d stages "
                     "in shared memory; the first %zu of %lld %s along K",
                     (long long)w->kernel.waves, w->tile_m, w->tile_n, w->tile_k, w->pipeline.depth,
                     shown, (long long)e->stages, plural((uint64_t)e->stages, "step", "steps"));
}

// Makes the pipeline's spans. A kernel without stages has no pipeline, and neither has a device
// without a shipped profile.
static void fill_pipeline(struct site_detail *out, const struct series_history *s,
                          const char *profile, struct arena *arena)
{
    struct error ignored;
    struct ws_pipeline w;
    struct pipeline_events events;
    const struct gpu *gpu = profile ? gpu_find(profile) : NULL;
    const struct predict_input input = {.gpu = gpu,
                                        .traits = &out->traits,
                                        .problem = &s->series->problem,
                                        .clock_hz = s->newest.clock_hz};
    if (!gpu || out->traits.stages < 2 || ws_pipeline(&w, &input))
        return;
    if (pipeline_simulate(&events, &w.pipeline, &ignored))
        return;
    fill_spans(out, &w, &events, arena);
    pipeline_events_free(&events);
}

// Fills in the points that a chart with this many points leaves out; site_settled_points() provides
// them. The settled points of a judgement stay; without a judgement any point may be a different
// one the next time.
static void fill_settled(struct site_detail *out, const struct site_data *data, size_t index)
{
    if (out->history.count >= out->total)
        return;
    out->settled = out->total;
    out->settled_revision = data->site.series[index].revision;
    if (data->set.judgements && data->set.judgements[index].settled) {
        const struct judgement *j = &data->set.judgements[index];
        out->settled = j->settled;
        out->settled_revision =
            site_mix(site_mix((uint64_t)j->settled_marks, j->settled), (uint64_t)j->settled_key);
        out->settled_revision =
            site_mix(out->settled_revision,
                     point_places_hash(&data->set.points, data->set.series[index].series->key));
    }
}

// Loads the oldest points of a series (site->load_points).
static int site_settled_points(struct site_point *points, size_t count, size_t index, void *context,
                               struct error *err)
{
    const struct site_reading *reading = context;
    const struct site_data *data = reading->data;
    const struct series_entry *e = data->set.series[index].series;
    const struct series series = {e->kernel, &e->problem, e->device_uuid};
    const struct history_query query = {.places = &data->set.points,
                                        .limit = data->points ? data->points : count,
                                        .oldest = data->points == 0};
    struct stored_points stored;
    struct arena arena = {0};
    int status = store_points(&stored, reading->store, &series, &query, &arena, err);
    if (status == 0 && stored.count < count)
        status =
            error_set(err, "%s: points of %s are gone while the site was written; write it again",
                      store_path(reading->store), e->kernel);
    for (size_t i = 0; status == 0 && i < count; i++)
        points[i] = (struct site_point){stored.points[i].run_id, stored.points[i].time_ns};
    arena_free(&arena);
    return status;
}

// Fills in the chart of a series that has only links. Its commits are those of its codes, and none
// has a time.
static void fill_untimed(struct site_detail *out, struct arena *arena)
{
    const struct site_levels *l = &out->linked;
    struct history_point *points = arena_alloc(arena, (l->count + 1) * sizeof(*points));
    for (size_t i = 0; i < l->count; i++) {
        points[i] = (struct history_point){.time_s = l->levels[i].time_s, .time_ns = NAN};
        memcpy(points[i].commit, l->levels[i].commit, sizeof(points[i].commit));
    }
    out->history = (struct history){.points = points, .count = l->count};
    out->at = NULL;
    out->lower_ns = out->upper_ns = NULL;
}

int site_detail_load(struct site_detail *out, size_t index, void *context, struct arena *arena,
                     struct error *err)
{
    const struct site_reading *reading = context;
    const struct site_data *data = reading->data;
    const struct series_history *s = &data->set.series[index];
    const struct series_entry *e = s->series;
    const struct series series = {e->kernel, &e->problem, e->device_uuid};
    struct site_detail detail = {.total = s->stored.count};
    struct chart_point *points = NULL;
    struct linked_levels levels;
    struct result result;
    size_t count = 0;
    bool found;
    int status = data->set.judgements
                     ? history_kept_chart(&points, &count, reading->store, e, &data->set.points,
                                          &data->set.judgements[index], arena, err)
                     : read_points(&points, &count, reading, s, arena, err);
    if (status || history_drawn_levels(&levels, &data->set, index, reading->store, arena, err) ||
        store_find_result(&result, &found, reading->store, s->newest.run_id, &series, arena, err))
        return -1;
    fill_points(&detail, points, count, arena);
    fill_settled(&detail, data, index);
    fill_levels(&detail, &s->linked, &levels, arena);
    if (detail.total == 0)
        fill_untimed(&detail, arena);
    fill_changes(&detail, s, arena);
    if (found) {
        detail.prediction = result.prediction;
        detail.traits = result.traits;
        fill_pipeline(&detail, s, data->site.devices[data->site.series[index].device].profile,
                      arena);
    }
    *out = detail;
    return 0;
}

enum {
    ACCURACY_SHOWN = 1000, // how many of the newest runs' accuracies are shown
};

static const char *site_sentence(const struct history_change *c, struct arena *arena)
{
    const char *direction = c->change.size.value > 0 ? "slower" : "faster";
    const char *why = c->what ? c->what : attribution_name(c->attribution);
    if (c->commits == 1)
        return arena_printf(arena, "last step: %s by %.2f %% at %.10s (%s)", direction,
                            fabs(100 * expm1(c->change.size.value)), c->at.id, why);
    return arena_printf(
        arena, "last step: %s by %.2f %% with one of %zu commits, %.10s to %.10s (%s)", direction,
        fabs(100 * expm1(c->change.size.value)), c->commits, c->earliest.id, c->latest.id, why);
}

// The linked change that last moved the series in that direction; NULL: there is none.
static const struct linked_change *linked_since(const struct series_history *s, double size)
{
    for (size_t i = s->linked.change_count; i-- > 0;) {
        const struct linked_change *c = &s->linked.changes[i];
        if ((c->size.value > 0) == (size > 0))
            return c;
    }
    return NULL;
}

// The change that brought the series to its present level relative to the accepted state; NULL:
// there is none.
static const struct history_change *change_since(const struct series_history *s)
{
    for (size_t i = s->change_count; i-- > 0;) {
        const struct history_change *c = &s->changes[i];
        if (c->change.index > s->since && (c->change.size.value > 0) == (s->creep.size.value > 0))
            return c;
    }
    return NULL;
}

// A stamp of a series. Everything that `load` provides depends on the points, on the commits at
// which they count, on the epochs and on the changes.
static uint64_t revision_of(const struct series_history *s, const struct point_places *places)
{
    uint64_t hash = site_mix(s->stored.count, (uint64_t)s->newest.run_id);
    hash = site_mix(hash, point_places_hash(places, s->series->key));
    for (size_t i = 0; i < s->linked.change_count; i++)
        hash = hash_text(hash, s->linked.changes[i].at.id);
    hash = site_mix(hash, s->since);
    hash = site_mix(hash, s->epoch ? (uint64_t)s->epoch->when_s : 0);
    for (size_t i = 0; i < s->change_count; i++)
        hash = site_mix(site_mix(hash, s->changes[i].change.index), s->changes[i].attribution);
    hash = site_mix(site_mix(hash, s->linked.links), s->linked.newest);
    // Such a break may appear and disappear.
    for (size_t i = 0; i < s->break_count && s->breaks[i].device; i++) {
        uint64_t size;
        memcpy(&size, &s->breaks[i].size.value, sizeof(size));
        hash = site_mix(hash, size);
        for (const char *c = s->breaks[i].what; *c; c++)
            hash = site_mix(hash, (unsigned char)*c);
    }
    return hash;
}

// An interval that is wider than this, as a log ratio from end to end, does not show "the same":
// three margins either way.
static const double widest = 0.06;

// The sum of the changes since the accepted state.
static double found_since(const struct series_history *s)
{
    double sum = 0;
    for (size_t i = 0; i < s->change_count; i++) {
        const struct history_change *c = &s->changes[i];
        if (c->change.index > s->since)
            sum += c->change.size.value;
    }
    return sum;
}

// The verdict of a series. Ten points that scatter may not show its present level, while the
// segmentation of all points is sure that it moved and the ten do not contradict that. Then it
// moved.
static enum verdict_kind kind_of(const struct series_history *s)
{
    const struct history_now now = history_now(s);
    if (now.linked && isfinite(now.size.low)) {
        if (now.moved)
            return now.size.value > 0 ? VERDICT_SLOWER : VERDICT_FASTER;
        return now.size.high - now.size.low > widest ? VERDICT_UNDECIDED : VERDICT_SAME;
    }
    double size = s->creep.size.value, found = found_since(s);
    if (s->stored.count == 0)
        return VERDICT_NOT_MEASURED; // only gates measured it, which compare two commits
    if (!isfinite(s->creep.size.low))
        return VERDICT_NEW;
    bool wide = s->creep.size.high - s->creep.size.low > widest;
    bool agree =
        fmin(fabs(size), fabs(found)) > history_defaults.margin && (size > 0) == (found > 0);
    if (!s->creep.moved && !(wide && agree))
        return wide ? VERDICT_UNDECIDED : VERDICT_SAME;
    return size > 0 ? VERDICT_SLOWER : VERDICT_FASTER;
}

// Adds the movements that are no change of level to a sentence; NULL if there is neither.
static const char *with_told(const char *sentence, const struct told *t, struct arena *arena)
{
    const char *before = sentence ? sentence : "", *gap = sentence ? "; " : "";
    if (t->creeps) {
        sentence = arena_printf(
            arena, "%s%sit creeps: %+.2f %% (%+.2f to %+.2f) from its first point to its last",
            before, gap, 100 * expm1(t->creep.value), 100 * expm1(t->creep.low),
            100 * expm1(t->creep.high));
        before = sentence, gap = "; ";
    }
    if (t->pattern.period)
        sentence = arena_printf(arena, "%s%sa pattern comes again every %zu points, by %.2f %%",
                                before, gap, t->pattern.period, 100 * expm1(t->pattern.swing));
    return sentence;
}

static void fill_since(struct site_series *out, const struct series_history *s, struct arena *arena)
{
    const struct history_now now = history_now(s);
    const struct linked_change *l = now.linked ? linked_since(s, now.size.value) : NULL;
    const struct history_change *c = now.linked ? NULL : change_since(s);
    out->sentence = "it moved, with no single step that stands out";
    if (l) {
        out->cause = CAUSE_KERNEL;
        out->since = l->at.id;
        out->since_s = l->at.time_s;
        out->step = l->size.value;
        out->sentence =
            arena_printf(arena, "last step: %s by %.2f %% at %.10s, side by side with %.10s",
                         l->size.value > 0 ? "slower" : "faster", fabs(100 * expm1(l->size.value)),
                         l->at.id, l->base.id);
    } else if (c) {
        out->cause = site_cause(c->attribution);
        out->since = c->at.id;
        out->since_s = c->at.time_s;
        out->step = c->change.size.value;
        out->sentence = site_sentence(c, arena);
    }
}

static void fill_series(struct site_series *out, const struct series_history *s, size_t device,
                        const struct point_places *places, struct arena *arena)
{
    *out = (struct site_series){.kernel = s->series->kernel,
                                .problem = s->series->problem,
                                .device = device,
                                .revision = revision_of(s, places),
                                .control = s->series->control,
                                .points = s->stored.count,
                                .newest_s = s->newest.time_s,
                                .time_ns = s->stored.count ? s->newest.time_ns : NAN,
                                .clock_hz = s->newest.clock_hz,
                                .predicted_ns = s->newest.predicted_ns,
                                .bound = s->newest.bound,
                                .kind = kind_of(s),
                                .log_ratio = interval_none,
                                .sigma = s->sigma,
                                .step = NAN};
    const struct history_now now = history_now(s);
    if ((s->stored.count || now.linked) && isfinite(now.size.low))
        out->log_ratio = now.size;
    memcpy(out->spark, s->recent, sizeof(out->spark));
    out->spark_count = s->recent_count;
    if (out->kind == VERDICT_NEW)
        out->sentence = arena_printf(arena, "%zu measured so far, too few to say", s->stored.count);
    if (out->kind == VERDICT_NOT_MEASURED)
        out->sentence = "no plain run has measured it: `plumb run` does";
    if (out->kind == VERDICT_UNDECIDED)
        out->sentence = "its newest times scatter too much to say";
    if (s->replaced_by)
        out->sentence =
            arena_printf(arena, "no more measured: %s took its device's place", s->replaced_by);
    if (out->kind == VERDICT_SLOWER || out->kind == VERDICT_FASTER)
        fill_since(out, s, arena);
    out->sentence = with_told(out->sentence, &s->told, arena);
}

// ---- devices ----

static struct device *find_devices(struct site_data *data)
{
    struct arena *arena = &data->set.arena;
    struct device *devices = arena_alloc(arena, (data->set.count + 1) * sizeof(*devices));
    data->site.devices = devices;
    data->health = arena_alloc(arena, (data->set.count + 1) * sizeof(*data->health));
    data->site.health = data->health;
    for (size_t i = 0; i < data->set.count; i++) {
        const struct series_entry *e = data->set.series[i].series;
        if (site_device_index(&data->site, e->device_uuid) == SIZE_MAX)
            devices[data->site.device_count++] =
                (struct device){"", e->device_uuid, e->device_name, "", "", ""};
    }
    return devices;
}

// Finds for each device whether its controls take as long as before.
static int ask_controls(struct site_data *data, double margin, struct error *err)
{
    struct arena *arena = &data->set.arena;
    struct sick_finding *found;
    size_t count;
    if (sick_find(&found, &count, data->store, margin, arena, err))
        return -1;
    for (size_t i = 0; i < count; i++) {
        const size_t device = site_device_index(&data->site, found[i].uuid);
        if (device == SIZE_MAX)
            continue;
        const bool sick = found[i].sick || found[i].out;
        data->health[device].is = sick ? SITE_SICK : found[i].known ? SITE_WELL : SITE_UNJUDGED;
        data->health[device].why = found[i].why;
    }
    return 0;
}

// ---- events ----

// Making the site stores no event; `plumb events` and `plumb run` do.
static int fill_events(struct site_data *data, const struct repository *repository,
                       struct error *err)
{
    struct arena *arena = &data->set.arena;
    struct events_asked asked = {0};
    if (events_sources(&asked.sources, data->store, repository, arena, err) ||
        events_load(&data->events, &data->set, data->store, &asked, arena, err))
        return -1;
    const struct event_list *list = &data->events.list;
    struct site_event *events = arena_alloc(arena, (list->count + 1) * sizeof(*events));
    for (size_t i = 0; i < list->count; i++) {
        const struct event *e = &list->events[i];
        events[i] =
            (struct site_event){.event = e, .sentence = event_sentence(e, &data->set, arena)};
        snprintf(events[i].slug, sizeof(events[i].slug), "%012llx",
                 (unsigned long long)(hash_text(HASH_START, e->name) >> 16));
    }
    data->site.events = events;
    data->site.event_count = list->count;
    return 0;
}

// ---- metrics ----

static void fill_metric(struct site_metric *out, const struct site_data *data,
                        const struct metric_series *s, struct arena *arena)
{
    double *values = arena_alloc(arena, s->count * sizeof(*values));
    const struct commit **commits = arena_alloc(arena, s->count * sizeof(const struct commit *));
    const size_t device = site_device_index(&data->site, s->of->device);
    for (size_t i = 0; i < s->count; i++) {
        values[i] = s->points[i].value;
        commits[i] = &data->metrics.line[s->points[i].at];
    }
    *out = (struct site_metric){.name = s->of->name,
                                .subject = s->of->subject,
                                .device = device == SIZE_MAX ? s->of->device
                                                             : data->site.devices[device].name,
                                .unit = s->of->unit,
                                .values = values,
                                .commits = commits,
                                .count = s->count,
                                .change_count = s->changes};
}

// Fills in a metric's changes, oldest first; the history has them newest first.
static void fill_metric_changes(struct site_metric *out, const struct site_data *data, size_t index,
                                struct arena *arena)
{
    const struct metric_history *h = &data->metrics;
    size_t *changes = arena_alloc(arena, (out->change_count + 1) * sizeof(*changes)), count = 0;
    for (size_t i = h->change_count; i-- > 0;) {
        if (h->changes[i].series != index)
            continue;
        size_t at = 0;
        while (h->series[index].points[at].at != h->changes[i].at)
            at++;
        changes[count++] = at;
    }
    out->changes = changes;
}

static void fill_metric_event(struct site_metric_event *out, const struct metric_history *h,
                              const struct metric_event *e, struct arena *arena)
{
    const char **texts = arena_alloc(arena, e->count * sizeof(const char *));
    const char **whys = arena_alloc(arena, e->count * sizeof(const char *));
    const struct metric_change *changes = &h->changes[e->first];
    size_t commits = 1;
    for (size_t i = 0; i < e->count; i++) {
        texts[i] = metric_change_text(h, &changes[i], arena);
        whys[i] = changes[i].why;
        commits = changes[i].commits > commits ? changes[i].commits : commits;
    }
    *out = (struct site_metric_event){.name = e->name,
                                      .sentence = metric_event_sentence(h, e, arena),
                                      .at = &h->line[changes[0].at],
                                      .commits = commits,
                                      .state = e->state,
                                      .open = metric_event_is_open(h, e),
                                      .count = e->count,
                                      .changes = texts,
                                      .whys = whys,
                                      .taken = e->taken};
}

static int fill_metrics(struct site_data *data, const struct repository *repository,
                        struct error *err)
{
    struct arena *arena = &data->set.arena;
    struct metric_history *h = &data->metrics;
    if (metric_history_load(h, data->store, repository, &data->set.epochs, arena, err))
        return -1;
    struct site_metric *metrics = arena_alloc(arena, (h->count + 1) * sizeof(*metrics));
    struct site_metric_event *events = arena_alloc(arena, (h->event_count + 1) * sizeof(*events));
    for (size_t i = 0; i < h->count; i++) {
        fill_metric(&metrics[i], data, &h->series[i], arena);
        fill_metric_changes(&metrics[i], data, i, arena);
    }
    for (size_t i = 0; i < h->event_count; i++)
        fill_metric_event(&events[i], h, &h->events[i], arena);
    data->site.metrics = metrics;
    data->site.metric_count = h->count;
    data->site.metric_events = events;
    data->site.metric_event_count = h->event_count;
    return 0;
}

static int load_series(struct site_data *out, const char *epochs_path,
                       const struct repository *repository, bool keeps, struct error *err)
{
    const struct history_wanted wanted = {
        .points = out->points, .keeps = keeps, .levels = LEVELS_DRAWN, .repository = repository};
    if (history_load(&out->set, out->store, &wanted, epochs_path, err))
        return -1;
    return accuracy_history_load(&out->accuracy, out->store, &wanted, ACCURACY_SHOWN, err);
}

// ---- threads ----

enum { WORTH_A_THREAD = 16 }; // series

// Opens a handle of the store for each thread; if no second one can be opened, one thread does all
// the work.
static void open_readings(struct site_data *data)
{
    struct arena *arena = &data->set.arena;
    const size_t most = together_threads(data->set.count, WORTH_A_THREAD);
    struct error alone;
    data->readings = arena_alloc(arena, most * sizeof(*data->readings));
    data->contexts = arena_alloc(arena, most * sizeof(*data->contexts));
    for (size_t i = 0; i < most; i++) {
        struct site_reading *r = &data->readings[i];
        *r = (struct site_reading){data, data->store};
        if (i && store_open_beside(&r->store, data->store, &alone))
            break;
        data->contexts[data->reading_count++] = r;
    }
    data->site.context = data->contexts[0];
    data->site.contexts = data->contexts;
    data->site.context_count = data->reading_count;
    data->site.together = together;
}

// ---- all ----

int site_data_load(struct site_data *out, struct store *store, const char *epochs_path,
                   const struct repository *repository, const struct policy *policy, size_t points,
                   bool keeps, struct error *err)
{
    out->points = points;
    out->store = store;
    if (load_series(out, epochs_path, repository, keeps, err))
        return -1;
    struct arena *arena = &out->set.arena;
    struct device *devices = find_devices(out);
    struct site_series *series = arena_alloc(arena, out->set.count * sizeof(*series));
    for (size_t i = 0; i < out->set.count; i++) {
        const struct series_history *s = &out->set.series[i];
        fill_series(&series[i], s, site_device_index(&out->site, s->series->device_uuid),
                    &out->set.points, arena);
        if (policy)
            series[i].owner = policy_kernel_owner(policy, s->series->kernel);
        if (out->set.judgements)
            series[i].revision =
                site_mix(series[i].revision, (uint64_t)out->set.judgements[i].marks);
    }
    out->site.series = series;
    out->site.series_count = out->set.count;
    if (site_fill_runs(out, devices, series, err) || site_fill_pairs(out, err) ||
        ask_controls(out, policy ? policy->sick : POLICY_SICK, err))
        return -1;
    if (fill_events(out, repository, err) || fill_metrics(out, repository, err))
        return -1;
    site_fill_accuracy(out);
    out->site.load = site_detail_load;
    out->site.load_points = site_settled_points;
    out->site.load_times = site_run_times;
    out->site.load_run = site_run_whole;
    open_readings(out);
    if (!out->site.repository)
        out->site.repository = "";
    out->site.tool_version = PLUMB_VERSION;
    return 0;
}

void site_data_free(struct site_data *data)
{
    for (size_t i = 1; i < data->reading_count; i++)
        store_close(data->readings[i].store);
    history_free(&data->set);
    accuracy_history_free(&data->accuracy);
}
