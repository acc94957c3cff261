// SPDX-License-Identifier: Apache-2.0
//
// The gate's judgement of one series and of many (pure functions; gate.c begins with the maths).
//
// Input: log ratios y = log(head time / base time) of pairs. The order inside each pair was drawn
// at random. They come block by block, first from one process, then from fresh ones. Output: a
// decision and the next step after each block, and at the end a verdict.
//
// The gate makes two promises about a series whose true log ratio is d:
//   |d| <= floor    an alarm, at any of the looks, has a probability of at most alpha;
//   |d| >= margin   the answer "same" has a probability of at most 1 - confidence, also where a
//                   fresh process is asked.
// In between it promises nothing: the answer may be either, or undecided. The promises need the
// random order, and noise that affects both sides alike. The noise need not be normal,
// independent or steady.
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
// Evidence that grows while data arrive, and that may be looked at after every pair.
//
// An e-process starts at 1 and is a bet: under the null hypothesis its expectation stays <= 1 at
// every stopping time, so the probability that it ever reaches 1/a is at most a (Ville). Values are
// kept as natural logarithms; eprocess.c begins with the maths.

enum { EPROCESS_BETS = 5 };

// Evidence that the centre of a stream lies above 0, for z that is symmetric about its centre.
// A zeroed struct has seen nothing.
struct eprocess {
    double log_wealth[EPROCESS_BETS]; // one per fixed bet size
};

// Adds one standardised observation, z = (y - centre under the null) / scale. `scale` must be known
// before y is. z is finite.
void eprocess_add(struct eprocess *process, double z);
// log E; 0 before any data, negative when the data support the null.
double eprocess_log(const struct eprocess *process);

// Continues with `next` where `process` ended, as if one process had seen both streams: every bet
// keeps its wealth. Used for evidence from several processes.
void eprocess_join(struct eprocess *process, const struct eprocess *next);

// log of the e-value of a whole stream against "the centre of y is at or below `centre`" (side +1)
// or "at or above" (side -1). Adding the pairs one by one gives the same figure.
double eprocess_of(const double *y, const double *scale, size_t count, double centre, int side);

// A confidence bound for the centre. With side +1 it is a lower bound: the largest value for which
// the stream refutes "centre <= value" at log E >= log_limit. With side -1 it is the upper bound.
// It is valid at any stopping time. -INFINITY (+INFINITY) as long as the data give no bound.
double eprocess_bound(const double *y, const double *scale, size_t count, double log_limit,
                      int side);

// Evidence about launches that are slow now and then, which a trimmed mean does not see. The order
// inside a pair is a fair coin. So if both builds are the same, each side has the large differences
// equally often, whatever causes them. A zeroed struct has seen nothing.
enum { TAIL_BETS = 3 };
struct tail {
    struct eprocess signs, mean; // bets that the large differences, or all differences, favour one
                                 // side
    double few[TAIL_BETS];       // bets that one side has hardly any of the large differences
    uint32_t pairs;
    int64_t excess; // number of this side's large differences less those of the other side
};
// If one pair in 20 has a large difference, this many pairs contain at least one with a probability
// of 97 %.
enum { TAIL_PAIRS = 72 };

// The scale-free normal mixture: log E against "centre 0" for values that are independent and about
// normal, such as medians of blocks. Not for single launches (see eprocess.c). 0 for fewer than 2
// values.
double eprocess_scale_free(const double *values, size_t count);

// e-BH: rejects the k largest of `count` e-values, all with e >= count/(q k). On average at most a
// share q of the rejected ones is false, whatever the dependence. Returns k; sets rejected[i] for
// every i. NaN counts as no evidence.
size_t ebh(bool *rejected, const double *log_e, size_t count, double q);

// The log of the mean of e-values, given their logs. It is an e-value under any dependence.
// -INFINITY for count 0.
double log_mean_exp(const double *log_e, size_t count);

// ==== gate ====

struct gate_policy {
    double alpha;           // probability of a false alarm of one series
    double q;               // false discovery rate over all series of a gate
    double confidence;      // of the interval; 1 - confidence is the chance of a false "same"
    double margin;          // log ratio below which a change does not count
    double floor;           // log ratio up to which a shift is not a change; margin / 2
    double scale;           // standard deviation of one pair's log ratio, from the series' history;
                            // a starting value if there is none
    double place;           // standard deviation that a process adds to the log ratio by where its
                            // data lie in memory
    double scale_pairs;     // weight of `scale`, in pairs; INFINITY: it is never adapted to the
                            // stream
    uint32_t block_pairs;   // number of pairs between two looks
    uint32_t min_pairs;     // no decision comes before this many pairs
    uint32_t tail_pairs;    // no "same" comes before this many pairs, because launches that are
                            // slow now and then are rare
    uint32_t max_pairs;     // the first process's budget of pairs
    uint32_t confirm_pairs; // the budget of each further process
    double stretch;         // a noisy series gets up to so many times the budgets; 1: never more
    double enough;      // the pairs only measure, and end at this standard error; 0: they decide
    enum regime regime; // the pairs' regime, for the sentence
    uint32_t processes; // number of processes in all, if the first alarms or stays undecided; 1:
                        // none follows it
};

