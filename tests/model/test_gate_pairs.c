// SPDX-License-Identifier: Apache-2.0
//
// Which stored samples make pairs, and that hostile ones do no harm.
#include "model/gate/gate.h"
#include "tests/helpers/helper_random.h"
#include "tests/helpers/helper_stored.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <string.h>

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
