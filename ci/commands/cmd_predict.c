// SPDX-License-Identifier: Apache-2.0
//
// plumb predict: predicts times of problems, given as words or as CSV. No GPU is needed.
#include "ci/command.h"
#include "ci/commands/output.h"
#include "ci/settings/gpu_file.h"
#include "ci/settings/rows.h"
#include "ci/settings/text_file.h"
#include "model/buffer.h"
#include "model/csv.h"
#include "model/predict.h"
#include "model/predict/parts/bias.h"
#include "model/predict/ws_pipeline.h"
#include "reports/charts/charts.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// ==== a prediction for people ====
//
// Prints a prediction's parts as lines for people. It computes no part itself.

static void line(struct buffer *out, const char *label, double value)
{
    buffer_puts(out, label);
    buffer_number(out, value);
    buffer_puts(out, "\n");
}

static void head(struct buffer *out, const struct predict_input *in, double predicted_us,
                 double measured_us)
{
    const struct problem *p = in->problem;
    const struct traits *t = in->traits;
    buffer_printf(out, "MNK %lld %lld %lld\n", (long long)p->m, (long long)p->n, (long long)p->k);
    if (t->tile_m)
        buffer_printf(out, "CTA (%d %d)\n", t->tile_m, t->tile_n);
    if (t->cluster_m)
        buffer_printf(out, "CLUSTER (%d %d)\n", t->cluster_m, t->cluster_n);
    if (measured_us > 0)
        line(out, "RATIO: ", predicted_us / measured_us);
    line(out, "    predicted: ", predicted_us);
    if (measured_us > 0)
        line(out, "    actual: ", measured_us);
}

static void wave(struct buffer *out, const struct ws_wave *w)
{
    line(out, "        DMA: ", w->dma_ns / 1e3);
    line(out, "        MATH: ", w->math_ns / 1e3);
    line(out, "        EPILOG: ", w->epilogue_ns / 1e3);
}

static void explain_ws_persistent(struct buffer *out, const struct predict_input *in)
{
    struct ws_breakdown b;
    if (ws_persistent(&b, in))
        return;
    const struct ws_wave *first = b.full_waves ? &b.full : &b.last;
    buffer_puts(out, "PROLOGUE\n");
    line(out, "    Overhead: ", b.overhead_ns / 1e3);
    line(out, "    DMA: ", b.first_dma_ns / 1e3);
    buffer_puts(out, "MAINLOOP\n");
    buffer_printf(out, "    Limiter: %s\n", ws_limiter_name(first->limiter));
    wave(out, first);
    buffer_puts(out, "    Last Wave\n");
    wave(out, &b.last);
    buffer_printf(out, "    Waves: %lld x %lld blocks", (long long)b.full_waves,
                  (long long)b.full.blocks);
    if (b.partial)
        buffer_printf(out, " + 1 x %lld", (long long)b.last.blocks);
    buffer_puts(out, "\n");
}

static void explain_parts(struct buffer *out, const struct prediction *p)
{
    buffer_printf(out, "BOUND %s\nCLOCK %.0f MHz, time goes as clock^%.3f\n", bound_name(p->bound),
                  p->clock_hz / 1e6, p->clock_exponent);
    if (p->band > 0)
        buffer_printf(out, "BAND +-%.1f %% (one sigma), +-%.1f %% (95 of 100)\n", 100 * p->band,
                      100 * p->band_95);
    buffer_puts(out, "PARTS\n");
    for (size_t i = 0; i < p->part_count; i++)
        buffer_printf(out, "    %-16s %12.4f us %6.1f %%\n", p->parts[i].name,
                      p->parts[i].time_ns / 1e3, 100 * p->parts[i].time_ns / p->time_ns);
}

static void explain_bias(struct buffer *out, const struct bias *b)
{
    buffer_printf(out, "BIAS fitted to %u measured %s\n", b->rows,
                  plural(b->rows, "time", "times"));
    buffer_printf(out, "    factor %.4f at %.4f us, which goes as time^%+.4f; then %+.4f us\n",
                  exp(b->log_factor), exp(b->centre) / 1e3, b->slope, b->offset_ns / 1e3);
}

// Explains a prediction. `bias` is the correction that was applied, NULL: none. `measured_us` 0:
// there is no measurement to compare with. Times are printed in microseconds.
static void explain_prediction(struct buffer *out, const struct model *model,
                               const struct predict_input *in, const struct prediction *p,
                               const struct bias *bias, double measured_us)
{
    char problem[PROBLEM_TEXT];
    problem_format(problem, in->problem);
    buffer_printf(out, "MODEL %s %s on %s\nPROBLEM %s\n", model->name, model->version,
                  in->gpu->name, problem);
    if (!p->feasible) {
        const struct problem *q = in->problem;
        buffer_printf(out, "MNK %lld %lld %lld\n    infeasible: %s\n\n", (long long)q->m,
                      (long long)q->n, (long long)q->k, p->why);
        return;
    }
    head(out, in, p->time_ns / 1e3, measured_us);
    if (bias)
        explain_bias(out, bias);
    if (strcmp(model->name, "ws-persistent") == 0)
        explain_ws_persistent(out, in);
    else
        explain_parts(out, p);
    buffer_puts(out, "\n");
}

// ==== the command ====

enum { WIDEST = 60 }; // the widest column of a table

enum rows_format { FORMAT_DEFAULT, FORMAT_CSV, FORMAT_JSON, FORMAT_TABLE };

