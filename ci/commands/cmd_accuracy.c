// SPDX-License-Identifier: Apache-2.0
//
// plumb accuracy: how far models are from measured times, from a CSV file or the store, always
// beside the roofline and the best constant utilisation; and the fit of one bias per kernel.
#include "baselines/store.h"
#include "ci/command.h"
#include "ci/settings/bias_file.h"
#include "ci/settings/options.h"
#include "ci/settings/rows.h"
#include "ci/settings/text_file.h"
#include "model/predict/parts/accuracy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MODELS_MOST = 16 };

struct arguments {
    const char *csv, *store, *gpu, *fit, *svg, *scurve;
    const struct model *models[MODELS_MOST]; // none: all
    size_t model_count;
    int64_t run;
};

enum { OPT_CSV = 1000, OPT_RUN, OPT_FIT, OPT_SVG, OPT_SCURVE };

static const struct argp_option table[] = {
    {"csv", OPT_CSV, "FILE", 0, "Measured rows: predict's columns, measured_us and kernel", 0},
    {"store", 's', "FILE", 0, "Measured rows of a store's newest run", 0},
    {"run", OPT_RUN, "ID", 0, "Of this run of the store", 0},
    {"model", 'm', "NAME", 0, "Only this model; may be given again [all]", 0},
    {"gpu", 'g', "NAME", 0, "Profile of a CSV's rows [h200-sxm]", 0},
    {"fit", OPT_FIT, "FILE", 0, "Write one bias per kernel, fitted for the first model", 0},
    {"svg", OPT_SVG, "FILE", 0, "S-curve of the first model, as a figure", 0},
    {"scurve", OPT_SCURVE, "FILE", 0, "S-curve of the first model, as CSV", 0},
    {0},
};

static error_t add_model(struct arguments *a, const char *name, struct argp_state *state)
{
    const struct model *model = model_find(name);
    if (!model)
        argp_error(state, "%.60s: no such model; `plumb list models` names those there are", name);
    else if (a->model_count < MODELS_MOST)
        a->models[a->model_count++] = model;
    return 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case OPT_CSV:
        a->csv = arg;
        return 0;
    case 's':
        a->store = arg;
        return 0;
    case OPT_RUN:
        a->run = option_count(arg, "run", 1, INT32_MAX, state);
        return 0;
    case 'm':
        return add_model(a, arg, state);
    case 'g':
        a->gpu = arg;
        return 0;
    case OPT_FIT:
        a->fit = arg;
        return 0;
    case OPT_SVG:
        a->svg = arg;
        return 0;
    case OPT_SCURVE:
        a->scurve = arg;
        return 0;
    case ARGP_KEY_END:
        if (!a->csv == !a->store)
            argp_error(state, "give measured rows: either --csv FILE or --store FILE");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    .options = table,
    .parser = parse,
    .doc =
        "Compares predictions with measured times. A line 'NAME +bias' has one factor per kernel, "
        "fitted on half of the shapes and judged on the other half, both ways round.",
};

// ---- the measured rows ----

struct measured {
    struct row row;
    char problem[PROBLEM_TEXT];
    char kernel[KERNEL_NAME_TEXT];
    double time_ns, peak_ns; // peak: its arithmetic at the peak rate
    bool second_half;        // of the shapes
};

struct data {
    struct measured *rows;
    size_t count;
};

static void add_row(struct data *data, const struct row *row, const char *kernel, double time_ns)
{
    struct measured *m = &data->rows[data->count];
    *m = (struct measured){.row = *row, .time_ns = time_ns};
    problem_format(m->problem, &row->problem);
    text_copy(m->kernel, sizeof(m->kernel), kernel);
    const struct gpu *gpu = row->input.gpu;
    double clock = row->input.clock_hz > 0 ? row->input.clock_hz : gpu->clock_hz.value;
    double rate = clock * gpu->sm_count.value * gpu_flops_clk(gpu, row->problem.in);
    m->peak_ns = rate > 0 ? problem_flops(&row->problem) / rate * 1e9 : 0;
    data->count++;
}

