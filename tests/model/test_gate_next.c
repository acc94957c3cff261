// SPDX-License-Identifier: Apache-2.0
//
// The order in which a gate's series are played, on simulated sets of series that have verdicts to
// come by and some that never will.
#include "model/gate/gate.h"
#include "tests/helpers/helper_random.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <string.h>

enum { SERIES = 30, SETS = 16 };

TEST(next_series_is_round_robin_then_most_verdicts_per_second)
{
    struct gate_turn turns[4] = {
        {GATE_MORE, .pairs = 16, .min_pairs = 16, .outlook = 0.5, .block_s = 1e-3},
        {GATE_MORE, .pairs = 8, .min_pairs = 16, .outlook = 0, .block_s = 1e-3},
        {GATE_DONE, .pairs = 0, .min_pairs = 16, .outlook = 1, .block_s = 1e-3},
        {GATE_MORE, .pairs = 16, .min_pairs = 16, .outlook = 0.5, .block_s = 1e-4},
    };
    assert_int_equal(gate_next_series(turns, 4), 1);
    turns[1].pairs = 24;
    assert_int_equal(gate_next_series(turns, 4), 3); // as likely, ten times cheaper
    turns[3].next = GATE_CONFIRM;
    assert_int_equal(gate_next_series(turns, 4), 0);
    turns[0].outlook = 0; // nothing to be had from either: the one with fewer pairs
    assert_int_equal(gate_next_series(turns, 4), 0);
    turns[0].pairs = 32;
    assert_int_equal(gate_next_series(turns, 4), 1);
    turns[0].next = turns[1].next = GATE_DONE;
    assert_true(gate_next_series(turns, 4) == SIZE_MAX);
    assert_true(gate_next_series(NULL, 0) == SIZE_MAX);
}

// ---- one series ----

// Adds pairs of this shift, half of them one SD above and half below, so that the mean is exact.
static double outlook_after(double shift, double sd, uint32_t pairs, struct gate_decision *d)
{
    struct arena arena = {0};
    struct gate_series series;
    struct gate_policy policy = gate_policy_default("cuda", 1e6);
    policy.scale = sd;
    policy.scale_pairs = 16;
    gate_series_init(&series, &policy, &arena);
    for (uint32_t i = 0; i < pairs; i++)
        gate_series_add(&series, (double[]){shift + (i % 2 ? sd : -sd)}, 1);
    *d = gate_series_decide(&series);
    const double outlook = gate_outlook(&series, d);
    arena_free(&arena);
    return outlook;
}

// It decides nothing, so no further process confirms anything: the pairs that its standard error
// takes.
TEST(what_only_measures_has_its_pairs_left_and_no_process)
{
    struct arena arena = {0};
    struct gate_series series;
    struct gate_policy policy = gate_policy_default("cuda", 1e6);
    policy.scale = 0.01;
    policy.scale_pairs = 16;
    policy.enough = 0.0005; // (0.01 / 0.0005)^2 = 400 pairs, more than it may take
    gate_series_init(&series, &policy, &arena);
    for (uint32_t i = 0; i < 64; i++)
        gate_series_add(&series, (double[]){i % 2 ? 0.01 : -0.01}, 1);
    const struct gate_decision now = gate_series_decide(&series);
    const struct gate_left left = gate_left(&series, &now);
    assert_int_equal(now.next, GATE_MORE);
    assert_true(left.processes == 0 && left.pairs == policy.max_pairs - 64);
    arena_free(&arena);
}

TEST(all_evidence_below_the_margin_promises_nothing)
{
    struct gate_decision stuck, near, same;
    // 0.28 % is between floor (0.15) and margin (0.3): real, and too small to count.
    const double none = outlook_after(0.0028, 0.002, 160, &stuck);
    assert_true(stuck.log_evidence > -log(1e-3));
    assert_int_equal(stuck.next, GATE_MORE);
    const double some = outlook_after(0.0038, 0.01, 160, &near);
    assert_true(near.log_evidence < stuck.log_evidence);
    const double much = outlook_after(0, 0.01, 64, &same);
    assert_true(none < some && none < 0.5 * much);
}

TEST(outlook_grows_with_distance_and_shrinks_with_noise)
{
    struct gate_decision d;
    const double clear = outlook_after(0.012, 0.015, 32, &d),
                 less = outlook_after(0.008, 0.015, 32, &d);
    const double close = outlook_after(0.004, 0.015, 32, &d);
    assert_true(clear > less && less > close && close >= 0);
    assert_true(fabs(outlook_after(-0.008, 0.015, 32, &d) / less - 1) < 1e-6);
    assert_true(outlook_after(0.008, 0.03, 32, &d) < less);
    assert_true(clear <= 1); // no verdict without a block
}

