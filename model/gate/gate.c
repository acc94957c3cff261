// SPDX-License-Identifier: Apache-2.0
//
// One series: six bets per process.
//
// Every statement about the true log ratio d is an e-process (gate.h) on y, shifted to the boundary
// of its null hypothesis:
//     slower      against d <= +floor        not_slower   against d >= +floor
//     faster      against d >= -floor        not_faster   against d <= -floor
//     below       against d >= +margin       above        against d <= -margin
// At most one of "slower" and "faster" can be far from its null, so (slower + faster) / 2 is an
// e-value against |d| <= floor: log_evidence. "Same" needs `below` and `above`. If |d| >= margin,
// one of them is a bet against the truth, so min(below, above) is an e-value against |d| >= margin:
// log_same. The shifted nulls assume more than "same code": a change must act as a factor, and the
// noise around it must stay symmetric. The random order ensures that as long as noise hits both
// builds alike. At d = 0, the case that decides about false alarms, nothing is assumed.
//
// The floor. An exact test of d = 0 would see 0.05 %, and a build whose code moves by a cache line
// does change by that. Alarms need evidence of more than `floor`, and an estimate of at least
// `margin`. A series with evidence but without size continues until it is "same", or until the
// budget ends it as undecided.
//
// The scale of a pair is fixed before its block is measured. For the first block it comes from the
// history; later it is the MAD of all pairs before the block, moderated by the history. A wrong
// scale costs power, but never makes a verdict wrong.
//
// Slow launches. The typical ratio is trimmed. So a head of which one launch in ten takes 20 %
// longer has an unchanged ratio. Two more bets, with a tenth of the stake (gate.h, struct tail),
// are on the signs of large differences, and on a mean that is clipped far out. "Same" needs both
// to be settled, and at least 72 pairs; one slow launch in 20 stays unseen in 2.5 % of so many.
// Simulated at an SD of 0.4 %: one launch in ten that takes 20 % longer is found in 100 % of gates,
// one in twenty that takes 30 % longer in 98 %; without these bets neither was found. The price: a
// change of half a percent takes 149 pairs instead of 148; no change takes 72 instead of 31, or 163
// instead of 161 at an SD of 0.95 % (bench_gate --simulate).
//
// Places. "Same" also speaks of processes to come. So the mean must keep a distance of
// errors_kept() standard errors from the margin; these include the pairs' errors and those that a
// process adds by its places in memory. A series nearer to the margin is measured in other
// processes. For d at the margin, with places of SD 0.1 % and pairs that scatter by 0.1 to 0.7 %,
// "same" is said in 2 to 4 % of gates, and intervals cover the truth in 96 to 97 %. If places
// scatter twice as much as is known, these are 18 % and 86 %. No change takes 80 pairs in 1.6
// processes with places of SD 0.05 %, and 98 in 1.9 with 0.1 % (bench_gate --simulate).
//
// Processes. A fresh process draws new addresses, so its shift differs a little. Its bets continue
// with the wealth of the process before. Every factor is still a fair bet given the past, so the
// mean over the bets is one e-process over all pairs. (Multiplying the processes' own means is
// valid, too, but each process then pays log 5 for not knowing the best bet; with four of them a
// change of 0.47 % at an SD of 0.95 % was missed.) An alarm of the first process is a candidate. It
// stands if the joint evidence and the mean over all processes still support it, and no process
// refutes it. A process refutes "slower" when its own not_slower reaches 1 / (1 - confidence). If
// truly d >= floor, this has a probability of at most 1 - confidence at any time.
//
// If the budget of a first process ends with neither an alarm nor "same", fresh processes follow,
// too, until all together say one or the other. Identical tensor-core kernels differ by 0.1 to 0.2
// % in one place, of a margin of 0.3 %, and not in another (baselines/recorded/h200/README.md).
// Everything above still holds, because only the stopping time is new. Simulated at an SD of 0.68 %
// with places of SD 0.12 %: 1.3 % of gates without a change stay undecided instead of 12 %, a
// change of +0.40 % is found in 89 % instead of 72 %, and a gate takes 147 pairs instead of 136.
// Without places and at an SD of 0.95 %, a change of 0.2 %, which does not count, takes 749 pairs
// instead of 520.
//
// Budgets. The pairs that a change needs grow with the variance of a pair. So above a point the
// budgets grow, too (gate_budget()), up to `stretch` times. An alarm that the last process leaves
// open continues there until that process has had as many pairs as the first. All of this only
// moves the stopping time, which may depend on the data in any way.
#include "model/gate/gate.h"

#include "model/predict.h"
#include "model/result.h"
#include "model/robust.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- numbers: policy and budgets ----
//
// A gate's numbers: the defaults, what a series' own past says of its noise, what its pairs are
// for, and how budgets grow with noise.

// The standard deviation of a pair up to which the plain budget is enough, in units of margin -
// floor. At 0.95 % on a large kernel (6.3 units), 3 finds a change of 0.47 % in 100 of 100
// simulated gates with 735 pairs, 4 in 99 with 615, 5 in 95 with 480; without any stretch it is
// found in 73 with 321.
static const double steady = 4;

const struct gate_policy gate_defaults = {
    .alpha = 1e-3,
    .q = 0.01,
    .confidence = CONFIDENCE,
    .block_pairs = 8,
    .min_pairs = 16,
    .tail_pairs = TAIL_PAIRS,
    .max_pairs = 256,
    .confirm_pairs = 64,
    .stretch = 4,
    .processes = 4,
};

