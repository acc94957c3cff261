// SPDX-License-Identifier: Apache-2.0
//
// plumb run: measures commits one by one, oldest first, and skips what is known.
#include "ci/command.h"
#include "ci/commands/output.h"
#include "ci/gate/conclude.h"
#include "ci/gate/known.h"
#include "ci/gate/pipeline.h"

#include <stdio.h>
#include <string.h>

struct arguments {
    struct options options;
    struct commit_selection selection;
    struct part part;
    bool again, all;
};

static int take_part(void *arguments, const char *text)
{
    return part_parse(&((struct arguments *)arguments)->part, text);
}

static const struct command_option own_options[] = {
    OPTION_COUNT("steps", "N", "At most N commits of the range, evenly spaced", selection.steps, 1,
                 1000000),
    OPTION_FLAG("first-parent", 0, "One commit per merge", selection.first_parent),
    OPTION_FLAG("all", 0, "Also commits that change nothing the build reads", all),
    OPTION_FLAG("again", 0, "Measure even what is known, e.g. nightly", again),
    OPTION_COUNT("seconds", "N", "Begin no commit after this time", options.seconds, 1, 86400),
    OPTION_OWN("part", 0, "I/N", "Only the I-th of N stretches of the commits", take_part,
               "a part such as 3/8"),
    {0},
};

// NEW: the commits after the newest measured one, by first parents. By whatever driver: a new one
// does not make the whole history new.
static int keep_new(struct commit_list *commits, struct context *context, struct error *err)
{
    size_t first = commits->count;
    while (first > 0) {
        bool measured;
        if (run_known(&measured, context, &commits->items[first - 1], true, err))
            return -1;
        if (measured)
            break;
        first--;
    }
    commits->items += first;
    commits->count -= first;
    return 0;
}

// A stretch begins with the last commit of the one before, so that what changed between the two is
// measured on one device.
static void keep_part(struct commit_list *commits, const struct part *part)
{
    size_t first, end;
    part_stretch(&first, &end, part, commits->count);
    if (first > 0 && first < end)
        first--;
    commits->items += first;
    commits->count = end - first;
}

static int select_commits(struct commit_list *out, struct context *context,
                          const struct arguments *a, struct error *err)
{
    struct commit_selection selection = a->selection;
    bool only_new = selection.range && strcmp(selection.range, "NEW") == 0;
    if (!selection.range)
        selection.range = "HEAD";
    selection.only_changes = !a->all;
    selection.paths = context->policy.recipe.inputs;
    selection.path_count = context->policy.recipe.input_count;
    if (only_new) {
        selection.range = "ALL";
        selection.first_parent = true;
    }
    if (repository_select(out, context->repository, &selection, &context->arena, err))
        return -1;
    if (out->passed_over)
        progress_note(
            &context->progress,
            "%zu %s nothing that the build reads and %s passed over; --all visits %s",
            out->passed_over, plural(out->passed_over, "commit changes", "commits change"),
            plural(out->passed_over, "is", "are"), plural(out->passed_over, "it", "them"));
    keep_part(out, &a->part);
    return only_new ? keep_new(out, context, err) : 0;
}

// The newest commit decides, and is known: what is stored of it is said again.
static int conclude_known(struct run *last, struct context *context, const struct commit *newest,
                          struct error *err)
{
    struct arena *arena = &context->arena;
    struct build_record record = {0};
    struct run_entry *runs = NULL;
    size_t count = 0;
    bool found = false;
    if (store_find_commit_build(&record, &found, context->store, newest, built_recipe(context),
                                arena, err) ||
        store_list_runs(&runs, &count, context->store, RUN_MEASURE, 0, arena, err))
        return -1;
    run_free(last);
    *last = (struct run){.head = *newest};
    for (size_t i = 0; i < count && !last->headline; i++) {
        if (runs[i].finished_s && strcmp(runs[i].head, newest->id) == 0) {
            last->conclusion = runs[i].conclusion;
            last->headline = arena_strdup(&last->arena, runs[i].headline);
        }
    }
    if (found && record.state != MEASURED_OK)
        conclude_unbuilt(last, record.detail);
    if (last->headline)
        output_headline(last);
    return 0;
}

