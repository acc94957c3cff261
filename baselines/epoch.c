// SPDX-License-Identifier: Apache-2.0
//
// The text of the epochs file, parsed and written. The file itself is read by
// ci/settings/epochs.c.
#include "baselines/epoch.h"

#include "model/history/event.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EPOCH_LIMIT = 100000, LINE_LIMIT = 4096 };

enum epoch_key {
    KEY_SERIES,
    KEY_EVENT,
    KEY_COMMIT,
    KEY_STATE,
    KEY_LEVEL,
    KEY_REASON,
    KEY_WHO,
    KEY_WHEN,
    KEYS
};

static const char *const key_names[KEYS] = {"series", "event",  "commit", "state",
                                            "level",  "reason", "who",    "when"};

enum {
    BOTH_KEYS = 1u << KEY_REASON | 1u << KEY_WHO | 1u << KEY_WHEN,
    EPOCH_KEYS = BOTH_KEYS | 1u << KEY_SERIES | 1u << KEY_COMMIT | 1u << KEY_LEVEL,
    DECISION_KEYS = BOTH_KEYS | 1u << KEY_EVENT | 1u << KEY_STATE
};

struct epoch_parser {
    const char *name;
    int line;
    struct arena *arena;
    struct error *err;
    struct epoch epoch;             // the block being read is either an epoch
    struct epoch_decision decision; // or a decision
    unsigned seen;                  // one bit for each enum epoch_key
    struct epoch *epochs;
    struct epoch_decision *decisions;
    size_t count, room, decision_count, decision_room;
};

// Days from 1970-01-01 to a date of the civil calendar. Years are counted from March, so that the
// leap day is the last day of its year. An era is 400 years, 146097 days.
static int64_t days_of(int64_t year, int64_t month, int64_t day)
{
    if (month <= 2)
        year--;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t of_era = year - era * 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static void date_of(int64_t days, int *year, int *month, int *day)
{
    int64_t shifted = days + 719468;
    int64_t era = (shifted >= 0 ? shifted : shifted - 146096) / 146097;
    int64_t of_era = shifted - era * 146097;
    int64_t years = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * years + years / 4 - years / 100);
    int64_t shifted_month = (5 * of_year + 2) / 153;
    *day = (int)(of_year - (153 * shifted_month + 2) / 5 + 1);
    *month = (int)(shifted_month < 10 ? shifted_month + 3 : shifted_month - 9);
    *year = (int)(years + era * 400 + (*month <= 2));
}

static int digits(const char *text, int count)
{
    int value = 0;
    for (int i = 0; i < count; i++)
        value = value * 10 + (text[i] - '0');
    return value;
}

static bool parse_date(int64_t *out, const char *text)
{
    static const char shape[] = "dddd-dd-dd";
    for (size_t i = 0; i < sizeof(shape); i++) {
        bool fits = shape[i] == 'd' ? isdigit((unsigned char)text[i]) : text[i] == shape[i];
        if (!fits)
            return false;
    }
    int year = digits(text, 4), month = digits(text + 5, 2), day = digits(text + 8, 2), y, m, d;
    int64_t days = days_of(year, month, day);
    date_of(days, &y, &m, &d);
    if (year < 1970 || y != year || m != month || d != day) // such as 2026-02-30
        return false;
    *out = days * 86400;
    return true;
}

static bool is_object_id(const char *text)
{
    size_t length = strlen(text);
    return length >= 7 && length < OBJECT_ID_TEXT && strspn(text, "0123456789abcdef") == length;
}

// Whether a text has three words with one space between them, as epoch_format() writes them.
static bool is_series(const char *text)
{
    int spaces = 0;
    for (const char *c = text; *c; c++) {
        if ((unsigned char)*c < 0x20)
            return false;
        if (*c == ' ') {
            spaces++;
            if (c == text || c[1] == ' ' || c[1] == '\0')
                return false;
        }
    }
    return spaces == 2 && strlen(text) < EPOCH_SERIES_TEXT;
}

