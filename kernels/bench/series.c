// SPDX-License-Identifier: Apache-2.0
//
// One series on the stopwatch, from opening to closing: checked, warmed up, sampled, checked again.
// The line protocol around it is bench.c.
#include "kernels/bench/series.h"

#include "kernels/bench/arm.h"
#include "kernels/bench/buffers.h"
#include "kernels/device/check.h"
#include "kernels/device/inputs.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ORDER_STREAM = 77 };
static const double WARM_NS = 50e6; // a kernel that has run this long needs no further warming

struct series {
    const struct device_ops *ops;
    struct device_base *device;
    struct series_spec spec;
    struct arm arms[2]; // by enum sample_role
    struct buffers buffers;
    struct buffers apart; // base's own, when spec.apart
    struct reference *reference;
    double tolerance, error;
    uint32_t launches, next_pair;
    enum sample_role last; // who wrote C last
};

static const char *const role_names[] = {"base", "head"};

static int load_arm(struct series *s, enum sample_role role, bool copy, struct series_state *state)
{
    return arm_load(&s->arms[role], role, copy, &s->spec, s->ops, s->device, state);
}

static int load(struct series *s, struct series_state *state)
{
    if (!inputs_knows((int)s->spec.problem.in) || !inputs_knows((int)s->spec.problem.out))
        return series_refuse(
            state, ROLE_HEAD, MEASURED_UNSUPPORTED,
            "bench makes no inputs of type %s (fp32, tf32, bf16, fp16, e4m3, e5m2)",
            dtype_name(s->spec.problem.in));
    if (!s->spec.base)
        return load_arm(s, ROLE_HEAD, false, state);
    // One file twice would be one library; so would a hard link. Both sides are copied alike.
    const bool copy = module_same_file(s->spec.base, s->spec.head);
    const enum sample_role first = s->spec.head_first ? ROLE_HEAD : ROLE_BASE;
    const enum sample_role second = s->spec.head_first ? ROLE_BASE : ROLE_HEAD;
    return load_arm(s, first, copy, state) || load_arm(s, second, copy, state);
}

static struct buffers *buffers_of(struct series *s, enum sample_role role)
{
    return s->spec.apart && role == ROLE_BASE ? &s->apart : &s->buffers;
}

static size_t workspace_bytes(const struct series *s)
{
    const struct plumb_problem problem = check_abi_problem(&s->spec.problem);
    const size_t base = arm_workspace_bytes(&s->arms[ROLE_BASE], &problem);
    const size_t head = arm_workspace_bytes(&s->arms[ROLE_HEAD], &problem);
    return base > head ? base : head;
}

static int prepare_arm(struct series *s, enum sample_role role, const char *pin,
                       struct series_state *state, struct error *err)
{
    return arm_prepare(&s->arms[role], role, pin, buffers_of(s, role), state, err);
}

// A kernel that chooses an algorithm would choose anew for each copy of one file; the second copy
// is held to the first one's choice, so that identical libraries run identical code.
static int prepare(struct series *s, struct series_state *state, struct error *err)
{
    // Records are loaded here, so here is where the order of loading shows.
    if (s->spec.head_first && s->arms[ROLE_HEAD].record) {
        int stop = prepare_arm(s, ROLE_HEAD, s->spec.pin, state, err);
        return stop ? stop : prepare_arm(s, ROLE_BASE, s->spec.pin, state, err);
    }
    const bool identical = s->arms[ROLE_HEAD].module.copy >= 0;
    int stop = prepare_arm(s, ROLE_BASE, s->spec.pin, state, err);
    if (stop)
        return stop;
    const char *pin = s->spec.pin;
    if (!pin && identical && s->arms[ROLE_BASE].note[0])
        pin = s->arms[ROLE_BASE].note;
    return prepare_arm(s, ROLE_HEAD, pin, state, err);
}

// Holds every C against the reference and every guard against its pattern.
static int inspect(struct series *s, enum sample_role role, struct series_state *state,
                   struct error *err)
{
    struct buffers *buffers = buffers_of(s, role);
    bool intact;
    char what[64];
    if (buffers_guards(&intact, what, buffers, err))
        return -1;
    if (!intact)
        return series_refuse(state, role, MEASURED_WRONG, "wrote out of bounds: %s", what);
    for (uint32_t set = 0; set < buffers->sets; set++) {
        struct comparison found = {0};
        if (s->ops->compare(&found, s->device, s->reference, buffers->args[set].c, s->tolerance,
                            err))
            return -1;
        s->error = fmax(s->error, found.error);
        if (found.wrong)
            return series_refuse(
                state, role, MEASURED_WRONG,
                "%llu of %llu elements wrong, first C[%lld][%lld] = %.9g, expected %.9g",
                (unsigned long long)found.wrong,
                (unsigned long long)check_count_c(&s->spec.problem), (long long)found.row,
                (long long)found.col, found.got, found.wanted);
    }
    return 0;
}

