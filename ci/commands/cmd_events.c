// SPDX-License-Identifier: Apache-2.0
//
// plumb events: what changed, gathered by cause, and what happened to each event. A person's
// decision is written to the epochs file, where a pull request shows it to a reviewer.

#include "ci/command.h"
#include "ci/commands/output.h"
#include "ci/history/events.h"
#include "ci/history/load.h"
#include "ci/settings/context.h"
#include "ci/settings/epochs.h"
#include "ci/settings/metric.h"
#include "ci/settings/progress.h"
#include "reports/text/clean.h"
#include "reports/view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// ---- printing for people and programs ----

// The text without control bytes, in the arena.
static const char *safe(const char *text, struct arena *arena)
{
    char *line = plain_line(text ? text : "");
    const char *kept = arena_strdup(arena, line);
    free(line);
    return kept;
}

static const char *date_of(char out[16], int64_t time_s)
{
    struct tm parts;
    const time_t time = (time_t)time_s;
    if (time_s <= 0 || !gmtime_r(&time, &parts) || strftime(out, 16, "%Y-%m-%d", &parts) == 0)
        text_copy(out, 16, "-");
    return out;
}

static double percent(double log_ratio)
{
    return 100 * expm1(log_ratio);
}

// Prints who looks into an event; nothing if nobody does.
static void print_taken(const struct event_taken *taken, struct arena *arena)
{
    struct buffer text = {0};
    taken_text(&text, taken);
    fputs(safe(text.bytes, arena), stdout);
    buffer_free(&text);
}

// Prints that as a line of `show`, after the entries.
static void show_taken(const struct event_taken *taken, struct arena *arena)
{
    char date[16];
    if (taken->who)
        printf("%s  %-9s  %s: %s\n", date_of(date, taken->when_s), "taken", safe(taken->who, arena),
               safe(taken->why, arena));
}

// ---- metrics: events of figures beside time ----

static const struct metric_change *change_of(const struct metric_history *h,
                                             const struct metric_event *e, size_t i)
{
    return &h->changes[e->first + i];
}

static const struct commit *commit_of(const struct metric_history *h, const struct metric_event *e)
{
    return &h->line[change_of(h, e, 0)->at];
}

static void metric_row(const struct metric_history *h, const struct metric_event *e,
                       struct arena *arena)
{
    char date[16];
    const struct commit *at = commit_of(h, e);
    printf("%-9s %-22s %-10s %-11s %s", event_state_name(e->state), e->name,
           date_of(date, at->time_s), "metric", safe(metric_event_sentence(h, e, arena), arena));
    if (at->summary[0])
        printf("; %s", safe(at->summary, arena));
    print_taken(&e->taken, arena);
    putchar('\n');
}

static void metric_print_one(const struct metric_history *h, const struct metric_event *e)
{
    struct arena arena = {0};
    char date[16];
    const struct commit *at = commit_of(h, e);
    printf("%s: %s, cause metric\n  %.10s  %s  %s (%s)\n%zu %s:\n", e->name,
           event_state_name(e->state), at->id, date_of(date, at->time_s), safe(at->summary, &arena),
           safe(at->author, &arena), e->count, plural(e->count, "change", "changes"));
    for (size_t i = 0; i < e->count; i++) {
        const struct metric_change *c = change_of(h, e, i);
        printf("  %s%s%s", safe(metric_change_text(h, c, &arena), &arena),
               c->state == EVENT_CONFIRMED ? "" : "  ",
               c->state == EVENT_CONFIRMED ? "" : event_state_name(c->state));
        printf("%s%s\n", c->why ? " by " : "", safe(c->why, &arena));
    }
    show_taken(&e->taken, &arena);
    arena_free(&arena);
}

static double size_of(const struct metric_change *c)
{
    return c->before > 0 && c->after > 0 ? log(c->after / c->before) : NAN;
}