// ---- sets of series ----

struct simulated {
    struct gate_series gate;
    struct gate_decision decision;
    struct random random;
    double shift, sd, block_s, outlook, decided_s; // decided_s: 0 without a verdict
};

struct mixture {
    const char *name;
    double same, between; // shares; the rest is changed by 1 to 5 margins
};

static const struct mixture mixtures[] = {
    {"nothing changed", 1, 0},          {"all changed", 0, 0},        {"a few changed", 0.9, 0.02},
    {"a third each", 1 / 3.0, 1 / 3.0}, {"mostly between", 0.2, 0.6},
};

static void draw_set(struct simulated *set, const struct mixture *mix, uint64_t seed,
                     struct arena *arena)
{
    struct random random = {seed * 7919 + 3};
    for (size_t i = 0; i < SERIES; i++) {
        struct simulated *s = &set[i];
        struct gate_policy policy = gate_policy_default("cuda", 1e6);
        *s = (struct simulated){.random = {seed * 104729 + i}};
        const double kind = random_uniform(&random), size = random_uniform(&random);
        if (kind >= mix->same + mix->between)
            s->shift = policy.margin * (1 + 4 * size);
        else if (kind >= mix->same)
            s->shift = policy.margin * (0.55 + 0.4 * size);
        s->shift *= random_uniform(&random) < 0.5 ? -1 : 1;
        s->sd = 0.002 * exp(1.8 * random_uniform(&random)); // 0.2 to 1.2 %
        s->block_s = 5e-4 * exp(3 * random_uniform(&random));
        policy.processes = 1;
        gate_series_init(&s->gate, &policy, arena);
        s->decision = gate_series_decide(&s->gate);
    }
}

static size_t fewest_pairs(const struct gate_turn *turns, size_t count)
{
    size_t next = SIZE_MAX;
    for (size_t i = 0; i < count; i++) {
        if (turns[i].next == GATE_MORE && (next == SIZE_MAX || turns[i].pairs < turns[next].pairs))
            next = i;
    }
    return next;
}

static void play_block(struct simulated *s)
{
    for (uint32_t i = 0; i < s->gate.policy.block_pairs; i++)
        gate_series_add(&s->gate, (double[]){s->shift + s->sd * random_normal(&s->random)}, 1);
    s->decision = gate_series_decide(&s->gate);
    s->outlook = gate_outlook(&s->gate, &s->decision);
}

struct played {
    double whole_s, last_s, mean_s; // all budgets; until the last verdict; until a verdict
    uint32_t pairs, verdicts, last_pairs;
};

static struct played play(struct simulated *set, size_t (*order)(const struct gate_turn *, size_t))
{
    struct played p = {0};
    struct gate_turn turns[SERIES];
    for (;;) {
        for (size_t i = 0; i < SERIES; i++)
            turns[i] =
                (struct gate_turn){set[i].decision.next, set[i].decision.pairs,
                                   set[i].gate.policy.min_pairs, set[i].outlook, set[i].block_s};
        const size_t next = order(turns, SERIES);
        if (next == SIZE_MAX)
            break;
        struct simulated *s = &set[next];
        play_block(s);
        p.whole_s += s->block_s;
        p.pairs += s->gate.policy.block_pairs;
        if (s->decision.next != GATE_DONE || s->decision.kind == VERDICT_UNDECIDED)
            continue;
        s->decided_s = p.last_s = p.whole_s;
        p.last_pairs = p.pairs;
        p.mean_s += p.whole_s;
        p.verdicts++;
    }
    p.mean_s /= fmax(1, p.verdicts);
    return p;
}

static size_t verdicts_by(const struct simulated *set, double s)
{
    size_t count = 0;
    for (size_t i = 0; i < SERIES; i++)
        count += set[i].decided_s > 0 && set[i].decided_s <= s;
    return count;
}

// Sums over sets: until a verdict, until the last one (and in pairs), verdicts at a quarter, half
// and three quarters of the time that all budgets take.
struct totals {
    double mean_s, last_s, last_pairs, verdicts[3];
};

static void add(struct totals *sum, const struct played *p, const struct simulated *set)
{
    sum->mean_s += p->mean_s;
    sum->last_s += p->last_s;
    sum->last_pairs += p->last_pairs;
    for (size_t q = 0; q < 3; q++)
        sum->verdicts[q] += (double)verdicts_by(set, 0.25 * (double)(q + 1) * p->whole_s);
}

