// SPDX-License-Identifier: Apache-2.0
//
// plumb report: writes the reports of a stored run again. They are pure functions of the store.

#include "ci/command.h"
#include "ci/commands/output.h"
#include "ci/gate/conclude.h"
#include "ci/gate/mixes.h"
#include "ci/history/events.h"
#include "ci/settings/context.h"
#include "ci/settings/epochs.h"
#include "reports/report.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

// ---- open events for reports ----

// Makes the events that `plumb events` lists available to reports, as texts and figures that
// outlive the histories.

static struct report_event told(const struct event *e, const struct history_set *set,
                                struct arena *arena)
{
    struct report_event r = {.name = arena_strdup(arena, e->name),
                             .state = e->state,
                             .cause = e->cause,
                             .what = e->what ? arena_strdup(arena, e->what) : NULL,
                             .sentence = event_sentence(e, set, arena),
                             .log_ratio = event_largest(e)->size.value,
                             .commit = {.summary = "", .author = ""},
                             .commits = e->culprit_count,
                             .slowdown = event_is_slowdown(e),
                             .taken = e->taken};
    if (e->taken.who) {
        r.taken.who = arena_strdup(arena, e->taken.who);
        r.taken.why = arena_strdup(arena, e->taken.why);
    }
    if (e->culprit_count) {
        r.commit.summary = arena_strdup(arena, e->commits[0].summary);
        r.commit.time_s = e->commits[0].time_s;
        text_copy(r.commit.id, sizeof(r.commit.id), e->commits[0].id);
    }
    return r;
}

static void keep_open(struct report_events *out, const struct event_list *list,
                      const struct history_set *set, struct arena *arena)
{
    struct report_event *items = arena_alloc(arena, (list->count + 1) * sizeof(*items));
    for (size_t i = 0; i < list->count; i++) {
        const struct event *e = &list->events[i];
        if (event_is_open(e->state))
            items[out->count++] = told(e, set, arena);
    }
    out->items = items;
}

// Reads the new and the confirmed events, newest first, from the context's store and the
// repository's epochs file. With `keeps` the store is open for writing, and new judgements are kept
// in it. The result lives in the context's arena.
static int open_events_read(struct report_events *out, struct context *context, bool keeps,
                            struct error *err)
{
    const struct history_wanted wanted = {.keeps = keeps, .repository = context->repository};
    struct history_set set = {0};
    struct events events;
    struct events_asked asked = {.now_s = keeps ? (int64_t)time(NULL) : 0};
    const char *path = context->repository ? epochs_path(context, NULL) : NULL;
    int status = history_load(&set, context->store, &wanted, path, err);
    if (status == 0)
        status = events_sources(&asked.sources, context->store, context->repository,
                                &context->arena, err);
    if (status == 0)
        status = events_load(&events, &set, context->store, &asked, &context->arena, err);
    *out = (struct report_events){.known = status == 0};
    if (status == 0)
        keep_open(out, &events.list, &set, &context->arena);
    history_free(&set);
    return status;
}

struct arguments {
    struct options options;
    const char *format;
    int64_t run_id;
    bool list, events;
};

static const struct command_option own_options[] = {
    OPTION_RUN("run", "Run to report [the newest finished]", run_id),
    OPTION_TEXT("format", 0, "NAME", "Only this report, on standard output; with --list json",
                format),
    OPTION_FLAG("events", 0,
                "Beside the newest plain run, or --run, the events that are open in the store",
                events),
    OPTION_FLAG("list", 0, "List the stored runs instead", list),
    {0},
};

static void runs_json(const struct run_entry *runs, size_t count)
{
    struct answer answer;
    answer_begin(&answer, "runs");
    for (size_t i = 0; i < count; i++) {
        struct json *row = answer_row(&answer);
        json_int(row, "run", runs[i].id);
        json_clean(row, "kind", run_kind_name(runs[i].kind));
        json_time(row, "started_s", runs[i].started_s);
        json_time(row, "finished_s", runs[i].finished_s);
        json_clean(row, "base", *runs[i].base ? runs[i].base : NULL);
        json_clean(row, "head", runs[i].head);
        json_int(row, "exit_code", (int64_t)runs[i].conclusion);
        json_clean(row, "headline", runs[i].finished_s ? runs[i].headline : NULL);
    }
    answer_end(&answer);
}