static void metric_json(struct json *json, const struct metric_history *h,
                        const struct metric_event *e)
{
    struct arena arena = {0};
    const struct commit *at = commit_of(h, e);
    json_newline(json);
    json_begin(json, NULL, '{');
    json_clean(json, "event", e->name);
    json_clean(json, "state", event_state_name(e->state));
    json_clean(json, "cause", "metric");
    json_clean(json, "what", NULL);
    json_clean(json, "sentence", metric_event_sentence(h, e, &arena));
    json_begin(json, "commits", '[');
    json_begin(json, NULL, '{');
    json_clean(json, "id", at->id);
    json_time(json, "time_s", at->time_s);
    json_clean(json, "summary", at->summary);
    json_clean(json, "author", at->author);
    json_end(json, '}');
    json_end(json, ']');
    json_begin(json, "changes", '[');
    for (size_t i = 0; i < e->count; i++) {
        const struct metric_change *c = change_of(h, e, i);
        const struct metric_value *of = h->series[c->series].of;
        json_begin(json, NULL, '{');
        json_clean(json, "metric", of->name);
        json_clean(json, "subject", of->subject);
        json_clean(json, "device", of->device);
        json_number(json, "before", c->before);
        json_number(json, "after", c->after);
        json_clean(json, "kind", metric_word(c->kind));
        json_clean(json, "state", event_state_name(c->state));
        json_end(json, '}');
    }
    json_end(json, ']');
    json_begin(json, "entries", '[');
    json_end(json, ']');
    taken_json(json, &e->taken);
    json_end(json, '}');
    arena_free(&arena);
}

// ---- table ----

static void print_row(const struct event *e, const struct history_set *set, struct arena *arena)
{
    char date[16];
    printf("%-9s %-22s %-10s %-11s %s", event_state_name(e->state), e->name,
           date_of(date, e->commits[0].time_s), attribution_name(e->cause),
           safe(event_sentence(e, set, arena), arena));
    if (e->culprit_count > 1)
        printf("; one of %zu commits", e->culprit_count);
    // A search has found another commit since the event was named.
    const bool other = strncmp(e->name, e->commits[0].id, 10) != 0;
    if (e->device == SIZE_MAX && (other || e->commits[0].summary[0]))
        printf("; %.10s%s%s", other ? e->commits[0].id : "", other ? " " : "",
               safe(e->commits[0].summary, arena));
    print_taken(&e->taken, arena);
    putchar('\n');
}

// Prints one line for each event; only those in `state` (EVENT_STATES: all).
static void events_print_table(const struct events *events, const struct metric_history *metrics,
                               const struct history_set *set, enum event_state state)
{
    struct arena arena = {0};
    size_t counts[EVENT_STATES] = {0};
    for (size_t i = 0; i < events->list.count; i++) {
        const struct event *e = &events->list.events[i];
        counts[e->state]++;
        if (state == EVENT_STATES || e->state == state)
            print_row(e, set, &arena);
    }
    for (size_t i = 0; i < metrics->event_count; i++) {
        const struct metric_event *e = &metrics->events[i];
        counts[e->state]++;
        if (state == EVENT_STATES || e->state == state)
            metric_row(metrics, e, &arena);
    }
    const size_t all = events->list.count + metrics->event_count;
    printf("%zu %s", all, plural(all, "event", "events"));
    const char *before = ": ";
    for (int i = 0; i < EVENT_STATES; i++) {
        if (counts[i])
            printf("%s%zu %s", before, counts[i], event_state_name((enum event_state)i));
        before = counts[i] ? ", " : before;
    }
    putchar('\n');
    arena_free(&arena);
}

// ---- one event ----

static void print_culprits(const struct event *e, struct arena *arena)
{
    enum { SHOWN = 20 };
    if (e->culprit_count > 1)
        printf("one of %zu commits, most likely first:\n", e->culprit_count);
    for (size_t i = 0; i < e->culprit_count && i < SHOWN; i++) {
        char date[16];
        const struct event_commit *c = &e->commits[i];
        printf("  %.10s  %s  %s (%s)\n", c->id, date_of(date, c->time_s), safe(c->summary, arena),
               safe(c->author, arena));
    }
    if (e->culprit_count > SHOWN)
        printf("  and %zu more\n", e->culprit_count - SHOWN);
}

