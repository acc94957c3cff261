// SPDX-License-Identifier: Apache-2.0
//
// plumb accuracy: how far models are from measured times, from a CSV file or the store, always
// beside the roofline and the best constant utilisation; and the fit of one bias per kernel.
#include "ci/command.h"
#include "ci/commands/accuracy_print.h"
#include "ci/commands/measured.h"
#include "ci/settings/bias_file.h"
#include "ci/settings/gpu_file.h"
#include "ci/settings/rows.h"
#include "ci/settings/text_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MODELS_MOST = 16, FILES_MOST = 64 };

struct arguments {
    struct options options;
    const char *csv[FILES_MOST], *fit, *svg, *scurve;
    struct gpu_option gpu;
    struct gpu_profile profile;
    size_t csv_count;
    uint32_t worst;
    const struct model *models[MODELS_MOST]; // none: all
    size_t model_count;
    int64_t run_id;
    bool json;
    struct answer *answer; // NULL: a table
};

static int take_csv(void *arguments, const char *text)
{
    struct arguments *a = arguments;
    if (a->csv_count == FILES_MOST)
        return -1;
    a->csv[a->csv_count++] = text;
    return 0;
}

static int take_model(void *arguments, const char *text)
{
    struct arguments *a = arguments;
    const struct model *model = model_find(text);
    for (size_t i = 0; i < a->model_count; i++) {
        if (a->models[i] == model)
            return 0; // once is enough
    }
    if (model && a->model_count < MODELS_MOST)
        a->models[a->model_count++] = model;
    return model ? 0 : -1;
}

static int take_set(void *arguments, const char *text)
{
    return gpu_option_set(&((struct arguments *)arguments)->gpu, text);
}

static const struct command_option own_options[] = {
    OPTION_OWN("csv", 0, "FILE", "Measured rows, also as bin/sweep prints them; may be given again",
               take_csv, "too many files"),
    OPTION_TEXT("store", 's', "FILE", "Measured rows of a store's newest run", options.store),
    OPTION_RUN("run", "Of this run of the store", run_id),
    OPTION_OWN("model", 0, "NAME", "Only this model; may be given again [all]", take_model,
               "no such model; `plumb list models` names those there are"),
    GPU_OPTIONS(gpu, take_set),
    OPTION_TEXT("fit", 0, "FILE", "Write one bias per kernel, fitted for the first model", fit),
    OPTION_TEXT("svg", 0, "FILE", "S-curve of the first model, as a figure", svg),
    OPTION_TEXT("scurve", 0, "FILE", "S-curve of the first model, as CSV", scurve),
    OPTION_COUNT("worst", "N", "List the N rows that the first model is farthest from", worst, 1,
                 1000000),
    OPTION_FORMAT(json),
    {0},
};
static const struct arguments usual = {.gpu.name = "h200-sxm"};

static int check(void *arguments, struct error *err)
{
    const struct arguments *a = arguments;
    return !a->csv_count == !a->options.store
               ? error_set(err, "give measured rows: either --csv FILE or --store FILE")
               : 0;
}

// ---- one model ----

struct judged {
    struct prediction *predictions; // one per row
    size_t infeasible;
};

static struct judged predict_all(const struct measured_rows *data, const struct model *model)
{
    struct judged out = {.predictions = xcalloc(data->count, sizeof(*out.predictions))};
    for (size_t i = 0; i < data->count; i++) {
        out.predictions[i] = model->predict(row_input(&data->rows[i].row));
        out.infeasible += !out.predictions[i].feasible;
    }
    return out;
}

static struct bias_table fit(const struct measured_rows *data, const struct judged *j, int half)
{
    struct bias_row *rows = xcalloc(data->count, sizeof(*rows));
    size_t count = 0;
    for (size_t i = 0; i < data->count; i++) {
        const struct measured *m = &data->rows[i];
        if (j->predictions[i].feasible && (half < 0 || m->second_half == (half == 1)))
            rows[count++] = (struct bias_row){m->kernel, j->predictions[i].time_ns, m->time_ns,
                                              j->predictions[i].band};
    }
    struct bias_table out = bias_fit(rows, count);
    free(rows);
    return out;
}

