// SPDX-License-Identifier: Apache-2.0
//
// What a device is told by: a new driver that shifts its times, and sickness.
#include "model/history/device.h"
#include "tests/helpers/helper_random.h"
#include "tests/helpers/test.h"

#include <math.h>

// ---- A new driver's shift: found, with an interval that holds the truth as often as it says,
// though runs differ among themselves by more than the shift's samples would tell.

enum { SERIES = 8, MOST = 400 };

// So many runs on either side, each with a day of its own that all series share.
static size_t draw(struct driver_point points[MOST], size_t before, size_t after, double shift,
                   double day_sd, struct random *random)
{
    size_t count = 0;
    for (size_t run = 0; run < before + after; run++) {
        const double day = day_sd * random_normal(random);
        for (size_t s = 0; s < SERIES; s++)
            points[count++] =
                (struct driver_point){.series = s,
                                      .run = (int64_t)run,
                                      .after = run >= before,
                                      .log_time = (double)s + day + 0.001 * random_normal(random) +
                                                  (run >= before ? shift : 0)};
    }
    return count;
}

TEST(interval_holds_the_truth_as_often_as_it_says)
{
    static const size_t runs[][2] = {{1, 2}, {2, 2}, {5, 3}, {10, 10}};
    struct random random = {7};
    for (size_t k = 0; k < ARRAY_COUNT(runs); k++) {
        size_t held = 0;
        for (int trial = 0; trial < 1000; trial++) {
            struct driver_point points[MOST];
            struct driver_shift shift;
            const size_t count = draw(points, runs[k][0], runs[k][1], 0.01, 0.01, &random);
            driver_shift_find(&shift, points, count);
            held += shift.size.low <= 0.01 && 0.01 <= shift.size.high;
        }
        assert_in_range(held, 930, 990);
    }
}

TEST(a_shift_beyond_the_days_is_found)
{
    struct random random = {8};
    struct driver_point points[MOST];
    struct driver_shift shift;
    const size_t count = draw(points, 6, 5, -0.03, 0.004, &random);
    driver_shift_find(&shift, points, count);
    assert_true(shift.size.high < -0.02 && shift.size.low > -0.04);
    assert_int_equal(shift.before, 6);
    assert_int_equal(shift.after, 5);
    assert_int_equal(shift.series, SERIES);
    assert_true(shift.run_sd > 0.001 && shift.run_sd < 0.01);
}

// However many series and samples: it may have been the day.
TEST(one_run_each_bounds_nothing)
{
    struct random random = {9};
    struct driver_point points[MOST];
    struct driver_shift shift;
    driver_shift_find(&shift, points, draw(points, 1, 1, 0.2, 0.001, &random));
    assert_true(isinf(shift.size.low) && isinf(shift.size.high));
    assert_true(fabs(shift.size.value - 0.2) < 0.02);
    assert_true(isnan(shift.run_sd));
}

TEST(series_of_one_side_alone_say_nothing)
{
    const struct driver_point points[] = {
        {0, 1, false, 1.0}, {0, 2, false, 1.01}, {1, 3, true, 5.0}, {1, 4, true, 5.1}};
    struct driver_shift shift;
    driver_shift_find(&shift, points, ARRAY_COUNT(points));
    assert_int_equal(shift.series, 0);
    assert_int_equal(shift.before + shift.after, 0);
    assert_true(isnan(shift.size.value));
    driver_shift_find(&shift, points, 0);
    assert_int_equal(shift.series, 0);
}

// One kernel that a compiler in the driver makes much slower does not move the device's figure.
TEST(one_series_of_its_own_does_not_decide)
{
    struct random random = {10};
    struct driver_point points[MOST];
    struct driver_shift shift;
    const size_t count = draw(points, 5, 5, 0, 0.002, &random);
    for (size_t i = 0; i < count; i++)
        points[i].log_time += points[i].series == 3 && points[i].after ? 0.5 : 0;
    driver_shift_find(&shift, points, count);
    assert_true(fabs(shift.size.value) < 0.01);
}

// ---- When a device's controls say that the device itself is slow.

enum { POINTS = 12, CONTROLS = 4 };

// Levels from 10 us to 80 us with noise of 0.3 %; the last `shifted` points lie higher by `shift`.
static struct sickness judge(double shift, size_t shifted, size_t controls, size_t points,
                             size_t moved)
{
    static double values[CONTROLS][POINTS];
    struct sickness_control list[CONTROLS];
    struct sickness found;
    for (size_t c = 0; c < controls; c++) {
        for (size_t i = 0; i < points; i++) {
            const double noise = 0.003 * sin((double)(7 * i + 3 * c));
            values[c][i] = log(1e4 * (double)(1u << c)) + noise +
                           (c < moved && i + shifted >= points ? shift : 0);
        }
        list[c] = (struct sickness_control){values[c], points};
    }
    sickness_find(&found, list, controls, 0.05);
    return found;
}

TEST(two_slow_runs_of_most_controls_are_a_sick_device)
{
    const struct sickness found = judge(0.12, 2, CONTROLS, POINTS, CONTROLS);
    assert_true(found.known && found.slow);
    assert_int_equal(found.controls, CONTROLS);
    assert_true(fabs(found.log_ratio - 0.12) < 0.01);
    assert_true(judge(0.12, 2, CONTROLS, POINTS, 3).slow);
}

TEST(what_is_less_is_none)
{
    assert_false(judge(0.12, 1, CONTROLS, POINTS, CONTROLS).slow); // one run: a neighbour
    assert_false(judge(0.12, 2, CONTROLS, POINTS, 1).slow);        // one control: its own affair
    assert_false(judge(0.03, 2, CONTROLS, POINTS, CONTROLS).slow); // within the margin
    assert_false(judge(-0.12, 2, CONTROLS, POINTS, CONTROLS).slow);
    assert_true(judge(0, 2, CONTROLS, POINTS, CONTROLS).known);
}

TEST(too_few_controls_or_points_are_not_judged)
{
    assert_false(judge(0.5, 2, SICKNESS_CONTROLS - 1, POINTS, CONTROLS).known);
    assert_false(judge(0.5, 2, CONTROLS, SICKNESS_EARLIER + 1, CONTROLS).known);
    assert_true(judge(0.5, 2, CONTROLS, SICKNESS_EARLIER + 2, CONTROLS).slow);
    assert_false(judge(0.5, 2, 0, POINTS, 0).known);
}
