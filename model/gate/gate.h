// SPDX-License-Identifier: Apache-2.0
//
// The gate's judgement of one series and of many (pure functions; the maths is on top of gate.c).
//
// Data in: log ratios y = log(head time / base time) of pairs whose order was drawn at random
// inside each pair, block by block, first from one process, then from fresh ones. Data out: a
// decision after each block, with what to do next, and at the end a verdict.
//
// The promise, for a series whose true log ratio is d:
//   |d| <= floor    an alarm, ever, in however many looks: probability <= alpha;
//   |d| >= margin   the answer "same": probability <= 1 - confidence, for a fresh process too;
//   floor..margin   either, or undecided: too small to count, too real to deny.
// The promise needs the random order and noise that hits both sides alike; it does not need normal,
// independent or steady noise.
//
// Use, for one series:
//     gate_series_init(&series, &policy, arena);
//     while ((decision = gate_series_decide(&series)).next != GATE_DONE) {
//         if (decision.next == GATE_CONFIRM)
//             gate_series_fresh_process(&series);       // and start one: order of modules swapped
//         measure a block of policy.block_pairs pairs;
//         gate_series_add(&series, log_ratios, count);
//     }
// gate_replay() gives the same verdict from stored samples.
#ifndef PLUMB_GATE_H
#define PLUMB_GATE_H

#include "model/base.h"
#include "model/result.h"
#include "model/robust.h"

// ==== evidence that grows ====
//
// Evidence that grows while data arrive and may be looked at after every pair.
//
// An e-process starts at 1 and is a bet: under the null hypothesis its expectation stays <= 1 at
// every stopping time, so the chance that it ever reaches 1/a is at most a (Ville). Values are kept
// as natural logarithms; the maths is on top of eprocess.c.

enum { EPROCESS_BETS = 5 };

// Evidence that the centre of a stream lies above 0, for z that is symmetric about its centre.
// A zeroed struct has seen nothing.
struct eprocess {
    double log_wealth[EPROCESS_BETS]; // one per fixed bet size
};

// Adds one standardised observation, z = (y - centre under the null) / scale. `scale` has to be
// known before y. z is finite.
void eprocess_add(struct eprocess *process, double z);
// log E; 0 before any data, negative when the data speak for the null.
double eprocess_log(const struct eprocess *process);

// Carries on with `next` where `process` ended, as if one had seen both streams: every bet keeps
// its wealth. For evidence from several processes.
void eprocess_join(struct eprocess *process, const struct eprocess *next);

// log of the e-value of a whole stream against "the centre of y is at or below `centre`" (side +1)
// or "at or above" (side -1). The same figure as adding the pairs one by one.
double eprocess_of(const double *y, const double *scale, size_t count, double centre, int side);

// Confidence bound for the centre by inversion: with side +1 the largest value that the stream
// refutes as "centre <= value" at log E >= log_limit, i.e. a lower bound; with side -1 the upper
// bound. Valid at any stopping time. -INFINITY (+INFINITY) while the data bound nothing.
double eprocess_bound(const double *y, const double *scale, size_t count, double log_limit,
                      int side);

// Evidence about launches that are slow now and then, which a trimmed mean does not see. The order
// inside a pair is a fair coin, so whatever large differences there are, each side has them equally
// often where both builds are the same. A zeroed struct has seen nothing.
enum { TAIL_BETS = 3 };
struct tail {
    struct eprocess signs, mean; // bets that the large differences, and all of them, have a side
    double few[TAIL_BETS];       // bets that the side has hardly any of them
    uint32_t pairs;
    int64_t excess; // large differences of this side, less those of the other
};
// `z`: from the centre under the null, in scales; `plain`: from 0. `least`: no smaller difference
// is large; nor is one that normal noise makes.
void tail_add(struct tail *tail, double z, double plain, double least);
void tail_join(struct tail *tail, const struct tail *next);
// log E that the side has more large differences, or a larger mean clipped at 8 scales.
double tail_log(const struct tail *tail);
// Whether nobody can say "same", as it is not known well enough if the large differences have this
// side or not: there are some, and they may be too many.
bool tail_open(const struct tail *tail, double confidence);
// Among so many pairs one has a large difference, with 97 %, where one in 20 has it.
enum { TAIL_PAIRS = 72 };

// The scale-free normal mixture: log E against "centre 0" for values that are independent and about
// normal, such as medians of blocks. NOT for single launches (see eprocess.c). 0 below 2 values.
double eprocess_scale_free(const double *values, size_t count);

// e-BH: rejects the k largest of `count` e-values with e >= count/(q k); the share of false ones
// among the rejected is at most q on average, whatever the dependence. Returns how many;
// rejected[i] is set for every i. NaN counts as no evidence.
size_t ebh(bool *rejected, const double *log_e, size_t count, double q);