static bool is_name(const char *text)
{
    const size_t length = strlen(text);
    return length > 0 && length < EVENT_NAME_TEXT &&
           strspn(text, "0123456789abcdefghijklmnopqrstuvwxyz-") == length;
}

static bool is_decision(enum event_state state)
{
    return state == EVENT_ACCEPTED || state == EVENT_FIXED || state == EVENT_DISMISSED;
}

static int set_key(struct epoch_parser *p, enum epoch_key key, const char *value)
{
    struct epoch *e = &p->epoch;
    switch (key) {
    case KEY_EVENT:
        if (!is_name(value))
            return error_set(p->err, "%s:%d: event is a name that `plumb events` shows", p->name,
                             p->line);
        p->decision.event = arena_strdup(p->arena, value);
        return 0;
    case KEY_STATE:
        p->decision.taken = strcmp(value, "taken") == 0;
        if (!p->decision.taken &&
            (event_state_parse(&p->decision.state, value) || !is_decision(p->decision.state)))
            return error_set(p->err, "%s:%d: state is accepted, fixed, dismissed or taken", p->name,
                             p->line);
        return 0;
    case KEY_SERIES:
        e->series = arena_strdup(p->arena, value);
        if (!is_series(value))
            return error_set(p->err, "%s:%d: series is KERNEL PROBLEM DEVICE, three patterns",
                             p->name, p->line);
        return 0;
    case KEY_COMMIT:
        if (!is_object_id(value))
            return error_set(p->err, "%s:%d: commit is a hexadecimal id of 7 to 64 digits", p->name,
                             p->line);
        text_copy(e->commit, sizeof(e->commit), value);
        return 0;
    case KEY_LEVEL:
        e->removed = strcmp(value, "removed") == 0;
        if (!e->removed && (parse_double(&e->level, value) || fabs(e->level) > 10))
            return error_set(p->err,
                             "%s:%d: level is a log ratio, a number such as 0.0312, or the word "
                             "removed",
                             p->name, p->line);
        return 0;
    case KEY_WHEN:
        if (!parse_date(&e->when_s, value))
            return error_set(p->err, "%s:%d: when is a date such as 2026-11-21", p->name, p->line);
        return 0;
    default:
        *(key == KEY_REASON ? &e->reason : &e->who) = arena_strdup(p->arena, value);
        if (!value[0])
            return error_set(p->err, "%s:%d: %s is empty; a reviewer needs it", p->name, p->line,
                             key_names[key]);
        return 0;
    }
}

static int end_block(struct epoch_parser *p)
{
    const bool decides = p->seen & 1u << KEY_EVENT;
    const unsigned needed = decides ? DECISION_KEYS : EPOCH_KEYS;
    if (p->seen == 0)
        return 0;
    for (int key = 0; key < KEYS; key++) {
        if ((p->seen ^ needed) & 1u << key)
            return error_set(p->err, "%s:%d: the %s that ends here has %s %s", p->name, p->line,
                             decides ? "decision" : "epoch", needed & 1u << key ? "no" : "a",
                             key_names[key]);
    }
    if (p->count + p->decision_count == EPOCH_LIMIT)
        return error_set(p->err, "%s:%d: more than %d epochs", p->name, p->line, EPOCH_LIMIT);
    if (decides) {
        p->decisions =
            xgrow(p->decisions, p->decision_count, &p->decision_room, sizeof(*p->decisions));
        p->decision.reason = p->epoch.reason;
        p->decision.who = p->epoch.who;
        p->decision.when_s = p->epoch.when_s;
        p->decisions[p->decision_count++] = p->decision;
    } else {
        p->epochs = xgrow(p->epochs, p->count, &p->room, sizeof(*p->epochs));
        p->epochs[p->count++] = p->epoch;
    }
    p->epoch = (struct epoch){0};
    p->decision = (struct epoch_decision){0};
    p->seen = 0;
    return 0;
}

static char *trim(char *text)
{
    size_t length = strlen(text);
    while (length && (text[length - 1] == ' ' || text[length - 1] == '\t'))
        text[--length] = '\0';
    return text + strspn(text, " \t");
}

