// SPDX-License-Identifier: Apache-2.0
//
// plumb accuracy: how far models are from measured times, taken from a CSV file or the store,
// always beside the roofline and the best constant utilisation. It also fits a bias for each
// kernel.

#include "baselines/store.h"
#include "ci/command.h"
#include "ci/commands/output.h"
#include "ci/settings/gpu_file.h"
#include "ci/settings/rows.h"
#include "ci/settings/text_file.h"
#include "model/predict/parts/accuracy.h"
#include "model/result.h"
#include "reports/charts/charts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Measured rows with which models are compared. Free with measured_free().
struct measured_rows {
    struct measured_row *rows;
    size_t count, room;
    struct gpu *profiles; // of a run's devices, with measured figures where there are any
    struct arena arena;   // owns the profiles' texts
    bool ranked;          // some problem has two configurations
};

// Reads measured rows from CSV files or from a run of the store.

struct measured_row {
    struct row row;
    char problem[PROBLEM_TEXT + 16]; // the problem with a note about exact sums; rows with equal
                                     // texts can be compared
    char kernel[KERNEL_NAME_TEXT];
    double time_ns, peak_ns; // peak: the time of its arithmetic at the peak rate
    bool second_half;        // its shape is in the second half
    bool library;            // it states no tile
};

// ---- rows of files and of the store in one form, with their shapes split in two halves ----

// FP8 with exact sums is a different product; with block scales all sums are exact.
static void name_problem(struct measured_row *m)
{
    problem_format(m->problem, &m->row.problem);
    if (m->row.traits.promote_k > 0 && m->row.problem.scales.vector == 0)
        strcat(m->problem, ":promoted");
}

static void add_row(struct measured_rows *data, const struct row *row, const char *kernel,
                    double time_ns)
{
    if (data->count == data->room) {
        data->room = data->room * 2 + 1024;
        data->rows = xrealloc(data->rows, data->room, sizeof(*data->rows));
    }
    struct measured_row *m = &data->rows[data->count];
    *m = (struct measured_row){.row = *row, .time_ns = time_ns};
    name_problem(m);
    m->library = row->traits.tile_m <= 0;
    text_copy(m->kernel, sizeof(m->kernel), kernel);
    const struct gpu *gpu = row->input.gpu;
    double clock = row->input.clock_hz > 0 ? row->input.clock_hz : gpu->clock_hz.value;
    double rate = clock * gpu->sm_count.value * gpu_flops_clk(gpu, row->problem.in);
    m->peak_ns = rate > 0 ? problem_flops(&row->problem) / rate * 1e9 : 0;
    data->count++;
}

// Adds the rows of one file that have a measured time.
static int measured_from_csv(struct measured_rows *data, const char *path,
                             const struct row *defaults, struct error *err)
{
    struct csv csv = {0};
    if (rows_open(&csv, path, err))
        return -1;
    int result = rows_refuse_misspelt(&csv, path, err);
    if (result == 0 && !rows_time_column(&csv))
        result =
            error_set(err, "%s: no column measured_us, so there is nothing to compare with", path);
    struct rows_table table;
    rows_find_columns(&table, &csv, path);
    for (size_t i = 0; i < csv.count && result == 0; i++) {
        struct row row;
        double measured_us = 0;
        result =
            row_read(&row, &table, i, defaults, err) || row_measured(&measured_us, &table, i, err)
                ? -1
                : 0;
        if (result == 0 && measured_us > 0)
            add_row(data, &row, row.kernel, measured_us * 1e3);
    }
    csv_free(&csv);
    return result;
}

static int from_run(struct measured_rows *data, const struct run *run, struct error *err)
{
    for (size_t i = 0; i < run->count; i++) {
        const struct result *r = &run->results[i];
        double time_ns = measurement_time_ns(&r->head);
        if (r->head.state != MEASURED_OK || !(time_ns > 0))
            continue;
        struct row row = {.problem = r->problem, .traits = r->traits, .regime_stated = true};
        if (data->profiles[r->device].sm_count.value > 0)
            row.input.gpu = &data->profiles[r->device];
        row.input.clock_hz = measurement_clock_hz(&r->head);
        if (row.input.gpu) // no host profile is shipped
            add_row(data, &row, r->kernel, time_ns);
    }
    if (data->count == 0)
        return error_set(err, "run %lld has no correct measurement on a device with a profile",
                         (long long)run->id);
    return 0;
}

