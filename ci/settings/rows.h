// SPDX-License-Identifier: Apache-2.0
//
// Rows of a CSV file as model input. ROWS_COLUMNS are the columns that `plumb predict` and `plumb
// accuracy` read; a column with the whole problem takes precedence over columns with its parts. The
// output of bin/sweep can be read, too: in_type (enum dtype as a number), kernel (its name gives
// its traits, space_name.h), us, ghz. An empty field counts as missing. Other columns are ignored.
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
    struct predict_input input; // points into this struct; row_input() sets it
    bool without_launch;        // the time is that of the kernel alone, as a profiler measures it
    // The row says it, or an option that stands for it. A row that only says whether its operands
    // are warm has the regime cold, and that counts as stated, too.
    bool regime_stated, warm_stated, launch_stated;
    const char *kernel; // "" if there is no such column; borrowed from the CSV
};

// Options for a command's table (ci/command.h): how launches meet the device and what their time
// includes, for problems and rows that do not say it. `of` is a struct row in the command's
// arguments; the command's check passes it to rows_check_options(). `usual` holds where no option
// says it.
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

// Reads a whole file ("-": standard input) as CSV. Errors name the file and the line.
int rows_open(struct csv *out, const char *path, struct error *err);
// Refuses a column whose name is nearly that of a column that is read. Other names are ignored.
int rows_refuse_misspelt(const struct csv *csv, const char *path, struct error *err);
// The column of measured times: measured_us, a sweep's us, or seed 0's runtime_us; NULL: there is
// none.
const char *rows_time_column(const struct csv *csv);

enum { ROWS_COLUMNS_READ = 45 };

// A CSV whose columns were looked up once for all of its rows, which may change.
struct rows_table {
    const struct csv *csv;
    const char *path;          // for errors
    int at[ROWS_COLUMNS_READ]; // where each column is; -1: there is none
};
void rows_find_columns(struct rows_table *out, const struct csv *csv, const char *path);
// Reads row `index`. What the CSV does not give is taken from `defaults`.
int row_read(struct row *out, const struct rows_table *table, size_t index,
             const struct row *defaults, struct error *err);
// The model input of a row, with its pointers set.
const struct predict_input *row_input(struct row *row);
// The model's prediction for a row.
struct prediction row_predict(struct row *row, const struct model *model);
// Reads the measured time in microseconds from rows_time_column(); 0 when there is none.
int row_measured(double *out, const struct rows_table *table, size_t index, struct error *err);

// ==== sides of tiles and clusters ====

enum { SIDES_MOST = 64 };

struct sides {
    int32_t m, n, k; // 0: not given
};
struct sides_list {
    struct sides items[SIDES_MOST];
    size_t count;
    bool usual; // nobody gave the list: where a scale is for 16 or 32 elements, only tiles of 128
                // rows are used
};
// Parses a list such as "128x256x64,64x64": each item has at least two sides, k only if `depth`.
// -1: it is no such list.
int sides_parse(struct sides_list *out, const char *text, bool depth);
#endif