// log of the mean of exp(log_e), i.e. of e-values: an e-value under any
// dependence. -INFINITY for count 0.
double log_mean_exp(const double *log_e, size_t count);

// ==== gate ====

struct gate_policy {
    double alpha;           // chance of a false alarm of one series
    double q;               // false discovery rate over all series of a gate
    double confidence;      // of the interval; 1 - confidence is the chance of a false "same"
    double margin;          // log ratio below which a change does not count
    double floor;           // log ratio up to which a shift is no change; margin / 2
    double scale;           // SD of one pair's log ratio from history; the start if there is none
    double place;           // SD of what a process adds to the log ratio by where things lie in it
    double scale_pairs;     // weight of `scale`, in pairs; INFINITY: never learn from the stream
    uint32_t block_pairs;   // pairs between looks
    uint32_t min_pairs;     // no decision before
    uint32_t tail_pairs;    // no "same" ends before: launches that are slow now and then are seldom
    uint32_t max_pairs;     // budget of the first process
    uint32_t confirm_pairs; // budget of each further process
    double stretch;         // a noisy series' budgets are up to so many times as large; 1: never
    double enough;      // the pairs measure and decide nothing: over at this standard error; 0: no
    enum regime regime; // that the pairs are in, for the sentence
    uint32_t processes; // in all, when the first one alarms or leaves it open; 1: no other
};

// A kernel's size, for gate_policy_default(): the time, ns, of the first block among the base's
// samples, at the device's top SM clock: a kernel has the same margin on a cool GPU and on a
// throttled one, and judging stored samples again finds the one they were measured with. The time
// itself where the samples have no clock or the profile no top clock. `gpu` is the device's
// profile; gate.c says how and why. 0 without samples.
double gate_size_ns(const struct sample *base, size_t count, const struct problem *problem,
                    const struct gpu *gpu);

// The settings that every default has in common: all but margin, floor and scale, which
// gate_policy_default() sets. Here and nowhere else.
extern const struct gate_policy gate_defaults;

// Defaults by the size of the kernel, ns (gate_size_ns()): margin 0.003 above 100 us, 0.005 below,
// 0.03 on a shared host. Identical kernels in other places and binaries of a process were off by up
// to 0.18 % above 100 us and 0.15 % below, process after process
// (baselines/recorded/h200/README.md, "Other binaries").
struct gate_policy gate_policy_default(const char *device_kind, double size_ns);

// Sets the margins for builds that are both replayed from records, whose device code lies at many
// places (kernels/bench/arm.h): 0.0015 above 100 us, 0.003 below. Identical kernels were off
// by at most 0.04 % there, root mean square over places, and by 0.03 % in other binaries
// (baselines/recorded/h100/places).
void gate_policy_records(struct gate_policy *policy);

// What pairs are for. FOR_VERDICT: a gate. FOR_CHANGE: a link with the code before, where a
// change is found. It is judged as a gate is, but has the plain budget however noisy the series
// is. FOR_LEVEL: a link with a mark, which only measures. It takes one process, until its
// standard error is a sixth of the margin or, where that is more, half of `unseen`, the SD of
// what pairs cannot see. It claims nothing, so it is not confirmed.
enum gate_use { GATE_FOR_VERDICT, GATE_FOR_CHANGE, GATE_FOR_LEVEL };

void gate_policy_use(struct gate_policy *policy, enum gate_use use, double unseen);

// A budget of `pairs` for a series whose pairs have this SD: the same while it is at most 4 x
// (margin - floor), then growing with its square, up to `stretch` times.
uint32_t gate_budget(const struct gate_policy *policy, double sd, uint32_t pairs);

// Starts the policy from what is known of a series' noise: a prior, and the series' own earlier
// pairs, `sd` their robust SD. Both together weigh at most 16 pairs, so that a noise that is
// different today is learnt within a few blocks. Where nothing is known (weight and pairs 0) the
// policy stays as it is.
void gate_policy_learn(struct gate_policy *policy, struct moderation prior, double sd,
                       double pairs);

enum gate_next {
    GATE_MORE,    // another block from the process at work
    GATE_CONFIRM, // an alarm, or still nothing: start a fresh process
    GATE_DONE
};

