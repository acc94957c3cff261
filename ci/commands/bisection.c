// SPDX-License-Identifier: Apache-2.0
//
// A bisection carried out: builds, duets against the good commit, and the state machine of
// model/gate/bisect.c between them. Every duet is a run in the store and a link for the history of
// the series; one that an earlier attempt made is not made again.
#include "ci/commands/bisection.h"
#include "ci/gate/pipeline.h"
#include "model/gate/gate.h"
#include "model/robust.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- what is searched ----

static void make_room(struct search *s, size_t count)
{
    struct arena *arena = &s->context->arena;
    s->count = count;
    s->commits = arena_alloc(arena, count * sizeof(*s->commits));
    s->built = arena_alloc(arena, count * sizeof(*s->built));
    s->said = arena_alloc(arena, count * sizeof(*s->said));
}

int bisection_commits(struct search *s, struct error *err)
{
    const struct repository *repository = s->context->repository;
    struct arena *arena = &s->context->arena;
    struct commit good, bad;
    struct commit_list list;
    if (repository_commit(&good, repository, s->good, arena, err) ||
        repository_commit(&bad, repository, s->bad ? s->bad : "HEAD", arena, err))
        return -1;
    const struct commit_selection selection = {
        .range = arena_printf(arena, "%s..%s", good.id, bad.id), .first_parent = true};
    if (repository_select(&list, repository, &selection, arena, err))
        return -1;
    if (list.count == 0 || strcmp(list.items[list.count - 1].id, bad.id) != 0)
        return error_set(err, "%.10s..%.10s: no commits between them; is --good older than --bad?",
                         good.id, bad.id);
    make_room(s, list.count + 1);
    s->commits[0] = good;
    memcpy(s->commits + 1, list.items, list.count * sizeof(*s->commits));
    return 0;
}

int bisection_toolchains(struct search *s, const char *const *names, size_t count,
                         struct error *err)
{
    struct arena *arena = &s->context->arena;
    make_room(s, count);
    s->toolchains = arena_alloc(arena, count * sizeof(*s->toolchains));
    for (size_t i = 0; i < count; i++) {
        if (repository_commit(&s->commits[i], s->context->repository, s->bad ? s->bad : "HEAD",
                              arena, err) ||
            context_toolchain(&s->toolchains[i], s->context, names[i], err))
            return -1;
    }
    return 0;
}

static const char *toolchain_name(const struct search *s, size_t i)
{
    const char *name = s->toolchains ? s->toolchains[i]->name : NULL;
    return name ? name : TOOLCHAIN_DEFAULT;
}

const char *bisection_name(const struct search *s, size_t i)
{
    return s->toolchains ? toolchain_name(s, i)
                         : arena_printf(&s->context->arena, "%.10s", s->commits[i].id);
}

struct to_build bisection_step(const struct search *s, size_t i)
{
    return (struct to_build){.commit = &s->commits[i],
                             .base = i > 0 && !s->toolchains ? &s->commits[0] : NULL,
                             .toolchain = s->toolchains ? s->toolchains[i] : NULL,
                             .may_lack = i > 0 && i + 1 < s->count};
}

static int build(const struct built **out, struct search *s, size_t i, struct error *err)
{
    struct arena *arena = &s->context->arena;
    assert(s->built && i < s->count);
    if (!s->built[i]) {
        struct built *built = arena_alloc(arena, sizeof(*built));
        const struct to_build what = bisection_step(s, i);
        if (built_make(built, s->context, &what, arena, err))
            return -1;
        s->built[i] = built;
    }
    *out = s->built[i];
    return 0;
}

static const struct built_kernel *kernel_of(const struct search *s, const struct built *built)
{
    return built->state == MEASURED_OK ? built_find(built, s->kernel, s->device->policy->kind)
                                       : NULL;
}

// The first device that the good commit has the kernel for; --device names another.
static int find_device(struct search *s, const struct built *good, struct error *err)
{
    for (size_t i = 0; i < s->context->device_count; i++) {
        s->device = &s->context->devices[i];
        if (kernel_of(s, good))
            return 0;
    }
    return error_set(
        err, "%s %s %s for a device that is here; choose another --good", bisection_name(s, 0),
        good->state == MEASURED_OK ? "has no kernel" : "does not build, so has no", s->kernel);
}

// ---- duets ----

static bool is_step(const struct search *s, size_t i, const char *commit, const char *toolchain)
{
    return strcmp(commit, s->commits[i].id) == 0 &&
           strcmp(toolchain[0] ? toolchain : TOOLCHAIN_DEFAULT, toolchain_name(s, i)) == 0;
}

// A duet of this step from an earlier attempt that was not asked for yet; oldest first.
static int stored_duet(bool *found, struct result *out, struct search *s, size_t i,
                       struct error *err)
{
    const struct series series = {s->kernel, &s->problem, s->device->unit.uuid};
    *found = false;
    for (size_t k = s->stored_count; k-- > 0 && !*found;) {
        const struct run_entry *e = &s->stored[k];
        if (s->used[k] || !e->finished_s || !is_step(s, 0, e->base, e->toolchain[ROLE_BASE]) ||
            !is_step(s, i, e->head, e->toolchain[ROLE_HEAD]))
            continue;
        if (store_find_result(out, found, s->context->store, e->id, &series, &s->context->arena,
                              err))
            return -1;
        s->used[k] = true;
    }
    return 0;
}

struct duet {
    bool usable;
    double mean, se;
};