static int read_profiles(struct measured_rows *data, const struct run *run, struct store *store,
                         struct error *err)
{
    data->profiles = xcalloc(run->device_count, sizeof(*data->profiles));
    for (size_t i = 0; i < run->device_count; i++) {
        const struct device *device = &run->devices[i];
        const struct gpu *shipped = device->profile ? gpu_find(device->profile) : NULL;
        struct gpu measured = {0};
        bool found = false;
        if (shipped)
            data->profiles[i] = *shipped;
        if (store_load_profile(&measured, &found, store, device->uuid, &data->arena, err))
            return -1;
        if (found)
            gpu_overlay(&data->profiles[i], &measured);
    }
    return 0;
}

// Reads the correct measurements of a run, 0: the newest, on devices whose profile is known.
// Figures that `plumb calibrate` measured and the store holds take precedence over shipped ones.
static int measured_from_store(struct measured_rows *data, const char *path, int64_t id,
                               struct error *err)
{
    struct store *store = NULL;
    struct run run = {0};
    int result = store_open(&store, path, STORE_READ, err);
    if (result == 0 && id == 0)
        result = store_last_run(&id, store, STORE_ALL_RUNS, err);
    if (result == 0 && id == 0)
        result = error_set(err, "%s holds no finished run", path);
    if (result == 0)
        result = store_load_run(&run, store, id, err);
    if (result == 0)
        result = read_profiles(data, &run, store, err);
    if (result == 0)
        result = from_run(data, &run, err);
    run_free(&run);
    store_close(store);
    return result;
}

// Puts every other shape, in the order of first appearance, into the second half, so that kernels
// have shapes in both. Finds whether any problem has two configurations.
static void measured_split(struct measured_rows *data)
{
    const struct problem **shapes = xcalloc(data->count, sizeof(const struct problem *));
    size_t count = 0;
    for (size_t i = 0; i < data->count; i++) {
        const struct problem *p = &data->rows[i].row.problem;
        size_t j = 0;
        while (j < count && (p->m != shapes[j]->m || p->n != shapes[j]->n || p->k != shapes[j]->k))
            j++;
        if (j == count)
            shapes[count++] = p;
        data->rows[i].second_half = j % 2;
        for (size_t k = 0; k < i && !data->ranked; k++)
            data->ranked = data->rows[k].library == data->rows[i].library &&
                           strcmp(data->rows[k].problem, data->rows[i].problem) == 0;
    }
    free(shapes);
}

static void measured_free(struct measured_rows *rows)
{
    free(rows->rows);
    free(rows->profiles);
    arena_free(&rows->arena);
    *rows = (struct measured_rows){0};
}

// ---- printing as a table or as JSON ----

static const struct column_head model_columns[] = {
    {"model", -28}, {"rows", 5},   {"refuse", 6}, {"MAPE %", 7}, {"median", 7},
    {"p90", 7},     {"p99", 8},    {"bias", 7},   {"ratio", 6},  {"in10%", 6},
    {"1sigma", 6},  {"2sigma", 6}, {"tau", 7},    {"A/BF", 7},   {"worst", 7}};

// Without a problem that has two configurations the last columns would be empty.
static size_t columns_shown(bool ranked)
{
    enum { RANKS = 3 };
    return ARRAY_COUNT(model_columns) - (ranked ? 0 : RANKS);
}

static void accuracy_print_header(const struct answer *answer, bool ranked)
{
    struct buffer out = {0};
    const struct text_table table = {&out, model_columns, columns_shown(ranked)};
    if (answer)
        return;
    table_heads(&table);
    buffer_print(&out, stdout);
}

// Prints a line. A model may have no bands, and without two rows of one problem nothing is ranked.
static void print_line(const char *name, const struct accuracy *a, size_t refused, const char *why,
                       bool ranked)
{
    struct buffer out = {0}, ranks = {0};
    const struct text_table table = {&out, model_columns, columns_shown(ranked)};
    buffer_puts(&ranks, "");
    if (ranked)
        buffer_printf(&ranks, "\t%.3f\t%.3f\t%.3f", a->tau, a->picked, a->picked_worst);
    if (a->rows)
        table_row(&table, "%s\t%zu\t%zu\t%.2f\t%.2f\t%.2f\t%.2f\t%+.2f\t%.3f\t%.1f\t%.1f\t%.1f%s",
                  name, a->rows, refused, 100 * a->mape, 100 * a->median, 100 * a->p90,
                  100 * a->p99, 100 * a->bias, a->mean_ratio, 100 * a->within_10,
                  100 * a->within_sigma, 100 * a->within_2_sigma, ranks.bytes);
    else
        table_row(&table, "%s\t0\t%zu\t it predicts none of these rows: %s", name, refused, why);
    buffer_free(&ranks);
    buffer_print(&out, stdout);
}

