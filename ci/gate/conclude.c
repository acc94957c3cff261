// SPDX-License-Identifier: Apache-2.0
//
// Counts the verdicts of a run, and gives its conclusion as one line and one exit code. Begins a
// run, and ends it in the store. It changes no verdict.
#include "ci/gate/conclude.h"

#include "ci/gate/built.h"
#include "ci/gate/measuring.h"
#include "ci/gate/mixes.h"
#include "ci/gate/part.h"
#include "ci/settings/policy.h"
#include "model/base.h"
#include "model/gate/verdict.h"
#include "model/result.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// The result to report first: among verdicts of one kind, the one with the largest slowdown.
// `fails`: only among those that fail a change.
static const struct result *worst(const struct run *run, enum verdict_kind kind, bool fails)
{
    const struct result *found = NULL;
    for (size_t i = 0; i < run->count; i++) {
        const struct result *r = &run->results[i];
        // An undecided series whose code did not change concerns the environment, not the kernel.
        const bool outside = kind == VERDICT_UNDECIDED && r->verdict.cause == CAUSE_ENVIRONMENT;
        if (r->verdict.kind != kind || outside || (fails && !cause_fails(&r->verdict)))
            continue;
        if (!found || r->verdict.log_ratio.value > found->verdict.log_ratio.value)
            found = r;
    }
    return found;
}

static const char *tally(struct run *run)
{
    size_t counts[VERDICT_KINDS];
    const char *text = "";
    run_count_verdicts(run, counts);
    for (size_t i = 0; i < VERDICT_KINDS; i++) {
        const enum verdict_kind kind = verdict_order[i];
        if (counts[kind])
            text = arena_printf(&run->arena, "%s%s%zu %s", text, *text ? ", " : "", counts[kind],
                                verdict_kind_name(kind));
    }
    static const enum verdict_kind told[] = {VERDICT_SLOWER, VERDICT_UNDECIDED, VERDICT_ACCEPTED};
    text = *text ? text : "no series";
    for (size_t i = 0; i < ARRAY_COUNT(told); i++) {
        const struct metric_result *first;
        const size_t metrics = metrics_of_kind(&first, run, told[i]);
        if (metrics)
            text = arena_printf(&run->arena, "%s, %zu %s %s", text, metrics,
                                plural(metrics, "metric", "metrics"), metric_word(told[i]));
    }
    return text;
}

// Finds the end of the first `most` words of a text; if it has fewer, its own end.
static const char *words_end(const char *text, size_t most)
{
    for (size_t i = 0; i < most && *text; i++) {
        text += strspn(text, " ");
        text += strcspn(text, " ");
    }
    return text;
}

// Shortens a text to a length that a person reads at a glance; the series' own lines have the rest.
static const char *within_words(struct run *run, const char *text)
{
    const char *end = words_end(text, HEADLINE_WORDS);
    return end[strspn(end, " ")] ? arena_printf(&run->arena, "%.*s...", (int)(end - text), text)
                                 : text;
}

// The change of the typical launch, "+1.2 %". If the alarm is about launches that are slow now and
// then, and the typical launch is within the margin, it is the change of the mean.
static const char *size_of(struct run *run, const struct result *r)
{
    const struct verdict *v = &r->verdict;
    double mean, p95;
    if (v->kind == VERDICT_SLOWER && v->log_ratio.low <= v->margin &&
        gate_slow_ratios(&mean, &p95, &r->base, &r->head, &run->arena) && log(mean) > v->margin)
        return arena_printf(&run->arena, "mean %+.2f %%", 100 * (mean - 1));
    return arena_printf(&run->arena, "%+.2f %%", 100 * interval_relative(v->log_ratio).value);
}

// A short form of a verdict, "KERNEL PROBLEM +1.2 %", for one whose sentence is too long.
static const char *short_of(struct run *run, const struct result *r)
{
    char problem[PROBLEM_TEXT]; // without words for its regime, so that shortening never removes
                                // the size
    problem_tell(problem, &r->problem);
    if (!r->verdict.pairs)
        return r->verdict.sentence;
    struct beside opposed;
    const char *but = "";
    if (beside_opposed(&opposed, run, r))
        but = arena_printf(&run->arena, ", but %+.2f %% %s",
                           100 * interval_relative(opposed.log_ratio).value,
                           regime_words(opposed.regime));
    return arena_printf(&run->arena, "%s %s %s%s", r->kernel, problem, size_of(run, r), but);
}

