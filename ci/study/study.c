// SPDX-License-Identifier: Apache-2.0
//
// Runs the gates of a study round by round and counts their verdicts. What is compared comes from
// study_sources.c; what follows from the counts is model/gate/study.c.
#include "ci/study/study.h"
#include "ci/gate/duets.h"
#include "ci/settings/progress.h"
#include "model/gate/study.h"
#include "model/predict/parts/least.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// The policy of a series whose base has this size (gate_size_ns()).
static struct gate_policy study_policy(const struct study *study, double size_ns)
{
    struct gate_policy policy = gate_policy_default(study->kind, size_ns);
    if (study->records)
        gate_policy_records(&policy);
    if (study->margin > 0) {
        policy.floor *= study->margin / policy.margin;
        policy.margin = study->margin;
    }
    if (study->max_pairs) {
        policy.max_pairs = study->max_pairs;
        if (policy.min_pairs > policy.max_pairs)
            policy.min_pairs = policy.max_pairs;
    }
    if (study->pairs) {
        policy.min_pairs = policy.max_pairs = study->pairs;
        policy.processes = 1;
        policy.stretch = 1;
    }
    return policy;
}

// ---- what a round found ----

static double device_s(const struct sample_list *list)
{
    double sum_ns = 0;
    for (size_t i = 0; i < list->count; i++)
        sum_ns += list->items[i].time_ns * list->items[i].launches;
    return 1e-9 * sum_ns;
}

static double size_ns(const struct study *study, const struct duet *d)
{
    return gate_size_ns(d->base_samples.items, d->base_samples.count, d->problem, &study->gpu);
}

static double pair_sd(const struct duet *d)
{
    size_t count = d->base_samples.count;
    double *y = xcalloc(count + 1, sizeof(*y));
    for (size_t i = 0; i < count; i++)
        y[i] = log(d->head_samples.items[i].time_ns / d->base_samples.items[i].time_ns);
    double sd = count > 1 ? robust_sd(y, count) : 0;
    free(y);
    return sd;
}

static bool is_broken(const struct duet *d)
{
    return d->outcome.state != MEASURED_OK && d->outcome.state != MEASURED_NOT_TAKEN;
}

// What there was no time for is as undecided as what there was too little for.
static void count_verdict(struct study_result *s, const struct duet *d)
{
    const bool broken = is_broken(d);
    const enum verdict_kind kind = d->judged ? d->decision.kind : VERDICT_UNDECIDED;
    s->gates++;
    s->first_alarms += d->alarmed;
    s->broken += broken;
    s->slower += !broken && kind == VERDICT_SLOWER;
    s->faster += !broken && kind == VERDICT_FASTER;
    s->same += !broken && kind == VERDICT_SAME;
    s->undecided += !broken && kind == VERDICT_UNDECIDED;
}

// Times as whole hundred-thousandths of `unit_ns`, the median of the base: what a duet needs, in a
// tenth of the room. Then the SM clock of each, 0 where it is not known.
static void write_times(FILE *file, const struct duet *d, size_t from, size_t to)
{
    const struct measurement base = {.samples = d->base_samples.items + from, .count = to - from};
    const double unit_ns = measurement_time_ns(&base);
    fprintf(file, "%u,%.3f,", d->base_samples.items[from].launches, unit_ns);
    for (size_t i = from; i < to; i++) {
        const struct sample *b = &d->base_samples.items[i], *h = &d->head_samples.items[i];
        fprintf(file, "%s%.0f %.0f", i > from ? " " : "", 1e5 * (b->time_ns / unit_ns - 1),
                1e5 * (h->time_ns / unit_ns - 1));
    }
    fputc(',', file);
    for (size_t i = from; i < to; i++)
        fprintf(file, "%s%.0f %.0f", i > from ? " " : "", 1e-6 * d->base_samples.items[i].clock_hz,
                1e-6 * d->head_samples.items[i].clock_hz);
    fputc('\n', file);
}

static void write_samples(const struct study *study, const struct duet *d, const char *problem)
{
    const struct study_series *s = d->owner;
    for (size_t from = 0, to; from < d->base_samples.count; from = to) {
        const uint16_t process = d->base_samples.items[from].process;
        for (to = from; to < d->base_samples.count && d->base_samples.items[to].process == process;)
            to++;
        fprintf(study->samples, "%s,%s,%s,%u,%u,", study_kind_name(s->sum.kind), s->sum.kernel,
                problem, study->rounds_done, process);
        write_times(study->samples, d, from, to);
    }
}

