// SPDX-License-Identifier: Apache-2.0
//
// Reads the CUTLASS profiler's CSV (--output=FILE, or the text that it prints after "CSV
// Results:").
//   kernel   Operation (Provider first, unless it is CUTLASS), split_k_slices above 1, and the
//            columns before Problem, which are the user's own (--tags=NAME:VALUE)
//   problem  columns m, n, k, batch_count, and A and B: type and layout; C gives the output's type
//   time     Runtime, milliseconds
//   rows     an operation that is no dense GEMM is left out; alpha and beta are the problem's.
//            Other arguments (raster_order, swizzle_size, cluster) go into the kernel's name if
//            they tell rows of one problem apart.
//   state    Disposition: incorrect is wrong, failed crashed, not_run and not_supported unsupported
//   device   the file does not say it: --device
// Columns: performance_report.cpp of NVIDIA/cutlass at 7107b05. With several devices it adds
// Runtime_0 and so on, which are not read. A row that failed ends in two empty fields.
#include "baselines/exchange/foreign.h"

#include <math.h>
#include <string.h>
#include <strings.h>

// Refuses a row. The message names a column, and what its value should be and is not.
static int refuse(struct import *in, struct foreign *f, const char *column, const char *what,
                  struct error *err)
{
    char why[200];
    snprintf(why, sizeof(why), "%s: %s", column, what);
    return foreign_leave(in, f, 1, why, err) ? -1 : 1;
}

// Reads "f16:column": the type, and whether the operand is column-major.
static int read_operand(enum dtype *type, bool *by_column, const char *text)
{
    char name[16];
    const char *colon = strchr(text, ':');
    if (!colon || (size_t)(colon - text) >= sizeof(name))
        return -1;
    snprintf(name, sizeof(name), "%.*s", (int)(colon - text), text);
    *by_column = strcmp(colon + 1, "column") == 0;
    return foreign_type(type, name) || (!*by_column && strcmp(colon + 1, "row") != 0) ? -1 : 0;
}

// Reads a factor; an empty text gives `missing`.
static int read_factor(float *out, const char *text, float missing)
{
    double value = missing;
    if (text[0] && (parse_double(&value, text) || !isfinite(value)))
        return -1;
    *out = (float)value;
    return 0;
}

// Reads a row's problem. 1: the row is left out.
static int read_problem(struct foreign *f, struct import *in, const struct csv *csv, size_t row,
                        struct error *err)
{
    static const char *const sizes[] = {"m", "n", "k"};
    struct problem *p = &f->problem;
    enum dtype type_b;
    bool a_by_column, b_by_column, c_by_column;
    for (size_t i = 0; i < ARRAY_COUNT(sizes); i++) {
        if (foreign_argument(f, sizes[i], foreign_field(csv, row, sizes[i])))
            return refuse(in, f, sizes[i], "a whole number from 1; only GEMMs are read", err);
    }
    if (read_operand(&p->in, &a_by_column, foreign_field(csv, row, "A")) ||
        read_operand(&type_b, &b_by_column, foreign_field(csv, row, "B")))
        return refuse(in, f, "A, B", "TYPE:row or TYPE:column, of a type that plumb has", err);
    if (p->in != type_b)
        return refuse(in, f, "B", "another type than A's", err);
    p->out = dtype_default_out(p->in);
    const char *c = foreign_field(csv, row, csv_column(csv, "D") < 0 ? "C" : "D");
    if (c[0] && read_operand(&p->out, &c_by_column, c))
        return refuse(in, f, "C, D", "TYPE:row or TYPE:column, of a type that plumb has", err);
    // A row-major A with a column-major B is K-major on both sides, which is TN.
    p->layout =
        a_by_column ? (b_by_column ? LAYOUT_TT : LAYOUT_NT) : (b_by_column ? LAYOUT_TN : LAYOUT_NN);
    if (read_factor(&p->alpha, foreign_field(csv, row, "alpha"), 1) || p->alpha == 0 ||
        read_factor(&p->beta, foreign_field(csv, row, "beta"), 0))
        return refuse(in, f, "alpha, beta", "a number, and alpha none that is 0", err);
    p->alpha = p->alpha == 1 ? 0 : p->alpha;
    const char *batch = foreign_field(csv, row, "batch_count");
    int64_t count = 1;
    if (batch[0] && (parse_int64(&count, batch) || count < 1 || count > 65535))
        return refuse(in, f, "batch_count", "1 to 65535", err);
    p->batch = (int32_t)count;
    f->typed = true;
    return 0;
}