struct gate_policy gate_policy_default(const char *device_kind, double size_ns)
{
    struct gate_policy policy = gate_defaults;
    policy.margin = 0.003;
    policy.place = 0.001;
    policy.scale = 0.004;
    if (strcmp(device_kind, "host") == 0) {
        policy.margin = 0.03;
        policy.place = 0.003;
        policy.scale = 0.03;
    } else if (!(size_ns > 100e3)) {
        policy.margin = 0.005;
        policy.scale = 0.01;
    }
    policy.floor = 0.5 * policy.margin;
    return policy;
}

void gate_policy_learn(struct gate_policy *policy, struct moderation prior, double sd, double pairs)
{
    const double most = 16;
    double weight = prior.weight + pairs, scale = moderate_sd(prior, sd, pairs);
    if (!(weight > 0) || !(scale > 0) || !isfinite(scale))
        return;
    policy->scale = scale;
    policy->scale_pairs = fmin(weight, most);
}

// A link's variance is that of its pairs plus that of the errors that pairs cannot show. When the
// first is smaller, more pairs improve a level little.
static const double margin_part = 1.0 / 6, unseen_part = 0.5;

void gate_policy_use(struct gate_policy *policy, enum gate_use use, double unseen)
{
    if (use == GATE_FOR_VERDICT)
        return;
    policy->stretch = 1;
    if (use == GATE_FOR_CHANGE)
        return;
    policy->processes = 1;
    policy->enough = fmax(margin_part * policy->margin, unseen_part * unseen);
}

uint32_t gate_budget(const struct gate_policy *policy, double sd, uint32_t pairs)
{
    double units = sd / (policy->margin - policy->floor) / steady;
    return (uint32_t)ceil(fmin(fmax(1, units * units), policy->stretch) * pairs);
}

// ---- the size that a margin goes by ----
//
// The size by which a gate's default margin is chosen must be the kernel's own, and not depend on
// the day. On a GPU that another process heats, an FP8 kernel of 94 us ran in 119 us, at 1.30
// instead of 1.65 GHz (baselines/recorded/h200, clocks-step.csv); that moved it across 100 us,
// where the margin changes. So
//     size = time x (clock / top clock)^e
// where e is 1 if the SMs limit the problem and 0 if DRAM does. The roofline at the top
// clock decides that from the problem and the device alone, without a measurement. By this
// size 51 first blocks of that kernel lie within 76.7 to 79.0 us. The two values 0 and 1 are
// enough: fitted exponents are 0.95 there, and for kernels in between the error is a
// fraction of the clock's change.

static bool follows_the_clock(const struct problem *problem, const struct gpu *gpu)
{
    const struct predict_input at_top = {
        .gpu = gpu, .problem = problem, .clock_hz = gpu->clock_max_hz.value};
    const struct prediction roofline = model_find("sol")->predict(&at_top);
    return !roofline.feasible || roofline.bound == BOUND_COMPUTE;
}

double gate_size_ns(const struct sample *base, size_t count, const struct problem *problem,
                    const struct gpu *gpu)
{
    struct sample first[64];
    size_t used = 0;
    for (size_t i = 0; i < count && used < ARRAY_COUNT(first); i++) {
        if (base[i].process == base[0].process && base[i].block == base[0].block)
            first[used++] = base[i];
    }
    const struct measurement block = {.samples = first, .count = used};
    const double time_ns = measurement_time_ns(&block), clock_hz = measurement_clock_hz(&block);
    const double top_hz = gpu->clock_max_hz.value;
    if (!(clock_hz > 0 && clock_hz < top_hz) || !follows_the_clock(problem, gpu))
        return time_ns;
    return time_ns * clock_hz / top_hz;
}

void gate_policy_records(struct gate_policy *policy)
{
    policy->margin = policy->margin > 0.004 ? 0.003 : 0.0015;
    policy->place = 0.0004;
    policy->floor = 0.5 * policy->margin;
}

// Below the timer's own steps nothing is known; this only keeps the division finite.
static const double least_scale = 1e-6;

static const uint32_t recent_pairs = 16, tail_pairs = 64;

// The most pairs of all processes together. The last process may play as many as the first.
static uint32_t most_pairs(const struct gate_policy *policy)
{
    double pairs = policy->max_pairs;
    if (policy->processes > 1)
        pairs += (policy->processes - 2.0) * policy->confirm_pairs +
                 fmax(policy->max_pairs, policy->confirm_pairs);
    return (uint32_t)fmin(ceil(policy->stretch * pairs), 1 << 30);
}

void gate_series_init(struct gate_series *series, const struct gate_policy *policy,
                      struct arena *arena)
{
    assert(policy->alpha > 0 && policy->alpha < 1 && policy->q > 0 && policy->q < 1);
    assert(policy->confidence > 0 && policy->confidence < 1);
    assert(policy->floor >= 0 && policy->floor < policy->margin && isfinite(policy->margin));
    assert(policy->scale > 0 && isfinite(policy->scale) && policy->scale_pairs >= 0);
    assert(policy->block_pairs >= 1 && policy->max_pairs >= 1 && policy->processes >= 1);
    assert(policy->stretch >= 1 && policy->stretch <= 64 && policy->enough >= 0);
    uint32_t capacity = most_pairs(policy);
    *series = (struct gate_series){
        .policy = *policy,
        .y = arena_alloc(arena, capacity * sizeof(double)),
        .scale = arena_alloc(arena, capacity * sizeof(double)),
        .work = arena_alloc(arena, capacity * sizeof(double)),
        .means = arena_alloc(arena, policy->processes * sizeof(double)),
        .errors = arena_alloc(arena, policy->processes * sizeof(double)),
        .start = arena_alloc(arena, (policy->processes + 1) * sizeof(uint32_t)),
        .streams = arena_alloc(arena, policy->processes * sizeof(struct gate_stream)),
        .capacity = capacity,
        .processes = 1,
        .first = 1,
    };
}

