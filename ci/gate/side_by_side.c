// SPDX-License-Identifier: Apache-2.0
//
// Plays the duets of a gate's tasks, device by device (all equal units of one together), and fills
// their results. A task whose base does not work is measured alone to learn whose fault it is.
#include "ci/gate/side_by_side.h"
#include "ci/gate/duets.h"
#include "ci/gate/pace.h"
#include "ci/gate/self_tests.h"
#include "ci/gate/unit_times.h"
#include "model/gate/standing.h"
#include "model/predict/parts/least.h"

#include <math.h>
#include <string.h>

// A task whose base is not known to work, and what went wrong beside the head.
struct trouble {
    struct task *task;
    struct bench_outcome outcome;
};

// The gate's work on one device, or its equal units.
struct session {
    struct measuring *m;
    struct context_device *device; // the first of them
    const struct gate_work *work;
    double share; // of the time that is left
    struct trouble *troubles;
    size_t trouble_count;
    struct unit_times times;
};

// Which task a duet belongs to: those of the work come first, then the self tests.
struct place {
    struct task *task;
    double size;          // pace_size()
    struct verdict *self; // NULL: base against head
    const void *series;   // the same for those that compare the same
};

static int start(struct bench **out, void *context, size_t unit, struct error *err)
{
    const struct session *s = context;
    return context_bench(out, s->m->context, &s->device[unit], s->m->directories,
                         s->m->directory_count, err);
}

static void lost(void *context, size_t unit, const char *why)
{
    struct session *s = context;
    struct context *c = s->m->context;
    struct context_device *device = &s->device[unit];
    device->odd = arena_printf(&c->arena, "%s was lost", device->unit.uuid);
    progress_note(&c->progress, "device %s: %s, its series go to the others: %s",
                  device->policy->name, device->odd, why);
}

// A series is of the unit that it was on first.
static void settle(const struct session *s, const struct duet *d)
{
    const struct place *place = d->owner;
    if (place->self || !d->visit_count)
        return;
    place->task->device = &s->device[d->visits[0].unit];
    place->task->result->device = (size_t)(place->task->device - s->m->context->devices);
}

static int ask_policy(struct gate_policy *out, void *context, const struct duet *d,
                      struct error *err)
{
    const struct session *s = context;
    const struct place *place = d->owner;
    settle(s, d);
    return measuring_policy(out, s->m->context, place->task, d->base_samples.items,
                            d->base_samples.count, err);
}

static void fill_verdict(struct verdict *out, const struct duet *d)
{
    *out = (struct verdict){.kind = VERDICT_UNDECIDED, .log_ratio = {.value = NAN}};
    if (!d->judged)
        return;
    out->kind = d->decision.kind;
    out->log_evidence = d->decision.log_evidence;
    out->pairs = d->decision.pairs;
    out->processes = d->decision.processes;
    out->log_ratio = gate_series_interval(&d->gate);
}

// False: something must be run alone, or there was no time for it.
static bool fill_result(struct session *s, struct task *task, const struct duet *d)
{
    const struct sample_list none = {0};
    const struct bench_outcome fine = {.state = MEASURED_OK};
    const bool by_base = d->outcome.role == ROLE_BASE;
    struct result *result = task->result;
    if (d->outcome.state == MEASURED_OK || d->outcome.state == MEASURED_NOT_TAKEN) {
        measuring_fill(&result->base, s->m, task, &d->outcome, &d->base_samples);
        measuring_fill(&result->head, s->m, task, &d->outcome, &d->head_samples);
        return d->judged;
    }
    if (by_base)
        measuring_fill(&result->base, s->m, task, &d->outcome, &none);
    else
        measuring_fill(&result->base, s->m, task, &fine, &d->base_samples);
    if (!by_base)
        measuring_fill(&result->head, s->m, task, &d->outcome, &d->head_samples);
    if (result->base.state == MEASURED_OK)
        return true;
    s->troubles[s->trouble_count++] = (struct trouble){task, d->outcome};
    return false;
}

