// SPDX-License-Identifier: Apache-2.0
//
// Gates that `plumb study --csv` recorded, counted by kernel, problem and whether a library met
// itself. What cannot be read ends the test.
#ifndef PLUMB_TESTS_HELPER_GATES_H
#define PLUMB_TESTS_HELPER_GATES_H

#include "model/csv.h"

struct gate_cell {
    char kernel[64], problem[64];
    bool aa; // a library with itself
    unsigned gates, found, wrong, undecided;
    // Sums over gates; the effect in percent, with the sign turned for "faster".
    double us, effect, pairs, gpu_s;
};

struct gate_cells {
    struct gate_cell items[256];
    size_t count;
};

void csv_open(struct csv *out, const char *path); // csv_free() it
const char *csv_field(const struct csv *csv, size_t row, const char *column);
double csv_number(const struct csv *csv, size_t row, const char *column);

struct gate_cell *gate_cell_of(struct gate_cells *cells, const char *kernel, const char *problem,
                               bool aa);
// Adds a file's gates. compute_0050_a, _b and _c are one kernel.
void gates_read(struct gate_cells *cells, const char *path);
// Its mean effect is half a percent above 100 us, or 0.6 % below, or more.
bool gate_cell_must_be_found(const struct gate_cell *cell);

#endif