// A short form of the first mix, "KERNEL mix:NAME:REGIME +1.2 %", as an epoch spells it; "" if its
// change is not known.
static const char *mix_short(struct run *run)
{
    const struct mix_result *m = &run->mixes[0];
    const char *series = mix_series(run, m, &run->arena);
    if (!isfinite(m->log_ratio.value))
        return "";
    return arena_printf(&run->arena, "; %.*s %+.2f %%", (int)(strrchr(series, ' ') - series),
                        series, 100 * interval_relative(m->log_ratio).value);
}

// Adds the mixes behind the series that decides. A cut would take the end of a mix's sentence,
// which has its regime and its size, so a line that is too long has the first mix in short.
static const char *add_mixes(struct run *run, const char *whole, const char *mixes)
{
    const char *all = arena_printf(&run->arena, "%s; %.*s", whole, (int)strlen(mixes) - 2, mixes);
    return within_words(run, all) == all ? all
                                         : arena_printf(&run->arena, "%s%s", whole, mix_short(run));
}

// Writes the conclusion. The series that decides comes before the mixes, which have lines of their
// own.
static void conclude(struct run *run, enum conclusion conclusion, const char *label,
                     const struct result *which, const char *away)
{
    const char *mixes = mixes_text(run);
    const char *begin =
        arena_printf(&run->arena, "%s: %s%s%s", label, which ? "" : mixes, tally(run), away);
    const char *whole = begin;
    run->conclusion = conclusion;
    if (which)
        whole = arena_printf(&run->arena, "%s: %s", begin, which->verdict.sentence);
    if (which && within_words(run, whole) != whole)
        whole = arena_printf(&run->arena, "%s: %s", begin, short_of(run, which));
    if (which && *mixes)
        whole = add_mixes(run, whole, mixes);
    run->headline = within_words(run, whole);
}

// Whether a verdict leaves open whether this change made the series slower.
static bool is_open(const struct verdict *v)
{
    return v->kind == VERDICT_NOT_MEASURED || (v->kind == VERDICT_BROKEN && !cause_fails(v));
}

// Whether nothing was judged: no changed series has a result, or no series at all has one. *which
// is the first such series, if there is one. A commit that changes only a README is judged by its
// machine code. One changed kernel that the policy requires to be recorded, and that cannot be, is
// enough.
static bool nothing_judged(const struct result **which, const struct run *run)
{
    size_t judged = 0, judged_changed = 0;
    const struct result *open = NULL, *open_changed = NULL;
    for (size_t i = 0; i < run->count; i++) {
        const struct result *r = &run->results[i];
        const bool changed = !r->base_code[0] || strcmp(r->base_code, r->head_code) != 0;
        if (changed && recording_refused(&r->head)) {
            *which = r;
            return true;
        }
        if (is_open(&r->verdict)) {
            open = open ? open : r;
            open_changed = !open_changed && changed ? r : open_changed;
        } else {
            judged++;
            judged_changed += changed;
        }
    }
    *which = open_changed ? open_changed : open;
    return judged == 0 || (open_changed && judged_changed == 0);
}

// Whether all open changes are on devices that are not here, and the compiler's report did not
// condemn them. Then this machine can say no more.
static bool static_alone(const struct run *run)
{
    static const char prefix[] = DEVICE_STATIC;
    size_t found = 0;
    for (size_t i = 0; i < run->count; i++) {
        const struct result *r = &run->results[i];
        const bool changed = !r->base_code[0] || strcmp(r->base_code, r->head_code) != 0;
        if (!changed || !is_open(&r->verdict))
            continue;
        if (r->verdict.kind != VERDICT_NOT_MEASURED || r->head.state == MEASURED_UNSUPPORTED ||
            strncmp(run->devices[r->device].uuid, prefix, strlen(prefix)) != 0)
            return false;
        found++;
    }
    return found > 0;
}

