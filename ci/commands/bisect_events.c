// SPDX-License-Identifier: Apache-2.0
//
// A run of searches: first the links that do not fit their loops are measured once more, for an
// event may rest on one; then each event of the code that is still open and has several culprits is
// bisected on the series that shows it best, until the budget ends ([history] search in the
// policy). A search that its budget ended goes on the next time with what it has; one that came to
// an end is not made again.
#include "ci/commands/bisect_events.h"
#include "ci/commands/bisection.h"
#include "ci/gate/pipeline.h"
#include "ci/history/epochs_file.h"
#include "ci/history/events.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

struct searches {
    struct context *context;
    const struct history_set *set;
    struct events events;
    double confidence, deadline_s;
    size_t open, found; // events
};

static const char ended[] = "searched: ", unended[] = "not searched to the end: ";

static const struct context_device *device_of(const struct context *context, const char *uuid)
{
    for (size_t i = 0; i < context->device_count; i++) {
        const struct context_device *d = &context->devices[i];
        if (!d->away && strcmp(d->unit.uuid, uuid) == 0)
            return d;
    }
    return NULL;
}

// ---- links that do not fit ----

static int compare_again(struct searches *s, const struct series_history *series,
                         const struct linked_misfit *misfit, struct error *err)
{
    struct context *context = s->context;
    const struct series_entry *entry = series->series;
    struct built base, head;
    struct run run = {0};
    struct commit commits[2];
    const struct compared one = {device_of(context, entry->device_uuid), entry->kernel,
                                 &entry->problem, misfit->back};
    const struct comparison what = {&base, &head, &one, 1};
    if (!one.device || monotonic_s() > s->deadline_s)
        return 0;
    if (repository_commit(&commits[0], context->repository, misfit->base.id, &context->arena,
                          err) ||
        repository_commit(&commits[1], context->repository, misfit->at.id, &context->arena, err) ||
        built_make(&base, context, &(struct to_build){.commit = &commits[0]}, &context->arena,
                   err) ||
        built_make(&head, context, &(struct to_build){.commit = &commits[1]}, &context->arena,
                   err) ||
        pipeline_compare(&run, context, &what, 1, err))
        return -1;
    const struct verdict *v = &run.results[0].verdict;
    printf("%s: %.10s with %.10s did not fit; measured again: %s, %+.2f %%\n", entry->kernel,
           misfit->at.id, misfit->base.id, verdict_kind_name(v->kind),
           100 * expm1(v->log_ratio.value));
    run_free(&run);
    return 0;
}

static int measure_again(struct searches *s, struct error *err)
{
    for (size_t i = 0; i < s->set->count; i++) {
        const struct series_history *series = &s->set->series[i];
        for (size_t k = 0; k < series->linked.misfit_count; k++) {
            if (compare_again(s, series, &series->linked.misfits[k], err))
                return -1;
        }
    }
    return 0;
}

// ---- events ----

static bool is_searched(const struct event *e)
{
    bool found = false;
    for (size_t i = 0; i < e->entry_count; i++)
        found |= strncmp(e->entries[i].why, ended, strlen(ended)) == 0;
    return found;
}

static bool is_open(const struct event *e)
{
    return (e->state == EVENT_NEW || e->state == EVENT_CONFIRMED) &&
           e->cause == ATTRIBUTION_KERNEL && e->culprit_count > 1;
}

// The change with the most evidence on a device that is here.
static const struct event_change *best_of(const struct searches *s, const struct event *e)
{
    const struct event_change *best = NULL;
    for (size_t i = 0; i < e->count; i++) {
        const struct event_change *c = &e->changes[i];
        if (device_of(s->context, s->set->series[c->series].series->device_uuid) &&
            (!best || c->log_evidence > best->log_evidence))
            best = c;
    }
    return best;
}

// What came out, as an entry of the event; a culprit confirms it.
static int tell(struct searches *s, const struct event *e, const char *culprit, const char *why,
                struct error *err)
{
    struct stored_event *stored = s->events.stored[e - s->events.list.events];
    const struct event_entry entry = {culprit ? EVENT_CONFIRMED : e->state, (int64_t)time(NULL),
                                      "plumb " PLUMB_VERSION, why};
    printf("%s: %s\n", e->name, why);
    s->found += culprit != NULL;
    if (!stored || !stored->key)
        return 0;
    if (culprit)
        text_copy(stored->culprit, sizeof(stored->culprit), culprit);
    return store_save_event(s->context->store, stored, err) ||
                   store_add_event_entry(s->context->store, stored->key, &entry, err)
               ? -1
               : 0;
}

