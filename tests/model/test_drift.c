// SPDX-License-Identifier: Apache-2.0
//
// A run judged against earlier runs, with few of them and with many.
#include "model/history/drift.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <string.h>

static struct history_point points[64];
static struct sample sample;

static struct history history_of(const double *times_ns, const bool *same, size_t count)
{
    for (size_t i = 0; i < count; i++)
        points[i] = (struct history_point){.time_ns = times_ns[i], .same_code = same && same[i]};
    return (struct history){.points = points, .count = count};
}

static struct verdict judge(const struct history *history, double time_ns)
{
    sample = (struct sample){.time_ns = time_ns, .launches = 1};
    const struct measurement now = {.state = MEASURED_OK, .samples = &sample, .count = 1};
    const struct drift_policy policy = drift_policy_default("cuda");
    struct verdict verdict;
    drift_judge(&verdict, history, &now, false, &policy);
    return verdict;
}

TEST(drift_without_history_is_new)
{
    const struct history none = {0};
    struct verdict v = judge(&none, 1000);
    assert_int_equal(v.kind, VERDICT_NEW);
    assert_true(isnan(v.log_ratio.value));
}

TEST(drift_of_one_earlier_run_finds_only_large_changes)
{
    const double stored[] = {1000};
    struct history h = history_of(stored, NULL, 1);
    assert_int_equal(judge(&h, 1000).kind, VERDICT_UNDECIDED);
    assert_int_equal(judge(&h, 1050).kind, VERDICT_UNDECIDED); // 2 % between processes is normal
    assert_int_equal(judge(&h, 1300).kind, VERDICT_SLOWER);
    assert_int_equal(judge(&h, 750).kind, VERDICT_FASTER);
}

TEST(drift_of_several_times_of_one_code_holds_their_mean)
{
    const double stored[] = {1000}, now[] = {1120, 1010, 990, 1000, NAN};
    const struct history h = history_of(stored, NULL, 1);
    const struct drift_policy policy = drift_policy_default("cuda");
    struct verdict one = judge(&h, 1120), v;
    drift_hold(&v, &h, now, 1, false, &policy);
    assert_memory_equal(&v.log_ratio, &one.log_ratio, sizeof(v.log_ratio));
    drift_hold(&v, &h, now, 5, false, &policy);
    assert_true(fabs(v.log_ratio.value - (log(1.12) + log(1.01) + log(0.99)) / 4) < 1e-12);
    assert_int_equal(v.kind, VERDICT_UNDECIDED);
    drift_hold(&v, &h, &now[4], 1, false, &policy);
    assert_int_equal(v.kind, VERDICT_NEW);
}

TEST(drift_learns_the_noise_from_identical_code)
{
    double stored[40];
    bool same[40];
    for (int i = 0; i < 40; i++) {
        stored[i] = 1000 * (1 + (i % 2 ? 0.001 : -0.001));
        same[i] = i > 0;
    }
    struct history quiet = history_of(stored, same, 40);
    assert_int_equal(judge(&quiet, 1050).kind, VERDICT_SLOWER);
    assert_int_equal(judge(&quiet, 1001).kind, VERDICT_SAME);
    for (int i = 0; i < 40; i++)
        stored[i] = 1000 * (1 + (i % 2 ? 0.04 : -0.04));
    struct history loud = history_of(stored, same, 40);
    assert_int_equal(judge(&loud, 1050).kind, VERDICT_UNDECIDED);
}

TEST(drift_level_is_that_of_the_newest_code)
{
    const double stored[] = {2000, 2000, 1000, 1000};
    const bool same[] = {false, true, false, true};
    struct history h = history_of(stored, same, 4);
    assert_true(fabs(judge(&h, 1000).log_ratio.value) < 1e-12);
}

TEST(drift_ignores_times_that_cannot_be)
{
    const double stored[] = {NAN, -1, 0, INFINITY};
    struct history h = history_of(stored, NULL, 4);
    assert_int_equal(judge(&h, 1000).kind, VERDICT_NEW);
    assert_int_equal(judge(&h, 0).kind, VERDICT_NEW);
}