// Prints a model's accuracy. `refused` is the number of rows that it does not predict; `why` is the
// reason for the first of them.
static void accuracy_print(struct answer *answer, const char *name, const struct accuracy *accuracy,
                           size_t refused, const char *why, bool ranked)
{
    const bool any = accuracy->rows > 0;
    if (!answer) {
        print_line(name, accuracy, refused, why, ranked);
        return;
    }
    struct json *row = answer_row(answer);
    const struct {
        const char *name;
        double value;
    } figures[] = {
        {"mape", accuracy->mape},
        {"median", accuracy->median},
        {"p90", accuracy->p90},
        {"p99", accuracy->p99},
        {"bias", accuracy->bias},
        {"mean_ratio", accuracy->mean_ratio},
        {"within_10", accuracy->within_10},
        {"within_1_sigma", accuracy->within_sigma},
        {"within_2_sigma", accuracy->within_2_sigma},
        {"tau", accuracy->tau},
        {"picked", accuracy->picked},
        {"picked_worst", accuracy->picked_worst},
    };
    json_clean(row, "model", name);
    json_int(row, "rows", (int64_t)accuracy->rows);
    json_int(row, "refused", (int64_t)refused);
    json_clean(row, "why", refused ? why : NULL);
    for (size_t i = 0; i < ARRAY_COUNT(figures); i++)
        json_number(row, figures[i].name, any ? figures[i].value : NAN);
}

static int by_distance(const void *left, const void *right)
{
    const struct accuracy_row *a = left, *b = right;
    double x = fabs(log(a->predicted_ns / a->measured_ns));
    double y = fabs(log(b->predicted_ns / b->measured_ns));
    return (y > x) - (y < x);
}

static void worst_json(struct json *json, const struct accuracy_row *rows, size_t count)
{
    json_begin(json, "worst", '[');
    for (size_t i = 0; i < count; i++) {
        json_newline(json);
        json_begin(json, NULL, '{');
        json_number(json, "ratio", rows[i].predicted_ns / rows[i].measured_ns);
        json_number(json, "predicted_us", rows[i].predicted_ns / 1e3);
        json_number(json, "measured_us", rows[i].measured_ns / 1e3);
        json_clean(json, "kernel", rows[i].kernel);
        json_clean(json, "problem", rows[i].problem);
        json_end(json, '}');
    }
    json_end(json, ']');
}

// Prints the `most` rows with the largest errors, and sorts `rows` for that. In a JSON answer
// nothing may follow them.
static void accuracy_print_worst(struct answer *answer, struct accuracy_row *rows, size_t count,
                                 size_t most)
{
    qsort(rows, count, sizeof(*rows), by_distance);
    count = count < most ? count : most;
    if (answer) {
        worst_json(answer_whole(answer), rows, count);
        return;
    }
    static const struct column_head columns[] = {{"ratio", -9},
                                                 {"predicted_us", -14},
                                                 {"measured_us", -14},
                                                 {"kernel", -36},
                                                 {"problem", 0}};
    struct buffer out = {0};
    const struct text_table table = {&out, columns, ARRAY_COUNT(columns)};
    buffer_puts(&out, "\n");
    table_heads(&table);
    for (size_t i = 0; i < count; i++)
        table_row(&table, "%.3f\t%.3f\t%.3f\t%s\t%s", rows[i].predicted_ns / rows[i].measured_ns,
                  rows[i].predicted_ns / 1e3, rows[i].measured_ns / 1e3, rows[i].kernel,
                  rows[i].problem);
    buffer_print(&out, stdout);
}

static void problems_json(struct json *json, const struct accuracy_problem *problems, size_t count)
{
    json_begin(json, "problems", '[');
    for (size_t i = 0; i < count; i++) {
        const struct accuracy_problem *p = &problems[i];
        json_newline(json);
        json_begin(json, NULL, '{');
        json_clean(json, "problem", p->problem);
        json_int(json, "configurations", (int64_t)p->configurations);
        json_number(json, "tau", p->tau);
        json_number(json, "picked", p->picked);
        json_int(json, "picked_rank", (int64_t)p->picked_rank);
        json_clean(json, "configuration", p->choice->kernel);
        json_end(json, '}');
    }
    json_end(json, ']');
}

static void problems_table(const struct accuracy_problem *problems, size_t count)
{
    static const struct column_head columns[] = {
        {"tau", 7}, {"A/BF", 7}, {"picked", -11}, {"configuration", -36}, {"problem", 0}};
    struct buffer out = {0};
    const struct text_table table = {&out, columns, ARRAY_COUNT(columns)};
    if (count == 0) {
        printf("\nNo problem has two configurations that could be ranked.\n");
        return;
    }
    buffer_puts(&out, "\n");
    table_heads(&table);
    for (size_t i = 0; i < count; i++) {
        const struct accuracy_problem *p = &problems[i];
        table_row(&table, "%.3f\t%.3f\t#%zu/%zu\t%s\t%s", p->tau, p->picked, p->picked_rank,
                  p->configurations, p->choice->kernel, p->problem);
    }
    buffer_print(&out, stdout);
}

