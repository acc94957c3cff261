// SPDX-License-Identifier: Apache-2.0
//
// Reads rows of a CSV file as inputs for models. What it cannot read it refuses, with line and
// column.
#include "ci/settings/rows.h"

#include "ci/settings/text_file.h"
#include "model/buffer.h"
#include "model/csv.h"
#include "model/predict/parts/space_name.h"
#include "model/problem.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ==== rows ====

int rows_open(struct csv *out, const char *path, struct error *err)
{
    char *text;
    size_t length;
    if (text_file_read(&text, &length, path, err))
        return -1;
    int result = csv_parse(out, text, length, strcmp(path, "-") == 0 ? "stdin" : path, err);
    free(text);
    return result;
}

// Bounds that real values do not reach: 1 MHz to 100 GHz, a picosecond to 30 years.
static const double clock_least_hz = 1e6, clock_most_hz = 1e11;
static const double time_least_us = 1e-6, time_most_us = 1e15;

// Whether a clock is possible; 0 means that it is not given.
static bool is_clock(double hz)
{
    return hz == 0 || (hz >= clock_least_hz && hz <= clock_most_hz);
}

// ---- columns ----

// The columns that rows are read from. The first five are too short for a misspelt name to be told.
// clang-format off
#define COLUMNS(X)                                                                                 \
    X(m)                                                                                           \
    X(n)                                                                                           \
    X(k)                                                                                           \
    X(us)                                                                                          \
    X(ghz)                                                                                         \
    X(problem) X(in_dtype) X(in_type) X(out_dtype) X(sf_dtype) X(sf_vec_size) X(layout) X(batch)   \
    X(epilogue) X(cta_m) X(cta_n) X(cta_k) X(cluster_m) X(cluster_n) X(stages) X(threads)          \
    X(persistent) X(raster) X(registers) X(smem_bytes) X(raster_group) X(blocks_per_sm)            \
    X(split_k) X(overlap) X(promote_k) X(multiply) X(l2_hit_rate) X(clock_mhz) X(regime) X(warm)   \
    X(launch) X(kernel) X(measured_us) X(runtime_us) X(a_major) X(b_major) X(c_major)              \
    X(acc_dtype) X(timed_together) X(early)
// clang-format on

enum { COLUMNS_SHORT = 5 };

enum row_column {
#define X(name) COLUMN_##name,
    COLUMNS(X)
#undef X
};

static const char *const column_names[] = {
#define X(name) #name,
    COLUMNS(X)
#undef X
};

_Static_assert(ARRAY_COUNT(column_names) == ROWS_COLUMNS_READ, "a place for each column");

void rows_find_columns(struct rows_table *out, const struct csv *csv, const char *path)
{
    *out = (struct rows_table){.csv = csv, .path = path};
    for (size_t i = 0; i < ARRAY_COUNT(column_names); i++)
        out->at[i] = csv_column(csv, column_names[i]);
}

// ---- misspelt column names ----

enum { COLUMN_NAME = 24 };

// The number of letters to insert, delete or change until the words are equal; case and '-' are
// ignored.
static int letters_apart(const char *a, const char *b)
{
    int row[COLUMN_NAME + 1], length = (int)strlen(b);
    for (int j = 0; j <= length; j++)
        row[j] = j;
    for (int i = 0; a[i]; i++) {
        int before = row[0];
        row[0] = i + 1;
        for (int j = 1; j <= length; j++) {
            char x = a[i] == '-' ? '_' : (char)tolower((unsigned char)a[i]);
            int change = before + (x != b[j - 1]);
            before = row[j];
            int gap = 1 + (row[j] < row[j - 1] ? row[j] : row[j - 1]);
            row[j] = change < gap ? change : gap;
        }
    }
    return row[length];
}

