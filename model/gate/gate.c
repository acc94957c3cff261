// SPDX-License-Identifier: Apache-2.0
//
// One series: six bets per process.
//
// Every statement about the true log ratio d is an e-process of eprocess.h on y shifted to the
// boundary of its null hypothesis:
//     slower      against d <= +floor        not_slower   against d >= +floor
//     faster      against d >= -floor        not_faster   against d <= -floor
//     below       against d >= +margin       above        against d <= -margin
// At most one of "slower" and "faster" can be far from its null, so (slower + faster) / 2 is an
// e-value against |d| <= floor: log_evidence. "Same" needs `below` and `above`; if |d| >= margin,
// one of them is a bet against the truth, so min(below, above) is an e-value against |d| >= margin:
// log_same. What the shifted nulls need beyond "same code": that a change acts as a factor, and
// that the noise around it stays symmetric, which the random order gives as long as noise hits both
// builds alike. At d = 0, the case that decides about false alarms, nothing is assumed.
//
// Why a floor: an exact test of d = 0 sees 0.05 %, and a build that moves its code by a cache line
// does change by that. Alarms need evidence of more than `floor`, and an estimate of at least
// `margin`; evidence without size goes on until "same", or the budget ends undecided.
//
// The scale of a pair is fixed before its block is measured: history's for the first block, then
// the MAD of all pairs before the block, moderated by history. A wrong scale costs power, never
// truth.
//
// Processes. A fresh process draws new addresses, so its shift differs a little. Its bets carry on
// with the wealth of the process before: every factor is still a fair bet given the past, so the
// mean over the bets is one e-process over all pairs. (Multiplying the processes' own means is
// allowed too, but pays log 5 for not knowing the best bet once per process; four of them hid a
// change of 0.47 % at an SD of 0.95 %.) An alarm of the first process is a candidate; it stands if
// the joint evidence and the mean over all processes still say so, and no process refutes it. A
// process refutes "slower" when not_slower, its own, reaches 1 / (1 - confidence): under a true d
// >= floor that has probability <= 1 - confidence, whatever it looks like.
//
// A first process whose budget ends with neither alarm nor "same" is followed by fresh ones too,
// until together they say the one or the other: identical tensor-core kernels are off by 0.1 to 0.2
// % in one place, of a margin of 0.3 %, and in another not (baselines/recorded/h200/README.md). All
// of the above holds, for nothing but the stopping time is new. Simulated at an SD of 0.68 % with
// places of SD 0.12 %, it leaves 1.3 % of gates without a change undecided, not 12 %, raises what
// is found of +0.40 % from 72 to 89 %, and takes 147 pairs, not 136; without places 0.2 % of a
// kernel with an SD of 0.95 %, a change that does not count, takes 749 pairs, not 520.
//
// Budgets. The pairs that a change needs grow with the variance of a pair, so above a point the
// budgets do too (gate_policy.c), up to `stretch` times. An alarm that the last process leaves open
// goes on there until that process has had as much as the first. All of this only moves the time at
// which one stops, which may depend on the data in any way.
#include "model/gate/gate.h"

#include <assert.h>
#include <math.h>
#include <string.h>

// Below the timer's own steps nothing is known; it only keeps the division finite.
static const double least_scale = 1e-6;
static const uint32_t recent_pairs = 16;

// Of all processes together. The last one may go on as long as the first.
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

// The scale for the pair that comes next. It changes only at multiples of block_pairs, so it does
// not depend on how the pairs were split into calls.
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

// The process at work is over, whatever it said.
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

// A process more, and in the confirming stage as many more pairs as each of its processes may have.
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

// log((E slower + E faster) / 2) from the logs of both.
static double two_sided(double slower, double faster)
{
    return log_mean_exp((double[]){slower, faster}, 2);
}

// What all processes say together, and whether they contradict each other.
struct evidence {
    double slower, faster, below, above;
    bool shows_slower, shows_faster, refutes_slower, refutes_faster;
};

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
        sum.shows_slower |= slower >= shown;
        sum.shows_faster |= faster >= shown;
        sum.refutes_slower |= eprocess_log(&stream->not_slower) >= refuted;
        sum.refutes_faster |= eprocess_log(&stream->not_faster) >= refuted;
    }
    sum.slower = eprocess_log(&joint.slower);
    sum.faster = eprocess_log(&joint.faster);
    sum.below = eprocess_log(&joint.below);
    sum.above = eprocess_log(&joint.above);
    return sum;
}

