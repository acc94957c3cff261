// SPDX-License-Identifier: Apache-2.0
//
// All of one series, for its part of a kernel's page.
#include "ci/site/site_data.h"

#include "model/predict/parts/ws_pipeline.h"
#include "reports/charts/series_chart.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
        lower[i] = p->time_ns - p->half_ns; // NaN without samples: then there is no interval
        upper[i] = p->time_ns + p->half_ns;
    }
    out->lower_ns = lower;
    out->upper_ns = upper;
}

// The newest data->points of them, thinned before their samples are read.
static int read_points(struct chart_point **out, size_t *count, const struct site_reading *reading,
                       const struct series_history *s, struct arena *arena, struct error *err)
{
    const struct series_entry *e = s->series;
    const struct series series = {e->kernel, &e->problem, e->device_uuid};
    const struct history_query query = {.limit = reading->data->points};
    struct stored_points stored;
    struct history all = {0};
    int status = 0;
    if (store_points(&stored, reading->store, &series, &query, arena, err))
        return -1;
    if (stored.count < s->stored.count)
        return error_set(err,
                         "%s: points of %s are gone while the site was written; write it again",
                         store_path(reading->store), e->kernel);
    stored.count = s->stored.count; // a run may have been saved since
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

// What the cause alone does not say.
static const char *why(const struct history_change *c)
{
    const char *name = attribution_name(c->attribution);
    if (c->what)
        return c->what;
    return strcmp(name, cause_name(site_cause(c->attribution))) == 0 ? NULL : name;
}

// Steps and changes are both in order of commits; *next is the change that is looked for.
static bool is_change(const struct linked_history *linked, size_t *next,
                      const struct commit_place *at)
{
    const struct linked_change *changes = linked->changes;
    while (*next < linked->change_count && changes[*next].at.time_s < at->time_s)
        ++*next;
    return *next < linked->change_count && strcmp(changes[*next].at.id, at->id) == 0;
}

// As many levels as points: the extremes of each stretch, and, as they are, where levels are of
// another mark, both sides of a change, and the newest. True for each step that is shown.
static bool *shown_steps(const struct linked_history *linked, const struct linked_levels *all,
                         struct arena *arena)
{
    const struct linked_step *steps = all->steps;
    const size_t total = all->step_count;
    bool *shown = arena_alloc(arena, (total + 1) * sizeof(*shown));
    struct history drawn = {.points = arena_alloc(arena, (total + 1) * sizeof(*drawn.points)),
                            .count = total};
    size_t next = 0, count;
    for (size_t i = 0; i < total; i++)
        drawn.points[i].time_ns = exp(all->levels[steps[i].level].level.value);
    size_t *kept = series_thin(&drawn, SERIES_CHART_POINTS, &count);
    memset(shown, 0, (total + 1) * sizeof(*shown));
    for (size_t i = 0; i < count; i++)
        shown[kept[i]] = true;
    for (size_t i = 0; i < total; i++) {
        const bool other =
            i && all->levels[steps[i].level].mark != all->levels[steps[i - 1].level].mark;
        if (!is_change(linked, &next, steps[i].at) && !other && i + 1 < total)
            continue;
        shown[i] = true;
        shown[i ? i - 1 : 0] = true;
    }
    free(kept);
    return shown;
}

static void fill_levels(struct site_detail *out, const struct linked_history *linked,
                        const struct linked_levels *all, struct arena *arena)
{
    struct site_level *levels = arena_alloc(arena, all->step_count * sizeof(*levels));
    const bool *shown = shown_steps(linked, all, arena);
    size_t count = 0;
    for (size_t i = 0; i < all->step_count; i++) {
        const struct commit_place *at = all->steps[i].at;
        const struct linked_level *l = &all->levels[all->steps[i].level];
        if (!shown[i])
            continue;
        levels[count] =
            (struct site_level){.time_s = at->time_s, .level = l->level, .mark = l->mark};
        memcpy(levels[count++].commit, at->id, sizeof(levels->commit));
    }
    out->linked = (struct site_levels){.levels = levels,
                                       .count = count,
                                       .total = all->step_count,
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

// As they were attributed among all series; those found side by side, and those of absolute times
// that no link knows.
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

static void add_span(struct site_detail *out, struct chart_span *spans, const char *lane,
                     const char *label, double start_ns, double length_ns)
{
    spans[out->span_count++] = (struct chart_span){lane, label, start_ns, start_ns + length_ns};
}

// The first stages of one wave, and its end when that is all there is.
static void fill_spans(struct site_detail *out, const struct ws_pipeline *w,
                       const struct pipeline_events *e, struct arena *arena)
{
    struct chart_span *spans = arena_alloc(arena, (3 * STAGES_SHOWN + 1) * sizeof(*spans));
    size_t shown = e->stages < STAGES_SHOWN ? (size_t)e->stages : STAGES_SHOWN;
    for (size_t i = 0; i < shown; i++) {
        const char *stage = arena_printf(arena, "%zu", i);
        add_span(out, spans, "load A", stage, e->start_a[i], w->pipeline.load_a);
        add_span(out, spans, "load B", stage, e->start_b[i], w->pipeline.load_b);
        add_span(out, spans, "math", stage, e->start_math[i], w->pipeline.math);
    }
    if ((size_t)e->stages == shown)
        add_span(out, spans, "epilogue", "", e->epilogue_start, w->pipeline.epilogue);
    out->spans = spans;
    out->span_note =
        arena_printf(arena,
                     "One wave of %lld as the pipeline model (ws-pipeline) runs it: "
                     "tile %d x %d x %d, %d stages "
                     "in shared memory; the first %zu of %lld %s along K",
                     (long long)w->kernel.waves, w->tile_m, w->tile_n, w->tile_k, w->pipeline.depth,
                     shown, (long long)e->stages, plural((uint64_t)e->stages, "step", "steps"));
}

// Kernels that buffer no stages have no pipeline, devices without a shipped profile none we know.
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

// What a chart of this many points leaves out is served by site_settled_points(). The settled
// points of a judgement stay; without one any point may be another the next time.
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
    }
}

int site_settled_points(struct site_point *points, size_t count, size_t index, void *context,
                        struct error *err)
{
    const struct site_reading *reading = context;
    const struct site_data *data = reading->data;
    const struct series_entry *e = data->set.series[index].series;
    const struct series series = {e->kernel, &e->problem, e->device_uuid};
    const struct history_query query = {.limit = data->points ? data->points : count,
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

// Links alone: the chart's commits are those of its codes, and none has a time.
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
    int status = data->set.judgements ? history_kept_chart(&points, &count, reading->store, e,
                                                           &data->set.judgements[index], arena, err)
                                      : read_points(&points, &count, reading, s, arena, err);
    if (status || history_levels(&levels, &data->set, index, reading->store, arena, err) ||
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
