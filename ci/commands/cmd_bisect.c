// SPDX-License-Identifier: Apache-2.0
//
// plumb bisect: finds the commit that made a series slower (or faster). It measures duets against
// the good commit until one commit is the culprit with the stated confidence. Each duet is a run in
// the store, so an interrupted bisection reuses the duets that it has (model/gate/bisect.c begins
// with the maths).

#include "ci/command.h"
#include "ci/commands/output.h"
#include "ci/gate/built.h"
#include "ci/gate/pipeline.h"
#include "ci/history/events.h"
#include "ci/history/load.h"
#include "ci/settings/context.h"
#include "ci/settings/epochs.h"
#include "ci/settings/progress.h"
#include "model/gate/bisect.h"
#include "model/gate/gate.h"
#include "model/robust.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// One bisection: what it searches, and its results so far.

// commits[0] is good and the last one is bad. They are commits along first parents, or one commit
// built by several toolchains.
struct search {
    struct context *context;
    const char *good, *bad; // revisions
    double confidence;
    bool json;
    double deadline_s; // in the time of monotonic_s(): nothing begins after it; 0: none
    char kernel[KERNEL_NAME_TEXT];
    struct problem problem;
    const struct context_device *device; // NULL: the first device that the good commit has the
                                         // kernel for
    struct commit *commits;              // the commit of each step
    const struct toolchain **toolchains; // the toolchain of each step; NULL: commits are searched
    size_t count;
    struct built **built;     // the build of each commit, NULL: not made yet
    struct run_entry *stored; // duets of earlier attempts, newest first
    size_t stored_count;
    bool *used;        // by stored run: it was used already
    const char **said; // for each commit its result, for the report
    struct bisect bisect;
};

// ---- one bisection ----

// Carries out a bisection. It builds commits, measures duets against the good commit, and steps the
// state machine of model/gate/bisect.c. Every duet is saved as a run and as a link for the history
// of the series. A duet of an earlier attempt is not measured again.

// ---- what is searched ----

static void make_room(struct search *s, size_t count)
{
    struct arena *arena = &s->context->arena;
    s->count = count;
    s->commits = arena_alloc(arena, count * sizeof(*s->commits));
    s->built = arena_alloc(arena, count * sizeof(*s->built));
    s->said = arena_alloc(arena, count * sizeof(*s->said));
}

// Prepares the search. Its steps are the commits from s->good to s->bad along first parents; or
// s->bad built by each named toolchain, in their order (after context_builder()). If the deadline
// comes before the end, it stops in the state BISECT_TEST. The caller calls
// bisect_free(&search->bisect).
static int bisection_commits(struct search *s, struct error *err)
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

