// SPDX-License-Identifier: Apache-2.0
//
// Makes the data of a site in memory, without a store.
#include "tests/helpers/helper_site.h"

#include "tests/helpers/helper_run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// What happens to a series: nothing, a step up, a step down, an accepted step, slow creep.
enum fate { FATE_NOTHING, FATE_SLOWER, FATE_FASTER, FATE_ACCEPTED, FATE_CREEP, FATE_BROKEN, FATES };

static enum fate fate_of(size_t series)
{
    static const enum fate fates[] = {FATE_SLOWER,  FATE_NOTHING, FATE_NOTHING, FATE_ACCEPTED,
                                      FATE_NOTHING, FATE_FASTER,  FATE_NOTHING, FATE_NOTHING,
                                      FATE_CREEP,   FATE_NOTHING, FATE_NOTHING};
    if (series == 12)
        return FATE_BROKEN;
    return series < 16        ? fates[series % ARRAY_COUNT(fates)]
           : series % 17 == 3 ? FATE_SLOWER
                              : FATE_NOTHING;
}

static double step_of(enum fate fate)
{
    return fate == FATE_SLOWER     ? 0.034
           : fate == FATE_FASTER   ? -0.021
           : fate == FATE_ACCEPTED ? 0.018
           : fate == FATE_CREEP    ? 0.012
                                   : 0;
}

static double level_ns(size_t series)
{
    return 9000.0 * (1 + (double)(series * 37 % 101));
}

void helper_site_commit_id(char out[OBJECT_ID_TEXT], size_t index)
{
    unsigned mixed = (unsigned)(index + 1) * 2654435761u;
    snprintf(out, OBJECT_ID_TEXT, "%08x%08x%024x", mixed, mixed * 40503u, (unsigned)index);
}

static void make_points(struct helper_site *h, struct site_detail *out, size_t index,
                        struct arena *arena)
{
    uint64_t state = 88172645463325252ull + index * 7919;
    size_t step_at = h->commits * 7 / 10;
    enum fate fate = fate_of(index);
    double *lower = arena_alloc(arena, h->commits * sizeof(*lower));
    double *upper = arena_alloc(arena, h->commits * sizeof(*upper));
    out->history.points = arena_alloc(arena, h->commits * sizeof(*out->history.points));
    out->history.count = out->total = h->commits;
    for (size_t i = 0; i < h->commits; i++) {
        struct history_point *p = &out->history.points[i];
        double moved = fate == FATE_CREEP ? (double)i / (double)h->commits : i >= step_at;
        double spike = helper_uniform(&state) < 0.004 ? 0.06 : 0;
        p->time_ns =
            level_ns(index) * exp(step_of(fate) * moved + 0.0025 * helper_normal(&state) + spike);
        p->time_s = 1760000000 + (int64_t)i * 3600;
        p->clock_hz = 1.58e9;
        p->predicted_ns = level_ns(index) / (1.02 + 0.01 * (double)(index % 40));
        p->same_code = i % 7 != 0;
        helper_site_commit_id(p->commit, i);
        lower[i] = p->time_ns * 0.996;
        upper[i] = p->time_ns * 1.004;
    }
    out->lower_ns = lower;
    out->upper_ns = upper;
}

static void make_model(struct site_detail *out, double time_ns, struct arena *arena)
{
    static const struct chart_span spans[] = {
        {"producer", "tma 0", 0, 900},       {"producer", "tma 1", 900, 1800},
        {"producer", "tma 2", 1800, 2700},   {"consumer 0", "mma 0", 900, 2000},
        {"consumer 0", "mma 1", 2000, 3100}, {"consumer 0", "store", 3100, 3700},
        {"consumer 1", "mma 0", 1500, 2600}, {"consumer 1", "mma 1", 2600, 3700},
    };
    struct prediction *p = &out->prediction;
    (void)arena;
    *p = (struct prediction){.model = "hopper", .version = "3", .feasible = true};
    p->time_ns = time_ns;
    p->bound = BOUND_COMPUTE;
    p->parts[p->part_count++] = (struct prediction_part){"launch", time_ns * 0.04};
    p->parts[p->part_count++] = (struct prediction_part){"fill", time_ns * 0.06};
    p->parts[p->part_count++] = (struct prediction_part){"mainloop", time_ns * 0.8};
    p->parts[p->part_count++] = (struct prediction_part){"epilogue", time_ns * 0.1};
    out->spans = spans;
    out->span_count = ARRAY_COUNT(spans);
}