// A kernel's size for gate_policy_default(): the time, in ns, of the first block of the base's
// samples, converted to the device's top SM clock. So a kernel has the same margin on a cool GPU
// and on a throttled one, and judging stored samples again uses the margin they were measured with.
// The time itself if the samples have no clock or the profile no top clock. `gpu` is the device's
// profile; gate.c says how and why. 0 without samples.
double gate_size_ns(const struct sample *base, size_t count, const struct problem *problem,
                    const struct gpu *gpu);

// The settings that all defaults have in common: everything but margin, floor and scale, which
// gate_policy_default() sets.
extern const struct gate_policy gate_defaults;

// Defaults by the kernel's size in ns (gate_size_ns()): margin 0.003 above 100 us, 0.005 below,
// 0.03 on a shared host. They come from identical kernels in different places and binaries of a
// process, which differed by up to 0.18 % above 100 us and by 0.15 % below, consistently over
// processes (baselines/recorded/h200/README.md, "Other binaries").
struct gate_policy gate_policy_default(const char *device_kind, double size_ns);

// Sets the margins for builds that are both replayed from records, whose device code is placed at
// many addresses (kernels/bench/arm.h): 0.0015 above 100 us, 0.003 below. There identical kernels
// differed by at most 0.04 %, root mean square over places, and by 0.03 % in other binaries
// (baselines/recorded/h100/places).
void gate_policy_records(struct gate_policy *policy);

// What pairs are used for.
//   - FOR_VERDICT: a gate.
//   - FOR_CHANGE: a link with the code before, by which changes are found. It is judged as a gate
//     is, but always has the plain budget, however noisy the series is.
//   - FOR_LEVEL: a link with a mark, which only measures. It takes one process, until its standard
//     error is a sixth of the margin, or half of `unseen` if that is more; `unseen` is the standard
//     deviation of the errors that pairs cannot show. It gives no verdict, so nothing is confirmed.
enum gate_use { GATE_FOR_VERDICT, GATE_FOR_CHANGE, GATE_FOR_LEVEL };

void gate_policy_use(struct gate_policy *policy, enum gate_use use, double unseen);

// The budget of a series whose pairs have the standard deviation `sd`. It is `pairs` if `sd` is at
// most 4 x (margin - floor), and grows with the square of `sd` above, up to `stretch` times.
uint32_t gate_budget(const struct gate_policy *policy, double sd, uint32_t pairs);

// Sets the policy's scale from what is known of a series' noise: a prior, and the series' own
// earlier pairs, whose robust standard deviation is `sd`. Both together weigh at most 16 pairs, so
// that today's noise is learnt within a few blocks if it differs. If nothing is known (weight and
// pairs 0), the policy stays as it is.
void gate_policy_learn(struct gate_policy *policy, struct moderation prior, double sd,
                       double pairs);

enum gate_next {
    GATE_MORE,    // another block from the present process
    GATE_CONFIRM, // an alarm, or no decision yet: start a fresh process
    GATE_DONE
};

struct gate_decision {
    enum verdict_kind kind; // same, slower, faster or undecided, as far as it is known now
    enum gate_next next;
    bool placement;      // one process shows the change, another refutes it: undecided
    double log_ratio;    // trimmed mean; for several processes a random-effects mean; NaN without
                         // pairs
    double log_evidence; // log e-value against the null: |d| <= floor, and slow launches equally
                         // often on both sides
    double log_same;     // log e-value against |d| >= margin
    double log_mean;     // plain mean of the log ratios, including slow launches; NaN without pairs
    double slow_share;   // share of pairs in which the head is much slower, less those in which the
                         // base is
    bool near;           // the pairs so far say "same"; the series is open only because another
                         // process may differ
    bool slow_open;      // large differences may favour one side, so "same" cannot be said yet
    bool slow_alarm;     // the alarm is about slow launches and not about the typical launch
    double log_blocks; // log e-value against d = 0 if medians of blocks are independent and normal;
                       // shown for comparison, it decides nothing
    uint32_t pairs;
    uint32_t processes;
};