static int bisection_toolchains(struct search *s, const char *const *names, size_t count,
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

// The name of step i for people: the commit's short id, or the toolchain's name; in the context's
// arena.
static const char *bisection_name(const struct search *s, size_t i)
{
    return s->toolchains ? toolchain_name(s, i)
                         : arena_printf(&s->context->arena, "%.10s", s->commits[i].id);
}

// The commit and toolchain that step i builds.
static struct to_build bisection_step(const struct search *s, size_t i)
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

// Finds the first device for which the good commit has the kernel, unless --device names one.
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

// Takes the regime in which the policy measures the series, if its text names none. What the policy
// does not measure is in the regime that a device of this kind usually has. Where there are
// several, a person has to choose, for the change may be in one alone.
static int take_regime(struct search *s, struct error *err)
{
    const struct policy *policy = &s->context->policy;
    const struct policy_device *device = s->device->policy;
    const struct policy_kernel *rule = policy_rule(policy, s->kernel, device);
    const char *names = "";
    enum regime regimes[REGIMES];
    uint32_t found = 0, count = 0;
    if (s->problem.regime_named)
        return 0;
    for (size_t k = 0; rule && k < rule->set_count; k++) {
        const struct policy_set *set = policy_set_find(policy, rule->sets[k]);
        for (size_t i = 0; set && i < set->count; i++) {
            const struct problem work = problem_in(&set->problems[i], REGIME_COLD);
            const size_t in =
                problem_equal(&work, &s->problem)
                    ? policy_regimes(regimes, policy, device->kind, rule, set, &set->problems[i])
                    : 0;
            for (size_t r = 0; r < in; r++)
                found |= 1u << regimes[r];
        }
    }
    s->problem.regime = regime_usual(device->kind);
    for (int i = 0; i < REGIMES; i++) {
        if (!(found & 1u << i))
            continue;
        s->problem.regime = (enum regime)i;
        names = arena_printf(&s->context->arena, "%s%s%s", names, count++ ? ", " : "",
                             regime_name((enum regime)i));
    }
    return count < 2 ? 0
                     : error_set(err,
                                 "the policy measures this series in several regimes: name one, as "
                                 "in KERNEL/PROBLEM:%s (%s)",
                                 regime_name(s->problem.regime), names);
}

// ---- duets ----

static bool is_step(const struct search *s, size_t i, const char *commit, const char *toolchain)
{
    return strcmp(commit, s->commits[i].id) == 0 &&
           strcmp(toolchain[0] ? toolchain : TOOLCHAIN_DEFAULT, toolchain_name(s, i)) == 0;
}

// Finds a duet of this step in an earlier attempt that was not used yet; oldest first.
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

struct step_ratio {
    bool usable;
    double mean, se;
};

static void say(struct search *s, size_t i, const struct step_ratio *duet, const struct result *r)
{
    enum { WIDTH_95 = 196 }; // in hundredths of a standard error
    struct arena *arena = &s->context->arena;
    const struct interval *stored = &r->verdict.log_ratio;
    const double half = WIDTH_95 / 100.0 * duet->se;
    const bool known = r->verdict.pairs && isfinite(stored->low) && isfinite(stored->high);
    if (duet->usable) // in the form that this comparison's report has
        s->said[i] = arena_printf(arena, "%+.2f %% (%+.2f to %+.2f)", 100 * expm1(duet->mean),
                                  100 * expm1(known ? stored->low : duet->mean - half),
                                  100 * expm1(known ? stored->high : duet->mean + half));
    else
        s->said[i] = arena_printf(arena, "%s, passed over", measurement_state_name(r->head.state));
    progress_note(&s->context->progress, "%s against %s: %s", bisection_name(s, i),
                  bisection_name(s, 0), s->said[i]);
}

static int play(struct step_ratio *out, struct search *s, size_t i, struct error *err)
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
        const struct compared_series series = {s->device, s->kernel, &s->problem, 0,
                                               GATE_FOR_VERDICT};
        const struct commit_comparison what = {good, head, &series, 1};
        if (pipeline_compare(&run, s->context, &what, 1, err))
            goto done;
        r = &run.results[0];
    }
    *out = (struct step_ratio){0};
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

