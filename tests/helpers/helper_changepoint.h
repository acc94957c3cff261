// SPDX-License-Identifier: Apache-2.0
//
// Histories that fool detectors of change points, steps that detectors have missed, and the rules
// of other tools beside ours.
#ifndef PLUMB_HELPER_CHANGEPOINT_H
#define PLUMB_HELPER_CHANGEPOINT_H

#include "model/base.h"
#include "model/history/changepoint.h"
#include "model/history/shape.h"
#include "tests/helpers/helper_random.h"

#include <stddef.h>

// Histories without a change, of every kind that fools detectors; unit scale about level 100.

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

// The rules that the benchmarks of change points hold beside each other.

struct cp_method {
    const char *name;
    // Where levels begin; returns how many.
    size_t (*find)(size_t *out, const double *values, size_t n, double knob);
    double usual;         // the tool's default
    double loose, strict; // where calibration starts and ends
};
enum { CP_METHODS = 4 }; // the first is ours
extern const struct cp_method cp_methods[CP_METHODS];
double cp_default_knob(const struct cp_method *method);

size_t cp_ours(size_t *out, const double *values, size_t n, double knob);
size_t cp_take_places(size_t *out, const struct changepoints *found);
bool cp_one_near(const size_t *found, size_t count, size_t at, size_t reach);

// The change-point rules of other tools, written from descriptions of what they do, to compare
// with. Each returns how many indices it wrote to `out` (room for n), in ascending order.

// Otava (Hunter): windows of 50 stepped by 25 or to the last point found, split where the energy
// statistic with exponent 1 is largest while Student's t says p < 10 p0, then the weakest are
// dropped until every p < p0. Its default is p0 = 0.001.
size_t cp_otava(size_t *out, const double *values, size_t n, double p0);

// asv: exact piecewise-constant L1 fits for a range of penalties; the one with the least
// log(mean |innovation| of the AR(1) residuals) + beta (segments) wins. beta = factor ln n / n; its
// default factor is 4.
size_t cp_asv(size_t *out, const double *values, size_t n, double factor);

// Perfherder: Student's t of up to 24 values before against 12 from each index on, both weighted
// linearly towards the index; local maxima above `threshold`. Its default is 7, and then changes
// under 2 % are ignored, which is left out here.
size_t cp_perfherder(size_t *out, const double *values, size_t n, double threshold);

// Steps that anybody sees and that detectors have missed, as series made from a seed.

enum { CP_CASE_MOST = 300, CP_CASE_STEPS = 3 };

struct cp_case {
    const char *name;
    size_t n, steps[CP_CASE_STEPS]; // where levels begin; 0: none
    size_t near;                    // a report so near to a step has found it
    void (*make)(double *values, size_t n, size_t first_step, struct random *random);
};
extern const struct cp_case cp_cases[];
extern const size_t cp_case_count;

// What is no step and is said as such (model/history/shape.h), about level 100.
struct cp_shape_case {
    const char *name;
    size_t n;
    void (*make)(double *values, size_t n, struct random *random);
    bool (*said)(const struct shape *shape);
};
extern const struct cp_shape_case cp_shape_cases[];
extern const size_t cp_shape_case_count;

// Three steps of 2 to 10 SD anywhere in noise of this kind (enum cp_kind); n values.
void cp_growing(double *values, size_t n, int kind, struct random *random);

#endif
