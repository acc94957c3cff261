// SPDX-License-Identifier: Apache-2.0
//
// plumb predict: what a model says of problems, given as words or as CSV. No GPU is needed.
#include "ci/command.h"
#include "ci/commands/rows_print.h"
#include "ci/settings/bias_file.h"
#include "ci/settings/gpu_file.h"
#include "ci/settings/options.h"
#include "ci/settings/rows.h"
#include "ci/settings/text_file.h"
#include "model/predict/parts/explain.h"
#include "model/predict/parts/ws_pipeline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct arguments {
    const char *model, *csv, *trace, *svg, *bias;
    struct gpu_option gpu;
    struct gpu_profile profile;
    enum format format;
    bool explain;
    struct row defaults; // traits, clock and L2 rate given as options
    char **problems;
    size_t problem_count;
};

enum {
    OPT_CSV = 1000,
    OPT_FORMAT,
    OPT_EXPLAIN,
    OPT_TRACE,
    OPT_SVG,
    OPT_TILE,
    OPT_CLUSTER,
    OPT_STAGES,
    OPT_CLOCK,
    OPT_L2,
    OPT_SPLIT,
    OPT_BIAS
};

static const struct argp_option table[] = {
    {"model", 'm', "NAME", 0, "Model [hopper]; `plumb list models`", 0},
    {"csv", OPT_CSV, "FILE", 0, "Problems and kernels as CSV, - for standard input", 0},
    {"format", OPT_FORMAT, "csv|json|table", 0, "Output [csv for --csv, else table]", 0},
    {"explain", OPT_EXPLAIN, NULL, 0, "Print each prediction's parts instead", 0},
    {"tile", OPT_TILE, "MxN[xK]", 0, "Output tile of a thread block", 0},
    {"cluster", OPT_CLUSTER, "MxN", 0, "Thread-block cluster", 0},
    {"stages", OPT_STAGES, "N", 0, "K slabs in flight", 0},
    {"split-k", OPT_SPLIT, "N", 0, "Pieces of K, -1 for stream-K", 0},
    {"clock", OPT_CLOCK, "MHZ", 0, "SM clock [the profile's]", 0},
    {"l2-hit", OPT_L2, "RATE", 0, "L2 hit rate, 0 to 1 (ws-persistent)", 0},
    {"bias", OPT_BIAS, "FILE", 0, "Biases that `plumb accuracy --fit` wrote, by column kernel", 0},
    {"trace", OPT_TRACE, "FILE", 0, "Chrome trace of the first problem (ws-pipeline)", 0},
    {"svg", OPT_SVG, "FILE", 0, "Timeline of one wave of the first problem (ws-pipeline)", 0},
    {0},
};

static void parse_sides(int32_t *const sides[], int least, int most, const char *arg,
                        struct argp_state *state)
{
    const char *at = arg;
    int count = 0;
    for (; count < most && *at; count++) {
        char *end = NULL;
        long value = strtol(at, &end, 10);
        if (end == at || value < 1 || value > 65536 || (*end && *end != 'x')) {
            count = 0;
            break;
        }
        *sides[count] = (int32_t)value;
        at = *end ? end + 1 : end;
    }
    if (count < least || *at)
        argp_error(state, "'%s': sizes are whole numbers joined by x, e.g. 128x256x64", arg);
}

static double parse_real(const char *arg, double most, struct argp_state *state)
{
    double value = 0;
    if (parse_double(&value, arg) || value < 0 || value > most)
        argp_error(state, "'%s' must be a number from 0 to %g", arg, most);
    return value;
}

static error_t parse_format(struct arguments *a, const char *arg, struct argp_state *state)
{
    static const char *const names[] = {"", "csv", "json", "table"};
    for (int i = FORMAT_CSV; i <= FORMAT_TABLE; i++) {
        if (strcmp(names[i], arg) == 0)
            a->format = (enum format)i;
    }
    if (a->format == FORMAT_DEFAULT)
        argp_error(state, "'%s' is no format: csv, json or table", arg);
    return 0;
}