static void write_gate(const struct study *study, const struct duet *d, const char *problem,
                       double gpu_s, double sd)
{
    const struct study_series *s = d->owner;
    const bool broken = is_broken(d);
    const struct measurement base = {.samples = d->base_samples.items,
                                     .count = d->base_samples.count};
    struct interval interval = interval_unknown;
    if (d->judged && !broken)
        interval = gate_series_interval(&d->gate);
    fprintf(study->csv, "%s,%s,%s,%u,%s,%d,%u,%u,%.3f,%.4f,%.4f,%.4f,%.4f,%.2f,%.4f,%.4f\n",
            study_kind_name(s->sum.kind), s->sum.kernel, problem, study->rounds_done,
            broken ? "broken" : verdict_kind_name(d->decision.kind), d->alarmed, d->decision.pairs,
            d->decision.processes, measurement_time_ns(&base) / 1e3, 100 * d->decision.log_ratio,
            100 * interval.low, 100 * interval.high, 100 * sd, d->decision.log_evidence, gpu_s,
            d->wall_s);
}

static void conclude(struct study *study, const struct duet *d)
{
    struct study_series *s = d->owner;
    const struct measurement base = {.samples = d->base_samples.items,
                                     .count = d->base_samples.count};
    const double gpu_s = device_s(&d->base_samples) + device_s(&d->head_samples), sd = pair_sd(d);
    char problem[PROBLEM_TEXT];
    if (d->outcome.state == MEASURED_UNSUPPORTED) {
        s->unsupported = true;
        return;
    }
    count_verdict(&s->sum, d);
    s->sum.wall_s += d->wall_s;
    s->sum.gpu_s += gpu_s;
    problem_format(problem, &s->sum.problem);
    if (is_broken(d))
        fprintf(stderr, "%s %s %s: %s\n", study_kind_name(s->sum.kind), s->sum.kernel, problem,
                d->outcome.detail);
    if (study->csv)
        write_gate(study, d, problem, gpu_s, sd);
    if (!d->judged || d->outcome.state != MEASURED_OK)
        return;
    s->sum.log_ratio += d->decision.log_ratio;
    s->squares += d->decision.log_ratio * d->decision.log_ratio;
    s->largest = fmax(s->largest, fabs(d->decision.log_ratio));
    s->sum.pairs += d->decision.pairs;
    s->sum.time_ns += measurement_time_ns(&base);
    s->size_ns += size_ns(study, d);
    s->sum.pair_sd += sd;
    if (study->samples)
        write_samples(study, d, problem);
}

struct study_result study_found(const struct study *study, const struct study_series *series)
{
    struct study_result found = series->sum;
    const double timed = found.gates - found.broken;
    if (!(timed > 0)) {
        found.pairs = found.time_ns = found.log_ratio = found.pair_sd = found.detectable = NAN;
        return found;
    }
    found.pairs /= timed;
    found.time_ns /= timed;
    found.log_ratio /= timed;
    found.pair_sd /= timed;
    const struct gate_policy policy = study_policy(study, series->size_ns / timed);
    found.detectable = study_detectable(&policy, found.pair_sd,
                                        gate_budget(&policy, found.pair_sd, policy.max_pairs), 0.9);
    return found;
}

void study_print_processes(const struct study *study, FILE *out)
{
    fprintf(out, "%-7s %-22s %-30s %9s %9s %9s %9s %9s\n", "kind", "kernel", "problem", "processes",
            "mean %", "SD %", "by pairs", "largest %");
    for (size_t i = 0; i < study->count; i++) {
        const struct study_series *s = &study->series[i];
        const struct study_result found = study_found(study, s);
        const double n = found.gates - found.broken, mean = found.log_ratio;
        char problem[PROBLEM_TEXT];
        if (s->unsupported || n < 2)
            continue;
        problem_format(problem, &found.problem);
        // A mean trimmed by 10 % of normal pairs has 1.03 times the plain mean's error.
        fprintf(out, "%-7s %-22s %-30s %9.0f %+9.3f %9.3f %9.3f %9.3f\n",
                study_kind_name(found.kind), found.kernel, problem, n, 100 * mean,
                100 * sqrt(fmax(0, s->squares - n * mean * mean) / (n - 1)),
                103 * found.pair_sd / sqrt(found.pairs), 100 * s->largest);
    }
}

