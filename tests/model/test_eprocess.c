// SPDX-License-Identifier: Apache-2.0
//
// The promise of an e-process is a probability, so most tests here count over seeded streams. A
// rate is held against its promise plus 4 standard errors of the count.
#include "model/gate/gate.h"
#include "model/robust.h"
#include "tests/helpers/helper_random.h"
#include "tests/helpers/test.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { STREAMS = 800, PAIRS = 128 };

static double allowed(double rate, double count)
{
    return rate * count + 4 * sqrt(rate * count) + 1;
}

// Does either side ever reach 1/alpha in PAIRS pairs, looking after each?
static bool ever_alarms(struct duet *duet, double scale, double alpha)
{
    struct eprocess up = {0}, down = {0};
    for (int i = 0; i < PAIRS; i++) {
        double z = duet_log_ratio(duet) / scale;
        eprocess_add(&up, z);
        eprocess_add(&down, -z);
        if (log_mean_exp((double[]){eprocess_log(&up), eprocess_log(&down)}, 2) >= -log(alpha))
            return true;
    }
    return false;
}

TEST(null_alarms_at_most_alpha_under_every_noise)
{
    const double alpha = 0.02;
    for (int noise = 0; noise < NOISE_KINDS; noise++) {
        int alarms = 0;
        for (uint64_t seed = 0; seed < STREAMS; seed++) {
            struct duet duet = duet_start((enum noise)noise, 0.004, 0, seed + 1);
            duet.second = 0.002;
            alarms += ever_alarms(&duet, 0.0057, alpha);
        }
        if (alarms > allowed(alpha, STREAMS))
            fail_msg("%s: %d of %d alarmed", noise_names[noise], alarms, STREAMS);
    }
}

TEST(null_alarms_at_most_alpha_with_any_scale)
{
    const double alpha = 0.02, scales[] = {1e-6, 5e-4, 0.05, 10};
    for (size_t s = 0; s < ARRAY_COUNT(scales); s++) {
        int alarms = 0;
        for (uint64_t seed = 0; seed < STREAMS; seed++) {
            struct duet duet = duet_start(NOISE_AR9, 0.004, 0, seed + 77);
            alarms += ever_alarms(&duet, scales[s], alpha);
        }
        assert_true(alarms <= allowed(alpha, STREAMS));
    }
}

// The composite null: a true centre below zero alarms no more often than zero itself.
TEST(one_sided_null_holds_for_every_centre_below)
{
    int alarms = 0;
    for (uint64_t seed = 0; seed < STREAMS; seed++) {
        struct duet duet = duet_start(NOISE_BIMODAL, 0.004, -0.002, seed + 5);
        struct eprocess up = {0};
        bool alarmed = false;
        for (int i = 0; i < PAIRS; i++) {
            eprocess_add(&up, duet_log_ratio(&duet) / 0.005);
            alarmed |= eprocess_log(&up) >= log(50);
        }
        alarms += alarmed;
    }
    assert_true(alarms <= allowed(0.02, STREAMS));
}

TEST(scale_free_mixture_is_only_for_independent_values)
{
    int independent = 0, correlated = 0;
    for (uint64_t seed = 0; seed < STREAMS; seed++) {
        struct random random = {seed * 977 + 3};
        double normal[PAIRS], ar[PAIRS], level = 0;
        bool alarm_normal = false, alarm_ar = false;
        for (size_t i = 0; i < PAIRS; i++) {
            normal[i] = random_normal(&random);
            level = ar[i] = 0.5 * level + sqrt(0.75) * random_normal(&random);
            alarm_normal |= eprocess_scale_free(normal, i + 1) >= log(100);
            alarm_ar |= eprocess_scale_free(ar, i + 1) >= log(100);
        }
        independent += alarm_normal;
        correlated += alarm_ar;
    }
    assert_true(independent <= allowed(0.01, STREAMS));
    assert_true(correlated > 0.05 * STREAMS); // why it never decides on launches
}

// Median number of pairs until log E >= log 1e5, as in the table for the closed forms: 132, 55, 35
// and 31 pairs for effects of 0.5, 1, 2 and 3 SD.
static double median_pairs(double effect)
{
    double pairs[301];
    for (uint64_t seed = 0; seed < ARRAY_COUNT(pairs); seed++) {
        struct random random = {seed * 7919 + 11};
        struct eprocess up = {0}, down = {0};
        double log_e = 0;
        int n = 0;
        for (; n < 1000 && log_e < log(1e5); n++) {
            double z = effect + random_normal(&random);
            eprocess_add(&up, z);
            eprocess_add(&down, -z);
            log_e = log_mean_exp((double[]){eprocess_log(&up), eprocess_log(&down)}, 2);
        }
        pairs[seed] = n;
    }
    return robust_median(pairs, ARRAY_COUNT(pairs));
}