// Poisons, launches on every set, inspects.
static int check_arm(struct series *s, enum sample_role role, struct series_state *state,
                     struct error *err)
{
    struct arm *arm = &s->arms[role];
    struct buffers *buffers = buffers_of(s, role);
    if (!arm->used)
        return 0;
    if (buffers_poison(buffers, err))
        return -1;
    for (uint32_t set = 0; set < buffers->sets; set++) {
        int code = arm_launch(arm, set, s->ops->stream(s->device));
        if (code)
            return series_refuse(state, role, MEASURED_CRASHED, "launch() returned %d", code);
    }
    s->last = role;
    return s->ops->sync(s->device, err) ? -1 : inspect(s, role, state, err);
}

static int check_both(struct series *s, struct series_state *state, struct error *err)
{
    int stop = check_arm(s, ROLE_BASE, state, err);
    return stop ? stop : check_arm(s, ROLE_HEAD, state, err);
}

static int take(struct sample *out, struct series *s, enum sample_role role, uint32_t launches,
                struct error *err)
{
    struct arm *arm = &s->arms[role];
    const struct buffers *buffers = buffers_of(s, role);
    const struct batch batch = {.launch = arm_launch,
                                .self = arm,
                                .sets = s->spec.warm ? 1 : buffers->sets,
                                .launches = launches,
                                .flush = s->spec.flush,
                                .threads = arm->kernel.traits.threads};
    int code = 0;
    *out = (struct sample){.role = (uint8_t)role, .launches = launches};
    if (s->ops->sample(out, s->device, &batch, &code, err))
        return -1;
    if (code)
        return error_set(err, "%s: launch() returned %d in a timed launch", role_names[role], code);
    s->last = role;
    return 0;
}

// The faster arm's time alone decides how many launches make a sample; slow kernels are not run
// more often than this needs.
static int choose_launches(struct series *s, double *sample_ns, struct error *err)
{
    double least_ns = INFINITY;
    for (int round = 0; round < 3; round++) {
        for (int role = 0; role < 2; role++) {
            struct sample sample;
            if (!s->arms[role].used)
                continue;
            if (take(&sample, s, (enum sample_role)role, 1, err))
                return -1;
            least_ns = fmin(least_ns, sample.time_ns);
        }
        if (least_ns > WARM_NS)
            break;
    }
    double wanted = s->spec.launches;
    if (wanted < 1)
        wanted = least_ns >= s->ops->batch_below_ns ? 1 : ceil(s->ops->sample_ns / least_ns);
    s->launches = (uint32_t)fmin(wanted, s->ops->launches_max);
    *sample_ns = least_ns * s->launches;
    return 0;
}

static int warm_up(struct series *s, struct error *err)
{
    struct sample sample;
    double spent_ns = 0;
    for (int round = 0; round < 3 && spent_ns < 20e6; round++) {
        for (int role = 0; role < 2; role++) {
            if (s->arms[role].used && take(&sample, s, (enum sample_role)role, s->launches, err))
                return -1;
            spent_ns += s->arms[role].used ? sample.time_ns * s->launches : 0;
        }
    }
    return 0;
}

static int open_buffers(struct buffers *out, const struct series *s, struct error *err)
{
    return buffers_open(out, s->ops, s->device, &s->spec.problem, s->spec.seed, workspace_bytes(s),
                        err);
}

// Each step returns 0, 1 (the state says why not) or -1 (error).
static int open_steps(struct series *s, struct series_state *state, struct error *err)
{
    double sample_ns;
    int stop = load(s, state);
    if (stop)
        return stop;
    if (open_buffers(&s->buffers, s, err) || (s->spec.apart && open_buffers(&s->apart, s, err)) ||
        s->ops->reference(&s->reference, s->device, &s->spec.problem, s->buffers.args, s->spec.seed,
                          err))
        return -1;
    if ((stop = prepare(s, state, err)) || (stop = check_both(s, state, err)))
        return stop;
    if (choose_launches(s, &sample_ns, err))
        return -1;
    if (s->launches > 1 && !s->spec.warm) {
        if (buffers_grow(&s->buffers, s->launches, err) ||
            (s->spec.apart && buffers_grow(&s->apart, s->launches, err)) ||
            arm_grow(&s->arms[ROLE_BASE], err) || arm_grow(&s->arms[ROLE_HEAD], err))
            return -1;
        if ((stop = check_both(s, state, err)))
            return stop;
    }
    return sample_ns > WARM_NS ? 0 : warm_up(s, err); // long ones are warm by now
}

