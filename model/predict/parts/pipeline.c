// SPDX-License-Identifier: Apache-2.0
//
// Seed 1's pipeline twice, as a simulation of every event and in closed form. Its figures are drawn
// in pipeline_draw.c.
#include "model/predict/parts/pipeline.h"

#include "model/predict/parts/arithmetic.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

static void check(const struct pipeline *p)
{
    assert(p->depth >= 1 && p->stages >= 1 && (p->dma_warps == 1 || p->dma_warps == 2));
    assert(p->load_a >= 0 && p->load_b >= 0 && p->math >= 0 && p->epilogue >= 0);
    (void)p;
}

struct pipeline_time pipeline_time(const struct pipeline *p)
{
    check(p);
    double load = p->dma_warps == 1 ? p->load_a + p->load_b : most(p->load_a, p->load_b);
    double step = p->depth == 1 ? load + p->math : most(load, p->math);
    double steps = (double)(p->stages - 1);
    double last = load + steps * step; // M_S
    return (struct pipeline_time){.wave = last + p->math + p->epilogue,
                                  .wait = last - steps * p->math};
}

static void simulate_stage(struct pipeline_events *e, const struct pipeline *p, int64_t i)
{
    double *a = e->start_a, *b = e->start_b, *m = e->start_math;
    double freed = i >= p->depth ? m[i - p->depth] + p->math : 0; // when its buffer slot is free
    if (p->dma_warps == 1) {
        a[i] = most(i ? b[i - 1] + p->load_b : 0, freed);
        b[i] = most(a[i] + p->load_a, freed);
        m[i] = b[i] + p->load_b;
    } else {
        a[i] = most(i ? a[i - 1] + p->load_a : 0, freed);
        b[i] = most(i ? b[i - 1] + p->load_b : 0, freed);
        m[i] = most(a[i] + p->load_a, b[i] + p->load_b);
    }
    m[i] = most(m[i], i ? m[i - 1] + p->math : 0);
    e->time.wait += i ? m[i] - (m[i - 1] + p->math) : m[0];
}

int pipeline_simulate(struct pipeline_events *out, const struct pipeline *p, struct error *err)
{
    check(p);
    if (p->stages > PIPELINE_STAGES_MAX)
        return error_set(err, "%lld stages are too many to simulate; at most %d",
                         (long long)p->stages, PIPELINE_STAGES_MAX);
    size_t count = (size_t)p->stages;
    struct pipeline_events e = {.stages = p->stages};
    e.start_a = xcalloc(count, sizeof(double));
    e.start_b = xcalloc(count, sizeof(double));
    e.start_math = xcalloc(count, sizeof(double));
    for (int64_t i = 0; i < p->stages; i++)
        simulate_stage(&e, p, i);
    e.epilogue_start = e.start_math[p->stages - 1] + p->math;
    e.time.wave = e.epilogue_start + p->epilogue;
    *out = e;
    return 0;
}

void pipeline_events_free(struct pipeline_events *e)
{
    free(e->start_a);
    free(e->start_b);
    free(e->start_math);
    *e = (struct pipeline_events){0};
}

struct pipeline_kernel pipeline_kernel(const struct pipeline *p, int64_t tiles, int64_t sms,
                                       double launch)
{
    assert(tiles >= 1 && sms >= 1);
    struct pipeline_time wave = pipeline_time(p);
    struct pipeline_kernel out = {.tiles = tiles, .waves = (tiles + sms - 1) / sms};
    out.time = launch + (double)out.waves * wave.wave;
    out.wait = (double)out.waves * wave.wait;
    return out;
}
