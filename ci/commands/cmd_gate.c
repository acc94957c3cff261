// SPDX-License-Identifier: Apache-2.0
//
// plumb gate: is HEAD slower than its base? The exit code is the answer.
#include "ci/command.h"
#include "ci/commands/output.h"
#include "ci/gate/pipeline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct arguments {
    struct options options;
    const char *base, *head, *join;
    struct work_part part;
    const char *base_toolchain, *head_toolchain;
    bool merge_base, json;
};

static int take_static(void *arguments, const char *text)
{
    (void)text;
    ((struct arguments *)arguments)->options.static_use = STATIC_ONLY;
    return 0;
}

static int take_part(void *arguments, const char *text)
{
    return part_parse(&((struct arguments *)arguments)->part, text);
}

static const struct command_option own_options[] = {
    OPTION_TEXT("base", 0, "REV",
                "Baseline [the head's first parent; the head itself with --head-toolchain]", base),
    OPTION_TEXT("head", 0, "REV", "Commit under test [HEAD]", head),
    OPTION_TEXT("base-toolchain", 0, "NAME", "Toolchain of the policy that builds the base",
                base_toolchain),
    OPTION_TEXT("head-toolchain", 0, "NAME", "Toolchain of the policy that builds the head",
                head_toolchain),
    OPTION_FLAG("merge-base", 0, "Compare with the commit where the head's branch left the base",
                merge_base),
    OPTION_OWN("static", 0, NULL,
               "Measure nothing: compare what the compiler says of the CUDA kernels", take_static,
               ""),
    OPTION_COUNT("seconds", "N", "Of measuring, at most [the policy's gate.seconds]",
                 options.seconds, 1, 86400),
    OPTION_OWN("part", 0, "I/N", "Only the I-th of N parts of the series, to be joined later",
               take_part, "a part such as 3/8"),
    OPTION_TEXT("join", 0, "STORE", "Measure nothing: judge the parts that are in STORE", join),
    OPTION_FORMAT(json),
    {0},
};
static const struct arguments usual = {.options = {.static_use = STATIC_AUTO, .units = true}};

static int find_commits(struct commit *base, struct commit *head, struct context *context,
                        const struct arguments *a, struct error *err)
{
    const struct repository *repository = context->repository;
    struct arena *arena = &context->arena;
    if (repository_commit(head, repository, a->head ? a->head : "HEAD", arena, err))
        return -1;
    if (!a->base && (a->base_toolchain || a->head_toolchain)) {
        *base = *head;
        return 0;
    }
    if (!a->base)
        return repository_parent(base, repository, head, arena, err);
    if (a->merge_base)
        return repository_merge_base(base, repository, a->base, head->id, arena, err);
    return repository_commit(base, repository, a->base, arena, err);
}

static int check(void *arguments, struct error *err)
{
    const struct arguments *a = arguments;
    return a->join && a->part.count ? error_set(err, "--join takes all parts, --part makes one")
                                    : 0;
}

// The folder for reports. A part writes none unless it is asked to.
static const char *reports_of(const struct arguments *a)
{
    return a->options.out || a->part.count ? a->options.out : "plumb-report";
}

// Notes that the base has commits that the head lacks. What these commits changed appears as a
// change by the head, in the opposite direction.
static void tell_base_aside(struct context *context, const struct arguments *a,
                            const struct commit *base, const struct commit *head)
{
    struct repository *repository = context->repository;
    struct commit common;
    struct error ignored;
    if (!a->base || a->merge_base || strcmp(base->id, head->id) == 0 ||
        repository_descends(repository, head->id, base->id) ||
        repository_merge_base(&common, repository, base->id, head->id, &context->arena, &ignored))
        return;
    if (strcmp(common.id, head->id) == 0)
        progress_note(&context->progress,
                      "the base %.10s comes after the head %.10s: what became faster between them "
                      "is called slower",
                      base->id, head->id);
    else
        progress_note(&context->progress,
                      "the base %.10s has commits that the head %.10s lacks, and what they made "
                      "faster is called slower; --merge-base compares with %.10s, where it left",
                      base->id, head->id, common.id);
}

// Notes that the base is no commit of the trusted branch. The change may then have made the base
// slower, too, which this gate does not show. Nothing is noted for a gate of a commit against
// itself or of a first policy, because these have no other base.
static void tell_base_unknown(struct context *context, const struct commit *base,
                              const struct commit *head)
{
    struct repository_trust trust;
    repository_trusted(&trust, context->repository);
    if (trust.own || !trust.branch || strcmp(base->id, head->id) == 0 || context->first ||
        repository_accepts(context->repository, &trust, base->id))
        return;
    progress_note(&context->progress,
                  "the base %.10s is not of %s, so its policy and its kernels may be those of the "
                  "change itself; --base=%s --merge-base compares with what is accepted",
                  base->id, trust.branch, trust.branch);
}

// Checks the head's own policy. This gate does not use it, but later gates will.
static void tell_head_policy(struct context *context, const struct run *run,
                             const struct commit *base, const struct commit *head, const char *id)
{
    struct policy policy;
    struct error why;
    char *text = NULL, label[64];
    size_t size = 0;
    snprintf(label, sizeof(label), POLICY_PATH " at %.10s", head->id);
    const bool there =
        *id && repository_read(&text, &size, context->repository, head->id, POLICY_PATH, &why) == 0;
    const bool sound = there && policy_parse(&policy, text, size, label, &why) == 0;
    if (sound)
        policy_free(&policy);
    free(text);
    if (!*id)
        progress_note(&context->progress,
                      "%.10s removes " POLICY_PATH ": gates after it have no policy", head->id);
    else if (!sound)
        progress_note(&context->progress, "%s; gates after it end with 4", why.text);
    else if (run->unbuilt[ROLE_HEAD].reason)
        progress_note(&context->progress,
                      "%.10s changes " POLICY_PATH ", and was built by that of the base %.10s: "
                      "change the policy in a commit before, so that it builds both (it may name "
                      "inputs that are not there yet)",
                      head->id, base->id);
    else
        progress_note(&context->progress,
                      "%.10s changes " POLICY_PATH ": this gate goes by that of the base %.10s, "
                      "those after it by the new one",
                      head->id, base->id);
}

