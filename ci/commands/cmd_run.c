// SPDX-License-Identifier: Apache-2.0
//
// plumb run: measures commits one by one, oldest first, and skips those that are known.

#include "ci/command.h"
#include "ci/commands/output.h"
#include "ci/gate/conclude.h"
#include "ci/gate/pipeline.h"
#include "ci/gate/task_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Counts over all commits of a command.
struct run_tally {
    struct answer *answer; // NULL: text is printed
    size_t known, left;    // numbers of commits
    size_t before;         // how many do not build and are older than the policy
};

// ---- commits as text ----

// Whether a commit does not build and has no policy of its own, so that it may have no shims
// either.
static bool is_before_policy(const struct measured *measured, const struct context *context)
{
    char policy[OBJECT_ID_TEXT];
    struct error ignored;
    return measured->built.state == MEASURED_UNBUILDABLE && !context->policy.recipe.overlay &&
           repository_path_id(policy, context->repository, measured->built.commit.id, POLICY_PATH,
                              &ignored) == 0 &&
           !policy[0];
}

// Counts a commit that was measured or could not be built.
static void run_tally_add(struct run_tally *tally, const struct measured *measured,
                          const struct context *context)
{
    tally->before += is_before_policy(measured, context);
}

// Says how many commits of one toolchain were measured, and how many are left.
static void run_tally_say_left(struct run_tally *tally, size_t commits, size_t measured,
                               size_t left)
{
    tally->known += commits - measured - left;
    tally->left += left;
    if (!tally->answer && left)
        printf("--seconds: %zu of %zu commits are left; the same command goes on\n", left, commits);
    else if (!tally->answer && commits == 0)
        printf("nothing to do: the range holds no commits; A..B are those of B that A lacks, TAGS "
               "those with a tag, NEW those that no run measured\n");
    else if (!tally->answer && !measured)
        printf("nothing to do: %zu %s measured already\n", commits,
               plural(commits, "commit is", "commits are"));
}

// Says how many commits are older than the policy; `before` is the count at the start.
static void run_tally_say_before(const struct run_tally *tally, struct context *context,
                                 size_t before)
{
    const size_t count = tally->before - before;
    if (count)
        progress_note(&context->progress,
                      "%zu %s not build and %s no " POLICY_PATH "; what such commits lack can lie "
                      "outside of them: `plumb init --outside DIR`, --overlay DIR",
                      count, plural(count, "commit does", "commits do"),
                      plural(count, "has", "have"));
}

struct arguments {
    struct options options;
    struct commit_selection selection;
    struct work_part part;
    struct toolchain_names toolchains;
    bool again, controls, all, json;
};

static int take_part(void *arguments, const char *text)
{
    return part_parse(&((struct arguments *)arguments)->part, text);
}

static int take_toolchain(void *arguments, const char *text)
{
    return toolchain_names_add(&((struct arguments *)arguments)->toolchains, text);
}

static const struct command_option own_options[] = {
    OPTION_COUNT("steps", "N", "At most N commits of the range, evenly spaced", selection.steps, 1,
                 1000000),
    OPTION_FLAG("first-parent", 0, "One commit per merge", selection.first_parent),
    OPTION_FLAG("all", 0, "Also commits that change nothing the build reads", all),
    OPTION_FLAG("again", 0, "Measure even what is known", again),
    OPTION_FLAG("controls", 0,
                "Measure the controls even where they are known, e.g. nightly; on a device with "
                "fewer than three everything",
                controls),
    OPTION_OWN("toolchain", 0, "NAME",
               "Build by this toolchain of the policy; repeat for several, \"default\" is the one "
               "without a section",
               take_toolchain, TOOLCHAIN_NAMES_MUST),
    OPTION_COUNT("seconds", "N", "Begin no commit after this time", options.seconds, 1, 86400),
    OPTION_OWN("part", 0, "I/N", "Only the I-th of N stretches of the commits", take_part,
               "a part such as 3/8"),
    OPTION_FORMAT(json),
    {0},
};

static enum anew anew_of(const struct arguments *a)
{
    return a->again ? ANEW_ALL : a->controls ? ANEW_CONTROLS : ANEW_NOTHING;
}

