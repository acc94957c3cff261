// SPDX-License-Identifier: Apache-2.0
//
// Rows of a CSV file as model input: the columns that `plumb predict` and `plumb accuracy` read,
// ROWS_COLUMNS; where there is a problem, that counts and not its parts. What bin/sweep prints is
// read too: in_type (enum dtype as a number), kernel (whose name says its traits, space_name.h),
// us, ghz. Empty fields are absent ones. Columns of other names are not read.
#ifndef PLUMB_ROWS_H
#define PLUMB_ROWS_H

#include "model/csv.h"
#include "model/predict.h"

#define ROWS_COLUMNS                                                                               \
    "m, n, k, in_dtype, or problem (its text); optional: out_dtype, sf_dtype, sf_vec_size, "       \
    "layout (or a_major and b_major), batch, epilogue, "                                           \
    "cta_m, cta_n, cta_k, cluster_m, cluster_n, stages, threads, persistent, raster, "             \
    "raster_group, blocks_per_sm, smem_bytes, registers, split_k, overlap, promote_k, multiply, "  \
    "l2_hit_rate, clock_mhz, regime, warm, launch, timed_together (launches of a sample), "        \
    "kernel, "                                                                                     \
    "measured_us"

// Of the option --regime.
#define REGIME_HELP  "How launches meet the device, where a row does not say [stream]"
#define REGIME_WORDS "is no regime: cold, stream, isolated, dirty, warm or activations"

struct row {
    struct problem problem;
    struct traits traits;
    struct predict_input input; // points into this struct: set by row_input()
    bool without_launch;        // the time is of the kernel alone, as a profiler has it
    bool regime_stated;         // by the row or by what stands for it
    const char *kernel;         // "" when there is no such column; borrowed from the CSV
};

// Reads a whole file ("-": standard input) as CSV. An error names file and line.
int rows_open(struct csv *out, const char *path, struct error *err);
// Refuses a column whose name is nearly one of those that are read; others pass.
int rows_refuse_misspelt(const struct csv *csv, const char *path, struct error *err);
// The column of measured times: measured_us, a sweep's us, seed 0's runtime_us; NULL: none.
const char *rows_time_column(const struct csv *csv);
// Row `index`, on top of `defaults` (whose traits and input stand where the CSV says nothing).
int row_read(struct row *out, const struct csv *csv, size_t index, const char *path,
             const struct row *defaults, struct error *err);
// The input of a row, its pointers set.
const struct predict_input *row_input(struct row *row);
// The model's prediction for a row.
struct prediction row_predict(struct row *row, const struct model *model);
// A positive number of an optional column; 0 when empty or absent; -1 refused.
int row_number(double *out, const struct csv *csv, size_t index, const char *column,
               const char *path, struct error *err);

// The measured time in microseconds, of rows_time_column(); 0 when there is none.
int row_measured(double *out, const struct csv *csv, size_t index, const char *path,
                 struct error *err);

#endif
