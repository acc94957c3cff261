// SPDX-License-Identifier: Apache-2.0
//
// One series of a gate: evidence, size, budgets, placement and what processes are worth. Rates over
// many gates are test_gate_rates.c.
#include "model/gate/gate.h"
#include "tests/helpers/helper_random.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <string.h>

// A process refutes at odds of 20: four pairs give at most 2^4, eight give enough.
TEST(few_contrary_pairs_are_not_yet_placement)
{
    struct arena arena = {0};
    struct gate_policy policy = gate_policy_default("cuda", 183e3);
    struct gate_series series;
    gate_series_init(&series, &policy, &arena);
    for (int i = 0; i < 64; i++)
        gate_series_add(&series, (double[]){0.006 + 1e-4 * (i % 3)}, 1);
    gate_series_fresh_process(&series);
    gate_series_add(&series, (double[4]){0}, 4);
    assert_false(gate_series_decide(&series).placement);
    gate_series_add(&series, (double[4]){0}, 4);
    assert_true(gate_series_decide(&series).placement);
    assert_int_equal(gate_series_decide(&series).kind, VERDICT_UNDECIDED);
    arena_free(&arena);
}

// A process that died under another series is no process of confirmation.
TEST(replaced_process_keeps_its_pairs_and_changes_no_budget)
{
    struct arena arena = {0};
    struct gate_policy policy = gate_policy_default("cuda", 183e3);
    struct gate_series series;
    policy.processes = 2;
    gate_series_init(&series, &policy, &arena);
    gate_series_replace_process(&series, &arena); // nothing measured yet: nothing to do
    assert_int_equal(series.processes, 1);
    gate_series_add(&series, (double[8]){0.01, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01}, 8);
    gate_series_replace_process(&series, &arena);
    assert_int_equal(series.processes, 2);
    assert_int_equal(gate_series_decide(&series).next, GATE_MORE);
    for (int i = 0; i < 24; i++)
        gate_series_add(&series, (double[]){0.01 + 1e-5 * (i % 3)}, 1);
    assert_int_equal(gate_series_decide(&series).pairs, 32);
    assert_int_equal(gate_series_decide(&series).next, GATE_CONFIRM);
    gate_series_fresh_process(&series);
    gate_series_add(&series, (double[8]){0.01, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01}, 8);
    gate_series_replace_process(&series, &arena);
    for (uint32_t i = 0; gate_series_decide(&series).next == GATE_MORE; i++) {
        assert_true(i < policy.confirm_pairs);
        gate_series_add(&series, (double[]){0.01 + 1e-5 * (i % 3)}, 1);
    }
    assert_int_equal(gate_series_decide(&series).next, GATE_DONE);
    assert_int_equal(gate_series_decide(&series).kind, VERDICT_SLOWER);
    assert_int_equal(series.processes, 4);
    arena_free(&arena);
}

TEST(replaced_process_leaves_the_first_budget_as_it_is)
{
    struct arena arena = {0};
    struct gate_policy policy = gate_policy_default("cuda", 183e3);
    struct gate_series series;
    struct duet duet = duet_start(NOISE_NORMAL, 0.02, 0.0022, 5);
    policy.stretch = 1;
    gate_series_init(&series, &policy, &arena);
    for (uint32_t i = 0; i < policy.max_pairs; i++) {
        assert_int_equal(gate_series_decide(&series).next, GATE_MORE);
        if (i % 50 == 49)
            gate_series_replace_process(&series, &arena);
        gate_series_add(&series, (double[]){duet_log_ratio(&duet)}, 1);
    }
    assert_int_equal(gate_series_decide(&series).next, GATE_CONFIRM); // open: another place
    assert_int_equal(series.processes, 6);
    arena_free(&arena);
}