// Finds the code of a commit. A commit without this kernel is skipped; one with the same code as
// another shares that one's result.
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
    struct step_ratio duet;
    bool able = true;
    if (!s->bisect.commits[i].code) {
        if (learn_code(&able, s, i, err))
            return -1;
        if (able && bisect_knows_code(&s->bisect, i)) {
            s->said[i] = "the machine code of another";
            return 0; // this may have ended the search
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

// If both ends run the same code, there is nothing to search for.
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

// The spread of a build's own ratio between fresh processes (baselines/recorded/h200/README.md,
// "Other binaries"); on a shared host it is larger.
static double between_processes(const struct context_device *device)
{
    return strcmp(device->policy->kind, "cuda") == 0 ? 0.002 : 0.01;
}

static int bisection_begin(struct search *s, struct error *err)
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

static int bisection_search(struct bisect_step *out, struct search *s, struct error *err)
{
    enum { DUETS_MOST = 400 };
    struct step_ratio ends;
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

// ---- what it prints ----

// Prints what `plumb bisect` shows: its progress, the commits that may be the culprit, and how
// their code differs. model/gate/bisect.c decides which commit is tested next.

static void print_line(const char *text)
{
    char *line = plain_line(text);
    puts(line);
    free(line);
}

static const char *steps_word(const struct search *s)
{
    return s->toolchains ? "toolchains" : "commits";
}

static void plan_step(struct answer *answer, struct search *s, size_t i, bool kept)
{
    if (!answer && kept)
        printf("%-10s %s\n", "built", bisection_name(s, i));
    if (!answer)
        return;
    struct json *row = answer_row(answer);
    json_clean(row, "commit", s->commits[i].id);
    json_clean(row, "name", bisection_name(s, i));
    json_bool(row, "built", kept);
}

static int plan_steps(struct answer *answer, struct search *s, struct error *err)
{
    for (size_t i = 0; i < s->count; i++) {
        bool kept;
        const struct to_build what = bisection_step(s, i);
        if (built_kept(&kept, s->context, &what, err))
            return -1;
        plan_step(answer, s, i, kept);
    }
    return 0;
}

// Prints how much a search may build and measure at most; it picks the most informative commits and
// never needs all.
static int bisection_plan(struct search *s, struct error *err)
{
    struct answer kept, *answer = answer_if(&kept, s->json, "commits");
    if (answer_leave(answer, plan_steps(answer, s, err)))
        return -1;
    if (!answer)
        printf("dry run: one of %zu %s is searched for; at most %zu of them would be built\n",
               s->count - 1, steps_word(s), s->context->unbuilt);
    return 0;
}

static const char *said_of(const struct search *s, size_t i)
{
    return i == 0 ? "good" : s->said[i] ? s->said[i] : "not asked";
}

static void print_commits(const struct search *s)
{
    for (size_t i = 0; s->bisect.posterior && i < s->count; i++) {
        char *line = xprintf("  %-10s  %5.1f %%  %-32s  %s", bisection_name(s, i),
                             100 * s->bisect.posterior[i], said_of(s, i),
                             s->toolchains ? "" : s->commits[i].summary);
        print_line(line);
        free(line);
    }
}

static int find_changes(struct file_change_list *out, const struct search *s,
                        const struct bisect_step *step, struct error *err)
{
    const struct commit *before = &s->commits[step->first - 1], *after = &s->commits[step->last];
    return repository_changes(out, s->context->repository, before->id, after->id,
                              &s->context->arena, err);
}

static void print_changes(const struct file_change_list *changes)
{
    for (size_t i = 0; i < changes->count; i++) {
        const struct file_change *c = &changes->items[i];
        char *line = xprintf("  %c %s (+%u -%u)", c->status, c->path, c->added, c->removed);
        print_line(line);
        free(line);
    }
}

static void changes_json(struct json *json, const struct file_change_list *changes)
{
    json_begin(json, "changes", '[');
    for (size_t i = 0; i < changes->count; i++) {
        const struct file_change *c = &changes->items[i];
        const char status[] = {c->status, '\0'};
        json_begin(json, NULL, '{');
        json_clean(json, "status", status);
        json_clean(json, "path", c->path);
        json_int(json, "added", c->added);
        json_int(json, "removed", c->removed);
        json_end(json, '}');
    }
    json_end(json, ']');
}

// Writes the result as JSON. `step` NULL: both ends have the same machine code. `found`: its one
// commit is certain.
static void search_json(const struct search *s, const struct bisect_step *step, bool found,
                        const struct file_change_list *changes)
{
    struct answer answer;
    char problem[PROBLEM_TEXT];
    problem_format(problem, &s->problem);
    answer_begin(&answer, "commits");
    for (size_t i = 0; s->bisect.posterior && i < s->count; i++) {
        struct json *row = answer_row(&answer);
        json_clean(row, "commit", s->commits[i].id);
        json_clean(row, "name", bisection_name(s, i));
        json_clean(row, "summary", s->commits[i].summary);
        json_number(row, "probability", s->bisect.posterior[i]);
        json_clean(row, "said", said_of(s, i));
    }
    struct json *whole = answer_whole(&answer);
    json_clean(whole, "kernel", s->kernel);
    json_clean(whole, "problem", problem);
    json_clean(whole, "regime", regime_name(s->problem.regime));
    json_clean(whole, "found", found ? bisection_name(s, step->last) : NULL);
    json_clean(whole, "first", step ? bisection_name(s, step->first) : NULL);
    json_clean(whole, "last", step ? bisection_name(s, step->last) : NULL);
    json_number(whole, "probability", step ? step->probability : NAN);
    json_number(whole, "change", step ? expm1(s->bisect.options.effect) : NAN);
    json_bool(whole, "fits", step && !step->inconsistent);
    changes_json(whole, changes);
    answer_end(&answer);
}

// Prints the commits with what is known of each, the culprit, its changed files and the last line;
// `out` is the exit code.
static int bisection_conclude(enum conclusion *out, const struct search *s,
                              const struct bisect_step *step, struct error *err)
{
    char problem[PROBLEM_TEXT];
    problem_tell(problem, &s->problem);
    struct file_change_list changes = {0};
    *out = CONCLUDE_UNDECIDED;
    if (step->state == BISECT_IMPOSSIBLE && s->json) {
        search_json(s, NULL, false, &changes);
        return 0;
    }
    if (step->state == BISECT_IMPOSSIBLE) {
        print_commits(s);
        printf("NONE: %s %s runs the same machine code at both ends%s\n", s->kernel, problem,
               s->toolchains ? "" : ": the environment changed");
        return 0;
    }
    if (!s->toolchains && find_changes(&changes, s, step, err))
        return -1;
    const bool found =
        step->first == step->last && step->probability >= s->bisect.options.confidence;
    if (found)
        *out = CONCLUDE_OK;
    if (s->json) {
        search_json(s, step, found, &changes);
        return 0;
    }
    print_commits(s);
    print_changes(&changes);
    if (step->inconsistent)
        puts("The duets fit no single change well: several of them may share it.");
    const char *last = bisection_name(s, step->last);
    double effect = 100 * expm1(s->bisect.options.effect);
    char *line = found
                     ? xprintf("FOUND: %s made %s %s %+.2f %% (%.1f %% sure)%s%s", last, s->kernel,
                               problem, effect, 100 * step->probability, s->toolchains ? "" : ": ",
                               s->toolchains ? "" : s->commits[step->last].summary)
                     : xprintf("BETWEEN: %s..%s, %zu %s that cannot be told apart, made %s %s "
                               "%+.2f %% (%.1f %% sure)",
                               bisection_name(s, step->first), last, step->last - step->first + 1,
                               steps_word(s), s->kernel, problem, effect, 100 * step->probability);
    print_line(line);
    free(line);
    return 0;
}

// ---- searches for events ----

// A series of searches. First the links that do not fit their loops are measured again, because an
// event may rest on one of them. Then each open event of the code with several possible culprits is
// bisected, on the series that shows it best, until the budget ends ([history] search in the
// policy). A search that ran out of budget continues the next time with its results; one that came
// to an end is not repeated.

struct searches {
    struct context *context;
    const struct history_set *set;
    struct events events;
    double confidence, deadline_s;
    size_t open, found; // numbers of events
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

// A search for all series whose links between the same two commits do not fit.
struct again {
    const char *base, *head;
    struct built builds[2];
    struct compared_series *series;
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
            again->series[again->count++] = (struct compared_series){
                device, entry->kernel, &entry->problem, misfit->back, GATE_FOR_VERDICT};
        }
    }
}

// Builds both commits again. *whole is false, and a line says why, if one of them cannot be built
// any more.
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
        problem_tell(problem, &run->results[i].problem);
        printf("%s %s: %.10s with %.10s did not fit its loops; measured again: ",
               run->results[i].kernel, problem, run->head.id, run->base.id);
        if (isfinite(v->log_ratio.value))
            printf("%s, %+.2f %%\n", verdict_kind_name(v->kind), 100 * expm1(v->log_ratio.value));
        else
            printf("%s\n", verdict_kind_name(v->kind));
    }
}