static void compare(struct totals *ours, struct totals *robin, const struct mixture *mix,
                    uint64_t seed)
{
    struct arena arena = {0};
    struct simulated set[SERIES], other[SERIES];
    draw_set(set, mix, seed, &arena);
    draw_set(other, mix, seed, &arena);
    const struct played a = play(set, gate_next_series), b = play(other, fewest_pairs);
    // The order moves no verdict, and in all nothing is played more or less often.
    assert_true(a.pairs == b.pairs && a.verdicts == b.verdicts);
    for (size_t i = 0; i < SERIES; i++) {
        assert_int_equal(set[i].decision.kind, other[i].decision.kind);
        assert_true(set[i].decision.log_evidence == other[i].decision.log_evidence);
    }
    add(ours, &a, set);
    add(robin, &b, other);
    arena_free(&arena);
}

TEST(verdicts_come_no_later_than_by_turns)
{
    print_message("round robin = 1:       until a verdict  the last  its pairs  verdicts at 1/4 "
                  "1/2 3/4 of the time\n");
    for (size_t m = 0; m < sizeof(mixtures) / sizeof(*mixtures); m++) {
        struct totals a = {0}, b = {0};
        for (uint64_t seed = 0; seed < SETS; seed++)
            compare(&a, &b, &mixtures[m], seed);
        print_message("%-22s %15.2f %9.2f %10.2f %18.2f %3.2f %3.2f\n", mixtures[m].name,
                      a.mean_s / b.mean_s, a.last_s / b.last_s, a.last_pairs / b.last_pairs,
                      a.verdicts[0] / b.verdicts[0], a.verdicts[1] / b.verdicts[1],
                      a.verdicts[2] / b.verdicts[2]);
        assert_true(a.mean_s < b.mean_s);
        // The last one waits for slow launches in either order.
        assert_true(a.last_s <= 1.01 * b.last_s && a.last_pairs <= 1.01 * b.last_pairs);
        for (size_t q = 0; q < 3; q++)
            assert_true(a.verdicts[q] >= b.verdicts[q]);
    }
}

// What is left to confirm and what would decide are told from the pairs so far.
TEST(a_series_with_an_alarm_knows_what_confirms_it)
{
    struct gate_decision clear, faint, same;
    struct arena arena = {0};
    struct gate_series series;
    struct gate_policy policy = gate_policy_default("cuda", 1e6);
    policy.scale = 0.002;
    policy.scale_pairs = 16;
    uint32_t taken[2];
    for (int i = 0; i < 2; i++) { // a change of 2 %, and one just above the margin of 0.3 %
        struct gate_decision *d = i ? &faint : &clear;
        gate_series_init(&series, &policy, &arena);
        for (uint32_t k = 0; k < 32; k++)
            gate_series_add(&series, (double[]){(i ? 0.0036 : 0.02) + (k % 2 ? 0.002 : -0.002)}, 1);
        *d = gate_series_decide(&series);
        d->kind = VERDICT_SLOWER;
        d->next = GATE_CONFIRM;
        taken[i] = gate_confirmation_pairs(&series, d);
        same = *d;
        same.kind = VERDICT_SAME;
        assert_int_equal(gate_confirmation_pairs(&series, &same), 0);
        same = *d;
        same.next = GATE_DONE;
        assert_int_equal(gate_confirmation_pairs(&series, &same), 0);
    }
    assert_true(taken[0] > 0 && taken[1] > taken[0]);
    arena_free(&arena);
}

static double missing_after(double shift, uint32_t pairs)
{
    struct arena arena = {0};
    struct gate_series series;
    struct gate_policy policy = gate_policy_default("cuda", 1e6);
    policy.scale = 0.01;
    policy.scale_pairs = 16;
    gate_series_init(&series, &policy, &arena);
    for (uint32_t i = 0; i < pairs; i++)
        gate_series_add(&series, (double[]){shift + (i % 2 ? 0.01 : -0.01)}, 1);
    const struct gate_decision d = gate_series_decide(&series);
    const double missing = gate_missing_pairs(&series, &d);
    assert_true(isinf(missing) || fmod(missing, policy.block_pairs) == 0); // whole blocks
    arena_free(&arena);
    return missing;
}

TEST(more_pairs_decide_what_is_far_from_the_margin_and_nothing_at_it)
{
    assert_true(missing_after(0, 64) > missing_after(0, 128));
    assert_true(missing_after(0.0005, 64) > missing_after(0, 64));
    assert_true(isinf(missing_after(0.00299, 64))); // the margin is 0.3 %
    assert_true(missing_after(0.02, 16) < missing_after(0.01, 16));
}