int rows_refuse_misspelt(const struct csv *csv, const char *path, struct error *err)
{
    for (size_t i = 0; i < csv->columns; i++) {
        const char *name = csv->header[i], *meant = NULL;
        const size_t length = strlen(name);
        int least = (length < 6 ? 1 : 2) + 1; // letters apart, of the nearest
        for (size_t j = COLUMNS_SHORT; j < ROWS_COLUMNS_READ && length < COLUMN_NAME; j++) {
            const int apart = letters_apart(name, column_names[j]);
            if (strcmp(name, column_names[j]) == 0) {
                meant = NULL;
                break;
            }
            if (apart < least && csv_column(csv, column_names[j]) < 0)
                meant = column_names[j], least = apart;
        }
        if (meant)
            return error_set(err,
                             "%s: column '%.40s' would not be read; name it '%s' if that is what "
                             "it holds, or else by a word that is less like it",
                             path, name, meant);
    }
    return 0;
}

// Where a field stands, for reading it and for messages.
struct row_field {
    const struct rows_table *table;
    size_t index;
    struct error *err;
};

static bool has_column(const struct row_field *f, enum row_column column)
{
    return f->table->at[column] >= 0;
}

// A field's text; "" when the column is absent.
static const char *field_text(const struct row_field *f, enum row_column column)
{
    const int at = f->table->at[column];
    return at < 0 ? "" : f->table->csv->rows[f->index].fields[at];
}

static int refuse(const struct row_field *f, enum row_column column, const char *expected)
{
    return error_set(f->err, "%s:%zu: %s is '%.40s'; it must be %s", f->table->path,
                     f->table->csv->rows[f->index].line, column_names[column],
                     field_text(f, column), expected);
}

static int read_dimension(int64_t *out, const struct row_field *f, enum row_column column)
{
    int64_t value;
    if (parse_int64(&value, field_text(f, column)) || value < 1 || value > INT32_MAX)
        return refuse(f, column, "a whole number from 1 to 2147483647");
    *out = value;
    return 0;
}

static int read_trait(int32_t *out, const struct row_field *f, enum row_column column,
                      int32_t least)
{
    const char *text = field_text(f, column);
    int64_t value;
    if (text[0] == '\0')
        return 0;
    if (parse_int64(&value, text) || value < least || value > INT32_MAX)
        return refuse(f, column, least > 0 ? "a positive whole number" : "a whole number");
    *out = (int32_t)value;
    return 0;
}

static int read_type(enum dtype *out, const struct row_field *f, enum row_column column)
{
    if (dtype_parse(out, field_text(f, column)))
        return refuse(f, column, "an element type (fp32, tf32, bf16, fp16, fp8, e2m1, ...)");
    return 0;
}

static int read_number(double *out, const struct row_field *f, enum row_column column)
{
    const char *text = field_text(f, column);
    double value = 0;
    if (text[0] != '\0' && (parse_double(&value, text) || value < 0))
        return refuse(f, column, "a number, not negative");
    *out = value;
    return 0;
}

static const enum row_column time_columns[] = {COLUMN_measured_us, COLUMN_us, COLUMN_runtime_us};

const char *rows_time_column(const struct csv *csv)
{
    for (size_t i = 0; i < ARRAY_COUNT(time_columns); i++) {
        if (csv_column(csv, column_names[time_columns[i]]) >= 0)
            return column_names[time_columns[i]];
    }
    return NULL;
}

int row_measured(double *out, const struct rows_table *table, size_t index, struct error *err)
{
    const struct row_field f = {table, index, err};
    for (size_t i = 0; i < ARRAY_COUNT(time_columns); i++) {
        const enum row_column column = time_columns[i];
        if (!has_column(&f, column))
            continue;
        if (read_number(out, &f, column))
            return -1;
        return *out != 0 && (*out < time_least_us || *out > time_most_us)
                   ? refuse(&f, column, "0 (not measured) or a time from a picosecond to 30 years")
                   : 0;
    }
    *out = 0;
    return 0;
}