static void conclude_open(struct run *run, const struct policy_gate *gate,
                          const struct result *which, const char *away)
{
    if (!gate->static_fails && static_alone(run))
        conclude(run, CONCLUDE_OK, "OK by the compiler's report alone", NULL, away);
    else
        conclude(run, CONCLUDE_UNDECIDED, HEADLINE_UNJUDGED, which, away);
}

// Concludes by a metric: as far as is known the times are no worse, but a figure beside them is, or
// may be.
static void conclude_metric(struct run *run, const struct metric_result *which, const char *away)
{
    const bool worse = which->kind == VERDICT_SLOWER;
    run->conclusion = worse ? CONCLUDE_REGRESSION : CONCLUDE_UNDECIDED;
    run->headline = within_words(
        run, arena_printf(&run->arena, "%s: %s%s%s: %s", worse ? "WORSE" : "UNDECIDED",
                          mixes_text(run), tally(run), away, metric_short(which, &run->arena)));
}

void conclude_run(struct run *run, const struct policy_gate *gate, const char *away)
{
    const struct result *broken = worst(run, VERDICT_BROKEN, true);
    const struct result *slower = worst(run, VERDICT_SLOWER, true);
    const struct result *undecided = worst(run, VERDICT_UNDECIDED, false);
    const struct result *which;
    const struct metric_result *metric;
    if (broken)
        conclude(run, CONCLUDE_BROKEN, "BROKEN", broken, away);
    else if (run->self_test.void_run)
        conclude(run, CONCLUDE_UNDECIDED,
                 "VOID (a build differs from itself here: something disturbs the device)", NULL,
                 away);
    else if (slower)
        conclude(run, CONCLUDE_REGRESSION, "SLOWER", slower, away);
    else if (mixes_judged(run, VERDICT_SLOWER))
        conclude(run, CONCLUDE_REGRESSION, "SLOWER", NULL, away);
    else if (metrics_of_kind(&metric, run, VERDICT_SLOWER))
        conclude_metric(run, metric, away);
    else if (undecided && !gate->undecided_passes)
        conclude(run, CONCLUDE_UNDECIDED, "UNDECIDED", undecided, away);
    else if (mixes_judged(run, VERDICT_UNDECIDED) && !gate->undecided_passes)
        conclude(run, CONCLUDE_UNDECIDED, "UNDECIDED", NULL, away);
    else if (run->kind == RUN_GATE && !gate->undecided_passes &&
             metrics_of_kind(&metric, run, VERDICT_UNDECIDED))
        conclude_metric(run, metric, away);
    else if (nothing_judged(&which, run))
        conclude_open(run, gate, which, away);
    else if ((which = worst(run, VERDICT_ACCEPTED, false)))
        conclude(run, CONCLUDE_OK, "OK", which, away);
    else
        conclude(run, CONCLUDE_OK, "OK", NULL, away);
}

void conclude_unbuilt(struct run *run, const char *recaptured, const char *detail)
{
    const char *too = "", *why = "";
    // If the base does not build either, the change is not to blame.
    const bool both = run->unbuilt[ROLE_BASE].reason != NULL;
    if (both)
        too = arena_printf(&run->arena, ", nor does its base %.12s", run->base.id);
    if (both && recaptured)
        why = arena_printf(&run->arena, "%s captures by another command by now, merge it; ",
                           recaptured);
    run->conclusion = both ? CONCLUDE_FAILED : CONCLUDE_BROKEN;
    const size_t length = strcspn(detail, "\n");
    run->headline =
        within_words(run, arena_printf(&run->arena, "%s: %scommit %.12s does not build%s: %.*s",
                                       both ? "NOT BUILT" : "BROKEN", why, run->head.id, too,
                                       (int)(length < 300 ? length : 300), detail));
}

// Concludes one of `parts` parts of a gate. The verdicts of its series are not the gate's verdict.
static void conclude_part(struct run *run, uint32_t number, uint32_t parts)
{
    run->conclusion = CONCLUDE_OK;
    run->headline = arena_printf(
        &run->arena, "PART %" PRIu32 " of %" PRIu32 ", to be judged with the others: %s", number,
        parts, tally(run));
}

