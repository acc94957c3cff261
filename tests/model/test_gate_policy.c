// SPDX-License-Identifier: Apache-2.0
//
// What a gate's numbers become where its pairs make a link: with the code before, or with a mark.
#include "model/gate/gate.h"
#include "tests/helpers/test.h"

// Pairs of this shift and SD, played by a policy until it is over.
static struct gate_decision played(const struct gate_policy *policy, double shift, double sd)
{
    struct arena arena = {0};
    struct gate_series series;
    gate_series_init(&series, policy, &arena);
    struct gate_decision d = gate_series_decide(&series);
    for (uint32_t i = 0; d.next != GATE_DONE; d = gate_series_decide(&series)) {
        if (d.next == GATE_CONFIRM)
            gate_series_fresh_process(&series);
        for (uint32_t k = 0; k < policy->block_pairs; k++, i++)
            gate_series_add(&series, (double[]){shift + (i % 2 ? sd : -sd)}, 1);
    }
    arena_free(&arena);
    return d;
}

TEST(a_link_with_a_mark_measures_in_one_process)
{
    struct gate_policy gate = gate_policy_default("cuda", 1e6), level = gate;
    gate_policy_use(&level, GATE_FOR_LEVEL, 0.001);
    assert_int_equal(level.processes, 1);
    assert_int_equal(played(&gate, 0.05, 0.002).processes, 4);
    const struct gate_decision far = played(&level, 0.05, 0.002), none = played(&level, 0, 0.002);
    assert_int_equal(far.processes, 1);
    assert_int_equal(far.kind, VERDICT_SLOWER);
    assert_int_equal(none.kind, VERDICT_SAME);
    // Both are measured as well, whatever they say: 0.2 % in 16 pairs is 0.05 %, and they come
    // by 8.
    assert_int_equal(far.pairs, none.pairs);
    assert_true(none.pairs >= 16 && none.pairs <= 32);
    assert_int_equal(played(&level, 0, 0.005).kind, VERDICT_SAME);
    assert_true(played(&level, 0, 0.005).pairs > 2 * none.pairs);
    assert_int_equal(played(&level, 0, 0.05).pairs, level.max_pairs); // it gives up
}

TEST(a_noisy_links_budget_is_the_plain_one)
{
    const struct gate_policy gate = gate_policy_default("cuda", 1e6);
    struct gate_policy change = gate, same = gate;
    gate_policy_use(&change, GATE_FOR_CHANGE, 0.001);
    gate_policy_use(&same, GATE_FOR_VERDICT, 0.001);
    assert_memory_equal(&same, &gate, sizeof(gate));
    assert_true(played(&gate, 0, 0.05).pairs > 1000);
    const uint32_t plain = gate.max_pairs + (gate.processes - 1) * gate.confirm_pairs;
    assert_int_equal(played(&change, 0, 0.05).pairs, plain);
    // A change is found, and confirmed, as a gate does it.
    assert_int_equal(played(&change, 0.05, 0.02).kind, VERDICT_SLOWER);
    assert_int_equal(played(&change, 0.05, 0.02).processes, gate.processes);
}