// ---- launches that are slow now and then ----

// A difference is large beyond at least five scales, where normal noise never is. Both bets are on
// odd, rising functions of z, so they are as fair as bets on z itself, whatever the noise.
static const double large = 5, mean_unit = 4;
// The shares that each bet stakes on one pair, against "this side has it in one pair of 50, or more
// often". A bet must go on long enough to recognise one pair of 20, so the frequency is lower than
// that.
static const double stakes[TAIL_BETS] = {0.25, 0.5, 0.9}, seldom = 0.02;
// The log evidence from which on the signs are taken to favour one side; a single large difference
// gives 1.6.
static const double suspicious = 1.5;

static int side_of(double z, double least)
{
    return fabs(z) <= fmax(large, least) ? 0 : z > 0 ? 1 : -1;
}

// Adds a difference: `z` is measured from the centre under the null, in scales; `plain` from 0. A
// difference is large if it exceeds `least` and what normal noise makes.
static void tail_add(struct tail *tail, double z, double plain, double least)
{
    const int side = side_of(plain, least);
    eprocess_add(&tail->signs, side_of(z, least));
    eprocess_add(&tail->mean, z / mean_unit);
    for (int i = 0; i < TAIL_BETS; i++)
        tail->few[i] += log1p(-stakes[i] * (side - seldom));
    tail->pairs++;
    tail->excess += side;
}

static void tail_join(struct tail *tail, const struct tail *next)
{
    eprocess_join(&tail->signs, &next->signs);
    eprocess_join(&tail->mean, &next->mean);
    for (int i = 0; i < TAIL_BETS; i++)
        tail->few[i] += next->few[i];
    tail->pairs += next->pairs;
    tail->excess += next->excess;
}

// log E that the side has more large differences, or a larger mean when values are clipped at 8
// scales.
static double tail_log(const struct tail *tail)
{
    return log_mean_exp((double[]){eprocess_log(&tail->signs), eprocess_log(&tail->mean)}, 2);
}

// Whether "same" cannot be said yet, because the large differences may favour this side: there are
// some, and their number is not yet known well enough.
static bool tail_open(const struct tail *tail, double confidence)
{
    return eprocess_log(&tail->signs) >= log(suspicious) &&
           log_mean_exp(tail->few, TAIL_BETS) < -log(1 - confidence);
}

// ---- pairs ----

// The scale of the next pair. It changes only at multiples of block_pairs, so it does not depend on
// how pairs were split into calls.
static double next_scale(const struct gate_series *s)
{
    if (s->pairs == 0)
        return fmax(s->policy.scale, least_scale);
    if (s->pairs % s->policy.block_pairs != 0)
        return s->scale[s->pairs - 1];
    uint32_t recent = s->pairs < recent_pairs ? s->pairs : recent_pairs;
    memcpy(s->work, s->y + s->pairs - recent, recent * sizeof(*s->y));
    double sd = robust_sd(s->work, recent);
    struct moderation history = {s->policy.scale, s->policy.scale_pairs};
    return fmax(moderate_sd(history, sd, recent), least_scale);
}

// The scale beyond which a difference is large. It is learnt from more pairs, because the standard
// deviation of 8 pairs is sometimes a quarter of the true one, that of 16 half. Differences that
// are called large by mistake hide which side has the truly large ones. With this, one launch in
// twenty that takes 30 % longer is found in 98 % of gates, and by the standard deviation alone in
// 94.
static double next_tail_scale(const struct gate_series *s)
{
    const uint32_t recent = s->pairs < tail_pairs ? s->pairs : tail_pairs;
    if (recent == 0 || s->pairs % s->policy.block_pairs != 0)
        return s->tail_scale;
    memcpy(s->work, s->y + s->pairs - recent, recent * sizeof(*s->y));
    return (1 + 16.0 / recent) * robust_sd(s->work, recent);
}

static void add_pair(struct gate_series *s, double y)
{
    double scale = next_scale(s), floor = s->policy.floor, margin = s->policy.margin;
    struct gate_stream *stream = &s->streams[s->processes - 1];
    eprocess_add(&stream->slower, (y - floor) / scale);
    eprocess_add(&stream->not_slower, (floor - y) / scale);
    eprocess_add(&stream->faster, (-floor - y) / scale);
    eprocess_add(&stream->not_faster, (y + floor) / scale);
    eprocess_add(&stream->below, (margin - y) / scale);
    eprocess_add(&stream->above, (y + margin) / scale);
    const double wide = s->tail_scale = fmax(scale, next_tail_scale(s));
    tail_add(&stream->slow_head, (y - floor) / wide, y / wide, margin / wide);
    tail_add(&stream->slow_base, (-floor - y) / wide, -y / wide, margin / wide);
    s->y[s->pairs] = y;
    s->scale[s->pairs] = scale;
    stream->pairs++;
    s->start[s->processes] = ++s->pairs;
}