// Prints seed 3's table of sizes: how well the model ranks the configurations of each. Sorts
// `rows`.
static void accuracy_print_problems(struct answer *answer, struct accuracy_row *rows, size_t count)
{
    size_t problems;
    struct accuracy_problem *found = accuracy_by_problem(&problems, rows, count);
    if (answer)
        problems_json(answer_whole(answer), found, problems);
    else
        problems_table(found, problems);
    free(found);
}

enum { MODELS_MOST = 16, FILES_MOST = 64 };

struct arguments {
    struct options options;
    const char *csv[FILES_MOST], *fit, *svg, *bars, *scurve;
    struct gpu_option gpu;
    struct gpu_profile profile;
    struct row defaults; // used for rows that do not say how they were timed
    size_t csv_count;
    uint32_t worst;
    const struct model *models[MODELS_MOST]; // none given: all models
    size_t model_count;
    int64_t run_id;
    bool json, problems;
    struct answer *answer; // NULL: a table is printed
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
            return 0; // it is printed only once
    }
    if (model && a->model_count < MODELS_MOST)
        a->models[a->model_count++] = model;
    return model ? 0 : -1;
}

static const struct command_option own_options[] = {
    OPTION_OWN("csv", 0, "FILE", "Measured rows, also as bin/sweep prints them; may be given again",
               take_csv, "too many files"),
    OPTION_TEXT("store", 's', "FILE", "Measured rows of a store's newest run", options.store),
    OPTION_RUN("run", "Of this run of the store", run_id),
    OPTION_OWN("model", 0, "NAME", "Only this model; may be given again [all]", take_model,
               "no such model; `plumb list models` names those there are"),
    GPU_OPTIONS(gpu),
    ROWS_OPTIONS(defaults, "what fits best"),
    OPTION_TEXT("fit", 0, "FILE", "Write a bias per kernel and regime of the leading model", fit),
    OPTION_TEXT("svg", 0, "FILE", "S-curve of the leading model, as a figure", svg),
    OPTION_TEXT("bars", 0, "FILE", "The same as bars from 0, as seed 0 draws it", bars),
    OPTION_TEXT("scurve", 0, "FILE", "S-curve of the leading model, as CSV", scurve),
    OPTION_COUNT("worst", "N", "List the N rows that the leading model is farthest from", worst, 1,
                 1000000),
    OPTION_FLAG("problems", 0, "The leading model's ranking of each problem's configurations",
                problems),
    OPTION_FORMAT(json),
    {0},
};

static const struct arguments usual = {.gpu.name = "h200-sxm"};

static int check(void *arguments, struct error *err)
{
    struct arguments *a = arguments;
    if (rows_check_options(&a->defaults, err))
        return -1;
    a->defaults.regime_stated |= a->defaults.warm_stated;
    return !a->csv_count == !a->options.store
               ? error_set(err, "give measured rows: either --csv FILE or --store FILE")
               : 0;
}

// ---- one model ----

struct judged_model {
    struct prediction *predictions; // one for each row
    size_t infeasible;
};

// How many biases were fitted in both halves, and the smallest and largest number of rows behind
// one of them.
struct bias_count {
    size_t count;
    uint32_t least, most;
};

static struct judged_model predict_all(const struct measured_rows *data, const struct model *model)
{
    struct judged_model out = {.predictions = xcalloc(data->count, sizeof(*out.predictions))};
    for (size_t i = 0; i < data->count; i++) {
        out.predictions[i] = row_predict(&data->rows[i].row, model);
        out.infeasible += !out.predictions[i].feasible;
    }
    return out;
}

static struct bias_table fit(const struct measured_rows *data, const struct judged_model *j,
                             int half)
{
    struct bias_row *rows = xcalloc(data->count, sizeof(*rows));
    size_t count = 0;
    for (size_t i = 0; i < data->count; i++) {
        const struct measured_row *m = &data->rows[i];
        if (j->predictions[i].feasible && (half < 0 || m->second_half == (half == 1)))
            rows[count++] = (struct bias_row){m->kernel,
                                              j->predictions[i].time_ns,
                                              m->time_ns,
                                              j->predictions[i].band,
                                              m->row.problem.regime,
                                              m->row.problem.in};
    }
    struct bias_table out = bias_fit(rows, count);
    free(rows);
    return out;
}