TEST(evidence_needs_fewer_pairs_than_the_closed_form)
{
    const double effects[] = {0.5, 1, 2, 3}, closed[] = {132, 55, 35, 31};
    for (size_t i = 0; i < ARRAY_COUNT(effects); i++) {
        double pairs = median_pairs(effects[i]);
        if (pairs > closed[i])
            fail_msg("effect %g: %g pairs, closed form %g", effects[i], pairs, closed[i]);
    }
    assert_true(median_pairs(3) <= 21);
}

TEST(wealth_of_a_fair_coin_is_a_martingale)
{
    // All 2^10 sign patterns of ten fixed magnitudes: the mean of E is exactly 1.
    const double size[10] = {0.1, 3, 0.5, 100, 1, 1e-9, 2, 0.7, 5, 0.01};
    double sum = 0;
    for (unsigned pattern = 0; pattern < 1024; pattern++) {
        struct eprocess e = {0};
        for (int i = 0; i < 10; i++)
            eprocess_add(&e, pattern >> i & 1 ? size[i] : -size[i]);
        sum += exp(eprocess_log(&e)) / 1024;
    }
    assert_true(fabs(sum - 1) < 1e-12);
}

TEST(bet_dominates_the_closed_form)
{
    const double tiny = 1e-12;
    for (double z = -2; z <= 2; z += 0.037) {
        struct eprocess e = {0};
        eprocess_add(&e, z);
        double largest = -INFINITY;
        for (int i = 0; i < EPROCESS_BETS; i++) {
            double b = 0.2 * pow(2, i);
            assert_true(e.log_wealth[i] >= b * z - 0.5 * b * b * z * z - tiny);
            largest = fmax(largest, e.log_wealth[i]);
        }
        assert_true(largest <= M_LN2);
    }
}

TEST(batch_equals_stream)
{
    struct random random = {9};
    double y[40], scale[40];
    struct eprocess up = {0}, down = {0};
    for (int i = 0; i < 40; i++) {
        y[i] = 0.01 * random_normal(&random);
        scale[i] = 0.005 + 0.01 * random_uniform(&random);
        eprocess_add(&up, (y[i] - 0.002) / scale[i]);
        eprocess_add(&down, (0.002 - y[i]) / scale[i]);
    }
    assert_true(fabs(eprocess_of(y, scale, 40, 0.002, 1) - eprocess_log(&up)) < 1e-12);
    assert_true(fabs(eprocess_of(y, scale, 40, 0.002, -1) - eprocess_log(&down)) < 1e-12);
}

// A stream cut in pieces is still one bet; multiplying the pieces' own evidence would be another.
TEST(joined_pieces_are_the_whole_stream)
{
    struct random random = {77};
    struct eprocess whole = {0}, pieces[3] = {{{0}}}, joint = {0};
    double product = 0;
    for (int i = 0; i < 90; i++) {
        double z = 0.3 + random_normal(&random);
        eprocess_add(&whole, z);
        eprocess_add(&pieces[i / 30], z);
    }
    for (int i = 0; i < 3; i++) {
        eprocess_join(&joint, &pieces[i]);
        product += eprocess_log(&pieces[i]);
    }
    assert_true(fabs(eprocess_log(&joint) - eprocess_log(&whole)) < 1e-9);
    assert_true(eprocess_log(&joint) > product + 1);
}

// The bound is where the evidence crosses the limit.
TEST(bound_inverts_the_evidence)
{
    struct random random = {31};
    double y[60], scale[60];
    for (int i = 0; i < 60; i++) {
        y[i] = 0.01 + 0.004 * random_normal(&random);
        scale[i] = 0.004;
    }
    for (int side = -1; side <= 1; side += 2) {
        double bound = eprocess_bound(y, scale, 60, log(40), side);
        double at = eprocess_of(y, scale, 60, bound, side);
        assert_true(fabs(at - log(40)) < 1e-3);
        assert_true(side * (0.01 - bound) > 0 && fabs(bound - 0.01) < 0.004);
    }
}