// Measures the links again. Earlier measurements are kept beside the new one.
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
    struct commit_comparison *what = arena_alloc(&context->arena, all.count * sizeof(*what));
    for (size_t i = 0; i < all.count; i++) {
        struct again *a = &all.items[i];
        bool whole;
        if (build_again(&whole, a, context, err))
            return -1;
        if (whole)
            what[count++] =
                (struct commit_comparison){&a->builds[0], &a->builds[1], a->series, a->count};
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
    return event_is_open(e->state) && e->cause == ATTRIBUTION_KERNEL && e->culprit_count > 1;
}

// The change with the most evidence on a device of this machine.
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

// Adds the result of a search to the event as an entry. A culprit confirms the event.
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

// Searches for all events. Prints a line for each, with the commit or the reason why none was
// found, and adds the same as an entry of the event. *out is 2 as long as the commit of some event
// is not known. Opens everything that it needs in the context.
static int bisect_events(enum conclusion *out, struct context *context,
                         const struct options *options, double confidence, struct error *err)
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

// ---- drivers ----

// Prints a line for each driver that followed another on a device. A driver is found if two
// conditions hold: the interval of its shift leaves no doubt about the direction, and the shift is
// large enough for a change in a history.

static bool is_found(const struct driver_step *s)
{
    const struct interval *size = &s->shift.size;
    return fabs(size->value) >= log1p(history_defaults.margin) && (size->low > 0 || size->high < 0);
}