// For NEW: keeps the commits after the newest one that has a run, along first parents. A
// measurement on a branch is no run of the commit that merges it. A run under any driver counts, so
// that a new driver does not make the whole history new.
static int keep_new(struct commit_list *commits, struct context *context,
                    const struct toolchain *toolchain, struct error *err)
{
    size_t first = commits->count;
    while (first > 0) {
        bool measured;
        const struct to_build newest = {.commit = &commits->items[first - 1],
                                        .toolchain = toolchain};
        if (run_known_newest(&measured, context, &newest, true, err))
            return -1;
        if (measured)
            break;
        first--;
    }
    commits->items += first;
    commits->count -= first;
    return 0;
}

// Keeps one part's stretch of the commits. It begins with the last commit of the stretch before, so
// that the change between the two is measured on one device.
static void keep_part(struct commit_list *commits, const struct work_part *part)
{
    size_t first, end;
    part_stretch(&first, &end, part, commits->count);
    if (first > 0 && first < end)
        first--;
    commits->items += first;
    commits->count = end - first;
}

static int select_commits(struct commit_list *out, struct context *context,
                          const struct arguments *a, const struct toolchain *toolchain,
                          struct error *err)
{
    struct commit_selection selection = a->selection;
    bool only_new = selection.range && strcmp(selection.range, "NEW") == 0;
    if (!selection.range)
        selection.range = "HEAD";
    selection.only_changes = !a->all;
    selection.paths = context->policy.recipe.inputs;
    selection.path_count = context->policy.recipe.input_count;
    if (only_new)
        selection.range = "LINE";
    if (repository_select(out, context->repository, &selection, &context->arena, err))
        return -1;
    if (out->passed_over)
        progress_note(
            &context->progress,
            "%zu %s nothing that the build reads and %s passed over; --all visits %s",
            out->passed_over, plural(out->passed_over, "commit changes", "commits change"),
            plural(out->passed_over, "is", "are"), plural(out->passed_over, "it", "them"));
    keep_part(out, &a->part);
    return only_new ? keep_new(out, context, toolchain, err) : 0;
}

// All runs of the store; read when they are first needed.
struct stored_runs {
    struct run_entry *items;
    size_t count;
    bool read;
};

// Loads what the store has of a known commit.
static int load_known(struct run *last, struct stored_runs *runs, struct context *context,
                      const struct to_build *what, struct error *err)
{
    struct arena *arena = &context->arena;
    struct build_record record = {0};
    bool found = false;
    const char *toolchain = what->toolchain->name ? what->toolchain->name : "";
    if (store_find_commit_build(&record, &found, context->store, what->commit,
                                built_recipe(context, what->toolchain), arena, err) ||
        (!runs->read &&
         store_list_runs(&runs->items, &runs->count, context->store, RUN_MEASURE, 0, arena, err)))
        return -1;
    runs->read = true;
    run_free(last);
    *last = (struct run){.head = *what->commit};
    for (size_t i = 0; i < runs->count && !last->headline; i++) {
        const struct run_entry *e = &runs->items[i];
        if (e->finished_s && strcmp(e->head, what->commit->id) == 0 &&
            strcmp(e->toolchain[ROLE_HEAD], toolchain) == 0) {
            last->conclusion = e->conclusion;
            last->headline = arena_strdup(&last->arena, e->headline);
        }
    }
    if (found && record.state != MEASURED_OK)
        conclude_unbuilt(last, NULL, record.detail);
    return 0;
}

// The folder for reports. With several toolchains each has a folder of its name.
static const char *out_of(struct context *context, const struct arguments *a,
                          const struct toolchain *toolchain)
{
    const char *name = toolchain->name ? toolchain->name : TOOLCHAIN_DEFAULT;
    return a->options.out && a->toolchains.count > 1
               ? arena_printf(&context->arena, "%s/%s", a->options.out, name)
               : a->options.out;
}

// How many commits are linked, judged and reported together. Until then their runs are not
// finished.
enum { TOGETHER = 32 };

// Ranks a conclusion, to choose one exit code for several runs.
static int severity(enum conclusion conclusion)
{
    static const int of[] = {[CONCLUDE_OK] = 0,
                             [CONCLUDE_UNDECIDED] = 1,
                             [CONCLUDE_REGRESSION] = 2,
                             [CONCLUDE_BROKEN] = 3,
                             [CONCLUDE_FAILED] = 4};
    return of[conclusion];
}