// What is known of a column of the CSV. A table does not show empty columns.
struct column_use {
    size_t widest; // length of the longest field, up to WIDEST
    bool filled;
    bool result; // the prediction's own columns take its place
};

struct rows_printer {
    struct buffer *out;
    const struct csv *csv;
    enum rows_format format;
    bool parts;                // there are columns for the prediction's parts
    bool biased;               // there is a column bias_rows
    bool banded;               // a table has columns for bands
    bool measured;             // a table has a column for the ratio
    struct column_use *uses;   // of each column
    struct column_head *heads; // the columns of a table
    size_t heads_count;
    struct json json;
};

// ---- predictions as CSV, JSON or a table, row by row ----

static void bound_text(char out[160], const struct prediction *prediction)
{
    if (prediction->feasible)
        snprintf(out, 160, "%s", bound_name(prediction->bound));
    else
        snprintf(out, 160, "infeasible: %s", prediction->why);
}

// ---- parts ----

enum part_column {
    PART_FIXED,
    PART_FIRST_LOAD,
    PART_MAIN_LOOP,
    PART_EPILOGUE,
    PART_WAVES,
    PART_RATIO,
    PARTS
};

static const char *const part_columns[PARTS] = {"fixed_us",    "first_load_us", "main_loop_us",
                                                "epilogue_us", "waves",         "ratio"};

// The column of a part of a model's prediction. A part without a column of its own counts as main
// loop.
static enum part_column part_of(const char *name)
{
    static const struct {
        const char *name;
        enum part_column part;
    } known[] = {{"launch", PART_FIXED},        {"overhead", PART_FIXED},
                 {"fill", PART_FIRST_LOAD},     {"first-dma", PART_FIRST_LOAD},
                 {"prologue", PART_FIRST_LOAD}, {"tile-overhead", PART_EPILOGUE},
                 {"last-store", PART_EPILOGUE}, {"epilogue", PART_EPILOGUE},
                 {"split-k", PART_EPILOGUE},    {"transpose", PART_FIXED}};
    for (size_t i = 0; i < ARRAY_COUNT(known); i++) {
        if (strcmp(known[i].name, name) == 0)
            return known[i].part;
    }
    return PART_MAIN_LOOP;
}

static double waves_of(const struct predict_input *in)
{
    const struct problem *p = in->problem;
    const struct traits *t = in->traits;
    double m = t->tile_m > 0 ? t->tile_m : 128, n = t->tile_n > 0 ? t->tile_n : 128;
    double tiles = ceil((double)p->m / m) * ceil((double)p->n / n) * p->batch;
    return in->gpu->sm_count.value > 0 ? tiles / in->gpu->sm_count.value : 0;
}

// Computes the parts; NaN: the column has no value.
static void parts_of(double values[PARTS], const struct predict_input *in,
                     const struct prediction *prediction, double measured_us)
{
    for (int i = 0; i < PARTS; i++)
        values[i] = prediction->feasible ? 0 : NAN;
    if (!prediction->feasible)
        return;
    double rest = prediction->time_ns / 1e3;
    for (size_t i = 0; i < prediction->part_count; i++) {
        enum part_column part = part_of(prediction->parts[i].name);
        if (part == PART_MAIN_LOOP)
            continue;
        values[part] += prediction->parts[i].time_ns / 1e3;
        rest -= prediction->parts[i].time_ns / 1e3;
    }
    values[PART_MAIN_LOOP] = rest > 0 ? rest : 0;
    values[PART_WAVES] = waves_of(in);
    values[PART_RATIO] = measured_us > 0 ? prediction->time_ns / 1e3 / measured_us : NAN;
}

static bool is_result(const char *column)
{
    return strcmp(column, "predicted_us") == 0 || strcmp(column, "band") == 0 ||
           strcmp(column, "band_95") == 0 || strcmp(column, "bound") == 0 ||
           strcmp(column, "regime") == 0 || strcmp(column, "bias_rows") == 0;
}

static bool is_shown(const struct rows_printer *p, size_t column)
{
    const struct column_use *use = &p->uses[column];
    return !use->result && (p->format != FORMAT_TABLE || use->filled);
}

// Notes the use of each column by the rows of a piece.
static void note_uses(struct column_use *uses, const struct csv *csv)
{
    for (size_t i = 0; i < csv->count; i++) {
        for (size_t c = 0; c < csv->columns; c++) {
            const size_t length = strlen(csv->rows[i].fields[c]);
            uses[c].filled |= length > 0;
            if (length > uses[c].widest && length < WIDEST)
                uses[c].widest = length;
        }
    }
}

static void csv_header(const struct rows_printer *p)
{
    struct csv_line line = {.out = p->out};
    for (size_t i = 0; i < p->csv->columns; i++) {
        if (is_shown(p, i))
            csv_text(&line, csv_plain(p->csv->header[i])); // the CSV may be one of our own tables
    }
    csv_raw(&line, "regime,predicted_us,band,band_95,bound");
    if (p->biased)
        csv_raw(&line, "bias_rows");
    for (int i = 0; i < PARTS && p->parts; i++)
        csv_text(&line, part_columns[i]);
    csv_end(&line, "\n");
}

// The ratio, which is the last part, needs a measured time.
static int parts_shown(const struct rows_printer *p)
{
    return !p->parts ? 0 : p->measured ? PARTS : PARTS - 1;
}

