// SPDX-License-Identifier: Apache-2.0
//
// What a gate concludes from stored samples, and the sentence it says.
#include "model/gate/gate.h"
#include "tests/helpers/helper_random.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double large_ns = 1e6;

static bool near_enough(double a, double b)
{
    return fabs(a - b) < 1e-9;
}

// Measure a series block by block, store the samples, judge them again.
TEST(stored_samples_give_the_verdict_reached_while_measuring)
{
    const double truths[] = {0, 0.002, 0.004, -0.006, 0.01};
    for (size_t t = 0; t < ARRAY_COUNT(truths); t++) {
        struct stored *s = stored_new();
        struct gate_policy policy = gate_policy_default("cuda", large_ns);
        struct gate_series series;
        gate_series_init(&series, &policy, &s->arena);
        struct duet duet = duet_start(NOISE_T3, 0.002, truths[t], t + 1);
        struct gate_decision d = gate_series_decide(&series);
        for (uint32_t pair = 0; d.next != GATE_DONE; d = gate_series_decide(&series)) {
            if (d.next == GATE_CONFIRM) {
                gate_series_fresh_process(&series);
                pair = 0;
            }
            for (uint32_t i = 0; i < policy.block_pairs; i++, pair++) {
                double base_ns, head_ns;
                bool head_first;
                duet_pair(&duet, &base_ns, &head_ns, &head_first);
                store_pair(s, base_ns, head_ns, head_first, pair, series.processes - 1);
                gate_series_add(&series, (double[]){log(head_ns / base_ns)}, 1);
            }
        }
        struct verdict v = stored_judge(s, &policy);
        const struct interval expected = gate_series_interval(&series);
        assert_int_equal(v.kind, d.kind);
        assert_int_equal(v.pairs, d.pairs);
        assert_int_equal(v.processes, d.processes);
        assert_memory_equal(&v.log_ratio, &expected, sizeof(expected));
        assert_memory_equal(&v.log_ratio.value, &d.log_ratio, sizeof(double));
        assert_memory_equal(&v.log_evidence, &d.log_evidence, sizeof(double));
        stored_free(s);
    }
}

TEST(verdict_says_size_interval_evidence_and_effort)
{
    struct stored *s = stored_new();
    struct gate_policy policy = gate_policy_default("cuda", large_ns);
    store_duet(s, 0.01, 48, 4);
    struct verdict v = stored_judge(s, &policy);
    assert_int_equal(v.kind, VERDICT_SLOWER);
    assert_int_equal(v.cause, CAUSE_NONE);
    assert_true(v.log_ratio.low < 0.01 && v.log_ratio.high > 0.01 &&
                v.log_ratio.high - v.log_ratio.low < 0.004);
    assert_true(v.log_ratio.low < v.log_ratio.value && v.log_ratio.value < v.log_ratio.high);
    assert_true(v.log_evidence > log(1e5) && v.confidence > 0.9 && v.margin > 0);
    assert_true(fabs(v.gpu_s - 4 * 48 * 2 * 2 * 1e-3) < 0.05 * v.gpu_s);
    assert_non_null(strstr(v.sentence, "slower with cold caches: +"));
    assert_non_null(strstr(v.sentence, "192 pairs in 4 processes"));
    assert_true(v.model && v.version);
    stored_free(s);
}

// Half of the time is 50 % faster, not 69 %: what is kept as a logarithm is said as a share.
TEST(the_sentence_has_the_verdicts_numbers)
{
    struct stored *s = stored_new();
    struct gate_policy policy = gate_policy_default("cuda", large_ns);
    double size, confidence, low, high;
    store_duet(s, log(0.5), 48, 4);
    const struct verdict v = stored_judge(s, &policy);
    assert_int_equal(v.kind, VERDICT_FASTER);
    assert_int_equal(sscanf(strstr(v.sentence, "faster with cold caches: "),
                            "faster with cold caches: %lf %% (%lf %% interval %lf to %lf)", &size,
                            &confidence, &low, &high),
                     4);
    assert_true(fabs(size + 50) < 0.2 && low < -50 && -50 < high);
    assert_true(fabs(size - 100 * expm1(v.log_ratio.value)) < 0.006);
    assert_true(fabs(low - 100 * expm1(v.log_ratio.low)) < 0.006);
    assert_true(fabs(high - 100 * expm1(v.log_ratio.high)) < 0.006);
    assert_true(fabs(confidence - 100 * v.confidence) < 0.6);
    stored_free(s);
}

