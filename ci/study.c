// SPDX-License-Identifier: Apache-2.0
#include "ci/study.h"
#include "ci/progress.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t study_seed = 1;

const char *study_kind_name(enum study_kind kind)
{
    static const char *const names[STUDY_KINDS] = {"aa", "slower", "faster"};
    return names[kind];
}

// One series in one round.
struct trial {
    struct study_series *series;
    struct sample_list base, head;
    struct gate_series gate;
    struct gate_decision decision;
    struct arena arena;
    uint16_t block;
    bool ready, broken, alarmed;
    double wall_s;
};

struct round {
    struct study *study;
    struct bench *bench;
    struct bench_handle handle;
    uint16_t process; // of this round
};

static int start(struct round *r, struct error *err)
{
    bench_stop(r->bench);
    r->bench = NULL;
    struct bench_plan plan = r->study->plan;
    plan.process = r->process;
    r->study->processes++;
    return bench_start(&r->bench, &plan, err);
}

static int open_trial(struct bench_outcome *outcome, struct round *r, const struct trial *t,
                      struct error *err)
{
    const struct bench_series spec = {.kernel = t->series->kernel,
                                      .problem = &t->series->problem,
                                      .base = t->series->base,
                                      .head = t->series->head,
                                      .seed = study_seed + r->study->rounds_done,
                                      .head_first = r->process % 2 == 1};
    return bench_open(outcome, &r->handle, r->bench, &spec, err);
}

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
    return policy;
}

static void feed(const struct study *study, struct trial *t, size_t from)
{
    if (!t->ready) {
        const struct measurement first = {.samples = t->base.items, .count = t->base.count};
        const struct gate_policy policy = study_policy(study, measurement_time_ns(&first));
        gate_series_init(&t->gate, &policy, &t->arena);
        t->ready = true;
    }
    gate_series_add_samples(&t->gate, t->base.items + from, t->head.items + from,
                            t->base.count - from);
    t->decision = gate_series_decide(&t->gate);
}

static int play_blocks(struct bench_outcome *outcome, struct round *r, struct trial *t,
                       struct error *err)
{
    do {
        size_t from = t->base.count;
        uint32_t pairs = t->ready ? t->gate.policy.block_pairs : 8;
        if (bench_pairs(outcome, &t->base, &t->head, r->bench, &r->handle, pairs, t->block++, err))
            return -1;
        if (outcome->state == MEASURED_OK)
            feed(r->study, t, from);
    } while (outcome->state == MEASURED_OK && t->decision.next == GATE_MORE);
    return 0;
}

// The series in the process at work, until it decides or asks for another process.
static int play(struct round *r, struct trial *t, struct error *err)
{
    struct bench_outcome outcome;
    double begun_s = monotonic_s();
    if (!r->bench && start(r, err))
        return -1;
    if (open_trial(&outcome, r, t, err))
        return -1;
    if (outcome.state == MEASURED_OK && play_blocks(&outcome, r, t, err))
        return -1;
    if (outcome.state == MEASURED_OK && bench_close(&outcome, r->bench, &r->handle, err))
        return -1;
    if (outcome.gone) {
        bench_stop(r->bench);
        r->bench = NULL;
    }
    t->broken = outcome.state != MEASURED_OK;
    t->wall_s += monotonic_s() - begun_s;
    return 0;
}

static double device_s(const struct sample_list *list)
{
    double sum_ns = 0;
    for (size_t i = 0; i < list->count; i++)
        sum_ns += list->items[i].time_ns * list->items[i].launches;
    return 1e-9 * sum_ns;
}

static double pair_sd(const struct trial *t)
{
    size_t count = t->base.count;
    double *y = xcalloc(count + 1, sizeof(*y));
    for (size_t i = 0; i < count; i++)
        y[i] = log(t->head.items[i].time_ns / t->base.items[i].time_ns);
    double sd = count > 1 ? robust_sd(y, count) : 0;
    free(y);
    return sd;
}

static void count_verdict(struct study_series *s, const struct trial *t)
{
    s->gates++;
    s->first_alarms += t->alarmed;
    s->broken += t->broken;
    s->slower += !t->broken && t->decision.kind == VERDICT_SLOWER;
    s->faster += !t->broken && t->decision.kind == VERDICT_FASTER;
    s->same += !t->broken && t->decision.kind == VERDICT_SAME;
    s->undecided += !t->broken && t->decision.kind == VERDICT_UNDECIDED;
}

static void conclude(struct study *study, struct trial *t)
{
    struct study_series *s = t->series;
    char problem[PROBLEM_TEXT];
    double lower = -INFINITY, upper = INFINITY;
    const struct measurement base = {.samples = t->base.items, .count = t->base.count};
    const double gpu_s = device_s(&t->base) + device_s(&t->head), sd = pair_sd(t);
    count_verdict(s, t);
    s->sum_wall_s += t->wall_s;
    s->sum_gpu_s += gpu_s;
    if (t->ready && !t->broken) {
        s->sum_ratio += t->decision.log_ratio;
        s->sum_pairs += t->decision.pairs;
        s->sum_ns += measurement_time_ns(&base);
        s->sum_sd += sd;
        gate_series_interval(&t->gate, &lower, &upper);
    }
    if (!study->csv)
        return;
    problem_format(problem, &s->problem);
    fprintf(study->csv, "%s,%s,%s,%u,%s,%d,%u,%u,%.3f,%.4f,%.4f,%.4f,%.4f,%.2f,%.4f,%.4f\n",
            study_kind_name(s->kind), s->kernel, problem, study->rounds_done,
            t->broken ? "broken" : verdict_kind_name(t->decision.kind), t->alarmed,
            t->decision.pairs, t->decision.processes, measurement_time_ns(&base) / 1e3,
            100 * t->decision.log_ratio, 100 * lower, 100 * upper, 100 * sd,
            t->decision.log_evidence, gpu_s, t->wall_s);
}

static bool waits(const struct trial *t)
{
    return t->ready && !t->broken && t->decision.next == GATE_CONFIRM;
}

// One more process for all alarms at once; *more: there were some.
static int confirm(bool *more, struct round *r, struct trial *trials, struct error *err)
{
    *more = false;
    for (size_t i = 0; i < r->study->count; i++) {
        struct trial *t = &trials[i];
        if (!waits(t))
            continue;
        if (!*more) {
            r->process++;
            if (start(r, err))
                return -1;
            *more = true;
        }
        t->alarmed = true;
        gate_series_fresh_process(&t->gate);
        if (play(r, t, err))
            return -1;
    }
    return 0;
}

static int run_round(struct study *study, struct error *err)
{
    struct trial *trials = xcalloc(study->count, sizeof(*trials));
    struct round r = {.study = study};
    int status = start(&r, err);
    for (size_t i = 0; status == 0 && i < study->count; i++) {
        trials[i].series = &study->series[i];
        status = play(&r, &trials[i], err);
    }
    for (bool more = true; status == 0 && more;)
        status = confirm(&more, &r, trials, err);
    for (size_t i = 0; i < study->count; i++) {
        if (status == 0)
            conclude(study, &trials[i]);
        sample_list_free(&trials[i].base);
        sample_list_free(&trials[i].head);
        arena_free(&trials[i].arena);
    }
    bench_stop(r.bench);
    free(trials);
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
    while (status == 0 && study->rounds_done < study->rounds) {
        if (study->deadline_s > 0 && monotonic_s() > study->deadline_s)
            break;
        status = run_round(study, err);
        study->rounds_done += status == 0;
    }
    study->wall_s = monotonic_s() - begun_s;
    return status;
}
