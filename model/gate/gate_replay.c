// SPDX-License-Identifier: Apache-2.0
//
// Makes a verdict from stored samples. The series is rebuilt pair by pair, so the answer is the one
// that was reached while measuring.
#include "model/gate/gate.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

const char gate_version[] = "7";

// One pair in so many may be void. If more are, the other pairs do not count either.
enum { VOID_PART = 10 };

static int by_pair(const void *left, const void *right)
{
    const struct sample *a = *(const struct sample *const *)left;
    const struct sample *b = *(const struct sample *const *)right;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->block != b->block)
        return a->block < b->block ? -1 : 1;
    return (a->pair > b->pair) - (a->pair < b->pair);
}

static bool usable(const struct sample *s)
{
    return !s->excluded && isfinite(s->time_ns) && s->time_ns > 0;
}

static const struct sample **sorted_samples(const struct measurement *m, size_t *count,
                                            struct arena *arena)
{
    const struct sample **sorted = arena_alloc(arena, m->count * sizeof(struct sample *));
    *count = 0;
    for (size_t i = 0; i < m->count; i++) {
        if (usable(&m->samples[i]))
            sorted[(*count)++] = &m->samples[i];
    }
    qsort(sorted, *count, sizeof(*sorted), by_pair);
    return sorted;
}

static struct gate_pair make_pair(const struct sample *base, const struct sample *head)
{
    bool clocks = base->clock_hz > 0 && head->clock_hz > 0;
    return (struct gate_pair){
        .log_ratio = log(head->time_ns / base->time_ns),
        .log_clock = clocks ? log(head->clock_hz / base->clock_hz) : NAN,
        .process = base->process,
        .block = base->block,
        .head_first = head->order == 0,
    };
}

// Merges two sorted lists. If a number occurs twice, one pair is made: further ones of the head are
// skipped here, those of the base by the merge.
size_t gate_pairs(struct gate_pair *out, const struct measurement *base,
                  const struct measurement *head, struct arena *arena)
{
    size_t base_count, head_count, pairs = 0;
    const struct sample **b = sorted_samples(base, &base_count, arena);
    const struct sample **h = sorted_samples(head, &head_count, arena);
    for (size_t i = 0, j = 0; i < base_count && j < head_count;) {
        int order = by_pair(&b[i], &h[j]);
        if (order < 0) {
            i++;
        } else if (order > 0) {
            j++;
        } else {
            out[pairs] = make_pair(b[i++], h[j++]);
            pairs += isfinite(out[pairs].log_ratio);
            while (j < head_count && by_pair(&h[j], &h[j - 1]) == 0)
                j++;
        }
    }
    return pairs;
}

// ---- sizes from stored pairs ----
//
// The size that pairs show, with its error: a robust mean for each process, and a random-effects
// mean over processes.

bool gate_ratio(double *log_ratio, double *error, const struct measurement *base,
                const struct measurement *head, struct arena *arena)
{
    enum { PROCESSES = 32 };
    const size_t most = base->count < head->count ? base->count : head->count;
    struct gate_pair *pairs = arena_alloc(arena, most * sizeof(*pairs));
    double *work = arena_alloc(arena, most * sizeof(*work));
    double means[PROCESSES], errors[PROCESSES];
    const size_t count = gate_pairs(pairs, base, head, arena);
    size_t groups = 0;
    for (size_t first = 0, end; first < count && groups < PROCESSES; first = end) {
        for (end = first; end < count && pairs[end].process == pairs[first].process; end++)
            work[end - first] = pairs[end].log_ratio;
        struct robust_mean m = robust_mean(work, end - first);
        if (!isfinite(m.se))
            continue;
        means[groups] = m.mean;
        errors[groups++] = fmax(m.se, 1e-5);
    }
    if (groups == 0)
        return false;
    struct pooled pooled = pool_random_effects(means, errors, groups);
    *log_ratio = pooled.mean;
    *error = pooled.se;
    return true;
}