static void count_biases(struct bias_count *out, const struct bias_table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        const uint32_t rows = table->items[i].rows;
        out->least = out->count == 0 || rows < out->least ? rows : out->least;
        out->most = rows > out->most ? rows : out->most;
        out->count++;
    }
}

static struct bias_count calibrate_across_halves(const struct measured_rows *data,
                                                 struct judged_model *j)
{
    struct bias_table halves[] = {fit(data, j, 0), fit(data, j, 1)};
    struct bias_count counted = {0};
    count_biases(&counted, &halves[0]);
    count_biases(&counted, &halves[1]);
    for (size_t i = 0; i < data->count; i++) {
        const struct measured_row *m = &data->rows[i];
        bias_apply(&j->predictions[i], &halves[m->second_half ? 0 : 1], m->kernel, &m->row.problem);
    }
    bias_table_free(&halves[0]);
    bias_table_free(&halves[1]);
    return counted;
}

// Whether the model hopper was ever compared with measured times of the row's GPU.
enum gpu_judged { GPU_NEVER_JUDGED, GPU_JUDGED, GPU_ANY };

static enum gpu_judged judged_of(const struct measured_row *m)
{
    return m->row.input.gpu->judged ? GPU_JUDGED : GPU_NEVER_JUDGED;
}

// A selection of rows by three properties: whether the kernel states a tile, the regime (REGIMES:
// any), and whether the GPU was judged.
struct row_class {
    bool library;
    enum regime regime;
    enum gpu_judged judged;
};

static bool is_of(const struct measured_row *m, struct row_class class)
{
    return m->library == class.library &&
           (class.regime == REGIMES || m->row.problem.regime == class.regime) &&
           (class.judged == GPU_ANY || judged_of(m) == class.judged);
}

static size_t comparable(struct accuracy_row *out, const struct measured_rows *data,
                         const struct judged_model *j, struct row_class class)
{
    size_t count = 0;
    for (size_t i = 0; i < data->count; i++) {
        const struct measured_row *m = &data->rows[i];
        if (is_of(m, class) && j->predictions[i].feasible && j->predictions[i].time_ns > 0)
            out[count++] = (struct accuracy_row){
                m->problem, j->predictions[i].time_ns, m->time_ns,
                m->kernel,  j->predictions[i].band,    j->predictions[i].band_95};
    }
    return count;
}

typedef void draw_rows(struct markup *m, const struct accuracy_row *rows, size_t count,
                       const char *title);

// Writes a figure. A path that is NULL was not asked for.
static int write_figure(const char *path, draw_rows *draw, const struct accuracy_row *rows,
                        size_t count, const char *title, struct error *err)
{
    if (!path)
        return 0;
    struct markup *figure = markup_new(MARKUP_XML);
    draw(figure, rows, count, title);
    return output_figure(path, figure, err);
}

static int write_curve(const char *path, const struct accuracy_row *rows, size_t count,
                       struct error *err)
{
    struct buffer text = {0};
    if (!path)
        return 0;
    accuracy_scurve_csv(&text, rows, count);
    int result = text_file_write(path, &text, err);
    buffer_free(&text);
    return result;
}

static int write_files(const struct arguments *a, const struct measured_rows *data,
                       const struct model *model, const struct judged_model *j,
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
    if (result == 0 && (write_figure(a->svg, chart_scurve, rows, count, title, err) ||
                        write_figure(a->bars, chart_bars, rows, count, title, err) ||
                        write_curve(a->scurve, rows, count, err)))
        result = -1;
    free(title);
    return result;
}

// Prints one line for a class of rows.
static void judge_line(struct answer *answer, const char *what, const struct measured_rows *data,
                       const struct model *model, const struct judged_model *j,
                       struct accuracy_row *rows, struct row_class class)
{
    size_t all = 0, count = comparable(rows, data, j, class);
    const char *why = NULL;
    for (size_t i = 0; i < data->count; i++) {
        all += is_of(&data->rows[i], class);
        if (!why && is_of(&data->rows[i], class) && !j->predictions[i].feasible)
            why = j->predictions[i].why;
    }
    if (all == 0 || (class.library && count == 0))
        return;
    struct accuracy accuracy = accuracy_of(rows, count);
    char *name = xprintf("%s%s", model->name, what);
    accuracy_print(answer, name, &accuracy, all - count, why, data->ranked);
    free(name);
}