// Reads the input type; a sweep gives it as a number.
static int read_in_type(struct problem *p, const struct row_field *f)
{
    int64_t number;
    if (has_column(f, COLUMN_in_dtype))
        return read_type(&p->in, f, COLUMN_in_dtype);
    if (parse_int64(&number, field_text(f, COLUMN_in_type)) || number < 0 || number >= DTYPE_COUNT)
        return refuse(f, COLUMN_in_type, "the number of an element type, as bin/sweep prints it");
    p->in = (enum dtype)number;
    return 0;
}

static int read_epilogue(struct problem *p, const struct row_field *f)
{
    const char *text = field_text(f, COLUMN_epilogue);
    if (text[0])
        return epilogue_parse(&p->epilogue, text)
                   ? refuse(f, COLUMN_epilogue, "none, dual-silu, bias, relu, bias-relu, ...")
                   : 0;
    if (has_column(f, COLUMN_in_type) && space_says(field_text(f, COLUMN_kernel), "dual"))
        p->epilogue = EPILOGUE_DUAL_SILU;
    return 0;
}

// The only block scales of a sweep: fp32/1x128/128x128/columns.
static const struct block_scales swept_scales = {
    .vector = 128, .rows_a = 1, .rows_b = 128, .type = DTYPE_FP32, .layout = SCALES_COLUMNS};

// The traits that the control with block scales states
// (kernels/gemm/cuda/controls/cublaslt_scaled.cu).
static const struct traits swept_control = {
    .tile_m = 128, .tile_n = 128, .tile_k = 128, .promote_k = 128};

// cuBLASLt without fast accumulation: it adds FP8 sums up in FP32 after each 128 of K.
static const struct traits swept_exact = {.promote_k = 128};

// The traits that a selector states (kernels/gemm/cuda/configurations/select.cu).
static const struct traits swept_selector = {.blocks_per_sm = 1};

static void read_name(struct traits *out, const char *kernel)
{
    if (strcmp(kernel, "cublaslt_scaled") == 0)
        *out = swept_control;
    else if (strncmp(kernel, "cublaslt-exact", strlen("cublaslt-exact")) == 0)
        *out = swept_exact;
    else if (strncmp(kernel, "select-", 7) == 0)
        *out = swept_selector;
    else
        space_traits(out, kernel);
}

static int read_scales(struct block_scales *s, const struct row_field *f)
{
    if (has_column(f, COLUMN_in_type) && space_says(field_text(f, COLUMN_kernel), "scaled")) {
        *s = swept_scales;
        return 0;
    }
    if (read_trait(&s->vector, f, COLUMN_sf_vec_size, 0))
        return -1;
    s->rows_a = s->rows_b = s->vector > 0;
    return s->vector > 0 && read_type(&s->type, f, COLUMN_sf_dtype) ? -1 : 0;
}

// Reads seed 0's columns for the layout of operands and the type of sums. plumb has other columns
// for these (layout; sums are FP32), so a CSV may use either.
static int read_majors(struct problem *p, const struct row_field *f)
{
    const char *a = field_text(f, COLUMN_a_major), *b = field_text(f, COLUMN_b_major);
    const char *c = field_text(f, COLUMN_c_major), *sums = field_text(f, COLUMN_acc_dtype);
    if (a[0] && strcmp(a, "k") && strcmp(a, "m"))
        return refuse(f, COLUMN_a_major, "k or m");
    if (b[0] && strcmp(b, "k") && strcmp(b, "n"))
        return refuse(f, COLUMN_b_major, "k or n");
    if (c[0] && strcmp(c, "n"))
        return refuse(f, COLUMN_c_major, "n, as every product here lies");
    if (sums[0] && strcmp(sums, "fp32"))
        return refuse(f, COLUMN_acc_dtype, "fp32, as every sum here is");
    const bool along_m = a[0] == 'm', along_n = b[0] == 'n';
    if (a[0] || b[0])
        p->layout = along_m ? (along_n ? LAYOUT_NT : LAYOUT_TT) : (along_n ? LAYOUT_NN : LAYOUT_TN);
    return 0;
}

