// SPDX-License-Identifier: Apache-2.0
//
// Bounds, detectable changes and void runs, against closed forms and simulation.
#include "model/gate/gate.h"
#include "tests/helpers/helper_peers.h"
#include "tests/helpers/helper_random.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <string.h>

static bool near(double a, double b, double tolerance)
{
    return fabs(a - b) <= tolerance;
}

// 0 of n: 1 - (1 - c)^(1/n), the "rule of three". 1 of 10 at 97.5 %: 0.0025 .. 0.4450 (tables of
// Clopper and Pearson 1934).
TEST(exact_bounds_match_closed_forms_and_tables)
{
    assert_true(near(study_rate_upper(0, 1000, 0.95), 1 - pow(0.05, 1e-3), 1e-12));
    assert_true(near(study_rate_upper(1, 10, 0.975), 0.4450, 1e-4));
    assert_true(near(rate_lower(1, 10, 0.975), 0.0025, 1e-4));
    assert_true(near(rate_lower(10, 10, 0.95), pow(0.05, 0.1), 1e-9));
    assert_true(near(study_rate_upper(10, 10, 0.95), 1, 0));
    assert_true(near(rate_lower(0, 10, 0.95), 0, 0));
    assert_true(near(study_rate_upper(0, 0, 0.95), 1, 0));
    assert_true(near(study_rate_upper(1, 10000, 0.95), 4.743e-4, 1e-6));
}

TEST(binomial_tail_matches_direct_sums)
{
    assert_true(near(binomial_tail(1, 5, 0.1), 1 - pow(0.9, 5), 1e-12));
    assert_true(near(binomial_tail(2, 4, 0.5), 11.0 / 16, 1e-12));
    assert_true(near(binomial_tail(0, 4, 0.5), 1, 0));
    assert_true(near(binomial_tail(5, 4, 0.5), 0, 0));
}

static double power_by_simulation(const struct gate_policy *policy, double sd, uint32_t pairs,
                                  double change)
{
    int found = 0;
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct arena arena = {0};
        struct gate_series series;
        gate_series_init(&series, policy, &arena);
        struct duet duet = duet_start(NOISE_NORMAL, sd * M_SQRT1_2, change, seed + 1);
        for (uint32_t i = 0; i < pairs; i++)
            gate_series_add(&series, (double[]){duet_log_ratio(&duet)}, 1);
        found += gate_series_decide(&series).kind == VERDICT_SLOWER;
        arena_free(&arena);
    }
    return found / 300.0;
}

// What the formula calls detectable at 90 % is found about that often, and 0.7 of it is not.
TEST(detectable_change_is_detected)
{
    const struct {
        double sd;
        uint32_t pairs;
    } cases[] = {{0.004, 64}, {0.004, 256}, {0.0005, 32}, {0.02, 128}};
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct gate_policy policy = gate_policy_default("cuda", 183e3);
        double change = study_detectable(&policy, cases[i].sd, cases[i].pairs, 0.9);
        double power = power_by_simulation(&policy, cases[i].sd, cases[i].pairs, change);
        if (power < 0.8 || power > 0.98)
            fail_msg("sd %g, %u pairs: %g found with power %g", cases[i].sd, cases[i].pairs, change,
                     power);
        assert_true(power_by_simulation(&policy, cases[i].sd, cases[i].pairs, 0.7 * change) < 0.6);
    }
}

TEST(detectable_change_behaves_at_the_ends)
{
    struct gate_policy policy = gate_policy_default("cuda", 183e3);
    assert_true(isinf(study_detectable(&policy, 0.004, 8, 0.9)));
    assert_true(isinf(study_detectable(&policy, 0.004, 0, 0.9)));
    policy.min_pairs = 40;
    assert_true(isinf(study_detectable(&policy, 0.0001, 39, 0.9)));
    assert_true(isfinite(study_detectable(&policy, 0.0001, 40, 0.9)));
    policy.min_pairs = 16;
    assert_true(near(study_detectable(&policy, 0, 64, 0.9), policy.margin, 1e-6));
    double few = study_detectable(&policy, 0.004, 32, 0.9);
    double many = study_detectable(&policy, 0.004, 256, 0.9);
    assert_true(few > many && many > policy.margin);
}

