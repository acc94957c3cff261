// SPDX-License-Identifier: Apache-2.0
//
// plumb history: when the level of a series changed, in the store or in a column of a CSV file.

#include "ci/command.h"
#include "ci/commands/output.h"
#include "ci/history/history.h"
#include "ci/history/load.h"
#include "ci/history/series_csv.h"
#include "ci/settings/context.h"
#include "ci/settings/epochs.h"
#include "ci/settings/metric.h"
#include "ci/settings/progress.h"
#include "ci/settings/text_file.h"
#include "model/base.h"
#include "model/history/changepoint.h"
#include "model/history/device.h"
#include "model/history/shape.h"
#include "reports/text/clean.h"

#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct arguments {
    struct options options;
    const char *csv, *column, *where, *control; // the following options are only for the store
    struct history_wanted wanted;
    const char *epochs; // a file; NULL: the repository's
    const char *format; // table, csv or json
    bool accuracy;      // print the models' accuracy over commits instead
};

// A series of a CSV file, with the result.
struct series_view {
    const char *title;         // the file's name, untrusted text
    const char *column;        // untrusted text
    const char *why;           // why that column was chosen
    const char *const *labels; // one for each value, untrusted text; NULL: none
    const double *values;
    size_t count, missing;
    struct changepoints found;
    struct shape shape;
};

// ---- printing a table ----

