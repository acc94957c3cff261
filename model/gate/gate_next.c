// SPDX-License-Identifier: Apache-2.0
//
// Which series gets the next block.
//
// What is wanted is verdicts per second of the device: a gate may end at its time limit, and what
// has none by then is undecided. A series is a job of unknown length, so this is scheduling, and
// the order that decides the most jobs in any given time is Gittins' (J. R. Stat. Soc. B 41, 1979):
// play the job with the largest
//     max over t of  P(decided within t) / E[pairs until decided, or t],
// per second of a pair. It is not what is nearest to its evidence: a change between floor and
// margin has all the evidence an alarm needs and will never be one.
//
// How many pairs a series needs if its true log ratio is d, sigma the SD of a pair, e the evidence
// so far: bets win growth(|d| - floor) a pair towards an alarm and growth(margin - |d|) towards
// "same" (distances in units of sigma), so
//     alarm, |d| >= margin:  (log(1/alpha) - e_alarm) / growth, and as many as bring the mean, now
//                            y after n pairs, to the margin: n (margin - y) / (d - margin)
//     same,  |d| < margin:   (log(1/(1 - confidence)) - e_same) / growth.
// d is not known, but after n pairs about normal, y +- sigma / sqrt(n): it is replaced by seven
// values of equal probability. What needs more than the budget has left is never decided.
//
// The growth of a bet on normal z = d/sigma + noise, the best of eprocess.c's ladder: about z^2/2
// while z is small, at most log 2. log 2 (1 - exp(-z^2 / (2 log 2))) is within 10 % of it from 0.2
// on, and below the smallest bet, 0.2, gains 0.2 z - 0.02 (computed by integration).
//
// A process that confirms an alarm is over when it shows the change, refutes it, or has spent its
// budget: it is always decided, the question is only when.
//
// The order may depend on the evidence in any way. Each bet of a series is fair given everything
// that was seen before its pair, of all series, for the coin of the pair's order was tossed after
// that; so a series' wealth, counted in its own pairs, is an e-process whoever decides when the
// next one is taken (and a pause is not even a stop). Only the number of pairs by the time limit
// depends on the order, and that is a stopping time.
#include "model/gate/gate.h"

#include <math.h>
#include <string.h>

enum { GUESSES = 7 };

static double growth(double z)
{
    if (z < 0.2)
        return fmax(0, 0.2 * z - 0.02);
    return M_LN2 * -expm1(-0.5 * z * z / M_LN2);
}

// What the estimate of a series says of the pairs to come.
struct outlook {
    const struct gate_policy *policy;
    double mean, sd, pairs;     // so far
    double log_alarm, log_same; // evidence that is missing
    double left;                // of the budget, in pairs
    bool confirms;              // a process that confirms an alarm
};

static double pairs_needed(const struct outlook *o, double d)
{
    const double size = fabs(d), shown = d < 0 ? -o->mean : o->mean;
    const double margin = o->policy->margin, floor = o->policy->floor;
    if (o->confirms)
        return fmin(o->left, o->log_alarm / growth(fabs(size - floor) / o->sd));
    if (size < margin)
        return o->log_same / growth((margin - size) / o->sd);
    return fmax(o->log_alarm / growth((size - floor) / o->sd),
                shown < margin ? o->pairs * (margin - shown) / (size - margin) : 0);
}

static void sort(double *values, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        for (size_t j = i; j > 0 && values[j - 1] > values[j]; j--) {
            const double larger = values[j - 1];
            values[j - 1] = values[j];
            values[j] = larger;
        }
    }
}

// The index above from GUESSES equally likely numbers of pairs.
static double best_rate(double *needed, double left)
{
    double spent = 0, best = 0;
    sort(needed, GUESSES);
    for (size_t i = 0; i < GUESSES && needed[i] <= left; i++) {
        spent += needed[i];
        const double waiting = (double)(GUESSES - i - 1);
        best = fmax(best, (double)(i + 1) / (spent + waiting * needed[i]));
    }
    return best;
}

