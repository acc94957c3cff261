// SPDX-License-Identifier: Apache-2.0
#include "ci/measuring.h"

#include <math.h>
#include <string.h>

void measuring_begin(struct measuring *m, struct context *context, const struct built *base,
                     const struct built *head)
{
    *m = (struct measuring){.context = context};
    if (base && base->state == MEASURED_OK)
        m->directories[m->directory_count++] = base->directory;
    if (head && head->state == MEASURED_OK)
        m->directories[m->directory_count++] = head->directory;
}

void measuring_end(struct measuring *m)
{
    bench_stop(m->bench);
    m->bench = NULL;
}

// A live child on the task's station, with the given process number.
static int ready(struct measuring *m, const struct task *task, uint16_t process, struct error *err)
{
    if (m->bench && m->station == task->station && m->process == process)
        return 0;
    measuring_end(m);
    m->station = task->station;
    m->process = process;
    return context_bench(&m->bench, m->context, m->station, m->directories, m->directory_count,
                         process, err);
}

static void lost(struct measuring *m, const struct bench_outcome *outcome)
{
    if (outcome->gone)
        measuring_end(m);
}

static int open_series(struct bench_outcome *out, struct measuring *m, const struct task *task,
                       const char *base, const char *head, struct error *err)
{
    const struct bench_series series = {
        .kernel = task->result->kernel,
        .problem = &task->result->problem,
        .base = base,
        .head = head,
        .seed = m->context->policy.seed,
        // Fresh processes load the modules the other way round: placement must not decide.
        .head_first = m->process % 2 == 1,
    };
    int status = bench_open(out, &m->handle, m->bench, &series, err);
    if (status == 0)
        lost(m, out);
    return status;
}

static void fill(struct measurement *out, struct measuring *m, const struct bench_outcome *outcome,
                 const struct sample_list *samples, struct arena *arena)
{
    measurement_fill(out, outcome, samples, arena);
    out->seed = m->context->policy.seed;
    out->regime = "cold, back to back";
}

int measure_solo(struct measuring *m, const struct task *task, struct arena *arena,
                 struct error *err)
{
    struct sample_list samples = {0};
    struct bench_outcome opened, outcome;
    int status = -1;
    if (ready(m, task, 0, err) || open_series(&opened, m, task, NULL, task->head->library, err))
        return -1;
    outcome = opened;
    if (opened.state == MEASURED_OK) {
        if (bench_solo(&outcome, &samples, m->bench, &m->handle, m->context->policy.samples, 0,
                       err))
            goto done;
        lost(m, &outcome);
        if (outcome.state == MEASURED_OK && bench_close(&outcome, m->bench, &m->handle, err))
            goto done;
        lost(m, &outcome);
        if (outcome.state == MEASURED_OK)
            outcome = opened; // its note is the kernel's, e.g. the algorithm id
    }
    fill(&task->result->head, m, &outcome, &samples, arena);
    status = 0;
done:
    sample_list_free(&samples);
    return status;
}

static double first_block_ns(const struct sample *base, size_t count)
{
    struct sample first[64];
    size_t used = 0;
    for (size_t i = 0; i < count && used < ARRAY_COUNT(first); i++) {
        if (base[i].process == 0 && base[i].block == 0)
            first[used++] = base[i];
    }
    const struct measurement block = {.samples = first, .count = used};
    return measurement_time_ns(&block);
}

int measuring_policy(struct gate_policy *out, struct context *context, const struct task *task,
                     const struct sample *base, size_t count, struct arena *arena,
                     struct error *err)
{
    const struct policy_gate gate = policy_gate_for(&context->policy, task->rule);
    struct gate_policy policy =
        gate_policy_default(task->station->policy->kind, first_block_ns(base, count));
    policy.alpha = gate.alpha;
    policy.processes = gate.processes;
    policy.max_pairs = gate.max_pairs;
    if (gate.margin > 0) {
        policy.floor *= gate.margin / policy.margin;
        policy.margin = gate.margin;
    }
    const struct series series = {task->result->kernel, &task->result->problem,
                                  task->station->device.uuid};
    struct pair_scale *past = NULL;
    size_t runs = 0;
    if (store_scale(&past, &runs, context->store, &series, 8, 0, arena, err))
        return -1;
    double sum = 0, pairs = 0;
    for (size_t i = 0; i < runs; i++) {
        if (past[i].sd_mad > 0 && past[i].pairs >= 8) {
            sum += log(past[i].sd_mad) * past[i].pairs;
            pairs += past[i].pairs;
        }
    }
    if (pairs > 0)
        gate_policy_learn(&policy, (struct moderation){0, 0}, exp(sum / pairs), pairs);
    *out = policy;
    return 0;
}

// ---- a duet: one series, one or more processes ----