static void print_change(const struct event_change *c, const struct history_set *set,
                         struct arena *arena)
{
    char problem[PROBLEM_TEXT], interval[64] = "";
    const struct series_entry *s = set->series[c->series].series;
    problem_tell(problem, &s->problem);
    if (isfinite(c->size.low) && isfinite(c->size.high))
        snprintf(interval, sizeof(interval), " (%+.2f .. %+.2f)", percent(c->size.low),
                 percent(c->size.high));
    printf("  %+.2f %%%s  evidence %.1f%s  %s %s on %s\n", percent(c->size.value), interval,
           c->log_evidence, c->paired ? ", side by side" : "", safe(s->kernel, arena), problem,
           safe(s->device_name, arena));
}

// Prints everything that is known of one event.
static void events_print_one(const struct event *e, const struct history_set *set)
{
    struct arena arena = {0};
    printf("%s: %s, cause %s%s%s\n", e->name, event_state_name(e->state),
           attribution_name(e->cause), e->what ? ": " : "", safe(e->what, &arena));
    print_culprits(e, &arena);
    printf("%zu series:\n", e->count);
    for (size_t i = 0; i < e->count; i++)
        print_change(&e->changes[i], set, &arena);
    for (size_t i = 0; i < e->entry_count; i++) {
        char date[16];
        const struct event_entry *n = &e->entries[i];
        printf("%s  %-9s  %s: %s\n", date_of(date, n->when_s), event_state_name(n->state),
               safe(n->who, &arena), safe(n->why, &arena));
    }
    show_taken(&e->taken, &arena);
    arena_free(&arena);
}

// ---- JSON ----

static void json_changes(struct json *json, const struct event *e, const struct history_set *set)
{
    json_begin(json, "changes", '[');
    for (size_t i = 0; i < e->count; i++) {
        char problem[PROBLEM_TEXT];
        const struct event_change *c = &e->changes[i];
        const struct series_entry *s = set->series[c->series].series;
        problem_format(problem, &s->problem);
        json_newline(json);
        json_begin(json, NULL, '{');
        json_clean(json, "kernel", s->kernel);
        json_clean(json, "problem", problem);
        json_clean(json, "regime", regime_name(s->problem.regime));
        json_clean(json, "device", s->device_uuid);
        json_interval(json, "log_ratio", c->size);
        json_number(json, "evidence", c->log_evidence);
        json_bool(json, "paired", c->paired);
        json_bool(json, "confirmed", c->confirmed);
        json_end(json, '}');
    }
    json_end(json, ']');
}

static void json_event(struct json *json, const struct event *e, const struct history_set *set)
{
    struct arena arena = {0};
    json_newline(json);
    json_begin(json, NULL, '{');
    json_clean(json, "event", e->name);
    json_clean(json, "state", event_state_name(e->state));
    json_clean(json, "cause", attribution_name(e->cause));
    json_clean(json, "what", e->what);
    json_clean(json, "sentence", event_sentence(e, set, &arena));
    json_begin(json, "commits", '[');
    for (size_t i = 0; i < e->culprit_count; i++) {
        json_begin(json, NULL, '{');
        json_clean(json, "id", e->commits[i].id);
        json_time(json, "time_s", e->commits[i].time_s);
        json_clean(json, "summary", e->commits[i].summary);
        json_clean(json, "author", e->commits[i].author);
        json_end(json, '}');
    }
    json_end(json, ']');
    json_changes(json, e, set);
    json_begin(json, "entries", '[');
    for (size_t i = 0; i < e->entry_count; i++) {
        json_begin(json, NULL, '{');
        json_clean(json, "state", event_state_name(e->entries[i].state));
        json_time(json, "when_s", e->entries[i].when_s);
        json_clean(json, "who", e->entries[i].who);
        json_clean(json, "why", e->entries[i].why);
        json_end(json, '}');
    }
    json_end(json, ']');
    taken_json(json, &e->taken);
    json_end(json, '}');
    arena_free(&arena);
}