static int from_csv(struct data *data, const struct arguments *a, struct error *err)
{
    struct csv csv = {0};
    struct row defaults = {.input.gpu = gpu_find(a->gpu)};
    if (!defaults.input.gpu)
        return error_set(err, "%.60s: no such profile; `plumb list gpus` names those there are",
                         a->gpu);
    if (rows_open(&csv, a->csv, err))
        return -1;
    data->rows = xcalloc(csv.count, sizeof(*data->rows));
    int result = 0;
    if (csv_column(&csv, "measured_us") < 0)
        result = error_set(err, "%s: no column measured_us, so there is nothing to compare with",
                           a->csv);
    for (size_t i = 0; i < csv.count && result == 0; i++) {
        struct row row;
        double measured_us = 0;
        result = row_read(&row, &csv, i, a->csv, &defaults, err) ||
                         row_number(&measured_us, &csv, i, "measured_us", a->csv, err)
                     ? -1
                     : 0;
        if (result == 0 && measured_us > 0)
            add_row(data, &row, row.kernel, measured_us * 1e3);
    }
    csv_free(&csv);
    return result;
}

static int from_run(struct data *data, const struct run *run, struct error *err)
{
    data->rows = xcalloc(run->count, sizeof(*data->rows));
    for (size_t i = 0; i < run->count; i++) {
        const struct result *r = &run->results[i];
        const char *profile = run->devices[r->device].profile;
        double time_ns = measurement_time_ns(&r->head);
        if (r->head.state != MEASURED_OK || !(time_ns > 0) || !profile || !profile[0])
            continue;
        struct row row = {.problem = r->problem, .traits = r->traits};
        row.input.gpu = gpu_find(profile);
        row.input.clock_hz = measurement_clock_hz(&r->head);
        if (row.input.gpu) // a host's own profile is not shipped
            add_row(data, &row, r->kernel, time_ns);
    }
    if (data->count == 0)
        return error_set(err, "run %lld has no correct measurement on a device with a profile",
                         (long long)run->id);
    return 0;
}

static int from_store(struct data *data, const struct arguments *a, struct error *err)
{
    struct store *store = NULL;
    struct run run = {0};
    int64_t id = a->run;
    int result = store_open(&store, a->store, STORE_READ, err);
    if (result == 0 && id == 0)
        result = store_last_run(&id, store, STORE_ALL_RUNS, err);
    if (result == 0 && id == 0)
        result = error_set(err, "%s holds no finished run", a->store);
    if (result == 0)
        result = store_load_run(&run, store, id, err);
    if (result == 0)
        result = from_run(data, &run, err);
    run_free(&run);
    store_close(store);
    return result;
}

// Every other shape, in the order of their texts' first appearance, so that kernels meet both.
static void split_shapes(struct data *data)
{
    size_t shapes = 0;
    for (size_t i = 0; i < data->count; i++) {
        const struct problem *p = &data->rows[i].row.problem;
        size_t j = 0;
        for (; j < i; j++) {
            const struct problem *q = &data->rows[j].row.problem;
            if (p->m == q->m && p->n == q->n && p->k == q->k)
                break;
        }
        data->rows[i].second_half = j < i ? data->rows[j].second_half : shapes++ % 2;
    }
}

// ---- one model ----

struct judged {
    struct prediction *predictions; // one per row
    size_t infeasible;
};

static struct judged predict_all(const struct data *data, const struct model *model)
{
    struct judged out = {.predictions = xcalloc(data->count, sizeof(*out.predictions))};
    for (size_t i = 0; i < data->count; i++) {
        out.predictions[i] = model->predict(row_input(&data->rows[i].row));
        out.infeasible += !out.predictions[i].feasible;
    }
    return out;
}

static struct bias_table fit(const struct data *data, const struct judged *j, int half)
{
    struct bias_row *rows = xcalloc(data->count, sizeof(*rows));
    size_t count = 0;
    for (size_t i = 0; i < data->count; i++) {
        const struct measured *m = &data->rows[i];
        if (j->predictions[i].feasible && (half < 0 || m->second_half == (half == 1)))
            rows[count++] = (struct bias_row){m->kernel, j->predictions[i].time_ns, m->time_ns};
    }
    struct bias_table out = bias_fit(rows, count);
    free(rows);
    return out;
}

