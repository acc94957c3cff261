// SPDX-License-Identifier: Apache-2.0
//
// Checks of a series beside its timed launches: both sides on poisoned outputs, all of them held
// against the reference, guards and gaps against what they were.
#include "kernels/bench/series_parts.h"
#include "kernels/bench/untouched.h"

enum { CHECK_STREAM = 79 };

// Holds every C against the reference and every guard against its pattern.
static int inspect(struct series *s, enum sample_role role, struct series_state *state,
                   struct error *err)
{
    struct buffers *buffers = series_buffers(s, role);
    bool intact;
    char what[64];
    if (buffers_guards(&intact, what, buffers, err))
        return -1;
    if (!intact)
        return series_refuse(state, role, MEASURED_WRONG, "wrote out of bounds: %s", what);
    int stop = 0;
    for (uint32_t set = 0; set < buffers->sets && !stop; set++)
        stop = series_hold(s, role, set, "", state, err);
    return stop;
}

// Launches on every set, inspects.
static int launch_all(struct series *s, enum sample_role role, struct buffers *buffers,
                      struct series_state *state, struct error *err)
{
    struct untouched kept;
    int64_t row;
    int code = 0;
    if (untouched_keep(&kept, buffers, err))
        return -1;
    for (uint32_t set = 0; set < buffers->sets && !code; set++)
        code = arm_launch(&s->arms[role], set, s->ops->stream(s->device));
    if ((code ? 0 : s->ops->sync(s->device, err)) || untouched_hold(&row, &kept, buffers, err))
        return -1;
    if (code)
        return series_refuse(state, role, MEASURED_CRASHED, "launch() returned %d", code);
    if (row >= 0)
        return series_refuse(state, role, MEASURED_WRONG,
                             "wrote between rows, at row %lld of C: gaps and rows of no group stay "
                             "what they are",
                             (long long)row);
    return inspect(s, role, state, err);
}

// Poisons before.
static int check_arm(struct series *s, enum sample_role role, struct series_state *state,
                     struct error *err)
{
    struct buffers *buffers = series_buffers(s, role);
    if (!s->arms[role].used)
        return 0;
    if (buffers_poison(buffers, err))
        return -1;
    return launch_all(s, role, buffers, state, err);
}

int series_check(struct series *s, struct series_state *state, struct error *err)
{
    int stop = check_arm(s, ROLE_BASE, state, err);
    return stop ? stop : check_arm(s, ROLE_HEAD, state, err);
}

// What the output must be, from the first set. What a library cannot say is its business.
int series_find_reference(struct series *s, const uint64_t *seed, struct series_state *state,
                          struct error *err)
{
    const enum sample_role says = s->source.arm == &s->arms[ROLE_BASE] ? ROLE_BASE : ROLE_HEAD;
    struct error why;
    exact_free(s->reference);
    s->reference = NULL;
    if (exact_open(&s->reference, &s->source, &s->buffers, 0, seed, &why) == 0) {
        s->allowed = exact_allowed(s->reference, s->tolerance);
        return 0;
    }
    if (s->spec.problem.number_count && s->device->loss == DEVICE_OK)
        return series_refuse(state, says, MEASURED_UNSUPPORTED, "%.400s", why.text);
    *err = why;
    return -1;
}

// The numbers of the reference again, with other signs; of a form other numbers, and theirs.
int series_check_anew(struct series *s, struct series_state *state, struct error *err)
{
    const uint64_t key = inputs_word(s->spec.seed, CHECK_STREAM, s->turns);
    if (!s->buffers.plain)
        s->buffers.seed = s->apart.seed = key >> 1;
    if (series_known(s, key, err))
        return -1;
    const int stop = s->buffers.plain ? 0 : series_find_reference(s, NULL, state, err);
    return stop ? stop : series_check(s, state, err);
}