static int is_over(void *context, struct duet *d, struct error *err)
{
    struct session *s = context;
    const struct place *place = d->owner;
    int status = 0;
    settle(s, d);
    unit_times_add(&s->times, d, place->series);
    if (place->self)
        fill_verdict(place->self, d);
    else if (fill_result(s, place->task, d))
        status = s->work->done(s->work->context, place->task, err);
    sample_list_free(&d->base_samples);
    sample_list_free(&d->head_samples);
    return status;
}

static void place_task(struct duet *d, struct place *place, const struct session *s,
                       struct task *task, struct verdict *self)
{
    struct arena *arena = &task->run->arena;
    const enum sample_role base = self ? self_tests_role(task) : ROLE_BASE;
    const enum sample_role head = self ? base : ROLE_HEAD;
    *place = (struct place){.task = task, .self = self, .series = task};
    *d = (struct duet){.kernel = task->result->kernel,
                       .problem = &task->result->problem,
                       .base = recording_file(&s->m->recording, task, base, arena),
                       .head = recording_file(&s->m->recording, task, head, arena),
                       .seed = s->m->seed,
                       .least_ns = least_time_ns(&task->device->gpu, &task->result->problem),
                       .owner = place};
}

// Those that have played say what they still take; the others are as their sizes are to these.
static double left_s(const struct duets *duets)
{
    struct pace pace = {0};
    double sum_s = 0;
    for (size_t i = 0; i < duets->count; i++) {
        const struct duet *d = &duets->items[i];
        const struct place *place = d->owner;
        const double own_s = duet_left_s(d);
        if (isnan(own_s))
            continue;
        pace_add(&pace, place->size, d->wall_s + own_s);
        sum_s += own_s;
    }
    for (size_t i = 0; i < duets->count; i++) {
        const struct place *place = duets->items[i].owner;
        if (isnan(duet_left_s(&duets->items[i])))
            sum_s += pace_expect(&pace, place->size);
    }
    sum_s /= (double)duets->units;
    if (isnan(sum_s) || !(duets->deadline_s > 0))
        return sum_s;
    return fmin(sum_s, fmax(0, duets->deadline_s - monotonic_s()));
}

static void has_played(void *context, const struct duets *duets, const struct duet *duet)
{
    const struct session *s = context;
    const struct place *place = duet->owner;
    if (!progress_due(&s->m->context->progress))
        return;
    progress_left(&s->m->context->progress, left_s(duets));
    task_show(place->task, s->m->context);
}

static int alone(struct session *s, const struct task *task, enum sample_role role,
                 struct error *err)
{
    measuring_fresh(s->m);
    return measure_solo(s->m, task, role, err);
}

// The base works alone and did not beside the head: that is the head's doing.
static void blame_head(const struct trouble *t)
{
    const enum measurement_state seen = t->outcome.state;
    const bool ran = seen == MEASURED_WRONG || seen == MEASURED_TIMEOUT;
    t->task->result->head = (struct measurement){
        .state = ran ? seen : MEASURED_CRASHED,
        .regime = "",
        .detail =
            arena_printf(&t->task->run->arena, "beside it the base, which works alone, %s: %.300s",
                         standing_text(seen), t->outcome.detail),
    };
}

// The two have shared an address space and a device's memory: only what fails alone in a fresh
// process is the base's own fault. That a base cannot do the problem costs nothing to ask.
static int resolve(struct session *s, const struct trouble *t, struct error *err)
{
    struct result *r = t->task->result;
    const bool late = s->m->deadline_s > 0 && monotonic_s() > s->m->deadline_s;
    if (late && t->outcome.state != MEASURED_UNSUPPORTED)
        return 0;
    if (alone(s, t->task, ROLE_BASE, err))
        return -1;
    if (r->base.state != MEASURED_OK)
        return alone(s, t->task, ROLE_HEAD, err); // whoever seemed to fail beside it
    if (t->outcome.role == ROLE_BASE)
        blame_head(t);
    return 0;
}

static int resolve_all(struct session *s, struct error *err)
{
    for (size_t i = 0; i < s->trouble_count; i++) {
        if (resolve(s, &s->troubles[i], err) ||
            s->work->done(s->work->context, s->troubles[i].task, err))
            return -1;
    }
    return 0;
}

