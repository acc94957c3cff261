// SPDX-License-Identifier: Apache-2.0
//
// plumb history: since when. Change points of the store's series, or of a column of a CSV file.
#include "ci/command.h"
#include "ci/commands/answer.h"
#include "ci/history/history_store.h"
#include "ci/history/series_csv.h"
#include "ci/settings/plain.h"
#include "ci/settings/text_file.h"
#include "model/history/changepoint.h"
#include "model/history/focus.h"
#include "model/history/shape.h"
#include "reports/text/clean.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct arguments {
    struct options options;
    const char *csv, *column;
    struct history_request request; // when there is no CSV file
};

// A series by whatever way it came, and what was found in it.
struct view {
    const char *title;         // file, untrusted text
    const char *column;        // untrusted text
    const char *const *labels; // of each value, untrusted text; NULL: none
    const double *values;
    size_t count, missing;
    struct changepoints found;
    struct shape shape;
    bool alarmed;        // online detection sees more than the segmentation:
    struct change alarm; // after all that was found
};

static size_t listed(const struct view *view)
{
    return view->found.count + view->alarmed;
}

static const struct change *listed_at(const struct view *view, size_t i)
{
    return i < view->found.count ? &view->found.changes[i] : &view->alarm;
}

static const struct command_option own_options[] = {
    OPTION_TEXT("kernel", 'k', "GLOB", "Only series of these kernels", request.wanted.kernel),
    OPTION_TEXT("problem", 0, "GLOB", "Only these problems, e.g. '4096x*:bf16*'",
                request.wanted.problem),
    OPTION_TEXT("device", 'd', "GLOB", "Only devices with this UUID or name",
                request.wanted.device),
    OPTION_TEXT("epochs", 0, "FILE", "Accepted changes [REPO/" EPOCHS_PATH "]", request.epochs),
    OPTION_FLAG("comparisons", 0, "Also what gates and bisections measured",
                request.wanted.comparisons),
    OPTION_COUNT("points", "N", "Only the newest N points of each series [all]",
                 request.wanted.points, 10, 10000000),
    OPTION_FLAG("accuracy", 0,
                "Instead: how good the models were, commit by commit, and when bias or MAPE moved",
                request.accuracy),
    OPTION_TEXT("csv", 0, "FILE", "Series from a CSV file instead, '-' for standard input", csv),
    OPTION_TEXT("column", 0, "NAME",
                "Column by name or by number from 1 [the only column of numbers]", column),
    OPTION_TEXT("format", 'f', "FORMAT", "table, csv or json [table]", request.format),
    {0},
};
static const struct arguments usual = {.request.format = "table"};

static int check(void *arguments, struct error *err)
{
    const struct arguments *a = arguments;
    if (a->options.words.count)
        return error_set(err,
                         "'%s': a file is named by --csv FILE, a series by --kernel and --problem",
                         a->options.words.items[0]);
    return a->column && !a->csv ? error_set(err, "--column belongs to --csv FILE") : 0;
}

static void print_label(const struct view *view, const struct change *change)
{
    if (!view->labels || !view->labels[change->index])
        return;
    char *label = plain_line(view->labels[change->index]);
    printf("  %s", label);
    free(label);
}

static void print_row(const struct view *view, const struct change *c)
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

static double relative(double size, double level)
{
    return level != 0 ? 100 * size / fabs(level) : NAN;
}

// What is no change of level.
static void print_shape(const struct shape *s, double first)
{
    if (s->creeps)
        printf("it creeps: %+.4g from the first value to the last (%.4g..%.4g), %+.2f %%\n",
               s->creep.value, s->creep.low, s->creep.high, relative(s->creep.value, first));
    if (s->louder)
        printf("its noise changes: standard deviation %.3g before index %zu, %.3g from there on\n",
               s->spread_before, s->louder_at, s->spread_after);
    if (s->shifts)
        printf("its modes change: %.0f %% of the values above %.6g before index %zu, %.0f %% from "
               "there on\n",
               100 * s->share_before, s->between, s->shifts_at, 100 * s->share_after);
}

// The level of what came after the last change, which is what stands beside the first one.
static void print_now(const struct view *view)
{
    const struct changepoints *found = &view->found;
    const size_t first = found->count ? found->changes[found->count - 1].index : 0;
    const size_t end = found->count ? found->changes[0].index : view->count;
    const struct newest_level now = newest_level(view->values, first, view->count, end);
    if (isfinite(now.level))
        printf("now: %.6g, the median of %zu %s since index %zu", now.level, now.values,
               plural(now.values, "value", "values"), first);
    if (isfinite(now.level) && found->count)
        printf("; %+.4g (%+.2f %%) against the first level, %.6g", now.level - now.at_first,
               relative(now.level - now.at_first, now.at_first), now.at_first);
    if (isfinite(now.level))
        putchar('\n');
    print_shape(&view->shape, now.at_first);
}

static void print_table(const struct view *view)
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

static void print_csv(const struct view *view)
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

static void json_change(struct json *row, const struct view *view, const struct change *c)
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

