// SPDX-License-Identifier: Apache-2.0
#include "helper_random.h"
#include "model/gate.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ROOM = 1024 };

// Samples of a simulated duet, stored as a run would.
struct stored {
    struct sample base_samples[ROOM], head_samples[ROOM];
    struct measurement base, head;
    struct arena arena;
};

static void store_pair(struct stored *s, double base_ns, double head_ns, bool head_first,
                       uint32_t pair, uint32_t process)
{
    struct sample common = {.clock_hz = 1.6e9,
                            .launches = 2,
                            .pair = pair,
                            .block = (uint16_t)(pair / 8),
                            .process = (uint16_t)process};
    struct sample base = common, head = common;
    base.time_ns = base_ns;
    base.role = ROLE_BASE;
    base.order = head_first;
    head.time_ns = head_ns;
    head.role = ROLE_HEAD;
    head.order = !head_first;
    assert_true(s->base.count < ROOM);
    s->base_samples[s->base.count++] = base;
    s->head_samples[s->head.count++] = head;
}

static struct stored *stored_new(void)
{
    struct stored *s = xcalloc(1, sizeof(*s));
    s->base.samples = s->base_samples;
    s->head.samples = s->head_samples;
    return s;
}

static void stored_free(struct stored *s)
{
    arena_free(&s->arena);
    free(s);
}

static void store_duet(struct stored *s, double log_ratio, uint32_t pairs, uint32_t processes)
{
    struct duet duet = duet_start(NOISE_NORMAL, 0.003, log_ratio, 42);
    for (uint32_t process = 0; process < processes; process++) {
        for (uint32_t pair = 0; pair < pairs; pair++) {
            double base_ns, head_ns;
            bool head_first;
            duet_pair(&duet, &base_ns, &head_ns, &head_first);
            store_pair(s, base_ns, head_ns, head_first, pair, process);
        }
    }
}

static struct verdict judge(struct stored *s, const struct gate_policy *policy)
{
    struct verdict verdict;
    gate_judge(&verdict, &s->base, &s->head, policy, &s->arena);
    return verdict;
}

static const double large_ns = 1e6;

// Measure a series block by block, store the samples, judge them again.
static void stored_samples_give_the_verdict_reached_while_measuring(void **state)
{
    (void)state;
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
        struct verdict v = judge(s, &policy);
        double lower, upper;
        gate_series_interval(&series, &lower, &upper);
        assert_int_equal(v.kind, d.kind);
        assert_int_equal(v.pairs, d.pairs);
        assert_int_equal(v.processes, d.processes);
        assert_memory_equal(&v.log_ratio, &d.log_ratio, sizeof(double));
        assert_memory_equal(&v.log_evidence, &d.log_evidence, sizeof(double));
        assert_memory_equal(&v.lower, &lower, sizeof(double));
        assert_memory_equal(&v.upper, &upper, sizeof(double));
        stored_free(s);
    }
}

static void verdict_says_size_interval_evidence_and_effort(void **state)
{
    (void)state;
    struct stored *s = stored_new();
    struct gate_policy policy = gate_policy_default("cuda", large_ns);
    store_duet(s, 0.01, 48, 4);
    struct verdict v = judge(s, &policy);
    assert_int_equal(v.kind, VERDICT_SLOWER);
    assert_int_equal(v.cause, CAUSE_NONE);
    assert_true(v.lower < 0.01 && v.upper > 0.01 && v.upper - v.lower < 0.004);
    assert_true(v.lower < v.log_ratio && v.log_ratio < v.upper);
    assert_true(v.log_evidence > log(1e5) && v.confidence > 0.9 && v.margin > 0);
    assert_true(fabs(v.gpu_s - 4 * 48 * 2 * 2 * 1e-3) < 0.05 * v.gpu_s);
    assert_non_null(strstr(v.sentence, "slower: +"));
    assert_non_null(strstr(v.sentence, "192 pairs in 4 processes"));
    assert_true(v.model && v.version);
    stored_free(s);
}

static void sentence_says_what_the_clock_did(void **state)
{
    (void)state;
    struct stored *s = stored_new();
    struct gate_policy policy = gate_policy_default("cuda", large_ns);
    store_duet(s, 0.01, 48, 4);
    assert_null(strstr(judge(s, &policy).sentence, "clock"));
    for (size_t i = 0; i < s->head.count; i++)
        s->head_samples[i].clock_hz *= exp(-0.006);
    assert_non_null(strstr(judge(s, &policy).sentence, "at a clock -0.60 %, so +0."));
    stored_free(s);
}