void conclude_incomplete(struct run *run, const char *missing, uint32_t parts)
{
    if (run->conclusion != CONCLUDE_BROKEN)
        run->conclusion = CONCLUDE_UNDECIDED;
    run->headline = within_words(
        run,
        arena_printf(&run->arena, "%s: of %" PRIu32 " parts these are missing: %s; the others: %s",
                     run->conclusion == CONCLUDE_BROKEN ? "BROKEN" : "INCOMPLETE", parts, missing,
                     run->headline));
}

// Why no kernel supports a problem, if more is known than that supports() said no.
static const char *unsupported_why(const struct result *r)
{
    const char *detail = r->head.detail ? r->head.detail : "";
    return *detail && !strstr(detail, "does not do this problem") ? detail
                                                                  : "no kernel does this problem";
}

static bool is_unsupported(const struct result *r)
{
    return r->head.state == MEASURED_UNSUPPORTED && r->verdict.kind == VERDICT_NOT_MEASURED &&
           !recording_refused(&r->head);
}

// Whether a kernel of the run supports the problem of result `at` on its device; if none does,
// whether an earlier result says so already.
static bool done_elsewhere(const struct run *run, size_t at)
{
    const struct result *r = &run->results[at];
    for (size_t i = 0; i < run->count; i++) {
        const struct result *other = &run->results[i];
        if ((i < at || !is_unsupported(other)) && other->device == r->device &&
            problem_equal(&other->problem, &r->problem))
            return true;
    }
    return false;
}

void drop_unsupported(struct run *run)
{
    size_t kept = 0;
    bool *drop = xcalloc(run->count, sizeof(*drop));
    for (size_t i = 0; i < run->count; i++)
        drop[i] = is_unsupported(&run->results[i]) && done_elsewhere(run, i);
    for (size_t i = 0; i < run->count; i++) {
        struct result *r = &run->results[i];
        if (drop[i])
            continue;
        if (is_unsupported(r)) {
            char problem[PROBLEM_TEXT];
            problem_say(problem, &r->problem);
            r->verdict.sentence = arena_printf(&run->arena, "%s %s was not measured: %s", r->kernel,
                                               problem, unsupported_why(r));
        }
        run->results[kept++] = *r;
    }
    run->count = kept;
    free(drop);
}

// ---- the two ends of a run ----
//
// How every run begins and ends. First its head is filled in, and its place in the store is found
// or made. At its end it is concluded and finished there. pipeline.c has the steps between.

void run_begin(struct run *run, enum run_kind kind, const struct context *context,
               const struct commit *base, const struct commit *head)
{
    memset(run, 0, sizeof(*run));
    run->kind = kind;
    run->started_s = (int64_t)time(NULL);
    run->tool_version = PLUMB_VERSION;
    run->repository = arena_strdup(&run->arena, repository_name(context->repository));
    run->policy = arena_strdup(&run->arena, context->policy.text);
    if (base)
        run->base = *base;
    run->head = *head;
    run->device_count = context->device_count;
    run->devices = arena_alloc(&run->arena, run->device_count * sizeof(*run->devices));
    for (size_t i = 0; i < run->device_count; i++)
        run->devices[i] = context->devices[i].unit;
}

int run_enter(struct run *run, struct context *context, struct error *err)
{
    int64_t id = 0;
    bool found = false;
    if (context->options->dry_run)
        return 0;
    if (store_find_unfinished(&id, &found, context->store, run, err))
        return -1;
    if (!found)
        return store_begin_run(context->store, run, err);
    run->id = id;
    progress_note(&context->progress, "going on with the run that was interrupted");
    return 0;
}

static const char *toolchain_text(struct run *run)
{
    size_t same = 0;
    for (size_t i = 0; i < run->count; i++)
        same += run->results[i].base_code[0] &&
                strcmp(run->results[i].base_code, run->results[i].head_code) == 0;
    if (!run->base.id[0])
        return arena_printf(&run->arena, "; toolchain %s", run_toolchain(run, ROLE_HEAD));
    return arena_printf(&run->arena, "; toolchain %s -> %s, %zu of %zu the same bytes",
                        run_toolchain(run, ROLE_BASE), run_toolchain(run, ROLE_HEAD), same,
                        run->count);
}

