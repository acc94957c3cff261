// SPDX-License-Identifier: Apache-2.0
//
// plumb bisect: which commit made a series slower (or faster), by duets against the good commit
// until one commit holds the stated confidence. Each duet is a run in the store, so that a
// bisection that was interrupted asks for what it has and goes on (the maths is on top of
// model/gate/bisect.c).
#include "ci/command.h"
#include "ci/commands/bisect_drivers.h"
#include "ci/commands/bisect_events.h"
#include "ci/commands/bisection.h"
#include "ci/commands/toolchain_names.h"
#include "ci/gate/pipeline.h"
#include "model/gate/gate.h"
#include "model/robust.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

// ---- what is searched ----

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
    int status = bisection_begin(s, err);
    if (status == 0)
        status = bisection_search(&step, s, err);
    return status ? status : bisection_conclude(out, s, &step, err);
}

// One series, or what --kernel and --problem leave.
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
    return bisect_drivers(out, context, &a->options, s.kernel, problem, a->json, err);
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

const struct command command_bisect = {
    .name = "bisect",
    .summary = "Find the commit that changed a series' time",
    .json = "commits (commit, name, summary, probability, said), then found (the commit, or null), "
            "first and last (between which it is), probability, change, fits, kernel, problem and "
            "changes "
            "(status, path, added, removed); of a dry run commits (commit, name, built); with "
            "--drivers "
            "drivers (device, from, to, log_ratio, low, high, run_sd, codes, runs_before, "
            "runs_after, by_links, changed), then headline.",
    .shared = SHARED_SELECT,
    .options = own_options,
    .defaults = &usual,
    .check = check,
    .size = sizeof(struct arguments),
    .run = run,
    .doc =
        "Finds the commit that changed a series' time.\v"
        "Commits from GOOD to BAD by first parents are measured side by side with GOOD, each "
        "time the one that tells most, until one of them holds the confidence asked for. "
        "Commits that do not build or compute wrong results are passed over, and their "
        "successors not blamed for them. Every comparison is kept in the store: a bisection that "
        "was interrupted goes on. With --toolchain the commit stays and toolchains of the policy "
        "are "
        "searched: which of them made the series slower. With --events the good and bad commits "
        "come from the open events "
        "of "
        "several commits (`plumb events`); what came out is kept with each. With --drivers the "
        "store's plain runs "
        "are read: how much each new driver moved the codes that ran under it and the one before. "
        "No pair can be made across drivers, so the interval is of how runs under one driver "
        "differ, and one run under each bounds nothing.\n\nExit: 0 found, 2 "
        "not one commit but several or none, 4 the "
        "tool could not do its work.",
};