static void calibrate_across_halves(const struct data *data, struct judged *j)
{
    struct bias_table halves[] = {fit(data, j, 0), fit(data, j, 1)};
    for (size_t i = 0; i < data->count; i++) {
        const struct measured *m = &data->rows[i];
        bias_apply(&j->predictions[i], &halves[m->second_half ? 0 : 1], m->kernel);
    }
    bias_table_free(&halves[0]);
    bias_table_free(&halves[1]);
}

static size_t comparable(struct accuracy_row *out, const struct data *data, const struct judged *j)
{
    size_t count = 0;
    for (size_t i = 0; i < data->count; i++) {
        const struct measured *m = &data->rows[i];
        if (j->predictions[i].feasible && j->predictions[i].time_ns > 0)
            out[count++] = (struct accuracy_row){m->problem, j->predictions[i].time_ns, m->time_ns};
    }
    return count;
}

static void print_accuracy(const char *name, const struct accuracy *a, size_t infeasible)
{
    printf("%-22s %5zu %6zu %7.2f %7.2f %7.2f %8.2f %+7.2f %7.1f", name, a->rows, infeasible,
           100 * a->mape, 100 * a->median, 100 * a->p90, 100 * a->p99, 100 * a->bias,
           100 * a->within_10);
    if (a->picked_problems)
        printf(" %7.3f %7.3f %7.3f\n", a->tau, a->picked, a->picked_worst);
    else
        printf(" %7s %7s %7s\n", "-", "-", "-");
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

static int write_files(const struct arguments *a, const struct data *data,
                       const struct model *model, const struct judged *j,
                       const struct accuracy_row *rows, size_t count, struct error *err)
{
    int result = 0;
    if (a->fit) {
        struct bias_table biases = fit(data, j, -1);
        char *inputs =
            xprintf("%s, %zu %s", a->csv ? a->csv : a->store, count, plural(count, "row", "rows"));
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

static int judge_model(const struct arguments *a, const struct data *data,
                       const struct model *model, bool files, struct error *err)
{
    struct accuracy_row *rows = xcalloc(data->count, sizeof(*rows));
    struct judged j = predict_all(data, model);
    size_t count = comparable(rows, data, &j);
    struct accuracy accuracy = accuracy_of(rows, count);
    print_accuracy(model->name, &accuracy, j.infeasible);
    int result = files ? write_files(a, data, model, &j, rows, count, err) : 0;
    calibrate_across_halves(data, &j);
    count = comparable(rows, data, &j);
    accuracy = accuracy_of(rows, count);
    char *name = xprintf("%s +bias", model->name);
    print_accuracy(name, &accuracy, j.infeasible);
    free(name);
    free(j.predictions);
    free(rows);
    return result;
}

static void judge_constant(const struct data *data)
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
    print_accuracy(name, &accuracy, data->count - count);
    free(name);
    free(peak);
    free(time);
    free(rows);
}

static int judge_all(const struct arguments *a, const struct data *data, struct error *err)
{
    size_t count = a->model_count ? a->model_count : model_count;
    const struct model *const *chosen = a->model_count ? a->models : models;
    if (data->count == 0)
        return error_set(err, "no row has a measured time");
    printf("%-22s %5s %6s %7s %7s %7s %8s %7s %7s %7s %7s %7s\n", "model", "rows", "refuse",
           "MAPE %", "median", "p90", "p99", "bias", "in 10%", "tau", "A/BF", "worst");
    judge_constant(data);
    for (size_t i = 0; i < count; i++) {
        if (judge_model(a, data, chosen[i], i == 0, err))
            return -1;
    }
    // The roofline stands beside every model.
    const struct model *sol = model_find("sol");
    if (a->model_count && chosen[0] != sol)
        return judge_model(a, data, sol, false, err);
    return 0;
}

static int run_accuracy(int argc, char **argv)
{
    struct arguments a = {.gpu = "h200-sxm"};
    struct data data = {0};
    struct error err;
    int code = options_parse(&argp, argc, argv, &a);
    if (code)
        return code - 1;
    int result = a.csv ? from_csv(&data, &a, &err) : from_store(&data, &a, &err);
    if (result == 0) {
        split_shapes(&data);
        result = judge_all(&a, &data, &err);
    }
    free(data.rows);
    return result ? fail(&err) : CONCLUDE_OK;
}

const struct command command_accuracy = {
    .name = "accuracy",
    .summary = "How far models are from measured times; fits one bias per kernel",
    .run = run_accuracy,
};
