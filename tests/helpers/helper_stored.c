// SPDX-License-Identifier: Apache-2.0
//
// Judges simulated duets once as they are played and once from what a store would keep.
#include "tests/helpers/helper_stored.h"

#include "tests/helpers/helper_random.h"

#include <stdlib.h>

void store_pair(struct stored *s, double base_ns, double head_ns, bool head_first, uint32_t pair,
                uint32_t process)
{
    struct sample common = {.clock_hz = 1.6e9,
                            .launches = 2,
                            .pair = pair,
                            .block = (uint16_t)(pair / 8),
                            .process = (uint16_t)process};
    struct sample base = common, head = common;
    base.time_ns = base_ns;
    base.role = ROLE_BASE;
    base.order = head_first;
    head.time_ns = head_ns;
    head.role = ROLE_HEAD;
    head.order = !head_first;
    if (s->base.count == STORED_ROOM)
        abort();
    s->base_samples[s->base.count++] = base;
    s->head_samples[s->head.count++] = head;
}

struct stored *stored_new(void)
{
    struct stored *s = xcalloc(1, sizeof(*s));
    s->base.state = s->head.state = MEASURED_OK;
    s->base.samples = s->base_samples;
    s->head.samples = s->head_samples;
    return s;
}

void stored_free(struct stored *s)
{
    arena_free(&s->arena);
    free(s);
}

void store_duet(struct stored *s, double log_ratio, uint32_t pairs, uint32_t processes)
{
    struct duet duet = duet_start(NOISE_NORMAL, 0.003, log_ratio, 42);
    for (uint32_t process = 0; process < processes; process++) {
        for (uint32_t pair = 0; pair < pairs; pair++) {
            double base_ns, head_ns;
            bool head_first;
            duet_pair(&duet, &base_ns, &head_ns, &head_first);
            store_pair(s, base_ns, head_ns, head_first, pair, process);
        }
    }
}

struct verdict stored_judge(struct stored *s, const struct gate_policy *policy)
{
    struct verdict verdict;
    gate_replay(&verdict, &s->base, &s->head, policy, &s->arena);
    return verdict;
}