// The conclusion and the headline of a commit.
struct told_commit {
    enum conclusion conclusion;
    const char *headline;
    char head[OBJECT_ID_TEXT];
};

struct waiting {
    const struct toolchain *toolchain;
    struct measured items[TOGETHER];
    size_t count;
    struct run last;          // the last run that was reported
    struct told_commit worst; // of all commits that are known, the worst; among equals the latest
    struct stored_runs stored;
    size_t told[CONCLUDE_FAILED + 1]; // how many commits had each conclusion
    bool several;                     // the command was asked for several commits
    struct run_tally *tally;
};

// Counts the run by its conclusion, and keeps the worst run so far.
static void note_run(struct waiting *w, const struct run *run, struct context *context)
{
    w->told[run->conclusion] += run->headline != NULL;
    if (!run->headline ||
        (w->worst.headline && severity(run->conclusion) < severity(w->worst.conclusion)))
        return;
    w->worst = (struct told_commit){.conclusion = run->conclusion,
                                    .headline = arena_strdup(&context->arena, run->headline)};
    memcpy(w->worst.head, run->head.id, sizeof(w->worst.head));
}

static int count_known(struct waiting *w, struct context *context, const struct to_build *what,
                       struct error *err)
{
    struct run run = {0};
    const int status = load_known(&run, &w->stored, context, what, err);
    if (status == 0)
        note_run(w, &run, context);
    run_free(&run);
    return status;
}

static int tell(struct waiting *w, struct measured *m, struct context *context,
                const struct arguments *a, struct error *err)
{
    const int status = pipeline_judge(m, context, err);
    const char *out = out_of(context, a, w->toolchain);
    if (w->several && !w->tally->answer)
        output_line(arena_printf(&context->arena, "commit       %.10s %.60s", m->run.head.id,
                                 m->run.head.summary));
    const int told = output_measured(w->tally->answer, &m->run, status, context, out, err);
    run_free(&w->last);
    w->last = m->run;
    note_run(w, &w->last, context);
    m->run = (struct run){0};
    return told;
}

// Links, judges and reports the waiting commits.
static int tell_all(struct waiting *w, struct context *context, const struct arguments *a,
                    struct error *err)
{
    int status = w->count ? pipeline_link(w->items, w->count, context, err) : 0;
    for (size_t i = 0; i < w->count; i++) {
        if (status == 0)
            status = tell(w, &w->items[i], context, a, err);
        run_free(&w->items[i].run);
    }
    w->count = 0;
    return status;
}

static int measure(struct waiting *w, const struct to_build *what, struct context *context,
                   const struct arguments *a, struct error *err)
{
    struct measured *m = &w->items[w->count];
    struct error before;
    *m = (struct measured){0};
    context->unbuilt = 0;
    if (pipeline_measure(m, context, what, anew_of(a), err)) {
        run_free(&m->run);
        (void)tell_all(w, context, a, &before); // they need not wait for the step that failed
        return -1;
    }
    run_tally_add(w->tally, m, context);
    if (!a->options.dry_run)
        return ++w->count == TOGETHER ? tell_all(w, context, a, err) : 0;
    output_plan(w->tally->answer, &m->run, m->compared, context);
    run_free(&m->run);
    return 0;
}

// Whether a waiting commit has this one's tree; its measurements will then count for this one, too.
static bool tree_waits(const struct waiting *w, const struct commit *commit)
{
    for (size_t i = 0; i < w->count; i++) {
        if (strcmp(w->items[i].run.head.tree, commit->tree) == 0)
            return true;
    }
    return false;
}

// Prints the last line for the whole range: the worst result, which also gives the exit code, and
// how the others ended.
static void tell_range(const struct waiting *w, struct context *context)
{
    static const struct {
        enum conclusion conclusion;
        const char *word;
    } words[] = {{CONCLUDE_BROKEN, "broken"},
                 {CONCLUDE_REGRESSION, "slower"},
                 {CONCLUDE_UNDECIDED, "undecided"},
                 {CONCLUDE_OK, "fine"}};
    struct arena *arena = &context->arena;
    const char *text = "";
    size_t count = 0;
    for (size_t i = 0; i < ARRAY_COUNT(words); i++) {
        const size_t of = w->told[words[i].conclusion];
        if (of)
            text = arena_printf(arena, "%s%s%zu %s", text, count ? ", " : "", of, words[i].word);
        count += of;
    }
    const struct told_commit *worst = &w->worst;
    if (count > 1 && worst->headline)
        output_line(arena_printf(arena, "%s (%s%.10s; of %zu commits %s)", worst->headline,
                                 strcmp(worst->head, w->last.head.id) == 0 ? "the newest, " : "",
                                 worst->head, count, text));
}

