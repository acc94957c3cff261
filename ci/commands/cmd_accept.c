// SPDX-License-Identifier: Apache-2.0
//
// plumb accept: writes accepted changes of baseline as epochs into a file of the repository, where
// a pull request shows them to a reviewer. Nothing else is changed; the store is only read.
#include "ci/command.h"
#include "ci/gate/conclude.h"
#include "ci/gate/mixes.h"
#include "ci/settings/context.h"
#include "ci/settings/epochs.h"
#include "ci/settings/metric.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct arguments {
    struct options options;
    const char *reason, *who, *file, *commit;
    double level;
    bool has_level, dry_run;
    int64_t run_id;
};

// Parses "+3.1%" or a log ratio.
static int parse_level(double *out, const char *text)
{
    size_t length = strlen(text);
    char number[32];
    double value;
    const char *from = text[0] == '+' ? text + 1 : text;
    if (length == 0 || length >= sizeof(number))
        return -1;
    text_copy(number, sizeof(number), from);
    bool percent = text[length - 1] == '%';
    if (percent)
        number[strlen(number) - 1] = '\0';
    if (parse_double(&value, number) || (percent && value <= -100))
        return -1;
    *out = percent ? log1p(value / 100) : value;
    return fabs(*out) <= 10 ? 0 : -1;
}

static int take_level(void *arguments, const char *text)
{
    struct arguments *a = arguments;
    a->has_level = true;
    return parse_level(&a->level, text);
}

static const struct command_option own_options[] = {
    OPTION_TEXT("reason", 'm', "TEXT", "Why it is accepted; needed", reason),
    OPTION_RUN("run", "The gate's run whose changes are accepted [the newest]", run_id),
    OPTION_OWN("level", 0, "CHANGE", "Accept this change instead, e.g. +3.1% or 0.0305 (log ratio)",
               take_level, "a change such as +3.1% or a log ratio such as 0.0305"),
    OPTION_TEXT("commit", 0, "REV", "From this commit on [the run's head; with --level: HEAD]",
                commit),
    OPTION_TEXT("who", 0, "NAME", "Who accepts [user.name and user.email of git's configuration]",
                who),
    OPTION_TEXT("file", 0, "FILE", "File of epochs [REPO/" EPOCHS_PATH "]", file),
    OPTION_FLAG("dry-run", 'n', "Only show what would be written", dry_run),
    {0},
};

static int check(void *arguments, struct error *err)
{
    const struct arguments *a = arguments;
    if (!a->reason)
        return error_set(err, "say why: --reason=TEXT");
    if (a->has_level && a->options.words.count == 0)
        return error_set(err, "--level needs the series it is for, e.g. 'tiled*'");
    return 0;
}

// Completes a pattern: 'tiled*' becomes 'tiled* * *'.
static const char *whole_pattern(struct arena *arena, const char *pattern)
{
    int spaces = 0;
    for (const char *c = pattern; *c; c++)
        spaces += *c == ' ';
    return arena_printf(arena, "%s%s", pattern, spaces == 0 ? " * *" : spaces == 1 ? " *" : "");
}

// The pattern with its problem in the form that a series has, if it names the result's problem in
// another spelling, such as the policy's 64x64x64:fp32.
static const char *respelled(struct arena *arena, const char *pattern, const struct result *r)
{
    const size_t kernel = strcspn(pattern, " ");
    const char *problem = pattern + kernel + 1;
    const size_t length = strcspn(problem, " ");
    char text[PROBLEM_TEXT];
    if (!problem_is_named(&r->problem, arena_strndup(arena, problem, length)))
        return pattern;
    problem_format(text, &r->problem);
    return arena_printf(arena, "%.*s %s%s", (int)kernel, pattern, text, problem + length);
}

static bool is_gone(const struct result *r)
{
    return r->verdict.kind == VERDICT_BROKEN && r->head.state == MEASURED_MISSING;
}

static bool wanted(const struct arguments *a, struct arena *arena, const struct run *run,
                   const struct result *r)
{
    const bool moved = r->verdict.kind == VERDICT_SLOWER || r->verdict.kind == VERDICT_FASTER;
    if (!moved && !is_gone(r))
        return false;
    for (int i = 0; i < (int)a->options.words.count; i++) {
        const char *word = whole_pattern(arena, a->options.words.items[i]);
        const struct epoch pattern = {.series = respelled(arena, word, r)};
        if (epoch_matches(&pattern, r->kernel, &r->problem, run->devices[r->device].uuid))
            return true;
    }
    return (int)a->options.words.count == 0;
}