static double sd_now(const struct gate_series *s)
{
    const struct moderation history = {s->policy.scale, s->policy.scale_pairs};
    memcpy(s->work, s->y, s->pairs * sizeof(*s->y));
    const double sd = s->pairs > 1 ? robust_sd(s->work, s->pairs) : 0;
    return sd > 0 ? moderate_sd(history, sd, s->pairs) : s->policy.scale;
}

// Evidence of the process at work that its own shift is beyond the floor, or is not.
static double missing_here(const struct gate_series *s)
{
    const struct gate_stream *stream = &s->streams[s->processes - 1];
    const double shown = log(2 / s->policy.alpha), refuted = -log(1 - s->policy.confidence);
    const double slower = eprocess_log(&stream->slower), faster = eprocess_log(&stream->faster);
    const double both = fmin(eprocess_log(&stream->not_slower), eprocess_log(&stream->not_faster));
    return fmin(shown - fmax(slower, faster), refuted - both);
}

// The seven guesses at the true log ratio.
struct guesses {
    struct outlook o;
    double d[GUESSES], needed[GUESSES]; // at least a block
};

static struct guesses guess(const struct gate_series *s, const struct gate_decision *now)
{
    const bool first = s->processes <= s->first;
    const uint32_t taken = first ? s->pairs : s->streams[s->processes - 1].pairs;
    const double block = s->policy.block_pairs, sd = sd_now(s);
    uint32_t budget =
        gate_budget(&s->policy, sd, first ? s->policy.max_pairs : s->policy.confirm_pairs);
    if (s->alarmed && taken >= budget) // the last process goes on
        budget = gate_budget(&s->policy, sd, s->policy.max_pairs);
    struct guesses out = {
        .o = {.policy = &s->policy,
              .mean = isfinite(now->log_ratio) ? now->log_ratio : 0,
              .sd = sd,
              .pairs = fmax(1, s->pairs),
              .log_alarm =
                  fmax(0, s->alarmed ? missing_here(s) : -log(s->policy.alpha) - now->log_evidence),
              .log_same = fmax(0, -log(1 - s->policy.confidence) - now->log_same),
              .left = fmax(block, (double)budget - taken),
              .confirms = s->alarmed}};
    for (size_t i = 0; i < GUESSES; i++) {
        const double z = normal_quantile(((double)i + 0.5) / GUESSES);
        out.d[i] = out.o.mean + z * out.o.sd / sqrt(out.o.pairs);
        out.needed[i] = fmax(block, pairs_needed(&out.o, out.d[i]));
    }
    return out;
}

// Of a series that only measures: until the standard error is there.
static double measuring_pairs(const struct gate_series *s)
{
    const double block = s->policy.block_pairs, sd = sd_now(s) / s->policy.enough;
    const double least = fmax(s->policy.min_pairs, sd * sd);
    return fmax(block, fmin(least, s->policy.max_pairs) - s->pairs);
}

double gate_outlook(const struct gate_series *s, const struct gate_decision *now)
{
    if (s->policy.enough > 0)
        return s->policy.block_pairs / measuring_pairs(s);
    struct guesses g = guess(s, now);
    return s->policy.block_pairs * best_rate(g.needed, g.o.left);
}

// Pairs of a process that confirms an alarm at d; `room`: for chance, 1 for none.
static double confirming_pairs(const struct gate_policy *policy, double d, double sd, double room)
{
    const double most = gate_budget(policy, sd, policy->confirm_pairs), block = policy->block_pairs;
    const double beyond = fabs(d) - policy->floor;
    const double needed = beyond > 0 ? room * log(2 / policy->alpha) / growth(beyond / sd) : most;
    return block * ceil(fmin(fmax(needed, policy->min_pairs), most) / block);
}

