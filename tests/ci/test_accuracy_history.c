// SPDX-License-Identifier: Apache-2.0
//
// The models' accuracy run by run: its figures, and when they moved.
#include "ci/history/accuracy_history.h"
#include "tests/helpers/helper_random.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS = 80, STEP = 50 };

// One problem of a kernel, its model wrong by `wrong` before STEP and by `later` from then on.
static void add(struct accuracy_history *accuracy, int size, double wrong, double later,
                uint64_t seed)
{
    static struct stored_point points[RUNS];
    struct random random = {seed};
    struct series_entry entry = {.kernel = "kernel", .device_uuid = "GPU-1"};
    entry.problem = (struct problem){
        .m = size, .n = 64, .k = 64, .in = DTYPE_FP32, .out = DTYPE_FP32, .batch = 1};
    for (int i = 0; i < RUNS; i++) {
        double ratio = 1 + (i < STEP ? wrong : later) + 0.002 * random_normal(&random);
        points[i] = (struct stored_point){.run_id = i + 1,
                                          .time_s = 3600 * i,
                                          .time_ns = 1000 * ratio,
                                          .predicted_ns = 1000,
                                          .model = "sol 1"};
        snprintf(points[i].commit, sizeof(points[i].commit), "%040d", i);
    }
    const struct stored_points stored = {.points = points, .count = RUNS};
    accuracy_history_add(accuracy, &entry, &stored);
}

TEST(model_that_shifts_moves_its_bias)
{
    struct accuracy_history accuracy = {0};
    add(&accuracy, 64, 0.05, 0.15, 1);
    add(&accuracy, 128, 0.05, 0.15, 2);
    accuracy_history_settle(&accuracy);
    assert_int_equal(accuracy.count, 1);
    assert_int_equal(accuracy.series[0].bias.count, 1);
    assert_int_equal(accuracy.series[0].bias.changes[0].index, STEP);
    assert_true(fabs(accuracy.series[0].bias.changes[0].size.value - log(1.15 / 1.05)) < 0.01);
    accuracy_history_free(&accuracy);
}

// Three problems of one run, by hand: errors of 20, 5 and 30 %, and one pair in the wrong order.
TEST(figures_of_a_night_are_over_its_problems)
{
    static const double times[3][2] = {{1000, 1200}, {2000, 1900}, {1500, 1950}};
    struct accuracy_history accuracy = {0};
    for (int i = 0; i < 3; i++) {
        struct series_entry entry = {.kernel = "kernel", .device_uuid = "GPU-1"};
        entry.problem = (struct problem){.m = 64 << i, .n = 64, .k = 64, .batch = 1};
        struct stored_point point = {
            .run_id = 7, .time_ns = times[i][0], .predicted_ns = times[i][1], .model = "sol 1"};
        const struct stored_points stored = {.points = &point, .count = 1};
        accuracy_history_add(&accuracy, &entry, &stored);
    }
    accuracy_history_settle(&accuracy);
    assert_int_equal(accuracy.count, 1);
    assert_int_equal(accuracy.series[0].count, 1);
    const struct run_accuracy *run = &accuracy.series[0].runs[0];
    assert_int_equal(run->count, 3);
    assert_true(fabs(run->mape - (0.2 + 0.05 + 450.0 / 1500) / 3) < 1e-6);
    assert_true(fabs(run->bias - (1000.0 / 1200 + 2000.0 / 1900 + 1500.0 / 1950 - 3) / 3) < 1e-6);
    assert_true(fabs(run->within - 1.0 / 3) < 1e-6);
    assert_true(fabs(run->tau - 1.0 / 3) < 1e-6);
    accuracy_history_free(&accuracy);
}

// Too fast on one problem, too slow on the other, and then more of both.
TEST(model_that_gets_worse_both_ways_moves_its_mape)
{
    struct accuracy_history accuracy = {0};
    add(&accuracy, 64, 0.05, 0.20, 1);
    add(&accuracy, 128, -0.05, -0.20, 2);
    accuracy_history_settle(&accuracy);
    assert_int_equal(accuracy.count, 1);
    assert_int_equal(accuracy.series[0].bias.count, 0);
    assert_int_equal(accuracy.series[0].error.count, 1);
    assert_int_equal(accuracy.series[0].error.changes[0].index, STEP);
    assert_true(accuracy.series[0].error.changes[0].size.value > 1);
    accuracy_history_free(&accuracy);
}
