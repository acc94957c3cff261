// SPDX-License-Identifier: Apache-2.0
//
// plumb accept: writes accepted changes of baseline as epochs into a file of the repository, where
// a pull request shows them to a reviewer. Nothing else is changed; the store is only read.
#include "ci/command.h"
#include "ci/history/epochs_file.h"
#include "ci/settings/options.h"
#include "ci/settings/store_option.h"
#include "ci/settings/text_file.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

struct arguments {
    struct options options;
    const char *reason, *who, *file, *commit;
    double level;
    bool has_level, dry_run;
    int64_t run_id;
    char **patterns;
    int pattern_count;
};

enum { OPT_LEVEL = 2000, OPT_WHO, OPT_FILE, OPT_COMMIT, OPT_RUN };

static const struct argp_option table[] = {
    {"reason", 'm', "TEXT", 0, "Why it is accepted; needed", 1},
    {"run", OPT_RUN, "ID", 0, "The gate's run whose changes are accepted [the newest]", 1},
    {"level", OPT_LEVEL, "CHANGE", 0,
     "Accept this change instead, e.g. +3.1% or 0.0305 (log ratio)", 1},
    {"commit", OPT_COMMIT, "REV", 0, "From this commit on [the run's head; with --level: HEAD]", 1},
    {"who", OPT_WHO, "NAME", 0, "Who accepts [user.name and user.email of git's configuration]", 1},
    {"file", OPT_FILE, "FILE", 0, "File of epochs [REPO/" EPOCHS_PATH "]", 1},
    {"dry-run", 'n', NULL, 0, "Only show what would be written", 1},
    {0},
};

// "+3.1%" or a log ratio.
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

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &a->options;
        return 0;
    case 'm':
        a->reason = arg;
        return 0;
    case OPT_RUN:
        if (parse_int64(&a->run_id, arg) || a->run_id < 1)
            argp_error(state, "--run=%s: needs the number that `plumb report --list` shows", arg);
        return 0;
    case OPT_LEVEL:
        if (parse_level(&a->level, arg))
            argp_error(state, "--level=%s: a change such as +3.1%% or a log ratio such as 0.0305",
                       arg);
        a->has_level = true;
        return 0;
    case OPT_COMMIT:
        a->commit = arg;
        return 0;
    case OPT_WHO:
        a->who = arg;
        return 0;
    case OPT_FILE:
        a->file = arg;
        return 0;
    case 'n':
        a->dry_run = true;
        return 0;
    case ARGP_KEY_ARGS:
        a->patterns = state->argv + state->next;
        a->pattern_count = state->argc - state->next;
        return 0;
    case ARGP_KEY_END:
        if (!a->reason)
            argp_error(state, "say why: --reason=TEXT");
        if (a->has_level && a->pattern_count == 0)
            argp_error(state, "--level needs the series it is for, e.g. 'tiled*'");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&store_option_argp, 0, NULL, 0}, {0}};
static const struct argp argp = {
    .options = table,
    .parser = parse,
    .args_doc = "[SERIES...]",
    .doc =
        "Accepts changes of baseline: writes them as epochs into a file to be committed and "
        "reviewed.\v"
        "SERIES is 'KERNEL [PROBLEM [DEVICE]]' with * and ? as wildcards; without any, all that "
        "the gate found slower, faster or gone is accepted. Commit the file with the change: the "
        "gate then says accepted instead of slower (gate.accept in the policy).",
    .children = children,
};

// 'tiled*' becomes 'tiled* * *'.
static const char *whole_pattern(struct arena *arena, const char *pattern)
{
    int spaces = 0;
    for (const char *c = pattern; *c; c++)
        spaces += *c == ' ';
    return arena_printf(arena, "%s%s", pattern, spaces == 0 ? " * *" : spaces == 1 ? " *" : "");
}

static int find_who(const char **out, const struct arguments *a, struct context *context,
                    struct error *err)
{
    char *name, *mail;
    struct error why;
    *out = a->who;
    if (a->who)
        return 0;
    if (repository_user(&name, &mail, context->repository, &context->arena, &why))
        return error_set(err, "who accepts it? %s; give --who='NAME <MAIL>', or set them",
                         why.text);
    *out = arena_printf(&context->arena, "%s <%s>", name, mail);
    return 0;
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
    for (int i = 0; i < a->pattern_count; i++) {
        const struct epoch pattern = {.series = whole_pattern(arena, a->patterns[i])};
        if (epoch_matches(&pattern, r->kernel, &r->problem, run->devices[r->device].uuid))
            return true;
    }
    return a->pattern_count == 0;
}