static bool is_bounded(const struct driver_step *s)
{
    return isfinite(s->shift.size.low) && isfinite(s->shift.size.high);
}

static const char *verdict_of(const struct driver_step *s, struct arena *arena)
{
    const struct driver_shift *shift = &s->shift;
    const struct interval size = interval_relative(shift->size);
    if (!shift->series)
        return "nothing was timed under both";
    const char *runs = arena_printf(arena, "%zu %s, %zu and %zu runs%s", shift->series,
                                    s->levelled ? "series by links" : "codes", shift->before,
                                    shift->after, is_found(s) ? "  <- changed" : "");
    return is_bounded(s) ? arena_printf(arena, "%+.2f %% (95 %% interval %+.2f to %+.2f), %s",
                                        100 * size.value, 100 * size.low, 100 * size.high, runs)
                         : arena_printf(arena, "%+.2f %%, and nothing tells it from the day: %s",
                                        100 * size.value, runs);
}

static void row_json(struct json *row, const struct driver_step *s)
{
    json_clean(row, "device", s->device_uuid);
    json_clean(row, "from", s->from);
    json_clean(row, "to", s->to);
    json_number(row, "log_ratio", s->shift.size.value);
    json_number(row, "low", s->shift.size.low);
    json_number(row, "high", s->shift.size.high);
    json_number(row, "run_sd", s->shift.run_sd);
    json_int(row, "codes", (int64_t)s->shift.series);
    json_int(row, "runs_before", (int64_t)s->shift.before);
    json_int(row, "runs_after", (int64_t)s->shift.after);
    json_bool(row, "by_links", s->levelled);
    json_bool(row, "changed", is_found(s));
}

static void print_steps(const struct driver_steps *steps, struct arena *arena)
{
    const char *device = "";
    for (size_t i = 0; i < steps->count; i++) {
        const struct driver_step *s = &steps->items[i];
        if (strcmp(device, s->device_uuid) != 0)
            print_line(arena_printf(arena, "%s, %s", s->device_name, s->device_uuid));
        device = s->device_uuid;
        print_line(
            arena_printf(arena, "  driver %s -> %s: %s", s->from, s->to, verdict_of(s, arena)));
    }
}

static size_t count_found(const struct driver_step **first, size_t *open,
                          const struct driver_steps *steps)
{
    size_t found = 0;
    for (size_t i = 0; i < steps->count; i++) {
        if (is_found(&steps->items[i]) && found++ == 0)
            *first = &steps->items[i];
        *open += !is_bounded(&steps->items[i]);
    }
    return found;
}

static const char *headline(const struct driver_steps *steps, size_t found, size_t open,
                            const struct driver_step *first, struct arena *arena)
{
    if (!steps->count)
        return "NOTHING: no device has results of two drivers";
    if (found)
        return arena_printf(arena, "FOUND: driver %s made %s %.2f %% %s%s", first->to,
                            first->device_name, 100 * fabs(expm1(first->shift.size.value)),
                            first->shift.size.value > 0 ? "slower" : "faster",
                            found > 1 ? ", and it is not the only one" : "");
    return open ? "UNDECIDED: one run under a driver tells nothing of the day; `plumb run --again`"
                : "NONE: no driver changed what the same code takes";
}

// Looks for drivers that changed times. Nothing is measured, because no machine has two drivers.
// `kernel` and `problem` name one series, or are NULL. *out is 0 when a driver is found, else 2.
static int bisect_drivers(enum conclusion *out, struct context *context,
                          const struct options *options, const char *kernel, const char *problem,
                          bool as_json, struct error *err)
{
    const struct history_wanted wanted = {
        .kernel = kernel, .problem = problem, .device = options->device};
    struct driver_steps steps;
    const struct driver_step *first = NULL;
    struct arena *arena = &context->arena;
    size_t open = 0;
    struct answer answer;
    if (context_open(context, options, err) || context_store(context, STORE_READ, err) ||
        drivers_find(&steps, context->store, &wanted, false, arena, err))
        return -1;
    const size_t found = count_found(&first, &open, &steps);
    const char *text = headline(&steps, found, open, first, arena);
    *out = found ? CONCLUDE_OK : CONCLUDE_UNDECIDED;
    if (!as_json) {
        print_steps(&steps, arena);
        print_line(text);
        return 0;
    }
    answer_begin(&answer, "drivers");
    for (size_t i = 0; i < steps.count; i++)
        row_json(answer_row(&answer), &steps.items[i]);
    json_clean(answer_whole(&answer), "headline", text);
    answer_end(&answer);
    return 0;
}

