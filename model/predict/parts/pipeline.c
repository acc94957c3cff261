// SPDX-License-Identifier: Apache-2.0
//
// Seed 1's pipeline, computed twice: by simulating every event, and in closed form. A drawing of it
// and a search for the best pipeline follow.
#include "model/predict/parts/pipeline.h"

#include "model/buffer.h"
#include "model/predict/parts/arithmetic.h"
#include "model/problem.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

// ==== the pipeline's time ====

enum { PIPELINE_STAGES_MAX = 1 << 20 }; // a longer simulation is refused

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

// ---- drawing it ----
//
// The simulator's events as a Chrome trace. It writes no files.

struct activity {
    const char *name;
    int thread;
    double start, duration;
    int64_t stage;
};

struct trace {
    struct json json;
    double offset, unit_us;
    int64_t wave; // 0: the box belongs to no wave
};

static void draw_event(struct trace *t, const struct activity *event)
{
    struct json *json = &t->json;
    json_newline(json);
    json_begin(json, NULL, '{');
    json_text(json, "name", event->name);
    json_text(json, "ph", "X");
    json_int(json, "pid", 1);
    json_int(json, "tid", event->thread);
    json_rounded(json, "ts", (t->offset + event->start) * t->unit_us, 9);
    json_rounded(json, "dur", event->duration * t->unit_us, 9);
    if (t->wave) {
        json_begin(json, "args", '{');
        json_int(json, "wave", t->wave);
        json_int(json, "stage", event->stage);
        json_end(json, '}');
    }
    json_end(json, '}');
}

// Every event of a wave, stage by stage.
static void draw_wave(struct trace *t, const struct pipeline *p, const struct pipeline_events *e)
{
    int b_thread = p->dma_warps == 2 ? 2 : 1;
    for (int64_t i = 0; i < e->stages; i++) {
        const struct activity events[] = {
            {"load A", 1, e->start_a[i], p->load_a, i + 1},
            {"load B", b_thread, e->start_b[i], p->load_b, i + 1},
            {"math", 3, e->start_math[i], p->math, i + 1},
        };
        for (size_t j = 0; j < ARRAY_COUNT(events); j++)
            draw_event(t, &events[j]);
    }
    const struct activity end = {"epilogue", 3, e->epilogue_start, p->epilogue, 0};
    draw_event(t, &end);
}

static void name_thread(struct json *json, int thread, const char *name)
{
    json_newline(json);
    json_begin(json, NULL, '{');
    json_text(json, "name", "thread_name");
    json_text(json, "ph", "M");
    json_int(json, "pid", 1);
    json_int(json, "tid", thread);
    json_begin(json, "args", '{');
    json_text(json, "name", name);
    json_end(json, '}');
    json_end(json, '}');
}

void pipeline_write_trace(struct buffer *out, const struct pipeline *p,
                          const struct pipeline_events *events, double launch, int64_t waves,
                          double unit_us)
{
    static const char *const names[] = {"launch", "DMA warp 1", "DMA warp 2", "MATH warp"};
    struct trace t = {.json = {.out = out}, .unit_us = unit_us};
    const struct activity launched = {.name = "launch", .duration = launch};
    json_begin(&t.json, NULL, '{');
    json_text(&t.json, "displayTimeUnit", "ns");
    json_begin(&t.json, "traceEvents", '[');
    for (int i = 0; i < (int)ARRAY_COUNT(names); i++) {
        if (i != 2 || p->dma_warps == 2)
            name_thread(&t.json, i, names[i]);
    }
    draw_event(&t, &launched);
    for (t.wave = 1; t.wave <= waves; t.wave++) {
        t.offset = launch + (double)(t.wave - 1) * events->time.wave;
        draw_wave(&t, p, events);
    }
    json_newline(&t.json);
    json_end(&t.json, ']');
    json_end(&t.json, '}');
    json_newline(&t.json);
}

// ==== the best pipeline ====
//
// The exact search for the best tiling under seed 1's model, and its parameters from measured
// transfers. pipeline_z3.c answers the same question.

enum { PIPELINE_TICKS_MAX = 100000 }; // the largest cost; totals then stay below 2^63

enum { WARPS_MOST = 64 };

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

