// SPDX-License-Identifier: Apache-2.0
//
// The rules that the benchmarks of change points hold beside each other.
#ifndef PLUMB_TESTS_HELPER_CP_METHODS_H
#define PLUMB_TESTS_HELPER_CP_METHODS_H

#include "model/base.h"
#include "model/history/changepoint.h"

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

#endif