TEST(split_into_calls_does_not_matter)
{
    struct arena arena = {0};
    struct gate_policy policy = gate_policy_default("cuda", 1e6);
    struct gate_series whole, parts;
    gate_series_init(&whole, &policy, &arena);
    gate_series_init(&parts, &policy, &arena);
    double y[100];
    struct duet duet = duet_start(NOISE_T3, 0.003, 0.004, 12);
    for (int i = 0; i < 100; i++)
        y[i] = duet_log_ratio(&duet);
    assert_int_equal(gate_series_add(&whole, y, 100), 100);
    for (size_t at = 0, step = 1; at < 100; at += step, step = step % 7 + 1)
        gate_series_add(&parts, y + at, at + step < 100 ? step : 100 - at);
    struct gate_decision a = gate_series_decide(&whole), b = gate_series_decide(&parts);
    assert_memory_equal(whole.scale, parts.scale, 100 * sizeof(double));
    assert_memory_equal(whole.streams, parts.streams, sizeof(*whole.streams));
    assert_true(a.kind == b.kind && a.pairs == b.pairs);
    arena_free(&arena);
}

TEST(companion_is_the_mixture_over_block_medians)
{
    struct arena arena = {0};
    struct gate_policy policy = gate_policy_default("cuda", 1e6);
    struct gate_series series;
    gate_series_init(&series, &policy, &arena);
    double medians[3], y[8];
    struct random random = {6};
    for (int block = 0; block < 3; block++) {
        for (int i = 0; i < 8; i++)
            y[i] = 0.004 + 0.003 * random_normal(&random);
        gate_series_add(&series, y, 8);
        medians[block] = robust_median(y, 8);
    }
    gate_series_add(&series, (double[]){9, 9, 9}, 3); // not yet a block
    assert_true(fabs(gate_series_decide(&series).log_blocks - eprocess_scale_free(medians, 3)) <
                1e-12);
    arena_free(&arena);
}

// The scale of a block may know what came before it and nothing else.
TEST(scale_is_predictable)
{
    struct arena arena = {0};
    struct gate_policy policy = gate_policy_default("cuda", 1e6);
    struct gate_series a, b;
    gate_series_init(&a, &policy, &arena);
    gate_series_init(&b, &policy, &arena);
    struct duet duet = duet_start(NOISE_NORMAL, 0.001, 0, 3);
    for (int i = 0; i < 24; i++) {
        double y = duet_log_ratio(&duet), changed = i < 16 ? y : 50 * y;
        gate_series_add(&a, &y, 1);
        gate_series_add(&b, &changed, 1);
    }
    double next = 0;
    assert_memory_equal(a.scale, b.scale, 24 * sizeof(double));
    gate_series_add(&a, &next, 1);
    gate_series_add(&b, &next, 1);
    assert_true(b.scale[24] > a.scale[24]);
    assert_true(fabs(a.scale[0] - policy.scale) < 1e-12);
    assert_true(a.scale[8] < 0.003 && a.scale[8] > 0.0005); // learnt from the first block
    arena_free(&arena);
}

TEST(history_fixes_the_scale_if_it_weighs_all)
{
    struct arena arena = {0};
    struct gate_policy policy = gate_policy_default("cuda", 1e6);
    policy.scale = 0.0025;
    policy.scale_pairs = INFINITY;
    struct gate_series series;
    gate_series_init(&series, &policy, &arena);
    struct duet duet = duet_start(NOISE_NORMAL, 0.01, 0, 3);
    for (int i = 0; i < 40; i++)
        gate_series_add(&series, (double[]){duet_log_ratio(&duet)}, 1);
    for (int i = 0; i < 40; i++)
        assert_true(fabs(series.scale[i] - 0.0025) < 1e-15);
    arena_free(&arena);
}

TEST(policy_learns_from_history_but_not_too_much)
{
    struct gate_policy policy = gate_policy_default("cuda", 1e6), before = policy;
    gate_policy_learn(&policy, (struct moderation){0, 0}, 0, 0);
    assert_memory_equal(&policy, &before, sizeof(policy));
    gate_policy_learn(&policy, (struct moderation){0.01, 4}, 0.03, 12);
    assert_true(fabs(policy.scale - sqrt(7e-4)) < 1e-12 && fabs(policy.scale_pairs - 16) < 1e-12);
    gate_policy_learn(&policy, (struct moderation){0.01, 4}, 0, 0);
    assert_true(fabs(policy.scale - 0.01) < 1e-12 && fabs(policy.scale_pairs - 4) < 1e-12);
    gate_policy_learn(&policy, (struct moderation){0.02, INFINITY}, 0.5, 100);
    assert_true(fabs(policy.scale - 0.02) < 1e-12 && fabs(policy.scale_pairs - 16) < 1e-12);
}

