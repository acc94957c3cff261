// SPDX-License-Identifier: Apache-2.0
//
// Robust statistics against definitions and printed tables.
#include "model/base.h"
#include "model/robust.h"
#include "tests/helpers/helper_peers.h"
#include "tests/helpers/helper_random.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <string.h>

static bool near(double a, double b, double tolerance)
{
    return fabs(a - b) <= tolerance;
}

TEST(median_and_sd_follow_their_definitions)
{
    assert_true(near(robust_median((double[]){3, 1, 2}, 3), 2, 0));
    assert_true(near(robust_median((double[]){4, 1, 2, 3}, 4), 2.5, 0));
    assert_true(isnan(robust_median(NULL, 0)));
    assert_true(near(robust_sd((double[]){1, 2, 3, 4, 1000}, 5), 1.4826, 1e-12));
}

TEST(trimmed_mean_ignores_a_tenth_on_each_side)
{
    double work[10] = {-1e9, 1, 2, 3, 4, 5, 6, 7, 8, 1e9};
    struct robust_mean m = robust_mean(work, 10);
    assert_true(near(m.mean, 4.5, 1e-9));
    // Winsorized: 1,1,2..8,8: variance 64.5/9... SE = sqrt(var * 10) / 8.
    double squares = 2 * (3.5 * 3.5 + 3.5 * 3.5 + 2.5 * 2.5 + 1.5 * 1.5 + 0.5 * 0.5);
    assert_true(near(m.se, sqrt(squares / 9 * 10) / 8, 1e-9));
    assert_true(isinf(robust_mean((double[]){7}, 1).se));
    assert_true(isnan(robust_mean(NULL, 0).mean));
}

// The standard error is what repeated samples scatter by, with stalls too.
TEST(trimmed_mean_states_its_own_scatter)
{
    const enum noise noises[] = {NOISE_NORMAL, NOISE_T3, NOISE_SPIKES};
    for (size_t k = 0; k < ARRAY_COUNT(noises); k++) {
        double squares = 0, stated = 0;
        for (uint64_t seed = 0; seed < 1000; seed++) {
            struct duet duet = duet_start(noises[k], 1, 0, seed + 1);
            double work[64];
            for (int i = 0; i < 64; i++)
                work[i] = duet_log_ratio(&duet);
            struct robust_mean m = robust_mean(work, 64);
            squares += m.mean * m.mean / 1000;
            stated += m.se * m.se / 1000;
        }
        assert_true(near(sqrt(squares / stated), 1, 0.15));
    }
}

TEST(moderation_weighs_prior_and_sample_by_their_degrees)
{
    assert_true(near(moderate_sd((struct moderation){0.02, INFINITY}, 99, 5), 0.02, 0));
    assert_true(near(moderate_sd((struct moderation){0, 0}, 0.03, 5), 0.03, 1e-15));
    assert_true(near(moderate_sd((struct moderation){0.01, 4}, 0.03, 12), sqrt(7e-4), 1e-15));
    assert_true(near(moderate_sd((struct moderation){0.01, 0}, 0, 0), 0.01, 0));
}

TEST(random_effects_find_the_spread_between_groups)
{
    const double mean[] = {1, 1, 1}, se[] = {0.1, 0.1, 0.2};
    struct pooled p = pool_random_effects(mean, se, 3);
    assert_true(near(p.mean, 1, 1e-12) && near(p.between, 0, 0) && near(p.se, 1.0 / 15, 1e-9));
    const double far[] = {0, 1, 2, 3}, small[] = {0.01, 0.01, 0.01, 0.01};
    p = pool_random_effects(far, small, 4);
    assert_true(near(p.mean, 1.5, 1e-9) && near(p.between, sqrt(5.0 / 3 - 1e-4), 1e-6));
    assert_true(near(p.se, sqrt(5.0 / 3) / 2, 1e-3));
    p = pool_random_effects(far, small, 1);
    assert_true(near(p.mean, 0, 0) && near(p.se, 0.01, 1e-15));
}

// Printed tables: Abramowitz and Stegun 26.1, 26.7 (t), and I_x(a,b) as a polynomial.
TEST(tails_match_printed_tables)
{
    assert_true(near(normal_cdf(1.959963984540054), 0.975, 1e-12));
    assert_true(near(normal_quantile(0.975), 1.959963984540054, 1e-9));
    assert_true(near(normal_quantile(1e-9), -5.997807015, 1e-6));
    assert_true(near(normal_quantile(0.5), 0, 1e-12));
    assert_true(near(incomplete_beta(2, 3, 0.5), 0.6875, 1e-12));
    assert_true(near(incomplete_beta(1, 1, 0.3), 0.3, 1e-12));
    assert_true(near(incomplete_beta(0.5, 0.5, 0.25), 1.0 / 3, 1e-12)); // 2/pi asin(sqrt x)
    assert_true(near(incomplete_beta(3, 2, 0), 0, 0) && near(incomplete_beta(3, 2, 1), 1, 0));
    assert_true(near(student_cdf(2.228, 10), 0.975, 1e-4));
    assert_true(near(student_cdf(-12.706, 1), 0.025, 1e-5));
    assert_true(near(student_cdf(0, 5), 0.5, 1e-12));
    assert_true(near(incomplete_beta(1, 5000, 1e-3), 1 - pow(0.999, 5000), 1e-10));
}

TEST(an_interval_lies_about_its_value_and_keeps_its_order_as_relative_change)
{
    const struct interval log_ratio = interval_about(log(1.5), log(1.2));
    const struct interval change = interval_relative(log_ratio);
    assert_true(near(change.value, 0.5, 1e-12) && near(change.low, 0.25, 1e-12) &&
                near(change.high, 0.8, 1e-12));
    const struct interval unknown = interval_relative(interval_unknown);
    assert_true(isnan(unknown.value) && unknown.low == -1 && isinf(unknown.high));
    assert_true(isnan(interval_none.low) && isnan(interval_none.high));
}
