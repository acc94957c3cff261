// SPDX-License-Identifier: Apache-2.0
//
// The models' accuracy run by run: its figures, and when they moved.
#include "ci/history/load.h"
#include "tests/helpers/helper_random.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS = 80, STEP = 50 };

static struct accuracy_source head(int run, int size, double time_ns, double predicted_ns)
{
    struct accuracy_source out = {
        .series = {.kernel = "kernel", .device_uuid = "GPU-1"},
        .point = {.run_id = run, .time_s = 3600 * run, .model = "sol 1"},
    };
    out.series.problem = (struct problem){
        .m = size, .n = 64, .k = 64, .in = DTYPE_FP32, .out = DTYPE_FP32, .batch = 1};
    out.point.time_ns = time_ns;
    out.point.predicted_ns = predicted_ns;
    snprintf(out.point.commit, sizeof(out.point.commit), "%040d", run);
    return out;
}

// Two problems of a kernel in every run, the model wrong by these before STEP and from then on.
static void make(struct accuracy_history *out, struct kept_accuracy rows[RUNS],
                 const double wrong[2], const double later[2])
{
    struct random random = {1};
    for (int i = 0; i < RUNS; i++) {
        struct accuracy_source heads[2];
        for (int k = 0; k < 2; k++) {
            const double ratio =
                1 + (i < STEP ? wrong[k] : later[k]) + 0.002 * random_normal(&random);
            heads[k] = head(i + 1, 64 << k, 1000 * ratio, 1000);
        }
        assert_int_equal(accuracy_rows(&rows[i], heads, 2), 1);
    }
    *out = (struct accuracy_history){0};
    accuracy_history_make(out, rows, RUNS);
    accuracy_history_judge(out);
    assert_int_equal(out->count, 1);
}

TEST(model_that_shifts_moves_its_bias)
{
    struct accuracy_history accuracy;
    struct kept_accuracy rows[RUNS];
    make(&accuracy, rows, (const double[]){0.05, 0.05}, (const double[]){0.15, 0.15});
    assert_int_equal(accuracy.series[0].bias.count, 1);
    assert_int_equal(accuracy.series[0].bias.changes[0].index, STEP);
    assert_true(fabs(accuracy.series[0].bias.changes[0].size.value - log(1.15 / 1.05)) < 0.01);
    accuracy_history_free(&accuracy);
}

// Three problems of one run, by hand: errors of 20, 5 and 30 %, and one pair in the wrong order.
// Another type is another row.
TEST(figures_of_a_night_are_over_its_problems)
{
    struct accuracy_source heads[] = {head(7, 64, 1000, 1200), head(7, 128, 2000, 1900),
                                      head(7, 64, 500, 500), head(7, 256, 1500, 1950)};
    struct kept_accuracy rows[4];
    heads[2].series.problem.in = DTYPE_BF16;
    assert_int_equal(accuracy_rows(rows, heads, 4), 2);
    const struct kept_accuracy *run = &rows[rows[0].dtype == DTYPE_BF16];
    assert_int_equal(run->dtype, DTYPE_FP32);
    assert_int_equal(run->count, 3);
    assert_true(fabs(run->mape - (0.2 + 0.05 + 450.0 / 1500) / 3) < 1e-6);
    assert_true(fabs(run->bias - (1000.0 / 1200 + 2000.0 / 1900 + 1500.0 / 1950 - 3) / 3) < 1e-6);
    assert_true(fabs(run->within - 1.0 / 3) < 1e-6);
    assert_true(fabs(run->tau - 1.0 / 3) < 1e-6);
}

// Too fast on one problem, too slow on the other, and then more of both.
TEST(model_that_gets_worse_both_ways_moves_its_mape)
{
    struct accuracy_history accuracy;
    struct kept_accuracy rows[RUNS];
    make(&accuracy, rows, (const double[]){0.05, -0.05}, (const double[]){0.20, -0.20});
    assert_int_equal(accuracy.series[0].bias.count, 0);
    assert_int_equal(accuracy.series[0].error.count, 1);
    assert_int_equal(accuracy.series[0].error.changes[0].index, STEP);
    assert_true(accuracy.series[0].error.changes[0].size.value > 1);
    accuracy_history_free(&accuracy);
}