static void print_json(const struct view *view)
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
    answer_end(&answer);
}

static const struct {
    const char *name;
    void (*print)(const struct view *view);
} formats[] = {{"table", print_table}, {"csv", print_csv}, {"json", print_json}};

static int history_csv(const struct arguments *a, void (*print)(const struct view *view),
                       struct error *err)
{
    const char *name = strcmp(a->csv, "-") == 0 ? "standard input" : a->csv;
    char *text = NULL;
    size_t length = 0;
    struct series_csv series = {0};
    if (text_file_read(&text, &length, a->csv, err))
        return -1;
    int failed = series_csv_parse(&series, text, length, name, a->column, err);
    if (!failed && series.count == series.missing)
        failed = error_set(err, "%s, column %s: no numbers", name, series.column);
    if (!failed) {
        struct view view = {.title = name,
                            .column = series.column,
                            .labels = series.labels,
                            .values = series.values,
                            .count = series.count,
                            .missing = series.missing};
        changepoints_find(&view.found, series.values, series.count, NULL);
        shape_find(&view.shape, series.values, series.count, &view.found, 0.95);
        if (series.unsorted)
            fprintf(
                stderr,
                "plumb: %s: line %zu is older than the one before; values count in the order of "
                "the file\n",
                name, series.unsorted);
        view.alarmed = focus_newest(&view.alarm, series.values, series.count, &view.found, NULL) ==
                       FOCUS_ALARM;
        print(&view);
        changepoints_free(&view.found);
    }
    series_csv_free(&series);
    free(text);
    return failed;
}

static int run(enum conclusion *out, struct context *context, void *arguments, struct error *err)
{
    const struct arguments *a = arguments;
    (void)out;
    for (size_t i = 0; i < ARRAY_COUNT(formats); i++) {
        if (strcmp(a->request.format, formats[i].name) == 0)
            return a->csv ? history_csv(a, formats[i].print, err)
                          : history_store(context, &a->request, err);
    }
    return error_set(err, "--format=%.20s: table, csv or json", a->request.format);
}

const struct command command_history = {
    .name = "history",
    .summary = "Where the level of a series changed, by how much and how surely",
    .words_most = WORDS_ANY,
    .json = "series (kernel, problem, device, points, value, common_mode_removed, noise, "
            "correlation, drift, changes (commit, earliest, latest, each with id and time_s, "
            "commits, index, log_ratio with low and high, evidence, confirmed, cause, what), "
            "breaks (commit, what, device, log_ratio), linked (links, loops, misclosure, trouble, "
            "changes (commit, base, log_ratio, evidence, fits), newest, levels (commit, mark, "
            "tried, level)), now (commit, log_ratio, evidence, moved, accepted, reason)); with "
            "--accuracy accuracy (model, kernel, dtype, device, commit, time_s, rows, mape, bias, "
            "within_10, tau, bias_moved, mape_moved); of a CSV file changes (index, earliest, "
            "latest, before, after, size, size_low, size_high, evidence, label, confirmed), then "
            "series, column, values, missing, noise, correlation, inflation, drift, creeps, "
            "louder, modes_shift.",
    .shared = SHARED_STORE,
    .options = own_options,
    .defaults = &usual,
    .check = check,
    .size = sizeof(struct arguments),
    .run = run,
    .doc =
        "Prints where the level of a series changed, by how much and how surely.\v"
        "The store's series are of log(actual / predicted), at the observed clock, less what the "
        "device's controls did in the same run; log(time) when no model predicted. A change "
        "names the commits it may have begun with (95 %) and whose it was: the kernel's, the "
        "environment's, the model's, or of a declared break such as a new driver. A change that is "
        "so new that only the online detector reports it is an alarm, not confirmed yet. `now` is "
        "the newest level against the last accepted one (plumb accept), however it came "
        "about. `side by side` marks what `plumb run` found by comparing a new code with the one "
        "before it in one process ([history] link of the policy): its size is by all such links, "
        "its "
        "interval knows what loops of links do not add up to, and it stays. What is judged is kept "
        "in the store, so that the next time only what is new is; "
        "a store that cannot be written, --points or --comparisons does without.\n\nIn a CSV file "
        "every value counts, in the order of the file; an empty cell, NA "
        "or NaN is a missing "
        "value. `index` counts values from 0, missing ones too, and is the first value at the "
        "new level; `earliest` and `latest` bound where the change may have happened and "
        "`size_low` and `size_high` its size, each with 95 % confidence; `evidence` is the "
        "log-likelihood ratio of a change against none (7 is the least for long series). Last "
        "comes, as of the store's series, what only the online detector sees among the newest 50 "
        "values: an alarm, not confirmed yet (csv: confirmed 0, json: false). A "
        "series whose level wanders is said to drift, and only jumps that stand out of the "
        "wandering are listed. `now` is the median since the last change. A steady creep, noise "
        "that "
        "gets louder or calmer, and modes that get more or less frequent are no changes and are "
        "said apart. Where the first column are dates or numbers that do not ascend, a line on "
        "standard error says so.",
};
