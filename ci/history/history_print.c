// SPDX-License-Identifier: Apache-2.0
//
// The changes of stored series as a table, CSV and JSON. Names in a store are untrusted text.
#include "ci/history/history_store.h"
#include "reports/text/clean.h"
#include "reports/text/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *date_of(char out[16], int64_t time_s)
{
    struct tm parts;
    time_t time = (time_t)time_s;
    if (time_s <= 0) // not known
        snprintf(out, 16, "%-10s", "-");
    else if (!gmtime_r(&time, &parts) || strftime(out, 16, "%Y-%m-%d", &parts) == 0)
        snprintf(out, 16, "?");
    return out;
}

static double percent(double log_ratio)
{
    return 100 * expm1(log_ratio);
}

// ---- table ----

static void table_change(const struct history_change *c)
{
    char date[16], interval[64], where[72] = "this commit";
    snprintf(interval, sizeof(interval), "%+.2f .. %+.2f", percent(c->change.size.low),
             percent(c->change.size.high));
    if (c->commits > 1)
        snprintf(where, sizeof(where), "%zu commits, %.10s .. %.10s", c->commits, c->earliest.id,
                 c->latest.id);
    char *what = clean_copy(c->what ? c->what : attribution_name(c->attribution));
    printf("  %s  %-10.10s %+8.2f %%  (%s)  evidence %.1f  %s  [%s]%s\n",
           date_of(date, c->at.time_s), c->at.id, percent(c->change.size.value), interval,
           c->change.evidence, what, where, c->newest ? "  alarm: not confirmed yet" : "");
    free(what);
}

static void table_linked(const struct linked_change *c)
{
    char date[16];
    printf("  %s  %-10.10s %+8.2f %%  (%+.2f .. %+.2f)  evidence %.1f  side by side with %.10s%s\n",
           date_of(date, c->at.time_s), c->at.id, percent(c->size.value), percent(c->size.low),
           percent(c->size.high), c->evidence, c->base.id,
           c->misfit ? "  does not fit its loops" : "");
}

static void table_level(const struct linked_history *linked)
{
    if (linked->level_count == 0 || linked->neighbours == 0)
        return;
    printf("  level %+.2f %% (%+.2f .. %+.2f) since %.10s, by %zu %s with %zu %s, misclosure %.2f "
           "%%\n",
           percent(linked->now.value), percent(linked->now.low), percent(linked->now.high),
           linked->since.id, linked->links, plural(linked->links, "link", "links"), linked->loops,
           plural(linked->loops, "loop", "loops"), 100 * linked->misclosure);
}

static void table_now(const struct series_history *s)
{
    const struct history_now found = history_now(s);
    const struct interval now = found.size;
    if (!isfinite(now.low) || (found.linked && !s->epoch)) // that is the level, said before
        return;
    char *reason = clean_copy(s->epoch ? s->epoch->reason : "");
    printf("  now %+.2f %% (%+.2f .. %+.2f) against %s%.10s%s%s%s\n", percent(now.value),
           percent(now.low), percent(now.high),
           s->epoch ? "the state accepted at " : "the beginning", s->epoch ? s->epoch->commit : "",
           *reason ? ": " : "", reason,
           found.linked  ? ", by links"
           : found.moved ? ""
                         : ", within the margin or unsure");
    free(reason);
}

static void table_break(const struct history_break *b)
{
    char date[16], size[64] = "", *what = clean_copy(b->what);
    if (b->device && isfinite(b->size.value))
        snprintf(size, sizeof(size), ": %+.2f %%  (%+.2f .. %+.2f)", percent(b->size.value),
                 percent(b->size.low), percent(b->size.high));
    printf("  %s  %-10.10s %s%s\n", date_of(date, b->at.time_s), b->at.id, what, size);
    free(what);
}

