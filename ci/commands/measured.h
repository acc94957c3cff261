// SPDX-License-Identifier: Apache-2.0
//
// Measured rows that models are compared with, from CSV files or a run of the store.
#ifndef PLUMB_MEASURED_H
#define PLUMB_MEASURED_H

#include "ci/settings/rows.h"
#include "model/result.h"

struct measured {
    struct row row;
    char problem[PROBLEM_TEXT + 16]; // with how exactly it sums: what is comparable
    char kernel[KERNEL_NAME_TEXT];
    double time_ns, peak_ns; // peak: its arithmetic at the peak rate
    bool second_half;        // of the shapes
    bool library;            // states no tile
};

// Free with measured_free().
struct measured_rows {
    struct measured *rows;
    size_t count, room;
    struct gpu *profiles; // of a run's devices, as measured there where they were
    struct arena arena;   // owns the profiles' texts
};

// Adds the rows of one file that have a measured time.
int measured_from_csv(struct measured_rows *out, const char *path, const struct row *defaults,
                      struct error *err);
// The correct measurements of a run, 0: the newest; on devices whose profile is known. What
// `plumb calibrate` measured of a device, and the store holds, comes before the shipped figures.
int measured_from_store(struct measured_rows *out, const char *path, int64_t run,
                        struct error *err);
// Puts every other shape, in the order of their first appearance, into the second half, so that
// kernels meet both.
void measured_split(struct measured_rows *rows);
void measured_free(struct measured_rows *rows);

#endif
