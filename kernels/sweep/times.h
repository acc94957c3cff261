// SPDX-License-Identifier: Apache-2.0
//
// Times as `sweep time` printed them: configurations of the space on problems, list by list. A
// configuration's name describes it completely (kernels/gemm/cuda/configurations/rows.cuh).
#ifndef PLUMB_TIMES_H
#define PLUMB_TIMES_H

#include "../gemm/cuda/configurations/cost.h"

#include <stddef.h>

enum { configs_max = 256 };

struct sweep_row {
    char name[64];
    char kind[16];              // bf16, fp16, tf32, e4m3, e4m3-promoted, e4m3-scaled, bf16-dual ...
    struct plumb_traits traits; // those that the cost model uses
    int swapped;                // the operands are swapped
    int dual;                   // two products; the tile is that of C
};

// 1 if `name` is a row of the space, else 0.
int sweep_row_parse(struct sweep_row *row, const char *name);

struct sweep_config {
    struct sweep_row row;
    struct plumb_cost cost;
    int candidate; // the model may choose it
    int tried;     // a trial may choose it
};

struct sweep_sample {
    struct plumb_problem problem;
    double us, ghz, cycles, weight;
    int config, list, rounds; // rounds: in how many it was sampled
};

struct data {
    struct sweep_config configs[configs_max];
    int config_count;
    struct sweep_sample *samples; // those of one problem follow each other; free() them
    size_t count, room;
    int fitted; // lists 0 .. fitted - 1 are used for fitting, others only for judging
};

// Adds the times of one kind (bf16, tf32, e4m3, e4m3-promoted, e4m3-scaled) in the file, as list
// number `list`. Returns 0, or -1 with a line on stderr.
int times_read(struct data *d, const char *kind, const char *path, int list);

// Call it when all lists have been read. It gives each sample its weight, the square of best /
// time, and its cycles and its time at the problem's clock. (At their own clocks, a finalist that
// draws more power, and runs slower because of that, would look as good as another.)
//
// Times are medians, converted to cycles by the problem's clock, which is the mean clock of its
// finalists. A configuration that was no finalist was sampled a few times among kernels of any
// power, at clocks from 1.25 to 1.6 GHz for one problem; it counts with the time that its cycles
// take at the problem's clock.
void times_weigh(struct data *d);

// The index after the last sample of the problem that begins at `first`.
size_t times_problem_end(const struct data *d, size_t first);

#endif
