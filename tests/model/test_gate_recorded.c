// SPDX-License-Identifier: Apache-2.0
//
// The gate on duets recorded on an H200 (tests/data/h200-noise-pairs.csv). bench_gate prints the
// whole comparison; this keeps its conclusions from changing unseen.
#include "model/gate/gate.h"
#include "tests/helpers/helper_duets.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct duets *recorded;

static int read_recorded(void **state)
{
    struct error err;
    recorded = xcalloc(1, sizeof(*recorded));
    return duets_read(recorded, TEST_DATA "/h200-noise-pairs.csv", &err);
}

static int free_recorded(void **state)
{
    duets_free(recorded);
    return 0;
}

AROUND_ALL(read_recorded, free_recorded);

static const struct duet_series *find(const char *shape, double batch, const char *variant)
{
    for (size_t i = 0; i < recorded->count; i++) {
        const struct duet_series *s = &recorded->series[i];
        if (strcmp(s->shape, shape) == 0 && strcmp(s->variant, variant) == 0 &&
            fabs(s->batch - batch) < 0.5)
            return s;
    }
    fail_msg("%s x %g %s is not recorded", shape, batch, variant);
    return NULL;
}

// The first process alone, then three more: every pair of four recorded processes at most.
static struct gate_decision gate(const struct draw *draw, double time_ns)
{
    struct arena arena = {0};
    struct gate_policy policy = gate_policy_default("cuda", time_ns);
    policy.max_pairs = policy.confirm_pairs = 64;
    policy.stretch = 1; // there are no more of a process
    struct gate_series series;
    gate_series_init(&series, &policy, &arena);
    struct gate_decision d = gate_series_decide(&series);
    for (size_t at = 0; d.next != GATE_DONE; d = gate_series_decide(&series)) {
        if (d.next == GATE_CONFIRM) {
            at = draw->end[series.processes - 1];
            gate_series_fresh_process(&series);
        }
        assert_true(at + 8 <= draw->end[series.processes - 1]);
        for (int i = 0; i < 8; i++, at++)
            gate_series_add(&series, (double[]){log(draw->head[at] / draw->base[at])}, 1);
    }
    arena_free(&arena);
    return d;
}

static int count_kind(const struct duet_series *s, double change, enum verdict_kind kind)
{
    struct draw draw = draw_new(s);
    struct random random = {99};
    int found = 0;
    for (int trial = 0; trial < 100; trial++) {
        draw_trial(&draw, s, change, false, &random);
        found += gate(&draw, 1e3 * draw.base[0] / s->batch).kind == kind;
    }
    draw_free(&draw);
    return found;
}

TEST(identical_builds_never_alarm)
{
    for (size_t i = 0; i < recorded->count; i++) {
        const struct duet_series *s = &recorded->series[i];
        if (strcmp(s->variant, "same") != 0)
            continue;
        assert_int_equal(s->count, 6);
        assert_int_equal(count_kind(s, 0, VERDICT_SLOWER), 0);
        assert_int_equal(count_kind(s, 0, VERDICT_FASTER), 0);
    }
}

TEST(identical_builds_are_the_same_within_64_pairs)
{
    assert_true(count_kind(find("4096", 1, "same"), 0, VERDICT_SAME) >= 95);
    assert_true(count_kind(find("2048", 5, "same"), 0, VERDICT_SAME) >= 95);
    assert_true(count_kind(find("128x7168x2048", 20, "same"), 0, VERDICT_SAME) >= 85);
    // Single launches of 20 us scatter by 4 %: that is not enough to say anything.
    assert_int_equal(count_kind(find("128x7168x2048", 1, "same"), 0, VERDICT_UNDECIDED), 100);
}

TEST(half_a_percent_of_a_large_kernel_is_found)
{
    assert_true(count_kind(find("4096", 1, "same"), 0.005, VERDICT_SLOWER) >= 90);
    assert_true(count_kind(find("4096", 1, "same"), -0.005, VERDICT_FASTER) >= 90);
}

TEST(one_percent_of_a_small_batched_kernel_is_found)
{
    assert_true(count_kind(find("2048", 5, "same"), 0.01, VERDICT_SLOWER) >= 95);
    assert_true(count_kind(find("128x7168x2048", 20, "same"), 0.01, VERDICT_SLOWER) >= 95);
}

// Real slowdowns below the margin are neither an alarm nor denied.
TEST(real_changes_below_the_margin_do_not_alarm)
{
    assert_int_equal(count_kind(find("4096", 1, "fence"), 0, VERDICT_SLOWER), 0);
    assert_int_equal(count_kind(find("4096", 1, "d03"), 0, VERDICT_SAME), 0);
}