static void calibrate_across_halves(const struct measured_rows *data, struct judged *j)
{
    struct bias_table halves[] = {fit(data, j, 0), fit(data, j, 1)};
    for (size_t i = 0; i < data->count; i++) {
        const struct measured *m = &data->rows[i];
        bias_apply(&j->predictions[i], &halves[m->second_half ? 0 : 1], m->kernel);
    }
    bias_table_free(&halves[0]);
    bias_table_free(&halves[1]);
}

static size_t comparable(struct accuracy_row *out, const struct measured_rows *data,
                         const struct judged *j, bool library)
{
    size_t count = 0;
    for (size_t i = 0; i < data->count; i++) {
        const struct measured *m = &data->rows[i];
        if (m->library == library && j->predictions[i].feasible && j->predictions[i].time_ns > 0)
            out[count++] =
                (struct accuracy_row){m->problem, j->predictions[i].time_ns, m->time_ns, m->kernel};
    }
    return count;
}

static int write_curve(const char *path, const struct accuracy_row *rows, size_t count,
                       const char *title, struct error *err)
{
    struct buffer text = {0};
    if (title)
        accuracy_scurve_svg(&text, rows, count, title);
    else
        accuracy_scurve_csv(&text, rows, count);
    int result = text_file_write(path, &text, err);
    buffer_free(&text);
    return result;
}

static int write_files(const struct arguments *a, const struct measured_rows *data,
                       const struct model *model, const struct judged *j,
                       const struct accuracy_row *rows, size_t count, struct error *err)
{
    int result = 0;
    if (a->fit) {
        struct bias_table biases = fit(data, j, -1);
        char *inputs = xprintf("%s, %zu %s", a->options.store ? a->options.store : a->csv[0], count,
                               plural(count, "row", "rows"));
        result = bias_file_write(a->fit, &biases, model, inputs, err);
        free(inputs);
        bias_table_free(&biases);
    }
    char *title = xprintf("predicted / measured, model %s, %zu %s", model->name, count,
                          plural(count, "row", "rows"));
    if (result == 0 && a->svg)
        result = write_curve(a->svg, rows, count, title, err);
    if (result == 0 && a->scurve)
        result = write_curve(a->scurve, rows, count, NULL, err);
    free(title);
    return result;
}

// One line over the kernels that state a tile, or over those that do not.
static size_t judge_line(struct answer *answer, const char *what, const struct measured_rows *data,
                         const struct model *model, const struct judged *j,
                         struct accuracy_row *rows, bool library)
{
    size_t all = 0, count = comparable(rows, data, j, library);
    for (size_t i = 0; i < data->count; i++)
        all += data->rows[i].library == library;
    if (all == 0 || (library && count == 0))
        return 0;
    struct accuracy accuracy = accuracy_of(rows, count);
    char *name = xprintf("%s%s", model->name, what);
    accuracy_print(answer, name, &accuracy, all - count);
    free(name);
    return count;
}

static int judge_model(const struct arguments *a, const struct measured_rows *data,
                       const struct model *model, bool first, struct error *err)
{
    struct accuracy_row *rows = xcalloc(data->count, sizeof(*rows));
    struct judged j = predict_all(data, model);
    size_t count = judge_line(a->answer, "", data, model, &j, rows, false);
    int result = first ? write_files(a, data, model, &j, rows, count, err) : 0;
    judge_line(a->answer, ", no tile", data, model, &j, rows, true);
    calibrate_across_halves(data, &j);
    judge_line(a->answer, " +bias", data, model, &j, rows, false);
    free(j.predictions);
    free(rows);
    return result;
}

// The rows that the first model is farthest from, without a bias.
static void list_worst(const struct arguments *a, const struct measured_rows *data,
                       const struct model *model)
{
    struct accuracy_row *rows = xcalloc(data->count, sizeof(*rows));
    struct judged j = predict_all(data, model);
    size_t count = comparable(rows, data, &j, false);
    count += comparable(rows + count, data, &j, true);
    accuracy_print_worst(a->answer, rows, count, a->worst);
    free(j.predictions);
    free(rows);
}

