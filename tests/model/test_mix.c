// SPDX-License-Identifier: Apache-2.0
//
// A mix's change is the change of its weighted time, and its interval holds it as often as it says.
#include "model/gate/verdict.h"
#include "tests/helpers/helper_random.h"
#include "tests/helpers/test.h"

#include <math.h>

TEST(it_is_the_ratio_of_weighted_times)
{
    // 3 x 100 us and 1 x 500 us: 800 us become 3 x 101 + 500 = 803.
    const struct mix_part parts[] = {
        {.weight = 3, .time_ns = 100e3, .log_ratio = {log(1.01), log(1.008), log(1.012)}},
        {.weight = 1, .time_ns = 500e3, .log_ratio = {0, 0, 0}},
    };
    const struct interval change = mix_change(parts, 2);
    assert_true(fabs(exp(change.value) - 803.0 / 800) < 1e-12);
    // Its half-width is the share's: 300 of 800.
    assert_true(fabs(change.value - change.low - 0.375 * (log(1.01) - log(1.008))) < 1e-9);
}

// Ten parts, each within its own margin, and the sum of them is not.
TEST(many_small_changes_show_together)
{
    struct mix_part parts[10];
    for (int i = 0; i < 10; i++)
        parts[i] = (struct mix_part){
            .weight = 1, .time_ns = 1e5, .log_ratio = {0.002, 0.002 - 0.0015, 0.002 + 0.0015}};
    assert_int_equal(mix_standing(mix_change(parts, 1), 0.001), VERDICT_UNDECIDED);
    assert_int_equal(mix_standing(mix_change(parts, 10), 0.001), VERDICT_SLOWER);
    for (int i = 0; i < 10; i++)
        parts[i].log_ratio = (struct interval){-0.002, -0.0035, -0.0005};
    assert_int_equal(mix_standing(mix_change(parts, 10), 0.001), VERDICT_FASTER);
}

// "Same" is a claim too: an interval that reaches beyond the margin makes none.
TEST(it_is_the_same_only_within_its_margin)
{
    static const struct {
        struct interval change;
        enum verdict_kind kind;
    } cases[] = {
        {{0.001, -0.001, 0.003}, VERDICT_SAME},     {{0.001, -0.001, 0.005}, VERDICT_UNDECIDED},
        {{0.083, 0.035, 0.153}, VERDICT_UNDECIDED}, {{-0.003, -0.005, -0.001}, VERDICT_UNDECIDED},
        {{0.010, 0.008, 0.012}, VERDICT_SLOWER},    {{-0.010, -0.012, -0.008}, VERDICT_FASTER}};
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++)
        assert_int_equal(mix_standing(cases[i].change, 0.004), cases[i].kind);
}

TEST(the_interval_holds_the_truth_as_often_as_it_says)
{
    enum { ROUNDS = 20000, PARTS = 5 };
    struct random random = {11};
    int inside = 0, alarms = 0;
    for (int round = 0; round < ROUNDS; round++) {
        struct mix_part parts[PARTS];
        for (int i = 0; i < PARTS; i++) {
            const double se = 0.0005 * (1 + i), seen = se * random_normal(&random);
            parts[i] = (struct mix_part){.weight = 1 + i,
                                         .time_ns = 1e5 / (1 + i),
                                         .log_ratio = {seen, seen - 1.96 * se, seen + 1.96 * se}};
        }
        const struct interval change = mix_change(parts, PARTS);
        inside += change.low <= 0 && change.high >= 0;
        alarms += mix_standing(change, 1e-9) != VERDICT_UNDECIDED;
    }
    assert_in_range(inside, (int)(0.943 * ROUNDS), (int)(0.957 * ROUNDS));
    assert_in_range(alarms, 1, (int)(0.002 * ROUNDS));
}
