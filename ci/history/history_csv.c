// SPDX-License-Identifier: Apache-2.0
//
// The changes, breaks and levels of stored series as CSV, a row each. Names in a store are
// untrusted text.
#include "ci/history/history_store.h"
#include "model/text.h"
#include "reports/text/clean.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

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