struct gate_stream { // one process
    uint32_t pairs;
    struct eprocess slower, not_slower; // compared with +floor
    struct eprocess faster, not_faster; // compared with -floor
    struct eprocess below, above;       // compared with the ends of the margin: below +margin,
                                        // above -margin
    struct tail slow_head, slow_base;   // launches that are slow now and then, on each side
};

struct gate_series {
    struct gate_policy policy;
    // In the arena, with room for every pair and process that the policy allows:
    double *y;                     // log ratios
    double *scale;                 // scale of each pair, which was known before the pair was
                                   // measured
    double *work, *means, *errors; // room to compute in
    double tail_scale;             // the scale by which tails measure the last pair; learnt from
                                   // more pairs than `scale`
    uint32_t *start;               // index of each process's first pair, and one index past the
                                   // last pair
    struct gate_stream *streams;   // one per process
    uint32_t capacity;
    uint32_t pairs;
    uint32_t processes; // >= 1
    uint32_t first;     // how many processes make up the first stage: 1, and each that replaced
                        // another
    bool alarmed;       // it alarmed when a process ended, and the alarm is being confirmed
};

// Begins a series. The policy's fields must be in range (asserted): 0 < alpha < 1, 0 <= floor <
// margin, ...
void gate_series_init(struct gate_series *series, const struct gate_policy *policy,
                      struct arena *arena);

// Adds log ratios and returns how many were added. A value that is not finite is left out, and so
// is one that does not fit into the arrays. It does not matter how pairs are split into calls.
size_t gate_series_add(struct gate_series *series, const double *log_ratios, size_t count);

// Adds samples as they were measured, pair by pair (base[i] belongs to head[i]). The rule is that
// of gate_replay(): a pair counts only if both samples are usable.
size_t gate_series_add_samples(struct gate_series *series, const struct sample *base,
                               const struct sample *head, size_t count);

// Says that the following pairs come from a fresh process. At most policy.processes in all.
void gate_series_fresh_process(struct gate_series *series);

// Says that the present process is gone through no fault of this series, and that the next pairs
// come from a fresh one that replaces it. The old pairs still count, and policy.processes grows by
// one. If the process had no pairs yet, nothing changes. `arena` is that of gate_series_init().
void gate_series_replace_process(struct gate_series *series, struct arena *arena);

struct gate_decision gate_series_decide(const struct gate_series *series);

// The log_ratio of gate_series_decide() with an interval at policy.confidence, which is valid at
// any time. The interval contains log_ratio and that mean's own interval, which for several
// processes includes the spread between them. Infinite where the data give no bound.
struct interval gate_series_interval(const struct gate_series *series);

// The number of verdicts that the next block of this series is expected to bring, judged by its
// pairs so far (gate.c, "which series is next"): about 1 / (number of blocks until it is decided);
// 0: its budget will end before. `now` is the result of gate_series_decide().
double gate_outlook(const struct gate_series *series, const struct gate_decision *now);

// The work that a series is expected to take until it is over, whether or not it is decided then:
// pairs in this process and in all further ones, and the number of further processes.
struct gate_left {
    double pairs, processes;
};

struct gate_left gate_left(const struct gate_series *series, const struct gate_decision *now);

// Estimates how many more pairs confirming this series' alarm takes, in this process and in all
// further ones. It follows from the pairs so far and leaves room for chance. 0: the series has no
// alarm, or is decided.
uint32_t gate_confirmation_pairs(const struct gate_series *series, const struct gate_decision *now);

// How many pairs would decide an open series if its true log ratio were what its pairs show,
// including the confirmation of an alarm. INFINITY: more pairs would not decide it soon, because it
// lies near the margin or its processes contradict each other.
double gate_missing_pairs(const struct gate_series *series, const struct gate_decision *now);

// Chooses the series that gets the next block: in turns until each has its min_pairs, then the one
// from which most verdicts per second are expected. SIZE_MAX: no series has next == GATE_MORE.
struct gate_turn {
    enum gate_next next;
    uint32_t pairs, min_pairs; // of the present process
    double outlook;            // from gate_outlook(); not read before min_pairs
    double block_s;            // device time of a further block, > 0
};

size_t gate_next_series(const struct gate_turn *turns, size_t count);

// Decides which alarms of a gate stand, by e-BH: first kernels (the e-value of a kernel is the mean
// over its series), then the series of each kernel that was released. kernel[i] is the number of
// series i's kernel, 0-based. Pass every series that was tested, with or without an alarm. Returns
// how many alarms stand.
size_t gate_release(bool *released, const double *log_evidence, const size_t *kernel, size_t count,
                    double q);