// Makes the table's columns: the list's columns that are shown, each as wide as its widest cell,
// then those of the prediction.
static void find_heads(struct rows_printer *p)
{
    struct column_head *h = p->heads = xcalloc(p->csv->columns + 6 + PARTS, sizeof(*h));
    for (size_t i = 0; i < p->csv->columns; i++) {
        size_t width = strlen(p->csv->header[i]);
        if (!is_shown(p, i))
            continue;
        if (p->uses[i].widest > width)
            width = p->uses[i].widest;
        *h++ = (struct column_head){p->csv->header[i], -(int)width};
    }
    *h++ = (struct column_head){"regime", -10};
    *h++ = (struct column_head){"predicted_us", -14};
    if (p->banded) {
        *h++ = (struct column_head){"band", -7};
        *h++ = (struct column_head){"band_95", -7};
    }
    *h++ = (struct column_head){"bound", p->parts || p->biased ? -8 : 0};
    if (p->biased)
        *h++ = (struct column_head){"bias_rows", p->parts ? -9 : 0};
    for (int i = 0; i < parts_shown(p); i++)
        *h++ = (struct column_head){part_columns[i], -13};
    p->heads_count = (size_t)(h - p->heads);
}

static void rows_print_header(struct rows_printer *p)
{
    if (p->format == FORMAT_JSON) {
        json_begin(&p->json, NULL, '{');
        json_begin(&p->json, "predictions", '[');
        return;
    }
    if (p->format == FORMAT_CSV) {
        csv_header(p);
        return;
    }
    find_heads(p);
    const struct text_table table = {p->out, p->heads, p->heads_count};
    table_heads(&table);
}

// The cells that follow those of the list.
struct predicted_cells {
    const char *regime;
    double time_us, band, band_95; // NaN: there is none
    char bound[160];
    uint32_t bias_rows; // 0: there is no bias
    double parts[PARTS];
};

static void print_json(struct rows_printer *p, size_t row, const struct predicted_cells *told)
{
    struct json *json = &p->json;
    json_newline(json);
    json_begin(json, NULL, '{');
    for (size_t i = 0; i < p->csv->columns; i++) {
        const char *name = p->csv->header[i], *text = p->csv->rows[row].fields[i];
        double number;
        if (!is_shown(p, i))
            continue;
        if (parse_double(&number, text) == 0)
            json_number(json, name, number);
        else
            json_text(json, name, text);
    }
    json_text(json, "regime", told->regime);
    json_number(json, "predicted_us", told->time_us);
    json_number(json, "band", told->band);
    json_number(json, "band_95", told->band_95);
    json_text(json, "bound", told->bound);
    if (p->biased)
        json_int(json, "bias_rows", told->bias_rows);
    for (int i = 0; i < PARTS && p->parts; i++)
        json_number(json, part_columns[i], told->parts[i]);
    json_end(json, '}');
}

static void print_csv(const struct rows_printer *p, size_t row, const struct predicted_cells *told)
{
    struct csv_line line = {.out = p->out};
    for (size_t i = 0; i < p->csv->columns; i++) {
        if (is_shown(p, i))
            csv_text(&line, csv_plain(p->csv->rows[row].fields[i]));
    }
    csv_text(&line, told->regime);
    csv_real(&line, told->time_us);
    csv_real(&line, told->band);
    csv_real(&line, told->band_95);
    csv_text(&line, told->bound);
    if (p->biased)
        csv_int(&line, told->bias_rows);
    for (int i = 0; i < PARTS && p->parts; i++)
        csv_real(&line, told->parts[i]);
    csv_end(&line, "\n");
}

static void print_line(const struct rows_printer *p, size_t row, const struct predicted_cells *told)
{
    const struct text_table table = {p->out, p->heads, p->heads_count};
    struct buffer cells = {0};
    for (size_t i = 0; i < p->csv->columns; i++) {
        if (is_shown(p, i))
            buffer_printf(&cells, "%s\t", p->csv->rows[row].fields[i]);
    }
    buffer_printf(&cells, "%s\t%.4f", told->regime, told->time_us);
    if (p->banded)
        buffer_printf(&cells, "\t%.3f\t%.3f", told->band, told->band_95);
    buffer_printf(&cells, "\t%s", told->bound);
    if (p->biased)
        buffer_printf(&cells, "\t%u", told->bias_rows);
    for (int i = 0; i < parts_shown(p); i++)
        buffer_printf(&cells, "\t%.4f", told->parts[i]);
    table_row(&table, "%s", cells.bytes);
    buffer_free(&cells);
}

// Prints a row; measured_us 0: it was not measured.
static void rows_print_row(struct rows_printer *p, size_t row, const struct predict_input *in,
                           const struct prediction *prediction, double measured_us)
{
    struct predicted_cells told = {
        .regime = regime_name(in->problem->regime),
        .time_us = prediction->feasible ? prediction->time_ns / 1e3 : NAN,
        .band = prediction->feasible && prediction->band > 0 ? prediction->band : NAN,
    };
    told.band_95 = isnan(told.band) ? NAN : prediction->band_95;
    told.bias_rows = prediction->bias_rows;
    bound_text(told.bound, prediction);
    parts_of(told.parts, in, prediction, measured_us);
    if (p->format == FORMAT_JSON)
        print_json(p, row, &told);
    else if (p->format == FORMAT_CSV)
        print_csv(p, row, &told);
    else
        print_line(p, row, &told);
}

static void rows_print_end(struct rows_printer *p)
{
    if (p->format != FORMAT_JSON)
        return;
    json_newline(&p->json);
    json_end(&p->json, ']');
    json_end(&p->json, '}');
    json_newline(&p->json);
}

// ==== problems given as words ====
//
// Turns problems given as words, with lists of tiles and clusters, into a CSV's text, so that they
// are handled like any other CSV from there on.