struct arguments {
    struct options options;
    const char *good, *bad, *series;
    struct toolchain_names toolchains;
    double confidence;
    bool events, drivers, json;
};

static int take_toolchain(void *arguments, const char *text)
{
    return toolchain_names_add(&((struct arguments *)arguments)->toolchains, text);
}

static int take_confidence(void *arguments, const char *text)
{
    double *confidence = &((struct arguments *)arguments)->confidence;
    return parse_double(confidence, text) || !(*confidence >= 0.5 && *confidence < 1) ? -1 : 0;
}

static const struct command_option own_options[] = {
    OPTION_TEXT("good", 0, "REV", "A commit from before the change", good),
    OPTION_TEXT("bad", 0, "REV", "A commit that has it [HEAD]", bad),
    OPTION_OWN("toolchain", 0, "NAME",
               "Instead of commits: BAD by each of these toolchains of the policy, the good one "
               "first (repeat)",
               take_toolchain, TOOLCHAIN_NAMES_MUST),
    OPTION_TEXT("series", 0, "KERNEL/PROBLEM", "Which, e.g. tiled/4096x4096x4096:bf16", series),
    OPTION_OWN("confidence", 0, "P", "Stop when one commit holds this much [0.99]", take_confidence,
               "from 0.5 to less than 1"),
    OPTION_FLAG("events", 0,
                "Instead: every open event of several commits, and links that do not fit, within "
                "the policy's history.search",
                events),
    OPTION_FLAG("drivers", 0,
                "Instead: what is stored of the same code under each driver; nothing is measured",
                drivers),
    OPTION_COUNT("seconds", "N",
                 "Of measuring each comparison, at most [the policy's gate.seconds]",
                 options.seconds, 1, 86400),
    OPTION_FORMAT(json),
    {0},
};

static const struct arguments usual = {.confidence = 0.99};

static int check(void *arguments, struct error *err)
{
    const struct arguments *a = arguments;
    if (a->drivers)
        return a->good || a->bad || a->events || a->toolchains.count
                   ? error_set(err, "--drivers reads the store: no --good, --bad, --events, "
                                    "--toolchain")
                   : 0;
    if (a->events && a->json)
        return error_set(err, "--events has no JSON; `plumb events --format json` shows what came "
                              "of it");
    if (a->events)
        return a->good || a->bad || a->series || a->toolchains.count
                   ? error_set(err,
                               "--events searches what history found: no --good, --bad, --series, "
                               "--toolchain")
                   : 0;
    if (a->toolchains.count && (a->good || a->toolchains.count < 2))
        return error_set(err, a->good ? "--toolchain searches toolchains, --good commits: give one"
                                      : "--toolchain: give at least two, the good one first");
    return (a->good || a->toolchains.count) &&
                   (a->series || (a->options.kernel && a->options.problem))
               ? 0
               : error_set(err, "give --good REV (or --toolchain) and --series KERNEL/PROBLEM, or "
                                "--kernel and "
                                "--problem");
}

// ---- the range of a search ----

static int read_series(struct search *s, const struct arguments *a, struct error *err)
{
    const char *text = a->series, *slash = text ? strchr(text, '/') : NULL;
    if (!text && !text_copy(s->kernel, sizeof(s->kernel), a->options.kernel))
        return error_set(err, "--kernel=%.80s: bisect takes one kernel by its name",
                         a->options.kernel);
    if (!text)
        return problem_parse(&s->problem, a->options.problem, err);
    if (!slash || slash == text || (size_t)(slash - text) >= sizeof(s->kernel))
        return error_set(err, "--series=%.80s: KERNEL/PROBLEM, e.g. tiled/4096x4096x4096:bf16",
                         text);
    memcpy(s->kernel, text, (size_t)(slash - text));
    return problem_parse(&s->problem, slash + 1, err);
}

// ---- all ----