double series_need_bytes(const struct series_spec *spec, const struct device_ops *ops,
                         struct device_base *device)
{
    // buffers_grow() wants sets until the flush's size has passed, and one more.
    const double set = (double)buffers_set_bytes(&spec->problem);
    return (spec->apart ? 2 : 1) * (2 * set + (double)ops->flush_bytes(device)) +
           (double)check_count_c(&spec->problem) * sizeof(double);
}

static void report(struct series_state *state, const struct series *s)
{
    state->error = isfinite(s->error) ? s->error : 1e300; // the wire carries no infinity
    state->tolerance = s->tolerance;
    state->launches = s->launches;
}

int series_open(struct series **out, struct series_state *state, const struct device_ops *ops,
                struct device_base *device, const struct series_spec *spec, struct error *err)
{
    struct series *s = xcalloc(1, sizeof(*s));
    *s = (struct series){.ops = ops,
                         .device = device,
                         .spec = *spec,
                         .arms = {ARM_NONE, ARM_NONE},
                         .tolerance = check_tolerance(&spec->problem),
                         .launches = 1};
    struct series_state found = {.state = MEASURED_OK, .role = ROLE_HEAD};
    int stop = open_steps(s, &found, err);
    report(&found, s);
    if (stop == 0)
        snprintf(found.note, sizeof(found.note), "%s", s->arms[ROLE_HEAD].note);
    if (stop) {
        series_free(s);
        s = NULL;
    }
    if (stop < 0)
        return -1;
    *state = found;
    *out = s;
    return 0;
}

bool series_has_base(const struct series *series)
{
    return series->arms[ROLE_BASE].used;
}

int series_settle(struct series *s, struct error *err)
{
    for (int role = 0; role < 2; role++) {
        struct arm *arm = &s->arms[role];
        int code = arm->used ? arm_launch(arm, 0, s->ops->stream(s->device)) : 0;
        if (code)
            return error_set(err, "%s: launch() returned %d", role_names[role], code);
    }
    return s->ops->sync(s->device, err);
}

static int take_and_send(struct series *s, enum sample_role role, struct sample where,
                         sample_sink *sink, void *state, struct error *err)
{
    struct sample sample;
    if (take(&sample, s, role, s->launches, err))
        return -1;
    sample.pair = where.pair;
    sample.block = where.block;
    sample.order = where.order;
    sink(state, &sample);
    return 0;
}

int series_pairs(struct series *s, uint32_t count, uint16_t block, sample_sink *sink, void *state,
                 struct error *err)
{
    assert(series_has_base(s));
    if (buffers_poison(&s->buffers, err) || (s->spec.apart && buffers_poison(&s->apart, err)))
        return -1;
    for (uint32_t i = 0; i < count; i++) {
        struct sample where = {.pair = s->next_pair++, .block = block};
        const bool head_first = inputs_word(s->spec.seed, ORDER_STREAM, where.pair) >> 63;
        if (take_and_send(s, head_first ? ROLE_HEAD : ROLE_BASE, where, sink, state, err))
            return -1;
        where.order = 1;
        if (take_and_send(s, head_first ? ROLE_BASE : ROLE_HEAD, where, sink, state, err))
            return -1;
    }
    return 0;
}

int series_solo(struct series *s, uint32_t count, uint16_t block, sample_sink *sink, void *state,
                struct error *err)
{
    if (buffers_poison(&s->buffers, err))
        return -1;
    for (uint32_t i = 0; i < count; i++) {
        const struct sample where = {.pair = s->next_pair++, .block = block};
        if (take_and_send(s, ROLE_HEAD, where, sink, state, err))
            return -1;
    }
    return 0;
}

int series_close(struct series_state *state, struct series *s, struct error *err)
{
    struct series_state found = {.state = MEASURED_OK, .role = ROLE_HEAD};
    int stop = 0;
    // What the last timed sample left: all sets, if it walked over them all.
    if (s->launches >= buffers_of(s, s->last)->sets)
        stop = inspect(s, s->last, &found, err);
    if (!stop)
        stop = check_both(s, &found, err);
    if (stop < 0)
        return -1;
    report(&found, s);
    if (!stop)
        snprintf(found.note, sizeof(found.note), "%s", s->arms[ROLE_HEAD].note);
    *state = found;
    return 0;
}

void series_free(struct series *s)
{
    if (!s)
        return;
    if (s->reference)
        s->ops->reference_free(s->device, s->reference);
    arm_release(&s->arms[ROLE_BASE]);
    arm_release(&s->arms[ROLE_HEAD]);
    buffers_free(&s->buffers);
    buffers_free(&s->apart);
    free(s);
}