// The tiles and clusters that seed 0 sweeps over.
static const struct sides_list sides_usual_tiles = {{{64, 64, 0},
                                                     {64, 128, 0},
                                                     {64, 192, 0},
                                                     {64, 256, 0},
                                                     {128, 64, 0},
                                                     {128, 128, 0},
                                                     {128, 192, 0},
                                                     {128, 256, 0}},
                                                    8,
                                                    true};
static const struct sides_list sides_usual_clusters = {{{1, 1, 0}, {2, 1, 0}, {2, 2, 0}}, 3, true};

// Whether a tile is swept. Tensor cores that apply scales themselves (tcgen05) take 128 rows at a
// time, so seed 0 sweeps only such tiles for these types.
static bool is_swept(const struct sides *tile, const struct sides_list *tiles,
                     const struct problem *p)
{
    const bool scaled = p->in == DTYPE_E2M1 || (p->scales.vector > 0 && p->scales.vector <= 32);
    return !tiles->usual || !scaled || tile->m >= 128;
}

// Writes the sides of a tile or cluster; a side that is not given leaves its cell empty.
static void put_sides(struct csv_line *line, const int32_t *sides, size_t count)
{
    for (size_t i = 0; i < count; i++)
        csv_real(line, sides[i] ? (double)sides[i] : NAN);
}

static void put_row(struct buffer *text, const struct problem *p, const struct sides *tile,
                    const struct sides *cluster, const struct traits *t)
{
    char problem[PROBLEM_TEXT];
    problem_format(problem, p);
    struct csv_line line = {.out = text};
    const int64_t sizes[] = {p->m, p->n, p->k};
    const int32_t traits[] = {tile->m, tile->n, tile->k, cluster->m, cluster->n, t->stages};
    for (size_t i = 0; i < ARRAY_COUNT(sizes); i++)
        csv_int(&line, sizes[i]);
    csv_text(&line, dtype_name(p->in));
    csv_text(&line, dtype_name(p->out));
    put_sides(&line, traits, ARRAY_COUNT(traits));
    csv_int(&line, p->batch);
    csv_text(&line, layout_name(p->layout));
    csv_text(&line, epilogue_name(p->epilogue));
    csv_text(&line, problem);
    // A problem's text has no word for cold, so a problem that named it says it here.
    csv_text(&line, p->regime_named ? regime_name(p->regime) : "");
    csv_end(&line, "\n");
}

// Makes one row for every problem with every tile and every cluster. An empty list leaves its
// columns empty. `traits` are the kernel's other traits, from the options.
static int problem_rows(struct buffer *out, const char *const *problems, size_t count,
                        const struct sides_list *tiles, const struct sides_list *clusters,
                        const struct traits *traits, struct error *err)
{
    static const struct sides unsaid;
    buffer_puts(out, "m,n,k,in_dtype,out_dtype,cta_m,cta_n,cta_k,cluster_m,cluster_n,stages,batch,"
                     "layout,epilogue,problem,regime\n");
    int result = 0;
    for (size_t i = 0; i < count && result == 0; i++) {
        struct problem p;
        result = problem_parse(&p, problems[i], err);
        for (size_t t = 0; t < (tiles->count ? tiles->count : 1) && result == 0; t++) {
            const struct sides *tile = tiles->count ? &tiles->items[t] : &unsaid;
            if (!is_swept(tile, tiles, &p))
                continue;
            for (size_t c = 0; c < (clusters->count ? clusters->count : 1); c++)
                put_row(out, &p, tile, clusters->count ? &clusters->items[c] : &unsaid, traits);
        }
    }
    return result;
}

// ---- a list in a CSV ----

// The columns that a list may have beside its problem: those of a sweep, of the types and of the
// layouts. Their names are those of seed 0's tables.
static const char *const sweep_columns[] = {"mma_m", "mma_n",     "cta_m",    "cta_n",
                                            "cta_k", "cluster_m", "cluster_n"};
static const char *const type_columns[] = {"in_dtype", "acc_dtype", "out_dtype", "sf_dtype",
                                           "sf_vec_size"};
static const char *const major_columns[] = {"a_major", "b_major", "c_major"};

struct problem_list {
    const struct csv *csv;
    struct problem type; // m, n and k are not used
    bool typed, lies;    // typed: it has a type; lies: its rows give the operands' layouts
};

static bool is_one_of(const char *const *columns, size_t count, const char *column)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(column, columns[i]) == 0)
            return true;
    }
    return false;
}

static bool is_written(const struct problem_list *l, const char *column)
{
    return is_one_of(sweep_columns, ARRAY_COUNT(sweep_columns), column) ||
           (l->typed && is_one_of(type_columns, ARRAY_COUNT(type_columns), column));
}

static bool says_how_operands_lie(const struct csv *csv)
{
    return csv_column(csv, "layout") >= 0 || csv_column(csv, "a_major") >= 0 ||
           csv_column(csv, "b_major") >= 0;
}

