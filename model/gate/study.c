// SPDX-License-Identifier: Apache-2.0
//
// The statistics of many gates: exact bounds on rates, the smallest detectable change, and whether
// a run's own A/A pairs make it void. It runs nothing.
#include "model/gate/gate.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

// P(X >= k) = I_p(k, n - k + 1).
double binomial_tail(uint64_t hits, uint64_t trials, double p)
{
    if (hits == 0)
        return 1;
    if (hits > trials)
        return 0;
    return incomplete_beta((double)hits, (double)(trials - hits) + 1, p);
}

// The p at which binomial_tail(hits) reaches `target`; it rises with p.
static double rate_at(uint64_t hits, uint64_t trials, double target)
{
    double low = 0, high = 1;
    for (int i = 0; i < 100; i++) {
        double middle = 0.5 * (low + high);
        if (binomial_tail(hits, trials, middle) < target)
            low = middle;
        else
            high = middle;
    }
    return 0.5 * (low + high);
}

double study_rate_upper(uint64_t hits, uint64_t trials, double confidence)
{
    assert(hits <= trials);
    return hits == trials ? 1 : rate_at(hits + 1, trials, confidence);
}

// Mean and variance of the log wealth that one pair earns for bet `i`, if z is normal about
// `effect`: Simpson's rule over +-6 standard deviations.
static void growth(double effect, double mean[EPROCESS_BETS], double variance[EPROCESS_BETS])
{
    enum { STEPS = 240 };
    double second[EPROCESS_BETS] = {0}, total = 0;
    for (int i = 0; i < EPROCESS_BETS; i++)
        mean[i] = 0;
    for (int step = 0; step <= STEPS; step++) {
        double x = -6 + 12.0 * step / STEPS;
        double weight = exp(-0.5 * x * x) * (step == 0 || step == STEPS ? 1 : step % 2 ? 4 : 2);
        struct eprocess one = {0};
        eprocess_add(&one, x + effect);
        total += weight;
        for (int i = 0; i < EPROCESS_BETS; i++) {
            mean[i] += weight * one.log_wealth[i];
            second[i] += weight * one.log_wealth[i] * one.log_wealth[i];
        }
    }
    for (int i = 0; i < EPROCESS_BETS; i++) {
        mean[i] /= total;
        variance[i] = second[i] / total - mean[i] * mean[i];
    }
}

// The probability that the evidence is sufficient after `pairs`: the best single bet must reach 2
// bets / alpha (two sides, equal bets); its log wealth is about normal. The first block has no
// scale of its own and is not counted.
static double evidence_power(const struct gate_policy *policy, double effect, uint32_t all_pairs)
{
    double pairs = all_pairs > policy->block_pairs ? all_pairs - policy->block_pairs : 0;
    double mean[EPROCESS_BETS], variance[EPROCESS_BETS], best = 0;
    double needed = log(2.0 * EPROCESS_BETS / policy->alpha);
    growth(effect, mean, variance);
    for (int i = 0; i < EPROCESS_BETS; i++) {
        double sd = sqrt(pairs * fmax(variance[i], 1e-12));
        best = fmax(best, normal_cdf((pairs * mean[i] - needed) / sd));
    }
    return best;
}

double study_detectable(const struct gate_policy *policy, double sd, uint32_t pairs, double power)
{
    assert(sd >= 0 && power > 0 && power < 1);
    double spread = fmax(sd, 1e-9), low = 0, high = 20;
    if (pairs < policy->min_pairs || evidence_power(policy, high, pairs) < power)
        return INFINITY;
    for (int i = 0; i < 60; i++) {
        double middle = 0.5 * (low + high);
        if (evidence_power(policy, middle, pairs) < power)
            low = middle;
        else
            high = middle;
    }
    double by_evidence = policy->floor + high * spread;
    double by_size = policy->margin + normal_quantile(power) * spread / sqrt(pairs);
    return fmax(by_evidence, by_size);
}

// Markov over all series: P(any e >= x) <= series / x.
static bool is_void(const struct self_test *test, double alpha)
{
    const double chance = 0.005;
    const bool too_many =
        test->alarms > 0 && binomial_tail(test->alarms, test->series, alpha) < chance;
    return too_many || (test->series > 0 && test->worst_log_evidence > log(test->series / chance));
}

struct self_test study_self_test(const struct verdict *verdicts, size_t count, double alpha)
{
    struct self_test test = {.worst_log_evidence = 0};
    for (size_t i = 0; i < count; i++) {
        const struct verdict *v = &verdicts[i];
        if (v->pairs == 0)
            continue;
        test.series++;
        test.alarms += v->kind == VERDICT_SLOWER || v->kind == VERDICT_FASTER;
        test.worst_log_evidence = fmax(test.worst_log_evidence, v->log_evidence);
    }
    test.void_run = is_void(&test, alpha);
    return test;
}

struct self_test study_self_tests(const struct self_test *parts, size_t count, double alpha)
{
    struct self_test test = {.worst_log_evidence = 0};
    for (size_t i = 0; i < count; i++) {
        test.series += parts[i].series;
        test.alarms += parts[i].alarms;
        test.worst_log_evidence = fmax(test.worst_log_evidence, parts[i].worst_log_evidence);
    }
    test.void_run = is_void(&test, alpha);
    return test;
}
