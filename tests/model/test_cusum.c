// SPDX-License-Identifier: Apache-2.0
//
// The CUSUM statistic against its definition.
#include "model/history/focus.h"
#include "tests/helpers/helper_random.h"
#include "tests/helpers/test.h"

#include <math.h>

enum { N = 400 };

static double statistic(const double *z, size_t n, size_t s)
{
    double before = 0, after = 0, left = (double)s, right = (double)(n - s);
    for (size_t i = 0; i < n; i++)
        *(i < s ? &before : &after) += z[i];
    return pow(after / right - before / left, 2) * left * right / (left + right);
}

// Against all places, one by one.
static void cusum_finds_the_best_place(void **state)
{
    double z[N];
    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct random random = {seed};
        struct cusum cusum = {0};
        for (size_t n = 1; n <= N; n++) {
            z[n - 1] = random_normal(&random) + (n > 250 ? (seed % 2 ? 1 : -1) : 0);
            struct peak peak = cusum_push(&cusum, z[n - 1]);
            double best = 0;
            for (size_t s = 1; s < n; s++)
                best = fmax(best, statistic(z, n, s));
            assert_true(fabs(peak.statistic - best) <= 1e-9 * (1 + best));
            if (n > 1)
                assert_true(fabs(statistic(z, n, (size_t)peak.s) - best) <= 1e-9 * (1 + best));
        }
        assert_true(cusum.up.count + cusum.down.count < 60); // of 400
        cusum_free(&cusum);
    }
}

static void cusum_starts_again_when_cleared(void **state)
{
    struct cusum cusum = {0};
    for (int i = 0; i < 50; i++)
        cusum_push(&cusum, i);
    cusum_clear(&cusum);
    assert_true(cusum_push(&cusum, 3).statistic == 0);
    assert_true(fabs(cusum_push(&cusum, 5).statistic - 2) < 1e-12);
    cusum_free(&cusum);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cusum_finds_the_best_place),
        cmocka_unit_test(cusum_starts_again_when_cleared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