static void events_print_json(const struct events *events, const struct metric_history *metrics,
                              const struct history_set *set, enum event_state state)
{
    struct buffer out = {0};
    struct json json = {.out = &out};
    json_begin(&json, NULL, '{');
    json_begin(&json, "events", '[');
    for (size_t i = 0; i < events->list.count; i++) {
        if (state == EVENT_STATES || events->list.events[i].state == state)
            json_event(&json, &events->list.events[i], set);
    }
    for (size_t i = 0; i < metrics->event_count; i++) {
        if (state == EVENT_STATES || metrics->events[i].state == state)
            metric_json(&json, metrics, &metrics->events[i]);
    }
    json_end(&json, ']');
    json_end(&json, '}');
    buffer_puts(&out, "\n");
    buffer_print(&out, stdout);
}

// ---- CSV ----

static void csv_size(struct csv_line *line, struct interval size)
{
    csv_real(line, size.value);
    csv_real(line, size.low);
    csv_real(line, size.high);
}

static void taken_csv(struct csv_line *line, const struct event_taken *taken)
{
    csv_clean(line, taken->who);
    if (taken->who)
        csv_int(line, taken->when_s);
    else
        csv_empty(line, 1);
    csv_clean(line, taken->why);
}

static void csv_event(struct csv_line *line, const struct event *e, const struct history_set *set)
{
    for (size_t i = 0; i < e->count; i++) {
        char problem[PROBLEM_TEXT];
        const struct event_change *c = &e->changes[i];
        const struct series_entry *s = set->series[c->series].series;
        problem_format(problem, &s->problem);
        csv_clean(line, e->name);
        csv_clean(line, event_state_name(e->state));
        csv_clean(line, attribution_name(e->cause));
        csv_clean(line, e->what);
        csv_clean(line, e->commits[0].id);
        csv_int(line, (int64_t)e->culprit_count);
        csv_clean(line, s->kernel);
        csv_clean(line, problem);
        csv_clean(line, s->device_uuid);
        csv_size(line, c->size);
        csv_real(line, c->log_evidence);
        csv_int(line, c->paired);
        csv_int(line, c->confirmed);
        taken_csv(line, &e->taken);
        csv_end(line, "\n");
    }
}

// Writes a metric; its name stands where a series has its problem.
static void csv_metric(struct csv_line *line, const struct metric_history *h,
                       const struct metric_event *e)
{
    struct arena arena = {0};
    for (size_t i = 0; i < e->count; i++) {
        const struct metric_change *c = change_of(h, e, i);
        const struct metric_value *of = h->series[c->series].of;
        csv_clean(line, e->name);
        csv_clean(line, event_state_name(c->state));
        csv_text(line, "metric");
        csv_clean(line, metric_change_text(h, c, &arena));
        csv_clean(line, commit_of(h, e)->id);
        csv_int(line, (int64_t)c->commits);
        csv_clean(line, of->subject);
        csv_clean(line, of->name);
        csv_clean(line, of->device);
        csv_size(line, (struct interval){size_of(c), NAN, NAN});
        csv_empty(line, 1);
        csv_int(line, 0);
        csv_int(line, c->state == EVENT_CONFIRMED);
        taken_csv(line, &e->taken);
        csv_end(line, "\n");
    }
    arena_free(&arena);
}

// Writes a row for each series of an event, with its likeliest commit and the number of possible
// ones.
static void events_print_csv(const struct events *events, const struct metric_history *metrics,
                             const struct history_set *set, enum event_state state)
{
    struct buffer out = {0};
    struct csv_line line = {.out = &out};
    csv_raw(&line, "event,state,cause,what,commit,commits,kernel,problem,device,log_ratio,low,"
                   "high,evidence,paired,confirmed," TAKEN_HEADS);
    csv_end(&line, "\n");
    for (size_t i = 0; i < events->list.count; i++) {
        if (state == EVENT_STATES || events->list.events[i].state == state)
            csv_event(&line, &events->list.events[i], set);
    }
    for (size_t i = 0; i < metrics->event_count; i++) {
        if (state == EVENT_STATES || metrics->events[i].state == state)
            csv_metric(&line, metrics, &metrics->events[i]);
    }
    buffer_print(&out, stdout);
}