static struct gate_decision decide(const double *y, size_t count, size_t *taken, double interval[2])
{
    struct arena arena = {0};
    struct gate_policy policy = gate_policy_default("cuda", 1e6);
    struct gate_series series;
    gate_series_init(&series, &policy, &arena);
    *taken = gate_series_add(&series, y, count);
    struct gate_decision decision = gate_series_decide(&series);
    const struct interval d = gate_series_interval(&series);
    interval[0] = d.low;
    interval[1] = d.high;
    arena_free(&arena);
    return decision;
}

// 0.2 % is real, and seen beyond doubt, but it is below the margin. It is so near to it that a
// process with other places has to say so too.
TEST(evidence_without_size_is_no_alarm)
{
    size_t taken;
    double interval[2], y[TAIL_PAIRS];
    for (int side = -1; side <= 1; side += 2) {
        for (int i = 0; i < TAIL_PAIRS; i++)
            y[i] = side * (0.002 + 1e-5 * (i % 3));
        struct gate_decision d = decide(y, TAIL_PAIRS, &taken, interval);
        assert_true(d.log_evidence > log(1e6));
        assert_int_equal(d.kind, VERDICT_UNDECIDED);
        assert_true(d.near);
        assert_int_equal(d.next, GATE_CONFIRM);
    }
}

TEST(degenerate_data_decide_nothing_wrong)
{
    size_t taken;
    double interval[2], zeros[64] = {0}, equal[64], bad[4] = {NAN, INFINITY, -INFINITY, 0.5};
    for (int i = 0; i < 64; i++)
        equal[i] = 0.02;
    struct gate_decision d = decide(zeros, 64, &taken, interval);
    assert_int_equal(d.kind, VERDICT_SAME);
    assert_true(interval[0] <= 0 && interval[1] >= 0 && interval[1] < 0.003);
    d = decide(equal, 64, &taken, interval);
    assert_int_equal(d.kind, VERDICT_SLOWER);
    assert_true(fabs(d.log_ratio - 0.02) < 1e-12);
    d = decide(bad, 4, &taken, interval);
    assert_int_equal(taken, 1);
    assert_int_equal(d.kind, VERDICT_UNDECIDED);
    assert_true(d.pairs == 1 && fabs(d.log_ratio - 0.5) < 1e-12 && isinf(interval[0]));
    d = decide(zeros, 0, &taken, interval);
    assert_true(d.kind == VERDICT_UNDECIDED && d.next == GATE_MORE && isnan(d.log_ratio));
    assert_true(isinf(interval[0]) && isinf(interval[1]));
}

// Seven of eight pairs agree and one is far off: a clipped pair weighs less in the interval's bets
// than in the mean. The pairs are the same in all processes, so that nothing is between those.
TEST(the_interval_holds_the_point_whatever_the_noise)
{
    for (int far = 0; far <= 12; far++) {
        for (int side = -1; side <= 1; side += 2) {
            struct arena arena = {0};
            struct gate_policy policy = gate_policy_default("host", 1e5);
            struct gate_series series;
            gate_series_init(&series, &policy, &arena);
            for (int i = 0; i < 256; i++) {
                if (i > 0 && i % 64 == 0)
                    gate_series_fresh_process(&series);
                const double y = side * (i * 5 % 16 < far ? 0.8 : 0.4) + 0.01 * (i % 3 - 1);
                gate_series_add(&series, &y, 1);
                if (i % 8 != 7)
                    continue;
                const struct interval d = gate_series_interval(&series);
                assert_true(d.low <= d.value && d.value <= d.high);
            }
            arena_free(&arena);
        }
    }
}

TEST(budgets_grow_with_the_variance_up_to_the_limit)
{
    struct gate_policy policy = gate_policy_default("cuda", 1e6);
    assert_int_equal(gate_budget(&policy, 0, 256), 256);
    assert_int_equal(gate_budget(&policy, 0.0059, 256), 256);
    assert_int_equal(gate_budget(&policy, 0.00848, 64), 128);
    assert_int_equal(gate_budget(&policy, 0.5, 64), 256);
    policy.stretch = 1;
    assert_int_equal(gate_budget(&policy, 0.5, 64), 64);
}

