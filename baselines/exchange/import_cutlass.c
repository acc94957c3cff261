// SPDX-License-Identifier: Apache-2.0
//
// The CUTLASS profiler's CSV (--output=FILE, or what it prints after "CSV Results:").
//   kernel   Operation (Provider first, when it is not CUTLASS), split_k_slices above 1, and the
//            columns before Problem, which are the user's own (--tags=NAME:VALUE)
//   problem  columns m, n, k, batch_count, and A and B: type and layout; C gives the output's type
//   time     Runtime, milliseconds
//   state    Disposition: incorrect is wrong, failed crashed, not_run and not_supported unsupported
//   device   the file does not say it: --device
// Columns: performance_report.cpp of NVIDIA/cutlass at 7107b05; with several devices it adds
// Runtime_0 and so on, which are not read, and a row that failed ends in two empty fields.
#include "baselines/exchange/foreign.h"
#include "model/buffer.h"

#include <math.h>
#include <string.h>
#include <strings.h>

static int refuse(const struct import *in, const char *column, const char *what, struct error *err)
{
    return error_set(err, "%.200s:%zu: %s: %s", in->name, in->line, column, what);
}

// "f16:column": the type, and whether the operand is stored column by column.
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

static int read_problem(struct foreign *f, const struct import *in, const struct csv *csv,
                        size_t row, struct error *err)
{
    static const char *const sizes[] = {"m", "n", "k"};
    struct problem *p = &f->problem;
    enum dtype type_b;
    bool a_by_column, b_by_column, c_by_column;
    for (size_t i = 0; i < ARRAY_COUNT(sizes); i++) {
        if (foreign_argument(f, sizes[i], foreign_field(csv, row, sizes[i])))
            return refuse(in, sizes[i], "a whole number from 1; only GEMMs are read", err);
    }
    if (read_operand(&p->in, &a_by_column, foreign_field(csv, row, "A")) ||
        read_operand(&type_b, &b_by_column, foreign_field(csv, row, "B")))
        return refuse(in, "A, B",
                      "TYPE:row or TYPE:column, of a type that plumb has; leave others out with "
                      "--kernel",
                      err);
    if (p->in != type_b)
        return refuse(in, "B", "another type than A's; leave it out with --kernel", err);
    p->out = dtype_default_out(p->in);
    const char *c = foreign_field(csv, row, csv_column(csv, "D") < 0 ? "C" : "D");
    if (c[0] && read_operand(&p->out, &c_by_column, c))
        return refuse(in, "C, D", "TYPE:row or TYPE:column, of a type that plumb has", err);
    // A by rows and B by columns are K-major, which is TN.
    p->layout =
        a_by_column ? (b_by_column ? LAYOUT_TT : LAYOUT_NT) : (b_by_column ? LAYOUT_TN : LAYOUT_NN);
    const char *batch = foreign_field(csv, row, "batch_count");
    int64_t count = 1;
    if (batch[0] && (parse_int64(&count, batch) || count < 1 || count > 65535))
        return refuse(in, "batch_count", "1 to 65535", err);
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

// All arguments of the row, which tell it from the others.
static void put_identity(struct buffer *out, const struct csv *csv, size_t row)
{
    const int from = csv_column(csv, "Status"), to = csv_column(csv, "Bytes");
    buffer_puts(out, foreign_field(csv, row, "Operation"));
    for (int i = 0; i < csv_column(csv, "Problem"); i++)
        buffer_printf(out, " %s=%s", csv->header[i], csv->rows[row].fields[i]);
    for (int i = from + 1; from >= 0 && i < to; i++)
        buffer_printf(out, " %s=%s", csv->header[i], csv->rows[row].fields[i]);
}

static int read_row(struct import *in, const struct csv *csv, size_t row, struct error *err)
{
    struct buffer identity = {0};
    put_identity(&identity, csv, row);
    struct foreign f = {.name = arena_strdup(&in->run.arena, identity.bytes),
                        .state = read_state(csv, row),
                        .detail = foreign_field(csv, row, "Disposition"),
                        .regime = "cutlass profiler"};
    double time_ms = 0;
    buffer_free(&identity);
    in->line = csv->rows[row].line;
    read_name(&f, csv, row);
    // What --kernel does not want may be of any sort.
    if (!foreign_wanted(in, &f))
        return 0;
    if (read_problem(&f, in, csv, row, err))
        return -1;
    if (f.state == MEASURED_OK &&
        (parse_double(&time_ms, foreign_field(csv, row, "Runtime")) || !(time_ms > 0)))
        return refuse(in, "Runtime", "milliseconds above 0", err);
    const double time_ns = time_ms * 1e6;
    return foreign_add(in, &f, &time_ns, f.state == MEASURED_OK, err);
}

int import_cutlass(struct import *in, const char *text, size_t length, struct error *err)
{
    static const char *const needed[] = {"Operation", "Disposition", "m", "n",
                                         "k",         "A",           "B", "Runtime"};
    struct csv csv = {0};
    int status = foreign_table(&csv, in, "Problem,Provider,", text, length, err);
    for (size_t i = 0; status == 0 && i < ARRAY_COUNT(needed); i++) {
        if (csv_column(&csv, needed[i]) < 0)
            status = error_set(err,
                               "%.200s: not a GEMM's CSV of the CUTLASS profiler: no column "
                               "%s",
                               in->name, needed[i]);
    }
    if (status == 0)
        status = foreign_begin(in, "cutlass_profiler", NULL, text, length, err);
    if (status == 0)
        foreign_device(in, "cuda", "cutlass_profiler", "unknown");
    for (size_t row = 0; status == 0 && row < csv.count; row++)
        status = read_row(in, &csv, row, err);
    if (status == 0)
        status = foreign_end(in, err);
    csv_free(&csv);
    return status;
}