enum action {
    ACTION_LIST,
    ACTION_SHOW,
    ACTION_ACCEPT,
    ACTION_DISMISS,
    ACTION_FIXED,
    ACTION_TAKE,
    ACTIONS
};

static const char *const action_names[ACTIONS] = {"list",    "show",  "accept",
                                                  "dismiss", "fixed", "take"};

static const enum event_state decided[ACTIONS] = {[ACTION_ACCEPT] = EVENT_ACCEPTED,
                                                  [ACTION_DISMISS] = EVENT_DISMISSED,
                                                  [ACTION_FIXED] = EVENT_FIXED};

struct arguments {
    struct options options;
    enum action action;
    enum event_state state; // which events are listed; EVENT_STATES: all
    const char *reason, *who, *file, *format;
    bool dry_run, fails;
};

static int take_state(void *arguments, const char *text)
{
    return event_state_parse(&((struct arguments *)arguments)->state, text);
}

static const struct command_option own_options[] = {
    OPTION_OWN("state", 0, "STATE", "Only events in this state [all]", take_state,
               "new, confirmed, accepted, fixed, dismissed or withdrawn"),
    OPTION_TEXT("format", 'f', "FORMAT", "table, csv or json [table]", format),
    OPTION_TEXT("reason", 'm', "TEXT", "Why it is accepted, dismissed, fixed or taken; needed",
                reason),
    OPTION_TEXT("who", 0, "NAME",
                "Who decides or takes it [user.name and user.email of git's configuration]", who),
    OPTION_TEXT("file", 0, "FILE", "File of epochs [REPO/" EPOCHS_PATH "]", file),
    OPTION_FLAG("dry-run", 'n', "Only show what would be written", dry_run),
    OPTION_FLAG("check", 0, "list: exit with 1 while a slowdown is open", fails),
    {0},
};

static const struct arguments usual = {.state = EVENT_STATES, .format = "table"};

static int check(void *arguments, struct error *err)
{
    struct arguments *a = arguments;
    const struct words *words = &a->options.words;
    const char *word = words->count ? words->items[0] : action_names[ACTION_LIST];
    while (a->action < ACTIONS && strcmp(action_names[a->action], word) != 0)
        a->action++;
    if (a->action == ACTIONS)
        return error_set(err, "'%.40s': list, show, accept, dismiss, fixed or take", word);
    if (a->action == ACTION_LIST && words->count > 1)
        return error_set(err, "list takes no names; `plumb events show %.40s`", words->items[1]);
    if (a->action != ACTION_LIST && a->fails)
        return error_set(err, "--check is for list");
    if (a->action != ACTION_LIST && words->count < 2)
        return error_set(err, "%s which? `plumb events` lists their names", word);
    if (a->action > ACTION_SHOW && !a->reason)
        return error_set(err, "say why: --reason=TEXT");
    if (strcmp(a->format, "table") != 0 && strcmp(a->format, "csv") != 0 &&
        strcmp(a->format, "json") != 0)
        return error_set(err, "--format=%.20s: table, csv or json", a->format);
    if (a->action > ACTION_SHOW && strcmp(a->format, "table") != 0)
        return error_set(err, "--format is for list and show");
    return 0;
}

// ---- deciding ----

// Writes epochs that accept the level of every series of the event from its commit on.
static int format_epochs(char **out, const struct event *e, const struct history_set *set,
                         const struct epoch_decision *decision, struct arena *arena,
                         struct error *err)
{
    for (size_t i = 0; i < e->count; i++) {
        char problem[PROBLEM_TEXT], *block;
        const struct series_entry *s = set->series[e->changes[i].series].series;
        struct epoch epoch = {.level = e->changes[i].size.value,
                              .reason = decision->reason,
                              .who = decision->who,
                              .when_s = decision->when_s};
        problem_format(problem, &s->problem);
        epoch.series = arena_printf(arena, "%s %s %s", s->kernel, problem, s->device_uuid);
        text_copy(epoch.commit, sizeof(epoch.commit), e->commits[0].id);
        if (epoch_known(&set->epochs, &epoch))
            continue;
        if (epoch_format(&block, &epoch, arena, err))
            return -1;
        *out = arena_printf(arena, "%s\n%s", *out, block);
    }
    return 0;
}