// 0: none.
static double deadline_of(const struct session *s)
{
    const double now_s = monotonic_s();
    return s->m->deadline_s > 0 ? now_s + s->share * (s->m->deadline_s - now_s) : 0;
}

static int add_task(struct duets *duets, struct session *s, struct place *place, struct task *task,
                    struct verdict *self, struct error *err)
{
    place_task(&duets->items[duets->count++], place, s, task, self);
    return pace_size(&place->size, task, s->m->context, err);
}

// Each self test on every unit: it says what the same code takes there.
static int add_all(struct duets *duets, struct session *s, struct place *places, struct error *err)
{
    const struct gate_work *work = s->work;
    for (size_t i = 0; i < work->count; i++) {
        if (work->tasks[i]->device == s->device &&
            add_task(duets, s, &places[duets->count], work->tasks[i], NULL, err))
            return -1;
    }
    for (size_t i = 0; i < work->self_count * duets->units; i++) {
        struct task *task = work->self[i / duets->units];
        const size_t at = duets->count, unit = i % duets->units;
        struct verdict *self = &work->verdicts[i / duets->units * UNITS_MOST + unit];
        if (context_first_unit(s->m->context, task->device) != s->device)
            continue;
        if (add_task(duets, s, &places[at], task, self, err))
            return -1;
        duets->items[at].only = unit + 1;
        places[at].series = &work->self[i / duets->units];
    }
    return 0;
}

static int play(struct session *s, struct duets *duets, struct error *err)
{
    recording_pause(&s->m->recording);
    measuring_fresh(s->m); // one child on a device at a time
    progress_begin(&s->m->context->progress);
    int status = duets_play(duets, err);
    for (size_t i = 0; i < duets->count; i++) {
        sample_list_free(&duets->items[i].base_samples);
        sample_list_free(&duets->items[i].head_samples);
    }
    s->m->processes += duets->processes;
    if (status == 0)
        status = resolve_all(s, err);
    if (status == 0)
        unit_times_tell(&s->times, s->m->context, s->device);
    return status;
}

static int measure_device(struct session *s, struct error *err)
{
    const struct gate_work *work = s->work;
    const size_t units = s->device->units ? s->device->units : 1;
    const size_t most = work->count + work->self_count * units;
    struct arena arena = {0};
    struct place *places = arena_alloc(&arena, most * sizeof(*places));
    struct duets duets = {.items = arena_alloc(&arena, most * sizeof(*duets.items)),
                          .units = units,
                          .deadline_s = deadline_of(s),
                          .arena = &arena,
                          .context = s,
                          .start = start,
                          .policy = ask_policy,
                          .played = has_played,
                          .over = is_over,
                          .lost = lost};
    s->troubles = arena_alloc(&arena, most * sizeof(*s->troubles));
    const int status = add_all(&duets, s, places, err) || play(s, &duets, err) ? -1 : 0;
    unit_times_free(&s->times);
    arena_free(&arena);
    return status;
}

static bool has_work(const struct gate_work *work, const struct context *context,
                     const struct context_device *device)
{
    for (size_t i = 0; i < work->count + work->self_count; i++) {
        const struct task *task = i < work->count ? work->tasks[i] : work->self[i - work->count];
        if (context_first_unit(context, task->device) == device)
            return true;
    }
    return false;
}

// Each device gets its share of the time that is left: the first must not spend it for all.
int measure_side_by_side(struct measuring *m, const struct gate_work *work, struct error *err)
{
    size_t left = 0;
    for (size_t i = 0; i < m->context->device_count; i++)
        left += has_work(work, m->context, &m->context->devices[i]);
    for (size_t i = 0; i < m->context->device_count; i++) {
        struct session session = {.m = m, .device = &m->context->devices[i], .work = work};
        if (!has_work(work, m->context, session.device))
            continue;
        session.share = 1 / (double)left--;
        if (measure_device(&session, err))
            return -1;
    }
    return 0;
}
