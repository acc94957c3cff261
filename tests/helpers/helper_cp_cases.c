// SPDX-License-Identifier: Apache-2.0
//
// The series, each with its noise and its step.
#include "tests/helpers/helper_cp_cases.h"

#include "tests/helpers/helper_cp_series.h"

#include <math.h>

static void two_levels(double *v, size_t n, size_t at, double before_sd, double after_sd,
                       double size, struct random *random)
{
    const double sign = random_coin(random) ? 1 : -1;
    for (size_t i = 0; i < n; i++)
        v[i] = 100 + (i < at ? before_sd : after_sd) * random_normal(random);
    cp_add_step(v, n, at, sign * size);
}

static void twenty(double *v, size_t n, size_t at, struct random *random)
{
    two_levels(v, n, at, 1, 1, 20, random);
}

static void five(double *v, size_t n, size_t at, struct random *random)
{
    two_levels(v, n, at, 1, 1, 5, random);
}

static void louder(double *v, size_t n, size_t at, struct random *random)
{
    two_levels(v, n, at, 1, 8, 10, random);
}

static void rounded(double *v, size_t n, size_t at, struct random *random)
{
    for (size_t i = 0; i < n; i++)
        v[i] = (i < at ? 32 : 42) + (random_uniform(random) < 0.2);
}

static void fourteenfold(double *v, size_t n, size_t at, struct random *random)
{
    for (size_t i = 0; i < n; i++)
        v[i] = 100 * (i < at ? 1 : 14) * (1 + 0.005 * random_normal(random));
}

static void noiseless(double *v, size_t n, size_t at, struct random *random)
{
    for (size_t i = 0; i < n; i++)
        v[i] = i < at ? 100 : i < at + 10 ? 120 : i < at + 60 ? 100 : 110;
}

// A machine three times slower, every fourth time a neighbour's (log times).
static void strays(double *v, size_t n, size_t at, struct random *random)
{
    for (size_t i = 0; i < n; i++) {
        const bool stray = random_uniform(random) < 0.25;
        v[i] = (i < at ? 0 : 1.1) + 0.03 * random_normal(random) +
               (stray ? 0.5 + 0.7 * random_uniform(random) : 0);
    }
}

const struct cp_case cp_cases[] = {
    {"5|5, 20 SD", 10, {5}, 0, twenty},
    {"50|3, 20 SD", 53, {50}, 0, twenty},
    {"40|5, 20 SD", 45, {40}, 0, twenty},
    {"15|285, 5 SD", 300, {15}, 2, five},
    {"60|60, whole numbers, step 10", 120, {60}, 0, rounded},
    {"60|60, SD 1 to 8, step 10", 120, {60}, 10, louder},
    {"100|100, fourteenfold", 200, {100}, 2, fourteenfold},
    {"no noise, 50|10|50|50", 160, {50, 60, 110}, 0, noiseless},
    {"16|14, a fourth strays", 30, {16}, 2, strays},
    {"40|40, a fourth strays", 80, {40}, 2, strays},
};
const size_t cp_case_count = ARRAY_COUNT(cp_cases);

static void creeping(double *v, size_t n, struct random *random)
{
    for (size_t i = 0; i < n; i++)
        v[i] = 100 + 3 * (double)i / ((double)n - 1) + 0.5 * random_normal(random);
}

static void spreading(double *v, size_t n, struct random *random)
{
    two_levels(v, n, n / 2, 1, 2, 0, random);
}

static void changing_modes(double *v, size_t n, struct random *random)
{
    for (size_t i = 0; i < n; i++)
        v[i] = 100 + random_normal(random) +
               (random_uniform(random) < (i < n / 2 ? 0.1 : 0.5) ? 8 : 0);
}

static void plain(double *v, size_t n, struct random *random)
{
    two_levels(v, n, n / 2, 1, 1, 0, random);
}

static bool creeps(const struct shape *s)
{
    return s->creeps;
}

static bool is_louder(const struct shape *s)
{
    return s->louder;
}

static bool shifts(const struct shape *s)
{
    return s->shifts;
}

static bool anything(const struct shape *s)
{
    return s->creeps || s->louder || s->shifts;
}

const struct cp_shape_case cp_shape_cases[] = {
    {"creep of 3 %, 60 values", 60, creeping, creeps},
    {"100|100, variance times four", 200, spreading, is_louder},
    {"100|100, a mode, 10 to 50 %", 200, changing_modes, shifts},
    {"none of these, 60 values", 60, plain, anything},
    {"none of these, 200 values", 200, plain, anything},
};
const size_t cp_shape_case_count = ARRAY_COUNT(cp_shape_cases);

void cp_growing(double *values, size_t n, int kind, struct random *random)
{
    cp_series(values, n, (enum cp_kind)kind, random);
    for (int s = 0; s < CP_CASE_STEPS; s++) {
        const double size = (random_coin(random) ? 1 : -1) * (2 + 8 * random_uniform(random));
        const size_t room = n > 20 ? n - 20 : 1;
        cp_add_step(values, n, 10 + (size_t)((double)room * random_uniform(random)), size);
    }
}