// Writes that a metric's new value is accepted from its commit on.
static int format_metrics(char **out, const struct metric_event *e, const struct metric_history *h,
                          const struct epoch_list *known, const struct epoch_decision *decision,
                          struct arena *arena, struct error *err)
{
    for (size_t i = 0; i < e->count; i++) {
        const struct metric_change *c = change_of(h, e, i);
        const struct metric_value *of = h->series[c->series].of;
        struct epoch epoch = {.series =
                                  metric_epoch_series(of->subject, of->name, of->device, arena),
                              .level = metric_worse_by(c->before, c->after, of->higher),
                              .reason = decision->reason,
                              .who = decision->who,
                              .when_s = decision->when_s};
        char *block;
        text_copy(epoch.commit, sizeof(epoch.commit), commit_of(h, e)->id);
        if (epoch_known(known, &epoch))
            continue;
        if (epoch_format(&block, &epoch, arena, err))
            return -1;
        *out = arena_printf(arena, "%s\n%s", *out, block);
    }
    return 0;
}

static int decide(const struct arguments *a, struct context *context, const struct events *events,
                  const struct metric_history *metrics, const struct history_set *set,
                  const char *before, struct error *err)
{
    struct arena *arena = &context->arena;
    struct epoch_decision decision = {.taken = a->action == ACTION_TAKE,
                                      .state = decided[a->action],
                                      .reason = a->reason,
                                      .when_s = time(NULL) / 86400 * 86400};
    if (!a->file && !context->repository)
        return error_set(err, "no git repository here for the file of epochs; give -C or --file");
    const char *path = epochs_path(context, a->file);
    char *added = arena_strdup(arena, ""), *block;
    if (epochs_who(&decision.who, a->who, context, err))
        return -1;
    for (size_t i = 1; i < a->options.words.count; i++) {
        const char *name = a->options.words.items[i];
        const struct event *e = events_named(events, name, err);
        const struct metric_event *metric = e ? NULL : metric_history_event(metrics, name);
        if (!e && !metric)
            return -1;
        const enum event_state state = e ? e->state : metric->state;
        decision.event = e ? e->name : metric->name;
        if (decision.taken && !event_is_open(state))
            return error_set(err, "%s is %s: there is nothing to be on", decision.event,
                             event_state_name(state));
        if (epoch_decision_format(&block, &decision, arena, err))
            return -1;
        added = arena_printf(arena, "%s\n%s", added, block);
        if (a->action == ACTION_ACCEPT &&
            (e ? format_epochs(&added, e, set, &decision, arena, err)
               : format_metrics(&added, metric, metrics, &set->epochs, &decision, arena, err)))
            return -1;
    }
    if (!a->dry_run && epochs_add(path, before, added, err))
        return -1;
    printf("%s\n%s: %s\n", added + 1, path,
           a->dry_run ? "this would be added" : "added; commit the file so that it is reviewed");
    return 0;
}

// ---- all ----

static void print(const struct arguments *a, const struct events *events,
                  const struct metric_history *metrics, const struct history_set *set)
{
    (strcmp(a->format, "json") == 0  ? events_print_json
     : strcmp(a->format, "csv") == 0 ? events_print_csv
                                     : events_print_table)(events, metrics, set, a->state);
}