struct duet {
    struct measuring *m;
    const struct task *task;
    const char *base_library, *head_library;
    struct sample_list base, head;
    struct bench_outcome outcome; // the first that was not ok, else the last
    struct bench_outcome opened;
    struct gate_series series;
    bool series_ready;
    struct gate_decision decision;
    uint16_t block;
    struct arena *arena;
};

static int feed_series(struct duet *d, size_t from, struct error *err)
{
    if (!d->series_ready) {
        struct gate_policy policy;
        if (measuring_policy(&policy, d->m->context, d->task, d->base.items, d->base.count,
                             d->arena, err))
            return -1;
        gate_series_init(&d->series, &policy, d->arena);
        d->series_ready = true;
    }
    size_t pairs = d->base.count < d->head.count ? d->base.count : d->head.count;
    gate_series_add_samples(&d->series, d->base.items + from, d->head.items + from, pairs - from);
    d->decision = gate_series_decide(&d->series);
    return 0;
}

// Opens the series in the process at work; then blocks until something else is due.
static int play_process(struct duet *d, struct error *err)
{
    struct measuring *m = d->m;
    if (open_series(&d->outcome, m, d->task, d->base_library, d->head_library, err))
        return -1;
    d->opened = d->outcome;
    while (d->outcome.state == MEASURED_OK) {
        if (m->deadline_s > 0 && monotonic_s() > m->deadline_s)
            break;
        size_t from = d->base.count;
        uint32_t pairs = d->series_ready ? d->series.policy.block_pairs : 8;
        if (bench_pairs(&d->outcome, &d->base, &d->head, m->bench, &m->handle, pairs, d->block++,
                        err))
            return -1;
        lost(m, &d->outcome);
        if (d->outcome.state == MEASURED_OK && feed_series(d, from, err))
            return -1;
        if (d->outcome.state != MEASURED_OK || d->decision.next != GATE_MORE)
            break;
    }
    if (d->outcome.state == MEASURED_OK && bench_close(&d->outcome, m->bench, &m->handle, err))
        return -1;
    lost(m, &d->outcome);
    return 0;
}

static int play(struct duet *d, struct error *err)
{
    uint16_t process = 0;
    for (;;) {
        if (ready(d->m, d->task, process, err) || play_process(d, err))
            return -1;
        if (d->outcome.state != MEASURED_OK || d->decision.next != GATE_CONFIRM)
            return 0;
        if (d->m->deadline_s > 0 && monotonic_s() > d->m->deadline_s)
            return 0;
        gate_series_fresh_process(&d->series);
        process++;
    }
}

static void duet_free(struct duet *d)
{
    sample_list_free(&d->base);
    sample_list_free(&d->head);
}

// The base cannot be timed: the head is then like a new kernel, and measured alone.
static int head_alone(struct duet *d, struct result *result, struct error *err)
{
    const struct sample_list none = {0};
    fill(&result->base, d->m, &d->outcome, &none, d->arena);
    return measure_solo(d->m, d->task, d->arena, err);
}

int measure_duet(struct measuring *m, const struct task *task, struct arena *arena,
                 struct error *err)
{
    struct duet d = {.m = m,
                     .task = task,
                     .base_library = task->base->library,
                     .head_library = task->head->library,
                     .arena = arena};
    struct result *result = task->result;
    int status = -1;
    if (play(&d, err))
        goto done;
    if (d.outcome.state == MEASURED_OK) {
        d.outcome = d.opened;
        fill(&result->base, m, &d.outcome, &d.base, arena);
        fill(&result->head, m, &d.outcome, &d.head, arena);
        status = 0;
    } else if (d.outcome.role == ROLE_BASE) {
        status = head_alone(&d, result, err);
    } else {
        fill(&result->head, m, &d.outcome, &d.head, arena);
        d.outcome = (struct bench_outcome){.state = MEASURED_OK};
        fill(&result->base, m, &d.outcome, &d.base, arena);
        status = 0;
    }
done:
    duet_free(&d);
    return status;
}

int measure_self(struct verdict *out, struct measuring *m, const struct task *task,
                 struct arena *arena, struct error *err)
{
    struct duet d = {.m = m,
                     .task = task,
                     .base_library = task->head->library,
                     .head_library = task->head->library,
                     .arena = arena};
    int status = play(&d, err);
    if (status == 0) {
        *out = (struct verdict){.kind = VERDICT_UNDECIDED, .log_ratio = NAN};
        if (d.series_ready) {
            out->kind = d.decision.kind;
            out->log_ratio = d.decision.log_ratio;
            out->log_evidence = d.decision.log_evidence;
            out->pairs = d.decision.pairs;
            out->processes = d.decision.processes;
            gate_series_interval(&d.series, &out->lower, &out->upper);
        }
    }
    duet_free(&d);
    return status;
}
