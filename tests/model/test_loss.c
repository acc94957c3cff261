// SPDX-License-Identifier: Apache-2.0
//
// The bounded loss of noise of many kinds, and what it asks of a gain.
#include "model/history/segmentation.h"
#include "tests/helpers/helper_changepoint.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdlib.h>

enum { N = 4000 };

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static struct loss fit(double *residuals, size_t n)
{
    qsort(residuals, n, sizeof(*residuals), ascending);
    return loss_fit(residuals, n, 3);
}

static struct loss fit_kind(enum cp_kind kind, double unit)
{
    double values[N];
    struct random random = {31};
    cp_series(values, N, kind, &random);
    for (size_t i = 0; i < N; i++)
        values[i] = unit * (values[i] - 100);
    return fit(values, N);
}

// 1 / (2 sigma^2) nats per unit of cost: twice the log-likelihood is the gain in squares.
TEST(loss_of_normal_noise_is_the_likelihood)
{
    for (double unit = 1e-6; unit < 1e7; unit *= 1e3) {
        struct loss loss = fit_kind(CP_NORMAL, unit);
        assert_true(fabs(loss.scale / unit - 1) < 0.05);
        assert_true(fabs(loss.bound / (3 * loss.scale) - 1) < 1e-12);
        assert_true(fabs(loss.rate * 2 * unit * unit - 1) < 0.1);
    }
}

// Four values in five at one level and one at another, eight away: k of the latter in a row come
// with probability 0.2^k and gain 9 each, were the bound 3.
TEST(loss_of_two_modes_asks_more_of_a_gain)
{
    struct loss loss = fit_kind(CP_BIMODAL, 1);
    double gain = loss.bound * loss.bound;
    assert_true(loss.rate * gain < 1.1 * log(4));
    assert_true(loss.rate > 0);
}

// A quarter of the values far out, anywhere: the bound closes around the rest.
TEST(loss_of_heavy_tails_is_bounded_sooner)
{
    double values[N];
    struct random random = {32};
    for (size_t i = 0; i < N; i++)
        values[i] = random_normal(&random) + (i % 4 ? 0 : 40 * random_uniform(&random));
    struct loss loss = fit(values, N);
    assert_true(loss.bound < 2.3 * loss.scale);
    assert_true(loss.bound > 1.5);
}

TEST(loss_without_scatter_is_nothing)
{
    double zeros[20] = {0}, one[1] = {3};
    assert_true(loss_fit(zeros, 20, 3).scale == 0);
    assert_true(loss_fit(one, 1, 3).scale == 0);
}