// Every other series has been measured side by side: a new code every twentieth commit, another
// mark after the first five.
static void make_levels(const struct helper_site *h, struct site_detail *out, size_t index,
                        struct arena *arena)
{
    const size_t count = h->commits < 60 ? 3 : 20, step_at = h->commits * 7 / 10;
    struct site_level *levels = arena_alloc(arena, count * sizeof(*levels));
    uint64_t state = index + 17;
    if (index % 2)
        return;
    for (size_t i = 0; i < count; i++) {
        const size_t at = i * h->commits / count;
        const double width = 0.0004 * sqrt((double)i);
        struct site_level *l = &levels[i];
        *l = (struct site_level){.time_s = out->history.points[at].time_s};
        const double level = (at >= step_at ? step_of(fate_of(index)) : 0) +
                             (i ? 0.0004 * helper_normal(&state) : 0);
        l->level = (struct interval){level, level - width, level + width};
        memcpy(l->commit, out->history.points[at].commit, sizeof(l->commit));
    }
    out->linked = (struct site_levels){.levels = levels,
                                       .count = count,
                                       .links = 3 * count,
                                       .loops = 2 * count,
                                       .misclosure = 1e-3};
}

// Every tenth series got another driver, every thirteenth another device.
static void make_break(const struct helper_site *h, struct site_detail *out, size_t index,
                       struct arena *arena)
{
    if (index % 10 && index % 13)
        return;
    bool device = index % 10 != 0;
    struct site_break *b = arena_alloc(arena, sizeof(*b));
    *b = (struct site_break){.index = device ? 0 : h->commits * 7 / 20,
                             .what = h->hostile ? helper_hostile[1]
                                     : device   ? "device NVIDIA H200 GPU-0 -> GPU-6f1d2c9a"
                                                : "driver 570.86 -> 580.159.04",
                             .log_ratio =
                                 device ? (struct interval){0.012, 0.009, 0.015} : interval_none};
    b->time_s = out->history.points[b->index].time_s;
    helper_site_commit_id(b->commit, b->index);
    out->breaks = b;
    out->break_count = 1;
}

static int load(struct site_detail *out, size_t index, void *context, struct arena *arena,
                struct error *err)
{
    struct helper_site *h = context;
    enum fate fate = fate_of(index);
    if (++h->loads == h->fail_at)
        return error_set(err, "store: series %zu cannot be read", index);
    make_points(h, out, index, arena);
    if (h->commits > 600) {
        out->settled = h->commits - 100;
        out->settled_revision = index + 1;
    }
    make_levels(h, out, index, arena);
    make_model(out, out->history.points[0].predicted_ns, arena);
    make_break(h, out, index, arena);
    if (fate == FATE_NOTHING || fate == FATE_BROKEN)
        return 0;
    size_t at = h->commits * 7 / 10;
    struct site_change *change = arena_alloc(arena, sizeof(*change));
    *change = (struct site_change){.index = at,
                                   .commits = at > 2 ? 3 : at + 1,
                                   .time_s = out->history.points[at].time_s,
                                   .log_ratio = interval_about(step_of(fate), 0.002),
                                   .log_evidence = 61,
                                   .cause = CAUSE_KERNEL,
                                   .sentence = h->hostile ? helper_hostile[1] : NULL};
    helper_site_commit_id(change->commit, at);
    helper_site_commit_id(change->first_commit, at > 2 ? at - 2 : 0);
    helper_site_commit_id(change->last_commit, at);
    out->changes = change;
    out->change_count = 1;
    if (fate == FATE_ACCEPTED) {
        struct site_epoch *epoch = arena_alloc(arena, sizeof(*epoch));
        *epoch = (struct site_epoch){at,
                                     "",
                                     step_of(fate),
                                     "wider tiles trade this shape for large ones",
                                     "A. Author <author@example.org>",
                                     1768000000};
        helper_site_commit_id(epoch->commit, at);
        out->epochs = epoch;
        out->epoch_count = 1;
    }
    return 0;
}