static void judge_constant(struct answer *answer, const struct measured_rows *data)
{
    double *peak = xcalloc(data->count, sizeof(*peak)), *time = xcalloc(data->count, sizeof(*time));
    struct accuracy_row *rows = xcalloc(data->count, sizeof(*rows));
    size_t count = 0;
    for (size_t i = 0; i < data->count; i++) {
        if (data->rows[i].peak_ns > 0) {
            peak[count] = data->rows[i].peak_ns;
            time[count] = data->rows[i].time_ns;
            rows[count++].problem = data->rows[i].problem;
        }
    }
    double u = best_utilisation(peak, time, count);
    for (size_t i = 0; i < count; i++) {
        rows[i].predicted_ns = peak[i] / u;
        rows[i].measured_ns = time[i];
    }
    struct accuracy accuracy = accuracy_of(rows, count);
    char *name = xprintf("constant %.3f of peak", u);
    accuracy_print(answer, name, &accuracy, data->count - count);
    free(name);
    free(peak);
    free(time);
    free(rows);
}

static int judge_all(const struct arguments *a, const struct measured_rows *data, struct error *err)
{
    size_t count = a->model_count ? a->model_count : model_count;
    const struct model *const *chosen = a->model_count ? a->models : models;
    accuracy_print_header(a->answer);
    judge_constant(a->answer, data);
    const struct model *sol = model_find("sol"); // the roofline stands beside every model
    bool beside = a->model_count > 0;
    for (size_t i = 0; i < count; i++) {
        if (judge_model(a, data, chosen[i], i == 0, err))
            return -1;
        beside = beside && chosen[i] != sol;
    }
    if (beside && judge_model(a, data, sol, false, err))
        return -1;
    if (a->worst)
        list_worst(a, data, chosen[0]);
    return 0;
}

static int judge_and_answer(struct arguments *a, const struct measured_rows *data,
                            struct error *err)
{
    struct answer kept;
    a->answer = answer_if(&kept, a->json, "models");
    return answer_leave(a->answer, judge_all(a, data, err));
}

static int from_csv(struct measured_rows *data, struct arguments *a, struct error *err)
{
    if (gpu_option_resolve(&a->profile, &a->gpu, err))
        return -1;
    const struct row defaults = {.input.gpu = &a->profile.gpu};
    for (size_t i = 0; i < a->csv_count; i++) {
        if (measured_from_csv(data, a->csv[i], &defaults, err))
            return -1;
    }
    if (data->count == 0)
        return error_set(err, "%s: no row has a measured time", a->csv[0]);
    return 0;
}

static int run(enum conclusion *out, struct context *context, void *arguments, struct error *err)
{
    struct arguments *a = arguments;
    struct measured_rows data = {0};
    (void)out;
    (void)context;
    int result = a->csv_count ? from_csv(&data, a, err)
                              : measured_from_store(&data, a->options.store, a->run_id, err);
    if (result == 0) {
        measured_split(&data);
        result = judge_and_answer(a, &data, err);
    }
    measured_free(&data);
    gpu_profile_free(&a->profile);
    return result;
}

const struct command command_accuracy = {
    .name = "accuracy",
    .summary = "How far models are from measured times; fits one bias per kernel",
    .json = "models (model, rows, refused, mape, median, p90, p99, bias, within_10, tau, picked, "
            "picked_worst; all fractions), then with --worst worst (ratio, predicted_us, "
            "measured_us, kernel, problem).",
    .options = own_options,
    .defaults = &usual,
    .check = check,
    .size = sizeof(struct arguments),
    .run = run,
    .doc =
        "Compares predictions with measured times. A line 'NAME +bias' has one factor per kernel, "
        "fitted on half of the shapes and judged on the other half, both ways round; 'NAME, no "
        "tile' are the kernels that say nothing of their tile, a library's.\v"
        "Columns of a CSV: " ROWS_COLUMNS ". What bin/sweep prints is read as it is.",
};