// ---- one round ----

static int ask_policy(struct gate_policy *out, void *context, const struct duet *d,
                      struct error *err)
{
    (void)err;
    const struct study *study = context;
    *out = study_policy(study, size_ns(study, d));
    return 0;
}

static int start(struct bench **out, void *context, size_t unit, struct error *err)
{
    const struct study *study = context;
    return study->start(out, study->context, unit, err);
}

static void lost(void *context, size_t unit, const char *why)
{
    (void)context;
    fprintf(stderr, "unit %zu is lost, its series go to the others: %s\n", unit, why);
}

static size_t fill_duets(struct duet *out, const struct study *study)
{
    const uint64_t seed = bench_draw_seed();
    size_t count = 0;
    for (size_t i = 0; i < study->count; i++) {
        struct study_series *s = &study->series[i];
        if (!s->unsupported)
            out[count++] = (struct duet){.kernel = s->sum.kernel,
                                         .problem = &s->sum.problem,
                                         .base = s->base,
                                         .head = s->head,
                                         .seed = seed,
                                         .least_ns = least_time_ns(&study->gpu, &s->sum.problem),
                                         .owner = s};
    }
    return count;
}

static int run_round(struct study *study, struct error *err)
{
    struct arena arena = {0};
    struct duets duets = {.items = xcalloc(study->count, sizeof(*duets.items)),
                          .units = study->units,
                          .open_most = study->open_most,
                          .arena = &arena,
                          .context = study,
                          .start = start,
                          .policy = ask_policy,
                          .lost = lost};
    duets.count = fill_duets(duets.items, study);
    int status = duets_play(&duets, err);
    study->processes += duets.processes;
    for (size_t i = 0; i < duets.count; i++) {
        if (status == 0)
            conclude(study, &duets.items[i]);
        sample_list_free(&duets.items[i].base_samples);
        sample_list_free(&duets.items[i].head_samples);
    }
    free(duets.items);
    arena_free(&arena);
    return status;
}

static bool nothing_supported(const struct study *study)
{
    for (size_t i = 0; i < study->count; i++) {
        if (!study->series[i].unsupported)
            return false;
    }
    return true;
}

// Whoever closes the files reports what could not be written.
static void flush(const struct study *study)
{
    if (study->csv)
        fflush(study->csv);
    if (study->samples)
        fflush(study->samples);
}

int study_run(struct study *study, struct error *err)
{
    double begun_s = monotonic_s();
    int status = 0;
    while (status == 0 && study->rounds_done < study->rounds) {
        if (study->deadline_s > 0 && monotonic_s() > study->deadline_s)
            break;
        status = run_round(study, err);
        study->rounds_done += status == 0;
        flush(study);
        if (status == 0 && nothing_supported(study))
            return error_set(err, "no library has a kernel for these problems");
        if (status == 0 && study->round_over)
            status = study->round_over(study->state, err);
    }
    study->wall_s = monotonic_s() - begun_s;
    return status;
}

void study_csv_header(FILE *csv)
{
    fputs("kind,kernel,problem,round,verdict,alarmed,pairs,processes,base_us,log_ratio_pct,"
          "lower_pct,upper_pct,pair_sd_pct,log_evidence,gpu_s,wall_s\n",
          csv);
}

void study_samples_header(FILE *samples)
{
    fputs("kind,kernel,problem,round,process,launches,unit_ns,base_head_1e5,base_head_mhz\n",
          samples);
}

void study_add(struct study *study, enum study_kind kind, const char *kernel, const char *base,
               const char *head, const struct problem *problem, size_t device)
{
    study->series = xgrow(study->series, study->count, &study->room, sizeof(*study->series));
    struct study_series *s = &study->series[study->count++];
    *s = (struct study_series){.base = base, .head = head};
    s->sum = (struct study_result){.kind = kind, .problem = *problem, .device = device};
    text_copy(s->sum.kernel, sizeof(s->sum.kernel), kernel);
}