// If the rows are of several regimes, or of judged and other GPUs, prints a line for each, because
// a model's band may also hold in one class and not in another.
static void judge_classes(struct answer *answer, const struct measured_rows *data,
                          const struct model *model, const struct judged_model *j,
                          struct accuracy_row *rows)
{
    unsigned regimes = 0, judged = 0;
    for (size_t i = 0; i < data->count; i++) {
        regimes |= 1u << data->rows[i].row.problem.regime;
        judged |= 1u << judged_of(&data->rows[i]);
    }
    for (int class = 0; class < REGIMES + GPU_ANY; class ++) {
        const bool of_regime = class < REGIMES;
        const unsigned seen = of_regime ? regimes : judged;
        const struct row_class c = {.regime = of_regime ? (enum regime) class : REGIMES,
                                    .judged =
                                        of_regime ? GPU_ANY : (enum gpu_judged)(class - REGIMES)};
        const char *name = of_regime                ? regime_name(c.regime)
                           : c.judged == GPU_JUDGED ? "GPU judged"
                                                    : "GPU never judged";
        for (int library = 0; library < 2 && (seen & (seen - 1)); library++) {
            char *what = xprintf(", %s%s", name, library ? ", no tile" : "");
            judge_line(answer, what, data, model, j, rows,
                       (struct row_class){library, c.regime, c.judged});
            free(what);
        }
    }
}

static const struct row_class own = {false, REGIMES, GPU_ANY}, libraries = {true, REGIMES, GPU_ANY};

// Compares one model with the rows. `biases` is given for the leading model and NULL for others.
static int judge_model(struct bias_count *biases, const struct arguments *a,
                       const struct measured_rows *data, const struct model *model,
                       struct error *err)
{
    struct accuracy_row *rows = xcalloc(data->count, sizeof(*rows));
    struct judged_model j = predict_all(data, model);
    judge_line(a->answer, "", data, model, &j, rows, own);
    judge_line(a->answer, ", no tile", data, model, &j, rows, libraries);
    int result = 0;
    if (biases) {
        judge_classes(a->answer, data, model, &j, rows);
        size_t count = comparable(rows, data, &j, own);
        count += comparable(rows + count, data, &j, libraries);
        result = write_files(a, data, model, &j, rows, count, err);
    }
    const struct bias_count counted = calibrate_across_halves(data, &j);
    if (biases)
        *biases = counted;
    judge_line(a->answer, " +bias", data, model, &j, rows, own);
    judge_line(a->answer, " +bias, no tile", data, model, &j, rows, libraries);
    free(j.predictions);
    free(rows);
    return result;
}

// Prints the rows with the first model's largest errors, and its ranking of problems, without a
// bias.
static void list_rows(const struct arguments *a, const struct measured_rows *data,
                      const struct model *model)
{
    struct accuracy_row *rows = xcalloc(data->count, sizeof(*rows));
    struct judged_model j = predict_all(data, model);
    size_t count = comparable(rows, data, &j, own);
    if (a->problems)
        accuracy_print_problems(a->answer, rows, count);
    count += comparable(rows + count, data, &j, libraries);
    if (a->worst)
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
    accuracy_print(answer, name, &accuracy, data->count - count,
                   "the profile has no rate for its element type", data->ranked);
    free(name);
    free(peak);
    free(time);
    free(rows);
}

// The leading model: the first that gives times. Files, lists and the choice of a regime use it.
static const struct model *leading(const struct arguments *a)
{
    return a->model_count ? a->models[0] : model_find("hopper");
}

// ---- the GPUs of the rows ----

static void say_gpu(struct json *json, const struct gpu *gpu, size_t rows)
{
    if (!json) {
        printf("%s, %zu %s, judged: %s\n", gpu->name, rows, plural(rows, "row", "rows"),
               gpu->judged ? gpu->judged : "never, on any time");
        return;
    }
    json_begin(json, NULL, '{');
    json_clean(json, "gpu", gpu->name);
    json_int(json, "rows", (int64_t)rows);
    json_clean(json, "judged", gpu->judged);
    json_end(json, '}');
}

// Prints each profile once, in the order of the rows.
static void say_gpus(struct answer *answer, const struct measured_rows *data)
{
    struct json *json = answer ? answer_whole(answer) : NULL;
    if (json)
        json_begin(json, "gpus", '[');
    for (size_t i = 0; i < data->count; i++) {
        const struct gpu *gpu = data->rows[i].row.input.gpu;
        size_t first = 0, rows = 0;
        while (data->rows[first].row.input.gpu != gpu)
            first++;
        for (size_t k = i; k < data->count && first == i; k++)
            rows += data->rows[k].row.input.gpu == gpu;
        if (rows)
            say_gpu(json, gpu, rows);
    }
    if (json)
        json_end(json, ']');
}