static int parse_assignment(struct epoch_parser *p, char *text)
{
    char *equals = strchr(text, '=');
    if (!equals)
        return error_set(p->err, "%s:%d: expected key = value", p->name, p->line);
    *equals = '\0';
    const char *name = trim(text), *value = trim(equals + 1);
    for (int key = 0; key < KEYS; key++) {
        if (strcmp(name, key_names[key]) != 0)
            continue;
        if (p->seen & 1u << key)
            return error_set(p->err, "%s:%d: a second %s; an empty line ends an epoch", p->name,
                             p->line, name);
        if (key != KEY_SERIES && key != KEY_EVENT && p->seen == 0)
            return error_set(p->err,
                             "%s:%d: an epoch begins with its series, a decision with its event",
                             p->name, p->line);
        p->seen |= 1u << key;
        return set_key(p, (enum epoch_key)key, value);
    }
    return error_set(
        p->err, "%s:%d: unknown key %.40s (series, commit, level; event, state; reason, who, when)",
        p->name, p->line, name);
}

static int parse_line(struct epoch_parser *p, const char *at, size_t length)
{
    char text[LINE_LIMIT];
    if (length && at[length - 1] == '\r')
        length--;
    if (length >= sizeof(text))
        return error_set(p->err, "%s:%d: longer than %d bytes", p->name, p->line, LINE_LIMIT - 1);
    for (size_t i = 0; i < length; i++) {
        if (((unsigned char)at[i] < 0x20 && at[i] != '\t') || at[i] == 0x7f)
            return error_set(p->err, "%s:%d: a control byte; this is a text file", p->name,
                             p->line);
    }
    memcpy(text, at, length);
    text[length] = '\0';
    char *content = trim(text);
    if (content[0] == '#')
        return 0;
    return content[0] ? parse_assignment(p, content) : end_block(p);
}

int epoch_parse(struct epoch_list *out, const char *text, size_t length, const char *name,
                struct arena *arena, struct error *err)
{
    struct epoch_parser p = {.name = name, .arena = arena, .err = err};
    const char *end = text + length;
    int status = 0;
    for (const char *at = text; status == 0 && at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        p.line++;
        status = parse_line(&p, at, (size_t)((stop ? stop : end) - at));
        at = stop ? stop + 1 : end;
    }
    if (status == 0)
        status = end_block(&p);
    if (status == 0) {
        out->epochs = arena_copy(arena, p.epochs, p.count * sizeof(*p.epochs));
        out->count = p.count;
        out->decisions = arena_copy(arena, p.decisions, p.decision_count * sizeof(*p.decisions));
        out->decision_count = p.decision_count;
    }
    free(p.epochs);
    free(p.decisions);
    return status;
}

static bool is_one_line(const char *text)
{
    size_t length = strlen(text);
    if (length == 0 || length > LINE_LIMIT / 2 || strchr(" \t", text[0]) ||
        strchr(" \t", text[length - 1]))
        return false;
    for (const char *c = text; *c; c++) {
        if (((unsigned char)*c < 0x20 && *c != '\t') || *c == 0x7f)
            return false;
    }
    return true;
}

// The last lines of an epoch's block: who accepted it, why and when.
static int format_word(char **out, const char *reason, const char *who, int64_t when_s,
                       struct arena *arena, struct error *err)
{
    int year, month, day;
    if (!is_one_line(reason) || !is_one_line(who))
        return error_set(err, "a reason and who are one line each, and not empty");
    date_of((when_s - (when_s % 86400 < 0 ? 86399 : 0)) / 86400, &year, &month, &day);
    if (year < 1970 || year > 9999)
        return error_set(err, "a date is in the years 1970 to 9999");
    *out = arena_printf(arena, "reason = %s\nwho    = %s\nwhen   = %04d-%02d-%02d\n", reason, who,
                        year, month, day);
    return 0;
}

