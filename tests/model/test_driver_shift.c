// SPDX-License-Identifier: Apache-2.0
//
// A new driver's shift: found, with an interval that holds the truth as often as it says, though
// runs differ among themselves by more than the shift's samples would tell.
#include "model/history/device.h"
#include "tests/helpers/helper_random.h"
#include "tests/helpers/test.h"

#include <math.h>

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
