// SPDX-License-Identifier: Apache-2.0
//
// How time follows the clock: the exponent is recovered, also from recorded launches.
#include "model/gate/gate.h"
#include "tests/helpers/helper_random.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 2000 };

static bool near(double a, double b, double tolerance)
{
    return fabs(a - b) <= tolerance;
}

static struct sample sample_of(double time_ns, double clock_hz, uint16_t process)
{
    return (struct sample){.time_ns = time_ns, .clock_hz = clock_hz, .process = process};
}

// Launches with a known exponent; levels and mean clocks differ between processes.
static size_t simulate(struct sample *out, double exponent, double noise, double clock_sd,
                       double across)
{
    struct random random = {77};
    size_t count = 0;
    for (uint16_t process = 0; process < 8; process++) {
        double shift = random_normal(&random), level = across * shift;
        for (int i = 0; i < 60; i++) {
            double log_clock = log(1.6e9) + 0.05 * shift + clock_sd * random_normal(&random);
            double log_time = 12 + level + exponent * log_clock + noise * random_normal(&random);
            out[count++] = sample_of(exp(log_time), exp(log_clock), process);
        }
    }
    return count;
}

TEST(exponent_is_recovered_within_its_error)
{
    static struct sample samples[ROOM];
    const double truths[] = {-1, -0.7, -0.2, 0};
    for (size_t i = 0; i < ARRAY_COUNT(truths); i++) {
        struct arena arena = {0};
        size_t count = simulate(samples, truths[i], 0.005, 0.02, 0);
        struct clock_fit fit = clock_fit(samples, count, &arena);
        assert_true(fit.se > 0.005 && fit.se < 0.03);
        assert_true(near(fit.exponent, truths[i], 4 * fit.se));
        arena_free(&arena);
    }
}

// Between processes time and clock may move together for other reasons.
TEST(levels_of_processes_do_not_bend_the_slope)
{
    static struct sample samples[ROOM];
    struct arena arena = {0};
    size_t count = simulate(samples, -0.5, 0.002, 0.02, 0.2);
    assert_true(near(clock_fit(samples, count, &arena).exponent, -0.5, 0.02));
    arena_free(&arena);
}

// As a gate takes them: both builds by turns, and processes that come and go.
TEST(samples_are_of_their_process_and_build_in_any_order)
{
    static struct sample samples[ROOM], mixed[ROOM];
    struct arena arena = {0};
    const size_t count = simulate(samples, -0.5, 0.002, 0.02, 0.2);
    for (size_t i = 0; i < count; i++) {
        samples[i].role = samples[i].process % 2 ? ROLE_HEAD : ROLE_BASE;
        samples[i].process /= 2;
    }
    for (size_t i = 0; i < count; i++)
        mixed[i] = samples[i % 8 * 60 + i / 8];
    const struct clock_fit apart = clock_fit(samples, count, &arena);
    const struct clock_fit turns = clock_fit(mixed, count, &arena);
    assert_true(near(apart.exponent, -0.5, 0.02));
    assert_true(near(turns.exponent, apart.exponent, 1e-12));
    assert_true(near(turns.se, apart.se, 1e-12));
    assert_int_equal(turns.samples, apart.samples);
    arena_free(&arena);
}

TEST(stalls_and_unusable_samples_do_not_bend_the_slope)
{
    static struct sample samples[ROOM];
    struct arena arena = {0};
    size_t count = simulate(samples, -0.8, 0.002, 0.02, 0);
    for (size_t i = 0; i < count; i += 97)
        samples[i].time_ns *= 1.5;
    samples[1].excluded = 1;
    samples[1].time_ns = 1e9;
    samples[2].clock_hz = 0;
    samples[3].time_ns = NAN;
    samples[4].time_ns = -1;
    struct clock_fit fit = clock_fit(samples, count, &arena);
    assert_true(near(fit.exponent, -0.8, 0.02));
    assert_int_equal(fit.samples, count - 4 - 5);
    arena_free(&arena);
}