size_t gate_series_add(struct gate_series *series, const double *log_ratios, size_t count)
{
    size_t taken = 0;
    for (size_t i = 0; i < count && series->pairs < series->capacity; i++) {
        if (!isfinite(log_ratios[i]))
            continue;
        add_pair(series, log_ratios[i]);
        taken++;
    }
    return taken;
}

static bool is_alarm(enum verdict_kind kind)
{
    return kind == VERDICT_SLOWER || kind == VERDICT_FASTER;
}

// Ends the present process, whatever it showed.
static void begin_process(struct gate_series *s)
{
    assert(s->processes < s->policy.processes);
    s->start[++s->processes] = s->pairs;
}

void gate_series_fresh_process(struct gate_series *series)
{
    series->alarmed |= is_alarm(gate_series_decide(series).kind);
    begin_process(series);
}

static void *grown(const void *old, size_t used, size_t count, size_t size, struct arena *arena)
{
    void *more = arena_alloc(arena, count * size);
    memcpy(more, old, used * size);
    return more;
}

// Makes room for one more process, and in the confirming stage for the pairs that each process may
// have.
static void make_room(struct gate_series *s, struct arena *arena)
{
    const uint32_t room = ++s->policy.processes;
    s->means = grown(s->means, 0, room, sizeof(*s->means), arena);
    s->errors = grown(s->errors, 0, room, sizeof(*s->errors), arena);
    s->start = grown(s->start, s->processes + 1, room + 1, sizeof(*s->start), arena);
    s->streams = grown(s->streams, s->processes, room, sizeof(*s->streams), arena);
    if (s->processes <= s->first) {
        s->first++;
        return;
    }
    s->capacity += (uint32_t)ceil(s->policy.stretch * s->policy.confirm_pairs);
    s->y = grown(s->y, s->pairs, s->capacity, sizeof(*s->y), arena);
    s->scale = grown(s->scale, s->pairs, s->capacity, sizeof(*s->scale), arena);
    s->work = grown(s->work, 0, s->capacity, sizeof(*s->work), arena);
}

void gate_series_replace_process(struct gate_series *series, struct arena *arena)
{
    if (series->streams[series->processes - 1].pairs == 0)
        return;
    make_room(series, arena);
    begin_process(series);
}

// log((E slower + E faster) / 2), given the logs of both.
static double two_sided(double slower, double faster)
{
    return log_mean_exp((double[]){slower, faster}, 2);
}

// Most of the stake is on the typical launch, which pays 0.1 nats for the other bets.
static const double typical_part = 0.9, slow_part = 0.1;

static double log_sum(double a, double b)
{
    return log_mean_exp((double[]){a, b}, 2) + M_LN2;
}

// The evidence of all processes together, and whether the processes contradict each other.
struct evidence {
    double slower, faster, below, above;
    double slow_head, slow_base; // for launches that are slow now and then
    bool slow_open;
    double slow_share, log_mean;
    bool shows_slower, shows_faster, refutes_slower, refutes_faster;
};

// Means over all pairs, slow launches included.
struct plain {
    double mean, se;
};

static struct plain plain_of(const struct gate_series *s)
{
    double sum = 0, squares = 0;
    const double n = s->pairs;
    for (uint32_t i = 0; i < s->pairs; i++) {
        sum += s->y[i];
        squares += s->y[i] * s->y[i];
    }
    if (s->pairs < 2)
        return (struct plain){s->pairs ? sum : NAN, INFINITY};
    return (struct plain){sum / n, sqrt(fmax(0, squares / n - sum / n * (sum / n)) / (n - 1))};
}

static struct evidence gather(const struct gate_series *s)
{
    struct evidence sum = {0};
    double shown = log(2 / s->policy.alpha), refuted = -log(1 - s->policy.confidence);
    struct gate_stream joint = {0};
    for (uint32_t p = 0; p < s->processes; p++) {
        const struct gate_stream *stream = &s->streams[p];
        double slower = eprocess_log(&stream->slower), faster = eprocess_log(&stream->faster);
        eprocess_join(&joint.slower, &stream->slower);
        eprocess_join(&joint.faster, &stream->faster);
        eprocess_join(&joint.below, &stream->below);
        eprocess_join(&joint.above, &stream->above);
        tail_join(&joint.slow_head, &stream->slow_head);
        tail_join(&joint.slow_base, &stream->slow_base);
        sum.shows_slower |= slower >= shown;
        sum.shows_faster |= faster >= shown;
        sum.refutes_slower |= eprocess_log(&stream->not_slower) >= refuted;
        sum.refutes_faster |= eprocess_log(&stream->not_faster) >= refuted;
    }
    sum.slower = eprocess_log(&joint.slower);
    sum.faster = eprocess_log(&joint.faster);
    sum.below = eprocess_log(&joint.below);
    sum.above = eprocess_log(&joint.above);
    sum.slow_head = tail_log(&joint.slow_head);
    sum.slow_base = tail_log(&joint.slow_base);
    const struct plain plain = plain_of(s);
    const double far = plain.mean + 2 * plain.se, near = plain.mean - 2 * plain.se;
    sum.log_mean = plain.mean;
    sum.slow_open =
        (far >= s->policy.margin && tail_open(&joint.slow_head, s->policy.confidence)) ||
        (near <= -s->policy.margin && tail_open(&joint.slow_base, s->policy.confidence));
    sum.slow_share = (double)joint.slow_head.excess / fmax(1, joint.slow_head.pairs);
    return sum;
}