static const char *kernel_name(struct helper_site *h, size_t series)
{
    static const char *const names[] = {"tma_persistent", "tiled",   "wgmma_pingpong", "stream_k",
                                        "cublaslt",       "split_k", "host_simd"};
    size_t kernel = series / 3 % 20;
    if (h->hostile)
        return helper_hostile[kernel % helper_hostile_count];
    return kernel < ARRAY_COUNT(names) ? names[kernel]
                                       : arena_printf(&h->arena, "kernel_%02zu", kernel);
}

static void make_series(struct helper_site *h, struct site_series *s, size_t index)
{
    enum fate fate = fate_of(index);
    uint64_t state = index + 1;
    double change = fate == FATE_ACCEPTED ? 0.0006 : step_of(fate) + 0.0007 * helper_normal(&state);
    struct error err;
    char *problem = arena_printf(&h->arena, "%zux%zux%d:bf16", 64 + index % 60 * 64,
                                 128 + index / 60 * 128, 4096);
    (void)problem_parse(&s->problem, problem, &err);
    s->kernel = kernel_name(h, index);
    s->device = index % 2;
    s->revision = h->commits * 1000003 + index;
    s->points = h->commits;
    s->newest_s = 1760000000 + (int64_t)h->commits * 3600;
    s->time_ns = level_ns(index) * exp(step_of(fate));
    s->clock_hz = 1.58e9;
    s->predicted_ns = level_ns(index) / (1.02 + 0.01 * (double)(index % 40));
    s->bound = index % 3 ? BOUND_COMPUTE : BOUND_MEMORY;
    s->kind = fate == FATE_BROKEN                         ? VERDICT_BROKEN
              : fate == FATE_SLOWER || fate == FATE_CREEP ? VERDICT_SLOWER
              : fate == FATE_FASTER                       ? VERDICT_FASTER
                                                          : VERDICT_SAME;
    s->cause = s->kind == VERDICT_SAME ? CAUSE_NONE : CAUSE_KERNEL;
    s->log_ratio = interval_about(s->kind == VERDICT_BROKEN ? NAN : change, 0.0015);
    if (s->kind != VERDICT_SAME) {
        char *since = arena_alloc(&h->arena, OBJECT_ID_TEXT);
        helper_site_commit_id(since, h->commits * 7 / 10);
        s->since = since;
        s->since_s = 1760000000 + (int64_t)(h->commits * 7 / 10) * 3600;
        s->step = fate == FATE_SLOWER || fate == FATE_FASTER ? step_of(fate) / 2 : NAN;
        s->sentence = h->hostile ? helper_hostile[index % helper_hostile_count]
                      : fate == FATE_CREEP
                          ? "slow creep: 1.2 % in small steps, none large by itself"
                      : fate == FATE_BROKEN ? "wrong result since this commit"
                                            : "one step, with its machine code";
    }
    s->spark_count = SITE_SPARK;
    for (size_t i = 0; i < SITE_SPARK; i++)
        s->spark[i] = (float)(level_ns(index) *
                              exp((i >= 22 ? step_of(fate) : 0) + 0.0025 * helper_normal(&state)));
}

static int load_points(struct site_point *points, size_t count, size_t index, void *context,
                       struct error *err)
{
    struct helper_site *h = context;
    struct site_detail detail = {0};
    struct arena arena = {0};
    (void)err;
    make_points(h, &detail, index, &arena);
    for (size_t i = 0; i < count; i++)
        points[i] = (struct site_point){(int64_t)i + 1, detail.history.points[i].time_ns};
    arena_free(&arena);
    return 0;
}

// Every fourth series has one code for ever, the others a new one with each run.
static int64_t code_of(size_t series, int64_t run)
{
    return (int64_t)series + 1 + (series % 4 == 3 ? 0 : 1000 * run);
}

// Of every fourth the codes of neighbouring runs met side by side.
static void make_pairs(struct helper_site *h)
{
    const size_t runs = h->site.run_count, most = h->site.series_count * runs;
    struct site_pair *pairs = arena_alloc(&h->arena, (most + 1) * sizeof(*pairs));
    size_t count = 0;
    for (size_t s = 1; s < h->site.series_count; s += 4) {
        for (size_t r = runs; r-- > 1;)
            pairs[count++] = (struct site_pair){.series = s,
                                                .key = (int64_t)r,
                                                .base = code_of(s, (int64_t)r),
                                                .head = code_of(s, (int64_t)r + 1),
                                                .kind = VERDICT_SLOWER,
                                                .log_ratio = 0.01,
                                                .error = 0.001,
                                                .pairs = 64};
    }
    h->site.pairs = pairs;
    h->site.pair_count = count;
}

