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
#include "model/problem.h"

#define ROWS_COLUMNS                                                                               \
    "m, n, k, in_dtype, or problem (its text); optional: out_dtype, sf_dtype, sf_vec_size, "       \
    "layout (or a_major and b_major), batch, epilogue, "                                           \
    "cta_m, cta_n, cta_k, cluster_m, cluster_n, stages, threads, persistent, raster, "             \
    "raster_group, blocks_per_sm, smem_bytes, registers, split_k, overlap, promote_k, multiply, "  \
    "l2_hit_rate, clock_mhz, regime, warm, launch, timed_together (launches of a sample), "        \
    "early (whether a launch begins under the one before), kernel, "                               \
    "measured_us"

struct row {
    struct problem problem;
    struct traits traits;
    struct predict_input input; // points into this struct: set by row_input()
    bool without_launch;        // the time is of the kernel alone, as a profiler has it
    // Stated by the row, or by an option that stands for it. A row that says only whether its
    // operands are warm is cold, and its regime is stated, too.
    bool regime_stated, warm_stated, launch_stated;
    const char *kernel; // "" when there is no such column; borrowed from the CSV
};

// For a command's table (ci/command.h): how launches meet the device and what is in their time,
// where a problem or a row does not say it. `of` is a struct row of the command's arguments, which
// its check passes to rows_check_options(); `usual` is what holds where no option says it either.
#define ROWS_OPTIONS(of, usual)                                                                    \
    OPTION_PART("regime", "REGIME",                                                                \
                "How launches meet the device, where a row does not say it [" usual "]", of,       \
                row_take_regime,                                                                   \
                "is no regime: cold, stream, isolated, dirty, warm or "                            \
                "activations"),                                                                    \
        OPTION_PART("warm", "yes|no", "cold: whether the same launch came just before [no]", of,   \
                    row_take_warm, "must be yes or no"),                                           \
        OPTION_PART("launch", "yes|no", "Whether a launch is in the time [yes]", of,               \
                    row_take_launch, "must be yes or no"),                                         \
        OPTION_PART("clock", "MHZ", "SM clock [the profile's]", of, row_take_clock,                \
                    "must be 0 or a number from 1 to 100000")
int row_take_regime(void *row, const char *text);
int row_take_warm(void *row, const char *text);
int row_take_launch(void *row, const char *text);
int row_take_clock(void *row, const char *text);
int rows_check_options(const struct row *options, struct error *err);

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

// ==== problems given as words ====
//
// Problems given as words are made, with lists of tiles and clusters, into a CSV like any other, so
// that there is one way from there on.

enum { SIDES_MOST = 64 };

struct sides {
    int32_t m, n, k; // 0: not said
};
struct sides_list {
    struct sides items[SIDES_MOST];
    size_t count;
    bool usual; // nobody named them: where scales go with 16 or 32 elements, those of 128 rows only
};
// "128x256x64,64x64": at least two sides each, k only if `depth`. -1: not such a list.
int sides_parse(struct sides_list *out, const char *text, bool depth);
// The tiles and clusters that seed 0 sweeps over.
extern const struct sides_list sides_usual_tiles, sides_usual_clusters;

// Makes a row of every problem with every tile and every cluster; an empty list leaves its columns
// empty. `traits`: the kernel's other traits, by the options.
int problem_rows(struct csv *out, const char *const *problems, size_t count,
                 const struct sides_list *tiles, const struct sides_list *clusters,
                 const struct traits *traits, struct error *err);

// Makes rows of a list of problems (m, n, k, and in_dtype unless `type` stands for it) with every
// tile and every cluster: the columns of seed 0's results, and the list's other ones.
int problem_list_rows(struct csv *out, const struct csv *list, const char *type,
                      const struct sides_list *tiles, const struct sides_list *clusters,
                      struct error *err);

#endif