size_t gate_series_add_samples(struct gate_series *series, const struct sample *base,
                               const struct sample *head, size_t count)
{
    size_t taken = 0;
    for (size_t i = 0; i < count; i++) {
        if (usable(&base[i]) && usable(&head[i]))
            taken += gate_series_add(series, &(double){make_pair(&base[i], &head[i]).log_ratio}, 1);
    }
    return taken;
}

static double device_seconds(const struct measurement *m)
{
    double sum_ns = 0;
    for (size_t i = 0; i < m->count; i++) {
        if (isfinite(m->samples[i].time_ns) && m->samples[i].time_ns > 0)
            sum_ns += m->samples[i].time_ns * fmax(1, m->samples[i].launches);
    }
    return 1e-9 * sum_ns;
}

static uint32_t count_processes(const struct gate_pair *pairs, size_t count)
{
    uint32_t processes = count > 0;
    for (size_t i = 1; i < count; i++)
        processes += pairs[i].process != pairs[i - 1].process;
    return processes;
}

// Makes room for all stored pairs: they are judged completely, whatever today's budget is.
static void replay(struct gate_series *series, const struct gate_policy *policy,
                   const struct gate_pair *pairs, size_t count, struct arena *arena)
{
    struct gate_policy roomy = *policy;
    uint32_t processes = count_processes(pairs, count);
    roomy.processes = processes > 1 ? processes : 1;
    roomy.max_pairs = count > 0 ? (uint32_t)count : 1;
    roomy.confirm_pairs = 0;
    roomy.stretch = 1;
    gate_series_init(series, &roomy, arena);
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && pairs[i].process != pairs[i - 1].process)
            gate_series_fresh_process(series);
        gate_series_add(series, &pairs[i].log_ratio, 1);
    }
}

// Whether 20 or more pairs all have the same order, which a fair coin does not give (probability
// 2e-6); the evidence needs the random order.
static bool order_is_fixed(const struct gate_pair *pairs, size_t count)
{
    size_t head_first = 0;
    for (size_t i = 0; i < count; i++)
        head_first += pairs[i].head_first;
    return count >= 20 && (head_first == 0 || head_first == count);
}

static const char *percent_text(const struct verdict *v, struct arena *arena)
{
    double level = 100 * v->confidence;
    if (!isfinite(v->log_ratio.low) || !isfinite(v->log_ratio.high))
        return arena_printf(arena, "%+.2f %%, no interval yet", 100 * expm1(v->log_ratio.value));
    return arena_printf(arena, "%+.2f %% (%.0f %% interval %+.2f to %+.2f)",
                        100 * expm1(v->log_ratio.value), level, 100 * expm1(v->log_ratio.low),
                        100 * expm1(v->log_ratio.high));
}

static const char *effort_text(const struct verdict *v, struct arena *arena)
{
    return arena_printf(arena, "%u pairs in %u %s", v->pairs, v->processes,
                        v->processes == 1 ? "process" : "processes");
}

static int by_time(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

// The mean of the usable samples, and their 95th percentile.
struct time_spread {
    double mean_ns, p95_ns;
};

static struct time_spread spread_of(const struct measurement *m, struct arena *arena)
{
    double *times = arena_alloc(arena, (m->count + 1) * sizeof(*times)), sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < m->count; i++) {
        if (usable(&m->samples[i]))
            sum += times[count++] = m->samples[i].time_ns;
    }
    if (count == 0)
        return (struct time_spread){NAN, NAN};
    qsort(times, count, sizeof(*times), by_time);
    return (struct time_spread){sum / (double)count,
                                times[(size_t)(0.95 * (double)(count - 1) + 0.5)]};
}

bool gate_slow_ratios(double *mean, double *p95, const struct measurement *base,
                      const struct measurement *head, struct arena *arena)
{
    const struct time_spread b = spread_of(base, arena), h = spread_of(head, arena);
    *mean = h.mean_ns / b.mean_ns;
    *p95 = h.p95_ns / b.p95_ns;
    return isfinite(*mean) && isfinite(*p95);
}