static void undecided_sentence_says_why(void **state)
{
    (void)state;
    struct gate_policy policy = gate_policy_default("cuda", large_ns);
    struct stored *noisy = stored_new(), *near_margin = stored_new(), *short_run = stored_new();
    store_duet(noisy, 0, 40, 1);
    for (size_t i = 0; i < noisy->head.count; i++)
        noisy->head_samples[i].time_ns *= i % 2 ? 1.1 : 0.9;
    assert_non_null(strstr(judge(noisy, &policy).sentence, "noise hides changes below"));
    store_duet(near_margin, 0.0028, 250, 1);
    assert_int_equal(judge(near_margin, &policy).kind, VERDICT_UNDECIDED);
    assert_non_null(strstr(judge(near_margin, &policy).sentence, "near the margin of 0.30 %"));
    store_duet(short_run, 0, 8, 1);
    assert_non_null(strstr(judge(short_run, &policy).sentence, "too few pairs"));
    stored_free(noisy);
    stored_free(near_margin);
    stored_free(short_run);
}

// Feeding samples as they come takes the same pairs as judging them later.
static void samples_are_fed_by_the_rule_they_are_judged_by(void **state)
{
    (void)state;
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
    struct verdict v = judge(s, &policy);
    assert_true(d.pairs == 61 && v.pairs == 61);
    assert_memory_equal(&v.log_evidence, &d.log_evidence, sizeof(double));
    stored_free(s);
}

// The order in which samples were written down does not matter, their numbers do.
static void pairs_are_matched_by_number(void **state)
{
    (void)state;
    struct stored *a = stored_new(), *b = stored_new();
    struct gate_policy policy = gate_policy_default("cuda", large_ns);
    store_duet(a, 0.01, 64, 2);
    store_duet(b, 0.01, 64, 2);
    for (size_t i = 0; i < b->head.count / 2; i++) {
        struct sample swap = b->head_samples[i];
        b->head_samples[i] = b->head_samples[b->head.count - 1 - i];
        b->head_samples[b->head.count - 1 - i] = swap;
    }
    struct verdict va = judge(a, &policy), vb = judge(b, &policy);
    assert_memory_equal(&va.log_evidence, &vb.log_evidence, sizeof(double));
    assert_int_equal(vb.pairs, 128);
    stored_free(a);
    stored_free(b);
}

static void pair_counts_only_if_both_samples_are_usable(void **state)
{
    (void)state;
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
    assert_int_equal(judge(s, &policy).pairs, 31);
    struct gate_pair pairs[40];
    assert_int_equal(gate_pairs(pairs, &s->base, &s->head, &s->arena), 31);
    stored_free(s);
}

static void pair_number_that_occurs_twice_counts_once(void **state)
{
    (void)state;
    struct stored *s = stored_new();
    struct gate_policy policy = gate_policy_default("cuda", large_ns);
    store_duet(s, 0.0, 10, 1);
    for (int i = 0; i < 10; i++)
        store_pair(s, 1e6, 2e6, i % 2, 3, 0);
    assert_int_equal(judge(s, &policy).pairs, 10);
    s->base.count = 10; // doubles on one side only
    assert_int_equal(judge(s, &policy).pairs, 10);
    stored_free(s);
}

static void alarm_of_one_process_is_not_yet_a_verdict(void **state)
{
    (void)state;
    struct stored *s = stored_new();
    struct gate_policy policy = gate_policy_default("cuda", large_ns);
    store_duet(s, 0.02, 64, 1);
    struct verdict v = judge(s, &policy);
    assert_int_equal(v.kind, VERDICT_UNDECIDED);
    assert_non_null(strstr(v.sentence, "confirmed by 1 of 4"));
    policy.processes = 1;
    assert_int_equal(judge(s, &policy).kind, VERDICT_SLOWER);
    stored_free(s);
}

static void fixed_order_is_no_evidence(void **state)
{
    (void)state;
    struct stored *s = stored_new();
    struct gate_policy policy = gate_policy_default("cuda", large_ns);
    store_duet(s, 0.05, 64, 4);
    for (size_t i = 0; i < s->head.count; i++) {
        s->head_samples[i].order = 1;
        s->base_samples[i].order = 0;
    }
    struct verdict v = judge(s, &policy);
    assert_int_equal(v.kind, VERDICT_UNDECIDED);
    assert_non_null(strstr(v.sentence, "order"));
    stored_free(s);
}

