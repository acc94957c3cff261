// SPDX-License-Identifier: Apache-2.0
//
// Events as a table, one by one, as CSV and as JSON. Commit messages, names and reasons are
// untrusted text.
#include "ci/history/events_print.h"
#include "ci/settings/plain.h"
#include "reports/text/clean.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// No control bytes; in the arena.
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

// ---- table ----

static void print_row(const struct event *e, const struct history_set *set, struct arena *arena)
{
    char date[16];
    printf("%-9s %-22s %-10s %-11s %s", event_state_name(e->state), e->name,
           date_of(date, e->commits[0].time_s), attribution_name(e->cause),
           safe(event_sentence(e, set, arena), arena));
    if (e->culprit_count > 1)
        printf("; one of %zu commits", e->culprit_count);
    const bool other = strncmp(e->name, e->commits[0].id, 10) != 0; // a search found it since
    if (e->device == SIZE_MAX && (other || e->commits[0].summary[0]))
        printf("; %.10s%s%s", other ? e->commits[0].id : "", other ? " " : "",
               safe(e->commits[0].summary, arena));
    putchar('\n');
}

void events_print_table(const struct events *events, const struct history_set *set,
                        enum event_state state)
{
    struct arena arena = {0};
    size_t counts[EVENT_STATES] = {0};
    for (size_t i = 0; i < events->list.count; i++) {
        const struct event *e = &events->list.events[i];
        counts[e->state]++;
        if (state == EVENT_STATES || e->state == state)
            print_row(e, set, &arena);
    }
    printf("%zu %s", events->list.count, plural(events->list.count, "event", "events"));
    const char *before = ": ";
    for (int i = 0; i < EVENT_STATES; i++) {
        if (counts[i])
            printf("%s%zu %s", before, counts[i], event_state_name((enum event_state)i));
        before = counts[i] ? ", " : before;
    }
    putchar('\n');
    arena_free(&arena);
}

// ---- one ----

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
    problem_format(problem, &s->problem);
    if (isfinite(c->size.low) && isfinite(c->size.high))
        snprintf(interval, sizeof(interval), " (%+.2f .. %+.2f)", percent(c->size.low),
                 percent(c->size.high));
    printf("  %+.2f %%%s  evidence %.1f%s  %s %s on %s\n", percent(c->size.value), interval,
           c->log_evidence, c->paired ? ", side by side" : "", safe(s->kernel, arena), problem,
           safe(s->device_name, arena));
}

void events_print_one(const struct event *e, const struct history_set *set)
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
    json_end(json, '}');
    arena_free(&arena);
}

void events_print_json(const struct events *events, const struct history_set *set,
                       enum event_state state)
{
    struct buffer out = {0};
    struct json json = {.out = &out};
    json_begin(&json, NULL, '{');
    json_begin(&json, "events", '[');
    for (size_t i = 0; i < events->list.count; i++) {
        if (state == EVENT_STATES || events->list.events[i].state == state)
            json_event(&json, &events->list.events[i], set);
    }
    json_end(&json, ']');
    json_end(&json, '}');
    puts(out.bytes);
    buffer_free(&out);
}

// ---- CSV ----

static void csv_text(const char *text)
{
    char *field = clean_field(text);
    printf("%s,", field);
    free(field);
}

static void csv_number(double value)
{
    if (isfinite(value))
        printf("%.9g", value);
    putchar(',');
}

static void csv_event(const struct event *e, const struct history_set *set)
{
    for (size_t i = 0; i < e->count; i++) {
        char problem[PROBLEM_TEXT];
        const struct event_change *c = &e->changes[i];
        const struct series_entry *s = set->series[c->series].series;
        problem_format(problem, &s->problem);
        csv_text(e->name);
        csv_text(event_state_name(e->state));
        csv_text(attribution_name(e->cause));
        csv_text(e->what);
        csv_text(e->commits[0].id);
        printf("%zu,", e->culprit_count);
        csv_text(s->kernel);
        csv_text(problem);
        csv_text(s->device_uuid);
        csv_number(c->size.value);
        csv_number(c->size.low);
        csv_number(c->size.high);
        csv_number(c->log_evidence);
        printf("%d,%d\n", c->paired, c->confirmed);
    }
}

void events_print_csv(const struct events *events, const struct history_set *set,
                      enum event_state state)
{
    puts("event,state,cause,what,commit,commits,kernel,problem,device,log_ratio,low,high,evidence,"
         "paired,confirmed");
    for (size_t i = 0; i < events->list.count; i++) {
        if (state == EVENT_STATES || events->list.events[i].state == state)
            csv_event(&events->list.events[i], set);
    }
}
