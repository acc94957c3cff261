// SPDX-License-Identifier: Apache-2.0
//
// plumb predict: what a model says of problems, given as words or as CSV. No GPU is needed.
#include "ci/command.h"
#include "ci/commands/rows_print.h"
#include "ci/settings/bias_file.h"
#include "ci/settings/gpu_file.h"
#include "ci/settings/rows.h"
#include "ci/settings/text_file.h"
#include "model/predict/parts/explain.h"
#include "model/predict/parts/ws_pipeline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct arguments {
    struct options options;
    const char *model, *csv, *trace, *svg, *bias;
    struct gpu_option gpu;
    struct gpu_profile profile;
    enum format format;
    bool explain;
    struct row defaults; // traits, clock and L2 rate given as options
};

static int take_format(void *arguments, const char *text)
{
    static const char *const names[] = {"", "csv", "json", "table"};
    struct arguments *a = arguments;
    for (int i = FORMAT_CSV; i <= FORMAT_TABLE; i++) {
        if (strcmp(names[i], text) == 0)
            a->format = (enum format)i;
    }
    return a->format == FORMAT_DEFAULT ? -1 : 0;
}

static int parse_sides(int32_t *const sides[], int least, int most, const char *text)
{
    const char *at = text;
    int count = 0;
    for (; count < most && *at; count++) {
        char *end = NULL;
        long value = strtol(at, &end, 10);
        if (end == at || value < 1 || value > 65536 || (*end && *end != 'x'))
            return -1;
        *sides[count] = (int32_t)value;
        at = *end ? end + 1 : end;
    }
    return count < least || *at ? -1 : 0;
}

static int take_tile(void *arguments, const char *text)
{
    struct traits *t = &((struct arguments *)arguments)->defaults.traits;
    return parse_sides((int32_t *[]){&t->tile_m, &t->tile_n, &t->tile_k}, 2, 3, text);
}

static int take_cluster(void *arguments, const char *text)
{
    struct traits *t = &((struct arguments *)arguments)->defaults.traits;
    return parse_sides((int32_t *[]){&t->cluster_m, &t->cluster_n}, 2, 2, text);
}

static int parse_up_to_64(int32_t *out, const char *text)
{
    int64_t value;
    if (parse_int64(&value, text) || value < 1 || value > 64)
        return -1;
    *out = (int32_t)value;
    return 0;
}

static int take_stages(void *arguments, const char *text)
{
    return parse_up_to_64(&((struct arguments *)arguments)->defaults.traits.stages, text);
}

static int take_split(void *arguments, const char *text)
{
    int32_t *split_k = &((struct arguments *)arguments)->defaults.traits.split_k;
    *split_k = -1;
    return strcmp(text, "-1") ? parse_up_to_64(split_k, text) : 0;
}

static int take_clock(void *arguments, const char *text)
{
    double mhz;
    if (parse_double(&mhz, text) || mhz < 0 || mhz > 1e5)
        return -1;
    ((struct arguments *)arguments)->defaults.input.clock_hz = mhz * 1e6;
    return 0;
}

static int take_l2(void *arguments, const char *text)
{
    double *rate = &((struct arguments *)arguments)->defaults.input.l2_hit_rate;
    return parse_double(rate, text) || *rate < 0 || *rate > 1 ? -1 : 0;
}

static int take_set(void *arguments, const char *text)
{
    return gpu_option_set(&((struct arguments *)arguments)->gpu, text);
}

#define SIDES "sizes are whole numbers joined by x, e.g. 128x256x64"
static const struct command_option own_options[] = {
    OPTION_TEXT("model", 'm', "NAME", "Model [hopper]; `plumb list models`", model),
    GPU_OPTIONS(gpu, take_set),
    OPTION_TEXT("csv", 0, "FILE", "Problems and kernels as CSV, - for standard input", csv),
    OPTION_OWN("format", 0, "csv|json|table", "Output [csv for --csv, else table]", take_format,
               "is no format: csv, json or table"),
    OPTION_FLAG("explain", 0, "Print each prediction's parts instead", explain),
    OPTION_OWN("tile", 0, "MxN[xK]", "Output tile of a thread block", take_tile, SIDES),
    OPTION_OWN("cluster", 0, "MxN", "Thread-block cluster", take_cluster, SIDES),
    OPTION_OWN("stages", 0, "N", "K slabs in flight", take_stages,
               "needs a whole number from 1 to 64"),
    OPTION_OWN("split-k", 0, "N", "Pieces of K, -1 for stream-K", take_split,
               "needs a whole number from 1 to 64, or -1"),
    OPTION_OWN("clock", 0, "MHZ", "SM clock [the profile's]", take_clock,
               "must be a number from 0 to 100000"),
    OPTION_OWN("l2-hit", 0, "RATE", "L2 hit rate, 0 to 1 (ws-persistent)", take_l2,
               "must be a number from 0 to 1"),
    OPTION_TEXT("bias", 0, "FILE", "Biases that `plumb accuracy --fit` wrote, by column kernel",
                bias),
    OPTION_TEXT("trace", 0, "FILE", "Chrome trace of the first problem (ws-pipeline)", trace),
    OPTION_TEXT("svg", 0, "FILE", "Timeline of one wave of the first problem (ws-pipeline)", svg),
    {0},
};
static const struct arguments usual = {.model = "hopper", .gpu.name = "h200-sxm"};

static int check(void *arguments, struct error *err)
{
    const struct arguments *a = arguments;
    return !a->csv == !a->options.words.count
               ? error_set(err, "give problems (MxNxK:TYPE) or --csv FILE, and not both")
               : 0;
}

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
    buffer_puts(&text, ",batch,layout,epilogue\n");
    int result = 0;
    for (size_t i = 0; i < a->options.words.count && result == 0; i++) {
        struct problem p;
        const struct traits *t = &a->defaults.traits;
        result = problem_parse(&p, a->options.words.items[i], err);
        if (result)
            break;
        buffer_printf(&text, "%lld,%lld,%lld,%s,%s", (long long)p.m, (long long)p.n, (long long)p.k,
                      dtype_name(p.in), dtype_name(p.out));
        const int32_t traits[] = {t->tile_m,    t->tile_n,    t->tile_k,
                                  t->cluster_m, t->cluster_n, t->stages};
        for (size_t j = 0; j < ARRAY_COUNT(traits); j++)
            traits[j] ? buffer_printf(&text, ",%d", traits[j]) : buffer_puts(&text, ",");
        buffer_printf(&text, ",%d,%s,%s\n", p.batch, layout_name(p.layout),
                      epilogue_name(p.epilogue));
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

static int run(enum conclusion *out, struct context *context, void *arguments, struct error *err)
{
    struct arguments *a = arguments;
    (void)out;
    (void)context;
    int status = predict(a, err);
    gpu_profile_free(&a->profile);
    return status;
}

const struct command command_predict = {
    .name = "predict",
    .summary = "What a model says of problems or of the rows of a CSV file",
    .words = "[PROBLEM...]",
    .words_most = WORDS_ANY,
    .options = own_options,
    .defaults = &usual,
    .check = check,
    .size = sizeof(struct arguments),
    .run = run,
    .doc =
        "Predicts the time of problems, e.g. 4096x7168x512:bf16, or of the rows of a CSV file with "
        "the columns m,n,k,in_dtype[,out_dtype,sf_dtype,sf_vec_size,cta_m,cta_n,cta_k,cluster_m,"
        "cluster_n,stages,split_k,l2_hit_rate,clock_mhz]; other columns are passed through. Adds "
        "the columns predicted_us and bound.",
};
