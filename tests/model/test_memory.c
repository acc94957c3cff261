// SPDX-License-Identifier: Apache-2.0
//
// Noise that remembers: how much, found by likelihood.
#include "model/history/segmentation.h"
#include "tests/helpers/helper_random.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <string.h>

enum { VALUES = 200 };

// A level that fades by `fade` and holds `share` of the variance, seen through noise.
static void seen_through(double *values, double fade, double share, struct random *random)
{
    double level = sqrt(share) * random_normal(random);
    for (int i = 0; i < VALUES; i++) {
        values[i] = level + sqrt(1 - share) * random_normal(random);
        level = fade * level + sqrt(share * (1 - fade * fade)) * random_normal(random);
    }
}

static double independent_fit(const double *values, size_t n)
{
    double squares = 0;
    for (size_t i = 1; i < n; i++)
        squares += values[i] * values[i];
    double degrees = (double)n - 1;
    return -0.5 * degrees * (log(squares / degrees) + 1);
}

static double autoregressive_fit(const double *values, size_t n)
{
    double cross = 0, squares = 0, sum = 0, degrees = (double)n - 1;
    for (size_t i = 1; i < n; i++) {
        cross += values[i] * values[i - 1];
        squares += values[i - 1] * values[i - 1];
    }
    for (size_t i = 1; i < n; i++)
        sum += pow(values[i] - cross / squares * values[i - 1], 2);
    return -0.5 * degrees * (log(sum / degrees) + 1);
}

// The exact likelihood by the definition: the density of all values over that of the first, with
// the covariance share fade^|i - k| factored (Cholesky).
static double exact(const double *values, size_t n, double fade, double share)
{
    static double factor[40][40];
    double z[40], squares = 0, logs = 0;
    for (size_t i = 0; i < n; i++) {
        double rest = values[i];
        for (size_t k = 0; k <= i; k++) {
            double sum = i == k ? 1 : share * pow(fade, (double)(i - k));
            for (size_t j = 0; j < k; j++)
                sum -= factor[i][j] * factor[k][j];
            factor[i][k] = i == k ? sqrt(sum) : sum / factor[k][k];
            if (k < i)
                rest -= factor[i][k] * z[k];
        }
        z[i] = rest / factor[i][i];
        squares += i ? z[i] * z[i] : 0;
        logs += i ? 2 * log(factor[i][i]) : 0;
    }
    double degrees = (double)n - 1;
    return -0.5 * (degrees * (log(squares / degrees) + 1) + logs);
}

TEST(memory_is_the_best_of_its_likelihoods)
{
    static const double fades[] = {0.5, 0.7, 0.8, 0.9};
    static const double shares[] = {0.15, 0.3, 0.45, 0.6, 0.75, 0.9};
    struct random random = {61};
    for (int game = 0; game < 20; game++) {
        double values[VALUES];
        seen_through(values, 0.9, 0.05 * game, &random);
        for (size_t n = 12; n <= 40; n += 14) {
            double best = autoregressive_fit(values, n);
            for (size_t k = 0; k < ARRAY_COUNT(fades) * ARRAY_COUNT(shares); k++)
                best = fmax(best, exact(values, n, fades[k % 4], shares[k / 4]));
            assert_true(fabs(memory_fit(values, n) - best) < 1e-6 * (1 + fabs(best)));
        }
    }
}

// Little correlation from one value to the next, for long: neither independence nor an AR(1).
TEST(memory_explains_a_slow_level_under_noise)
{
    struct random random = {62};
    double values[VALUES], over_independent = 0, over_autoregressive = 0;
    for (int game = 0; game < 50; game++) {
        seen_through(values, 0.9, 0.45, &random);
        double fit = memory_fit(values, VALUES);
        over_independent += (fit - independent_fit(values, VALUES)) / 50;
        over_autoregressive += (fit - autoregressive_fit(values, VALUES)) / 50;
    }
    assert_true(over_independent > 20);
    assert_true(over_autoregressive > 6);
}

TEST(memory_ignores_the_unit)
{
    struct random random = {63};
    double values[VALUES], other[VALUES];
    seen_through(values, 0.8, 0.6, &random);
    for (int i = 0; i < VALUES; i++)
        other[i] = -1000 * values[i];
    double shift = -(VALUES - 1) * log(1000);
    assert_true(fabs(memory_fit(other, VALUES) - memory_fit(values, VALUES) - shift) < 1e-6);
    memset(values, 0, sizeof(values));
    assert_true(isfinite(memory_fit(values, VALUES)));
}

static double covariance(size_t i, size_t k, double fade, double share)
{
    return i == k ? 1 : share * pow(fade, fabs((double)i - (double)k));
}

// The likelihood of the differences of neighbours, of which a step is one: its variance is larger
// by 100. They know nothing of the level.
static double of_differences(const double *values, size_t n, size_t at, double fade, double share)
{
    static double factor[40][40];
    double z[40], squares = 0, logs = 0;
    for (size_t i = 0; i + 1 < n; i++) {
        double rest = values[i + 1] - values[i];
        for (size_t k = 0; k <= i; k++) {
            double sum = covariance(i + 1, k + 1, fade, share) - covariance(i + 1, k, fade, share) -
                         covariance(i, k + 1, fade, share) + covariance(i, k, fade, share);
            sum += i == k && i + 1 == at ? 100 : 0;
            for (size_t j = 0; j < k; j++)
                sum -= factor[i][j] * factor[k][j];
            factor[i][k] = i == k ? sqrt(sum) : sum / factor[k][k];
            rest -= k < i ? factor[i][k] * z[k] : 0;
        }
        z[i] = rest / factor[i][i];
        squares += z[i] * z[i];
        logs += 2 * log(factor[i][i]);
    }
    const double degrees = (double)n - 1;
    return -0.5 * (degrees * (log(squares / degrees) + 1) + logs);
}

TEST(a_step_is_as_likely_as_its_differences)
{
    static const double fades[] = {0.5, 0.7, 0.8, 0.9};
    static const double shares[] = {0.15, 0.3, 0.45, 0.6, 0.75, 0.9, 1};
    enum { GRID = ARRAY_COUNT(fades) * ARRAY_COUNT(shares) };
    struct random random = {64};
    for (size_t game = 0; game < 24; game++) {
        const size_t n = 12 + game, at = game % 3 ? 2 + game % 9 : 0;
        double values[VALUES], each[GRID], sum = 0;
        seen_through(values, 0.8, 0.04 * (double)game, &random);
        for (size_t i = at; at && i < n; i++)
            values[i] += 6;
        const double alone = of_differences(values, n, at, 0, 0);
        double most = alone;
        for (size_t k = 0; k < GRID; k++) {
            each[k] = of_differences(values, n, at, fades[k % 4], shares[k / 4]);
            most = fmax(most, each[k]);
        }
        for (size_t k = 0; k < GRID; k++)
            sum += exp(each[k] - most) / GRID;
        const double expected = at ? most + log((exp(alone - most) + sum) / 2) : most;
        assert_true(fabs(memory_step(values, n, at, 1) - expected) < 1e-6);
        assert_true(!at || memory_step(values, n, at, 2) < expected);
    }
}
