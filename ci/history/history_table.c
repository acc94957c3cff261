// SPDX-License-Identifier: Apache-2.0
//
// The changes of stored series as a table for people. Names in a store are untrusted text.
#include "ci/history/history_store.h"
#include "ci/settings/plain.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
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

static void table_change(const struct history_change *c)
{
    char date[16], interval[64], where[72] = "this commit";
    snprintf(interval, sizeof(interval), "%+.2f .. %+.2f", percent(c->change.size.low),
             percent(c->change.size.high));
    if (c->commits > 1)
        snprintf(where, sizeof(where), "%zu commits, %.10s .. %.10s", c->commits, c->earliest.id,
                 c->latest.id);
    char *what = plain_line(c->what ? c->what : attribution_name(c->attribution));
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
    if (s->stored.count == 0 && !found.linked)
        return;
    char *reason = plain_line(s->epoch ? s->epoch->reason : "");
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
    char date[16], size[64] = "", *what = plain_line(b->what);
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
    char *kernel = plain_line(s->series->kernel), *device = plain_line(s->series->device_name);
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
        char *by = plain_line(s->replaced_by);
        printf("  no more: %s took this device's place\n", by);
        free(by);
    }
    free(kernel);
    free(device);
}

// Neither a comparison with the code before it nor enough times to tell a change by.
static bool is_too_short(const struct series_history *s)
{
    return !s->linked.neighbours && (s->stored.count == 0 || !isfinite(s->creep.size.low));
}

void history_print_table(const struct history_set *set)
{
    size_t quiet = 0, shorts = 0;
    for (size_t i = 0; i < set->count; i++) {
        const struct series_history *s = &set->series[i];
        if (set->count > 1 && s->change_count == 0 && s->linked.change_count == 0 &&
            s->break_count == 0 && !history_now(s).moved)
            quiet++;
        else
            table_series(s);
        shorts += is_too_short(s);
    }
    if (set->count > 1)
        printf("%zu series, %zu of them without a change\n", set->count, quiet);
    if (shorts)
        printf("%zu of %zu series: too few points to tell a change yet; `plumb run` adds some, and "
               "compares each new code side by side where the policy says [history] link = on\n",
               shorts, set->count);
}