static int load_times(double *times_ns, int64_t *codes, size_t run, void *context,
                      struct error *err)
{
    struct helper_site *h = context;
    uint64_t state = (uint64_t)h->site.runs[run].id + 5;
    (void)err;
    for (size_t s = 0; s < h->site.series_count; s++)
        times_ns[s] = s % 11 == 7 ? NAN : level_ns(s) * exp(0.004 * helper_normal(&state));
    for (size_t s = 0; codes && s < h->site.series_count; s++)
        codes[s] = code_of(s, h->site.runs[run].id);
    return 0;
}

// A gate with every verdict.
static int load_run(struct run *out, size_t run, void *context, struct error *err)
{
    const struct helper_site *h = context;
    (void)run;
    (void)err;
    *out = h->hostile ? helper_run_hostile() : helper_run();
    return 0;
}

static void make_runs(struct helper_site *h)
{
    const size_t count = h->runs ? h->runs : 30;
    struct site_run *runs = arena_alloc(&h->arena, count * sizeof(*runs));
    for (size_t i = 0; i < count; i++) {
        runs[i] = (struct site_run){.id = (int64_t)(count - i),
                                    .kind = i % 4 ? RUN_MEASURE : RUN_GATE,
                                    .started_s = 1795000000 - (int64_t)i * 86400,
                                    .finished_s = i == 5 ? 0 : 1795000400 - (int64_t)i * 86400,
                                    .summary = h->hostile ? helper_hostile[i % helper_hostile_count]
                                                          : "kernels: one stage fewer",
                                    .conclusion = i % 4 ? CONCLUDE_OK : CONCLUDE_REGRESSION,
                                    .headline = h->hostile ? helper_hostile[1] : "OK: 40 same",
                                    .revision = i == 5 ? 0 : 77 + count - i};
        const bool each = h->runs && h->runs == h->commits; // commit: run k is about the k-th
        const size_t commit = each ? count - 1 - i : count + 370 - i;
        runs[i].commit_s = 1760000000 + (int64_t)commit * 3600;
        runs[i].author = h->hostile ? helper_hostile[0] : "A. Author <author@example.org>";
        helper_site_commit_id(runs[i].head, commit);
        if (i % 4 == 0)
            helper_site_commit_id(runs[i].base, count + 369 - i);
    }
    h->site.runs = runs;
    h->site.run_count = count;
}

// One commit made several series slower and others faster; another one's change is accepted.
static void make_events(struct helper_site *h)
{
    static const struct event_entry accepted[] = {
        {EVENT_CONFIRMED, 1796000000, "plumb", "found"},
        {EVENT_ACCEPTED, 1796500000, "A. Author <author@example.org>", "wider tiles"}};
    static const size_t culprits[] = {0, 1};
    struct site_event *events = arena_alloc(&h->arena, 2 * sizeof(*events));
    for (size_t k = 0; k < 2; k++) {
        struct event *e = arena_alloc(&h->arena, sizeof(*e));
        struct event_change *changes =
            arena_alloc(&h->arena, h->site.series_count * sizeof(*changes));
        struct event_commit *commits = arena_alloc(&h->arena, 2 * sizeof(*commits));
        *e = (struct event){.device = SIZE_MAX,
                            .culprits = culprits,
                            .culprit_count = 1 + k,
                            .state = k ? EVENT_ACCEPTED : EVENT_CONFIRMED,
                            .commits = commits,
                            .changes = changes,
                            .entries = accepted,
                            .entry_count = k ? 2 : 1};
        snprintf(e->name, sizeof(e->name), k ? "amber-fox" : "brisk-owl");
        for (size_t i = 0; i < h->site.series_count; i++) {
            const enum fate fate = fate_of(i);
            const double size = step_of(fate);
            if (size != 0 && fate != FATE_CREEP && (fate == FATE_ACCEPTED) == (k == 1))
                changes[e->count++] =
                    (struct event_change){.series = i,
                                          .size = {size, size - 0.002, size + 0.002},
                                          .log_evidence = 61,
                                          .paired = true};
        }
        for (size_t i = 0; i < e->culprit_count; i++) {
            commits[i] = (struct event_commit){
                .time_s = 1760000000 + (int64_t)(h->commits * 7 / 10 - i) * 3600,
                .summary = h->hostile ? helper_hostile[0] : "kernels: one stage fewer",
                .author = ""};
            helper_site_commit_id(commits[i].id, h->commits * 7 / 10 - i);
        }
        events[k] = (struct site_event){.event = e,
                                        .sentence = h->hostile ? helper_hostile[1] : "one step"};
        snprintf(events[k].slug, sizeof(events[k].slug), "%012zx", k + 10);
        h->site.event_count += e->count > 0;
    }
    h->site.events = events;
}

