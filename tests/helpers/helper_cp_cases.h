// SPDX-License-Identifier: Apache-2.0
//
// Steps that anybody sees and that detectors have missed, as series made from a seed.
#ifndef PLUMB_HELPER_CP_CASES_H
#define PLUMB_HELPER_CP_CASES_H

#include "model/history/shape.h"
#include "tests/helpers/helper_random.h"

#include <stddef.h>

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
