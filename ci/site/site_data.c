// SPDX-License-Identifier: Apache-2.0
//
// Collects what the site's overview needs from all series, then serves the detail of those whose
// pages are written. The pages themselves are made in reports/site/.
#include "ci/site/site_data.h"

#include "ci/settings/together.h"
#include "model/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ACCURACY_SHOWN = 1000, // newest runs whose accuracy is shown
};

enum cause site_cause(enum attribution attribution)
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

static const char *site_sentence(const struct history_change *c, struct arena *arena)
{
    const char *direction = c->change.size.value > 0 ? "slower" : "faster";
    const char *why = c->what ? c->what : attribution_name(c->attribution);
    const char *sure = c->newest ? ", not confirmed yet" : "";
    if (c->commits == 1)
        return arena_printf(arena, "last step: %s by %.2f %% at %.10s (%s%s)", direction,
                            fabs(100 * expm1(c->change.size.value)), c->at.id, why, sure);
    return arena_printf(arena,
                        "last step: %s by %.2f %% with one of %zu commits, %.10s to %.10s (%s%s)",
                        direction, fabs(100 * expm1(c->change.size.value)), c->commits,
                        c->earliest.id, c->latest.id, why, sure);
}

// The linked change that moved the series in that direction last; NULL: none did.
static const struct linked_change *linked_since(const struct series_history *s, double size)
{
    for (size_t i = s->linked.change_count; i-- > 0;) {
        const struct linked_change *c = &s->linked.changes[i];
        if ((c->size.value > 0) == (size > 0))
            return c;
    }
    return NULL;
}

// The change that brought the series to where it is against the accepted state; NULL: none did.
static const struct history_change *change_since(const struct series_history *s)
{
    for (size_t i = s->change_count; i-- > 0;) {
        const struct history_change *c = &s->changes[i];
        if (c->change.index > s->since && (c->change.size.value > 0) == (s->creep.size.value > 0))
            return c;
    }
    return NULL;
}

uint64_t site_mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    return hash ^ (hash >> 29);
}

// All that `load` gives follows from the points, the epochs and the changes.
static uint64_t revision_of(const struct series_history *s)
{
    uint64_t hash = site_mix(s->stored.count, (uint64_t)s->newest.run_id);
    hash = site_mix(hash, s->since);
    hash = site_mix(hash, s->epoch ? (uint64_t)s->epoch->when_s : 0);
    for (size_t i = 0; i < s->change_count; i++)
        hash = site_mix(site_mix(hash, s->changes[i].change.index), s->changes[i].attribution);
    hash = site_mix(site_mix(hash, s->linked.links), s->linked.step_count);
    for (size_t i = 0; i < s->break_count && s->breaks[i].device; i++) { // may come and go
        uint64_t size;
        memcpy(&size, &s->breaks[i].size.value, sizeof(size));
        hash = site_mix(hash, size);
        for (const char *c = s->breaks[i].what; *c; c++)
            hash = site_mix(hash, (unsigned char)*c);
    }
    return hash;
}

// Beyond this many log ratios from end to end an interval does not say "the same": three margins
// either way.
static const double widest = 0.06;

// The sum of the confirmed changes since the accepted state.
static double found_since(const struct series_history *s)
{
    double sum = 0;
    for (size_t i = 0; i < s->change_count; i++) {
        const struct history_change *c = &s->changes[i];
        if (c->change.index > s->since && !c->newest)
            sum += c->change.size.value;
    }
    return sum;
}

// Ten scattered points may not say where a series is now while the segmentation of all of them is
// sure that it moved, and they do not contradict it: then it moved.
static enum verdict_kind kind_of(const struct series_history *s)
{
    const struct history_now now = history_now(s);
    if (now.linked && isfinite(now.size.low))
        return !now.moved ? VERDICT_SAME : now.size.value > 0 ? VERDICT_SLOWER : VERDICT_FASTER;
    double size = s->creep.size.value, found = found_since(s);
    if (s->stored.count == 0)
        return VERDICT_NOT_MEASURED; // known by gates alone, which compare two commits
    if (!isfinite(s->creep.size.low))
        return VERDICT_NEW;
    bool wide = s->creep.size.high - s->creep.size.low > widest;
    bool agree =
        fmin(fabs(size), fabs(found)) > history_defaults.margin && (size > 0) == (found > 0);
    if (!s->creep.moved && !(wide && agree))
        return wide ? VERDICT_UNDECIDED : VERDICT_SAME;
    return size > 0 ? VERDICT_SLOWER : VERDICT_FASTER;
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
                        struct arena *arena)
{
    *out = (struct site_series){.kernel = s->series->kernel,
                                .problem = s->series->problem,
                                .device = device,
                                .revision = revision_of(s),
                                .control = s->series->control,
                                .points = s->stored.count,
                                .newest_s = s->newest.time_s,
                                .time_ns = s->stored.count ? s->newest.time_ns : NAN,
                                .clock_hz = s->newest.clock_hz,
                                .predicted_ns = s->newest.predicted_ns,
                                .bound = s->newest.bound,
                                .kind = kind_of(s),
                                .log_ratio = interval_none,
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
    if (out->kind != VERDICT_SLOWER && out->kind != VERDICT_FASTER)
        return;
    fill_since(out, s, arena);
}

// ---- devices ----

size_t site_device_index(const struct site *site, const char *uuid)
{
    for (size_t i = 0; i < site->device_count; i++) {
        if (strcmp(site->devices[i].uuid, uuid) == 0)
            return i;
    }
    return SIZE_MAX;
}

static struct device *find_devices(struct site_data *data)
{
    struct arena *arena = &data->set.arena;
    struct device *devices = arena_alloc(arena, (data->set.count + 1) * sizeof(*devices));
    data->site.devices = devices;
    for (size_t i = 0; i < data->set.count; i++) {
        const struct series_entry *e = data->set.series[i].series;
        if (site_device_index(&data->site, e->device_uuid) == SIZE_MAX)
            devices[data->site.device_count++] =
                (struct device){"", e->device_uuid, e->device_name, "", "", ""};
    }
    return devices;
}

// ---- events ----

// Nothing is kept by looking: `plumb events` and a run do that.
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

static int load_series(struct site_data *out, const char *epochs_path,
                       const struct repository *repository, bool keeps, struct error *err)
{
    const struct history_wanted wanted = {.points = out->points,
                                          .keeps = keeps,
                                          .accuracy = keeps ? NULL : &out->accuracy,
                                          .repository = repository};
    if (history_load(&out->set, out->store, &wanted, epochs_path, err))
        return -1;
    return keeps ? accuracy_history_kept(&out->accuracy, out->store, ACCURACY_SHOWN, err) : 0;
}

// ---- threads ----

enum { WORTH_A_THREAD = 16 }; // series

// One handle of the store for each thread; where there is no second, one thread does all.
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
                   const struct repository *repository, size_t points, bool keeps,
                   struct error *err)
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
        fill_series(&series[i], s, site_device_index(&out->site, s->series->device_uuid), arena);
        if (out->set.judgements)
            series[i].revision =
                site_mix(series[i].revision, (uint64_t)out->set.judgements[i].marks);
    }
    out->site.series = series;
    out->site.series_count = out->set.count;
    if (site_fill_runs(out, devices, series, err))
        return -1;
    if (fill_events(out, repository, err))
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