static error_t parse_kernel(int key, char *arg, struct argp_state *state)
{
    struct row *d = &((struct arguments *)state->input)->defaults;
    switch (key) {
    case OPT_TILE:
        parse_sides((int32_t *[]){&d->traits.tile_m, &d->traits.tile_n, &d->traits.tile_k}, 2, 3,
                    arg, state);
        return 0;
    case OPT_CLUSTER:
        parse_sides((int32_t *[]){&d->traits.cluster_m, &d->traits.cluster_n}, 2, 2, arg, state);
        return 0;
    case OPT_STAGES:
        d->traits.stages = (int32_t)option_count(arg, "stages", 1, 64, state);
        return 0;
    case OPT_SPLIT:
        d->traits.split_k =
            strcmp(arg, "-1") ? (int32_t)option_count(arg, "split-k", 1, 64, state) : -1;
        return 0;
    case OPT_CLOCK:
        d->input.clock_hz = parse_real(arg, 1e5, state) * 1e6;
        return 0;
    case OPT_L2:
        d->input.l2_hit_rate = parse_real(arg, 1, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &a->gpu;
        return 0;
    case 'm':
        a->model = arg;
        return 0;
    case OPT_CSV:
        a->csv = arg;
        return 0;
    case OPT_FORMAT:
        return parse_format(a, arg, state);
    case OPT_EXPLAIN:
        a->explain = true;
        return 0;
    case OPT_TRACE:
        a->trace = arg;
        return 0;
    case OPT_SVG:
        a->svg = arg;
        return 0;
    case OPT_BIAS:
        a->bias = arg;
        return 0;
    case ARGP_KEY_ARGS:
        a->problems = state->argv + state->next;
        a->problem_count = (size_t)(state->argc - state->next);
        return 0;
    case ARGP_KEY_END:
        if (!a->csv == !a->problem_count)
            argp_error(state, "give problems (MxNxK:TYPE) or --csv FILE, and not both");
        return 0;
    default:
        return parse_kernel(key, arg, state);
    }
}

static const struct argp_child children[] = {{&gpu_argp, 0, NULL, 0}, {0}};
static const struct argp argp = {
    .children = children,
    .options = table,
    .parser = parse,
    .args_doc = "[PROBLEM...]",
    .doc =
        "Predicts the time of problems, e.g. 4096x7168x512:bf16, or of the rows of a CSV file with "
        "the columns m,n,k,in_dtype[,out_dtype,sf_dtype,sf_vec_size,cta_m,cta_n,cta_k,cluster_m,"
        "cluster_n,stages,split_k,l2_hit_rate,clock_mhz]; other columns are passed through. Adds "
        "the columns predicted_us and bound.",
};

// Prints what was written so far: a CSV of many rows need not stand in memory as a whole.
static void print(struct buffer *text)
{
    if (text->length)
        fwrite(text->bytes, 1, text->length, stdout);
    text->length = 0;
}

static const char *const own_columns[] = {"m",         "n",         "k",     "in_dtype",
                                          "out_dtype", "cta_m",     "cta_n", "cta_k",
                                          "cluster_m", "cluster_n", "stages"};

// Problems given as words become a CSV like any other, so that there is one way from here on.
static int words_to_csv(struct csv *out, const struct arguments *a, struct error *err)
{
    struct buffer text = {0};
    for (size_t i = 0; i < ARRAY_COUNT(own_columns); i++)
        buffer_printf(&text, "%s%s", i ? "," : "", own_columns[i]);
    buffer_puts(&text, ",batch,layout\n");
    int result = 0;
    for (size_t i = 0; i < a->problem_count && result == 0; i++) {
        struct problem p;
        const struct traits *t = &a->defaults.traits;
        result = problem_parse(&p, a->problems[i], err);
        if (result == 0 && p.epilogue)
            result = error_set(err, "%s: predictions have no epilogue yet", a->problems[i]);
        if (result)
            break;
        buffer_printf(&text, "%lld,%lld,%lld,%s,%s", (long long)p.m, (long long)p.n, (long long)p.k,
                      dtype_name(p.in), dtype_name(p.out));
        const int32_t traits[] = {t->tile_m,    t->tile_n,    t->tile_k,
                                  t->cluster_m, t->cluster_n, t->stages};
        for (size_t j = 0; j < ARRAY_COUNT(traits); j++)
            traits[j] ? buffer_printf(&text, ",%d", traits[j]) : buffer_puts(&text, ",");
        buffer_printf(&text, ",%d,%s\n", p.batch, layout_name(p.layout));
    }
    if (result == 0)
        result = csv_parse(out, text.bytes, text.length, "arguments", err);
    buffer_free(&text);
    return result;
}

static int draw(const struct arguments *a, const struct predict_input *in, struct error *err)
{
    struct ws_pipeline w;
    struct pipeline_events events = {0};
    struct buffer trace = {0}, svg = {0};
    const char *why = ws_pipeline(&w, in);
    if (why)
        return error_set(err, "no timeline: %s", why);
    if (pipeline_simulate(&events, &w.pipeline, err))
        return -1;
    // Waves are alike: a hundred show the shape and keep the file small.
    int64_t waves = w.kernel.waves < 100 ? w.kernel.waves : 100;
    pipeline_write_trace(&trace, &w.pipeline, &events, w.launch_ns, waves, 1e-3);
    pipeline_write_svg(&svg, &w.pipeline, &events, "ns");
    int result = a->trace ? text_file_write(a->trace, &trace, err) : 0;
    if (result == 0 && a->svg)
        result = text_file_write(a->svg, &svg, err);
    buffer_free(&trace);
    buffer_free(&svg);
    pipeline_events_free(&events);
    return result;
}

static int predict_rows(struct buffer *out, const struct arguments *a, const struct csv *csv,
                        const struct model *model, const struct bias_table *biases,
                        const char *path, struct error *err)
{
    struct rows_printer printer = {.out = out, .csv = csv, .format = a->format};
    if (!printer.format)
        printer.format = a->csv ? FORMAT_CSV : FORMAT_TABLE;
    for (size_t pass = 0; pass < 2; pass++) { // all rows are read before one is printed
        if (pass && !a->explain)
            rows_print_header(&printer);
        for (size_t i = 0; i < csv->count; i++) {
            struct row row;
            double measured_us = 0;
            if (row_read(&row, csv, i, path, &a->defaults, err) ||
                row_number(&measured_us, csv, i, "measured_us", path, err))
                return -1;
            const struct predict_input *in = row_input(&row);
            if (pass == 0)
                continue;
            struct prediction prediction = model->predict(in);
            bias_apply(&prediction, biases, row.kernel);
            if (a->explain)
                explain_prediction(out, model, in, &prediction, measured_us);
            else
                rows_print_row(&printer, i, &prediction);
            print(out);
            if (i == 0 && (a->trace || a->svg) && draw(a, in, err))
                return -1;
        }
    }
    if (!a->explain)
        rows_print_end(&printer);
    print(out);
    return 0;
}

static int predict(struct arguments *a, struct error *err)
{
    const struct model *model = model_find(a->model);
    const char *path = !a->csv ? "arguments" : strcmp(a->csv, "-") ? a->csv : "stdin";
    struct csv csv = {0};
    if (!model)
        return error_set(err, "%.60s: no such model; `plumb list models` names those there are",
                         a->model);
    if ((a->trace || a->svg) && strcmp(model->name, "ws-pipeline"))
        return error_set(err, "--trace and --svg draw the model ws-pipeline, not %s", model->name);
    if (gpu_option_resolve(&a->profile, &a->gpu, err))
        return -1;
    a->defaults.input.gpu = &a->profile.gpu;
    if (a->csv ? rows_open(&csv, a->csv, err) : words_to_csv(&csv, a, err))
        return -1;
    struct bias_table biases = {0};
    int result = a->bias ? bias_file_read(&biases, a->bias, model, err) : 0;
    struct buffer text = {0};
    if (result == 0)
        result = predict_rows(&text, a, &csv, model, &biases, path, err);
    buffer_free(&text);
    bias_table_free(&biases);
    csv_free(&csv);
    if (result == 0 && (fflush(stdout) || ferror(stdout)))
        result = error_set(err, "standard output cannot be written");
    return result;
}

static int run_predict(int argc, char **argv)
{
    struct arguments a = {.model = "hopper", .gpu.name = "h200-sxm"};
    struct error err;
    int code = options_parse(&argp, argc, argv, &a);
    if (code)
        return code - 1;
    code = predict(&a, &err) ? fail(&err) : CONCLUDE_OK;
    gpu_profile_free(&a.profile);
    return code;
}

const struct command command_predict = {
    .name = "predict",
    .summary = "What a model says of problems or of the rows of a CSV file",
    .run = run_predict,
};