static void say(struct search *s, size_t i, const struct duet *duet, const struct result *r)
{
    struct arena *arena = &s->context->arena;
    if (duet->usable)
        s->said[i] =
            arena_printf(arena, "%+.2f %% +- %.2f", 100 * expm1(duet->mean), 100 * duet->se);
    else
        s->said[i] = arena_printf(arena, "%s, passed over", measurement_state_name(r->head.state));
    progress_note(&s->context->progress, "%s against %s: %s", bisection_name(s, i),
                  bisection_name(s, 0), s->said[i]);
}

static int play(struct duet *out, struct search *s, size_t i, struct error *err)
{
    const struct built *good, *head;
    struct run run = {0};
    struct result stored, *r = &stored;
    bool found;
    int status = -1;
    if (stored_duet(&found, &stored, s, i, err))
        return -1;
    if (!found) {
        if (build(&good, s, 0, err) || build(&head, s, i, err))
            return -1;
        const struct compared series = {s->device, s->kernel, &s->problem, 0, GATE_FOR_VERDICT};
        const struct comparison what = {good, head, &series, 1};
        if (pipeline_compare(&run, s->context, &what, 1, err))
            goto done;
        r = &run.results[0];
    }
    *out = (struct duet){0};
    if (r->base.state != MEASURED_OK && r->base.state != MEASURED_NOT_TAKEN) {
        error_set(err, "the good end %s: %s %s; choose another", bisection_name(s, 0), s->kernel,
                  measurement_state_name(r->base.state));
        goto done;
    }
    out->usable = r->head.state == MEASURED_OK &&
                  gate_ratio(&out->mean, &out->se, &r->base, &r->head, &s->context->arena);
    say(s, i, out, r);
    status = 0;
done:
    run_free(&run);
    return status;
}

// ---- the search ----

// A commit without this kernel is passed over; one with the code of another is its node.
static int learn_code(bool *able, struct search *s, size_t i, struct error *err)
{
    const struct built *built;
    if (build(&built, s, i, err))
        return -1;
    const struct built_kernel *kernel = kernel_of(s, built);
    *able = kernel != NULL;
    if (kernel)
        bisect_set_code(&s->bisect, i, kernel->code);
    else {
        bisect_skip(&s->bisect, i);
        s->said[i] = built->state == MEASURED_OK ? "has no such kernel, passed over"
                                                 : "does not build, passed over";
        progress_note(&s->context->progress, "%s %s", bisection_name(s, i), s->said[i]);
    }
    return 0;
}

static int test(struct search *s, size_t i, struct error *err)
{
    struct duet duet;
    bool able = true;
    if (!s->bisect.commits[i].code) {
        if (learn_code(&able, s, i, err))
            return -1;
        if (able && bisect_knows_code(&s->bisect, i)) {
            s->said[i] = "the machine code of another";
            return 0; // which may have settled it
        }
    }
    if (!able)
        return 0;
    if (play(&duet, s, i, err))
        return -1;
    if (duet.usable)
        bisect_observe(&s->bisect, i, duet.mean, duet.se);
    else
        bisect_skip(&s->bisect, i);
    return 0;
}

// Nothing to search when both ends run one code.
static int same_code(bool *same, struct search *s, struct error *err)
{
    const struct built *good, *bad;
    if (build(&good, s, 0, err) || build(&bad, s, s->count - 1, err))
        return -1;
    const struct built_kernel *a = kernel_of(s, good), *b = kernel_of(s, bad);
    if (!b)
        return error_set(err, "the bad end %s %s: choose another", bisection_name(s, s->count - 1),
                         bad->state == MEASURED_OK ? "has no such kernel" : "does not build");
    *same = a && strcmp(a->code, b->code) == 0;
    return 0;
}

// Between fresh processes a build differs from itself (baselines/recorded/h200/README.md, "Other
// binaries"), on a shared host by more.
static double between_processes(const struct context_device *device)
{
    return strcmp(device->policy->kind, "cuda") == 0 ? 0.002 : 0.01;
}

int bisection_begin(struct search *s, struct error *err)
{
    struct context *context = s->context;
    const struct built *good;
    if (build(&good, s, 0, err) || (!s->device && find_device(s, good, err)) ||
        store_list_runs(&s->stored, &s->stored_count, context->store, RUN_BISECT, 0,
                        &context->arena, err))
        return -1;
    s->used = arena_alloc(&context->arena, s->stored_count * sizeof(*s->used));
    return 0;
}

int bisection_search(struct bisect_step *out, struct search *s, struct error *err)
{
    enum { DUETS_MOST = 400 };
    struct duet ends;
    bool able, same = false;
    if (same_code(&same, s, err))
        return -1;
    if (same) {
        *out = (struct bisect_step){.state = BISECT_IMPOSSIBLE};
        return 0;
    }
    if (play(&ends, s, s->count - 1, err))
        return -1;
    if (!ends.usable)
        return error_set(err, "the bad end %s: %s: it cannot be compared; choose another",
                         bisection_name(s, s->count - 1), s->said[s->count - 1]);
    const struct bisect_options options = {.confidence = s->confidence,
                                           .effect = ends.mean,
                                           .effect_se = ends.se,
                                           .between_sd = between_processes(s->device),
                                           .expected_se = ends.se};
    if (bisect_start(&s->bisect, s->count, &options, err) || learn_code(&able, s, 0, err) ||
        learn_code(&able, s, s->count - 1, err))
        return -1;
    for (int i = 0; i < DUETS_MOST; i++) {
        *out = bisect_next(&s->bisect);
        if (out->state != BISECT_TEST || (s->deadline_s > 0 && monotonic_s() > s->deadline_s))
            return 0;
        if (test(s, out->commit, err))
            return -1;
    }
    return error_set(err,
                     "no commit stands out after %d duets; the effect of %+.2f %% is too small "
                     "for the noise here",
                     DUETS_MOST, 100 * expm1(ends.mean));
}
