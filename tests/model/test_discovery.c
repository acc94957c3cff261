// SPDX-License-Identifier: Apache-2.0
//
// The share of false discoveries in a long stream of tests stays bounded, at every moment, where
// one threshold for all of them does not hold it.
#include "model/history/event.h"
#include "tests/helpers/helper_random.h"
#include "tests/helpers/test.h"

#include <math.h>

enum { TESTS = 3000, HISTORIES = 400 };

// One fair bet against "no change" that goes well when there is one: exp(b z - b^2 / 2).
static double log_evidence(struct random *random, double shift)
{
    const double bet = 4;
    return bet * (random_normal(random) + shift) - bet * bet / 2;
}

struct outcome {
    double share; // false discoveries of all, the worst mean over histories at any of ten moments
    double power; // of the true changes, found
};

// `changes`: the share of tests that are true ones. `fixed` > 0: that log threshold instead.
// `shared`: all tests of a day see one and the same noise.
static struct outcome simulate(double changes, double fixed, bool shared)
{
    double sums[10] = {0}, found_true = 0, all_true = 0;
    struct random random = {20261122};
    for (int h = 0; h < HISTORIES; h++) {
        struct discoveries d = {.q = 0.05};
        double found = 0, wrong = 0, noise = 0;
        for (int t = 0; t < TESTS; t++) {
            const bool real = random_uniform(&random) < changes;
            if (t % 20 == 0 || !shared)
                noise = log_evidence(&random, 0);
            const double log_e = noise + (real ? 4 * 8 : 0);
            const bool yes = fixed > 0 ? log_e >= fixed : discovery_test(&d, log_e);
            found += yes;
            wrong += yes && !real;
            found_true += yes && real;
            all_true += real;
            if ((t + 1) % (TESTS / 10) == 0)
                sums[t / (TESTS / 10)] += found > 0 ? wrong / found : 0;
        }
    }
    struct outcome out = {0, all_true > 0 ? found_true / all_true : 1};
    for (int i = 0; i < 10; i++)
        out.share = fmax(out.share, sums[i] / HISTORIES);
    print_message("changes %.3f: false %.4f, found %.3f\n", changes, out.share, out.power);
    return out;
}

TEST(false_discoveries_are_bounded_at_every_moment)
{
    static const double changes[] = {0, 0.002, 0.05, 0.3};
    for (size_t i = 0; i < ARRAY_COUNT(changes); i++) {
        for (int shared = 0; shared < 2; shared++)
            assert_true(simulate(changes[i], 0, shared).share <= 0.05);
    }
}

// 1 / 0.001 for each link, as for one gate: with thousands of links nearly all alarms are false.
TEST(one_threshold_for_all_does_not_bound_them)
{
    assert_true(simulate(0, log(100), false).share > 0.5);
}

TEST(most_changes_are_found)
{
    assert_true(simulate(0.05, 0, false).power > 0.8);
}

TEST(nothing_is_no_evidence)
{
    struct discoveries d = {.q = 0.05};
    assert_false(discovery_test(&d, NAN));
    assert_false(discovery_test(&d, -INFINITY));
    assert_true(discovery_test(&d, INFINITY));
    assert_int_equal(d.tests, 3);
    assert_int_equal(d.found, 1);
}
