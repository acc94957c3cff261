// SPDX-License-Identifier: Apache-2.0
//
// Which devices are told apart: by 1 % with three series, and not by what places do.
#include "model/gate/verdict.h"
#include "model/robust.h"
#include "tests/helpers/helper_random.h"
#include "tests/helpers/test.h"

#include <math.h>

TEST(one_percent_is_told_by_three_series)
{
    double times[] = {0.0102, 0.0085, 0.0121};
    const struct apart apart = apart_of(times, 3);
    assert_true(apart.told);
    assert_true(fabs(apart.log_ratio - 0.0103) < 1e-3);
    assert_true(apart.se < 0.0020);
}

// What is known of places, 0.3 % as if from eight series, and what these series scatter, each by
// its degrees of freedom.
TEST(error_is_of_the_scatter_and_of_what_was_known)
{
    const double scatters[] = {0, 0.001, 0.004};
    for (size_t i = 0; i < 3; i++) {
        const double d = scatters[i];
        double times[] = {0.01 - d, 0.01, 0.01 + d}, copy[] = {0.01 - d, 0.01, 0.01 + d};
        const double sd = robust_sd(copy, 3);
        const double variance = (8 * 0.003 * 0.003 + 2 * sd * sd) / (8 + 2);
        const double se = apart_of(times, 3).se;
        assert_true(fabs(se - sqrt(variance / 3)) < 1e-9);
    }
}

TEST(one_series_tells_nothing)
{
    double times[] = {0.02};
    assert_false(apart_of(times, 1).told);
    assert_false(apart_of(times, 0).told);
}

// The largest scatter that was measured is 0.26 %; of 4 of such there should be none in thousands.
TEST(places_are_not_taken_for_devices)
{
    struct random random = {19};
    size_t told = 0;
    for (int trial = 0; trial < 5000; trial++) {
        double times[12];
        const size_t count = 2 + (size_t)trial % 11;
        for (size_t i = 0; i < count; i++)
            times[i] = 0.0026 * random_normal(&random);
        told += apart_of(times, count).told;
    }
    assert_true(told <= 2);
}

static bool told_of(double difference)
{
    struct random random = {20};
    double times[60];
    for (size_t i = 0; i < 60; i++)
        times[i] = difference + 0.0026 * random_normal(&random);
    const struct apart apart = apart_of(times, 60);
    assert_true(fabs(apart.log_ratio - difference) < 4 * apart.se);
    return apart.told;
}

// However sure: sister devices are a little apart.
TEST(less_than_half_a_percent_is_not_told)
{
    assert_false(told_of(-0.0025));
    assert_true(told_of(-0.007));
}