static void add_epoch(struct epoch_list *list, const struct epoch *epoch)
{
    list->epochs = xrealloc(list->epochs, list->count + 1, sizeof(*list->epochs));
    list->epochs[list->count++] = *epoch;
}

// One epoch per series that the gate found changed or gone.
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
        epoch.level = epoch.removed ? 0 : r->verdict.log_ratio;
        add_epoch(out, &epoch);
    }
    run_free(&run);
    return out->count
               ? 0
               : error_set(err, "run %lld: nothing slower, faster or gone%s; nothing to accept",
                           (long long)id, a->pattern_count ? " matches" : "");
}

static int choose(struct epoch_list *out, const struct arguments *a, struct context *context,
                  struct error *err)
{
    struct commit commit;
    struct epoch epoch = {
        .reason = a->reason, .level = a->level, .when_s = time(NULL) / 86400 * 86400};
    if (find_who(&epoch.who, a, context, err))
        return -1;
    if (a->commit || a->has_level) {
        if (repository_commit(&commit, context->repository, a->commit ? a->commit : "HEAD",
                              &context->arena, err))
            return -1;
        text_copy(epoch.commit, sizeof(epoch.commit), commit.id);
    }
    if (!a->has_level)
        return from_run(out, a, context, epoch, err);
    for (int i = 0; i < a->pattern_count; i++) {
        epoch.series = whole_pattern(&context->arena, a->patterns[i]);
        add_epoch(out, &epoch);
    }
    return 0;
}

// The new ones as text; *count says how many they are.
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

static int write_epochs(const char *path, const char *before, const char *added, struct error *err)
{
    struct output_file out;
    const char *slash = strrchr(path, '/');
    char *folder = slash ? xprintf("%.*s", (int)(slash - path), path) : NULL;
    if (folder && folder[0])
        mkdir(folder, 0777); // if it fails, the file says so
    free(folder);
    if (output_file_open(&out, path, err))
        return -1;
    if (!before[0])
        fputs("# Accepted changes of baseline: plumb accept writes them, review accepts them.\n",
              out.file);
    size_t length = strlen(before);
    fprintf(out.file, "%s%s%s", before, length && before[length - 1] != '\n' ? "\n" : "", added);
    return output_file_close(&out, 0, err);
}

static int accept_changes(const struct arguments *a, struct context *context, struct error *err)
{
    struct epoch_list list = {0}, known;
    char *before, *added;
    size_t count;
    if (context_open(context, &a->options, err))
        return -1;
    struct arena *arena = &context->arena;
    const char *path =
        a->file ? a->file
                : arena_printf(arena, "%s/" EPOCHS_PATH, repository_directory(context->repository));
    int status = choose(&list, a, context, err);
    if (status == 0)
        status = epochs_read(&known, &before, path, arena, err);
    if (status == 0)
        status = format_new(&added, &count, &list, &known, arena, err);
    if (status == 0 && count && !a->dry_run)
        status = write_epochs(path, before, added, err);
    if (status == 0 && count)
        printf("%s\n%s: %zu %s %s\n", added + 1, path, count, plural(count, "epoch", "epochs"),
               a->dry_run ? "would be added" : "added; commit the file so that it is reviewed");
    else if (status == 0)
        printf("%s: has them all already\n", path);
    free(list.epochs);
    return status;
}

static int run_accept(int argc, char **argv)
{
    struct arguments a = {0};
    struct context context = {0};
    struct error err;
    int code = options_parse(&argp, argc, argv, &a);
    if (code)
        return code - 1;
    code = accept_changes(&a, &context, &err) ? fail(&err) : CONCLUDE_OK;
    context_close(&context);
    return code;
}

const struct command command_accept = {
    .name = "accept",
    .summary = "Accept changes of baseline, for review in a pull request",
    .run = run_accept,
};
