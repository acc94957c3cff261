// SPDX-License-Identifier: Apache-2.0
//
// The changes of a series from a CSV file, and where it is now: for people, as CSV, and as JSON.
#include "ci/commands/series_print.h"

#include "ci/commands/answer.h"
#include "ci/settings/plain.h"
#include "reports/text/clean.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    NEWEST = 10, // values of a level that wanders
    BESIDE = 5   // values from a change that count as there
};

static size_t listed(const struct series_view *view)
{
    return view->found.count + view->alarmed;
}

static const struct change *listed_at(const struct series_view *view, size_t i)
{
    return i < view->found.count ? &view->found.changes[i] : &view->alarm;
}

static void print_label(const struct series_view *view, const struct change *change)
{
    if (!view->labels || !view->labels[change->index])
        return;
    char *label = plain_line(view->labels[change->index]);
    printf("  %s", label);
    free(label);
}

static void print_row(const struct series_view *view, const struct change *c)
{
    char where[48], interval[64], relative[32] = "";
    snprintf(where, sizeof(where), "%zu..%zu", c->earliest, c->latest);
    snprintf(interval, sizeof(interval), "%.4g..%.4g", c->size.low, c->size.high);
    if (c->before != 0 && fabs(c->size.value / c->before) < 1000)
        snprintf(relative, sizeof(relative), "%+.2f %%", 100 * c->size.value / fabs(c->before));
    printf("%7zu %16s %12.6g %12.6g %+12.4g %9s %27s %9.1f", c->index, where, c->before, c->after,
           c->size.value, relative, interval, c->evidence);
    print_label(view, c);
    puts(c == &view->alarm ? "  alarm: not confirmed yet" : "");
}

// The share of the modes changes where a change is listed: one is the other.
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

// ", +0.5 %" of a level; nothing of 0.
static void print_share(const char *before, double size, double level, const char *after)
{
    if (level != 0)
        printf("%s%+.2f %%%s", before, 100 * size / fabs(level), after);
}

// What is no change of level, unless the level moves with it.
static void print_shape(const struct series_view *view, double first)
{
    const struct shape *s = &view->shape;
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

// The newest level, which is what stands beside the first one: of what came after the last change,
// or, where the level wanders or creeps, of the newest few values.
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

void series_print_table(const struct series_view *view)
{
    const struct changepoints *found = &view->found;
    if (listed(view))
        printf("%7s %16s %12s %12s %12s %9s %27s %9s\n", "index", "credible", "before", "after",
               "size", "relative", "95 % interval", "evidence");
    for (size_t i = 0; i < listed(view); i++)
        print_row(view, listed_at(view, i));
    char *title = plain_line(view->title), *column = plain_line(view->column);
    printf("%s, column %s: %zu %s (%zu missing), noise %.3g, correlation %.2f: %zu %s%s%s\n", title,
           column, view->count, plural(view->count, "value", "values"), view->missing, found->sigma,
           found->correlation, found->count, plural(found->count, "change", "changes"),
           !found->drift  ? ""
           : found->count ? " out of a drifting level"
                          : "; the level drifts",
           view->alarmed ? "; 1 alarm" : "");
    print_now(view);
    free(title);
    free(column);
}

// Twelve digits: the rest is the arithmetic's, and 10356.000000000002 distracts.
static double figures(double value)
{
    char text[NUMBER_TEXT];
    snprintf(text, sizeof(text), "%.12g", value);
    return strtod(text, NULL);
}

static void print_number(double value, char end)
{
    char text[NUMBER_TEXT];
    json_format_number(text, figures(value));
    fputs(text, stdout);
    putchar(end);
}

void series_print_csv(const struct series_view *view)
{
    puts("index,earliest,latest,before,after,size,size_low,size_high,evidence,label,confirmed");
    for (size_t i = 0; i < listed(view); i++) {
        const struct change *c = listed_at(view, i);
        printf("%zu,%zu,%zu,", c->index, c->earliest, c->latest);
        print_number(c->before, ',');
        print_number(c->after, ',');
        print_number(c->size.value, ',');
        print_number(c->size.low, ',');
        print_number(c->size.high, ',');
        print_number(c->evidence, ',');
        char *label = clean_field(view->labels ? view->labels[c->index] : NULL);
        printf("%s,%d\n", label, c != &view->alarm);
        free(label);
    }
}

static void json_change(struct json *row, const struct series_view *view, const struct change *c)
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
    json_bool(row, "confirmed", c != &view->alarm);
}

static void json_now(struct json *json, const struct series_view *view)
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

void series_print_json(const struct series_view *view)
{
    const struct changepoints *found = &view->found;
    struct answer answer;
    answer_begin(&answer, "changes");
    for (size_t i = 0; i < listed(view); i++)
        json_change(answer_row(&answer), view, listed_at(view, i));
    struct json *whole = answer_whole(&answer);
    json_clean(whole, "series", view->title);
    json_clean(whole, "column", view->column);
    json_int(whole, "values", (int64_t)view->count);
    json_int(whole, "missing", (int64_t)view->missing);
    json_number(whole, "noise", figures(found->sigma));
    json_number(whole, "correlation", figures(found->correlation));
    json_number(whole, "inflation", figures(found->inflation));
    json_bool(whole, "drift", found->drift);
    json_bool(whole, "creeps", view->shape.creeps);
    json_bool(whole, "louder", view->shape.louder);
    json_bool(whole, "modes_shift", view->shape.shifts);
    json_now(whole, view);
    answer_end(&answer);
}