// Mean over the processes that have at least two pairs; a single one gives its trimmed mean.
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

// The process at work has spent a budget of so many pairs; the first stage counts as one process.
static bool spent(const struct gate_series *s, uint32_t pairs)
{
    bool first = s->processes <= s->first;
    uint32_t taken = first ? s->pairs : s->streams[s->processes - 1].pairs;
    if (s->pairs >= s->capacity || taken < pairs)
        return s->pairs >= s->capacity;
    memcpy(s->work, s->y, s->pairs * sizeof(*s->y));
    return taken >= gate_budget(&s->policy, robust_sd(s->work, s->pairs), pairs);
}

// A further process has said what it can: decided for itself, or its budget is spent.
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

static enum verdict_kind kind_now(const struct gate_series *s, const struct gate_decision *d,
                                  const struct evidence *e)
{
    if (d->pairs < s->policy.min_pairs || d->placement)
        return VERDICT_UNDECIDED;
    if (d->log_evidence >= -log(s->policy.alpha)) {
        if (e->slower > e->faster && d->log_ratio >= s->policy.margin)
            return VERDICT_SLOWER;
        if (e->faster > e->slower && d->log_ratio <= -s->policy.margin)
            return VERDICT_FASTER;
    }
    if (d->log_same >= -log(1 - s->policy.confidence))
        return VERDICT_SAME;
    return VERDICT_UNDECIDED;
}

// Of a series that only measures.
static enum gate_next measure_on(const struct gate_series *s)
{
    const bool begun = s->pairs >= s->policy.min_pairs;
    const bool over =
        (begun && estimate(s).se <= s->policy.enough) || spent(s, s->policy.max_pairs);
    return over ? GATE_DONE : GATE_MORE;
}

static enum gate_next next_step(const struct gate_series *s, const struct gate_decision *d)
{
    if (s->policy.enough > 0)
        return measure_on(s);
    bool alarm = is_alarm(d->kind);
    bool more_processes = s->processes < s->policy.processes;
    if (!s->alarmed) {
        bool first = s->processes <= s->first;
        if (d->kind == VERDICT_SAME)
            return GATE_DONE;
        if (!alarm && !spent(s, first ? s->policy.max_pairs : s->policy.confirm_pairs))
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

// The scale-free mixture over the medians of whole blocks of pairs. Blocks are sorted where they
// stand in `work`; their medians gather at its beginning, behind the block at hand.
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
    struct evidence e = gather(s);
    struct gate_decision d = {
        .log_ratio = estimate(s).mean,
        .log_evidence = two_sided(e.slower, e.faster),
        .log_same = fmin(e.below, e.above),
        .log_blocks = companion(s),
        .placement = s->processes > 1 &&
                     ((e.shows_slower && e.refutes_slower) || (e.shows_faster && e.refutes_faster)),
        .pairs = s->pairs,
        .processes = s->processes,
    };
    d.kind = kind_now(s, &d, &e);
    d.next = next_step(s, &d);
    return d;
}

// The hull of two intervals for d, which covers whatever one of them covers. The inverted
// e-processes hold d whenever they are asked, if the noise is symmetric. They clip pairs: where it
// has a long side or two modes, they bound something nearer to the median than the mean that is
// said (beside a loaded host -53.80 to -40.32 for a mean of -54.41 %). So the mean's own interval,
// with the spread between processes in its error, is in it too; else it is nearly always narrower.
struct interval gate_series_interval(const struct gate_series *s)
{
    double tail = 0.5 * (1 - s->policy.confidence), limit = -log(tail);
    struct interval d = interval_unknown;
    if (s->pairs == 0)
        return d;
    struct pooled pooled = estimate(s);
    const double half = -normal_quantile(tail) * pooled.se;
    d.value = pooled.mean;
    d.low = fmin(eprocess_bound(s->y, s->scale, s->pairs, limit, +1), pooled.mean - half);
    d.high = fmax(eprocess_bound(s->y, s->scale, s->pairs, limit, -1), pooled.mean + half);
    return d;
}