// Notes that the commit has the code that is known for its tree, so that its line can use that.
static int note_known(struct context *context, const struct to_build *what, struct error *err)
{
    struct build_record record = {0};
    struct arena arena = {0};
    bool found = false;
    int status = store_find_commit_build(&record, &found, context->store, what->commit,
                                         built_recipe(context, what->toolchain), &arena, err);
    if (status == 0 && found)
        status = store_record_build(context->store, what->commit, &record, err);
    arena_free(&arena);
    return status;
}

// Measures all selected commits, built by one toolchain.
static int run_commits(struct waiting *w, struct context *context, const struct arguments *a,
                       double deadline_s, struct error *err)
{
    struct commit_list commits;
    const char *by = w->toolchain->name;
    const size_t before = w->tally->before;
    size_t measured = 0, left = 0;
    bool known = false; // whether the newest one is known
    struct to_build what = {.toolchain = w->toolchain};
    // A missing range is reported before a missing device.
    if (select_commits(&commits, context, a, w->toolchain, err) ||
        (!context->device_count && context_devices(context, err)))
        return -1;
    w->several = commits.count > 1;
    if (commits.count)
        context_tell_edits(context, commits.items[commits.count - 1].id);
    for (size_t i = 0; i < commits.count && !left; i++) {
        what.commit = &commits.items[i];
        known = false;
        const bool is_last = i + 1 == commits.count;
        what.may_lack = !is_last;
        if (!anew_of(a) &&
            (is_last ? run_known_newest : run_known)(&known, context, &what, false, err))
            return -1;
        known = known || (!anew_of(a) && !is_last && tree_waits(w, what.commit));
        if (known && !a->options.dry_run &&
            (note_known(context, &what, err) || (!is_last && count_known(w, context, &what, err))))
            return -1;
        if (known)
            continue;
        if (a->options.seconds && monotonic_s() >= deadline_s) {
            left = commits.count - i;
            break;
        }
        progress_note(&context->progress, "commit %zu of %zu: %.10s %.60s%s%s", i + 1,
                      commits.count, what.commit->id, what.commit->summary, by ? ", by " : "",
                      by ? by : "");
        if (measure(w, &what, context, a, err))
            return -1;
        measured++;
    }
    if (tell_all(w, context, a, err))
        return -1;
    run_tally_say_left(w->tally, commits.count, measured, left);
    run_tally_say_before(w->tally, context, before);
    if (known && !a->options.dry_run) {
        if (load_known(&w->last, &w->stored, context, &what, err))
            return -1;
        if (w->last.headline && !w->tally->answer)
            output_headline(&w->last);
        note_run(w, &w->last, context);
    }
    if (!w->tally->answer && !a->options.dry_run)
        tell_range(w, context);
    return 0;
}

static int run_toolchains(enum conclusion *out, struct run_tally *tally, struct context *context,
                          const struct arguments *a, struct error *err)
{
    static const char *const alone[] = {TOOLCHAIN_DEFAULT};
    const char *const *names = a->toolchains.count ? a->toolchains.names : alone;
    const size_t count = a->toolchains.count ? a->toolchains.count : 1;
    const double deadline_s = monotonic_s() + a->options.seconds;
    const char *worst = NULL;
    for (size_t i = 0; i < count; i++) {
        struct waiting *w = xcalloc(1, sizeof(*w));
        const struct told_commit *last = &w->worst;
        w->tally = tally;
        const int status = context_toolchain(&w->toolchain, context, names[i], err) ||
                           run_commits(w, context, a, deadline_s, err);
        if (status == 0 && (i == 0 || severity(last->conclusion) > severity(*out))) {
            *out = last->conclusion;
            worst = last->headline
                        ? arena_printf(&context->arena, "%s: %s", names[i], last->headline)
                        : NULL;
        }
        run_free(&w->last);
        free(w);
        if (status)
            return -1;
    }
    if (count > 1 && worst && !a->options.dry_run && !tally->answer)
        output_line(worst);
    return 0;
}