static void contradicting_processes_are_placement(void **state)
{
    (void)state;
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
    struct verdict v = judge(s, &policy);
    assert_int_equal(v.kind, VERDICT_UNDECIDED);
    assert_int_equal(v.cause, CAUSE_PLACEMENT);
    assert_true(v.lower < -0.003 && v.upper > 0.003); // the spread is in the interval
    stored_free(s);
}

static void states_without_times_are_broken_or_new(void **state)
{
    (void)state;
    struct stored *s = stored_new();
    struct gate_policy policy = gate_policy_default("cuda", large_ns);
    store_duet(s, 0, 16, 1);
    for (int bad = MEASURED_WRONG; bad < MEASUREMENT_STATES; bad++) {
        s->head.state = (enum measurement_state)bad;
        s->head.detail = "why";
        struct verdict v = judge(s, &policy);
        assert_int_equal(v.kind, VERDICT_BROKEN);
        assert_non_null(strstr(v.sentence, "why"));
        assert_true(isnan(v.log_ratio) && v.pairs == 0);
    }
    s->head.state = MEASURED_OK;
    s->base.state = MEASURED_MISSING;
    assert_int_equal(judge(s, &policy).kind, VERDICT_NEW);
    s->base.state = MEASURED_CRASHED;
    assert_int_equal(judge(s, &policy).kind, VERDICT_NEW);
    s->base.state = MEASURED_OK;
    s->base.count = 0;
    assert_int_equal(judge(s, &policy).kind, VERDICT_NEW);
    stored_free(s);
}

static void no_usable_pair_is_undecided(void **state)
{
    (void)state;
    struct stored *s = stored_new();
    struct gate_policy policy = gate_policy_default("cuda", large_ns);
    store_duet(s, 0, 16, 1);
    for (int i = 0; i < 16; i++)
        s->base_samples[i].excluded = 1;
    struct verdict v = judge(s, &policy);
    assert_int_equal(v.kind, VERDICT_UNDECIDED);
    assert_true(v.pairs == 0 && v.processes == 0 && isinf(v.lower) && isinf(v.upper));
    assert_non_null(strstr(v.sentence, "no usable pair"));
    stored_free(s);
}

static void many_processes_are_all_used(void **state)
{
    (void)state;
    struct stored *s = stored_new();
    struct gate_policy policy = gate_policy_default("cuda", large_ns);
    store_duet(s, 0.005, 16, 24);
    struct verdict v = judge(s, &policy);
    assert_int_equal(v.processes, 24);
    assert_int_equal(v.pairs, 384);
    assert_int_equal(v.kind, VERDICT_SLOWER);
    stored_free(s);
}

static void clocks_ride_along_with_the_pairs(void **state)
{
    (void)state;
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

static void hostile_samples_give_a_verdict_that_holds_together(void **state)
{
    (void)state;
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
        struct verdict v = judge(s, &policy);
        assert_true(v.pairs <= s->head.count && v.processes <= v.pairs);
        assert_true(v.lower <= v.upper && isfinite(v.log_evidence) && v.sentence);
        assert_true(v.pairs == 0 || isfinite(v.log_ratio));
        assert_true(v.gpu_s >= 0 && !isnan(v.gpu_s));
        stored_free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stored_samples_give_the_verdict_reached_while_measuring),
        cmocka_unit_test(verdict_says_size_interval_evidence_and_effort),
        cmocka_unit_test(sentence_says_what_the_clock_did),
        cmocka_unit_test(undecided_sentence_says_why),
        cmocka_unit_test(samples_are_fed_by_the_rule_they_are_judged_by),
        cmocka_unit_test(pairs_are_matched_by_number),
        cmocka_unit_test(pair_counts_only_if_both_samples_are_usable),
        cmocka_unit_test(pair_number_that_occurs_twice_counts_once),
        cmocka_unit_test(alarm_of_one_process_is_not_yet_a_verdict),
        cmocka_unit_test(fixed_order_is_no_evidence),
        cmocka_unit_test(contradicting_processes_are_placement),
        cmocka_unit_test(states_without_times_are_broken_or_new),
        cmocka_unit_test(no_usable_pair_is_undecided),
        cmocka_unit_test(many_processes_are_all_used),
        cmocka_unit_test(hostile_samples_give_a_verdict_that_holds_together),
        cmocka_unit_test(clocks_ride_along_with_the_pairs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