// The mean over the processes that have at least two pairs; a single process gives its trimmed
// mean.
static struct pooled estimate(const struct gate_series *s)
{
    struct pooled none = {NAN, INFINITY, 0};
    size_t used = 0;
    for (uint32_t p = 0; p < s->processes; p++) {
        uint32_t count = s->streams[p].pairs;
        memcpy(s->work, s->y + s->start[p], count * sizeof(*s->y));
        struct robust_mean m = robust_mean(s->work, count);
        if (count == 1)
            none.mean = m.mean;
        if (count < 2)
            continue;
        s->means[used] = m.mean;
        s->errors[used++] = fmax(m.se, least_scale);
    }
    return used ? pool_random_effects(s->means, s->errors, used) : none;
}

// Whether the present process has spent a budget of this many pairs; the first stage counts as one
// process.
static bool spent(const struct gate_series *s, uint32_t pairs)
{
    bool first = s->processes <= s->first;
    uint32_t taken = first ? s->pairs : s->streams[s->processes - 1].pairs;
    if (s->pairs >= s->capacity || taken < pairs)
        return s->pairs >= s->capacity;
    memcpy(s->work, s->y, s->pairs * sizeof(*s->y));
    return taken >= gate_budget(&s->policy, robust_sd(s->work, s->pairs), pairs);
}

// Whether a further process has done what it can: it is decided by itself, or its budget is spent.
static bool further_finished(const struct gate_series *s)
{
    const struct gate_stream *stream = &s->streams[s->processes - 1];
    double shown = log(2 / s->policy.alpha), refuted = -log(1 - s->policy.confidence);
    if (spent(s, s->policy.confirm_pairs))
        return true;
    if (stream->pairs < s->policy.min_pairs)
        return false;
    return eprocess_log(&stream->slower) >= shown || eprocess_log(&stream->faster) >= shown ||
           (eprocess_log(&stream->not_slower) >= refuted &&
            eprocess_log(&stream->not_faster) >= refuted);
}

// The verdict from slow launches. They are enough alone, also for a head that is faster apart from
// some launches.
static enum verdict_kind slow_kind(const struct gate_series *s, const struct gate_decision *d,
                                   const struct evidence *e)
{
    const double shown = -log(s->policy.alpha) - log(slow_part / 2);
    if (e->slow_head > e->slow_base && e->slow_head >= shown && d->log_mean >= s->policy.margin)
        return VERDICT_SLOWER;
    if (e->slow_base > e->slow_head && e->slow_base >= shown && d->log_mean <= -s->policy.margin)
        return VERDICT_FASTER;
    return VERDICT_UNDECIDED;
}

static enum verdict_kind typical_kind(const struct gate_series *s, const struct gate_decision *d,
                                      const struct evidence *e)
{
    // Tested separately, because what slow launches show is no evidence about the others.
    if (log(typical_part) + two_sided(e->slower, e->faster) < -log(s->policy.alpha))
        return VERDICT_UNDECIDED;
    if (e->slower > e->faster && d->log_ratio >= s->policy.margin)
        return VERDICT_SLOWER;
    return e->faster > e->slower && d->log_ratio <= -s->policy.margin ? VERDICT_FASTER
                                                                      : VERDICT_UNDECIDED;
}

// How many standard errors a bound lies from the mean, if it must hold at any time. Between the
// first look and the last, the information in the mean grows as the number of processes, and by
// half as much again through the pairs in them. A standardised walk passes c while its information
// grows by a factor g with a probability of about ((c - 1 / c) log(g) / 2 + 1 / c) phi(c)
// (Siegmund, Sequential Analysis, 1985, 4.3): 2.39 for four processes and 5 %.
static double errors_kept(const struct gate_policy *policy)
{
    const double grown = 1.5 * gate_defaults.processes; // a gate that is judged again has as many
    double low = 1, high = 8;
    for (int i = 0; i < 40; i++) {
        const double c = 0.5 * (low + high);
        const double passes = 0.5 * log(grown) * (c - 1 / c) + 1 / c;
        const bool often = passes * exp(-0.5 * c * c) / sqrt(2 * M_PI) > 1 - policy->confidence;
        *(often ? &low : &high) = c;
    }
    return high;
}

// How far d may lie from the mean if the standard deviation of places is `place`; that includes the
// places of processes to come.
static double half_width(const struct gate_series *s, const struct pooled *mean, double place)
{
    const double more2 = place * place - mean->between * mean->between;
    return errors_kept(&s->policy) * sqrt(fmax(0, mean->se * mean->se + more2 / s->processes));
}

// Whether the mean lies near the margin, by what is known about places and not by what a few
// processes show of them. By chance the latter is too large where nothing changed, and would leave
// one such gate in 30 undecided.
static bool near_margin(const struct gate_series *s, const struct pooled *mean)
{
    return fabs(mean->mean) + half_width(s, mean, s->policy.place) > s->policy.margin;
}