static int open_and_run(enum conclusion *out, struct run_tally *tally, struct context *context,
                        const struct arguments *a, struct error *err)
{
    const char *folder = a->options.dry_run ? NULL : a->options.out;
    if ((folder && output_directory(folder, err)) || context_open(context, &a->options, err) ||
        context_policy(context, "", err) || context_store(context, STORE_WRITE, err) ||
        context_builder(context, err))
        return -1;
    return run_toolchains(out, tally, context, a, err);
}

// NEW means what a store does not have, and the store of a part has nothing.
static int check(void *arguments, struct error *err)
{
    const struct arguments *a = arguments;
    const char *range = a->options.words.count ? a->options.words.items[0] : "HEAD";
    return a->part.count && strcmp(range, "NEW") == 0
               ? error_set(err, "--part takes a range such as A..B; NEW depends on the store")
               : 0;
}

static bool visits_several(const void *arguments)
{
    static const char *const ranges[] = {"TAGS", "ALL", "NEW"};
    const struct arguments *a = arguments;
    const char *range = a->options.words.count ? a->options.words.items[0] : "HEAD";
    bool several = strstr(range, "..") != NULL;
    for (size_t i = 0; i < ARRAY_COUNT(ranges); i++)
        several |= strcmp(range, ranges[i]) == 0;
    return several;
}

static const struct option_use uses[] = {
    {"steps first-parent all", visits_several, "a range: A..B, TAGS, ALL or NEW"}, {0}};

static int run(enum conclusion *out, struct context *context, void *arguments, struct error *err)
{
    struct arguments *a = arguments;
    if (a->options.words.count)
        a->selection.range = a->options.words.items[0];
    struct answer kept, *answer = answer_if(&kept, a->json, a->options.dry_run ? "series" : "runs");
    struct run_tally tally = {.answer = answer};
    const int status = open_and_run(out, &tally, context, a, err);
    if (answer && status == 0) {
        struct json *whole = answer_whole(answer);
        json_int(whole, "known", (int64_t)tally.known);
        json_int(whole, "left", (int64_t)tally.left);
        json_int(whole, "exit_code", (int64_t)*out);
    }
    return answer_leave(answer, status);
}

const struct command command_run = {
    .name = "run",
    .summary = "Measure a range of commits; skip what is known",
    .words = "[RANGE]",
    .words_most = 1,
    .json = OUTPUT_JSON "; then known and left, numbers of commits, and exit_code.",
    .shared = SHARED_MEASURE | SHARED_OUT | SHARED_WHICH,
    .options = own_options,
    .check = check,
    .uses = uses,
    .size = sizeof(struct arguments),
    .run = run,
    .doc = "Measures the kernels of each commit of RANGE, oldest first.\v"
           "RANGE is a revision (HEAD if absent), A..B, TAGS, ALL (every commit that a branch "
           "or tag reaches) or NEW (HEAD and its first parents, back to the newest one that "
           "was run). Of a range, ALL and NEW, plumb visits only the first commit and those "
           "that change one of the policy's inputs (--all: every one).\n\n"
           "plumb does not measure what it has measured already with the device's present "
           "driver, nor identical machine code (except, without links, code that came back "
           "after other code), nor code that hung or crashed (except if it was killed from "
           "outside or has more time now). --again measures all of this. --controls measures "
           "the controls again, which show whether the machine is as it was. A commit is "
           "compared with the code of its first parent, wherever that was measured. So a slow "
           "branch is reported again where it reaches main, by a merge, a squash or a rebase, "
           "and nothing is measured for it. A run that was killed goes on where it was. With "
           "--toolchain each named toolchain does all of this, with a history of its own; code "
           "that two of them make into the same bytes is measured once.\n\n"
           "Many machines: each measures one stretch into a store of its own (--part 1/8 "
           "--store shard-1.db), and `plumb store merge` merges these; ci/fleet does it by "
           "Slurm.\n\n"
           "The exit code is the worst of the commits reported, by each toolchain: 0 no "
           "regression, 1 slower than its history, 2 undecided or nothing judged, 3 a kernel "
           "is broken, 4 the tool could not do its work.",
};