// Says what the clock did, if it did anything. Time decides; cycles are shown beside it.
static const char *clock_text(const struct clock_effect *clock, struct arena *arena)
{
    if (!clock->known || fabs(clock->log_clock) < 5e-4)
        return "";
    return arena_printf(arena, "; at a clock %+.2f %%, so %+.2f %% in cycles",
                        100 * expm1(clock->log_clock), 100 * expm1(clock->cycles));
}

// Why the budget was not enough: the change is real and about as large as the margin, or it is
// noise.
static const char *doubt_text(const struct verdict *v, struct arena *arena)
{
    if ((v->log_ratio.low > 0 || v->log_ratio.high < 0) &&
        fabs(v->log_ratio.value) < 1.5 * v->margin)
        return arena_printf(arena, "; real, but near the margin of %.2f %%", 100 * v->margin);
    if (!isfinite(v->detectable))
        return "; too few pairs to say more";
    return arena_printf(arena, "; such noise hides changes below %.2g %%",
                        100 * expm1(v->detectable));
}

// Writes "undecided in a stream".
static const char *kind_text(const struct verdict *v, enum regime regime, struct arena *arena)
{
    return arena_printf(arena, "%s %s", verdict_kind_name(v->kind), regime_words(regime));
}

static const char *sentence(const struct verdict *v, enum regime regime, const char *reservation,
                            const char *slow, const struct clock_effect *clock, struct arena *arena)
{
    const char *kind = kind_text(v, regime, arena);
    if (v->pairs == 0)
        return "no usable pair of samples";
    const char *size = percent_text(v, arena), *effort = effort_text(v, arena);
    if (reservation)
        return arena_printf(arena, "%s: %s; %s, %s", kind, reservation, size, effort);
    if (slow[0])
        return arena_printf(arena, "%s: %s; the typical launch %s, %s; odds against chance 1e%.0f",
                            kind, slow, size, effort, floor(v->log_evidence / M_LN10));
    switch (v->kind) {
    case VERDICT_SLOWER:
    case VERDICT_FASTER:
        return arena_printf(arena, "%s: %s, %s; odds against chance 1e%.0f%s", //
                            kind, size, effort, floor(v->log_evidence / M_LN10),
                            clock_text(clock, arena));
    case VERDICT_SAME:
        return arena_printf(arena, "%s within %.2f %%: %s, %s", kind, 100 * v->margin, size,
                            effort);
    default:
        return arena_printf(arena, "%s: %s, %s%s", kind, size, effort, doubt_text(v, arena));
    }
}

// The change that such a gate finds with 90 % power: within its budget, or within the pairs that it
// had if it ended undecided.
static double detectable_by(const struct verdict *v, const struct gate_policy *policy,
                            const struct gate_pair *pairs, size_t count, struct arena *arena)
{
    double *work = arena_alloc(arena, count * sizeof(*work));
    for (size_t i = 0; i < count; i++)
        work[i] = pairs[i].log_ratio;
    if (count < 2)
        return NAN;
    const double sd = robust_sd(work, count);
    const uint32_t budget = gate_budget(policy, sd, policy->max_pairs), taken = (uint32_t)count;
    const bool open = v->kind == VERDICT_UNDECIDED || taken > budget;
    const double found = study_detectable(policy, sd, open ? taken : budget, 0.9);
    return isfinite(found) ? found : NAN;
}

// Finds which limit left a series undecided, and what would decide it.
static void find_limit(struct verdict *out, const struct gate_series *series,
                       const struct gate_decision *d)
{
    const double more = gate_missing_pairs(series, d), margin = series->policy.margin;
    const bool near = fabs(fabs(d->log_ratio) - margin) < 0.25 * margin;
    if (d->placement)
        out->limit = LIMIT_PLACES;
    else if (!isfinite(more))
        out->limit = near ? LIMIT_MARGIN : LIMIT_NOISE;
    else
        out->limit = d->next == GATE_DONE ? LIMIT_PAIRS : LIMIT_SECONDS;
    out->more_pairs = isfinite(more) ? (uint32_t)more : 0;
}