// Of one process where the policy asks for one: nobody waits for another.
TEST(one_process_is_enough_where_it_is_asked_for)
{
    struct stored *s = stored_new();
    struct gate_policy policy = gate_policy_default("cuda", large_ns);
    policy.processes = 1;
    store_duet(s, 0.01, 96, 1);
    const struct verdict v = stored_judge(s, &policy);
    assert_int_equal(v.kind, VERDICT_SLOWER);
    assert_int_equal(v.processes, 1);
    assert_non_null(strstr(v.sentence, "96 pairs in 1 process"));
    stored_free(s);
}

TEST(sentence_says_what_the_clock_did)
{
    struct stored *s = stored_new();
    struct gate_policy policy = gate_policy_default("cuda", large_ns);
    store_duet(s, 0.01, 48, 4);
    assert_null(strstr(stored_judge(s, &policy).sentence, "clock"));
    for (size_t i = 0; i < s->head.count; i++)
        s->head_samples[i].clock_hz *= exp(-0.006);
    assert_non_null(strstr(stored_judge(s, &policy).sentence, "at a clock -0.60 %, so +0."));
    stored_free(s);
}

TEST(undecided_sentence_says_why)
{
    struct gate_policy policy = gate_policy_default("cuda", large_ns);
    struct stored *noisy = stored_new(), *near_margin = stored_new(), *short_run = stored_new();
    store_duet(noisy, 0, 40, 1);
    for (size_t i = 0; i < noisy->head.count; i++)
        noisy->head_samples[i].time_ns *= i % 2 ? 1.1 : 0.9;
    const struct verdict hidden = stored_judge(noisy, &policy);
    const char *noise = strstr(hidden.sentence, "noise hides changes below ");
    double below = 0;
    assert_true(noise && sscanf(noise, "noise hides changes below %lf %%", &below) == 1);
    assert_true(fabs(below / (100 * expm1(hidden.detectable)) - 1) < 0.06); // two digits
    store_duet(near_margin, 0.0028, 64, 4);
    assert_int_equal(stored_judge(near_margin, &policy).kind, VERDICT_UNDECIDED);
    assert_non_null(
        strstr(stored_judge(near_margin, &policy).sentence, "near the margin of 0.30 %"));
    store_duet(short_run, 0, 8, 1);
    assert_non_null(strstr(stored_judge(short_run, &policy).sentence, "too few pairs"));
    stored_free(noisy);
    stored_free(near_margin);
    stored_free(short_run);
}

// By the policy that judged, not by the defaults: a stricter alpha and a smaller budget find less.
TEST(what_is_detectable_goes_by_the_policy_that_judged)
{
    struct stored *s = stored_new();
    struct gate_policy policy = gate_policy_default("cuda", large_ns);
    policy.place = 0; // there is one process alone
    struct gate_policy strict = policy;
    strict.alpha = 1e-9;
    strict.max_pairs = 64;
    store_duet(s, 0, 64, 1);
    double ratios[64];
    for (size_t i = 0; i < 64; i++)
        ratios[i] = log(s->head_samples[i].time_ns / s->base_samples[i].time_ns);
    const double sd = robust_sd(ratios, 64);
    const struct verdict plain = stored_judge(s, &policy), less = stored_judge(s, &strict);
    assert_int_equal(plain.kind, VERDICT_SAME);
    assert_true(near_enough(plain.detectable, study_detectable(&policy, sd, 256, 0.9)));
    assert_true(near_enough(less.detectable, study_detectable(&strict, sd, 64, 0.9)));
    assert_true(less.detectable > 1.2 * plain.detectable);
    stored_free(s);
}