// One process says +0.5 %, the next ones +0.22 %, which neither confirms nor refutes: the last goes
// on beyond its 64 pairs.
TEST(open_alarm_goes_on_in_the_last_process)
{
    struct arena arena = {0};
    struct gate_policy policy = gate_policy_default("cuda", 1e6);
    struct gate_series series;
    struct gate_decision decision;
    gate_series_init(&series, &policy, &arena);
    const double centre[] = {0.005, 0.0022, 0.0022, 0.0022};
    for (int i = 0; (decision = gate_series_decide(&series)).next != GATE_DONE; i++) {
        if (decision.next == GATE_CONFIRM)
            gate_series_fresh_process(&series);
        double y[8], where = centre[series.processes - 1];
        for (int j = 0; j < 8; j++)
            y[j] = where + (j % 2 ? 0.004 : -0.004);
        gate_series_add(&series, y, 8);
    }
    assert_int_equal(series.processes, 4);
    assert_int_equal(series.streams[1].pairs, policy.confirm_pairs);
    assert_true(series.streams[3].pairs > policy.confirm_pairs);
    assert_true(series.streams[3].pairs <= policy.max_pairs);
    arena_free(&arena);
}

// Identical code that is off by 0.22 % in one place and by nothing in the next: undecided in the
// first, the same as soon as the second has said so.
TEST(what_is_open_is_asked_again_in_another_place)
{
    struct arena arena = {0};
    struct gate_policy policy = gate_policy_default("cuda", 180e3);
    struct gate_series series;
    struct gate_decision decision;
    struct duet duet = duet_start(NOISE_NORMAL, 0.0068 * M_SQRT1_2, 0, 3);
    gate_series_init(&series, &policy, &arena);
    while ((decision = gate_series_decide(&series)).next != GATE_DONE) {
        if (decision.next == GATE_CONFIRM) {
            assert_int_equal(decision.kind, VERDICT_UNDECIDED);
            assert_true(decision.near == (series.processes > 1));
            assert_true(decision.pairs >= policy.max_pairs);
            gate_series_fresh_process(&series);
        }
        for (int j = 0; j < 8; j++)
            gate_series_add(
                &series, (double[]){duet_log_ratio(&duet) + (series.processes == 1 ? 0.0022 : 0)},
                1);
    }
    assert_int_equal(decision.kind, VERDICT_SAME);
    assert_int_equal(series.processes, 3); // with the second they are the same, but near the margin
    assert_true(series.streams[1].pairs < policy.max_pairs && !series.alarmed);
    arena_free(&arena);
}

// An alarm is not dropped because the pairs of both processes now say "same": the others are asked.
TEST(an_alarm_is_asked_of_every_process)
{
    struct arena arena = {0};
    struct gate_policy policy = gate_policy_default("cuda", 180e3);
    struct gate_series series;
    gate_series_init(&series, &policy, &arena);
    for (int i = 0; i < 24; i++)
        gate_series_add(&series, (double[]){0.006 + (i % 2 ? 0.004 : -0.004)}, 1);
    assert_int_equal(gate_series_decide(&series).kind, VERDICT_SLOWER);
    gate_series_fresh_process(&series);
    assert_true(series.alarmed);
    for (int i = 0; i < 64; i++)
        gate_series_add(&series, (double[]){i % 2 ? 0.004 : -0.004}, 1);
    assert_int_equal(gate_series_decide(&series).next, GATE_CONFIRM);
    arena_free(&arena);
}

TEST(pairs_beyond_the_budget_are_refused)
{
    size_t taken;
    double interval[2];
    static double many[5000];
    decide(many, ARRAY_COUNT(many), &taken, interval);
    assert_int_equal(taken, 4 * (256 + 2 * 64 + 256)); // the last process may go on
}

// ---- What a gate's numbers become where its pairs make a link: with the code before, or with a
// mark.

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

// ---- The margin of a series follows from its size, and not from how hot the GPU is.

enum { BLOCK = 8 };

static const struct problem fp8_cube = {
    .m = 4096, .n = 4096, .k = 4096, .batch = 1, .in = DTYPE_E4M3, .out = DTYPE_BF16};