static int show(const struct arguments *a, const struct events *events,
                const struct metric_history *metrics, const struct history_set *set,
                struct error *err)
{
    const struct words *names = &a->options.words;
    const bool table = strcmp(a->format, "table") == 0;
    struct event *named = xcalloc(names->count, sizeof(*named));
    struct metric_event *beside = xcalloc(names->count, sizeof(*beside));
    struct events shown = {.list = {named, 0}};
    struct metric_history shown_metrics = *metrics;
    int status = 0;
    shown_metrics.events = beside;
    shown_metrics.event_count = 0;
    for (size_t i = 1; status == 0 && i < names->count; i++) {
        const struct event *e = events_named(events, names->items[i], err);
        const struct metric_event *metric =
            e ? NULL : metric_history_event(metrics, names->items[i]);
        if (e)
            named[shown.list.count++] = *e;
        else if (metric)
            beside[shown_metrics.event_count++] = *metric;
        else
            status = -1;
    }
    if (status == 0 && !table)
        print(a, &shown, &shown_metrics, set);
    for (size_t i = 0; status == 0 && table && i < shown.list.count; i++)
        events_print_one(&named[i], set);
    for (size_t i = 0; status == 0 && table && i < shown_metrics.event_count; i++)
        metric_print_one(metrics, &beside[i]);
    free(beside);
    free(named);
    return status;
}

// Writes " NAME", and who looks into the event.
static const char *with_taken(const char *name, const struct event_taken *taken,
                              struct arena *arena)
{
    return taken->who ? arena_printf(arena, " %s (%s is on it)", name, safe(taken->who, arena))
                      : arena_printf(arena, " %s", name);
}

// Prints the headline of the events (its last line, as a run has one) for a reader at a terminal;
// CSV and JSON get no such line.
static enum conclusion conclude(const struct arguments *a, const struct events *events,
                                const struct metric_history *metrics, struct arena *arena)
{
    enum { NAMED = 3 };
    size_t count = 0;
    const char *names = "", *told = "";
    for (size_t i = 0; i < events->list.count; i++) {
        const struct event *e = &events->list.events[i];
        if (event_is_slowdown(e) && count++ < NAMED) {
            names = arena_printf(arena, "%s %s", names, e->name);
            told = arena_printf(arena, "%s%s", told, with_taken(e->name, &e->taken, arena));
        }
    }
    const size_t slower = count;
    for (size_t i = 0; i < metrics->event_count; i++) {
        const struct metric_event *e = &metrics->events[i];
        if (metric_event_is_open(metrics, e) && count++ < NAMED) {
            names = arena_printf(arena, "%s %s", names, e->name);
            told = arena_printf(arena, "%s%s", told, with_taken(e->name, &e->taken, arena));
        }
    }
    if (count && !slower && strcmp(a->format, "table") == 0)
        output_line(arena_printf(arena,
                                 "WORSE: %zu %s open:%s%s; fix it, or say that it is meant: "
                                 "plumb events accept%s --reason TEXT",
                                 count,
                                 plural(count, "event of metrics is", "events of metrics are"),
                                 told, count > NAMED ? " ..." : "", names));
    if (slower && strcmp(a->format, "table") == 0)
        output_line(arena_printf(arena,
                                 "SLOWER: %zu %s open:%s%s; fix it, or say that it is meant: "
                                 "plumb events accept%s --reason TEXT",
                                 count, plural(count, "slowdown is", "slowdowns are"), told,
                                 count > NAMED ? " ..." : "", names));
    return count ? CONCLUDE_REGRESSION : CONCLUDE_OK;
}

static int act(const struct arguments *a, struct context *context, const struct events *events,
               const struct metric_history *metrics, const struct history_set *set,
               const char *before, struct error *err)
{
    if (a->action == ACTION_SHOW)
        return show(a, events, metrics, set, err);
    if (a->action != ACTION_LIST)
        return decide(a, context, events, metrics, set, before, err);
    print(a, events, metrics, set);
    return 0;
}