static void read_name(struct foreign *f, const struct csv *csv, size_t row)
{
    const char *provider = foreign_field(csv, row, "Provider");
    const char *slices = foreign_field(csv, row, "split_k_slices");
    if (provider[0] && strcasecmp(provider, "CUTLASS") != 0)
        foreign_part(f, NULL, provider);
    foreign_part(f, NULL, foreign_field(csv, row, "Operation"));
    if (slices[0] && strcmp(slices, "1") != 0)
        foreign_part(f, "split-k", slices);
    for (int i = 0; i < csv_column(csv, "Problem"); i++)
        foreign_part(f, csv->header[i], csv->rows[row].fields[i]);
}

static enum measurement_state read_state(const struct csv *csv, size_t row)
{
    static const struct {
        const char *disposition;
        enum measurement_state state;
    } states[] = {{"incorrect", MEASURED_WRONG},
                  {"failed", MEASURED_CRASHED},
                  {"not_run", MEASURED_UNSUPPORTED},
                  {"not_supported", MEASURED_UNSUPPORTED},
                  {"invalid_problem", MEASURED_UNSUPPORTED}};
    const char *text = foreign_field(csv, row, "Disposition");
    for (size_t i = 0; i < ARRAY_COUNT(states); i++) {
        if (strcasecmp(text, states[i].disposition) == 0)
            return states[i].state;
    }
    return MEASURED_OK;
}

static bool is_placed(const char *column)
{
    static const char *const placed[] = {
        "m", "n", "k", "A", "B", "C", "D", "alpha", "beta", "split_k_slices", "batch_count"};
    for (size_t i = 0; i < ARRAY_COUNT(placed); i++) {
        if (strcmp(column, placed[i]) == 0)
            return true;
    }
    return false;
}

// Makes labels of the arguments that belong neither to the problem nor to the name.
static void put_labels(struct foreign *f, const struct csv *csv, size_t row)
{
    const int from = csv_column(csv, "Status"), to = csv_column(csv, "Bytes");
    for (int i = from + 1; from >= 0 && i < to; i++) {
        if (!is_placed(csv->header[i]))
            foreign_label(f, csv->header[i], csv->rows[row].fields[i]);
    }
}

static int read_row(struct import *in, const struct csv *csv, size_t row, struct error *err)
{
    const char *kind = foreign_field(csv, row, "OperationKind");
    struct foreign_label labels[FOREIGN_LABELS];
    struct foreign f = {.name = foreign_field(csv, row, "Operation"),
                        .label = labels,
                        .state = read_state(csv, row),
                        .detail = foreign_field(csv, row, "Disposition"),
                        .regime = "cutlass profiler"};
    double time_ms = 0;
    in->line = csv->rows[row].line;
    read_name(&f, csv, row);
    put_labels(&f, csv, row);
    if (kind[0] && strcmp(kind, "gemm") != 0)
        return refuse(in, &f, "OperationKind", "only dense GEMMs are read", err) < 0 ? -1 : 0;
    const int unread = read_problem(&f, in, csv, row, err);
    if (unread)
        return unread < 0 ? -1 : 0;
    if (f.state == MEASURED_OK &&
        (parse_double(&time_ms, foreign_field(csv, row, "Runtime")) || !(time_ms > 0)))
        return refuse(in, &f, "Runtime", "milliseconds above 0", err) < 0 ? -1 : 0;
    const double time_ns = time_ms * 1e6;
    return foreign_add(in, &f, &time_ns, f.state == MEASURED_OK, err);
}

static bool is_cutlass(const struct import_file *file)
{
    return foreign_has_heads(file, "Problem,Provider,");
}

static int import_cutlass(struct import *in, const struct import_file *file, struct error *err)
{
    static const char *const needed[] = {"Operation", "Disposition", "m", "n",
                                         "k",         "A",           "B", "Runtime"};
    struct csv csv = {0};
    int status = foreign_table(&csv, in, "Problem,Provider,", file, err);
    for (size_t i = 0; status == 0 && i < ARRAY_COUNT(needed); i++) {
        if (csv_column(&csv, needed[i]) < 0)
            status = error_set(err,
                               "%.200s: not a GEMM's CSV of the CUTLASS profiler: no column "
                               "%s",
                               in->name, needed[i]);
    }
    if (status == 0)
        status = foreign_begin(in, "cutlass_profiler", NULL, file, err);
    if (status == 0)
        foreign_device(in, "cuda", "cutlass_profiler", "unknown");
    for (size_t row = 0; status == 0 && row < csv.count; row++)
        status = read_row(in, &csv, row, err);
    if (status == 0)
        status = foreign_end(in, err);
    csv_free(&csv);
    return status;
}

const struct importer importer_cutlass = {"cutlass", is_cutlass, import_cutlass, NULL};