struct gate_decision {
    enum verdict_kind kind; // same, slower, faster or undecided, by what is known now
    enum gate_next next;
    bool placement;      // one process shows the change, another refutes it: undecided
    double log_ratio;    // trimmed mean; over processes a random-effects mean; NaN without pairs
    double log_evidence; // log e-value against |d| <= floor and launches that are slow alike
    double log_same;     // log e-value against |d| >= margin
    double log_mean;     // plain mean of the log ratios, slow launches and all; NaN without pairs
    double slow_share;   // of pairs whose difference is large: the head's, less the base's
    bool near;           // "same" by its pairs, but for what another process may add
    bool slow_open;      // large differences may have a side: not "same" yet
    bool slow_alarm;     // the alarm is about those, and not about the typical launch
    double log_blocks; // log e-value against d = 0 if medians of blocks are independent and normal:
                       // a companion to look at, it decides nothing
    uint32_t pairs;
    uint32_t processes;
};

struct gate_stream { // one process
    uint32_t pairs;
    struct eprocess slower, not_slower; // than +floor
    struct eprocess faster, not_faster; // than -floor
    struct eprocess below, above;       // the margin's two ends: below +margin, above -margin
    struct tail slow_head, slow_base;   // launches that are slow now and then
};

struct gate_series {
    struct gate_policy policy;
    // In the arena, with room for every pair and process that the policy allows:
    double *y;                     // log ratios
    double *scale;                 // of the pair, known before it was measured
    double *work, *means, *errors; // room to compute in
    double tail_scale;             // as scale, of the pair that was added last, from more pairs
    uint32_t *start;               // first pair of each process, and the end of the last
    struct gate_stream *streams;   // one per process
    uint32_t capacity;
    uint32_t pairs;
    uint32_t processes; // >= 1
    uint32_t first;     // of them make up the first stage: 1, and each that took another's place
    bool alarmed;       // when a process ended: it is being confirmed
};

// The policy's fields must be in range (asserted): 0 < alpha < 1, 0 <= floor < margin, ...
void gate_series_init(struct gate_series *series, const struct gate_policy *policy,
                      struct arena *arena);

// Adds log ratios, but no value that is not finite or goes beyond the arrays; returns how many were
// added. The split into calls does not matter.
size_t gate_series_add(struct gate_series *series, const double *log_ratios, size_t count);

// gate_series_add() from samples as measured, pair by pair (base[i] belongs to head[i]), by the
// rule that gate_replay() applies to stored ones: both samples usable, or the pair does not.
size_t gate_series_add_samples(struct gate_series *series, const struct sample *base,
                               const struct sample *head, size_t count);

// The pairs that follow come from a fresh process. At most policy.processes in all.
void gate_series_fresh_process(struct gate_series *series);

// The process at work is gone, through no fault of this series: the next pairs come from a fresh
// one that takes its place. Its pairs stay and count; policy.processes grows by one. Nothing
// happens when it had no pairs yet. `arena` is gate_series_init()'s.
void gate_series_replace_process(struct gate_series *series, struct arena *arena);

struct gate_decision gate_series_decide(const struct gate_series *series);

// log_ratio as gate_series_decide() has it, and its interval at policy.confidence, valid whenever
// it is asked for; it holds log_ratio and that mean's own interval, which has the spread between
// processes when there are several. Infinite where the data bound nothing.
struct interval gate_series_interval(const struct gate_series *series);

// Verdicts that the next block of this series brings, as its pairs so far let one expect
// (gate.c, "which series is next"): about 1 / blocks until it is decided; 0: its budget will end
// before. `now` is what gate_series_decide() said.
double gate_outlook(const struct gate_series *series, const struct gate_decision *now);

// The work that a series is expected to take, by its pairs so far, until it is over, decided or
// not: pairs in this process and in all further ones, and how many further ones start.
struct gate_left {
    double pairs, processes;
};

struct gate_left gate_left(const struct gate_series *series, const struct gate_decision *now);

// An estimate of how many pairs it still takes to confirm this series' alarm, in this process and
// in all further ones. It follows from the pairs so far and leaves room for chance. 0: the series
// has no alarm, or is decided.
uint32_t gate_confirmation_pairs(const struct gate_series *series, const struct gate_decision *now);

// Pairs that would decide a series that is open, if its true log ratio is what its pairs show:
// until the evidence is there, and until an alarm is confirmed. INFINITY: it lies so near the
// margin, or its processes contradict each other, that more pairs would not decide it soon.
double gate_missing_pairs(const struct gate_series *series, const struct gate_decision *now);

// Chooses the series that gets the next block: round robin until each has its min_pairs, then the
// one that promises most verdicts per second. SIZE_MAX when none has next == GATE_MORE.
struct gate_turn {
    enum gate_next next;
    uint32_t pairs, min_pairs; // of the process at work
    double outlook;            // gate_outlook(); not read before min_pairs
    double block_s;            // device time of one more block, > 0
};

size_t gate_next_series(const struct gate_turn *turns, size_t count);