static const char *outcome(const char **culprit, const struct search *search,
                           const struct bisect_step *step, struct arena *arena)
{
    const struct commit *last = &search->commits[step->last];
    if (step->state == BISECT_IMPOSSIBLE)
        return arena_printf(arena, "%sboth ends run the same machine code", ended);
    if (step->state == BISECT_TEST)
        return arena_printf(arena, "%sthe budget ended; %.10s is the likeliest (%.0f %%)", unended,
                            last->id, 100 * step->probability);
    if (step->first != step->last || step->probability < search->confidence)
        return arena_printf(arena, "%s%.10s..%.10s cannot be told apart%s", ended,
                            search->commits[step->first].id, last->id,
                            step->inconsistent ? ", several may share it" : "");
    *culprit = last->id;
    return arena_printf(arena, "%sit began with %.10s (%.1f %% sure)", ended, last->id,
                        100 * step->probability);
}

static int search_event(struct searches *s, const struct event *e, struct error *err)
{
    const struct event_change *change = best_of(s, e);
    struct arena *arena = &s->context->arena;
    struct bisect_step step;
    const char *culprit = NULL, *why;
    struct error failed;
    s->open++;
    if (is_searched(e))
        return printf("%s: its search came to an end before; `plumb events show` says how\n",
                      e->name) < 0;
    if (!change)
        return tell(s, e, NULL, "not searched to the end: its device is not here", err);
    if (monotonic_s() > s->deadline_s)
        return tell(s, e, NULL, "not searched to the end: the budget ended before", err);
    const struct series_entry *entry = s->set->series[change->series].series;
    const struct commit *commits = s->events.timeline.commits;
    struct search search = {.context = s->context,
                            .good = arena_printf(arena, "%s^", commits[e->first].id),
                            .bad = commits[e->last].id,
                            .confidence = s->confidence,
                            .deadline_s = s->deadline_s,
                            .problem = entry->problem,
                            .device = device_of(s->context, entry->device_uuid)};
    text_copy(search.kernel, sizeof(search.kernel), entry->kernel);
    if (bisection_commits(&search, &failed) || bisection_begin(&search, &failed) ||
        bisection_search(&step, &search, &failed))
        why = arena_printf(arena, "%s%s", unended, failed.text);
    else
        why = outcome(&culprit, &search, &step, arena);
    bisect_free(&search.bisect);
    return tell(s, e, culprit, why, err);
}

// ---- all ----

static int load(struct searches *s, struct history_set *set, struct error *err)
{
    struct context *context = s->context;
    const struct history_wanted wanted = {.keeps = true};
    struct events_asked asked = {.now_s = (int64_t)time(NULL)};
    return history_load(set, context->store, &wanted, epochs_path(context, NULL), err) ||
                   events_sources(&asked.sources, context->store, context->repository,
                                  &context->arena, err) ||
                   events_load(&s->events, set, context->store, &asked, &context->arena, err)
               ? -1
               : 0;
}

static int search_all(struct searches *s, struct history_set *set, struct error *err)
{
    if (load(s, set, err) || measure_again(s, err))
        return -1;
    history_free(set);
    if (load(s, set, err))
        return -1;
    for (size_t i = 0; i < s->events.list.count; i++) {
        const struct event *e = &s->events.list.events[i];
        if (is_open(e) && search_event(s, e, err))
            return -1;
    }
    return 0;
}

int bisect_events(enum conclusion *out, struct context *context, const struct options *options,
                  double confidence, struct error *err)
{
    struct history_set set = {0};
    struct searches s = {.context = context, .set = &set, .confidence = confidence};
    if (context_open(context, options, err) || context_policy(context, "", err) ||
        context_store(context, STORE_WRITE, err) || context_builder(context, err) ||
        context_devices(context, err))
        return -1;
    s.deadline_s = monotonic_s() + context->policy.search_s;
    const int status = search_all(&s, &set, err);
    history_free(&set);
    if (status)
        return -1;
    printf("%zu %s of several commits, %zu found\n", s.open, plural(s.open, "event", "events"),
           s.found);
    *out = s.found == s.open ? CONCLUDE_OK : CONCLUDE_UNDECIDED;
    return 0;
}