static void tell_whose_policy(struct context *context, const struct run *run,
                              const struct commit *base, const struct commit *head)
{
    char ids[2][OBJECT_ID_TEXT];
    struct error ignored;
    if (context->options->policy ||
        repository_path_id(ids[0], context->repository, base->id, POLICY_PATH, &ignored) ||
        repository_path_id(ids[1], context->repository, head->id, POLICY_PATH, &ignored) ||
        strcmp(ids[0], ids[1]) == 0)
        return;
    tell_head_policy(context, run, base, head, ids[1]);
}

static int gate(struct answer *answer, struct run *run, struct context *context,
                const struct arguments *a, struct error *err)
{
    struct commit base, head;
    struct to_build before = {.commit = &base}, now = {.commit = &head};
    const char *out = reports_of(a);
    int status;
    if ((!a->options.dry_run && out && output_directory(out, err)) ||
        context_open(context, &a->options, err) || find_commits(&base, &head, context, a, err) ||
        context_policy(context, base.id, err) || context_store(context, STORE_WRITE, err))
        return -1;
    tell_base_aside(context, a, &base, &head);
    tell_base_unknown(context, &base, &head);
    context_tell_edits(context, head.id);
    now.base = strcmp(base.id, head.id) == 0 ? NULL : &base; // the base itself is trusted
    if (a->join) {
        const char *const toolchains[] = {a->base_toolchain, a->head_toolchain};
        status = pipeline_join(run, context, &base, &head, toolchains, a->join, err);
    } else {
        if (context_builder(context, err) ||
            context_toolchain(&before.toolchain, context, a->base_toolchain, err) ||
            context_toolchain(&now.toolchain, context, a->head_toolchain, err) ||
            context_devices(context, err))
            return -1;
        status = pipeline_gate(run, context, &before, &now, &a->part, err);
        tell_whose_policy(context, run, &base, &head);
        if (a->options.dry_run && status == 0)
            output_plan(answer, run, NULL, context);
        if (a->options.dry_run)
            return status;
    }
    return output_measured(answer, run, status, context, out, err);
}

static int run(enum conclusion *out, struct context *context, void *arguments, struct error *err)
{
    struct run measured = {0};
    const struct arguments *a = arguments;
    struct answer kept, *answer = answer_if(&kept, a->json, a->options.dry_run ? "series" : "runs");
    const int status = answer_leave(answer, gate(answer, &measured, context, a, err));
    *out = measured.conclusion;
    run_free(&measured);
    return status;
}

static bool measures(const void *arguments)
{
    const struct arguments *a = arguments;
    return !a->join;
}

static bool times(const void *arguments)
{
    const struct arguments *a = arguments;
    return !a->join && a->options.static_use != STATIC_ONLY;
}

static bool has_base(const void *arguments)
{
    const struct arguments *a = arguments;
    return a->base;
}

static const struct option_use uses[] = {
    {"static device bench sandbox cache overlay", measures, "measuring; --join measures nothing"},
    {"seconds", times, "measuring; --join and --static measure nothing"},
    {"merge-base", has_base, "--base REV"},
    {0},
};

const struct command command_gate = {
    .name = "gate",
    .summary = "Compare two commits side by side; the exit code is the verdict",
    .json = OUTPUT_JSON ".",
    .shared = SHARED_MEASURE | SHARED_OUT | SHARED_WHICH,
    .options = own_options,
    .defaults = &usual,
    .check = check,
    .uses = uses,
    .size = sizeof(struct arguments),
    .run = run,
    .doc = "Measures the kernels of two commits side by side and judges each series.\v"
           "The policy is that of the BASE commit; where the tip of the remote's main branch "
           "is stricter, the stricter value counts, and the report says so. plumb measures "
           "only kernels whose machine code differs. It does not try code again that is known "
           "to hang or crash here (`plumb run --again` does). An epoch that comes with HEAD "
           "(`plumb accept`) accepts a slowdown or a removal. If gate.accept is base, or HEAD "
           "may be a stranger's, the base must have that epoch. With --head-toolchain (and "
           "--base-toolchain) each side is built by a [toolchain] of the policy: one source "
           "under two compilers, or under two settings of one. Kernels that become the same "
           "bytes are not measured.\n\n"
           "Beside time: each [metric \"NAME\"] of the policy compares a figure of builds or "
           "kernels with the base's (build-seconds, library-size, registers, spills, stack, "
           "shared-memory, code-size, memory-peak). A figure that is worse by more than its "
           "margin is a regression.\n\n"
           "Many machines: each measures one part into a store of its own (--part 1/8 --store "
           "shard-1.db), `plumb store merge` merges these stores, and --join judges them as "
           "one gate; ci/fleet does all of this by Slurm. The command for a part ends with 0 "
           "once the part is measured.\n\n"
           "Exit: 0 no regression, 1 regression, 2 undecided, void, or nothing of what changed "
           "was judged, 3 a kernel was broken or never worked, 4 the tool could not do its "
           "work.",
};