// Reads a problem from several columns.
static int read_parts(struct problem *p, const struct row_field *f)
{
    const bool swept = has_column(f, COLUMN_in_type);
    const enum row_column required[] = {COLUMN_m, COLUMN_n, COLUMN_k,
                                        swept ? COLUMN_in_type : COLUMN_in_dtype};
    for (size_t i = 0; i < ARRAY_COUNT(required); i++) {
        if (!has_column(f, required[i]))
            return error_set(f->err,
                             "%s: no column '%s'; m, n, k and in_dtype are needed, or problem",
                             f->table->path, column_names[required[i]]);
    }
    if (read_dimension(&p->m, f, COLUMN_m) || read_dimension(&p->n, f, COLUMN_n) ||
        read_dimension(&p->k, f, COLUMN_k) || read_in_type(p, f) || read_epilogue(p, f) ||
        read_scales(&p->scales, f))
        return -1;
    p->out = dtype_default_out(p->in);
    if (field_text(f, COLUMN_out_dtype)[0] && read_type(&p->out, f, COLUMN_out_dtype))
        return -1;
    p->batch = 1;
    if (read_trait(&p->batch, f, COLUMN_batch, 1))
        return -1;
    if (p->batch > 65535)
        return refuse(f, COLUMN_batch, "at most 65535");
    if (read_majors(p, f))
        return -1;
    const char *layout = field_text(f, COLUMN_layout);
    for (int i = 0; i < LAYOUT_COUNT && layout[0]; i++) {
        if (strcasecmp(layout_name((enum layout)i), layout) == 0) {
            p->layout = (enum layout)i;
            return 0;
        }
    }
    return layout[0] ? refuse(f, COLUMN_layout, "tn, nn, nt or tt") : 0;
}

static int read_problem(struct problem *p, const struct row_field *f)
{
    struct error why;
    if (!has_column(f, COLUMN_problem))
        return read_parts(p, f);
    if (problem_parse(p, field_text(f, COLUMN_problem), &why))
        return error_set(f->err, "%s:%zu: problem: %.300s", f->table->path,
                         f->table->csv->rows[f->index].line, why.text);
    return 0;
}

static int read_traits(struct traits *t, const struct row_field *f)
{
    const struct {
        enum row_column column;
        int32_t *out, least;
    } columns[] = {
        {COLUMN_cta_m, &t->tile_m, 1},
        {COLUMN_cta_n, &t->tile_n, 1},
        {COLUMN_cta_k, &t->tile_k, 1},
        {COLUMN_cluster_m, &t->cluster_m, 1},
        {COLUMN_cluster_n, &t->cluster_n, 1},
        {COLUMN_stages, &t->stages, 1},
        {COLUMN_threads, &t->threads, 1},
        {COLUMN_persistent, &t->persistent, 0},
        {COLUMN_raster, &t->raster, 0}, // enum raster
        {COLUMN_raster_group, &t->raster_group, 0},
        {COLUMN_blocks_per_sm, &t->blocks_per_sm, 0},
        {COLUMN_smem_bytes, &t->smem_bytes, 0},
        {COLUMN_registers, &t->registers, 0},
        {COLUMN_split_k, &t->split_k, SPLIT_SPREAD},
        {COLUMN_overlap, &t->overlap, 0}, // enum overlap
        {COLUMN_promote_k, &t->promote_k, 0},
        {COLUMN_multiply, &t->multiply, 0}, // enum multiply
    };
    for (size_t i = 0; i < ARRAY_COUNT(columns); i++) {
        if (read_trait(columns[i].out, f, columns[i].column, columns[i].least))
            return -1;
    }
    if (t->multiply > MULTIPLY_WGMMA)
        return refuse(f, COLUMN_multiply, "0 (unknown), 1 (FMA), 2 (mma.sync) or 3 (wgmma)");
    return t->raster > RASTER_HILBERT ? refuse(f, COLUMN_raster, "0 (m), 1 (n) or 2 (Hilbert)") : 0;
}