// What is known of it: absolute times, or links alone (imported, or of gates and bisections).
static void table_known(const struct series_history *s)
{
    const struct linked_history *l = &s->linked;
    if (s->stored.count || !l->links)
        printf("%zu %s, noise %.2f %%, %s%s", s->stored.count,
               plural(s->stored.count, "point", "points"), 100 * s->sigma,
               s->against_model ? "actual / predicted" : "time",
               s->common_mode ? " less the controls" : "");
    else
        printf("%zu %s in %zu %s, no times", l->level_count,
               plural(l->level_count, "code", "codes"), l->links,
               plural(l->links, "link", "links"));
}

static void table_series(const struct series_history *s)
{
    char problem[PROBLEM_TEXT];
    size_t listed = s->linked.change_count;
    for (size_t i = 0; i < s->change_count; i++)
        listed += !history_is_linked(&s->linked, &s->changes[i]);
    problem_format(problem, &s->series->problem);
    char *kernel = clean_copy(s->series->kernel), *device = clean_copy(s->series->device_name);
    printf("%s %s on %s: ", kernel, problem, device);
    table_known(s);
    printf(": %zu %s%s\n", listed, plural(listed, "change", "changes"),
           s->linked.moved && !s->linked.change_count ? ", the level crept"
           : s->drift                                 ? ", the level drifts"
                                                      : "");
    for (size_t i = 0; i < s->linked.change_count; i++)
        table_linked(&s->linked.changes[i]);
    for (size_t i = 0; i < s->linked.misfit_count; i++)
        printf("  %.10s with %.10s does not fit its loops; `plumb bisect --events` measures it "
               "again\n",
               s->linked.misfits[i].at.id, s->linked.misfits[i].base.id);
    if (s->linked.trouble)
        printf("  %s; each link counts alone\n", s->linked.trouble);
    size_t b = 0;
    for (size_t i = 0; i <= s->change_count; i++) {
        for (; b < s->break_count &&
               (i == s->change_count || s->breaks[b].index <= s->changes[i].change.index);
             b++) {
            table_break(&s->breaks[b]);
        }
        if (i < s->change_count && !history_is_linked(&s->linked, &s->changes[i]))
            table_change(&s->changes[i]);
    }
    table_level(&s->linked);
    table_now(s);
    if (s->replaced_by) {
        char *by = clean_copy(s->replaced_by);
        printf("  no more: %s took this device's place\n", by);
        free(by);
    }
    free(kernel);
    free(device);
}

void history_print_table(const struct history_set *set)
{
    size_t quiet = 0;
    for (size_t i = 0; i < set->count; i++) {
        const struct series_history *s = &set->series[i];
        if (set->count > 1 && s->change_count == 0 && s->linked.change_count == 0 &&
            s->break_count == 0 && !history_now(s).moved)
            quiet++;
        else
            table_series(s);
    }
    if (set->count > 1)
        printf("%zu series, %zu of them without a change\n", set->count, quiet);
}

// ---- CSV ----

static void cell(const char *text, char end)
{
    char *field = clean_field(text);
    printf("%s%c", field, end);
    free(field);
}

static void number(double value, char end)
{
    char text[NUMBER_TEXT] = "";
    if (isfinite(value))
        snprintf(text, sizeof(text), "%.9g", value);
    fputs(text, stdout);
    putchar(end);
}

// Value, low and high.
static void size_cells(struct interval size)
{
    number(size.value, ',');
    number(size.low, ',');
    number(size.high, ',');
}

static void csv_start(const struct series_history *s, const char *kind, const char *commit,
                      int64_t time_s)
{
    char problem[PROBLEM_TEXT];
    problem_format(problem, &s->series->problem);
    cell(s->series->kernel, ',');
    cell(problem, ',');
    cell(s->series->device_uuid, ',');
    printf("%s,%s,", kind, commit);
    if (time_s > 0)
        printf("%lld", (long long)time_s);
    putchar(',');
}