static int list_runs(struct context *context, bool json, struct error *err)
{
    struct run_entry *runs = NULL;
    size_t count = 0;
    if (store_list_runs(&runs, &count, context->store, STORE_ALL_RUNS, 0, &context->arena, err))
        return -1;
    if (json) {
        runs_json(runs, count);
        return 0;
    }
    for (size_t i = 0; i < count; i++)
        printf("%6lld  %-8s %.10s%s%.10s  %s\n", (long long)runs[i].id, run_kind_name(runs[i].kind),
               runs[i].base, *runs[i].base ? ".." : "", runs[i].head,
               runs[i].finished_s ? runs[i].headline : "interrupted");
    if (count == 0)
        fprintf(stderr, "no runs yet; `plumb gate` or `plumb run` makes one\n");
    return 0;
}

static int print_format(const struct run *run, struct context *context, const char *name,
                        struct error *err)
{
    struct report_context known;
    const struct report *report = report_find(name);
    if (!report)
        return error_set(err, "--format=%.40s: `plumb list reports` names those there are", name);
    if (output_context(&known, run, context, &context->arena, err))
        return -1;
    struct buffer text = {0};
    report->write(&text, run, &known);
    fwrite(text.bytes, 1, text.length, stdout);
    buffer_free(&text);
    return 0;
}

// Reads the addresses from the repository's own policy and not from the run's, because a run may
// come from elsewhere. Without a policy there are none.
static void read_addresses(struct context *context)
{
    struct error ignored;
    if (context->repository)
        (void)context_policy(context, "", &ignored);
}

// Loads the run that is asked for, and the events beside it.
static int load(struct run *run, struct context *context, const struct arguments *a, bool keeps,
                struct error *err)
{
    struct report_events *events = arena_alloc(&context->arena, sizeof(*events));
    int64_t id = a->run_id;
    if (!id && store_last_run(&id, context->store, a->events ? RUN_MEASURE : STORE_ALL_RUNS, err))
        return -1;
    if (!id)
        return error_set(err, "%s: no finished run yet; `plumb gate` or `plumb run` makes one",
                         store_path(context->store));
    if (a->events && open_events_read(events, context, keeps, err))
        return -1;
    context->events = a->events ? events : NULL;
    return store_load_run(run, context->store, id, err);
}

static int report(struct context *context, const struct arguments *a, struct error *err)
{
    struct run run = {0};
    bool keeps;
    if (store_option_open_kept(context, &a->options, a->events && !a->options.dry_run, &keeps, err))
        return -1;
    if (a->list && a->format && strcmp(a->format, "json") != 0)
        return error_set(err, "--list --format=%.40s: is a table, or json", a->format);
    if (a->list)
        return list_runs(context, a->format, err);
    if (load(&run, context, a, keeps, err))
        return -1;
    drop_unsupported(&run);
    mixes_restore(&run);
    read_addresses(context);
    const char *out = a->options.out ? a->options.out : "plumb-report";
    int status = 0;
    if (a->format)
        status = print_format(&run, context, a->format, err);
    else if (a->options.dry_run)
        printf("dry run: the reports of run %lld would be written to %s\n", (long long)run.id, out);
    else
        status = output_run(NULL, &run, context, out, err);
    run_free(&run);
    return status;
}

static int run(enum conclusion *out, struct context *context, void *arguments, struct error *err)
{
    (void)out;
    return report(context, arguments, err);
}

static bool makes_reports(const void *arguments)
{
    const struct arguments *a = arguments;
    return !a->list;
}

static bool writes(const void *arguments)
{
    const struct arguments *a = arguments;
    return !a->list && !a->format;
}

static const struct option_use uses[] = {
    {"run events policy", makes_reports, "a report, not for --list"},
    {"out dry-run", writes, "all reports; --list and --format write to standard output"},
    {0},
};

const struct command command_report = {
    .name = "report",
    .summary = "Write the reports of a stored run again",
    .json = "the report of this name; with --list runs (run, kind, started_s, finished_s, base, "
            "head, exit_code, headline).",
    .shared = SHARED_STORE | SHARED_POLICY | SHARED_OUT | SHARED_DRY,
    .options = own_options,
    .uses = uses,
    .size = sizeof(struct arguments),
    .run = run,
    .doc = "Writes the reports of a stored run again.\v"
           "Without --out they go to plumb-report/. With --events JUnit, the summary and the "
           "page also show the events that nobody has accepted, dismissed or fixed yet; in "
           "JUnit an event is a failure if it is confirmed, slower, and caused by a kernel.",
};
