// SPDX-License-Identifier: Apache-2.0
//
// Histories without a change, of every kind that fools detectors; unit scale about level 100.
#ifndef PLUMB_TESTS_HELPER_CP_SERIES_H
#define PLUMB_TESTS_HELPER_CP_SERIES_H

#include "tests/helpers/helper_random.h"

enum cp_kind {
    CP_NORMAL,
    CP_SPIKES,    // normal, 5 % of values 5 to 20 away to either side
    CP_AR5,       // AR(1) 0.5
    CP_AR8,       // AR(1) 0.8
    CP_BIMODAL,   // normal plus 0 or 8, four to one
    CP_TWO_MODES, // the same, one to one
    CP_WALK,      // random walk
    CP_LOUDER,    // normal, three times as loud in the second half
    CP_STEPPED,   // normal of scale 1.5, rounded to whole numbers
    CP_SKEWED,    // exponential
    CP_KINDS
};
extern const char *const cp_kind_names[CP_KINDS];

void cp_series(double *values, size_t n, enum cp_kind kind, struct random *random);
void cp_add_step(double *values, size_t n, size_t at, double size);

// Noise that was recorded, one series of measurements each (data/history-backgrounds.csv).
struct cp_background {
    char name[64];
    double values[256];
    size_t count;
};
// Returns how many there are, at most `room`; ends the program on failure.
size_t cp_load_backgrounds(struct cp_background *out, size_t room);

#endif