int pipeline_machine_check(const struct pipeline_machine *m, const int64_t mnk[3],
                           struct error *err)
{
    const int64_t costs[] = {m->launch,     m->load_startup,     m->load_block,    m->math_startup,
                             m->math_block, m->epilogue_startup, m->epilogue_block};
    for (size_t i = 0; i < ARRAY_COUNT(costs); i++) {
        if (costs[i] < 0 || costs[i] > PIPELINE_TICKS_MAX)
            return error_set(err, "cost %zu of the machine is %lld ticks; 0 to %d are handled", i,
                             (long long)costs[i], PIPELINE_TICKS_MAX);
    }
    if (m->sms < 1 || m->depth_max < 1 || m->depth_max > 8 || m->dma_warps < 1 ||
        m->dma_warps > WARPS_MOST || m->math_warps < 1 || m->math_warps > WARPS_MOST)
        return error_set(err,
                         "a machine has SMs, a depth of 1 to 8, and 1 to %d loading and "
                         "computing warps each",
                         WARPS_MOST);
    for (int i = 0; i < 3; i++) {
        if (mnk[i] < PIPELINE_UNIT || mnk[i] > PIPELINE_SIZE_MAX || mnk[i] % PIPELINE_UNIT)
            return error_set(err, "size %lld: sizes are multiples of %d up to %d",
                             (long long)mnk[i], PIPELINE_UNIT, PIPELINE_SIZE_MAX);
    }
    return 0;
}

static int64_t shared(int64_t ticks, int32_t warps)
{
    return (ticks + warps - 1) / warps;
}

// The ticks in which the loading warps of a stage load its blocks of A and of B.
static void share_loads(int64_t ticks[2], const struct pipeline_machine *m, int64_t blocks_a,
                        int64_t blocks_b)
{
    int64_t a = m->load_block * blocks_a, b = m->load_block * blocks_b, best = INT64_MAX;
    ticks[0] = a, ticks[1] = b;
    for (int32_t on_a = 1; on_a < m->dma_warps; on_a++) {
        int64_t of_a = shared(a, on_a), of_b = shared(b, m->dma_warps - on_a);
        if (larger(of_a, of_b) >= best)
            continue;
        best = larger(of_a, of_b);
        ticks[0] = of_a, ticks[1] = of_b;
    }
}

struct costs {
    int64_t load_a, load_b, math, epilogue;
};

static struct costs costs_of(const struct pipeline_machine *m, const struct pipeline_choice *c)
{
    int64_t tm = c->tile_m / PIPELINE_UNIT, tn = c->tile_n / PIPELINE_UNIT;
    int64_t tk = c->tile_k / PIPELINE_UNIT, loads[2];
    share_loads(loads, m, tm * tk, tk * tn);
    return (struct costs){.load_a = m->load_startup + loads[0],
                          .load_b = m->load_startup + loads[1],
                          .math =
                              m->math_startup + shared(m->math_block * tm * tn * tk, m->math_warps),
                          .epilogue = m->epilogue_startup + m->epilogue_block * tm * tn};
}

void pipeline_of_choice(struct pipeline *out, const struct pipeline_machine *m,
                        const struct pipeline_choice *c, const int64_t mnk[3])
{
    struct costs costs = costs_of(m, c);
    *out = (struct pipeline){.load_a = (double)costs.load_a,
                             .load_b = (double)costs.load_b,
                             .math = (double)costs.math,
                             .epilogue = (double)costs.epilogue,
                             .depth = c->depth,
                             .dma_warps = m->dma_warps == 1 ? 1 : 2,
                             .stages = mnk[2] / c->tile_k};
}

void pipeline_evaluate(struct pipeline_choice *c, const struct pipeline_machine *m,
                       const int64_t mnk[3])
{
    struct costs of = costs_of(m, c);
    int64_t load = m->dma_warps == 1 ? of.load_a + of.load_b : larger(of.load_a, of.load_b);
    int64_t step = c->depth == 1 ? load + of.math : larger(load, of.math);
    int64_t steps = mnk[2] / c->tile_k - 1;
    int64_t tiles = (mnk[0] / c->tile_m) * (mnk[1] / c->tile_n);
    int64_t last = load + steps * step; // start of the last MATH, see pipeline.h
    c->time = m->launch + (tiles + m->sms - 1) / m->sms * (last + of.math + of.epilogue);
    c->wait = tiles * (last - steps * of.math);
}