static const struct problem thin = {
    .m = 65536, .n = 4, .k = 1024, .batch = 1, .in = DTYPE_FP32, .out = DTYPE_FP32};

static void fill(struct sample *out, uint16_t block, double time_us, double clock_ghz)
{
    for (uint32_t i = 0; i < BLOCK; i++)
        out[i] = (struct sample){.time_ns = time_us * 1e3,
                                 .clock_hz = clock_ghz * 1e9,
                                 .launches = 1,
                                 .pair = i,
                                 .block = block};
}

static double size_us(const struct problem *problem, const struct gpu *gpu, double time_us,
                      double clock_ghz)
{
    struct sample samples[BLOCK];
    fill(samples, 0, time_us, clock_ghz);
    return gate_size_ns(samples, BLOCK, problem, gpu) / 1e3;
}

static double margin(double size_us)
{
    return gate_policy_default("cuda", size_us * 1e3).margin;
}

// What an H200 took for one FP8 kernel, cool and beside a process that heats it
// (study/clocks-step).
TEST(a_hot_gpu_gives_a_kernel_no_other_margin)
{
    const struct gpu *h200 = gpu_find("h200-sxm");
    const double cool = size_us(&fp8_cube, h200, 93.5, 1.645);
    const double hot = size_us(&fp8_cube, h200, 118.3, 1.315);
    assert_true(fabs(hot / cool - 1) < 0.02);
    assert_true(cool > 75 && cool < 80);
    assert_true(margin(cool) == 0.005 && margin(hot) == 0.005);
}

TEST(half_a_percent_of_large_kernels_stays_in_reach)
{
    const struct gpu *h200 = gpu_find("h200-sxm");
    struct problem cube = fp8_cube;
    cube.in = DTYPE_BF16;
    const double cool = size_us(&cube, h200, 173, 1.64), hot = size_us(&cube, h200, 214, 1.315);
    assert_true(fabs(cool - 143.3) < 0.1 && fabs(hot / cool - 1) < 0.02);
    assert_true(margin(cool) == 0.003 && margin(hot) == 0.003);
}

// Bytes do not wait for the SMs: time at a low clock is the time at a high one.
TEST(what_memory_bounds_keeps_its_time)
{
    const struct gpu *h200 = gpu_find("h200-sxm");
    assert_true(fabs(size_us(&thin, h200, 110, 1.3) - 110) < 1e-6);
    assert_true(fabs(size_us(&thin, h200, 110, 1.96) - 110) < 1e-6);
}

TEST(without_clocks_the_time_is_all_there_is)
{
    const struct gpu *h200 = gpu_find("h200-sxm"), none = {0};
    assert_true(fabs(size_us(&fp8_cube, h200, 118.3, 0) - 118.3) < 1e-6);
    assert_true(fabs(size_us(&fp8_cube, &none, 118.3, 1.315) - 118.3) < 1e-6);
    // Stamps of a clock above the top one are noise.
    assert_true(fabs(size_us(&fp8_cube, h200, 78, 1.9805) - 78) < 1e-6);
    assert_true(gate_size_ns(NULL, 0, &fp8_cube, h200) == 0);
}

TEST(a_profile_without_rates_follows_the_clock)
{
    const struct gpu unknown = {.clock_max_hz = {.value = 2e9}};
    assert_true(fabs(size_us(&fp8_cube, &unknown, 120, 1.5) - 90) < 1e-6);
}

// Judging stored samples again, with all blocks at hand, must find what measuring found after one.
TEST(only_the_first_block_counts)
{
    struct sample samples[3 * BLOCK];
    fill(samples, 5, 94, 1.64);
    fill(samples + BLOCK, 6, 300, 1.64);
    fill(samples + 2 * BLOCK, 5, 300, 1.64);
    for (size_t i = 2 * BLOCK; i < 3 * BLOCK; i++)
        samples[i].process = 1;
    const struct gpu *h200 = gpu_find("h200-sxm");
    const double first = gate_size_ns(samples, BLOCK, &fp8_cube, h200);
    assert_true(first > 77e3 && first < 79e3);
    assert_true(gate_size_ns(samples, 3 * BLOCK, &fp8_cube, h200) == first);
}

// ---- Alarms of many series released together keep their false share under q.

