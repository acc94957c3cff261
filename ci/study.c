// SPDX-License-Identifier: Apache-2.0
#include "ci/study.h"
#include "ci/duets.h"
#include "ci/progress.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t study_seed = 1;

struct gate_policy study_policy(const struct study *study, double time_ns)
{
    struct gate_policy policy = gate_policy_default(study->plan.kind, time_ns);
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

static void count_verdict(struct study_series *s, const struct duet *d)
{
    const bool broken = d->outcome.state != MEASURED_OK;
    s->gates++;
    s->first_alarms += d->alarmed;
    s->broken += broken;
    s->slower += !broken && d->decision.kind == VERDICT_SLOWER;
    s->faster += !broken && d->decision.kind == VERDICT_FASTER;
    s->same += !broken && d->decision.kind == VERDICT_SAME;
    s->undecided += !broken && d->decision.kind == VERDICT_UNDECIDED;
}

// Times as whole hundred-thousandths of `unit_ns`, the median of the base: what a duet needs, in a
// tenth of the room.
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
    fputc('\n', file);
}

static void write_samples(const struct study *study, const struct duet *d, const char *problem)
{
    const struct study_series *s = d->owner;
    for (size_t from = 0, to; from < d->base_samples.count; from = to) {
        const uint16_t process = d->base_samples.items[from].process;
        for (to = from; to < d->base_samples.count && d->base_samples.items[to].process == process;)
            to++;
        fprintf(study->samples, "%s,%s,%s,%u,%u,", study_kind_name(s->kind), s->kernel, problem,
                study->rounds_done, process);
        write_times(study->samples, d, from, to);
    }
}

static void conclude(struct study *study, const struct duet *d)
{
    struct study_series *s = d->owner;
    const bool broken = d->outcome.state != MEASURED_OK;
    char problem[PROBLEM_TEXT];
    double lower = -INFINITY, upper = INFINITY;
    const struct measurement base = {.samples = d->base_samples.items,
                                     .count = d->base_samples.count};
    const double gpu_s = device_s(&d->base_samples) + device_s(&d->head_samples), sd = pair_sd(d);
    count_verdict(s, d);
    s->sum_wall_s += d->wall_s;
    s->sum_gpu_s += gpu_s;
    if (d->judged && !broken) {
        s->sum_ratio += d->decision.log_ratio;
        s->sum_pairs += d->decision.pairs;
        s->sum_ns += measurement_time_ns(&base);
        s->sum_sd += sd;
        gate_series_interval(&d->gate, &lower, &upper);
    }
    problem_format(problem, &s->problem);
    if (study->samples && !broken)
        write_samples(study, d, problem);
    if (!study->csv)
        return;
    fprintf(study->csv, "%s,%s,%s,%u,%s,%d,%u,%u,%.3f,%.4f,%.4f,%.4f,%.4f,%.2f,%.4f,%.4f\n",
            study_kind_name(s->kind), s->kernel, problem, study->rounds_done,
            broken ? "broken" : verdict_kind_name(d->decision.kind), d->alarmed, d->decision.pairs,
            d->decision.processes, measurement_time_ns(&base) / 1e3, 100 * d->decision.log_ratio,
            100 * lower, 100 * upper, 100 * sd, d->decision.log_evidence, gpu_s, d->wall_s);
}

// ---- one round ----

static int start(struct bench **out, void *context, uint16_t process, struct error *err)
{
    struct study *study = context;
    struct bench_plan plan = study->plan;
    plan.process = process;
    study->processes++;
    return bench_start(out, &plan, err);
}

static int ask_policy(struct gate_policy *out, void *context, const struct duet *d,
                      struct error *err)
{
    (void)err;
    const struct measurement first = {.samples = d->base_samples.items,
                                      .count = d->base_samples.count};
    *out = study_policy(context, measurement_time_ns(&first));
    return 0;
}

static int run_round(struct study *study, struct error *err)
{
    struct arena arena = {0};
    struct duets duets = {.items = xcalloc(study->count, sizeof(*duets.items)),
                          .count = study->count,
                          .arena = &arena,
                          .context = study,
                          .start = start,
                          .policy = ask_policy};
    for (size_t i = 0; i < study->count; i++) {
        struct study_series *s = &study->series[i];
        duets.items[i] = (struct duet){.kernel = s->kernel,
                                       .problem = &s->problem,
                                       .base = s->base,
                                       .head = s->head,
                                       .seed = study_seed + study->rounds_done,
                                       .owner = s};
    }
    int status = duets_play(&duets, err);
    for (size_t i = 0; i < study->count; i++) {
        if (status == 0)
            conclude(study, &duets.items[i]);
        sample_list_free(&duets.items[i].base_samples);
        sample_list_free(&duets.items[i].head_samples);
    }
    free(duets.items);
    arena_free(&arena);
    return status;
}

int study_run(struct study *study, struct error *err)
{
    double begun_s = monotonic_s();
    int status = 0;
    if (study->csv)
        fputs("kind,kernel,problem,round,verdict,alarmed,pairs,processes,base_us,log_ratio_pct,"
              "lower_pct,upper_pct,pair_sd_pct,log_evidence,gpu_s,wall_s\n",
              study->csv);
    if (study->samples)
        fputs("kind,kernel,problem,round,process,launches,unit_ns,base_head_1e5\n", study->samples);
    while (status == 0 && study->rounds_done < study->rounds) {
        if (study->deadline_s > 0 && monotonic_s() > study->deadline_s)
            break;
        status = run_round(study, err);
        study->rounds_done += status == 0;
    }
    study->wall_s = monotonic_s() - begun_s;
    return status;
}
