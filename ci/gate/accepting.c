// SPDX-License-Identifier: Apache-2.0
//
// Finds the epochs that came with a change, and the verdicts that they cover.
#include "ci/gate/accepting.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int accepting_epochs(struct epoch_list *out, const struct context *context, const char *commit,
                     struct arena *arena, struct error *err)
{
    char id[OBJECT_ID_TEXT];
    char *text = NULL;
    size_t size;
    *out = (struct epoch_list){0};
    if (repository_path_id(id, context->repository, commit, EPOCHS_PATH, err))
        return -1;
    if (!id[0])
        return 0;
    if (repository_read(&text, &size, context->repository, commit, EPOCHS_PATH, err))
        return -1;
    const char *label = arena_printf(arena, EPOCHS_PATH " at %.10s", commit);
    const int status = epoch_parse(out, text, size, label, arena, err);
    free(text);
    return status;
}

// The commits that the head has and the base has not.
static int read_commits(struct commit_list *out, const struct context *context,
                        const struct commit *base, const struct commit *head, struct arena *arena,
                        struct error *err)
{
    const struct commit_selection selection = {
        .range = arena_printf(arena, "%s..%s", base->id, head->id)};
    return repository_select(out, context->repository, &selection, arena, err);
}

// Compares whole ids: anybody can make a commit with the same first digits in seconds.
static bool names_one(const struct epoch *e, const struct commit_list *commits)
{
    for (size_t i = 0; i < commits->count; i++) {
        if (strcmp(commits->items[i].id, e->commit) == 0)
            return true;
    }
    return false;
}

int accepting_read(struct epoch_list *out, const struct context *context, const struct commit *base,
                   const struct commit *head, struct arena *arena, struct error *err)
{
    // A stranger's own line accepts nothing, nor does one in a base that is a stranger's too.
    const bool strangers = context_strangers(context, head->id);
    const bool by_base = context->policy.gate.accept_base || strangers;
    struct epoch_list before = {0}, now = {0};
    struct commit_list commits = {0};
    struct repository_trust trust;
    const char *file = base->id;
    repository_trusted(&trust, context->repository);
    if (strangers && context_strangers(context, base->id))
        file = trust.commit;
    if ((*file && accepting_epochs(&before, context, file, arena, err)) ||
        (by_base ? before.count && read_commits(&commits, context, base, head, arena, err)
                 : accepting_epochs(&now, context, head->id, arena, err)))
        return -1;
    const struct epoch_list *from = by_base ? &before : &now;
    struct epoch_list list = {.epochs =
                                  arena_alloc(arena, (from->count + 1) * sizeof(*list.epochs))};
    for (size_t i = 0; i < from->count; i++) {
        const struct epoch *e = &from->epochs[i];
        if (by_base ? names_one(e, &commits) : !epoch_known(&before, e))
            list.epochs[list.count++] = *e;
    }
    *out = list;
    return 0;
}

static bool is_gone(const struct result *r)
{
    return r->verdict.kind == VERDICT_BROKEN && r->head.state == MEASURED_MISSING;
}

static bool covers(const struct epoch *e, const struct result *r)
{
    const struct verdict *v = &r->verdict;
    const double most = e->level + log1p(v->margin) / 2;
    if (e->removed || is_gone(r))
        return e->removed && is_gone(r);
    if (!(e->level > 0) || !v->pairs)
        return false;
    return v->kind == VERDICT_SLOWER ? v->log_ratio.low <= most
                                     : v->kind == VERDICT_UNDECIDED && v->log_ratio.high <= most;
}

static const char *name_of(struct run *run, const struct result *r)
{
    char problem[PROBLEM_TEXT];
    problem_format(problem, &r->problem);
    return arena_printf(&run->arena, "%s %s ", r->kernel, problem);
}

// Makes the sentence of an accepted result: first what is accepted and by whom, then what the
// verdict was.
static void accept(struct run *run, struct result *r, const struct epoch *e)
{
    const char *name = name_of(run, r), *was = r->verdict.sentence;
    const char *size =
        e->removed ? "" : arena_printf(&run->arena, ", up to %+.2f %%", 100 * expm1(e->level));
    if (strncmp(was, name, strlen(name)) == 0)
        was += strlen(name);
    r->verdict.kind = VERDICT_ACCEPTED;
    r->verdict.sentence =
        arena_printf(&run->arena, "%saccepted in this change%s: %.200s (%.100s); it is %s", name,
                     size, e->reason, e->who, e->removed ? "gone" : was);
}

static void accept_removal(struct run *run, struct result *r)
{
    r->verdict.kind = VERDICT_ACCEPTED;
    r->verdict.cause = CAUSE_NONE;
    r->verdict.sentence = arena_printf(
        &run->arena, "%swas removed, as the policy allows (gate.removed)", name_of(run, r));
}

// The file grows at its end: the last that covers the series counts.
static void accept_covered(struct run *run, struct result *r, const struct epoch_list *epochs)
{
    for (size_t i = epochs->count; i > 0; i--) {
        const struct epoch *e = &epochs->epochs[i - 1];
        if (!covers(e, r) ||
            !epoch_matches(e, r->kernel, &r->problem, run->devices[r->device].uuid))
            continue;
        accept(run, r, e);
        return;
    }
}

void accepting_apply(struct run *run, const struct epoch_list *epochs,
                     const struct policy_gate *gate)
{
    for (size_t i = 0; i < run->count; i++) {
        struct result *r = &run->results[i];
        if (is_gone(r) && gate->removed_allowed)
            accept_removal(run, r);
        else
            accept_covered(run, r, epochs);
    }
}

void accepting_link(struct run *run, struct result *r, const struct commit *base,
                    const struct context *context)
{
    struct epoch_list epochs;
    struct error gone;
    if (context->repository && r->verdict.kind == VERDICT_SLOWER &&
        accepting_read(&epochs, context, base, &run->head, &run->arena, &gone) == 0)
        accept_covered(run, r, &epochs);
}