static bool wanted_text(const struct arguments *a, struct arena *arena, const char *series)
{
    const size_t kernel = strcspn(series, " "), problem = strcspn(series + kernel + 1, " ");
    const char *names[] = {arena_strndup(arena, series, kernel),
                           arena_strndup(arena, series + kernel + 1, problem)};
    for (size_t i = 0; i < a->options.words.count; i++) {
        const struct epoch pattern = {.series = whole_pattern(arena, a->options.words.items[i])};
        if (epoch_matches_text(&pattern, names[0], names[1], series + kernel + problem + 2))
            return true;
    }
    return a->options.words.count == 0;
}

static void add_epoch(struct epoch_list *list, const struct epoch *epoch)
{
    list->epochs = xrealloc(list->epochs, list->count + 1, sizeof(*list->epochs));
    list->epochs[list->count++] = *epoch;
}

// Adds the mixes that failed the gate.
static void mixes_from_run(struct epoch_list *out, const struct arguments *a, struct arena *arena,
                           struct run *run, struct epoch epoch)
{
    mixes_restore(run);
    for (size_t i = 0; i < run->mix_count; i++) {
        const struct mix_result *mix = &run->mixes[i];
        epoch.series = mix_series(run, mix, arena);
        epoch.level = mix->log_ratio.value;
        if (mix->kind == VERDICT_SLOWER && mix->margin > 0 && wanted_text(a, arena, epoch.series))
            add_epoch(out, &epoch);
    }
}

// Adds the metrics that failed the gate.
static void metrics_from_run(struct epoch_list *out, const struct arguments *a, struct arena *arena,
                             const struct run *run, struct epoch epoch)
{
    for (size_t i = 0; i < run->metric_count; i++) {
        const struct metric_result *m = &run->metrics[i];
        epoch.series = metric_epoch_series(m->subject, m->name, m->device, arena);
        epoch.level = metric_worse_by(m->base, m->head, m->higher);
        if (m->kind == VERDICT_SLOWER && wanted_text(a, arena, epoch.series))
            add_epoch(out, &epoch);
    }
}

// Adds an epoch for each series that the gate found changed or missing.
static int from_run(struct epoch_list *out, const struct arguments *a, struct context *context,
                    struct epoch epoch, struct error *err)
{
    struct run run = {0};
    int64_t id = a->run_id;
    if (context_store(context, STORE_READ, err) ||
        (!id && store_last_run(&id, context->store, RUN_GATE, err)))
        return -1;
    if (!id)
        return error_set(err,
                         "%s: no gate's run to accept; `plumb gate` makes one, or give --level",
                         store_path(context->store));
    if (store_load_run(&run, context->store, id, err))
        return -1;
    if (!a->commit)
        text_copy(epoch.commit, sizeof(epoch.commit), run.head.id);
    for (size_t i = 0; i < run.count; i++) {
        char problem[PROBLEM_TEXT];
        const struct result *r = &run.results[i];
        if (!wanted(a, &context->arena, &run, r))
            continue;
        problem_format(problem, &r->problem);
        epoch.series = arena_printf(&context->arena, "%s %s %s", r->kernel, problem,
                                    run.devices[r->device].uuid);
        epoch.removed = is_gone(r);
        epoch.level = epoch.removed ? 0 : r->verdict.log_ratio.value;
        add_epoch(out, &epoch);
    }
    epoch.removed = false;
    mixes_from_run(out, a, &context->arena, &run, epoch);
    metrics_from_run(out, a, &context->arena, &run, epoch);
    run_free(&run);
    return out->count ? 0
                      : error_set(err,
                                  "run %lld: nothing slower, faster or gone%s; nothing to "
                                  "accept (--run takes another of `plumb report --list`)",
                                  (long long)id, (int)a->options.words.count ? " matches" : "");
}

// Warns of a series that the store does not know, because the epoch of a misspelt name accepts
// nothing. It is written all the same, because another machine's store may know it.
static void tell_unknown(const struct arguments *a, struct context *context)
{
    struct series_entry *known;
    struct error ignored; // without a store no series is known
    size_t count;
    if (context_store(context, STORE_READ, &ignored) ||
        store_list_series(&known, &count, context->store, &context->arena, &ignored))
        return;
    for (size_t i = 0; i < a->options.words.count; i++) {
        const char *words = a->options.words.items[i];
        const struct epoch pattern = {.series = whole_pattern(&context->arena, words)};
        size_t k = 0;
        if (strstr(pattern.series, " mix:") || strstr(pattern.series, " metric:"))
            continue; // it is no series; the policy knows it
        while (k < count &&
               !epoch_matches(&pattern, known[k].kernel, &known[k].problem, known[k].device_uuid))
            k++;
        if (k == count)
            fprintf(stderr,
                    "plumb: no series that is measured here matches '%.80s'; `plumb "
                    "history` names them\n",
                    words);
    }
}