static void csv_linked(const struct series_history *s, const struct linked_change *c)
{
    csv_start(s, "linked", c->at.id, c->at.time_s);
    printf("%s,%s,1,", c->base.id, c->at.id);
    size_cells(c->size);
    number(c->evidence, ',');
    cell("kernel", ',');
    cell(c->misfit ? "does not fit its loops" : "", '\n');
}

// A code's log time against its mark.
static void csv_level(const struct series_history *s, const struct linked_levels *all, size_t index)
{
    const struct linked_level *l = &all->levels[index];
    csv_start(s, "level", l->at->id, l->at->time_s);
    printf("%s,%s,1,", all->levels[l->mark].at->id, l->at->id);
    size_cells(l->level);
    fputs(",,", stdout);
    cell(l->tried ? "tried" : "", '\n');
}

static void csv_series(const struct series_history *s, const struct linked_levels *all)
{
    for (size_t i = 0; i < all->level_count; i++)
        csv_level(s, all, i);
    for (size_t i = 0; i < s->linked.change_count; i++)
        csv_linked(s, &s->linked.changes[i]);
    for (size_t i = 0; i < s->change_count; i++) {
        const struct history_change *c = &s->changes[i];
        csv_start(s, c->newest ? "alarm" : "change", c->at.id, c->at.time_s);
        printf("%s,%s,%zu,", c->earliest.id, c->latest.id, c->commits);
        size_cells(c->change.size);
        number(c->change.evidence, ',');
        cell(attribution_name(c->attribution), ',');
        cell(c->what, '\n');
    }
    for (size_t i = 0; i < s->break_count; i++) {
        csv_start(s, "break", s->breaks[i].at.id, s->breaks[i].at.time_s);
        const struct history_break *b = &s->breaks[i];
        fputs(",,,", stdout);
        size_cells(b->device ? b->size : interval_none);
        fputs(",,", stdout);
        cell(b->what, '\n');
    }
    csv_start(s, "now", s->newest.commit, s->newest.time_s);
    fputs(",,,", stdout);
    const struct history_now now = history_now(s);
    size_cells(now.size);
    number(now.linked ? NAN : s->creep.evidence, ',');
    fputs(now.moved ? "moved," : "same,", stdout);
    cell(s->epoch ? s->epoch->commit : NULL, '\n');
}

void history_print_csv(const struct history_set *set)
{
    puts("kernel,problem,device,kind,commit,time_s,earliest,latest,commits,log_ratio,low,high,"
         "evidence,cause,what");
    for (size_t i = 0; i < set->count; i++)
        csv_series(&set->series[i], &set->levels[i]);
}

// ---- JSON ----

static void json_place(struct json *json, const char *name, const char *id, int64_t time_s)
{
    json_begin(json, name, '{');
    json_clean(json, "id", id);
    json_time(json, "time_s", time_s);
    json_end(json, '}');
}

static void json_size(struct json *json, const char *name, struct interval size)
{
    json_number(json, name, size.value);
    json_number(json, "low", size.low);
    json_number(json, "high", size.high);
}

static void json_change(struct json *json, const struct history_change *c)
{
    json_newline(json);
    json_begin(json, NULL, '{');
    json_place(json, "commit", c->at.id, c->at.time_s);
    json_place(json, "earliest", c->earliest.id, c->earliest.time_s);
    json_place(json, "latest", c->latest.id, c->latest.time_s);
    json_int(json, "commits", (int64_t)c->commits);
    json_int(json, "index", (int64_t)c->change.index);
    json_size(json, "log_ratio", c->change.size);
    json_number(json, "evidence", c->change.evidence);
    json_bool(json, "confirmed", !c->newest);
    json_clean(json, "cause", attribution_name(c->attribution));
    json_clean(json, "what", c->what);
    json_end(json, '}');
}