// Sets the kind, and whether it is about typical or slow launches.
static void find_kind(struct gate_decision *d, const struct gate_series *s,
                      const struct evidence *e, const struct pooled *mean)
{
    d->kind = VERDICT_UNDECIDED;
    if (d->pairs < s->policy.min_pairs || d->placement)
        return;
    const enum verdict_kind typical = typical_kind(s, d, e), slow = slow_kind(s, d, e);
    d->kind = typical;
    if (typical != VERDICT_SLOWER && slow != VERDICT_UNDECIDED &&
        (typical == VERDICT_UNDECIDED || slow == VERDICT_SLOWER)) {
        d->kind = slow;
        d->slow_alarm = slow != typical;
    }
    const bool same = d->kind == VERDICT_UNDECIDED && !d->slow_open &&
                      d->log_same >= -log(1 - s->policy.confidence);
    d->near = same && near_margin(s, mean);
    if (same && !d->near)
        d->kind = VERDICT_SAME;
}

// The next step of a series that only measures.
static enum gate_next measure_on(const struct gate_series *s)
{
    const bool begun = s->pairs >= s->policy.min_pairs;
    const bool over =
        (begun && estimate(s).se <= s->policy.enough) || spent(s, s->policy.max_pairs);
    return over ? GATE_DONE : GATE_MORE;
}

// Whether a series near the margin should continue in another process: a further process's budget
// would not decide it here, and costs as much as starting one.
static bool asked_elsewhere(const struct gate_series *s)
{
    if (s->pairs < s->policy.tail_pairs || s->streams[s->processes - 1].pairs < s->policy.min_pairs)
        return false;
    struct pooled then = estimate(s);
    then.se *= sqrt(s->pairs / ((double)s->pairs + s->policy.confirm_pairs));
    return near_margin(s, &then);
}

static enum gate_next next_step(const struct gate_series *s, const struct gate_decision *d)
{
    if (s->policy.enough > 0)
        return measure_on(s);
    bool alarm = is_alarm(d->kind);
    bool more_processes = s->processes < s->policy.processes;
    if (!s->alarmed) {
        bool first = s->processes <= s->first;
        const uint32_t budget = first ? s->policy.max_pairs : s->policy.confirm_pairs;
        if (d->kind == VERDICT_SAME)
            return s->pairs >= s->policy.tail_pairs || spent(s, budget) ? GATE_DONE : GATE_MORE;
        if (d->near && more_processes && asked_elsewhere(s))
            return GATE_CONFIRM;
        // Slow launches are rare, so finding their side may take as long as a noisy series.
        if (!alarm && !spent(s, d->slow_open ? (uint32_t)(s->policy.stretch * budget) : budget))
            return GATE_MORE;
        return more_processes ? GATE_CONFIRM : GATE_DONE;
    }
    if (!further_finished(s))
        return GATE_MORE;
    if (more_processes)
        return GATE_CONFIRM;
    bool open = d->kind == VERDICT_UNDECIDED && !d->placement;
    return open && !spent(s, s->policy.max_pairs) ? GATE_MORE : GATE_DONE;
}

// The scale-free mixture over the medians of whole blocks of pairs. Blocks are sorted in place in
// `work`; their medians gather at its beginning, behind the present block.
static double companion(const struct gate_series *s)
{
    uint32_t size = s->policy.block_pairs, blocks = 0;
    double *medians = s->work;
    for (uint32_t from = 0; from + size <= s->pairs; from += size) {
        double *block = s->work + from;
        memcpy(block, s->y + from, size * sizeof(*block));
        double median = robust_median(block, size);
        medians[blocks++] = median;
    }
    return eprocess_scale_free(medians, blocks);
}

struct gate_decision gate_series_decide(const struct gate_series *s)
{
    const struct evidence e = gather(s);
    const struct pooled mean = estimate(s);
    struct gate_decision d = {
        .log_ratio = mean.mean,
        .log_evidence = log_sum(log(typical_part) + two_sided(e.slower, e.faster),
                                log(slow_part) + two_sided(e.slow_head, e.slow_base)),
        .log_mean = e.log_mean,
        .slow_share = e.slow_share,
        .slow_open = e.slow_open,
        .log_same = fmin(e.below, e.above),
        .log_blocks = companion(s),
        .placement = s->processes > 1 &&
                     ((e.shows_slower && e.refutes_slower) || (e.shows_faster && e.refutes_faster)),
        .pairs = s->pairs,
        .processes = s->processes,
    };
    find_kind(&d, s, &e, &mean);
    d.next = next_step(s, &d);
    return d;
}

// The hull of two intervals for d, which covers what either of them covers. The inverted
// e-processes contain d at any time if the noise is symmetric. They clip pairs; if the noise has a
// long side or two modes, they bound something nearer to the median than to the mean that is
// reported (beside a loaded host -53.80 to -40.32 for a mean of -54.41 %). So the mean's own
// interval is included. Its error contains the spread between processes: what is known about
// places, or what these processes show if that is more.
struct interval gate_series_interval(const struct gate_series *s)
{
    double tail = 0.5 * (1 - s->policy.confidence), limit = -log(tail);
    struct interval d = interval_unknown;
    if (s->pairs == 0)
        return d;
    const struct pooled pooled = estimate(s);
    const double half = half_width(s, &pooled, fmax(s->policy.place, pooled.between));
    d.value = pooled.mean;
    d.low = fmin(eprocess_bound(s->y, s->scale, s->pairs, limit, +1), pooled.mean - half);
    d.high = fmax(eprocess_bound(s->y, s->scale, s->pairs, limit, -1), pooled.mean + half);
    return d;
}