// Turns the pairs of two measurements into log ratios, sorted by (process, block, pair). Arrays
// need room for min(base->count, head->count). Returns their number.
struct gate_pair {
    double log_ratio;
    double log_clock; // log(head clock / base clock); NaN if a clock is unknown
    uint16_t process, block;
    bool head_first;
};

size_t gate_pairs(struct gate_pair *out, const struct measurement *base,
                  const struct measurement *head, struct arena *arena);

// Computes the mean log ratio of the pairs and its standard error, > 0: first for each process,
// then over processes. False: there are no usable pairs.
bool gate_ratio(double *log_ratio, double *error, const struct measurement *base,
                const struct measurement *head, struct arena *arena);

// Computes head / base of the mean time and of the 95th percentile, which a trimmed mean does not
// show. False: there are no usable samples.
bool gate_slow_ratios(double *mean, double *p95, const struct measurement *base,
                      const struct measurement *head, struct arena *arena);

// Changed whenever the same samples give another verdict or another sentence.
extern const char gate_version[];

// Makes the whole judgement from stored samples. Pairs are matched by (process, block, pair); a
// pair counts only if both samples are present, not excluded, and have a positive finite time.
// Fills every field of `out` except the explanation; `cause` is set to placement or none. The
// sentence lives in the arena. Both measurements must be ok; verdict.h judges other states.
void gate_replay(struct verdict *out, const struct measurement *base,
                 const struct measurement *head, const struct gate_policy *policy,
                 struct arena *arena);

// ==== the clock's part ====
//
// How a series' time follows the SM clock, and how much of a change the clock explains. Verdicts
// are decided by time; the clock's part is shown beside it (pure functions).

// The fit of log time = level of the process + exponent x log clock. -1: the SMs limit the time; 0:
// memory does. The sign is that of prediction.clock_exponent.
struct clock_fit {
    double exponent; // 0 when nothing is known
    double se;       // INFINITY when the clock did not move
    uint32_t samples;
};

// Fits within each process and build, never across them, because levels differ for other reasons.
// Samples that are excluded, or have no time or clock, are left out. The standard error allows for
// serial correlation. Launches far off the line (host stalls) are left out after a first fit.
struct clock_fit clock_fit(const struct sample *samples, size_t count, struct arena *arena);

// The precision-weighted mean of the fit and the model's exponent. model_sd says how far models are
// trusted (0.15: the scatter of fits about the roofline's -1 and 0, see clock.c).
struct clock_fit clock_shrink(struct clock_fit fit, double model_exponent, double model_sd);
extern const double clock_model_sd;

struct clock_effect {
    bool known;       // false: there are no clocks, and the rest is 0
    double log_clock; // trimmed mean of log(head clock / base clock)
    double explained; // exponent x log_clock: the part of log_ratio that the clock explains
    double rest;      // log_ratio - explained: the change at equal clocks
    double cycles;    // log_ratio + log_clock: the ratio in clock cycles
};
struct clock_effect clock_explain(double log_ratio, const struct gate_pair *pairs, size_t count,
                                  double exponent, struct arena *arena);

// ==== how good the gate is ====
//
// How good the gate is: an exact bound on counted rates, the smallest change that it can see, and
// whether a run's own A/A pairs make it void (pure functions).

// The one-sided bound of Clopper and Pearson after `hits` of `trials`: the largest p with P(X <=
// hits | p) >= 1 - confidence. Without trials: 1.
double study_rate_upper(uint64_t hits, uint64_t trials, double confidence);
// P(X >= hits) for binomial X.
double binomial_tail(uint64_t hits, uint64_t trials, double p);

// The smallest log ratio that the gate calls slower (by symmetry, faster) with probability `power`,
// within `pairs` pairs of one process whose log ratios have the standard deviation `sd`. Both
// conditions must hold: evidence against `floor`, and an estimate of at least `margin`. The noise
// is taken as normal. INFINITY if no change can be detected with so few pairs.
double study_detectable(const struct gate_policy *policy, double sd, uint32_t pairs, double power);

// A run's test of itself, from the verdicts of its A/A series. It is void if chance gives that many
// alarms, or evidence that strong, with a probability below 0.01 (0.005 for each of the two).
// Without series it is not void.
struct self_test study_self_test(const struct verdict *verdicts, size_t count, double alpha);
// Joins the self tests of a run's parts as if one run had made them.
struct self_test study_self_tests(const struct self_test *parts, size_t count, double alpha);

#endif