// Why the verdict of the pairs does not stand; NULL: it does.
static const char *reservation_of(const struct verdict *v, const struct gate_pair *pairs,
                                  const struct gate_policy *policy, bool placement,
                                  struct arena *arena)
{
    const bool alarm = v->kind == VERDICT_SLOWER || v->kind == VERDICT_FASTER;
    if (order_is_fixed(pairs, v->pairs))
        return "the order inside the pairs was not random";
    if (placement)
        return "one process shows a change that another refutes (placement)";
    if (alarm && v->processes < policy->processes)
        return arena_printf(arena, "%s, but confirmed by %u of %u processes",
                            verdict_kind_name(v->kind), v->processes, policy->processes);
    return NULL;
}

// The text of an alarm that is not about the typical launch.
static const char *slow_text(const struct measurement *base, const struct measurement *head,
                             double share, struct arena *arena)
{
    double mean, p95;
    if (!gate_slow_ratios(&mean, &p95, base, head, arena))
        return "";
    return arena_printf(arena,
                        "in %.1f %% of the pairs more the %s is slow, the mean %+.2f %%, the 95th "
                        "percentile %+.2f %%",
                        100 * fabs(share), share > 0 ? "head" : "base", 100 * (mean - 1),
                        100 * (p95 - 1));
}

static void judge_replayed(struct verdict *out, const struct measurement *base,
                           const struct measurement *head, const struct gate_pair *pairs,
                           size_t count, const struct gate_policy *policy, struct arena *arena)
{
    struct gate_series series;
    replay(&series, policy, pairs, count, arena);
    out->log_ratio = gate_series_interval(&series);
    series.policy = *policy; // has no room for more pairs: it tells what would come next, by the
                             // gate's own policy
    series.capacity = UINT32_MAX;
    struct gate_decision d = gate_series_decide(&series);
    out->kind = d.kind;
    out->cause = d.placement ? CAUSE_PLACEMENT : CAUSE_NONE;
    out->log_evidence = d.log_evidence;
    out->pairs = d.pairs;
    out->processes = count_processes(pairs, count);
    const char *reservation = reservation_of(out, pairs, policy, d.placement, arena);
    if (reservation)
        out->kind = VERDICT_UNDECIDED;
    if (out->kind == VERDICT_UNDECIDED && count > 0)
        find_limit(out, &series, &d);
    out->detectable = detectable_by(out, policy, pairs, count, arena);
    struct clock_effect clock = clock_explain(d.log_ratio, pairs, count, 0, arena);
    const char *slow = d.slow_alarm ? slow_text(base, head, d.slow_share, arena) : "";
    out->sentence = sentence(out, policy->regime, reservation, slow, &clock, arena);
}

// The number of samples that were left out by a rule fixed beforehand: they are faster than the
// roofline.
static size_t count_void(const struct measurement *m)
{
    size_t voided = 0;
    for (size_t i = 0; i < m->count; i++)
        voided += m->samples[i].excluded != 0;
    return voided;
}

void gate_replay(struct verdict *out, const struct measurement *base,
                 const struct measurement *head, const struct gate_policy *policy,
                 struct arena *arena)
{
    *out = (struct verdict){
        .kind = VERDICT_UNDECIDED,
        .log_ratio = interval_unknown,
        .detectable = NAN,
        .confidence = policy->confidence,
        .margin = policy->margin,
        .gpu_s = device_seconds(base) + device_seconds(head),
        .model = "gate",
        .version = gate_version,
    };
    const size_t voided = count_void(base);
    size_t room = base->count < head->count ? base->count : head->count;
    struct gate_pair *pairs = arena_alloc(arena, room * sizeof(*pairs));
    size_t count = gate_pairs(pairs, base, head, arena);
    judge_replayed(out, base, head, pairs, count, policy, arena);
    if (voided * VOID_PART > base->count)
        out->kind = VERDICT_UNDECIDED;
    if (voided)
        out->sentence = arena_printf(
            arena, "%s%s; %zu of %zu pairs are void: they were faster than the device can be",
            voided * VOID_PART > base->count && out->pairs ? "undecided: " : "", out->sentence,
            voided, base->count);
}