static const char *date_of(char out[16], int64_t time_s)
{
    struct tm parts;
    time_t time = (time_t)time_s;
    if (time_s <= 0) // the time is not known
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
    printf("  %s  %-10.10s %+8.2f %%  (%s)  evidence %.1f  %s  [%s]\n", date_of(date, c->at.time_s),
           c->at.id, percent(c->change.size.value), interval, c->change.evidence, what, where);
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
    // The level that is printed before says that already.
    if (!isfinite(now.low) || (found.linked && !s->epoch))
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

// Prints the movements of a series that are no change of level.
static void table_told(const struct told *t)
{
    if (t->creeps)
        printf("  it creeps: %+.2f %% (%+.2f .. %+.2f) from its first point to its last\n",
               percent(t->creep.value), percent(t->creep.low), percent(t->creep.high));
    if (t->pattern.period)
        printf("  a pattern comes again every %zu points: %.2f %% from its lowest to its highest; "
               "that is "
               "taken off\n",
               t->pattern.period, percent(t->pattern.swing));
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

// Prints what is known of a series: absolute times, or only links (imported, or from gates and
// bisections).
static void table_known(const struct series_history *s)
{
    const struct linked_history *l = &s->linked;
    char noise[32] = "";
    if (s->stored.count > 1) // one point shows no change
        snprintf(noise, sizeof(noise), "noise %.2f %%, ", 100 * s->sigma);
    if (s->stored.count || !l->links)
        printf("%zu %s, %s%s%s", s->stored.count, plural(s->stored.count, "point", "points"), noise,
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
    problem_tell(problem, &s->series->problem);
    char *kernel = plain_line(s->series->kernel), *device = plain_line(s->series->device_name);
    printf("%s %s on %s: ", kernel, problem, device);
    table_known(s);
    printf(": %zu %s%s\n", listed, plural(listed, "change", "changes"),
           s->linked.moved && !s->linked.change_count ? ", the level crept"
           : s->told.creeps                           ? ", the level creeps"
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
    table_told(&s->told);
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

// Whether a series has neither a comparison with the code before it nor enough times to find a
// change.
static bool is_too_short(const struct series_history *s)
{
    return !s->linked.neighbours && s->change_count == 0 && s->linked.change_count == 0 &&
           (s->stored.count == 0 || !isfinite(s->creep.size.low));
}

// Prints all series to standard output. CSV and JSON need a set with levels.
static void history_print_series(const struct history_set *set)
{
    size_t quiet = 0, shorts = 0;
    for (size_t i = 0; i < set->count; i++) {
        const struct series_history *s = &set->series[i];
        if (set->count > 1 && s->change_count == 0 && s->linked.change_count == 0 &&
            s->break_count == 0 && !s->told.creeps && !s->told.pattern.period &&
            !history_now(s).moved)
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

// ---- writing CSV ----

// Writes the cells of a value, its low and its high end.
static void csv_size(struct csv_line *line, struct interval size)
{
    csv_real(line, size.value);
    csv_real(line, size.low);
    csv_real(line, size.high);
}

// Writes the first cells of a row: its kind, its commit and the commit's time; time_s 0: not known.
static void csv_start(struct csv_line *line, const char *kind, const char *commit, int64_t time_s)
{
    csv_text(line, kind);
    csv_text(line, commit);
    csv_real(line, time_s > 0 ? (double)time_s : NAN);
}

static void csv_about(struct csv_line *line, const struct series_history *s, const char *kind,
                      const char *commit, int64_t time_s)
{
    char problem[PROBLEM_TEXT];
    problem_format(problem, &s->series->problem);
    csv_clean(line, s->series->kernel);
    csv_clean(line, problem);
    csv_clean(line, s->series->device_uuid);
    csv_start(line, kind, commit, time_s);
}

// Writes the two commits between which a change began.
static void csv_span(struct csv_line *line, const char *earliest, const char *latest,
                     size_t commits)
{
    csv_text(line, earliest);
    csv_text(line, latest);
    csv_int(line, (int64_t)commits);
}

// Writes the last cells of a row; evidence NaN: there is none.
static void csv_rest(struct csv_line *line, struct interval size, double evidence,
                     const char *cause, const char *what)
{
    csv_size(line, size);
    csv_real(line, evidence);
    csv_text(line, cause);
    csv_clean(line, what);
    csv_end(line, "\n");
}

// Writes the log ratio of a code to its mark.
static void csv_level(struct csv_line *line, const struct series_history *s,
                      const struct linked_levels *all, size_t index)
{
    const struct linked_level *l = &all->levels[index];
    csv_about(line, s, "level", l->at->id, l->at->time_s);
    csv_span(line, all->levels[l->mark].at->id, l->at->id, 1);
    csv_rest(line, l->level, NAN, NULL, l->tried ? "tried" : NULL);
}

static void csv_told(struct csv_line *line, const struct series_history *s)
{
    char again[40];
    const struct pattern *p = &s->told.pattern;
    if (s->told.creeps) {
        csv_about(line, s, "creep", s->newest.commit, s->newest.time_s);
        csv_empty(line, 3);
        csv_rest(line, s->told.creep, NAN, NULL, NULL);
    }
    if (p->period) {
        csv_about(line, s, "pattern", s->newest.commit, s->newest.time_s);
        csv_empty(line, 3);
        snprintf(again, sizeof(again), "every %zu points", p->period);
        csv_rest(line, (struct interval){p->swing, NAN, NAN}, NAN, NULL, again);
    }
}

static void csv_changes(struct csv_line *line, const struct series_history *s)
{
    for (size_t i = 0; i < s->linked.change_count; i++) {
        const struct linked_change *c = &s->linked.changes[i];
        csv_about(line, s, "linked", c->at.id, c->at.time_s);
        csv_span(line, c->base.id, c->at.id, 1);
        csv_rest(line, c->size, c->evidence, "kernel", c->misfit ? "does not fit its loops" : NULL);
    }
    for (size_t i = 0; i < s->change_count; i++) {
        const struct history_change *c = &s->changes[i];
        csv_about(line, s, "change", c->at.id, c->at.time_s);
        csv_span(line, c->earliest.id, c->latest.id, c->commits);
        csv_rest(line, c->change.size, c->change.evidence, attribution_name(c->attribution),
                 c->what);
    }
    for (size_t i = 0; i < s->break_count; i++) {
        const struct history_break *b = &s->breaks[i];
        csv_about(line, s, "break", b->at.id, b->at.time_s);
        csv_empty(line, 3);
        csv_rest(line, b->device ? b->size : interval_none, NAN, NULL, b->what);
    }
}

static void csv_series(struct csv_line *line, const struct series_history *s,
                       const struct linked_levels *all)
{
    const struct history_now now = history_now(s);
    for (size_t i = 0; i < all->level_count; i++)
        csv_level(line, s, all, i);
    csv_changes(line, s);
    csv_told(line, s);
    csv_about(line, s, "now", s->newest.commit, s->newest.time_s);
    csv_empty(line, 3);
    csv_rest(line, now.size, now.linked ? NAN : s->creep.evidence, now.moved ? "moved" : "same",
             s->epoch ? s->epoch->commit : NULL);
}

// ---- writing JSON ----

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
    json_clean(json, "regime", regime_name(s->series->problem.regime));
    json_clean(json, "device", s->series->device_uuid);
    json_int(json, "points", (int64_t)s->stored.count);
    json_clean(json, "value", s->against_model ? "log actual / predicted" : "log time");
    json_bool(json, "common_mode_removed", s->common_mode);
    json_number(json, "noise", s->stored.count > 1 ? s->sigma : NAN);
    json_number(json, "correlation", s->stored.count > 1 ? s->correlation : NAN);
    json_bool(json, "drift", s->drift);
    json_begin(json, "creep", '{');
    json_size(json, "log_ratio", s->told.creeps ? s->told.creep : interval_none);
    json_end(json, '}');
    json_int(json, "period", (int64_t)s->told.pattern.period);
    json_number(json, "swing", s->told.pattern.period ? s->told.pattern.swing : NAN);
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

// ---- metrics: figures beside time ----

// Whether --kernel selects a metric. The pattern is compared with the metric's subject, or, if the
// subject is "KERNEL PROBLEM", with the kernel.
static bool shows(const struct metric_series *s, const struct history_wanted *w)
{
    char kernel[KERNEL_NAME_TEXT];
    snprintf(kernel, sizeof(kernel), "%.*s", (int)strcspn(s->of->subject, " "), s->of->subject);
    return !w->problem && !w->device && !w->toolchain &&
           (!w->kernel || fnmatch(w->kernel, kernel, 0) == 0);
}

static void table_metric(const struct metric_history *h, size_t index)
{
    struct arena arena = {0};
    const struct metric_series *s = &h->series[index];
    char *subject = plain_line(s->of->subject);
    printf("%s of %s: %zu %s, now %s: %zu %s\n", s->of->name, subject, s->count,
           plural(s->count, "commit", "commits"),
           metric_value_text(s->points[s->count - 1].value, s->of->unit, &arena), s->changes,
           plural(s->changes, "change", "changes"));
    free(subject);
    for (size_t i = h->change_count; i > 0; i--) {
        const struct metric_change *c = &h->changes[i - 1];
        const struct commit *at = &h->line[c->at];
        char date[16], where[40] = "this commit";
        if (c->series != index)
            continue;
        if (c->commits > 1)
            snprintf(where, sizeof(where), "one of %zu commits", c->commits);
        char *text = plain_line(metric_change_text(h, c, &arena));
        printf("  %s  %-10.10s %s  [%s]%s%s\n", date_of(date, at->time_s), at->id, text, where,
               c->state == EVENT_CONFIRMED ? "" : "  ",
               c->state == EVENT_CONFIRMED ? "" : event_state_name(c->state));
        free(text);
    }
    arena_free(&arena);
}

static void metrics_print_table(const struct metric_history *h, const struct history_wanted *w)
{
    size_t shown = 0, quiet = 0;
    for (size_t i = 0; i < h->count; i++) {
        if (!shows(&h->series[i], w))
            continue;
        shown++;
        quiet += !h->series[i].changes;
        if (h->series[i].changes || h->count <= 3)
            table_metric(h, i);
    }
    if (shown)
        printf("%zu %s, %zu of them without a change\n", shown, plural(shown, "metric", "metrics"),
               quiet);
}

static void csv_metric(struct csv_line *line, const struct metric_value *of, const char *kind,
                       const struct commit *at)
{
    csv_clean(line, of->subject);
    csv_clean(line, of->name);
    csv_clean(line, of->device);
    csv_start(line, kind, at->id, at->time_s);
}

// Writes metrics; the name stands in the place of a problem, and values in the place of sizes.
static void csv_metrics(struct csv_line *line, const struct metric_history *h,
                        const struct history_wanted *w)
{
    struct arena arena = {0};
    for (size_t i = 0; i < h->count; i++) {
        const struct metric_series *s = &h->series[i];
        for (size_t k = 0; shows(s, w) && k < s->count; k++) {
            csv_metric(line, s->of, "metric", &h->line[s->points[k].at]);
            csv_span(line, NULL, NULL, 1);
            csv_empty(line, 5);
            csv_real(line, s->points[k].value);
            csv_end(line, "\n");
        }
    }
    for (size_t i = 0; i < h->change_count; i++) {
        const struct metric_change *c = &h->changes[i];
        const double size = c->before > 0 && c->after > 0 ? log(c->after / c->before) : NAN;
        if (!shows(&h->series[c->series], w))
            continue;
        csv_metric(line, h->series[c->series].of, "metric-change", &h->line[c->at]);
        csv_span(line, NULL, h->line[c->at].id, c->commits);
        csv_rest(line, (struct interval){size, NAN, NAN}, NAN, event_state_name(c->state),
                 metric_change_text(h, c, &arena));
    }
    arena_free(&arena);
}

static void json_metric(struct json *json, const struct metric_history *h, size_t index)
{
    const struct metric_series *s = &h->series[index];
    json_newline(json);
    json_begin(json, NULL, '{');
    json_clean(json, "metric", s->of->name);
    json_clean(json, "what", s->of->what);
    json_clean(json, "subject", s->of->subject);
    json_clean(json, "device", s->of->device);
    json_clean(json, "unit", s->of->unit);
    json_begin(json, "values", '[');
    for (size_t k = 0; k < s->count; k++) {
        json_begin(json, NULL, '{');
        json_clean(json, "commit", h->line[s->points[k].at].id);
        json_number(json, "value", s->points[k].value);
        json_end(json, '}');
    }
    json_end(json, ']');
    json_begin(json, "changes", '[');
    for (size_t i = h->change_count; i > 0; i--) {
        const struct metric_change *c = &h->changes[i - 1];
        if (c->series != index)
            continue;
        json_begin(json, NULL, '{');
        json_place(json, "commit", h->line[c->at].id, h->line[c->at].time_s);
        json_int(json, "commits", (int64_t)c->commits);
        json_number(json, "before", c->before);
        json_number(json, "after", c->after);
        json_clean(json, "kind", metric_word(c->kind));
        json_clean(json, "state", event_state_name(c->state));
        json_end(json, '}');
    }
    json_end(json, ']');
    json_end(json, '}');
}

static void history_print_table(const struct history_set *set, const struct metric_history *metrics,
                                const struct history_wanted *wanted)
{
    history_print_series(set);
    metrics_print_table(metrics, wanted);
}

static void history_print_csv(const struct history_set *set, const struct metric_history *metrics,
                              const struct history_wanted *wanted)
{
    struct buffer out = {0};
    struct csv_line line = {.out = &out};
    csv_raw(&line, "kernel,problem,device,kind,commit,time_s,earliest,latest,commits,log_ratio,"
                   "low,high,evidence,cause,what");
    csv_end(&line, "\n");
    for (size_t i = 0; i < set->count; i++)
        csv_series(&line, &set->series[i], &set->levels[i]);
    csv_metrics(&line, metrics, wanted);
    buffer_print(&out, stdout);
}

static void history_print_json(const struct history_set *set, const struct metric_history *metrics,
                               const struct history_wanted *wanted)
{
    struct buffer out = {0};
    struct json json = {.out = &out};
    json_begin(&json, NULL, '{');
    json_begin(&json, "series", '[');
    for (size_t i = 0; i < set->count; i++)
        json_series(&json, &set->series[i], &set->levels[i]);
    json_end(&json, ']');
    json_begin(&json, "metrics", '[');
    for (size_t i = 0; i < metrics->count; i++) {
        if (shows(&metrics->series[i], wanted))
            json_metric(&json, metrics, i);
    }
    json_end(&json, ']');
    json_end(&json, '}');
    buffer_puts(&out, "\n");
    buffer_print(&out, stdout);
}

// ---- a column of a CSV file ----

// Prints the changes of a series from a CSV file, and its present level: for people, as CSV, and as
// JSON.

enum {
    NEWEST = 10, // number of values that give the level of a series that wanders
    BESIDE = 5   // a value at most so many away from a change belongs to it
};

static const struct column_head columns[] = {
    {"index", 7},    {"credible", 16},      {"before", 12},  {"after", 12}, {"size", 12},
    {"relative", 9}, {"95 % interval", 27}, {"evidence", 9}, {"", 0}};

static void print_row(const struct text_table *table, const struct series_view *view,
                      const struct change *c)
{
    const bool labelled = view->labels && view->labels[c->index];
    char relative[32] = "", *label = labelled ? plain_line(view->labels[c->index]) : NULL;
    if (c->before != 0 && fabs(c->size.value / c->before) < 1000)
        snprintf(relative, sizeof(relative), "%+.2f %%", 100 * c->size.value / fabs(c->before));
    table_row(table, "%zu\t%zu..%zu\t%.6g\t%.6g\t%+.4g\t%s\t%.4g..%.4g\t%.1f\t%s%s", c->index,
              c->earliest, c->latest, c->before, c->after, c->size.value, relative, c->size.low,
              c->size.high, c->evidence, label ? " " : "", label ? label : "");
    free(label);
}

// Whether a change of the modes' share is the same as a listed change.
static bool is_of_modes(const struct series_view *view)
{
    for (size_t i = 0; i < view->found.count; i++) {
        const struct change *c = &view->found.changes[i];
        if (view->shape.shifts_at + BESIDE >= c->earliest &&
            view->shape.shifts_at <= c->latest + BESIDE)
            return true;
    }
    return false;
}

// Prints a level's ", +0.5 %"; nothing for 0.
static void print_share(const char *before, double size, double level, const char *after)
{
    if (level != 0)
        printf("%s%+.2f %%%s", before, 100 * size / fabs(level), after);
}

// Prints changes of the noise and of the modes. They are no change of level, unless the level moves
// with them.
static void print_shape(const struct series_view *view, double first)
{
    const struct shape *s = &view->shape;
    const struct pattern *p = &view->found.pattern;
    if (p->period) {
        printf("it comes again every %zu values: %.4g from the lowest to the highest", p->period,
               p->swing);
        print_share(", ", p->swing, first, "");
        puts("; that is taken off");
    }
    if (s->creeps) {
        printf("it creeps: %+.4g from the first value to the last (%.4g..%.4g)", s->creep.value,
               s->creep.low, s->creep.high);
        print_share(", ", s->creep.value, first, "");
        putchar('\n');
    }
    if (s->louder)
        printf("its noise changes: standard deviation %.3g before index %zu, %.3g from there on\n",
               s->spread_before, s->louder_at, s->spread_after);
    if (s->shifts)
        printf("its modes change: %.0f %% of the values above %.6g before index %zu, %.0f %% from "
               "there on%s\n",
               100 * s->share_before, s->between, s->shifts_at, 100 * s->share_after,
               is_of_modes(view) ? "; the change there is that" : "");
}

// The newest level, which is compared with the first one: the level of the values after the last
// change; or, if the level wanders or creeps, that of the newest few values.
static struct newest_level now_of(const struct series_view *view, bool *few)
{
    const struct changepoints *found = &view->found;
    size_t first = found->count ? found->changes[found->count - 1].index : 0;
    size_t end = found->count ? found->changes[0].index : view->count, values = 0;
    *few = found->drift || view->shape.creeps;
    if (*few && view->count - first > NEWEST) {
        for (size_t i = view->count; i-- > first && values < NEWEST;
             first = values < NEWEST ? first : i)
            values += isfinite(view->values[i]);
        values = 0;
        for (size_t i = 0; i < end; i++) {
            values += isfinite(view->values[i]);
            end = values < NEWEST ? end : i + 1;
        }
    }
    return newest_level(view->values, first, view->count, end);
}

static void print_now(const struct series_view *view)
{
    const struct changepoints *found = &view->found;
    const size_t first = found->count ? found->changes[found->count - 1].index : 0;
    bool few;
    const struct newest_level now = now_of(view, &few);
    if (isfinite(now.level) && few)
        printf("now: %.6g, the median of the newest %zu %s", now.level, now.values,
               plural(now.values, "value", "values"));
    else if (isfinite(now.level))
        printf("now: %.6g, the median of %zu %s since index %zu", now.level, now.values,
               plural(now.values, "value", "values"), first);
    if (isfinite(now.level) && (found->count || few)) {
        printf("; %+.4g", now.level - now.at_first);
        print_share(" (", now.level - now.at_first, now.at_first, ")");
        printf(" against the first %s, %.6g", few ? "ones" : "level", now.at_first);
    }
    if (isfinite(now.level))
        putchar('\n');
    print_shape(view, now.at_first);
}

static void series_print_table(const struct series_view *view)
{
    const struct changepoints *found = &view->found;
    struct buffer out = {0};
    const struct text_table table = {&out, columns, ARRAY_COUNT(columns)};
    if (view->found.count)
        table_heads(&table);
    for (size_t i = 0; i < view->found.count; i++)
        print_row(&table, view, &view->found.changes[i]);
    buffer_print(&out, stdout);
    char *title = plain_line(view->title), *column = plain_line(view->column);
    char noise[64] = "";
    if (found->used > 1) // one value shows no change
        snprintf(noise, sizeof(noise), ", noise %.3g, correlation %.2f", found->sigma,
                 found->correlation);
    printf("%s, column %s: %zu %s (%zu missing)%s: %zu %s%s\n", title, column, view->count,
           plural(view->count, "value", "values"), view->missing, noise, found->count,
           plural(found->count, "change", "changes"),
           !found->drift  ? ""
           : found->count ? " out of a drifting level"
                          : "; the level drifts");
    print_now(view);
    printf("read: column %s, %s\n", column, view->why);
    free(title);
    free(column);
}

// Rounds to twelve digits: further ones come from the arithmetic, and 10356.000000000002 distracts.
static double figures(double value)
{
    char text[NUMBER_TEXT];
    snprintf(text, sizeof(text), "%.12g", value);
    return strtod(text, NULL);
}

static void series_print_csv(const struct series_view *view)
{
    struct buffer out = {0};
    struct csv_line line = {.out = &out};
    csv_raw(&line, "index,earliest,latest,before,after,size,size_low,size_high,evidence,label");
    csv_end(&line, "\n");
    for (size_t i = 0; i < view->found.count; i++) {
        const struct change *c = &view->found.changes[i];
        csv_int(&line, (int64_t)c->index);
        csv_int(&line, (int64_t)c->earliest);
        csv_int(&line, (int64_t)c->latest);
        csv_real(&line, figures(c->before));
        csv_real(&line, figures(c->after));
        csv_real(&line, figures(c->size.value));
        csv_real(&line, figures(c->size.low));
        csv_real(&line, figures(c->size.high));
        csv_real(&line, figures(c->evidence));
        csv_clean(&line, view->labels ? view->labels[c->index] : NULL);
        csv_end(&line, "\n");
    }
    buffer_print(&out, stdout);
}

static void json_row(struct json *row, const struct series_view *view, const struct change *c)
{
    json_int(row, "index", (int64_t)c->index);
    json_int(row, "earliest", (int64_t)c->earliest);
    json_int(row, "latest", (int64_t)c->latest);
    json_number(row, "before", figures(c->before));
    json_number(row, "after", figures(c->after));
    json_number(row, "size", figures(c->size.value));
    json_number(row, "size_low", figures(c->size.low));
    json_number(row, "size_high", figures(c->size.high));
    json_number(row, "evidence", figures(c->evidence));
    if (view->labels)
        json_clean(row, "label", view->labels[c->index]);
}

static void json_level(struct json *json, const struct series_view *view)
{
    bool few;
    const struct newest_level now = now_of(view, &few);
    const struct shape *s = &view->shape;
    json_begin(json, "now", '{');
    json_number(json, "level", figures(now.level));
    json_int(json, "values", (int64_t)now.values);
    json_number(json, "first_level", figures(now.at_first));
    json_number(json, "creep", s->creeps ? figures(s->creep.value) : NAN);
    json_number(json, "spread_before", s->louder ? figures(s->spread_before) : NAN);
    json_number(json, "spread", s->louder ? figures(s->spread_after) : NAN);
    json_number(json, "share_before", s->shifts ? figures(s->share_before) : NAN);
    json_number(json, "share", s->shifts ? figures(s->share_after) : NAN);
    json_end(json, '}');
}

static void series_print_json(const struct series_view *view)
{
    const struct changepoints *found = &view->found;
    struct answer answer;
    answer_begin(&answer, "changes");
    for (size_t i = 0; i < view->found.count; i++)
        json_row(answer_row(&answer), view, &view->found.changes[i]);
    struct json *whole = answer_whole(&answer);
    json_clean(whole, "series", view->title);
    json_clean(whole, "column", view->column);
    json_int(whole, "values", (int64_t)view->count);
    json_int(whole, "missing", (int64_t)view->missing);
    json_number(whole, "noise", found->used > 1 ? figures(found->sigma) : NAN);
    json_number(whole, "correlation", found->used > 1 ? figures(found->correlation) : NAN);
    json_number(whole, "inflation", figures(found->inflation));
    json_bool(whole, "drift", found->drift);
    json_int(whole, "period", (int64_t)found->pattern.period);
    json_number(whole, "swing", found->pattern.period ? figures(found->pattern.swing) : NAN);
    json_bool(whole, "creeps", view->shape.creeps);
    json_bool(whole, "louder", view->shape.louder);
    json_bool(whole, "modes_shift", view->shape.shifts);
    json_clean(whole, "why", view->why);
    json_level(whole, view);
    answer_end(&answer);
}

// ---- the accuracy of models ----

static const struct column_head accuracy_columns[] = {
    {"model", -20}, {"kernel", -24}, {"type", -5}, {"rows", 5},     {"MAPE %", 8},
    {"bias %", 8},  {"in 10 %", 8},  {"tau", 6},   {"commit", -10}, {"what", 0}};

static void accuracy_row(const struct text_table *table, const struct accuracy_series *s,
                         const struct kept_accuracy *n, const char *what)
{
    char *model = plain_line(s->model), *kernel = plain_line(s->kernel);
    table_row(table, "%s\t%s\t%s\t%zu\t%.2f\t%+.2f\t%.1f\t%.2f\t%.10s\t%s", model, kernel,
              dtype_name(s->dtype), n->count, 100 * n->mape, 100 * n->bias, 100 * n->within, n->tau,
              n->commit, what);
    free(model);
    free(kernel);
}

static const struct change *change_at(const struct changepoints *changes, size_t run)
{
    for (size_t i = 0; i < changes->count; i++) {
        if (changes->changes[i].index == run)
            return &changes->changes[i];
    }
    return NULL;
}

static void accuracy_changes(const struct text_table *table, const struct accuracy_series *s,
                             size_t run)
{
    const struct change *bias = change_at(&s->bias, run), *error = change_at(&s->error, run);
    char what[96];
    size_t used = 0;
    if (!bias && !error)
        return;
    if (bias)
        used = (size_t)snprintf(what, sizeof(what), "bias moved by %+.2f %%%s",
                                100 * expm1(bias->size.value), error ? ", " : "");
    if (error)
        snprintf(what + used, sizeof(what) - used, "MAPE went from %.2f %% to %.2f %%",
                 100 * exp(error->before) - 0.1, 100 * exp(error->after) - 0.1);
    accuracy_row(table, s, &s->runs[run], what);
}

// The table has the newest run and the runs at which the bias moved.
static void accuracy_print_table(const struct accuracy_history *accuracy)
{
    struct buffer out = {0};
    const struct text_table table = {&out, accuracy_columns, ARRAY_COUNT(accuracy_columns)};
    table_heads(&table);
    for (size_t i = 0; i < accuracy->count; i++) {
        const struct accuracy_series *s = &accuracy->series[i];
        for (size_t k = 0; k < s->count; k++)
            accuracy_changes(&table, s, k);
        accuracy_row(&table, s, &s->runs[s->count - 1], "newest");
    }
    buffer_print(&out, stdout);
}

static void accuracy_print_csv(const struct accuracy_history *accuracy)
{
    struct buffer out = {0};
    struct csv_line line = {.out = &out};
    csv_raw(&line, "model,kernel,dtype,device,commit,time_s,rows,mape,bias,within_10,tau,"
                   "bias_moved,mape_moved");
    csv_end(&line, "\n");
    for (size_t i = 0; i < accuracy->count; i++) {
        const struct accuracy_series *s = &accuracy->series[i];
        for (size_t k = 0; k < s->count; k++) {
            const struct kept_accuracy *n = &s->runs[k];
            csv_clean(&line, s->model);
            csv_clean(&line, s->kernel);
            csv_text(&line, dtype_name(s->dtype));
            csv_clean(&line, s->device_uuid);
            csv_text(&line, n->commit);
            csv_int(&line, n->time_s);
            csv_int(&line, (int64_t)n->count);
            csv_rounded(&line, n->mape);
            csv_rounded(&line, n->bias);
            csv_rounded(&line, n->within);
            csv_rounded(&line, n->tau);
            csv_int(&line, change_at(&s->bias, k) != NULL);
            csv_int(&line, change_at(&s->error, k) != NULL);
            csv_end(&line, "\n");
        }
    }
    buffer_print(&out, stdout);
}

static void accuracy_print_json(const struct accuracy_history *accuracy)
{
    struct buffer out = {0};
    struct json json = {.out = &out};
    json_begin(&json, NULL, '{');
    json_begin(&json, "accuracy", '[');
    for (size_t i = 0; i < accuracy->count; i++) {
        const struct accuracy_series *s = &accuracy->series[i];
        for (size_t k = 0; k < s->count; k++) {
            const struct kept_accuracy *n = &s->runs[k];
            json_newline(&json);
            json_begin(&json, NULL, '{');
            json_clean(&json, "model", s->model);
            json_clean(&json, "kernel", s->kernel);
            json_clean(&json, "dtype", dtype_name(s->dtype));
            json_clean(&json, "device", s->device_uuid);
            json_clean(&json, "commit", n->commit);
            json_time(&json, "time_s", n->time_s);
            json_int(&json, "rows", (int64_t)n->count);
            json_number(&json, "mape", n->mape);
            json_number(&json, "bias", n->bias);
            json_number(&json, "within_10", n->within);
            json_number(&json, "tau", n->tau);
            json_bool(&json, "bias_moved", change_at(&s->bias, k) != NULL);
            json_bool(&json, "mape_moved", change_at(&s->error, k) != NULL);
            json_end(&json, '}');
        }
    }
    json_end(&json, ']');
    json_end(&json, '}');
    buffer_puts(&out, "\n");
    buffer_print(&out, stdout);
}

// ---- the two sources of series ----

static const struct format {
    const char *name;
    void (*series)(const struct history_set *set, const struct metric_history *metrics,
                   const struct history_wanted *wanted);
    void (*accuracy)(const struct accuracy_history *accuracy);
    void (*column)(const struct series_view *view);
} formats[] = {{"table", history_print_table, accuracy_print_table, series_print_table},
               {"csv", history_print_csv, accuracy_print_csv, series_print_csv},
               {"json", history_print_json, accuracy_print_json, series_print_json}};

static int print(const struct history_set *set, const struct metric_history *metrics,
                 const struct history_wanted *wanted, const struct accuracy_history *accuracy,
                 const struct format *format, const char *path, struct error *err)
{
    if (set->count == 0 && !(accuracy && accuracy->count) && !(metrics->count && wanted->kernel))
        return set->known ? error_set(err, "%s: none of its %zu series matches", path, set->known)
                          : error_set(err, "%s: no series yet; `plumb run` measures some", path);
    if (accuracy)
        format->accuracy(accuracy);
    else
        format->series(set, metrics, wanted);
    return 0;
}

// Loads. The accuracy of models needs no series; if there is no accuracy, the series are read to
// say why.
static int load(struct history_set *set, struct accuracy_history *accuracy,
                const struct history_wanted *wanted, struct store *store, const char *epochs,
                const struct format *format, struct error *err)
{
    struct history_wanted now = *wanted;
    if (accuracy && accuracy_history_load(accuracy, store, wanted, wanted->points, err))
        return -1;
    if (accuracy && accuracy->count) {
        accuracy_history_judge(accuracy);
        return 0;
    }
    now.levels = !accuracy && format->series != history_print_table ? LEVELS_ALL : LEVELS_NONE;
    now.keeps &= accuracy == NULL;
    return history_load(set, store, &now, epochs, err);
}

// Checks a toolchain's name with the policy. A store may belong to no repository here; then the
// store itself tells which toolchains it has.
static int check_toolchain(struct context *context, const char *name, struct error *err)
{
    struct error unread;
    if (!context->options->policy && !(context->repository && name))
        return 0;
    if (context_policy(context, "", context->options->policy ? err : &unread))
        return context->options->policy ? -1 : 0;
    return !name || policy_toolchain_find(&context->policy, name)
               ? 0
               : error_set(err, "--toolchain=%.40s: %s has no such [toolchain]", name,
                           context->policy.label);
}

static int history_store(struct context *context, const struct arguments *a,
                         const struct format *format, struct error *err)
{
    struct accuracy_history collected = {0}, *accuracy = a->accuracy ? &collected : NULL;
    struct history_wanted wanted = a->wanted;
    struct history_set set = {0};
    struct metric_history metrics;
    if (wanted.toolchain && strcmp(wanted.toolchain, TOOLCHAIN_DEFAULT) == 0)
        wanted.toolchain = NULL;
    int status = store_option_open_kept(context, context->options,
                                        !wanted.comparisons && !wanted.points && !wanted.toolchain,
                                        &wanted.keeps, err);
    if (status == 0)
        status = check_toolchain(context, wanted.toolchain, err);
    if (status == 0) {
        const char *epochs = a->epochs;
        if (!epochs && context->repository)
            epochs = arena_printf(&context->arena, "%s/" EPOCHS_PATH,
                                  repository_directory(context->repository));
        if (!epochs)
            fprintf(
                stderr,
                "plumb: nothing says which repository this store belongs to, so nothing counts as "
                "accepted; give -C DIR, or --epochs FILE\n");
        wanted.repository = context->repository;
        status = load(&set, accuracy, &wanted, context->store, epochs, format, err);
    }
    if (status == 0 && wanted.toolchain && set.count == 0 && set.known)
        status =
            error_set(err,
                      "%s: none of its %zu series that match has times by toolchain '%s'; what "
                      "compiles to the same bytes as by another is measured once",
                      store_path(context->store), set.known, wanted.toolchain);
    if (status == 0)
        status = metric_history_load(&metrics, context->store, context->repository, &set.epochs,
                                     &context->arena, err);
    if (status == 0)
        status = print(&set, &metrics, &wanted, accuracy, format, store_path(context->store), err);
    history_free(&set);
    accuracy_history_free(&collected);
    return status;
}

// Replaces times by their logs; -1: a value is no time.
static int take_logs(struct series_csv *series, const char *name, struct error *err)
{
    for (size_t i = 0; i < series->count; i++) {
        if (series->values[i] <= 0)
            return error_set(err,
                             "%s, column %s: %g at index %zu; --control divides, and needs "
                             "values above 0",
                             name, series->column, series->values[i], i);
        series->values[i] = log(series->values[i]);
    }
    return 0;
}

// Divides out the machine's effect as the column of a control shows it.
static int divide_out(struct series_csv *series, const struct arguments *a, const char *text,
                      size_t length, const char *name, struct error *err)
{
    struct series_csv control = {0};
    if (series_csv_parse(&control, text, length, name, a->control, a->where, err))
        return -1;
    double *levels = arena_alloc(&control.arena, (control.count + 1) * sizeof(*levels));
    int status = 0;
    if (strcmp(control.column, series->column) == 0)
        status = error_set(err, "%s: --control=%.60s is the series itself", name, a->control);
    else if (control.count != series->count)
        status = error_set(err, "%s: columns %s and %s do not have the same rows", name,
                           series->column, control.column);
    else if (take_logs(series, name, err) || take_logs(&control, name, err))
        status = -1;
    if (status == 0) {
        control_levels(levels, control.values, control.count);
        const double share =
            control_take_off(series->values, levels, control.values, control.count);
        for (size_t i = 0; i < series->count; i++)
            series->values[i] = exp(series->values[i]);
        series->why = arena_printf(&series->arena,
                                   "%s; the machine is divided out by column %s, and %.0f %% of "
                                   "its noise",
                                   series->why, control.column, 100 * share);
    }
    series_csv_free(&control);
    return status;
}

static int history_csv(const struct arguments *a, const struct format *format, struct error *err)
{
    const char *name = strcmp(a->csv, "-") == 0 ? "standard input" : a->csv;
    char *text = NULL;
    size_t length = 0;
    struct series_csv series = {0};
    if (text_file_read(&text, &length, a->csv, err))
        return -1;
    int failed = series_csv_parse(&series, text, length, name, a->column, a->where, err);
    if (!failed && series.count == series.missing)
        failed = error_set(err, "%s, column %s: no numbers", name, series.column);
    if (!failed && a->control)
        failed = divide_out(&series, a, text, length, name, err);
    if (!failed) {
        struct series_view view = {.title = name,
                                   .column = series.column,
                                   .why = series.why,
                                   .labels = series.labels,
                                   .values = series.values,
                                   .count = series.count,
                                   .missing = series.missing};
        changepoints_find(&view.found, series.values, series.count, NULL);
        shape_find(&view.shape, series.values, series.count, &view.found, CONFIDENCE);
        if (series.tags) {
            char *tags = plain_line(series.tags);
            fprintf(stderr, "plumb: %s: %s\n", name, tags);
            free(tags);
        }
        if (series.unsorted)
            fprintf(
                stderr,
                "plumb: %s: line %zu is older than the one before; values count in the order of "
                "the file\n",
                name, series.unsorted);
        format->column(&view);
        changepoints_free(&view.found);
    }
    series_csv_free(&series);
    free(text);
    return failed;
}

// ---- the command ----

static const struct command_option own_options[] = {
    OPTION_TEXT("kernel", 'k', "GLOB", "Only series of these kernels", wanted.kernel),
    OPTION_TEXT("problem", 0, "GLOB", "Only these problems, e.g. '4096x*:bf16*'", wanted.problem),
    OPTION_TEXT("device", 'd', "GLOB", "Only devices with this UUID or name", wanted.device),
    OPTION_TEXT("epochs", 0, "FILE", "Accepted changes [REPO/" EPOCHS_PATH "]", epochs),
    OPTION_FLAG("comparisons", 0, "Also what gates and bisections measured", wanted.comparisons),
    OPTION_COUNT("points", "N", "Only the newest N points of each series [all]", wanted.points, 10,
                 10000000),
    OPTION_TEXT("toolchain", 0, "NAME",
                "Instead: the times by this toolchain of the policy (`plumb run --toolchain`)",
                wanted.toolchain),
    OPTION_FLAG("accuracy", 0,
                "Instead: how good the models were, commit by commit, and when bias or MAPE moved",
                accuracy),
    OPTION_TEXT("csv", 0, "FILE", "Series from a CSV file instead, '-' for standard input", csv),
    OPTION_TEXT("column", 0, "NAME",
                "Column by name or by number from 1 [the only column of numbers]", column),
    OPTION_TEXT(
        "control", 0, "NAME",
        "Column of code that never changed: what moves it is the machine, and is divided out",
        control),
    OPTION_TEXT("where", 0, "NAME=VALUE", "Only rows that say so; more after commas", where),
    OPTION_TEXT("format", 'f', "FORMAT", "table, csv or json [table]", format),
    {0},
};

static const struct arguments usual = {.format = "table"};

static int check(void *arguments, struct error *err)
{
    const struct arguments *a = arguments;
    if (a->options.words.count)
        return error_set(err,
                         "'%s': a file is named by --csv FILE, a series by --kernel and --problem",
                         a->options.words.items[0]);
    if (a->wanted.toolchain && a->wanted.comparisons)
        return error_set(err, "--comparisons is of the default toolchain; leave --toolchain out");
    if (a->accuracy && (a->wanted.toolchain || a->wanted.comparisons))
        return error_set(err, "--accuracy is of plain runs by the default toolchain; leave %s out",
                         a->wanted.toolchain ? "--toolchain" : "--comparisons");
    return 0;
}

static int run(enum conclusion *out, struct context *context, void *arguments, struct error *err)
{
    const struct arguments *a = arguments;
    (void)out;
    for (size_t i = 0; i < ARRAY_COUNT(formats); i++) {
        if (strcmp(a->format, formats[i].name) == 0)
            return a->csv ? history_csv(a, &formats[i], err)
                          : history_store(context, a, &formats[i], err);
    }
    return error_set(err, "--format=%.20s: table, csv or json", a->format);
}

static bool of_store(const void *arguments)
{
    const struct arguments *a = arguments;
    return !a->csv;
}

static bool of_csv(const void *arguments)
{
    return !of_store(arguments);
}

static const struct option_use uses[] = {
    {"repo store policy kernel problem device epochs comparisons points toolchain accuracy",
     of_store, "the store's series; --csv FILE is one by itself"},
    {"column where control", of_csv, "--csv FILE"},
    {0},
};

const struct command command_history = {
    .name = "history",
    .summary = "Where the level of a series changed, by how much and how surely",
    .words_most = WORDS_ANY,
    .json =
        "series (kernel, problem, regime, device, points, value, common_mode_removed, noise, "
        "correlation, drift, creep (log_ratio with low and high), period, swing, changes (commit, "
        "earliest, latest, each with id and time_s, "
        "commits, index, log_ratio with low and high, evidence, cause, what), "
        "breaks (commit, what, device, log_ratio), linked (links, loops, misclosure, trouble, "
        "changes (commit, base, log_ratio, evidence, fits), newest, levels (commit, mark, "
        "tried, level)), now (commit, log_ratio, evidence, moved, accepted, reason)), metrics "
        "(metric, what, subject, device, unit, values (commit, value), changes (commit, "
        "commits, before, after, kind, state)); with "
        "--accuracy accuracy (model, kernel, dtype, device, commit, time_s, rows, mape, bias, "
        "within_10, tau, bias_moved, mape_moved); of a CSV file changes (index, earliest, "
        "latest, before, after, size, size_low, size_high, evidence, label), then "
        "series, column, values, missing, noise, correlation, inflation, drift, period, swing, "
        "creeps, louder, modes_shift, why (that column), now (level, values, first_level, creep, "
        "spread_before, spread, "
        "share_before, share).",
    .shared = SHARED_STORE | SHARED_POLICY,
    .options = own_options,
    .defaults = &usual,
    .check = check,
    .uses = uses,
    .size = sizeof(struct arguments),
    .run = run,
    .doc = "Prints where the level of a series changed, by how much and how surely.\v"
           "The store's series are of log(actual / predicted), at the observed clock, minus "
           "what the device's controls did in the same run; of log(time) if no model "
           "predicted. A change names the commits that it may have begun with (95 %) and its "
           "cause: the kernel, the environment, the model, or a declared break such as a new "
           "driver. `now` is the newest level against the last accepted one (plumb accept). "
           "`side by side` marks a change that `plumb run` found by comparing a new code with "
           "the one before it in one process ([history] link of the policy). Its size comes "
           "from all such links, its interval includes the error that loops of links show, and "
           "the change stays. plumb keeps in the store what it judged, so that the next time "
           "it judges only what is new. If the store cannot be written, or with --points, "
           "--comparisons or --toolchain, it judges everything anew.\n\n"
           "In a CSV file every value counts, in the order of the file. An empty cell, NA, NaN "
           "or - is a missing value; fields may be separated by commas, tabs or semicolons. "
           "`index` counts values from 0, missing ones too, and is the first value at the new "
           "level. `earliest` and `latest` bound where the change may have happened, and "
           "`size_low` and `size_high` its size, each with 95 % confidence. `evidence` is the "
           "log-likelihood ratio of a change against none (7 is the least for long series). If "
           "the level wanders, the series drifts, and only jumps that stand out of the "
           "wandering are listed. `now` is the median since the last change, or of the newest "
           "ten values if the level drifts or creeps. A steady creep, noise that gets louder "
           "or calmer, a pattern that repeats (such as the days of a week), and modes that get "
           "more or less frequent are reported apart. If the first column has dates or numbers "
           "that do not ascend, a line on standard error says so.",
};
