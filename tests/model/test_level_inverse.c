// SPDX-License-Identifier: Apache-2.0
//
// Long histories: levelled by one factor and one inverse, which gives the same errors as
// substitution does.
#include "model/history/level_factor.h"
#include "tests/helpers/helper_random.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdlib.h>

// LONG codes with links to those 1, 8 and 64 back, and one to the first in every 100; the newest
// 256 with a misclosure of their own.
static struct levels *long_history(double t, double newest_t)
{
    enum { LONG = 1500, NEWEST = 256 };
    static const size_t backs[] = {1, 8, 64};
    struct random random = {23};
    struct levels *levels = levels_new();
    struct error err;
    for (size_t i = 1; i < LONG; i++) {
        const double sd = hypot(0.0005, i + NEWEST < LONG ? t : newest_t);
        for (size_t b = 0; b < 4; b++) {
            const size_t back = b < 3 ? backs[b] : i % 100 == 0 ? i - 3 : i + 1;
            const struct level_link link = {i - back, i, sd * random_normal(&random), 0.0005};
            if (back <= i)
                levels_add(levels, &link);
        }
    }
    assert_int_equal(levels_close(levels, &levels_prior, &err), 0);
    return levels;
}

// What the newest codes say is near what all say, and is all that is needed to begin with.
TEST(long_history_is_weighed_once)
{
    struct levels *levels = long_history(0.002, 0.002);
    assert_int_equal(levels->rounds, 1);
    assert_true(fabs(levels->misclosure - 0.002) < 0.0001);
    levels_free(levels);
}

TEST(misclosure_of_a_long_history_is_that_of_all_its_loops)
{
    const double all = sqrt((1244 * 0.001 * 0.001 + 256 * 0.002 * 0.002) / 1500);
    struct levels *levels = long_history(0.001, 0.002);
    assert_true(levels->rounds > 1);
    assert_true(fabs(levels->misclosure - all) < 0.1 * all);
    levels_free(levels);
}

// From the inverse, and by substitution where the inverse has no element.
TEST(errors_of_a_long_history_are_the_same_both_ways)
{
    struct levels *levels = long_history(0.002, 0.002);
    double size, error, *errors = xcalloc(levels->codes, sizeof(*errors));
    for (size_t i = 1; i < levels->codes; i += 97) {
        levels->factor->inverted = false;
        levels_between(&size, &error, levels, 0, i);
        levels_errors(errors, levels);
        assert_true(fabs(error - errors[i]) < 1e-12);
        double near;
        levels_between(&size, &near, levels, i - 1, i);
        levels->factor->inverted = false;
        levels_between(&size, &error, levels, i - 1, i);
        assert_true(fabs(error - near) < 1e-12);
    }
    free(errors);
    levels_free(levels);
}