TEST(steady_clock_says_nothing)
{
    struct sample samples[20];
    struct arena arena = {0};
    for (uint16_t i = 0; i < 20; i++)
        samples[i] = sample_of(1e5 + i, 1.98e9, 0);
    struct clock_fit fit = clock_fit(samples, 20, &arena);
    assert_true(isinf(fit.se) && near(fit.exponent, 0, 0));
    fit = clock_shrink(fit, -0.9, clock_model_sd);
    assert_true(near(fit.exponent, -0.9, 1e-12) && near(fit.se, clock_model_sd, 1e-12));
    assert_true(isinf(clock_fit(samples, 0, &arena).se));
    assert_true(isinf(clock_fit(samples, 1, &arena).se));
    arena_free(&arena);
}

TEST(shrinking_weighs_by_precision)
{
    struct clock_fit sure = {-0.5, 0.01, 100}, vague = {-0.5, 1, 100}, equal = {-0.5, 0.15, 9};
    assert_true(near(clock_shrink(sure, -1, 0.15).exponent, -0.5, 0.01));
    assert_true(near(clock_shrink(vague, -1, 0.15).exponent, -1, 0.02));
    assert_true(near(clock_shrink(equal, -1, 0.15).exponent, -0.75, 1e-12));
}

TEST(correlated_residuals_widen_the_error)
{
    static struct sample white[ROOM], red[ROOM];
    struct arena arena = {0};
    struct random random = {5};
    double level = 0, clock = 0;
    for (size_t i = 0; i < 400; i++) {
        level = 0.9 * level + sqrt(0.19) * random_normal(&random);
        clock = 0.9 * clock + sqrt(0.19) * random_normal(&random);
        double log_clock = log(1.6e9) + 0.02 * clock;
        red[i] = sample_of(exp(12 - 0.5 * log_clock + 0.005 * level), exp(log_clock), 0);
        white[i] = red[i];
        white[i].time_ns = exp(12 - 0.5 * log_clock + 0.005 * random_normal(&random));
    }
    struct clock_fit a = clock_fit(white, 400, &arena), b = clock_fit(red, 400, &arena);
    assert_true(b.se > 2.5 * a.se);
    arena_free(&arena);
}

static struct clock_fit fit_recorded(const char *shape, struct arena *arena)
{
    static struct sample samples[ROOM];
    FILE *file = fopen(TEST_DATA "/h200-aa-clock.csv", "r");
    assert_non_null(file);
    char line[256], name[64];
    size_t count = 0;
    while (fgets(line, sizeof(line), file)) {
        double ns, ghz;
        unsigned process;
        if (sscanf(line, "%63[^,],%u,%lf,%lf", name, &process, &ns, &ghz) == 4 &&
            strcmp(name, shape) == 0)
            samples[count++] = sample_of(ns, 1e9 * ghz, (uint16_t)process);
    }
    fclose(file);
    assert_int_equal(count, 320);
    return clock_fit(samples, count, arena);
}

// The exponents found when these launches were first studied.
TEST(recorded_h200_launches_give_their_published_exponents)
{
    struct arena arena = {0};
    assert_true(near(fit_recorded("4096x8192x16384:tf32", &arena).exponent, -0.65, 0.03));
    assert_true(near(fit_recorded("4096x4096x4096:tf32", &arena).exponent, -0.91, 0.03));
    assert_true(near(fit_recorded("4096x4096x4096:bf16", &arena).exponent, -0.81, 0.03));
    struct clock_fit few_rows = fit_recorded("128x7168x2048:bf16", &arena);
    assert_true(near(few_rows.exponent, -0.21, 4 * few_rows.se) && few_rows.se > 0.1);
    arena_free(&arena);
}

TEST(explanation_splits_a_change)
{
    struct arena arena = {0};
    struct gate_pair pairs[40];
    for (int i = 0; i < 40; i++)
        pairs[i] = (struct gate_pair){.log_ratio = 0.01, .log_clock = i == 0 ? NAN : -0.008};
    struct clock_effect e = clock_explain(0.01, pairs, 40, -0.5, &arena);
    assert_true(e.known && near(e.log_clock, -0.008, 1e-12) && near(e.explained, 0.004, 1e-12));
    assert_true(near(e.rest, 0.006, 1e-12) && near(e.cycles, 0.002, 1e-12));
    assert_false(clock_explain(0.01, pairs, 1, -0.5, &arena).known);
    assert_false(clock_explain(NAN, pairs, 40, -0.5, &arena).known);
    arena_free(&arena);
}