TEST(roc_runs_from_corner_to_corner)
{
    const double nulls[] = {0, 1, 2, 2}, changes[] = {NAN, 2, 3};
    struct roc_point points[8];
    size_t count = roc_points(points, nulls, 4, changes, 3);
    assert_int_equal(count, 6); // infinity, 3, 2, 1, 0, NaN
    assert_true(near(points[1].true_rate, 1.0 / 3, 1e-12) && near(points[1].false_rate, 0, 0));
    assert_true(near(points[2].true_rate, 2.0 / 3, 1e-12) && near(points[2].false_rate, 0.5, 0));
    assert_true(near(points[5].true_rate, 1, 0) && near(points[5].false_rate, 1, 0));
    const double low[] = {1, 2}, high[] = {3, 4};
    count = roc_points(points, low, 2, high, 2);
    assert_true(near(roc_area(points, count), 1, 1e-12));
    count = roc_points(points, low, 2, low, 2);
    assert_true(near(roc_area(points, count), 0.5, 1e-12));
}

static struct self_test test_of(int series, int alarms, double evidence)
{
    static struct verdict verdicts[200];
    for (int i = 0; i < series; i++) {
        verdicts[i] = (struct verdict){.kind = VERDICT_SAME, .pairs = 32};
        if (i < alarms) {
            verdicts[i].kind = i % 2 ? VERDICT_FASTER : VERDICT_SLOWER;
            verdicts[i].log_evidence = evidence;
        }
    }
    return study_self_test(verdicts, (size_t)series, 1e-3);
}

TEST(run_is_void_if_its_own_pairs_alarm)
{
    assert_false(test_of(4, 0, 0).void_run);
    assert_false(test_of(0, 0, 0).void_run);
    assert_true(test_of(4, 1, log(1100)).void_run);    // P = 0.004
    assert_false(test_of(100, 1, log(1100)).void_run); // P = 0.095
    assert_true(test_of(100, 3, log(1100)).void_run);  // P = 1.5e-4
    assert_true(test_of(100, 1, log(1e6)).void_run);   // one, but far too strong
    struct self_test test = test_of(100, 3, 7);
    assert_int_equal(test.series, 100);
    assert_int_equal(test.alarms, 3);
    assert_true(near(test.worst_log_evidence, 7, 0));
}

// A gate that is joined from parts is judged by all of them, wherever the alarms stand.
TEST(joined_parts_are_void_by_the_alarms_of_any_of_them)
{
    for (size_t where = 0; where < 3; where++) {
        struct self_test parts[3] = {{.series = 4}, {.series = 5}, {.series = 6}};
        parts[where].alarms = 2;
        parts[where].worst_log_evidence = 7;
        const struct self_test all = study_self_tests(parts, 3, 1e-3);
        assert_int_equal(all.series, 15);
        assert_int_equal(all.alarms, 2);
        assert_true(near(all.worst_log_evidence, 7, 0));
        assert_true(all.void_run);
        parts[where].alarms = 0;
        assert_false(study_self_tests(parts, 3, 1e-3).void_run);
        parts[where].worst_log_evidence = 9; // more than log(15 / .005) = 8.006
        assert_true(study_self_tests(parts, 3, 1e-3).void_run);
    }
}

TEST(series_without_pairs_do_not_count)
{
    struct verdict none = {.kind = VERDICT_UNDECIDED};
    assert_int_equal(study_self_test(&none, 1, 1e-3).series, 0);
}

// Sound runs are void at most once in a hundred.
TEST(sound_runs_are_rarely_void)
{
    struct gate_policy policy = gate_policy_default("cuda", 183e3);
    policy.processes = 1;
    policy.floor = 0; // the worst case that the promise covers
    int voided = 0;
    for (uint64_t run = 0; run < 100; run++) {
        struct verdict verdicts[4];
        for (uint64_t i = 0; i < 4; i++) {
            struct arena arena = {0};
            struct gate_series series;
            gate_series_init(&series, &policy, &arena);
            struct duet duet = duet_start(NOISE_AR9, 0.003, 0, run * 4 + i + 1);
            for (int n = 0; n < 128; n++)
                gate_series_add(&series, (double[]){duet_log_ratio(&duet)}, 1);
            struct gate_decision d = gate_series_decide(&series);
            verdicts[i] =
                (struct verdict){.kind = d.kind, .pairs = d.pairs, .log_evidence = d.log_evidence};
            arena_free(&arena);
        }
        voided += study_self_test(verdicts, 4, policy.alpha).void_run;
    }
    assert_true(voided <= 5);
}