TEST(release_pools_the_shapes_of_a_kernel)
{
    bool released[6];
    // Kernel 0: one clear shape of three. Kernel 1: nothing. Limits at q = 0.01: mean e >= 200,
    // then e >= 3 / 0.005 = 600.
    const size_t kernel[6] = {0, 0, 0, 1, 1, 1};
    double log_e[6] = {0, log(700), -1, 0.5, -3, -INFINITY};
    assert_int_equal(gate_release(released, log_e, kernel, 6, 0.01), 1);
    assert_true(!released[0] && released[1] && !released[3]);
    log_e[1] = log(500);
    assert_int_equal(gate_release(released, log_e, kernel, 6, 0.01), 0);
    // The kernel stands, its second shape (100 < 300) does not.
    log_e[0] = log(900);
    log_e[1] = log(100);
    assert_int_equal(gate_release(released, log_e, kernel, 6, 0.01), 1);
    assert_true(released[0] && !released[1]);
    // All shapes of one kernel at 250, each too weak for e-BH over six single series (600, 300,
    // 200).
    for (int i = 0; i < 3; i++)
        log_e[i] = log(250);
    assert_int_equal(gate_release(released, log_e, kernel, 6, 0.01), 3);
}

TEST(release_counts_every_kernel_once)
{
    bool released[3];
    // Limits over three kernels: 300, 150, 100.
    const size_t three[3] = {0, 1, 2}, gaps[2] = {7, 2};
    const double weak[3] = {log(150), log(60), 0}, strong[3] = {log(160), log(151), 0};
    assert_int_equal(gate_release(released, weak, three, 3, 0.01), 0);
    assert_int_equal(gate_release(released, strong, three, 3, 0.01), 2);
    const double one[2] = {log(250), 0}; // numbers need not be dense: two kernels, limit 200
    assert_int_equal(gate_release(released, one, gaps, 2, 0.01), 1);
    assert_int_equal(gate_release(NULL, NULL, NULL, 0, 0.01), 0);
}

TEST(false_releases_stay_under_q)
{
    int wrong_gates = 0;
    for (uint64_t seed = 0; seed < 3000; seed++) {
        struct random random = {seed * 53 + 1};
        double log_e[40], common = random_normal(&random);
        size_t kernel[40];
        bool released[40];
        for (size_t i = 0; i < 40; i++) {
            kernel[i] = i / 4;
            double z = 0.9 * common + sqrt(0.19) * random_normal(&random);
            log_e[i] = 3.5 * z - 0.5 * 3.5 * 3.5;
        }
        wrong_gates += gate_release(released, log_e, kernel, 40, 0.05) > 0;
    }
    assert_true(wrong_gates <= 0.05 * 3000);
}

// ---- Which stored samples make pairs, and that hostile ones do no harm.

static const double large_ns = 1e6;

// The order in which samples were written down does not matter, their numbers do.
TEST(pairs_are_matched_by_number)
{
    struct stored *a = stored_new(), *b = stored_new();
    struct gate_policy policy = gate_policy_default("cuda", large_ns);
    store_duet(a, 0.01, 64, 2);
    store_duet(b, 0.01, 64, 2);
    for (size_t i = 0; i < b->head.count / 2; i++) {
        struct sample swap = b->head_samples[i];
        b->head_samples[i] = b->head_samples[b->head.count - 1 - i];
        b->head_samples[b->head.count - 1 - i] = swap;
    }
    struct verdict va = stored_judge(a, &policy), vb = stored_judge(b, &policy);
    assert_memory_equal(&va.log_evidence, &vb.log_evidence, sizeof(double));
    assert_int_equal(vb.pairs, 128);
    stored_free(a);
    stored_free(b);
}

TEST(pair_counts_only_if_both_samples_are_usable)
{
    struct stored *s = stored_new();
    struct gate_policy policy = gate_policy_default("cuda", large_ns);
    store_duet(s, 0.0, 40, 1);
    s->base_samples[0].excluded = 1;
    s->head_samples[1].excluded = 1;
    s->base_samples[2].time_ns = 0;
    s->head_samples[3].time_ns = -5;
    s->head_samples[4].time_ns = NAN;
    s->base_samples[5].time_ns = INFINITY;
    s->base_samples[6].pair = 1000; // alone
    s->head_samples[7].time_ns = 5e-324;
    s->base_samples[7].time_ns = 1e308; // ratio underflows to zero
    s->base_samples[8].time_ns = -7;    // both negative: a ratio that looks fine
    s->head_samples[8].time_ns = -7;
    assert_int_equal(stored_judge(s, &policy).pairs, 31);
    struct gate_pair pairs[40];
    assert_int_equal(gate_pairs(pairs, &s->base, &s->head, &s->arena), 31);
    stored_free(s);
}

