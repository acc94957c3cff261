// SPDX-License-Identifier: Apache-2.0
//
// plumb history: since when. Change points of the store's series, or of a column of a CSV file.
#include "ci/command.h"
#include "ci/commands/series_print.h"
#include "ci/history/history_store.h"
#include "ci/history/series_csv.h"
#include "ci/settings/text_file.h"
#include "model/history/focus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct arguments {
    struct options options;
    const char *csv, *column;
    struct history_request request; // when there is no CSV file
};

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
    OPTION_TEXT("toolchain", 0, "NAME",
                "Instead: the times by this toolchain of the policy (`plumb run --toolchain`)",
                request.wanted.toolchain),
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
    if (a->request.wanted.toolchain && a->request.wanted.comparisons)
        return error_set(err, "--comparisons is of the default toolchain; leave --toolchain out");
    return a->column && !a->csv ? error_set(err, "--column belongs to --csv FILE") : 0;
}

static const struct {
    const char *name;
    void (*print)(const struct series_view *view);
} formats[] = {
    {"table", series_print_table}, {"csv", series_print_csv}, {"json", series_print_json}};

static int history_csv(const struct arguments *a, void (*print)(const struct series_view *view),
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
        struct series_view view = {.title = name,
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
            "louder, modes_shift, now (level, values, first_level, creep, spread_before, spread, "
            "share_before, share).",
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
        "a store that cannot be written, --points, --comparisons or --toolchain does "
        "without.\n\nIn a CSV file "
        "every value counts, in the order of the file; an empty cell, NA, NaN or - is a missing "
        "value; tabs or semicolons may stand for the commas. `index` counts values from 0, missing "
        "ones too, and is the first value at the "
        "new level; `earliest` and `latest` bound where the change may have happened and "
        "`size_low` and `size_high` its size, each with 95 % confidence; `evidence` is the "
        "log-likelihood ratio of a change against none (7 is the least for long series). Last "
        "comes, as of the store's series, what only the online detector sees among the newest 50 "
        "values: an alarm, not confirmed yet (csv: confirmed 0, json: false). A "
        "series whose level wanders is said to drift, and only jumps that stand out of the "
        "wandering are listed. `now` is the median since the last change; of the newest ten values "
        "where the level drifts or creeps. A steady creep, noise that gets louder or calmer, and "
        "modes that get more or less frequent are said apart. Where the first column are dates or "
        "numbers that do not ascend, a line on "
        "standard error says so.",
};