// The name of a type in these columns, which only know scales for vectors along K.
static int read_list_type(struct problem_list *l, const char *type, struct error *err)
{
    struct error why;
    char *text = xprintf("64x64x64:%s", type);
    const int bad = problem_parse(&l->type, text, &why);
    free(text);
    if (bad)
        return error_set(err, "--dtype %.40s: no element type (bf16, fp8, nvfp4, fp8-bf16 ...)",
                         type);
    struct problem plain = {.m = 64, .n = 64, .k = 64, .batch = 1};
    char all[PROBLEM_TEXT], known[PROBLEM_TEXT];
    plain.in = l->type.in;
    plain.out = l->type.out;
    plain.layout = l->lies ? LAYOUT_TN : l->type.layout;
    plain.scales = l->type.scales;
    plain.scales.rows_a = plain.scales.rows_b = plain.scales.vector > 0;
    problem_format(all, &l->type);
    problem_format(known, &plain);
    return strcmp(all, known) ? error_set(err,
                                          "--dtype %.60s says more than a type and a layout; "
                                          "put the rest into the list's own columns, or whole "
                                          "problems into its column problem",
                                          type)
                              : 0;
}

static void put_type(struct csv_line *line, const struct problem_list *l)
{
    const struct problem *p = &l->type;
    csv_text(line, dtype_name(p->in));
    csv_text(line, dtype_name(DTYPE_FP32));
    csv_text(line, dtype_name(p->out));
    csv_text(line, p->scales.vector ? dtype_name(p->scales.type) : NULL);
    put_sides(line, &(const int32_t){p->scales.vector}, 1);
    if (l->lies)
        return;
    csv_text(line, p->layout == LAYOUT_NT || p->layout == LAYOUT_TT ? "m" : "k");
    csv_text(line, p->layout == LAYOUT_NN || p->layout == LAYOUT_NT ? "n" : "k");
    csv_text(line, "n");
}

static void put_names(struct csv_line *line, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        csv_text(line, names[i]);
}

// Writes the list's own fields of a row, or of the header.
static void put_own(struct csv_line *line, const struct problem_list *l, const char *const *fields)
{
    for (size_t c = 0; c < l->csv->columns; c++) {
        if (!is_written(l, l->csv->header[c]))
            csv_text(line, csv_plain(fields[c]));
    }
}

static void put_listed(struct csv_line *line, const struct problem_list *l, size_t row,
                       const struct sides *tile, const struct sides *cluster)
{
    put_own(line, l, (const char *const *)l->csv->rows[row].fields);
    if (l->typed)
        put_type(line, l);
    // Two blocks of a cluster multiply together, as in seed 0's kernels.
    const int32_t sides[] = {tile->m * (cluster->m % 2 == 0 && cluster->m ? 2 : 1),
                             tile->n,
                             tile->m,
                             tile->n,
                             tile->k,
                             cluster->m,
                             cluster->n};
    put_sides(line, sides, ARRAY_COUNT(sides));
    csv_end(line, "\n");
}

static void put_list(struct buffer *out, const struct problem_list *l,
                     const struct sides_list *tiles, const struct sides_list *clusters)
{
    static const struct sides unsaid;
    struct csv_line line = {.out = out};
    put_own(&line, l, (const char *const *)l->csv->header);
    if (l->typed)
        put_names(&line, type_columns, ARRAY_COUNT(type_columns));
    if (l->typed && !l->lies)
        put_names(&line, major_columns, ARRAY_COUNT(major_columns));
    put_names(&line, sweep_columns, ARRAY_COUNT(sweep_columns));
    csv_end(&line, "\n");
    struct rows_table table;
    rows_find_columns(&table, l->csv, "the list");
    for (size_t i = 0; i < l->csv->count; i++) {
        const struct row none = {0};
        struct row row = {.problem = l->type};
        struct error why; // a faulty row is reported where rows are read
        if (!l->typed)
            (void)row_read(&row, &table, i, &none, &why);
        for (size_t t = 0; t < (tiles->count ? tiles->count : 1); t++) {
            const struct sides *tile = tiles->count ? &tiles->items[t] : &unsaid;
            if (!is_swept(tile, tiles, &row.problem))
                continue;
            for (size_t c = 0; c < (clusters->count ? clusters->count : 1); c++)
                put_listed(&line, l, i, tile, clusters->count ? &clusters->items[c] : &unsaid);
        }
    }
}

// Does the same for a list of problems (m, n, k, and in_dtype unless `type` replaces it). The rows
// have the columns of seed 0's results and the list's other columns.
static int problem_list_rows(struct buffer *out, const struct csv *list, const char *type,
                             const struct sides_list *tiles, const struct sides_list *clusters,
                             struct error *err)
{
    struct problem_list l = {.csv = list, .typed = type != NULL};
    l.lies = says_how_operands_lie(list);
    if (type && read_list_type(&l, type, err))
        return -1;
    put_list(out, &l, tiles, clusters);
    return 0;
}

// ==== the command ====

struct arguments {
    struct options options;
    const char *model, *csv, *type, *trace, *svg, *bias;
    struct gpu_option gpu;
    struct gpu_profile profile;
    enum rows_format format;
    bool explain, parts, sweep;
    struct sides_list tiles, clusters;
    struct row defaults; // traits, clock and L2 rate that options give
};

static int take_format(void *arguments, const char *text)
{
    static const char *const names[] = {"", "csv", "json", "table"};
    struct arguments *a = arguments;
    for (int i = FORMAT_CSV; i <= FORMAT_TABLE; i++) {
        if (strcmp(names[i], text) == 0)
            a->format = (enum rows_format)i;
    }
    return a->format == FORMAT_DEFAULT ? -1 : 0;
}

static int take_tile(void *arguments, const char *text)
{
    struct arguments *a = arguments;
    if (sides_parse(&a->tiles, text, true))
        return -1;
    a->defaults.traits.tile_m = a->tiles.items[0].m;
    a->defaults.traits.tile_n = a->tiles.items[0].n;
    a->defaults.traits.tile_k = a->tiles.items[0].k;
    return 0;
}