static int run_commits(struct run *last, struct context *context, const struct arguments *a,
                       struct error *err)
{
    struct commit_list commits;
    size_t measured = 0;
    bool known = false; // the newest one
    if (select_commits(&commits, context, a, err))
        return -1;
    bool late = false;
    const double deadline_s = monotonic_s() + a->options.seconds;
    for (size_t i = 0; i < commits.count; i++) {
        const struct commit *commit = &commits.items[i];
        known = false;
        if (!a->again && run_known(&known, context, commit, false, err))
            return -1;
        if (known)
            continue;
        late = a->options.seconds && monotonic_s() >= deadline_s;
        if (late) {
            printf("--seconds: %zu of %zu commits are left; the same command goes on\n",
                   commits.count - i, commits.count);
            break;
        }
        progress_note(&context->progress, "commit %zu of %zu: %.10s %.60s", i + 1, commits.count,
                      commit->id, commit->summary);
        run_free(last);
        context->unbuilt = 0;
        int status = pipeline_measure(last, context, commit, a->again, err);
        measured++;
        if (a->options.dry_run && status == 0) {
            if (output_plan(last, context, a->again, err))
                return -1;
        } else if (output_measured(last, status, context, a->options.out, err))
            return -1;
    }
    if (!measured && !late)
        printf("nothing to do: %zu %s measured already\n", commits.count,
               plural(commits.count, "commit is", "commits are"));
    if (known && !a->options.dry_run)
        return conclude_known(last, context, &commits.items[commits.count - 1], err);
    return 0;
}

static int open_and_run(struct run *last, struct context *context, const struct arguments *a,
                        struct error *err)
{
    const char *out = a->options.dry_run ? NULL : a->options.out;
    if ((out && report_directory(out, err)) || context_open(context, &a->options, err) ||
        context_policy(context, "", err) || context_store(context, STORE_WRITE, err) ||
        context_builder(context, err) || context_devices(context, err))
        return -1;
    return run_commits(last, context, a, err);
}

// NEW is what a store does not have, and a part's store has nothing.
static int check(void *arguments, struct error *err)
{
    const struct arguments *a = arguments;
    const char *range = a->options.words.count ? a->options.words.items[0] : "HEAD";
    return a->part.count && strcmp(range, "NEW") == 0
               ? error_set(err, "--part takes a range such as A..B; NEW depends on the store")
               : 0;
}

static int run(enum conclusion *out, struct context *context, void *arguments, struct error *err)
{
    struct arguments *a = arguments;
    struct run last = {0};
    if (a->options.words.count)
        a->selection.range = a->options.words.items[0];
    int status = open_and_run(&last, context, a, err);
    *out = last.conclusion;
    run_free(&last);
    return status;
}

const struct command command_run = {
    .name = "run",
    .summary = "Measure a range of commits; what is known is skipped",
    .words = "[RANGE]",
    .words_most = 1,
    .shared = SHARED_SELECT,
    .options = own_options,
    .check = check,
    .size = sizeof(struct arguments),
    .run = run,
    .doc =
        "Measures the kernels of each commit of RANGE, oldest first.\v"
        "RANGE is a revision (HEAD when absent), A..B, TAGS, ALL (every commit any branch or tag "
        "reaches) or NEW (ALL from HEAD back to the newest commit that is measured). Of a range, "
        "ALL and NEW, only the first commit and those that change one of the policy's inputs are "
        "visited (--all: every one). What is measured already with the device's present driver, "
        "and identical machine code, is not measured again; nor is code that hung or crashed, "
        "unless it was killed from outside or has more time now. --again measures all of it. A "
        "run that is killed goes on where it was.\n\nMany machines: each measures one stretch into "
        "a store of its own (--part 1/8 --store shard-1.db), and `plumb store merge` joins these; "
        "ci/fleet does it by Slurm.\n\nThe exit code is about the newest commit: 0 "
        "no regression, 1 slower than its history, 2 undecided or nothing judged, 3 a kernel is "
        "broken, 4 the tool could not do its work.",
};