// ---- which series is next ----
//
// Decides which series gets the next block. The aim is verdicts per second of the device: a gate
// may end at its time limit, and a series without a verdict by then is undecided. A series is a job
// of unknown length, so this is scheduling. The order that finishes most jobs in any given time is
// that of Gittins (J. R. Stat. Soc. B 41, 1979): play the job with the largest
//     max over t of  P(decided within t) / E[pairs until decided, or t],
// per second of a pair. That need not be the series with most evidence: a change between floor and
// margin has all the evidence that an alarm needs, and never becomes one.
//
// The number of pairs that a series needs, if its true log ratio is d, sigma the SD of a pair, and
// e the evidence so far: a pair wins growth(|d| - floor) towards an alarm and growth(margin - |d|)
// towards "same" (distances in units of sigma), so
//     alarm, |d| >= margin:  (log(1/alpha) - e_alarm) / growth, and as many as bring the mean, now
//                            y after n pairs, to the margin: n (margin - y) / (d - margin)
//     same,  |d| < margin:   (log(1/(1 - confidence)) - e_same) / growth.
// d is not known, but after n pairs it is about normal, y +- sigma / sqrt(n). It is replaced
// by seven values of equal probability. A series that needs more pairs than its budget has
// left is never decided.
//
// The growth of a bet on a normal z = d/sigma + noise, with the best bet of eprocess.c's ladder, is
// about z^2/2 for small z, and at most log 2. log 2 (1 - exp(-z^2 / (2 log 2))) is within 10 % of
// it from 0.2 on; below the smallest bet, 0.2, it is 0.2 z - 0.02 (computed by integration). A
// process that confirms an alarm ends when it shows the change, refutes it, or has spent its
// budget: it is always decided, and only the time is open.
//
// The order may depend on the evidence in any way. Each bet of a series is fair given everything
// seen before its pair, in all series, because the coin for the pair's order was tossed after that.
// So a series' wealth, counted in its own pairs, is an e-process, whoever decides when the next
// pair is taken (and a pause is not even a stop). Only the number of pairs by the time limit
// depends on the order, and that is a stopping time.

enum { GUESSES = 7 };

static double growth(double z)
{
    if (z < 0.2)
        return fmax(0, 0.2 * z - 0.02);
    return M_LN2 * -expm1(-0.5 * z * z / M_LN2);
}

// The outlook of a series: what its present estimate implies for the pairs to come.
struct outlook {
    const struct gate_policy *policy;
    double mean, sd, pairs;     // so far
    double log_alarm, log_same; // the evidence that is missing
    double left;                // the rest of the budget, in pairs
    bool confirms;              // its process confirms an alarm
};