static int bisect(enum conclusion *out, struct search *s, const struct arguments *a,
                  struct error *err)
{
    struct context *context = s->context;
    struct bisect_step step;
    if (read_series(s, a, err) || context_open(context, &a->options, err) ||
        (!a->toolchains.count && bisection_commits(s, err)) || context_policy(context, "", err) ||
        context_store(context, STORE_WRITE, err) || context_builder(context, err) ||
        (a->toolchains.count &&
         bisection_toolchains(s, a->toolchains.names, a->toolchains.count, err)) ||
        context_devices(context, err))
        return -1;
    if (a->options.dry_run) {
        *out = CONCLUDE_OK;
        return bisection_plan(s, err);
    }
    int status = bisection_begin(s, err) || take_regime(s, err) ? -1 : 0;
    if (status == 0)
        status = bisection_search(&step, s, err);
    return status ? status : bisection_conclude(out, s, &step, err);
}

// Looks at one series, or at those that --kernel and --problem select.
static int drivers(enum conclusion *out, struct context *context, const struct arguments *a,
                   struct error *err)
{
    struct search s = {.context = context};
    char problem[PROBLEM_TEXT];
    if (!a->series)
        return bisect_drivers(out, context, &a->options, a->options.kernel, a->options.problem,
                              a->json, err);
    if (read_series(&s, a, err))
        return -1;
    problem_format(problem, &s.problem);
    return bisect_drivers(out, context, &a->options, s.kernel,
                          s.problem.regime_named
                              ? problem
                              : arena_printf(&context->arena, "%s*", problem), // in any regime
                          a->json, err);
}

static int run(enum conclusion *out, struct context *context, void *arguments, struct error *err)
{
    const struct arguments *a = arguments;
    if (a->drivers)
        return drivers(out, context, a, err);
    if (a->events)
        return bisect_events(out, context, &a->options, a->confidence, err);
    struct search s = {.context = context,
                       .good = a->good,
                       .bad = a->bad,
                       .confidence = a->confidence,
                       .json = a->json};
    int status = bisect(out, &s, a, err);
    bisect_free(&s.bisect);
    return status;
}

static bool measures(const void *arguments)
{
    const struct arguments *a = arguments;
    return !a->drivers;
}

static bool searches_one(const void *arguments)
{
    const struct arguments *a = arguments;
    return !a->drivers && !a->events;
}

static bool names_no_series(const void *arguments)
{
    const struct arguments *a = arguments;
    return !a->series;
}

static const struct option_use uses[] = {
    {"policy sandbox cache overlay bench dry-run quiet confidence seconds", measures,
     "measuring; --drivers reads the store"},
    {"dry-run", searches_one, "a search for one series; --events searches what is open"},
    {"kernel problem", names_no_series, "a command without --series, which names both"},
    {0},
};

const struct command command_bisect = {
    .name = "bisect",
    .summary = "Find the commit that changed a series' time",
    .json = "commits (commit, name, summary, probability, said), then found (the commit, or null), "
            "first and last (between which it is), probability, change, fits, kernel, problem, "
            "regime and changes "
            "(status, path, added, removed); of a dry run commits (commit, name, built); with "
            "--drivers "
            "drivers (device, from, to, log_ratio, low, high, run_sd, codes, runs_before, "
            "runs_after, by_links, changed), then headline.",
    .shared = SHARED_MEASURE | SHARED_WHICH,
    .options = own_options,
    .defaults = &usual,
    .check = check,
    .uses = uses,
    .size = sizeof(struct arguments),
    .run = run,
    .doc = "Finds the commit that changed a series' time.\v"
           "plumb measures commits between GOOD and BAD (by first parents) side by side with "
           "GOOD. Each time it takes the commit that tells most, until one commit holds the "
           "confidence asked for. It passes over commits that do not build or compute wrong "
           "results, and does not blame their successors for them. Every comparison is kept in "
           "the store, so an interrupted bisection goes on.\n\n"
           "With --toolchain the commit stays, and plumb searches the policy's toolchains: "
           "which of them made the series slower? With --events the good and bad commits come "
           "from the open events that name several commits (`plumb events`), and each event "
           "keeps the result. With --drivers plumb measures nothing: it reads plain runs of "
           "the store, and says how much each new driver moved the codes that ran under it and "
           "under the driver before. No pair can be made across drivers, so the interval says "
           "how runs under one driver differ; one run under each driver gives no interval.\n\n"
           "Exit: 0 found, 2 several commits or none, 4 the tool could not do its work.",
};