// Seconds ended it: the first process has budget left. With as many pairs more as it says, and a
// few looks, nearly all are decided.
TEST(open_verdict_says_what_would_decide_it)
{
    struct gate_policy policy = gate_policy_default("host", large_ns);
    struct random random = {7};
    int decided = 0, trials = 0;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct stored *s = stored_new();
        double head_ns[2000];
        for (size_t i = 0; i < 2000; i++)
            head_ns[i] = 1e6 * exp(0.1 + 0.1 * random_normal(&random));
        for (uint32_t i = 0; i < 24; i++)
            store_pair(s, 1e6, head_ns[i], i % 3 == 0, i, 0);
        const struct verdict open = stored_judge(s, &policy);
        if (open.kind == VERDICT_UNDECIDED && open.limit == LIMIT_SECONDS) {
            const uint32_t all = 24 + open.more_pairs, each = (all + 3) / 4;
            assert_true(all < 2000);
            for (uint32_t i = 24; i < all; i++)
                store_pair(s, 1e6, head_ns[i], i % 3 == 0, i, (uint16_t)(i / each));
            trials++;
            decided += stored_judge(s, &policy).kind == VERDICT_SLOWER;
        }
        stored_free(s);
    }
    if (trials < 40 || decided < 0.8 * trials)
        fail_msg("%d of %d decided", decided, trials);
}

TEST(open_verdict_says_what_ended_it)
{
    struct gate_policy policy = gate_policy_default("cuda", large_ns);
    struct stored *budget = stored_new(), *margin = stored_new();
    policy.processes = 1;
    policy.max_pairs = 24;
    policy.stretch = 1;
    store_duet(budget, 0.0045, 24, 1);
    const struct verdict spent = stored_judge(budget, &policy);
    assert_int_equal(spent.kind, VERDICT_UNDECIDED);
    assert_int_equal(spent.limit, LIMIT_PAIRS);
    assert_true(spent.more_pairs >= 8 && spent.more_pairs < 400);
    policy.max_pairs = 256;
    store_duet(margin, 0.0028, 250, 1);
    const double off = stored_judge(margin, &policy).log_ratio.value - 0.00295;
    for (size_t i = 0; i < margin->head.count; i++)
        margin->head_samples[i].time_ns *= exp(-off);
    const struct verdict at_margin = stored_judge(margin, &policy);
    assert_int_equal(at_margin.kind, VERDICT_UNDECIDED);
    assert_int_equal(at_margin.limit, LIMIT_MARGIN);
    // No change, and pairs that scatter by a hundred margins.
    struct stored *loud = stored_new();
    struct random random = {5};
    double noise = 0;
    for (uint32_t i = 0; i < 64; i++)
        store_pair(loud, 1e6, 1e6 * exp(i % 2 ? -noise : (noise = 0.3 * random_normal(&random))),
                   i % 3 == 0, i, 0);
    const struct verdict noisy = stored_judge(loud, &policy);
    assert_int_equal(noisy.kind, VERDICT_UNDECIDED);
    assert_int_equal(noisy.limit, LIMIT_NOISE);
    stored_free(loud);
    stored_free(budget);
    stored_free(margin);
}

// Feeding samples as they come takes the same pairs as judging them later.
TEST(samples_are_fed_by_the_rule_they_are_judged_by)
{
    struct stored *s = stored_new();
    struct gate_policy policy = gate_policy_default("cuda", large_ns);
    store_duet(s, 0.004, 64, 1);
    s->base_samples[3].excluded = 1;
    s->head_samples[9].excluded = 1;
    s->head_samples[20].time_ns = NAN;
    struct gate_series series;
    gate_series_init(&series, &policy, &s->arena);
    for (size_t at = 0; at < 64; at += 16)
        gate_series_add_samples(&series, s->base_samples + at, s->head_samples + at, 16);
    struct gate_decision d = gate_series_decide(&series);
    struct verdict v = stored_judge(s, &policy);
    assert_true(d.pairs == 61 && v.pairs == 61);
    assert_memory_equal(&v.log_evidence, &d.log_evidence, sizeof(double));
    stored_free(s);
}