TEST(bound_is_infinite_without_enough_pairs)
{
    double y[5] = {1, 1, 1, 1, 1}, scale[5] = {1, 1, 1, 1, 1};
    assert_true(eprocess_bound(y, scale, 5, log(40), 1) < -DBL_MAX);
    assert_true(eprocess_bound(y, scale, 5, log(40), -1) > DBL_MAX);
    assert_true(eprocess_bound(y, scale, 0, log(40), 1) < -DBL_MAX);
}

// Chance that the interval ever (at any of the looks) misses the truth.
TEST(bounds_cover_at_every_look)
{
    int missed = 0, total = 0;
    for (int noise = 0; noise < NOISE_KINDS; noise++) {
        for (uint64_t seed = 0; seed < 150; seed++, total++) {
            double y[64], scale[64];
            struct duet duet = duet_start((enum noise)noise, 0.004, 0.01, seed + 900);
            bool miss = false;
            for (uint32_t n = 0; n < 64; n++) {
                y[n] = duet_log_ratio(&duet);
                scale[n] = 0.006;
                if (n % 16 != 15)
                    continue;
                miss |= eprocess_bound(y, scale, n + 1, log(40), 1) > 0.01;
                miss |= eprocess_bound(y, scale, n + 1, log(40), -1) < 0.01;
            }
            missed += miss;
        }
    }
    assert_true(missed <= allowed(0.05, total));
    assert_true(missed > 0); // or it would be far too wide
}

// Ten stalls of 100 SD among 120 pairs do not hide a change of 1 SD.
TEST(stalls_do_not_undo_the_evidence)
{
    struct random random = {4};
    struct eprocess e = {0};
    for (int i = 0; i < 120; i++)
        eprocess_add(&e, i % 12 == 0 ? -100 : 1 + random_normal(&random));
    assert_true(eprocess_log(&e) > log(1000));
}

TEST(extreme_values_stay_finite)
{
    struct eprocess e = {0};
    for (int i = 0; i < 1000; i++)
        eprocess_add(&e, i % 2 ? 1e12 : -1e12);
    assert_true(isfinite(eprocess_log(&e)) && eprocess_log(&e) < 0);
    double same[8] = {0};
    assert_true(isfinite(eprocess_scale_free(same, 8)) && eprocess_scale_free(same, 8) < 0);
    double equal[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    assert_true(eprocess_scale_free(equal, 8) > log(100));
}

// One true effect among many nulls, all sharing one common disturbance: the worst dependence.
TEST(ebh_keeps_its_rate_under_dependence)
{
    const double q = 0.1;
    double share = 0;
    int found = 0;
    for (uint64_t seed = 0; seed < 2000; seed++) {
        struct random random = {seed * 31 + 7};
        double log_e[50], common = random_normal(&random);
        bool rejected[50];
        for (int i = 0; i < 50; i++) { // exp(b z - b^2/2) is an e-value of a standard normal z
            double z = sqrt(0.8) * common + sqrt(0.2) * random_normal(&random);
            log_e[i] = i < 5 ? 12 : 3 * z - 4.5;
        }
        size_t count = ebh(rejected, log_e, 50, q), wrong = 0;
        for (int i = 5; i < 50; i++)
            wrong += rejected[i];
        found += rejected[0];
        share += count ? (double)wrong / (double)count : 0;
    }
    assert_true(found == 2000);
    assert_true(share / 2000 <= q);
}

TEST(ebh_follows_its_definition)
{
    bool rejected[4];
    // Limits for q = 0.1, N = 4: e >= 40, 20, 13.3, 10.
    const double one[4] = {log(39), log(19), log(13), log(9)};
    assert_int_equal(ebh(rejected, one, 4, 0.1), 0);
    const double all[4] = {log(10.1), log(11), log(12), log(13)};
    assert_int_equal(ebh(rejected, all, 4, 0.1), 4);
    const double two[4] = {log(21), NAN, log(25), -INFINITY};
    assert_int_equal(ebh(rejected, two, 4, 0.1), 2);
    assert_true(rejected[0] && !rejected[1] && rejected[2] && !rejected[3]);
    const double holes[4] = {NAN, log(11), NAN, log(39)};
    assert_int_equal(ebh(rejected, holes, 4, 0.1), 0);
    const double one_hole[4] = {NAN, log(14), log(15), log(16)};
    assert_int_equal(ebh(rejected, one_hole, 4, 0.1), 3);
    assert_false(rejected[0]);
    assert_int_equal(ebh(rejected, NULL, 0, 0.1), 0);
}