void helper_site(struct helper_site *h, size_t series, size_t commits, bool hostile)
{
    helper_site_of(h, series, commits, 0, hostile);
}

// The models' accuracy: six lines of forty nights, one of which moved.
static void helper_site_accuracy(struct helper_site *h)
{
    enum { LINES = 6, NIGHTS = 40 };
    static const char *const models[] = {"sol", "hopper", "origami"};
    static const size_t change[] = {26};
    struct site_accuracy *list = arena_alloc(&h->arena, LINES * sizeof(*list));
    uint64_t state = 99;
    for (size_t i = 0; i < LINES; i++) {
        struct site_accuracy_point *points = arena_alloc(&h->arena, NIGHTS * sizeof(*points));
        double mape = i % 3 == 0 ? 0.41 : i % 3 == 1 ? 0.062 : 0.19;
        for (size_t n = 0; n < NIGHTS; n++) {
            double now = mape * (i == 1 && n >= 26 ? 1.6 : 1) * exp(0.03 * helper_normal(&state));
            points[n] = (struct site_accuracy_point){.time_s = 1790000000 + (int64_t)n * 86400,
                                                     .count = 120,
                                                     .mape = now,
                                                     .bias = now * 0.7,
                                                     .tau = 1 - now,
                                                     .within = fmax(0, 1 - now * 4)};
            helper_site_commit_id(points[n].commit, n);
        }
        list[i] = (struct site_accuracy){.model = models[i % 3],
                                         .version = "3",
                                         .kernel = i < 3 ? "" : "tma_persistent",
                                         .dtype = DTYPE_BF16,
                                         .points = points,
                                         .count = NIGHTS,
                                         .changes[SITE_MAPE] = {change, i == 1}};
    }
    h->site.accuracy = list;
    h->site.accuracy_count = LINES;
}

void helper_site_of(struct helper_site *h, size_t series, size_t commits, size_t runs, bool hostile)
{
    static const struct device devices[] = {
        {"cuda", "GPU-6f1d2c9a-0b53-4a0e-9d8e-2f9c1b7d5e44", "NVIDIA H200", "580.159.04",
         "CUDA 13.0", "h200-sxm"},
        {"cuda", "GPU-11aa33bb-77cc-4a0e-9d8e-2f9c1b7d5e45", "NVIDIA H100 80GB HBM3", "580.159.04",
         "CUDA 13.0", "h100-sxm"},
    };
    *h = (struct helper_site){.commits = commits, .runs = runs, .hostile = hostile};
    struct site_series *list = arena_alloc(&h->arena, (series + 1) * sizeof(*list));
    h->site = (struct site){.repository = hostile ? helper_hostile[1] : "gemm-kernels",
                            .tool_version = "0.1.0",
                            .made_s = 1795000412,
                            .commit_url = "https://example.org/commit/",
                            .site_url = "https://example.org/nightly/",
                            .devices = devices,
                            .device_count = ARRAY_COUNT(devices),
                            .series = list,
                            .series_count = series,
                            .load = load,
                            .load_points = load_points,
                            .load_times = load_times,
                            .load_run = load_run,
                            .context = h};
    for (size_t i = 0; i < series; i++)
        make_series(h, &list[i], i);
    if (series == 0)
        return;
    helper_site_accuracy(h);
    make_runs(h);
    make_pairs(h);
    make_events(h);
}

void helper_site_free(struct helper_site *h)
{
    arena_free(&h->arena);
}