// Parses yes or no; *out stays as it is if the text is neither.
static int take_answer(bool *out, const char *text)
{
    const bool yes = strcasecmp(text, "yes") == 0 || strcmp(text, "1") == 0;
    const bool no = strcasecmp(text, "no") == 0 || strcmp(text, "0") == 0;
    if (yes || no)
        *out = yes;
    return yes || no ? 0 : -1;
}

// Reads yes or no from an optional column; *out stays as it is if the cell is empty.
static int read_answer(bool *out, const struct row_field *f, enum row_column column)
{
    const char *text = field_text(f, column);
    return text[0] && take_answer(out, text) ? refuse(f, column, "yes or no") : 0;
}

// Whether a regime contradicts what a row says about warm operands. Each regime has its own
// operands; only cold launches may have either.
static bool contradicts(enum regime regime, bool warm)
{
    return warm ? regime != REGIME_COLD && regime != REGIME_WARM
                : regime == REGIME_WARM || regime == REGIME_ACTIVATIONS;
}

// Reads how the row was timed. Its own regime, or that of its problem's text, takes precedence over
// that of `defaults`. A row without a regime that says whether its operands were warm is cold. So
// is a row of a sweep, which times cold launches between two events, unless --regime is given.
static int read_regime(struct row *row, const struct row_field *f, const struct row *defaults)
{
    const char *text = field_text(f, COLUMN_regime);
    const bool named = row->problem.regime_named || text[0], warm = field_text(f, COLUMN_warm)[0];
    const bool swept = has_column(f, COLUMN_in_type) || field_text(f, COLUMN_timed_together)[0];
    enum regime regime = row->problem.regime;
    bool launched = !row->without_launch;
    if (!named)
        regime =
            warm || (swept && !defaults->regime_stated) ? REGIME_COLD : defaults->problem.regime;
    if (text[0] && regime_parse(&regime, text))
        return refuse(f, COLUMN_regime, "cold, stream, isolated, dirty, warm or activations");
    if (text[0] && row->problem.regime_named && row->problem.regime != regime)
        return refuse(f, COLUMN_regime, "what the problem's text says");
    if (named)
        row->input.warm = false;
    // This project's kernels use programmatic launch, and a sweep has no others except cuBLASLt's.
    row->input.early = has_column(f, COLUMN_in_type) && row->kernel[0] &&
                       strncmp(row->kernel, "cublas", strlen("cublas")) != 0;
    if (read_answer(&row->input.warm, f, COLUMN_warm) || read_answer(&launched, f, COLUMN_launch) ||
        read_answer(&row->input.early, f, COLUMN_early))
        return -1;
    if (warm && contradicts(regime, row->input.warm))
        return refuse(f, COLUMN_warm, "empty where the regime says which operands are warm");
    row->without_launch = !launched;
    row->regime_stated |= swept || named || warm;
    row->launch_stated |= field_text(f, COLUMN_launch)[0] != '\0';
    row->problem.regime = regime;
    return 0;
}

// Reads the clock from either column, in MHz or in a sweep's form; *out stays as it is if both are
// empty.
static int read_clock(struct predict_input *out, const struct row_field *f)
{
    static const struct {
        enum row_column column;
        double hz;
        const char *must;
    } columns[] = {{COLUMN_ghz, 1e9, "0 (not known) or a number from 0.001 to 100"},
                   {COLUMN_clock_mhz, 1e6, "0 (not known) or a number from 1 to 100000"}};
    for (size_t i = 0; i < ARRAY_COUNT(columns); i++) {
        double value = 0;
        if (read_number(&value, f, columns[i].column))
            return -1;
        if (!is_clock(value * columns[i].hz))
            return refuse(f, columns[i].column, columns[i].must);
        if (value > 0)
            out->clock_hz = value * columns[i].hz;
    }
    return 0;
}