// ---- rows that do not say how they were timed ----

enum { TRIED_ROWS = 2000, WAYS = 2 * REGIMES + 1 };

struct timing {
    enum regime regime;
    bool without_launch;
    bool together; // cold launches were timed on the host, several of them back to back
};

// The way of timing that fits best among those that were tried, and the first one, which is cold,
// with their mean errors. The first one is the best unless another is clearly better.
struct timing_choice {
    struct timing timing, first;
    int tried;
    double error, first_error;
};

static struct timing way(int i)
{
    if (i == WAYS - 1)
        return (struct timing){.regime = REGIME_COLD, .together = true};
    return (struct timing){.regime = (enum regime)(i / 2), .without_launch = i % 2};
}

static void time_as(const struct measured_rows *data, const struct timing *timing)
{
    for (size_t i = 0; i < data->count; i++) {
        struct row *row = &data->rows[i].row;
        if (row->regime_stated)
            continue;
        row->problem.regime = timing->regime;
        if (!row->launch_stated)
            row->without_launch = timing->without_launch;
        row->input.launches_together = timing->together ? 2 : 0;
    }
}

// The mean error over some of the rows that do not say how they were timed; infinite if the model
// does not know that way.
static double error_as(const struct measured_rows *data, const struct model *model, size_t untold)
{
    size_t step = untold / TRIED_ROWS + 1, seen = 0, used = 0;
    double sum = 0;
    for (size_t i = 0; i < data->count; i++) {
        struct measured_row *m = &data->rows[i];
        if (m->row.regime_stated || seen++ % step)
            continue;
        struct prediction p = row_predict(&m->row, model);
        if (p.feasible && p.time_ns > 0) {
            sum += fabs(p.time_ns / m->time_ns - 1);
            used++;
        }
    }
    return used ? sum / (double)used : INFINITY;
}

static const char *launch_words(const struct timing *t)
{
    return t->together         ? "launches back to back"
           : t->without_launch ? "without a launch"
                               : "with a launch";
}

static void say_chosen(struct answer *answer, const struct timing_choice *c,
                       const struct model *model, size_t untold)
{
    const struct timing *t = &c->timing;
    if (answer) {
        struct json *json = answer_whole(answer);
        json_begin(json, "chosen", '{');
        json_clean(json, "regime", regime_name(t->regime));
        json_bool(json, "launch", !t->without_launch);
        json_bool(json, "together", t->together);
        json_end(json, '}');
        return;
    }
    printf("%zu %s not say how %s timed. Of %d ways `%s, %s` fits %s best (MAPE %.1f %%; "
           "%s %s %.1f %%), and is taken here. That is a choice made on these very "
           "times; --regime, --launch or the columns regime, launch and timed_together say it.\n",
           untold, untold == 1 ? "row does" : "rows do", untold == 1 ? "it was" : "they were",
           c->tried, regime_name(t->regime), launch_words(t), model->name, 100 * c->error,
           regime_name(c->first.regime), launch_words(&c->first), 100 * c->first_error);
}

// Another way than the first must fit better by so much of its error: a model that hardly tells
// regimes apart would otherwise be judged in a regime that chance chose.
static const double clearly = 0.98;

// Tries every regime, with and without the launch if --launch is not given, and sets the rows to
// the one that fits best.
static struct timing_choice choose_timing(const struct measured_rows *data,
                                          const struct model *model, size_t untold,
                                          const struct row *told)
{
    struct timing_choice best = {.error = INFINITY};
    for (int i = 0; i < WAYS; i++) {
        const struct timing timing = way(i);
        if (told->launch_stated && timing.without_launch != told->without_launch)
            continue;
        time_as(data, &timing);
        const double error = error_as(data, model, untold);
        if (best.tried++ == 0) {
            best.first = best.timing = timing;
            best.first_error = error;
        }
        if (error < best.error && (best.tried == 1 || error < clearly * best.first_error)) {
            best.error = error;
            best.timing = timing;
        }
    }
    time_as(data, &best.timing);
    for (size_t i = 0; i < data->count; i++)
        name_problem(&data->rows[i]);
    return best;
}

// Prints how many rows and biases the "+bias" lines rest on.
static void say_biases(struct answer *answer, const struct model *model, const struct bias_count *b)
{
    if (answer) {
        struct json *json = answer_whole(answer);
        json_begin(json, "biases", '{');
        json_int(json, "count", (int64_t)b->count);
        json_int(json, "least_rows", b->least);
        json_int(json, "most_rows", b->most);
        json_end(json, '}');
        return;
    }
    if (b->count)
        printf("The biases of %s: %zu in both halves, of a kernel, a type and a regime each, "
               "fitted to %u to %u rows.\n",
               model->name, b->count, b->least, b->most);
}

