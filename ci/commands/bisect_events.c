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
#include <stdlib.h>
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

// All series whose links between the same two commits do not fit.
struct again {
    const char *base, *head;
    struct built builds[2];
    struct compared *series;
    size_t count;
};
struct agains {
    struct again *items;
    size_t count;
};

static struct again *again_of(struct agains *all, const struct linked_misfit *misfit,
                              struct arena *arena)
{
    for (size_t i = 0; i < all->count; i++) {
        if (!strcmp(all->items[i].base, misfit->base.id) &&
            !strcmp(all->items[i].head, misfit->at.id))
            return &all->items[i];
    }
    struct again *grown = arena_alloc(arena, (all->count + 1) * sizeof(*grown));
    if (all->count)
        memcpy(grown, all->items, all->count * sizeof(*grown));
    all->items = grown;
    grown[all->count] = (struct again){.base = misfit->base.id, .head = misfit->at.id};
    return &grown[all->count++];
}

static void collect(struct agains *out, const struct searches *s)
{
    struct arena *arena = &s->context->arena;
    for (size_t i = 0; i < s->set->count; i++) {
        const struct series_history *series = &s->set->series[i];
        const struct series_entry *entry = series->series;
        const struct context_device *device = device_of(s->context, entry->device_uuid);
        for (size_t k = 0; device && k < series->linked.misfit_count; k++) {
            const struct linked_misfit *misfit = &series->linked.misfits[k];
            struct again *again = again_of(out, misfit, arena);
            if (!again->series)
                again->series = arena_alloc(arena, s->set->count * sizeof(*again->series));
            again->series[again->count++] = (struct compared){
                device, entry->kernel, &entry->problem, misfit->back, GATE_FOR_VERDICT};
        }
    }
}

// *whole is false, and a line says why, where one of the two cannot be had any more.
static int build_again(bool *whole, struct again *again, struct context *context, struct error *err)
{
    const char *ids[2] = {again->base, again->head};
    struct error gone;
    *whole = true;
    for (int i = 0; i < 2 && *whole; i++) {
        struct commit commit;
        *whole =
            repository_commit(&commit, context->repository, ids[i], &context->arena, &gone) == 0;
        if (*whole && built_make(&again->builds[i], context, &(struct to_build){.commit = &commit},
                                 &context->arena, err))
            return -1;
        *whole &= again->builds[i].state == MEASURED_OK;
        if (!*whole)
            printf("%.10s with %.10s does not fit, and is not measured again: %.10s is gone or "
                   "builds no more\n",
                   again->head, again->base, ids[i]);
    }
    return 0;
}

static void tell_again(const struct run *run)
{
    for (size_t i = 0; i < run->count; i++) {
        const struct verdict *v = &run->results[i].verdict;
        char problem[PROBLEM_TEXT];
        problem_format(problem, &run->results[i].problem);
        printf("%s %s: %.10s with %.10s did not fit its loops; measured again: ",
               run->results[i].kernel, problem, run->head.id, run->base.id);
        if (isfinite(v->log_ratio.value))
            printf("%s, %+.2f %%\n", verdict_kind_name(v->kind), 100 * expm1(v->log_ratio.value));
        else
            printf("%s\n", verdict_kind_name(v->kind));
    }
}

// What was measured before stays beside it.
static int measure_again(struct searches *s, struct error *err)
{
    struct context *context = s->context;
    struct agains all = {0};
    size_t count = 0;
    collect(&all, s);
    if (all.count == 0)
        return 0;
    if (monotonic_s() >= s->deadline_s) {
        printf("%zu %s of commits whose links do not fit are left for the next time\n", all.count,
               plural(all.count, "pair", "pairs"));
        return 0;
    }
    struct comparison *what = arena_alloc(&context->arena, all.count * sizeof(*what));
    for (size_t i = 0; i < all.count; i++) {
        struct again *a = &all.items[i];
        bool whole;
        if (build_again(&whole, a, context, err))
            return -1;
        if (whole)
            what[count++] = (struct comparison){&a->builds[0], &a->builds[1], a->series, a->count};
    }
    struct run *runs = xcalloc(count + 1, sizeof(*runs));
    const int status = count ? pipeline_compare(runs, context, what, count, err) : 0;
    for (size_t i = 0; i < count; i++) {
        if (status == 0)
            tell_again(&runs[i]);
        run_free(&runs[i]);
    }
    free(runs);
    return status;
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
    const struct history_wanted wanted = {.keeps = true, .repository = context->repository};
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
