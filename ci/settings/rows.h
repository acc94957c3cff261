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
    "layout, batch, epilogue, "                                                                    \
    "cta_m, cta_n, cta_k, cluster_m, cluster_n, stages, threads, persistent, raster, "             \
    "raster_group, blocks_per_sm, smem_bytes, registers, split_k, overlap, promote_k, multiply, "  \
    "l2_hit_rate, clock_mhz, kernel, measured_us"

struct row {
    struct problem problem;
    struct traits traits;
    struct predict_input input; // points into this struct: set by row_input()
    const char *kernel;         // "" when there is no such column; borrowed from the CSV
};

// Reads a whole file ("-": standard input) as CSV. An error names file and line.
int rows_open(struct csv *out, const char *path, struct error *err);
// Row `index`, on top of `defaults` (whose traits and input stand where the CSV says nothing).
int row_read(struct row *out, const struct csv *csv, size_t index, const char *path,
             const struct row *defaults, struct error *err);
// The input of a row, its pointers set.
const struct predict_input *row_input(struct row *row);
// A positive number of an optional column; 0 when empty or absent; -1 refused.
int row_number(double *out, const struct csv *csv, size_t index, const char *column,
               const char *path, struct error *err);

// The measured time in microseconds, measured_us or a sweep's us; 0 when there is none.
int row_measured(double *out, const struct csv *csv, size_t index, const char *path,
                 struct error *err);

#endif