// Decides which alarms of a gate stand, by e-BH: kernels first (e-value of a kernel = mean over its
// series), then the series of each released kernel. kernel[i] numbers the kernel of series i,
// 0-based. Pass every series that was tested, alarm or not. Returns how many were released.
size_t gate_release(bool *released, const double *log_evidence, const size_t *kernel, size_t count,
                    double q);

// The pairs of two measurements as log ratios, in the order of (process, block, pair). Arrays have
// room for min(base->count, head->count). Returns how many.
struct gate_pair {
    double log_ratio;
    double log_clock; // log(head clock / base clock); NaN if a clock is unknown
    uint16_t process, block;
    bool head_first;
};

size_t gate_pairs(struct gate_pair *out, const struct measurement *base,
                  const struct measurement *head, struct arena *arena);

// Mean log ratio of the pairs and its standard error, > 0: per process, then over processes. False:
// no usable pairs.
bool gate_ratio(double *log_ratio, double *error, const struct measurement *base,
                const struct measurement *head, struct arena *arena);

// Head over base of the mean time, and of the time that one sample in 20 is above: what a trimmed
// mean does not say. False: there are no usable samples.
bool gate_slow_ratios(double *mean, double *p95, const struct measurement *base,
                      const struct measurement *head, struct arena *arena);

// Raised whenever the same samples give another verdict or another sentence.
extern const char gate_version[];

// The whole judgement from stored samples: pairs are matched by (process, block, pair), and a pair
// counts only if both samples are present, not excluded, and have a positive finite time. Fills
// every field of `out` but `cause` (set to placement or none) and the explanation. The sentence
// lives in the arena. Both measurements are ok; what other states say is in verdict.h.
void gate_replay(struct verdict *out, const struct measurement *base,
                 const struct measurement *head, const struct gate_policy *policy,
                 struct arena *arena);

// ==== the clock's part ====
//
// How a series' time follows the SM clock, and how much of a change the clock explains. Time
// decides a verdict; the clock's part stands beside it (pure functions).

// log time = level of the process + exponent x log clock. -1: bound by the SMs; 0: by memory. The
// same sign as prediction.clock_exponent.
struct clock_fit {
    double exponent; // 0 when nothing is known
    double se;       // INFINITY when the clock did not move
    uint32_t samples;
};

// Fits within processes (and builds), never across them: levels differ for other reasons. Samples
// that are excluded or without time or clock are left out. The standard error is inflated for
// serial correlation, and launches far off the line (host stalls) are left out after a first fit.
struct clock_fit clock_fit(const struct sample *samples, size_t count, struct arena *arena);

// Precision-weighted mean with the model's exponent; model_sd is how far models are trusted
// (0.15: scatter of fits about the roofline's -1 and 0, see clock.c).
struct clock_fit clock_shrink(struct clock_fit fit, double model_exponent, double model_sd);
extern const double clock_model_sd;

struct clock_effect {
    bool known;       // false: no clocks; the rest is 0
    double log_clock; // trimmed mean of log(head clock / base clock)
    double explained; // exponent x log_clock: the part of log_ratio that the clock explains
    double rest;      // log_ratio - explained: at equal clocks
    double cycles;    // log_ratio + log_clock: the ratio in clock cycles
};
struct clock_effect clock_explain(double log_ratio, const struct gate_pair *pairs, size_t count,
                                  double exponent, struct arena *arena);

// ==== how good the gate is ====
//
// How good the gate is: an exact bound on counted rates, the smallest change it can see, and
// whether a run's own A/A pairs void it (pure functions).

// Clopper-Pearson, one-sided: the largest p with P(X <= hits | p) >= 1 - confidence, after `hits`
// of `trials`. No trials: 1.
double study_rate_upper(uint64_t hits, uint64_t trials, double confidence);
// P(X >= hits), X binomial.
double binomial_tail(uint64_t hits, uint64_t trials, double p);

// Smallest log ratio that the gate calls slower (by symmetry, faster) with probability `power`
// within `pairs` pairs of one process whose log ratios have standard deviation `sd`: there must be
// both evidence against `floor` and an estimate of at least `margin`. Normal noise; INFINITY if no
// change is detectable with so few pairs.
double study_detectable(const struct gate_policy *policy, double sd, uint32_t pairs, double power);

// The run's test of itself, from the verdicts of its A/A series. Void if there are more alarms, or
// stronger evidence, than chance gives with probability 0.01 (0.005 each). No series: not void.
struct self_test study_self_test(const struct verdict *verdicts, size_t count, double alpha);
// The tests of a run's parts together, as if one run had made them.
struct self_test study_self_tests(const struct self_test *parts, size_t count, double alpha);

#endif