// Names the toolchain, and what the run left out: by request, and for devices of the policy that
// are not here.
static const char *away_text(struct run *run, const struct context *context)
{
    const char *text = context_selection(context, &run->arena);
    if (run_names_toolchain(run))
        text = arena_printf(&run->arena, "%s%s", text, toolchain_text(run));
    for (size_t i = 0; i < context->device_count; i++) {
        const struct context_device *device = &context->devices[i];
        if (device->away && !device->is_static)
            text = arena_printf(&run->arena, "%s; nothing was measured on %s%s%s", text,
                                device->policy->name, device->out ? ", taken out: " : "",
                                device->out ? device->out : "");
        if (device->odd)
            text = arena_printf(&run->arena, "%s; %s", text, device->odd);
    }
    return text;
}

static int save_some(struct run *run, struct store *store, size_t from, size_t end,
                     struct error *err)
{
    for (size_t i = from; i < end; i++) {
        if (store_save_result(store, run, &run->results[i], err))
            return -1;
    }
    return 0;
}

// Saves many results in one transaction, because each transaction waits for the disk, and other
// writers wait for it.
static int save_in_batches(struct run *run, struct store *store, struct error *err)
{
    enum { TOGETHER = 500 };
    for (size_t from = 0; from < run->count; from += TOGETHER) {
        const size_t end = run->count - from < TOGETHER ? run->count : from + TOGETHER;
        if (store_begin_batch(store, err))
            return -1;
        if (save_some(run, store, from, end, err)) {
            store_cancel_batch(store);
            return -1;
        }
        if (store_commit_batch(store, err))
            return -1;
    }
    return 0;
}

// Finishes a run. `inside`: the caller has begun a transaction.
static int finish(struct run *run, struct store *store, bool inside, struct error *err)
{
    if (!run->id)
        return 0;
    if (inside ? save_some(run, store, 0, run->count, err) : save_in_batches(run, store, err))
        return -1;
    return store_finish_run(store, run, err);
}

// Concludes a run whose judged series pass, while the change touches files that only a newer policy
// builds. A kernel that only that policy builds was not looked at.
static void conclude_older(struct run *run, const char *branch)
{
    run->conclusion = CONCLUDE_UNDECIDED;
    run->headline = within_words(
        run, arena_printf(&run->arena, "UNJUDGED: %s builds otherwise by now; merge it; %s", branch,
                          run->headline));
}

// Whether a change touches files that context->otherwise builds or captures. Such a change may have
// added a kernel, and made one slower, that this policy does not see.
static int find_unjudged(bool *out, const struct context *context, const char *base,
                         const char *head, struct error *err)
{
    const struct recipe *recipe = &context->trusted.recipe;
    *out = false;
    if (!context->otherwise)
        return 0;
    for (size_t i = 0; i < recipe->input_count || (i == 0 && !recipe->input_count); i++) {
        const char *path = recipe->input_count ? recipe->inputs[i] : "";
        char was[OBJECT_ID_TEXT], is[OBJECT_ID_TEXT];
        if (repository_path_id(was, context->repository, base, path, err) ||
            repository_path_id(is, context->repository, head, path, err))
            return -1;
        *out |= strcmp(was, is) != 0;
    }
    return 0;
}

int run_leave(struct run *run, struct context *context, const struct built *head,
              const struct joined *joined, struct error *err)
{
    bool unjudged = false;
    if (run->kind == RUN_GATE && find_unjudged(&unjudged, context, run->base.id, run->head.id, err))
        return -1;
    run->finished_s = (int64_t)time(NULL);
    drop_unsupported(run);
    conclude_run(run, &context->policy.gate, away_text(run, context));
    if (head->state != MEASURED_OK)
        conclude_unbuilt(run, context->recaptured, head->detail);
    if (joined && joined->missing[0])
        conclude_incomplete(run, joined->missing, joined->parts);
    if (unjudged && run->conclusion == CONCLUDE_OK)
        conclude_older(run, context->otherwise);
    return finish(run, context->store, joined != NULL, err);
}

int run_leave_part(struct run *run, struct context *context, const struct work_part *part,
                   struct error *err)
{
    run->finished_s = (int64_t)time(NULL);
    conclude_part(run, part->number, part->count);
    return finish(run, context->store, false, err);
}