TEST(void_pairs_are_said_and_many_leave_no_verdict)
{
    struct stored *s = stored_new();
    struct gate_policy policy = gate_policy_default("cuda", large_ns);
    policy.processes = 1;
    store_duet(s, 0.02, 64, 1);
    for (size_t i = 0; i < 6; i++)
        s->base_samples[i].excluded = s->head_samples[i].excluded = 1;
    struct verdict v = stored_judge(s, &policy);
    assert_int_equal(v.kind, VERDICT_SLOWER);
    assert_non_null(strstr(v.sentence, "; 6 of 64 pairs are void: they were faster than"));
    s->base_samples[6].excluded = s->head_samples[6].excluded = 1;
    v = stored_judge(s, &policy);
    assert_int_equal(v.kind, VERDICT_UNDECIDED);
    assert_non_null(strstr(v.sentence, "undecided: slower with cold caches"));
    assert_non_null(strstr(v.sentence, "7 of 64 pairs are void"));
    stored_free(s);
}

TEST(alarm_of_one_process_is_not_yet_a_verdict)
{
    struct stored *s = stored_new();
    struct gate_policy policy = gate_policy_default("cuda", large_ns);
    store_duet(s, 0.02, 64, 1);
    struct verdict v = stored_judge(s, &policy);
    assert_int_equal(v.kind, VERDICT_UNDECIDED);
    assert_non_null(strstr(v.sentence, "confirmed by 1 of 4"));
    policy.processes = 1;
    assert_int_equal(stored_judge(s, &policy).kind, VERDICT_SLOWER);
    stored_free(s);
}

TEST(fixed_order_is_no_evidence)
{
    struct stored *s = stored_new();
    struct gate_policy policy = gate_policy_default("cuda", large_ns);
    store_duet(s, 0.05, 64, 4);
    for (size_t i = 0; i < s->head.count; i++) {
        s->head_samples[i].order = 1;
        s->base_samples[i].order = 0;
    }
    struct verdict v = stored_judge(s, &policy);
    assert_int_equal(v.kind, VERDICT_UNDECIDED);
    assert_non_null(strstr(v.sentence, "order"));
    stored_free(s);
}

TEST(contradicting_processes_are_placement)
{
    struct stored *s = stored_new();
    struct gate_policy policy = gate_policy_default("cuda", large_ns);
    struct random random = {5};
    for (uint32_t process = 0; process < 4; process++) {
        for (uint32_t pair = 0; pair < 64; pair++) {
            double shift = process % 2 ? 0.01 : -0.01;
            double head_ns = 1e6 * exp(shift + 0.003 * random_normal(&random));
            store_pair(s, 1e6, head_ns, random_coin(&random), pair, process);
        }
    }
    struct verdict v = stored_judge(s, &policy);
    assert_int_equal(v.kind, VERDICT_UNDECIDED);
    assert_int_equal(v.cause, CAUSE_PLACEMENT);
    assert_true(v.log_ratio.low < -0.003 &&
                v.log_ratio.high > 0.003); // the spread is in the interval
    stored_free(s);
}

TEST(many_processes_are_all_used)
{
    struct stored *s = stored_new();
    struct gate_policy policy = gate_policy_default("cuda", large_ns);
    store_duet(s, 0.005, 16, 24);
    struct verdict v = stored_judge(s, &policy);
    assert_int_equal(v.processes, 24);
    assert_int_equal(v.pairs, 384);
    assert_int_equal(v.kind, VERDICT_SLOWER);
    stored_free(s);
}