static int choose(struct epoch_list *out, const struct arguments *a, struct context *context,
                  struct error *err)
{
    struct commit commit;
    struct epoch epoch = {
        .reason = a->reason, .level = a->level, .when_s = time(NULL) / 86400 * 86400};
    if (epochs_who(&epoch.who, a->who, context, err))
        return -1;
    if (a->commit || a->has_level) {
        if (repository_commit(&commit, context->repository, a->commit ? a->commit : "HEAD",
                              &context->arena, err))
            return -1;
        text_copy(epoch.commit, sizeof(epoch.commit), commit.id);
    }
    if (!a->has_level)
        return from_run(out, a, context, epoch, err);
    tell_unknown(a, context);
    for (int i = 0; i < (int)a->options.words.count; i++) {
        epoch.series = whole_pattern(&context->arena, a->options.words.items[i]);
        add_epoch(out, &epoch);
    }
    return 0;
}

// Formats the new epochs as text; *count is their number.
static int format_new(char **out, size_t *count, const struct epoch_list *list,
                      const struct epoch_list *known, struct arena *arena, struct error *err)
{
    *out = arena_strdup(arena, "");
    *count = 0;
    for (size_t i = 0; i < list->count; i++) {
        char *block;
        if (epoch_known(known, &list->epochs[i]))
            continue;
        *count += 1;
        if (epoch_format(&block, &list->epochs[i], arena, err))
            return -1;
        *out = arena_printf(arena, "%s\n%s", *out, block);
    }
    return 0;
}

static int accept_changes(const struct arguments *a, struct context *context, struct error *err)
{
    struct epoch_list list = {0}, known;
    char *before, *added;
    size_t count;
    if (context_open(context, &a->options, err))
        return -1;
    struct arena *arena = &context->arena;
    if (!a->file && repository_is_bare(context->repository))
        return error_set(err,
                         "%s: a bare repository has no checkout to write to; give --file FILE, "
                         "and commit it as " EPOCHS_PATH " of a clone",
                         repository_directory(context->repository));
    const char *path = epochs_path(context, a->file);
    int status = choose(&list, a, context, err);
    if (status == 0)
        status = epochs_read(&known, &before, path, arena, err);
    if (status == 0)
        status = format_new(&added, &count, &list, &known, arena, err);
    if (status == 0 && count && !a->dry_run)
        status = epochs_add(path, before, added, err);
    if (status == 0 && count)
        printf("%s\n%s: %zu %s %s\n", added + 1, path, count, plural(count, "epoch", "epochs"),
               a->dry_run ? "would be added" : "added; commit the file so that it is reviewed");
    else if (status == 0)
        printf("%s: has them all already\n", path);
    free(list.epochs);
    return status;
}

static int run(enum conclusion *out, struct context *context, void *arguments, struct error *err)
{
    (void)out;
    return accept_changes(arguments, context, err);
}

static bool reads_run(const void *arguments)
{
    const struct arguments *a = arguments;
    return !a->has_level;
}

static const struct option_use uses[] = {
    {"run store", reads_run, "what a gate found; --level says the change itself"}, {0}};

const struct command command_accept = {
    .name = "accept",
    .summary = "Accept changes of baseline, for review in a pull request",
    .words = "[SERIES...]",
    .words_most = WORDS_ANY,
    .shared = SHARED_STORE,
    .options = own_options,
    .check = check,
    .uses = uses,
    .size = sizeof(struct arguments),
    .run = run,
    .doc = "Accepts changes of baseline: writes them as epochs into a file that is committed "
           "and reviewed.\v"
           "SERIES is 'KERNEL [PROBLEM [DEVICE]]' with * and ? as wildcards. Without any, "
           "plumb accepts all that the gate found slower, faster or gone. A mix has mix:NAME "
           "in place of a problem, a metric metric:NAME. Commit the file with the change: then "
           "the gate says accepted instead of slower (gate.accept in the policy), and the "
           "events that led to the accepted state are accepted, too (`plumb events`).",
};