static double pairs_needed(const struct outlook *o, double d)
{
    const double size = fabs(d), shown = d < 0 ? -o->mean : o->mean;
    const double margin = o->policy->margin, floor = o->policy->floor;
    if (o->confirms)
        return fmin(o->left, o->log_alarm / growth(fabs(size - floor) / o->sd));
    if (size < margin)
        return fmax(o->policy->tail_pairs - o->pairs,
                    o->log_same / growth((margin - size) / o->sd));
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

// The index above, from GUESSES equally likely numbers of pairs.
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

// The evidence that the present process still needs to show that its own shift is beyond the floor,
// or is not.
static double missing_here(const struct gate_series *s)
{
    const struct gate_stream *stream = &s->streams[s->processes - 1];
    const double shown = log(2 / s->policy.alpha), refuted = -log(1 - s->policy.confidence);
    const double slower = eprocess_log(&stream->slower), faster = eprocess_log(&stream->faster);
    const double both = fmin(eprocess_log(&stream->not_slower), eprocess_log(&stream->not_faster));
    return fmin(shown - fmax(slower, faster), refuted - both);
}

// Seven guesses of the true log ratio, and the pairs that each would need.
struct guesses {
    struct outlook o;
    double d[GUESSES], needed[GUESSES]; // needed: at least a block
};

// Places the guesses of the true change around the mean of the pairs times `weight`: with 1 around
// the mean itself, with a smaller weight nearer to no change.
static void guess_at(struct guesses *g, double weight)
{
    const double spread = sqrt(weight) * g->o.sd / sqrt(g->o.pairs);
    for (size_t i = 0; i < GUESSES; i++) {
        const double z = normal_quantile(((double)i + 0.5) / GUESSES);
        g->d[i] = weight * g->o.mean + z * spread;
        g->needed[i] = fmax(g->o.policy->block_pairs, pairs_needed(&g->o, g->d[i]));
    }
}

static struct guesses guess(const struct gate_series *s, const struct gate_decision *now)
{
    const bool first = s->processes <= s->first;
    const uint32_t taken = first ? s->pairs : s->streams[s->processes - 1].pairs;
    const double block = s->policy.block_pairs, sd = sd_now(s);
    uint32_t budget =
        gate_budget(&s->policy, sd, first ? s->policy.max_pairs : s->policy.confirm_pairs);
    if (s->alarmed && taken >= budget) // the last process continues
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
    guess_at(&out, 1);
    return out;
}

// The pairs of a series that only measures, until its standard error is reached.
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

// The pairs with which a process confirms an alarm of size d; `room` allows for chance, 1 for none.
static double confirming_pairs(const struct gate_policy *policy, double d, double sd, double room)
{
    const double most = gate_budget(policy, sd, policy->confirm_pairs), block = policy->block_pairs;
    const double beyond = fabs(d) - policy->floor;
    const double needed = beyond > 0 ? room * log(2 / policy->alpha) / growth(beyond / sd) : most;
    return block * ceil(fmin(fmax(needed, policy->min_pairs), most) / block);
}

// The weight of the mean. Most changes of code do not change the time, so a mean that chance alone
// could produce gets little weight. As in Stein's estimate, the weight is the part of its square
// that its error does not explain.
static double weight_of_mean(const struct outlook *o)
{
    const double error2 = o->sd * o->sd / o->pairs;
    return o->mean != 0 ? fmax(0, 1 - error2 / (o->mean * o->mean)) : 0;
}

// Estimates what is left. A question that the present process does not decide is asked in further
// processes, each with its own budget. The estimate is the geometric mean over the guesses, because
// a guess near the margin needs so many pairs that it would dominate the arithmetic mean.
struct gate_left gate_left(const struct gate_series *s, const struct gate_decision *now)
{
    const struct gate_policy *policy = &s->policy;
    struct guesses g = guess(s, now);
    const double further = policy->processes - s->processes;
    const double budget = gate_budget(policy, g.o.sd, policy->confirm_pairs);
    const double here = now->next == GATE_MORE ? g.o.left : 0, open = here + further * budget;
    const bool alarm = s->alarmed || now->kind == VERDICT_SLOWER || now->kind == VERDICT_FASTER;
    const double block = policy->block_pairs;
    double log_pairs = 0, processes = 0;
    if (now->next == GATE_DONE)
        return (struct gate_left){0, 0};
    if (policy->enough > 0)
        return (struct gate_left){measuring_pairs(s), 0};
    guess_at(&g, weight_of_mean(&g.o));
    for (size_t i = 0; i < GUESSES; i++) {
        const double each = confirming_pairs(policy, g.d[i], g.o.sd, 1);
        // The further processes that this guess needs.
        const double later = ceil(fmax(0, g.needed[i] - here) / budget);
        const bool same = fabs(g.d[i]) < policy->margin && !alarm;
        double pairs = g.needed[i] + (same ? 0 : (further - later) * each);
        if (alarm)
            pairs = (s->alarmed ? fmin(g.needed[i], here) : 0) + further * each;
        else if (g.needed[i] > open)
            pairs = open;
        log_pairs += log(pairs + block) / GUESSES;
        processes += (same ? fmin(later, further) : further) / GUESSES;
    }
    return (struct gate_left){exp(log_pairs) - block, processes};
}

// Half as many again as a steady series needs. One in ten needs more, and continues all the same.
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

// A series that needs more budgets than this is not decided soon.
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

// Chooses the series with the fewest pairs until each has its min_pairs, also among those with no
// outlook.
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

// ---- which alarms stand ----
//
// Many series at once: which alarms stand.
// Series of one GPU share its clock and heat, so their errors are dependent in unknown ways; e-BH
// holds its false discovery rate under any dependence (Wang and Ramdas 2022), and so does the mean
// of e-values within a kernel. A kernel that got slower on all shapes is found by the mean even
// when no single shape suffices; inside a released kernel the series are tested at q x released
// kernels / kernels (Benjamini and Bogomolov 2014), which keeps the average rate over the released
// ones.

// Gathers the evidence of one kernel's series into `of_kernel`; returns their number.
static size_t gather_kernel(double *of_kernel, const double *log_evidence, const size_t *kernel,
                            size_t count, size_t which)
{
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        if (kernel[i] == which)
            of_kernel[used++] = log_evidence[i];
    }
    return used;
}

static size_t release_kernel(bool *released, const double *log_evidence, const size_t *kernel,
                             size_t count, size_t which, double q)
{
    double *of_kernel = xcalloc(count, sizeof(*of_kernel));
    bool *rejected = xcalloc(count, sizeof(*rejected));
    size_t used = gather_kernel(of_kernel, log_evidence, kernel, count, which);
    size_t found = ebh(rejected, of_kernel, used, q);
    for (size_t i = 0, at = 0; i < count; i++) {
        if (kernel[i] == which)
            released[i] = rejected[at++];
    }
    free(of_kernel);
    free(rejected);
    return found;
}

size_t gate_release(bool *released, const double *log_evidence, const size_t *kernel, size_t count,
                    double q)
{
    size_t highest = 0, kernels = 0, total = 0;
    for (size_t i = 0; i < count; i++) {
        released[i] = false;
        highest = kernel[i] >= highest ? kernel[i] + 1 : highest;
    }
    double *evidence = xcalloc(highest, sizeof(*evidence)), *work = xcalloc(count, sizeof(*work));
    size_t *number = xcalloc(highest, sizeof(*number));
    bool *rejected = xcalloc(highest, sizeof(*rejected));
    for (size_t k = 0; k < highest; k++) {
        size_t used = gather_kernel(work, log_evidence, kernel, count, k);
        if (used == 0)
            continue;
        number[kernels] = k;
        evidence[kernels++] = log_mean_exp(work, used);
    }
    size_t found = ebh(rejected, evidence, kernels, q);
    for (size_t k = 0; k < kernels; k++) {
        double within = q * (double)found / (double)kernels;
        if (rejected[k])
            total += release_kernel(released, log_evidence, kernel, count, number[k], within);
    }
    free(evidence);
    free(work);
    free(number);
    free(rejected);
    return total;
}
