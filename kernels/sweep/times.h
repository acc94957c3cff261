// SPDX-License-Identifier: Apache-2.0
//
// Times as `sweep time` printed them: configurations of the space at problems, list by list. A
// configuration's name says all of it (kernels/gemm/cuda/configurations/rows.cuh).
#ifndef PLUMB_TIMES_H
#define PLUMB_TIMES_H

#include "../gemm/cuda/configurations/cost.h"

#include <stddef.h>

enum { configs_max = 256 };

struct sweep_row {
    char name[64];
    char kind[16];              // bf16, fp16, tf32, e4m3, e4m3-promoted, e4m3-scaled, bf16-dual ...
    struct plumb_traits traits; // what the cost model reads of them
    int swapped;                // operands
    int dual;                   // two products; its tile is C's
};

// 1 if `name` is a row of the space, else 0.
int sweep_row_parse(struct sweep_row *row, const char *name);

struct sweep_config {
    struct sweep_row row;
    struct plumb_cost cost;
    int candidate; // may be chosen by the model
    int tried;     // or in a trial
};

struct sweep_sample {
    struct plumb_problem problem;
    double us, ghz, cycles, weight;
    int config, list, rounds; // rounds: that it was sampled in
};

struct data {
    struct sweep_config configs[configs_max];
    int config_count;
    struct sweep_sample *samples; // a problem's follow one another; free() them
    size_t count, room;
    int fitted; // lists 0 .. fitted - 1 are fitted to, others only judged by
};

// Adds the times of one kind (bf16, tf32, e4m3, e4m3-promoted, e4m3-scaled) in the file, as list
// number `list`. Returns 0, or -1 with a line on stderr.
int times_read(struct data *d, const char *kind, const char *path, int list);

// Once all lists are read: gives each sample its weight, the square of best / time, and its cycles
// and time at the clock of the problem. (At their own clocks, the finalist that draws more power
// and runs slower for it would look as good as another.)
//
// Times are medians, turned into cycles by the problem's clock, the mean of its finalists'. What
// was no finalist was sampled a few times among kernels of any power, at clocks from 1.25 to
// 1.6 GHz for one problem, and counts as long as its cycles take at the problem's clock.
void times_weigh(struct data *d);

// One past the last sample of the problem that begins at `first`.
size_t times_problem_end(const struct data *d, size_t first);

#endif