static int run(enum conclusion *out, struct context *context, void *arguments, struct error *err)
{
    const struct arguments *a = arguments;
    struct history_wanted wanted = {0};
    struct history_set set = {0};
    struct epoch_list known;
    struct events events;
    struct metric_history metrics;
    char *before;
    // If --store is given no repository is needed, but with one more is known.
    if ((context_open(context, &a->options, err) && !a->options.store) ||
        store_option_open_kept(context, &a->options, true, &wanted.keeps, err))
        return -1;
    const char *path = a->file || context->repository ? epochs_path(context, a->file) : "";
    struct events_asked asked = {.now_s = wanted.keeps ? (int64_t)time(NULL) : 0};
    int status = epochs_read(&known, &before, path, &context->arena, err);
    wanted.repository = context->repository;
    if (status == 0)
        status = history_load(&set, context->store, &wanted, path, err);
    if (status == 0)
        status = events_sources(&asked.sources, context->store, context->repository,
                                &context->arena, err);
    if (status == 0)
        status = events_load(&events, &set, context->store, &asked, &context->arena, err);
    if (status == 0)
        status = metric_history_load(&metrics, context->store, context->repository, &set.epochs,
                                     &context->arena, err);
    if (status == 0)
        status = act(a, context, &events, &metrics, &set, before, err);
    if (status == 0 && a->fails)
        *out = conclude(a, &events, &metrics, &context->arena);
    history_free(&set);
    return status;
}

static bool decides(const void *arguments)
{
    const struct arguments *a = arguments;
    return a->action > ACTION_SHOW;
}

static bool lists(const void *arguments)
{
    const struct arguments *a = arguments;
    return a->action == ACTION_LIST;
}

static const struct option_use uses[] = {
    {"reason who file dry-run", decides, "accept, dismiss, fixed and take"},
    {"state", lists, "list"},
    {0},
};

const struct command command_events = {
    .name = "events",
    .summary = "List changes by cause, and say what became of them",
    .words = "[list | show EVENT... | accept EVENT... | dismiss EVENT... | fixed EVENT... | "
             "take EVENT...]",
    .words_most = WORDS_ANY,
    .json = "events (event, state, cause, what, sentence, commits (id, time_s, summary, author), "
            "changes (kernel, problem, regime, device, log_ratio with lower and upper, evidence, "
            "paired, "
            "confirmed), entries (state, when_s, who, why), taken_by, taken_s, taken_why).",
    .shared = SHARED_STORE,
    .options = own_options,
    .defaults = &usual,
    .check = check,
    .uses = uses,
    .size = sizeof(struct arguments),
    .run = run,
    .doc = "Lists the changes in the store's histories, grouped by cause.\v"
           "An event is one cause of change: the commits that may have caused it, and all "
           "series that it touches. Code changes that may have begun with the same commit are "
           "one event; so is a shift of a whole device. EVENT is the event's name, or the "
           "beginning of its name or of a culprit's commit id.\n\n"
           "States: new (found, but the evidence of the whole history does not suffice yet), "
           "confirmed (it suffices: the 99.99 % interval, with all that pairs cannot see, is "
           "on one side of 0; about 1 % of events ever confirmed by links are false), fixed "
           "(later changes undo it, or it is an exact revert and makes nothing slower), "
           "withdrawn (it was reported, and is not found any more), accepted and dismissed (a "
           "person says so). A reported event stays in the list, with the date of each state.\n\n"
           "Events follow HEAD as it is now. An event stands while HEAD's line of first "
           "parents has its code, or while a branch or tag has it that this line has not "
           "merged. Otherwise it is withdrawn, and it becomes new or confirmed again when its "
           "branch is back. So another checked-out commit may show other states: check out "
           "what the nightly follows.\n\n"
           "With --check the exit code is 1 while an event is open that made a series slower: "
           "it is new or confirmed, and the newest code still is slower by it. plumb names "
           "these events. The exit code is also 1 while a metric of the policy is worse and "
           "nobody accepted it. If a plain run called a series slower from times alone, its "
           "event is new from that run on, until more times confirm it or take it back. The "
           "metrics that changed at one commit are an event whose name ends in -metrics; its "
           "changes have metric, subject, before and after.\n\n"
           "accept, dismiss, fixed and take write into the file of epochs, which is committed "
           "and reviewed. accept makes the level of every touched series the new baseline. "
           "take says who looks into a new or confirmed event, here and on the site's first "
           "screen, until somebody else takes it or it is closed; it changes no state.",
};
