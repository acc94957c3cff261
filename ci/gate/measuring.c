// SPDX-License-Identifier: Apache-2.0
//
// Measures one side of a task alone, with a bench child that is kept while tasks share a device. A
// kernel that fails is a result; only a lost device or a full disk is an error.
#include "ci/gate/measuring.h"
#include "model/predict/parts/least.h"

#include <stdlib.h>
#include <string.h>

static void show(struct measuring *m, const struct built *built)
{
    bool shown = !built || built->state != MEASURED_OK;
    for (size_t i = 0; i < m->directory_count && !shown; i++)
        shown = strcmp(m->directories[i], built->directory) == 0;
    if (!shown)
        m->directories[m->directory_count++] = built->directory;
}

void measuring_begin(struct measuring *m, struct context *context,
                     const struct built *const *builds, size_t count)
{
    *m = (struct measuring){.context = context, .seed = bench_draw_seed()};
    if (context->policy.seed_given)
        progress_note(&context->progress,
                      "%s: measure.seed is not used any more: what kernels must not guess is drawn",
                      context->policy.label);
    m->directories = xcalloc(count + 1, sizeof(*m->directories)); // one is of the records
    for (size_t i = 0; i < count; i++)
        show(m, builds[i]);
    m->recording = (struct recording){
        .context = context, .directories = m->directories, .directory_count = m->directory_count};
}

void measuring_fresh(struct measuring *m)
{
    context_end_leaving(m->context);
    bench_stop(m->bench);
    m->bench = NULL;
}

// Nothing is open in it any more.
static void let_go(struct measuring *m)
{
    context_leave(m->context, m->bench);
    m->bench = NULL;
}

void measuring_leave(struct measuring *m)
{
    let_go(m);
    recording_end(&m->recording);
    free(m->directories);
    m->directories = NULL;
}

void measuring_end(struct measuring *m)
{
    measuring_fresh(m);
    measuring_leave(m);
}

int measuring_record(bool *made, struct measuring *m, const struct task *task,
                     enum sample_role role, struct measurement *instead, struct error *err)
{
    if (recording_make(made, &m->recording, task, role, instead, &task->run->arena, err))
        return -1;
    const size_t own = m->recording.directory_count;
    if (m->recording.folder[0]) {
        m->directories[own] = m->recording.folder;
        m->directory_count = own + 1;
    }
    return 0;
}

// A live child on the task's device. What measured before ends while this one starts, and is gone
// before anything is opened: no sample is taken beside either.
static int ready(struct measuring *m, const struct task *task, struct error *err)
{
    recording_pause(&m->recording);
    if (m->bench && m->device == task->device)
        return 0;
    let_go(m);
    m->device = task->device;
    if (context_begin_bench(&m->bench, m->context, m->device, m->directories, m->directory_count,
                            err))
        return -1;
    context_end_leaving(m->context);
    return bench_ready(m->bench, err);
}

static void lost(struct measuring *m, const struct bench_outcome *outcome)
{
    if (outcome->gone)
        measuring_fresh(m);
}

static int open_alone(struct bench_outcome *out, struct measuring *m, const struct task *task,
                      enum sample_role role, struct error *err)
{
    const struct bench_series series = {
        .kernel = task->result->kernel,
        .problem = &task->result->problem,
        .head = recording_file(&m->recording, task, role, &task->run->arena),
        .seed = m->seed,
    };
    int status = bench_open(out, &m->handle, m->bench, &series, err);
    if (status == 0)
        lost(m, out);
    return status;
}

void measuring_fill(struct measurement *out, struct measuring *m, const struct task *task,
                    const struct bench_outcome *outcome, const struct sample_list *samples)
{
    measurement_fill(out, outcome, samples, &task->run->arena);
    out->seed = m->seed;
    out->regime = outcome->own_fault       ? task_failure_regime(m->context)
                  : recording_wanted(task) ? "cold, back to back, " REGIME_DEVICE_CODE
                                           : "cold, back to back";
}

int measure_solo(struct measuring *m, const struct task *task, enum sample_role role,
                 struct error *err)
{
    struct sample_list samples = {0};
    struct bench_outcome opened, outcome;
    struct result *r = task->result;
    int status = -1;
    bool made = true;
    if (measuring_record(&made, m, task, role, role == ROLE_BASE ? &r->base : &r->head, err))
        return -1;
    if (!made)
        return 0;
    if (ready(m, task, err) || open_alone(&opened, m, task, role, err))
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
    const double least_ns = least_time_ns(&task->device->gpu, &r->problem);
    for (size_t i = 0; i < samples.count; i++) {
        samples.items[i].role = (uint8_t)role;
        samples.items[i].excluded = samples.items[i].time_ns < least_ns;
    }
    measuring_fill(role == ROLE_BASE ? &r->base : &r->head, m, task, &outcome, &samples);
    status = 0;
done:
    sample_list_free(&samples);
    return status;
}