TEST(pair_number_that_occurs_twice_counts_once)
{
    struct stored *s = stored_new();
    struct gate_policy policy = gate_policy_default("cuda", large_ns);
    store_duet(s, 0.0, 10, 1);
    for (int i = 0; i < 10; i++)
        store_pair(s, 1e6, 2e6, i % 2, 3, 0);
    assert_int_equal(stored_judge(s, &policy).pairs, 10);
    s->base.count = 10; // doubles on one side only
    assert_int_equal(stored_judge(s, &policy).pairs, 10);
    stored_free(s);
}

TEST(no_usable_pair_is_undecided)
{
    struct stored *s = stored_new();
    struct gate_policy policy = gate_policy_default("cuda", large_ns);
    store_duet(s, 0, 16, 1);
    for (int i = 0; i < 16; i++)
        s->base_samples[i].excluded = 1;
    struct verdict v = stored_judge(s, &policy);
    assert_int_equal(v.kind, VERDICT_UNDECIDED);
    assert_true(v.pairs == 0 && v.processes == 0 && isinf(v.log_ratio.low) &&
                isinf(v.log_ratio.high));
    assert_non_null(strstr(v.sentence, "no usable pair"));
    stored_free(s);
}

TEST(clocks_ride_along_with_the_pairs)
{
    struct stored *s = stored_new();
    store_duet(s, 0, 4, 1);
    s->head_samples[0].clock_hz = 1.6e9 * exp(0.01);
    s->head_samples[1].clock_hz = 0;
    struct gate_pair pairs[4];
    assert_int_equal(gate_pairs(pairs, &s->base, &s->head, &s->arena), 4);
    assert_true(fabs(pairs[0].log_clock - 0.01) < 1e-12);
    assert_true(isnan(pairs[1].log_clock));
    assert_true(pairs[2].head_first == (s->head_samples[2].order == 0));
    stored_free(s);
}

static double hostile_time(struct random *random)
{
    static const double odd[] = {0, -1, 5e-324, 1e-300, 1e300, INFINITY, -INFINITY, NAN};
    double pick = random_uniform(random);
    return pick < 0.2 ? odd[(size_t)(40 * pick)] : 1e5 * exp(3 * random_normal(random));
}

TEST(hostile_samples_give_a_verdict_that_holds_together)
{
    struct random random = {20261121};
    for (int round = 0; round < 300; round++) {
        struct stored *s = stored_new();
        struct gate_policy policy = gate_policy_default(round % 2 ? "host" : "cuda", large_ns);
        size_t count = (size_t)(random_uniform(&random) * 300);
        unsigned numbers = 1 + (unsigned)(random_uniform(&random) * 400);
        for (size_t i = 0; i < count; i++) {
            unsigned pair = (unsigned)(random_uniform(&random) * numbers);
            store_pair(s, hostile_time(&random), hostile_time(&random), random_coin(&random), pair,
                       (unsigned)(random_uniform(&random) * (round % 7)) * 9999);
            s->base_samples[i].clock_hz = hostile_time(&random);
            s->base_samples[i].excluded = random_uniform(&random) < 0.1;
            s->head_samples[i].block = (uint16_t)(random_uniform(&random) * 3);
        }
        s->head.count -= s->head.count / 5;
        struct verdict v = stored_judge(s, &policy);
        assert_true(v.pairs <= s->head.count && v.processes <= v.pairs);
        assert_true(v.log_ratio.low <= v.log_ratio.high && isfinite(v.log_evidence) && v.sentence);
        assert_true(v.pairs == 0 || isfinite(v.log_ratio.value));
        assert_true(v.gpu_s >= 0 && !isnan(v.gpu_s));
        stored_free(s);
    }
}