int row_read(struct row *out, const struct rows_table *table, size_t index,
             const struct row *defaults, struct error *err)
{
    const struct row_field f = {table, index, err};
    struct row row = *defaults;
    row.problem.regime = REGIME_COLD;
    row.problem.regime_named = false;
    double rate = 0;
    int32_t together = 0;
    row.kernel = field_text(&f, COLUMN_kernel);
    if (!has_column(&f, COLUMN_cta_m))
        read_name(&row.traits, row.kernel);
    if (read_problem(&row.problem, &f) || read_traits(&row.traits, &f) ||
        read_regime(&row, &f, defaults) || read_number(&rate, &f, COLUMN_l2_hit_rate) ||
        read_clock(&row.input, &f) || read_trait(&together, &f, COLUMN_timed_together, 0))
        return -1;
    if (together > 1000000)
        return refuse(&f, COLUMN_timed_together, "at most a million launches");
    row.input.launches_together = (uint32_t)together;
    if (rate > 1)
        return refuse(&f, COLUMN_l2_hit_rate, "a number from 0 to 1");
    if (field_text(&f, COLUMN_l2_hit_rate)[0])
        row.input.l2_hit_rate = rate;
    row.traits.in = row.problem.in;
    row.traits.out = row.problem.out;
    *out = row;
    return 0;
}

const struct predict_input *row_input(struct row *row)
{
    row->input.problem = &row->problem;
    row->input.traits = &row->traits;
    return &row->input;
}

// Subtracts the launch, which a timer inside the kernel would not see.
static void leave_launch_out(struct prediction *p)
{
    for (size_t i = 0; i < p->part_count; i++) {
        if (strcmp(p->parts[i].name, "launch") && strcmp(p->parts[i].name, "overhead"))
            continue;
        p->time_ns -= p->parts[i].time_ns;
        p->parts[i].time_ns = 0;
    }
}

struct prediction row_predict(struct row *row, const struct model *model)
{
    struct prediction out = model->predict(row_input(row));
    if (row->without_launch && out.feasible)
        leave_launch_out(&out);
    return out;
}

// ---- options ----

int row_take_regime(void *row, const char *text)
{
    struct row *out = row;
    out->regime_stated = true;
    return regime_parse(&out->problem.regime, text);
}

int row_take_warm(void *row, const char *text)
{
    struct row *out = row;
    out->warm_stated = true;
    return take_answer(&out->input.warm, text);
}

int row_take_launch(void *row, const char *text)
{
    struct row *out = row;
    bool launched = true;
    out->launch_stated = true;
    if (take_answer(&launched, text))
        return -1;
    out->without_launch = !launched;
    return 0;
}

int row_take_clock(void *row, const char *text)
{
    struct row *out = row;
    double mhz;
    if (parse_double(&mhz, text) || !is_clock(mhz * 1e6))
        return -1;
    out->input.clock_hz = mhz * 1e6;
    return 0;
}

int rows_check_options(const struct row *options, struct error *err)
{
    const enum regime regime = options->problem.regime;
    return options->regime_stated && options->warm_stated &&
                   contradicts(regime, options->input.warm)
               ? error_set(err,
                           "--warm is for the regime cold: the regime %s says itself which "
                           "operands are warm",
                           regime_name(regime))
               : 0;
}

// ==== sides of tiles and clusters ====

static int parse_one(struct sides *out, const char **at, bool depth)
{
    int32_t *const sides[] = {&out->m, &out->n, &out->k};
    int most = depth ? 3 : 2, count = 0;
    for (;;) {
        char *end = NULL;
        long value = strtol(*at, &end, 10);
        if (end == *at || **at == '-' || **at == '+' || **at == ' ' || value < 1 || value > 65536 ||
            count == most)
            return -1;
        *sides[count++] = (int32_t)value;
        *at = end;
        if (*end != 'x')
            return count >= 2 ? 0 : -1;
        (*at)++;
    }
}

int sides_parse(struct sides_list *out, const char *text, bool depth)
{
    const char *at = text;
    *out = (struct sides_list){0};
    for (;;) {
        if (out->count == SIDES_MOST || parse_one(&out->items[out->count++], &at, depth))
            return -1;
        if (*at == '\0')
            return 0;
        if (*at++ != ',')
            return -1;
    }
}