static int take_cluster(void *arguments, const char *text)
{
    struct arguments *a = arguments;
    if (sides_parse(&a->clusters, text, false))
        return -1;
    a->defaults.traits.cluster_m = a->clusters.items[0].m;
    a->defaults.traits.cluster_n = a->clusters.items[0].n;
    return 0;
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

static int take_l2(void *arguments, const char *text)
{
    double *rate = &((struct arguments *)arguments)->defaults.input.l2_hit_rate;
    return parse_double(rate, text) || *rate < 0 || *rate > 1 ? -1 : 0;
}

#define SIDES "sizes are whole numbers joined by x, e.g. 128x256x64; several by commas"

static const struct command_option own_options[] = {
    OPTION_TEXT("model", 0, "NAME", "Model [hopper]; `plumb list models`", model),
    GPU_OPTIONS(gpu),
    OPTION_TEXT("csv", 0, "FILE", "Problems and kernels as CSV, - for standard input", csv),
    OPTION_TEXT("dtype", 0, "TYPE",
                "Type of a CSV's problems, as a problem says it: nvfp4 is e2m1-bf16:e4m3/16, and "
                "seed 0's rows of that name are e2m1-fp32:e8m0/16",
                type),
    OPTION_OWN("format", 0, "csv|json|table", "Output [csv for --csv, else table]", take_format,
               "is no format: csv, json or table"),
    OPTION_FLAG("explain", 0, "Print each prediction's parts instead", explain),
    ROWS_OPTIONS(defaults, "stream"),
    OPTION_FLAG("parts", 0,
                "Columns of each prediction's parts, waves, and the ratio to measured_us", parts),
    OPTION_FLAG("sweep", 0,
                "Each problem with the usual tiles (of 128 rows where block scales go with 16 or "
                "32 elements) and clusters, or those given",
                sweep),
    OPTION_OWN("tile", 0, "MxN[xK],...", "Output tiles of a thread block", take_tile, SIDES),
    OPTION_OWN("cluster", 0, "MxN,...", "Thread-block clusters", take_cluster, SIDES),
    OPTION_OWN("stages", 0, "N", "K slabs in flight", take_stages,
               "needs a whole number from 1 to 64"),
    OPTION_OWN("split-k", 0, "N", "Pieces of K, -1 for stream-K", take_split,
               "needs a whole number from 1 to 64, or -1"),
    OPTION_OWN("l2-hit", 0, "RATE", "L2 hit rate, 0 to 1 (ws-persistent)", take_l2,
               "must be a number from 0 to 1"),
    OPTION_TEXT("bias", 0, "FILE", "Biases that `plumb accuracy --fit` wrote, by column kernel",
                bias),
    OPTION_TEXT("trace", 0, "FILE", "Chrome trace of the first problem (ws-pipeline)", trace),
    OPTION_TEXT("svg", 0, "FILE", "Timeline of one wave of the first problem (ws-pipeline)", svg),
    {0},
};

static const struct arguments usual = {.model = "hopper"};

static int check(void *arguments, struct error *err)
{
    struct arguments *a = arguments;
    if (a->sweep && !a->tiles.count)
        a->tiles = sides_usual_tiles;
    if (a->sweep && !a->clusters.count)
        a->clusters = sides_usual_clusters;
    const struct model *model = model_find(a->model);
    if (rows_check_options(&a->defaults, err))
        return -1;
    if (model && model->knows_regimes && !a->defaults.regime_stated && !a->defaults.warm_stated)
        // The regime that a gate uses if none is named.
        a->defaults.problem.regime = regime_usual("cuda");
    if (a->type && !a->csv)
        return error_set(err, "--dtype is for the problems of --csv; others name their own");
    return !a->csv == !a->options.words.count
               ? error_set(err, "give problems (MxNxK:TYPE) or --csv FILE, and not both")
               : 0;
}

// Prints the text written so far, so that a long CSV need not be in memory as a whole.
static void print(struct buffer *text)
{
    if (text->length)
        fwrite(text->bytes, 1, text->length, stdout);
    text->length = 0;
}

static int draw(const struct arguments *a, const struct predict_input *in, struct error *err)
{
    struct ws_pipeline w;
    struct pipeline_events events = {0};
    struct buffer trace = {0};
    const char *why = ws_pipeline(&w, in);
    if (why)
        return error_set(err, "no timeline: %s", why);
    if (pipeline_simulate(&events, &w.pipeline, err))
        return -1;
    // All waves are alike, so a hundred show the shape and keep the file small.
    int64_t waves = w.kernel.waves < 100 ? w.kernel.waves : 100;
    pipeline_write_trace(&trace, &w.pipeline, &events, w.launch_ns, waves, 1e-3);
    int result = a->trace ? text_file_write(a->trace, &trace, err) : 0;
    if (result == 0 && a->svg) {
        struct markup *figure = markup_new(MARKUP_XML);
        chart_wave(figure, &w.pipeline, &events, "ns");
        result = output_figure(a->svg, figure, err);
    }
    buffer_free(&trace);
    pipeline_events_free(&events);
    return result;
}

// ---- many rows at a time, with as many threads as there are processors ----

enum { BLOCK = 4096, THREADS_MOST = 16 };

struct block_row {
    struct row row;
    double measured_us;
    struct prediction prediction;
};

// One pass over all rows. The first one only reads them, so that nothing is printed if one is
// faulty.
struct pass {
    const struct arguments *a;
    const struct model *model;
    const struct bias_table *biases;
    struct csv_pieces *pieces;
    struct rows_table table;
    struct rows_printer printer;
    struct block_row *rows;
    size_t before; // rows of earlier blocks
    bool prints;
};

// A thread's part of a block: it reads and predicts these rows, and if they become CSV, writes
// them.
struct row_worker {
    const struct pass *pass;
    size_t first, end;
    struct buffer text;
    struct error err;
    int result;
};

static bool writes_csv(const struct pass *p)
{
    return p->prints && p->printer.format == FORMAT_CSV && !p->a->explain;
}

static void *work(void *argument)
{
    struct row_worker *w = argument;
    const struct pass *p = w->pass;
    struct rows_printer printer = p->printer;
    printer.out = &w->text;
    for (size_t i = w->first; i < w->end; i++) {
        struct block_row *r = &p->rows[i];
        if (row_read(&r->row, &p->table, i, &p->a->defaults, &w->err) ||
            row_measured(&r->measured_us, &p->table, i, &w->err)) {
            w->result = -1;
            return NULL;
        }
        if (!p->prints)
            continue;
        r->prediction = row_predict(&r->row, p->model);
        bias_apply(&r->prediction, p->biases, r->row.kernel, &r->row.problem);
        if (writes_csv(p))
            rows_print_row(&printer, i, row_input(&r->row), &r->prediction, r->measured_us);
    }
    return NULL;
}

static size_t threads_for(size_t rows)
{
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    if (rows < BLOCK || processors < 1) // a few rows take less time than starting a thread
        return 1;
    return processors > THREADS_MOST ? THREADS_MOST : (size_t)processors;
}

// Does the work for all rows of a block. If a thread cannot be started, this thread does its rows.
// The first faulty row is the one that is reported.
static int work_block(const struct pass *p, struct error *err)
{
    const size_t count = p->pieces->csv.count, threads = threads_for(count);
    struct row_worker workers[THREADS_MOST];
    pthread_t ids[THREADS_MOST];
    bool started[THREADS_MOST] = {false};
    int result = 0;
    for (size_t t = 0; t < threads; t++)
        workers[t] = (struct row_worker){
            .pass = p, .first = count * t / threads, .end = count * (t + 1) / threads};
    for (size_t t = 1; t < threads; t++)
        started[t] = pthread_create(&ids[t], NULL, work, &workers[t]) == 0;
    for (size_t t = 0; t < threads; t++) {
        if (!started[t])
            work(&workers[t]);
    }
    for (size_t t = 0; t < threads; t++) {
        if (started[t])
            pthread_join(ids[t], NULL);
        if (workers[t].result && result == 0) {
            *err = workers[t].err;
            result = -1;
        }
        if (result == 0)
            print(&workers[t].text);
        buffer_free(&workers[t].text);
    }
    return result;
}

// Prints what the threads did not: rows of a table or of JSON, explanations, and the timeline.
static int print_block(struct pass *p, struct error *err)
{
    struct rows_printer *printer = &p->printer;
    for (size_t i = 0; i < p->pieces->csv.count; i++) {
        struct block_row *r = &p->rows[i];
        const struct predict_input *in = row_input(&r->row);
        if (p->a->explain)
            explain_prediction(printer->out, p->model, in, &r->prediction,
                               bias_find(p->biases, r->row.kernel, in->problem), r->measured_us);
        else if (!writes_csv(p))
            rows_print_row(printer, i, in, &r->prediction, r->measured_us);
        print(printer->out);
        if (p->before + i == 0 && (p->a->trace || p->a->svg) && draw(p->a, in, err))
            return -1;
    }
    return 0;
}

static int pass_over(struct pass *p, struct error *err)
{
    csv_pieces_rewind(p->pieces);
    for (p->before = 0;; p->before += p->pieces->csv.count) {
        if (csv_pieces_next(p->pieces, BLOCK, err))
            return -1;
        if (p->pieces->csv.count == 0)
            return 0;
        if (work_block(p, err) || (p->prints && print_block(p, err)))
            return -1;
        if (!p->prints && p->printer.format == FORMAT_TABLE)
            note_uses(p->printer.uses, &p->pieces->csv);
    }
}

static int predict_rows(struct pass *p, struct error *err)
{
    struct rows_printer *printer = &p->printer;
    if (!printer->format)
        printer->format = p->a->csv ? FORMAT_CSV : FORMAT_TABLE;
    printer->uses = xcalloc(p->pieces->csv.columns, sizeof(*printer->uses));
    for (size_t i = 0; i < p->pieces->csv.columns; i++)
        printer->uses[i].result = is_result(p->pieces->csv.header[i]);
    p->rows = xcalloc(BLOCK, sizeof(*p->rows));
    int result = pass_over(p, err);
    if (result == 0 && !p->a->explain)
        rows_print_header(printer);
    print(printer->out);
    p->prints = true;
    if (result == 0)
        result = pass_over(p, err);
    if (result == 0 && !p->a->explain)
        rows_print_end(printer);
    if (result == 0)
        print(printer->out);
    free(p->rows);
    free(printer->heads);
    free(printer->uses);
    return result;
}

// Reads the CSV's text, or makes one: of its problems combined with tiles, clusters and a type.
static int read_text(struct buffer *out, const struct arguments *a, const char *path,
                     struct error *err)
{
    struct csv list;
    char *text;
    size_t length;
    if (!a->csv)
        return problem_rows(out, (const char *const *)a->options.words.items,
                            a->options.words.count, &a->tiles, &a->clusters, &a->defaults.traits,
                            err);
    if (text_file_read(&text, &length, a->csv, err))
        return -1;
    if (!a->type && a->tiles.count <= 1 && a->clusters.count <= 1) {
        *out = (struct buffer){.bytes = text, .length = length};
        return 0;
    }
    int result = csv_parse(&list, text, length, path, err);
    free(text);
    if (result)
        return -1;
    if (rows_refuse_misspelt(&list, a->csv, err) ||
        problem_list_rows(out, &list, a->type, &a->tiles, &a->clusters, err))
        result = -1;
    csv_free(&list);
    return result;
}

static int predict_text(const struct arguments *a, const struct buffer *text, const char *path,
                        const struct model *model, struct error *err)
{
    struct csv_pieces pieces = {0};
    struct bias_table biases = {0};
    struct buffer out = {0};
    struct pass pass = {.a = a, .model = model, .biases = &biases, .pieces = &pieces};
    int result = csv_pieces_open(&pieces, text->bytes, text->length, path, err);
    if (result == 0)
        result = rows_refuse_misspelt(&pieces.csv, path, err);
    if (result == 0 && a->bias)
        result = bias_file_read(&biases, a->bias, model, err);
    if (result == 0) {
        rows_find_columns(&pass.table, &pieces.csv, path);
        pass.printer = (struct rows_printer){.out = &out,
                                             .csv = &pieces.csv,
                                             .format = a->format,
                                             .parts = a->parts,
                                             .biased = a->bias,
                                             .banded = model->has_bands || a->bias,
                                             .measured = rows_time_column(&pieces.csv) != NULL,
                                             .json = {.out = &out}};
        result = predict_rows(&pass, err);
    }
    buffer_free(&out);
    bias_table_free(&biases);
    csv_pieces_free(&pieces);
    return result;
}

static int predict(struct arguments *a, struct context *context, struct error *err)
{
    const struct model *model = model_find(a->model);
    const char *path = !a->csv ? "arguments" : strcmp(a->csv, "-") ? a->csv : "stdin";
    struct buffer text = {0};
    if (!model)
        return error_set(err, "%.60s: no such model; `plumb list models` names those there are",
                         a->model);
    if ((a->trace || a->svg) && strcmp(model->name, "ws-pipeline"))
        return error_set(err, "--trace and --svg draw the model ws-pipeline, not %s", model->name);
    if (measured_profile(&a->profile, &a->gpu, context, &a->options, err))
        return -1;
    a->defaults.input.gpu = &a->profile.gpu;
    int result = read_text(&text, a, path, err);
    if (result == 0)
        result = predict_text(a, &text, path, model, err);
    buffer_free(&text);
    if (result == 0 && output_failed())
        result = error_set(
            err, "standard output: cannot be written; is the disk full, or `ulimit -f` too low?");
    return result;
}

static int run(enum conclusion *out, struct context *context, void *arguments, struct error *err)
{
    struct arguments *a = arguments;
    (void)out;
    int status = predict(a, context, err);
    gpu_profile_free(&a->profile);
    return status;
}

static bool prints_rows(const void *arguments)
{
    const struct arguments *a = arguments;
    return !a->explain;
}

static bool finds_profile(const void *arguments)
{
    const struct arguments *a = arguments;
    return !a->gpu.name;
}

static const struct option_use uses[] = {
    {"parts format", prints_rows, "rows; --explain prints texts"},
    {"repo store", finds_profile, "the profile that was measured last; --gpu names another"},
    {0},
};

const struct command command_predict = {
    .name = "predict",
    .summary = "Predict the time of problems or of the rows of a CSV file",
    .words = "[PROBLEM...]",
    .words_most = WORDS_ANY,
    .json = "predictions (the columns of the rows, then regime, predicted_us, band, band_95 and "
            "bound, and with --bias and --parts those named above).",
    .shared = SHARED_STORE,
    .options = own_options,
    .defaults = &usual,
    .check = check,
    .uses = uses,
    .size = sizeof(struct arguments),
    .run = run,
    .doc = "Predicts the time of problems, e.g. 4096x7168x512:bf16, or of the rows of a CSV "
           "file; other columns are passed through. It adds these columns: regime (stream, as "
           "in a gate, unless a row, --regime or --warm says otherwise; a model that knows no "
           "regimes gives the time of a cold launch in each); predicted_us; band and band_95 "
           "(68 and 95 of 100 measured times lie within this distance, as log(measured / "
           "predicted), if the model knows it); bound; with --bias bias_rows (the number of "
           "measured times to which the bias of the row's kernel was fitted; 0: it has none); "
           "and with --parts fixed_us (launch and set-up), first_load_us, main_loop_us, "
           "epilogue_us, waves and ratio (predicted over measured). Without --gpu the profile "
           "is that of the device that `plumb calibrate` measured last (in the repository's "
           "store or --store), or else the H200's; a line on standard error says which.\v"
           "bound is what limits the time: compute, memory, latency (also first loads and "
           "launches), epilogue (from sums to C), or infeasible with the reason. --explain "
           "prints the clock and how the time depends on it, the band in percent, and parts in "
           "us. Parts of hopper: launch, fill (until the first slab is there), mainloop, "
           "tile-overhead (ends of tiles that nothing hides), last-store, split-k (sums that "
           "meet in memory), transpose (operands turned first), offset (a bias's). Parts of "
           "the other models: overhead and first-dma, prologue, full-waves and last-wave, "
           "math, dram, shared-memory, math-waits, loop-overhead, k-padding, epilogue.\n"
           "Columns of a CSV: " ROWS_COLUMNS ". What bin/sweep prints is read as it is.",
};