static int judge_all(const struct arguments *a, const struct measured_rows *data, struct error *err)
{
    size_t count = a->model_count ? a->model_count : model_count, untold = 0;
    const struct model *const *chosen = a->model_count ? a->models : models;
    struct timing_choice choice = {0};
    struct bias_count biases = {0};
    for (size_t i = 0; i < data->count; i++)
        untold += !data->rows[i].row.regime_stated;
    if (untold) {
        choice = choose_timing(data, leading(a), untold, &a->defaults);
        if (!a->answer)
            say_chosen(NULL, &choice, leading(a), untold);
    }
    if (!a->answer)
        say_gpus(NULL, data);
    accuracy_print_header(a->answer, data->ranked);
    judge_constant(a->answer, data);
    const struct model *sol = model_find("sol"); // the roofline is shown beside every model
    bool beside = a->model_count > 0;
    for (size_t i = 0; i < count; i++) {
        if (judge_model(chosen[i] == leading(a) ? &biases : NULL, a, data, chosen[i], err))
            return -1;
        beside = beside && chosen[i] != sol;
    }
    if (beside && judge_model(NULL, a, data, sol, err))
        return -1;
    if (!a->answer)
        say_biases(NULL, leading(a), &biases);
    if (untold && a->answer)
        say_chosen(a->answer, &choice, leading(a), untold);
    if (a->answer) {
        say_gpus(a->answer, data);
        say_biases(a->answer, leading(a), &biases);
    }
    if (a->worst || a->problems)
        list_rows(a, data, leading(a));
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
    a->defaults.input.gpu = &a->profile.gpu;
    for (size_t i = 0; i < a->csv_count; i++) {
        if (measured_from_csv(data, a->csv[i], &a->defaults, err))
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

static bool reads_store(const void *arguments)
{
    const struct arguments *a = arguments;
    return a->options.store != NULL;
}

static const struct option_use uses[] = {{"run", reads_store, "--store FILE"}, {0}};

const struct command command_accuracy = {
    .name = "accuracy",
    .summary = "Compare models with measured times; fit one bias per kernel",
    .json =
        "models (model, rows, refused, why, mape, median, p90, p99, bias, mean_ratio, within_10, "
        "within_1_sigma, within_2_sigma, tau, picked, picked_worst; all fractions), chosen "
        "(regime, launch, together) where no row says how it was timed, gpus (gpu, rows, judged: "
        "NULL if on no time), biases (count, least_rows, most_rows: of the leading model, in both "
        "halves), then with --problems problems "
        "(problem, configurations, tau, picked, picked_rank, configuration) and with --worst "
        "worst (ratio, predicted_us, measured_us, kernel, problem).",
    .options = own_options,
    .defaults = &usual,
    .check = check,
    .uses = uses,
    .size = sizeof(struct arguments),
    .run = run,
    .doc =
        "Compares predictions with measured times. Each line of the table is one model. "
        "Lines with more words are parts of it: 'NAME +bias' adds a bias for each kernel "
        "and regime (a factor, a slope with the size and an offset in time), fitted on half "
        "of the shapes and judged on the other half, both ways round; 'NAME, no tile' has "
        "the kernels that do not state their tile, such as a library's; 'NAME, REGIME' has "
        "the rows of one regime, if there are several; 'NAME, GPU judged' has the rows of "
        "GPUs on which hopper was judged, if there are others. The last two are of the "
        "leading model: the first one that --model names, else hopper. If rows do not say "
        "how they were timed, plumb takes what fits the leading model best (launches between "
        "two events on cold operands, unless another way's MAPE is smaller by more than a "
        "fiftieth), and the first line says so.\v"
        "The columns: rows predicted, rows refused; MAPE, median, p90 and p99 of |predicted "
        "/ measured - 1|, in percent; bias, 100 times the mean of log(predicted / "
        "measured); ratio, the mean of predicted / measured; in10%, the percent of rows "
        "within 10 %; 1sigma and 2sigma, the percent of rows within the columns band and "
        "band_95 of `plumb predict`, which should be 68 and 95; tau, Kendall's rank "
        "correlation over the configurations of a problem; A/BF, the time of the best "
        "configuration over the time of the one that the model picks, in the mean and on "
        "the worst problem. --problems prints tau and A/BF of each problem, and the rank of "
        "the picked configuration by measured time (#1 is the fastest).\n"
        "Columns of a CSV: " ROWS_COLUMNS " (or us, runtime_us). What bin/sweep prints is read as "
        "it is. A column whose name is nearly one of these is refused.",
};