struct divisors {
    int32_t items[PIPELINE_TILE_MAX / PIPELINE_UNIT];
    size_t count;
};

static struct divisors divisors_of(int64_t size)
{
    struct divisors out = {.count = 0};
    for (int32_t d = PIPELINE_UNIT; d <= PIPELINE_TILE_MAX && d <= size; d += PIPELINE_UNIT) {
        if (size % d == 0)
            out.items[out.count++] = d;
    }
    return out;
}

void pipeline_tilings(struct pipeline_tilings *out, const struct pipeline_machine *m,
                      const int64_t mnk[3])
{
    const int64_t area = (int64_t)PIPELINE_UNIT * PIPELINE_UNIT;
    struct divisors tile_m = divisors_of(mnk[0]), tile_n = divisors_of(mnk[1]);
    struct divisors tile_k = divisors_of(mnk[2]);
    size_t all = tile_m.count * tile_n.count * tile_k.count;
    *out = (struct pipeline_tilings){.items = xcalloc(all, sizeof(*out->items))};
    for (size_t i = 0; i < all; i++) {
        struct pipeline_choice c = {.tile_m = tile_m.items[i / tile_k.count / tile_n.count],
                                    .tile_n = tile_n.items[i / tile_k.count % tile_n.count],
                                    .tile_k = tile_k.items[i % tile_k.count]};
        int64_t fit = m->smem_blocks / (((int64_t)c.tile_m + c.tile_n) * c.tile_k / area);
        c.depth = fit < m->depth_max ? (int32_t)fit : m->depth_max;
        if (c.depth > 0)
            out->items[out->count++] = c;
    }
}

void pipeline_tilings_free(struct pipeline_tilings *tilings)
{
    free(tilings->items);
    *tilings = (struct pipeline_tilings){0};
}

// In the model, depths above 2 change nothing, so 1 and 2 stand for all.
static void try_depths(struct pipeline_choice *best, struct pipeline_choice c,
                       const struct pipeline_machine *m, const int64_t mnk[3],
                       enum pipeline_goal goal)
{
    const int32_t deepest = c.depth;
    for (c.depth = 1; c.depth <= 2 && c.depth <= deepest; c.depth++) {
        pipeline_evaluate(&c, m, mnk);
        int64_t value = goal == PIPELINE_LEAST_TIME ? c.time : c.wait;
        int64_t least = goal == PIPELINE_LEAST_TIME ? best->time : best->wait;
        if (best->depth == 0 || value < least)
            *best = c;
    }
}

int pipeline_optimise(struct pipeline_choice *out, const struct pipeline_machine *m,
                      const int64_t mnk[3], enum pipeline_goal goal, struct error *err)
{
    if (pipeline_machine_check(m, mnk, err))
        return -1;
    struct pipeline_tilings tilings;
    struct pipeline_choice best = {0};
    pipeline_tilings(&tilings, m, mnk);
    for (size_t i = 0; i < tilings.count; i++)
        try_depths(&best, tilings.items[i], m, mnk, goal);
    pipeline_tilings_free(&tilings);
    if (best.depth == 0)
        return error_set(err, "not even a 32 x 32 x 32 tile fits in %lld blocks of shared memory",
                         (long long)m->smem_blocks);
    *out = best;
    return 0;
}

int pipeline_estimate(struct pipeline_rate *out, const struct pipeline_point *points, size_t count,
                      struct error *err)
{
    double bytes = 0, time = 0, covariance = 0, variance = 0;
    for (size_t i = 0; i < count; i++) {
        bytes += points[i].bytes / (double)count;
        time += points[i].time / (double)count;
    }
    for (size_t i = 0; i < count; i++) {
        covariance += (points[i].bytes - bytes) * (points[i].time - time);
        variance += (points[i].bytes - bytes) * (points[i].bytes - bytes);
    }
    double throughput = variance / covariance;
    if (count < 2 || !isfinite(throughput) || throughput <= 0)
        return error_set(err, "these times give no throughput; measure two sizes and more, the "
                              "larger taking longer");
    *out = (struct pipeline_rate){.startup = time - bytes / throughput, .throughput = throughput};
    return 0;
}