// What the process at work does not decide is asked in further ones, each with a budget of its own.
struct gate_left gate_left(const struct gate_series *s, const struct gate_decision *now)
{
    const struct gate_policy *policy = &s->policy;
    const struct guesses g = guess(s, now);
    const double further = policy->processes - s->processes;
    const double budget = gate_budget(policy, g.o.sd, policy->confirm_pairs);
    const double here = now->next == GATE_MORE ? g.o.left : 0, open = here + further * budget;
    const bool alarm = now->kind == VERDICT_SLOWER || now->kind == VERDICT_FASTER;
    struct gate_left sum = {0, 0};
    if (now->next == GATE_DONE)
        return sum;
    if (policy->enough > 0)
        return (struct gate_left){measuring_pairs(s), 0};
    for (size_t i = 0; i < GUESSES; i++) {
        const double each = confirming_pairs(policy, g.d[i], g.o.sd, 1);
        const double later = ceil(fmax(0, g.needed[i] - here) / budget); // processes until then
        const bool same = fabs(g.d[i]) < policy->margin && !s->alarmed && !alarm;
        if (s->alarmed || alarm)
            sum.pairs += (s->alarmed ? fmin(g.needed[i], here) : 0) + further * each;
        else if (g.needed[i] > open)
            sum.pairs += open;
        else
            sum.pairs += g.needed[i] + (same ? 0 : (further - later) * each);
        sum.processes += same ? fmin(later, further) : further;
    }
    return (struct gate_left){sum.pairs / GUESSES, sum.processes / GUESSES};
}

// Half as many again as a steady series needs: one in ten needs more, and then goes on all the
// same.
static const double chance_room = 1.5;

uint32_t gate_confirmation_pairs(const struct gate_series *s, const struct gate_decision *now)
{
    const struct gate_policy *policy = &s->policy;
    const bool alarm = now->kind == VERDICT_SLOWER || now->kind == VERDICT_FASTER;
    const uint32_t further = policy->processes - s->processes;
    if (!(s->alarmed || alarm) || now->next == GATE_DONE)
        return 0;
    const double each = confirming_pairs(policy, now->log_ratio, sd_now(s), chance_room);
    const double taken = s->streams[s->processes - 1].pairs;
    const double here =
        s->alarmed && now->next == GATE_MORE ? fmax(policy->block_pairs, each - taken) : 0;
    return (uint32_t)fmin(here + further * each, 1 << 30);
}

// So many budgets are not "soon".
static const double too_many_budgets = 16;

double gate_missing_pairs(const struct gate_series *s, const struct gate_decision *now)
{
    const struct gate_policy *policy = &s->policy;
    const double size = fabs(now->log_ratio), sd = sd_now(s), block = policy->block_pairs;
    const double too_many = too_many_budgets * gate_budget(policy, sd, policy->max_pairs);
    if (!isfinite(size) || now->placement)
        return INFINITY;
    double missing, rate;
    if (size < policy->margin) {
        missing = -log(1 - policy->confidence) - now->log_same;
        rate = growth((policy->margin - size) / sd);
    } else {
        missing = -log(policy->alpha) - now->log_evidence;
        rate = growth((size - policy->floor) / sd);
    }
    double pairs = missing > 0 ? chance_room * missing / rate : 0;
    struct gate_decision alarm = *now;
    alarm.kind = now->log_ratio > 0 ? VERDICT_SLOWER : VERDICT_FASTER;
    alarm.next = GATE_CONFIRM;
    if (size >= policy->margin && s->processes < policy->processes)
        pairs += gate_confirmation_pairs(s, &alarm);
    return pairs < too_many ? block * ceil(fmax(pairs, 1) / block) : INFINITY;
}

// Until each has its min_pairs, the one that has the fewest; of those that promise nothing too.
size_t gate_next_series(const struct gate_turn *turns, size_t count)
{
    size_t fewest = SIZE_MAX, best = SIZE_MAX;
    double best_rate = -1;
    for (size_t i = 0; i < count; i++) {
        const struct gate_turn *turn = &turns[i];
        if (turn->next != GATE_MORE)
            continue;
        const double rate = turn->outlook / fmax(turn->block_s, 1e-9);
        if (turn->pairs < turn->min_pairs &&
            (fewest == SIZE_MAX || turn->pairs < turns[fewest].pairs))
            fewest = i;
        if (best == SIZE_MAX || rate > best_rate ||
            (rate == best_rate && turn->pairs < turns[best].pairs)) {
            best = i;
            best_rate = rate;
        }
    }
    return fewest != SIZE_MAX ? fewest : best;
}
