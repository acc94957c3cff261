// SPDX-License-Identifier: Apache-2.0
//
// Puts the results of a gate's parts into one run, in the order of a whole gate's: by device of the
// policy, then by kernel.
#include "ci/gate/joining.h"
#include "ci/gate/pieces.h"
#include "model/gate/study.h"

#include <stdlib.h>
#include <string.h>

struct joining {
    struct run *run;
    struct context *context;
};

// ---- devices ----

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

// How far a run's devices have been found in the policy.
struct finding {
    size_t next;
    const struct policy_device *last;
    const struct device *first; // its first unit
    uint32_t units;             // of the last one
};

// A run's devices stand in the policy's order: another unit of the last one, else the next one of
// that kind, or of that name where the run had none.
static const struct policy_device *policy_device(struct finding *f, const struct policy *policy,
                                                 const struct device *unit)
{
    if (f->last && f->units < f->last->units && strcmp(f->first->kind, unit->kind) == 0 &&
        strcmp(f->first->name, unit->name) == 0) {
        f->units++;
        return f->last;
    }
    for (; f->next < policy->device_count; f->next++) {
        const struct policy_device *d = &policy->devices[f->next];
        if (strcmp(d->kind, unit->kind) == 0 &&
            (!begins(unit->uuid, "away:") || strcmp(unit->uuid + strlen("away:"), d->name) == 0)) {
            *f = (struct finding){f->next + 1, d, unit, 1};
            return d;
        }
    }
    return NULL;
}

// Where the unit stands among all; it is added when it is new.
static size_t place_device(struct joining *j, const struct device *unit,
                           const struct policy_device *named)
{
    struct context *context = j->context;
    size_t at = 0;
    while (at < context->device_count && (strcmp(context->devices[at].unit.uuid, unit->uuid) ||
                                          context->devices[at].policy != named))
        at++;
    if (at == context->device_count) {
        context->devices[context->device_count++] = (struct context_device){
            .away = begins(unit->uuid, "away:") || begins(unit->uuid, "static:"),
            .is_static = begins(unit->uuid, "static:"),
            .policy = named,
            .unit = *unit};
    }
    return at;
}

static int join_devices(struct joining *j, struct run *piece, struct error *err)
{
    struct finding found = {0};
    size_t *places = xcalloc(piece->device_count + 1, sizeof(*places));
    int status = 0;
    for (size_t i = 0; status == 0 && i < piece->device_count; i++) {
        const struct policy_device *named =
            policy_device(&found, &j->context->policy, &piece->devices[i]);
        if (named)
            places[i] = place_device(j, &piece->devices[i], named);
        else
            status = error_set(err, "%s: has no device for %.80s of a part",
                               j->context->policy.label, piece->devices[i].name);
    }
    for (size_t i = 0; status == 0 && i < piece->count; i++)
        piece->results[i].device = places[piece->results[i].device];
    free(places);
    return status;
}

// ---- the whole ----

static void join_results(struct joining *j, struct run *piece)
{
    struct run *run = j->run;
    memcpy(run->results + run->count, piece->results, piece->count * sizeof(*run->results));
    run->count += piece->count;
    for (int role = ROLE_BASE; role <= ROLE_HEAD; role++) {
        if (!run->unbuilt[role].reason)
            run->unbuilt[role] = piece->unbuilt[role];
    }
    if (piece->started_s < run->started_s)
        run->started_s = piece->started_s;
    arena_adopt(&run->arena, &piece->arena);
}

struct ordered {
    struct result result;
    size_t device, at; // of the policy; among the results
};

static int by_place(const void *left, const void *right)
{
    const struct ordered *a = left, *b = right;
    if (a->device != b->device)
        return a->device < b->device ? -1 : 1;
    const int kernels = strcmp(a->result.kernel, b->result.kernel);
    return kernels ? kernels : (a->at > b->at) - (a->at < b->at);
}

static void order_results(struct joining *j)
{
    struct run *run = j->run;
    struct ordered *all = xcalloc(run->count + 1, sizeof(*all));
    for (size_t i = 0; i < run->count; i++) {
        const struct policy_device *named = j->context->devices[run->results[i].device].policy;
        all[i] = (struct ordered){run->results[i], (size_t)(named - j->context->policy.devices), i};
    }
    qsort(all, run->count, sizeof(*all), by_place);
    for (size_t i = 0; i < run->count; i++)
        run->results[i] = all[i].result;
    free(all);
}

// Room for what all parts have together.
static void make_room(struct joining *j, const struct pieces *pieces)
{
    struct run *run = j->run;
    struct context *context = j->context;
    size_t results = 1, devices = 1;
    for (uint32_t i = 0; i < pieces->count; i++) {
        results += pieces->items[i].run.count;
        devices += pieces->items[i].run.device_count;
    }
    run->results = arena_alloc(&run->arena, results * sizeof(*run->results));
    run->devices = arena_alloc(&run->arena, devices * sizeof(*run->devices));
    context->devices = arena_alloc(&context->arena, devices * sizeof(*context->devices));
}

static int join_all(struct joining *j, struct pieces *pieces, struct error *err)
{
    struct run *run = j->run;
    struct self_test *tests = arena_alloc(&run->arena, pieces->count * sizeof(*tests));
    make_room(j, pieces);
    for (uint32_t i = 0; i < pieces->count; i++) {
        struct run *piece = &pieces->items[i].run;
        tests[i] = piece->self_test;
        if (join_devices(j, piece, err))
            return -1;
        if (pieces->items[i].uid[0])
            join_results(j, piece);
    }
    run->self_test = study_self_tests(tests, pieces->count, j->context->policy.gate.alpha);
    run->device_count = j->context->device_count;
    for (size_t i = 0; i < run->device_count; i++)
        run->devices[i] = j->context->devices[i].unit;
    order_results(j);
    return 0;
}

int joining_read(struct joined *out, struct run *run, struct context *context, const char *path,
                 struct error *err)
{
    const struct pieces_wanted wanted = {RUN_GATE,
                                         run->base.id,
                                         run->head.id,
                                         {run->toolchain[ROLE_BASE], run->toolchain[ROLE_HEAD]}};
    struct joining j = {run, context};
    struct joined joined = {0};
    struct pieces pieces;
    int status = pieces_read(&pieces, path, &wanted, err);
    if (status == 0) {
        joined.parts = pieces.count;
        joined.missing = pieces_missing(&pieces, &run->arena);
        run->policy = pieces_policy(&pieces, &run->arena);
        status =
            join_all(&j, &pieces, err) || pieces_stored(&joined.stored, context->store, run, err)
                ? -1
                : 0;
    }
    pieces_free(&pieces);
    if (status == 0)
        *out = joined;
    return status;
}