static void json_linked(struct json *json, const struct linked_history *linked,
                        const struct linked_levels *all)
{
    json_begin(json, "linked", '{');
    json_int(json, "links", (int64_t)linked->links);
    json_int(json, "loops", (int64_t)linked->loops);
    json_number(json, "misclosure", linked->misclosure);
    json_clean(json, "trouble", linked->trouble);
    json_begin(json, "changes", '[');
    for (size_t i = 0; i < linked->change_count; i++) {
        const struct linked_change *c = &linked->changes[i];
        json_begin(json, NULL, '{');
        json_place(json, "commit", c->at.id, c->at.time_s);
        json_place(json, "base", c->base.id, c->base.time_s);
        json_size(json, "log_ratio", c->size);
        json_number(json, "evidence", c->evidence);
        json_bool(json, "fits", !c->misfit);
        json_end(json, '}');
    }
    json_end(json, ']');
    json_int(json, "newest", linked->level_count ? (int64_t)linked->newest : -1);
    json_begin(json, "levels", '[');
    for (size_t i = 0; i < all->level_count; i++) {
        const struct linked_level *l = &all->levels[i];
        json_begin(json, NULL, '{');
        json_place(json, "commit", l->at->id, l->at->time_s);
        json_int(json, "mark", (int64_t)l->mark);
        json_bool(json, "tried", l->tried);
        json_size(json, "level", l->level);
        json_end(json, '}');
    }
    json_end(json, ']');
    json_end(json, '}');
}

static void json_now(struct json *json, const struct series_history *s)
{
    json_begin(json, "now", '{');
    json_clean(json, "commit", s->newest.commit);
    const struct history_now now = history_now(s);
    json_size(json, "log_ratio", now.size);
    json_number(json, "evidence", now.linked ? NAN : s->creep.evidence);
    json_bool(json, "moved", now.moved);
    json_bool(json, "linked", now.linked);
    json_clean(json, "accepted", s->epoch ? s->epoch->commit : NULL);
    json_clean(json, "reason", s->epoch ? s->epoch->reason : NULL);
    json_end(json, '}');
}

static void json_series(struct json *json, const struct series_history *s,
                        const struct linked_levels *all)
{
    char problem[PROBLEM_TEXT];
    problem_format(problem, &s->series->problem);
    json_newline(json);
    json_begin(json, NULL, '{');
    json_clean(json, "kernel", s->series->kernel);
    json_clean(json, "problem", problem);
    json_clean(json, "device", s->series->device_uuid);
    json_int(json, "points", (int64_t)s->stored.count);
    json_clean(json, "value", s->against_model ? "log actual / predicted" : "log time");
    json_bool(json, "common_mode_removed", s->common_mode);
    json_number(json, "noise", s->sigma);
    json_number(json, "correlation", s->correlation);
    json_bool(json, "drift", s->drift);
    json_begin(json, "changes", '[');
    for (size_t i = 0; i < s->change_count; i++)
        json_change(json, &s->changes[i]);
    json_end(json, ']');
    json_begin(json, "breaks", '[');
    for (size_t i = 0; i < s->break_count; i++) {
        json_begin(json, NULL, '{');
        json_place(json, "commit", s->breaks[i].at.id, s->breaks[i].at.time_s);
        json_clean(json, "what", s->breaks[i].what);
        json_bool(json, "device", s->breaks[i].device);
        json_size(json, "log_ratio", s->breaks[i].device ? s->breaks[i].size : interval_none);
        json_end(json, '}');
    }
    json_end(json, ']');
    json_linked(json, &s->linked, all);
    json_now(json, s);
    json_end(json, '}');
}

void history_print_json(const struct history_set *set)
{
    struct buffer out = {0};
    struct json json = {.out = &out};
    json_begin(&json, NULL, '{');
    json_begin(&json, "series", '[');
    for (size_t i = 0; i < set->count; i++)
        json_series(&json, &set->series[i], &set->levels[i]);
    json_end(&json, ']');
    json_end(&json, '}');
    puts(out.bytes);
    buffer_free(&out);
}