int epoch_format(char **out, const struct epoch *epoch, struct arena *arena, struct error *err)
{
    char *word;
    if (!is_series(epoch->series))
        return error_set(err, "an epoch's series is KERNEL PROBLEM DEVICE, three patterns");
    if (!is_object_id(epoch->commit) || !(fabs(epoch->level) <= 10) ||
        (epoch->removed && epoch->level != 0))
        return error_set(err, "an epoch needs a full commit id and a level within +-10");
    if (format_word(&word, epoch->reason, epoch->who, epoch->when_s, arena, err))
        return -1;
    const char *level = epoch->removed ? "removed" : arena_printf(arena, "%.17g", epoch->level);
    *out = arena_printf(arena, "series = %s\ncommit = %s\nlevel  = %s\n%s", epoch->series,
                        epoch->commit, level, word);
    return 0;
}

int epoch_decision_format(char **out, const struct epoch_decision *decision, struct arena *arena,
                          struct error *err)
{
    char *word;
    if (!is_name(decision->event) || (!decision->taken && !is_decision(decision->state)))
        return error_set(err, "a decision needs an event's name, and is accepted, fixed, "
                              "dismissed or taken");
    if (format_word(&word, decision->reason, decision->who, decision->when_s, arena, err))
        return -1;
    *out = arena_printf(arena, "event  = %s\nstate  = %s\n%s", decision->event,
                        decision->taken ? "taken" : event_state_name(decision->state), word);
    return 0;
}

// ---- which epoch covers a series, and whether a list has an epoch already ----

// Matches a pattern: '*' stands for any run of bytes, '?' for one byte. After a mismatch, matching
// goes on at the last star, which keeps the time quadratic for any pattern.
static bool wildcard(const char *pattern, size_t length, const char *text)
{
    size_t p = 0, t = 0, star = SIZE_MAX, star_text = 0;
    while (text[t]) {
        if (p < length && pattern[p] == '*') {
            star = p++;
            star_text = t;
        } else if (p < length && (pattern[p] == '?' || pattern[p] == text[t])) {
            p++;
            t++;
        } else if (star != SIZE_MAX) {
            p = star + 1;
            t = ++star_text;
        } else {
            return false;
        }
    }
    while (p < length && pattern[p] == '*')
        p++;
    return p == length;
}

bool epoch_matches_text(const struct epoch *epoch, const char *kernel, const char *problem,
                        const char *device_uuid)
{
    const char *parts[] = {kernel, problem, device_uuid};
    const char *at = epoch->series;
    for (size_t i = 0; i < ARRAY_COUNT(parts); i++) {
        size_t length = strcspn(at, " ");
        if (!wildcard(at, length, parts[i]))
            return false;
        at += length + (at[length] == ' ');
    }
    return true;
}

bool epoch_matches(const struct epoch *epoch, const char *kernel, const struct problem *problem,
                   const char *device_uuid)
{
    char text[PROBLEM_TEXT];
    problem_format(text, problem);
    return epoch_matches_text(epoch, kernel, text, device_uuid);
}

bool epoch_known(const struct epoch_list *list, const struct epoch *epoch)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct epoch *k = &list->epochs[i];
        if (strcmp(k->series, epoch->series) == 0 && strcmp(k->commit, epoch->commit) == 0 &&
            k->level == epoch->level && k->removed == epoch->removed)
            return true;
    }
    return false;
}

struct event_taken epoch_taken(const struct epoch_list *list, const char *event)
{
    for (size_t i = list->decision_count; i > 0; i--) {
        const struct epoch_decision *d = &list->decisions[i - 1];
        if (d->taken && strcmp(d->event, event) == 0)
            return (struct event_taken){d->who, d->reason, d->when_s};
    }
    return (struct event_taken){0};
}

const struct epoch *epoch_find(const struct epoch_list *list, const char *kernel,
                               const struct problem *problem, const char *device_uuid)
{
    for (size_t i = list->count; i > 0; i--) {
        if (!list->epochs[i - 1].removed &&
            epoch_matches(&list->epochs[i - 1], kernel, problem, device_uuid))
            return &list->epochs[i - 1];
    }
    return NULL;
}
