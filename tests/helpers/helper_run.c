// SPDX-License-Identifier: Apache-2.0
//
// Makes runs with every verdict and cause, for tests of reports.
#include "tests/helpers/helper_run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *const helper_hostile[] = {
    "\x1b[31mred\x1b[0m \x1b]0;title\x07 plain \x01\x02\x7f",
    "]]> <script>alert(1)</script> </script> <!-- --> &amp; &#0; \"quoted\" 'single'",
    "overlong \xc0\xaf, cut \xe2\x82, surrogate \xed\xa0\x80, high \xf5\x80\x80\x80, lone \x80",
    "pipe | back`tick` ``` @someone #1 [link](javascript:alert(1)) ![i](http://x.invalid/i.png)\n"
    "::error file=x::injected\r\n# heading\n| a | b |\n|---|---|",
    "right-to-left \xe2\x80\xae override, separator \xe2\x80\xa8, bom \xef\xbb\xbf, max "
    "\xef\xbf\xbf",
    "=cmd|'/C calc'!A0, \"comma\", %0A::warning::x %25 %",
};
const size_t helper_hostile_count = ARRAY_COUNT(helper_hostile);

double helper_uniform(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (double)((*state * 2685821657736338717ull) >> 11) / 9007199254740992.0;
}

double helper_normal(uint64_t *state)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += helper_uniform(state);
    return sum;
}

struct plan {
    const char *kernel, *problem;
    enum verdict_kind kind;
    enum cause cause;
    enum measurement_state state;
    double time_us, predicted, log_ratio; // predicted: actual / predicted
    bool control;
    const char *sentence, *detail;
};

static const struct plan plans[] = {
    {"tma_persistent", "4096x4096x4096:bf16", VERDICT_SLOWER, CAUSE_KERNEL, MEASURED_OK, 191.3,
     1.08, 0.0423, false,
     "4.3 % slower on every large shape: the main loop now waits for memory (stages 4 -> 3)", NULL},
    {"tma_persistent", "8192x8192x8192:bf16", VERDICT_SLOWER, CAUSE_KERNEL, MEASURED_OK, 1611, 1.06,
     0.0311, false, "3.2 % slower: the main loop now waits for memory (stages 4 -> 3)", NULL},
    {"tma_persistent", "4096x7168x2048:bf16", VERDICT_SLOWER, CAUSE_KERNEL, MEASURED_OK, 179.5,
     1.12, 0.0187, false, "1.9 % slower: the main loop now waits for memory (stages 4 -> 3)", NULL},
    {"tma_persistent", "64x16384x4096:bf16", VERDICT_SAME, CAUSE_NONE, MEASURED_OK, 36.1, 1.31,
     0.0004, false, NULL, NULL},
    {"tma_persistent", "1024x1024x1024:bf16", VERDICT_UNDECIDED, CAUSE_NONE, MEASURED_OK, 9.02,
     1.44, 0.0042, false, "undecided after 512 pairs: the interval still spans the margin", NULL},
    {"tiled", "4096x4096x4096:fp32", VERDICT_FASTER, CAUSE_KERNEL, MEASURED_OK, 3302, 1.21, -0.0268,
     false, "2.6 % faster: 8 registers fewer, one more block per SM", NULL},
    {"tiled", "2048x2048x2048:fp32", VERDICT_FASTER, CAUSE_KERNEL, MEASURED_OK, 431, 1.23, -0.0191,
     false, "1.9 % faster: 8 registers fewer, one more block per SM", NULL},
    {"tiled", "1024x1024x1024:fp32", VERDICT_SAME, CAUSE_NONE, MEASURED_OK, 61.2, 1.35, -0.0011,
     false, NULL, NULL},
    {"naive", "1024x1024x1024:fp32", VERDICT_SAME, CAUSE_NONE, MEASURED_OK, 402, 6.9, 0.0002, false,
     "same machine code, not measured again", NULL},
    {"naive", "2048x2048x2048:fp32", VERDICT_SAME, CAUSE_NONE, MEASURED_OK, 3180, 7.2, -0.0003,
     false, "same machine code, not measured again", NULL},
    {"wgmma_pingpong", "4096x4096x4096:bf16", VERDICT_BROKEN, CAUSE_KERNEL, MEASURED_WRONG, 0, 0, 0,
     false, "wrong result: error 3.1e+00 where 1.6e-02 is allowed",
     "largest error at row 128, column 0: got 0, expected 3.125"},
    {"wgmma_pingpong", "8192x8192x8192:bf16", VERDICT_BROKEN, CAUSE_KERNEL, MEASURED_TIMEOUT, 0, 0,
     0, false, "timed out after 10 s", "the bench child was ended; last line: launch 3"},
    {"stream_k", "4096x576x7168:bf16", VERDICT_NEW, CAUSE_NONE, MEASURED_OK, 71.2, 1.17, 0, false,
     "new kernel: 17 % over its prediction, inside the model's band of 25 %", NULL},
    {"cublaslt", "4096x4096x4096:bf16", VERDICT_SAME, CAUSE_NONE, MEASURED_OK, 182.4, 1.03, 0.0003,
     true, NULL, "algorithm 66, tile 128x256, cluster 2x1"},
    {"cublaslt", "8192x8192x8192:bf16", VERDICT_SAME, CAUSE_NONE, MEASURED_OK, 1546, 1.02, -0.0005,
     true, NULL, "algorithm 66, tile 128x256, cluster 2x1"},
    {"host_simd", "512x512x512:fp32", VERDICT_SLOWER, CAUSE_ENVIRONMENT, MEASURED_OK, 2210, 1.41,
     0.052, false, "5.3 % slower, but so are the controls: the machine changed, not the kernel",
     NULL},
    {"host_blocked", "512x512x512:fp32", VERDICT_SAME, CAUSE_NONE, MEASURED_OK, 9805, 2.1, 0.0012,
     false, NULL, NULL},
    {"host_blas", "512x512x512:fp32", VERDICT_FASTER, CAUSE_PLACEMENT, MEASURED_OK, 1320, 1.08,
     -0.018, true, "1.8 % faster, but the sign depends on where the process puts its pages", NULL},
};

static void make_samples(struct arena *arena, struct measurement *m, double time_ns, uint8_t role,
                         double clock_hz, uint64_t *state)
{
    enum { PAIRS = 96 };
    m->state = MEASURED_OK;
    m->samples = arena_alloc(arena, PAIRS * sizeof(*m->samples));
    m->count = PAIRS;
    m->regime = "cold, read flush, back to back";
    m->max_error = 0.11;
    m->tolerance = 1;
    m->seed = 42;
    for (uint32_t i = 0; i < PAIRS; i++) {
        struct sample *s = &m->samples[i];
        double stall = helper_uniform(state) < 0.01 ? 0.06 : 0;
        double drift = 0.001 * sin(i / 9.0);
        s->time_ns = time_ns * exp(0.004 * helper_normal(state) + stall + drift);
        s->clock_hz = clock_hz * (1 + 0.003 * helper_normal(state));
        s->launches = 1;
        s->pair = i;
        s->block = (uint16_t)(i / 16);
        s->process = (uint16_t)(i / 32);
        s->role = role;
        s->order = (uint8_t)((i + role) & 1);
        s->throttle = time_ns > 1e6 ? THROTTLE_POWER : THROTTLE_NONE;
        s->temperature_c = (int16_t)(52 + i / 24);
        s->power_mw = 540000 + (int32_t)(helper_uniform(state) * 60000);
    }
}

static void make_prediction(struct prediction *p, const struct plan *plan)
{
    static const struct {
        const char *name;
        double share;
    } parts[] = {{"launch", 0.03},
                 {"fill", 0.05},
                 {"mainloop", 0.74},
                 {"wave tail", 0.11},
                 {"epilogue", 0.07}};
    p->model = "hopper";
    p->version = "3";
    if (!(plan->predicted > 0)) {
        p->why = "no time to predict against";
        return;
    }
    p->feasible = true;
    p->time_ns = plan->time_us * 1e3 / plan->predicted;
    p->clock_hz = 1.58e9;
    p->clock_exponent = -0.8;
    p->band = 0.08;
    p->band_95 = 0.18;
    p->bias_rows = 31;
    p->bound = plan->time_us < 50    ? BOUND_LATENCY
               : plan->time_us < 400 ? BOUND_MEMORY
                                     : BOUND_COMPUTE;
    for (size_t i = 0; i < ARRAY_COUNT(parts); i++)
        p->parts[p->part_count++] =
            (struct prediction_part){parts[i].name, p->time_ns * parts[i].share};
}

static void make_history(struct arena *arena, struct history *h, double head_ns,
                         double predicted_ns, double log_ratio, uint64_t *state)
{
    enum { POINTS = 60, STEP = 41 };
    h->points = arena_alloc(arena, POINTS * sizeof(*h->points));
    h->count = POINTS;
    for (size_t i = 0; i < POINTS; i++) {
        struct history_point *p = &h->points[i];
        double level = log_ratio + (i < STEP ? 0.02 : 0);
        snprintf(p->commit, sizeof(p->commit), "%08zx%032d", i * 2654435761u & 0xffffffffu, 7);
        p->time_s = 1790000000 + (int64_t)i * 43200;
        p->time_ns = head_ns * exp(-level + 0.002 * helper_normal(state));
        p->clock_hz = 1.58e9 * (1 + 0.002 * helper_normal(state));
        p->predicted_ns = predicted_ns;
        p->same_code = i % 5 != 1;
    }
}

static void make_verdict(struct result *r, const struct plan *plan)
{
    struct verdict *v = &r->verdict;
    v->kind = plan->kind;
    v->cause = plan->cause;
    v->confidence = 0.95;
    v->margin = plan->time_us < 50 ? 0.005 : 0.003;
    v->sentence = plan->sentence;
    v->model = "evalue";
    v->version = "0.1.0";
    v->log_ratio = interval_none;
    if (plan->kind == VERDICT_BROKEN || plan->kind == VERDICT_NEW)
        return;
    double half = plan->kind == VERDICT_UNDECIDED ? 0.0061 : 0.0009 + 0.05 * fabs(plan->log_ratio);
    v->log_ratio = interval_about(plan->log_ratio, half);
    v->log_evidence = plan->kind == VERDICT_SAME ? 0.3 : 120 * fabs(plan->log_ratio) / half * 0.1;
    v->pairs = plan->kind == VERDICT_UNDECIDED ? 512 : 96;
    v->processes = 3;
    v->gpu_s = 0.4;
    v->detectable = plan->kind == VERDICT_UNDECIDED ? 0.0072 : 0.0041;
}

static void make_result(struct run *run, struct result *r, const struct plan *plan, uint64_t *state)
{
    struct arena *arena = &run->arena;
    struct error err;
    text_copy(r->kernel, sizeof(r->kernel), plan->kernel);
    if (problem_parse(&r->problem, plan->problem, &err))
        r->problem = (struct problem){.m = 1, .n = 1, .k = 1, .batch = 1};
    r->device = strncmp(plan->kernel, "host", 4) == 0;
    r->control = plan->control;
    r->traits = (struct traits){.in = r->problem.in, .out = r->problem.out, .acc = DTYPE_FP32};
    r->traits.tile_m = 128;
    r->traits.tile_n = 256;
    r->traits.tile_k = 64;
    r->traits.stages = 3;
    r->traits.threads = 384;
    r->traits.registers = 168;
    bool same_code = plan->kind == VERDICT_SAME || plan->cause == CAUSE_ENVIRONMENT;
    snprintf(r->base_code, sizeof(r->base_code), "%016llx", (unsigned long long)*state);
    snprintf(r->head_code, sizeof(r->head_code), "%016llx",
             (unsigned long long)(*state + !same_code));
    double head_ns = plan->time_us * 1e3, clock_hz = plan->time_us > 1000 ? 1.38e9 : 1.58e9;
    if (plan->kind != VERDICT_NEW)
        make_samples(arena, &r->base, (head_ns > 0 ? head_ns : 2e5) * exp(-plan->log_ratio),
                     ROLE_BASE, clock_hz, state);
    else
        r->base_code[0] = '\0';
    if (plan->state == MEASURED_OK)
        make_samples(arena, &r->head, head_ns, ROLE_HEAD, clock_hz, state);
    r->head.state = plan->state;
    r->head.detail = plan->detail;
    make_prediction(&r->prediction, plan);
    if (plan->kind != VERDICT_NEW && head_ns > 0)
        make_history(arena, &r->history, head_ns, r->prediction.time_ns, plan->log_ratio, state);
    make_verdict(r, plan);
}

static void make_commit(struct commit *c, const char *digit, const char *summary, int64_t time_s)
{
    memset(c, 0, sizeof(*c));
    for (size_t i = 0; i < 40; i++) {
        c->id[i] = digit[i % strlen(digit)];
        c->tree[i] = digit[(i + 3) % strlen(digit)];
    }
    c->summary = summary;
    c->author = "A. Developer";
    c->time_s = time_s;
}

struct run helper_run_empty(void)
{
    struct run run = {.kind = RUN_GATE, .started_s = 1795000000, .finished_s = 1795000412};
    run.tool_version = "0.1.0";
    run.repository = "gemm-kernels";
    run.policy =
        "[kernel \"tma_persistent\"]\n\tmargin = 0.3 %\n[problem]\n\tshape = 4096x4096x4096:bf16\n";
    make_commit(&run.base, "3f1c09ab77e2", "kernels: stage count from shared memory", 1794990000);
    make_commit(&run.head, "b07d4e5a91cc", "kernels: one stage fewer, larger epilogue", 1794999000);
    text_copy(run.head.parent, sizeof(run.head.parent), run.base.id);
    run.headline = "no regression: nothing was measured";
    return run;
}

static void make_devices(struct run *run)
{
    static const struct device devices[] = {
        {"cuda", "GPU-6f1d2c9a-0b53-4a0e-9d8e-2f9c1b7d5e44", "NVIDIA H200", "580.159.04",
         "CUDA 13.0", "h200-sxm"},
        {"host", "cpu-9a41d0", "AMD EPYC 9454 48-Core Processor", "6.1.0-28-amd64", "glibc 2.36",
         "host"},
    };
    run->device_count = ARRAY_COUNT(devices);
    run->devices = arena_alloc(&run->arena, sizeof(devices));
    memcpy(run->devices, devices, sizeof(devices));
}

struct run helper_run(void)
{
    struct run run = helper_run_empty();
    uint64_t state = 88172645463325252ull;
    make_devices(&run);
    run.id = 118;
    run.count = ARRAY_COUNT(plans);
    run.results = arena_alloc(&run.arena, run.count * sizeof(*run.results));
    for (size_t i = 0; i < run.count; i++)
        make_result(&run, &run.results[i], &plans[i], &state);
    run.self_test = (struct self_test){.series = 4, .alarms = 0, .worst_log_evidence = 0.9};
    run.conclusion = CONCLUDE_BROKEN;
    run.headline =
        "broken: wgmma_pingpong gives wrong results; tma_persistent is up to 4.3 % slower";
    return run;
}

struct run helper_run_large(size_t count)
{
    struct run run = helper_run_empty();
    uint64_t state = 7046029254386353131ull;
    make_devices(&run);
    run.count = count;
    run.results = arena_alloc(&run.arena, (count ? count : 1) * sizeof(*run.results));
    for (size_t i = 0; i < count; i++) {
        struct plan plan = plans[i % ARRAY_COUNT(plans)];
        char *problem = arena_printf(&run.arena, "%zux%zux4096:bf16", 64 + i, 128 + i % 37 * 64);
        plan.problem = problem;
        make_result(&run, &run.results[i], &plan, &state);
    }
    run.conclusion = CONCLUDE_BROKEN;
    run.headline = "broken: many";
    return run;
}

struct run helper_run_hostile(void)
{
    struct run run = helper_run();
    char *huge = arena_alloc(&run.arena, 3 << 20);
    memset(huge, 'x', (3 << 20) - 1);
    run.headline = helper_hostile[1];
    run.policy = helper_hostile[3];
    run.repository = helper_hostile[0];
    run.base.summary = helper_hostile[2];
    run.head.summary = helper_hostile[3];
    run.head.author = helper_hostile[1];
    for (size_t i = 0; i < run.count; i++) {
        const char *text = helper_hostile[i % helper_hostile_count];
        struct result *r = &run.results[i];
        text_copy(r->kernel, sizeof(r->kernel), text);
        r->verdict.sentence = helper_hostile[(i + 1) % helper_hostile_count];
        r->head.detail = i % 7 == 0 ? huge : text;
        r->prediction.why = text;
        r->head.regime = text;
    }
    for (size_t i = 0; i < run.device_count; i++) {
        run.devices[i].name = helper_hostile[i];
        run.devices[i].uuid = helper_hostile[i + 2];
    }
    run.metrics = arena_alloc(&run.arena, helper_hostile_count * sizeof(*run.metrics));
    run.metric_count = helper_hostile_count;
    for (size_t i = 0; i < helper_hostile_count; i++) {
        const char *text = helper_hostile[i];
        run.metrics[i] =
            (struct metric_result){text, text, text,  text,  text,           1,   i % 2 ? 2 : NAN,
                                   0,    0,    false, false, VERDICT_SLOWER, text};
    }
    struct build_error *errors = arena_alloc(&run.arena, helper_hostile_count * sizeof(*errors));
    for (size_t i = 0; i < helper_hostile_count; i++)
        errors[i] = (struct build_error){helper_hostile[i], (uint32_t)i, helper_hostile[i]};
    run.unbuilt[ROLE_BASE] =
        (struct build_failure){helper_hostile[1], helper_hostile[2], errors, helper_hostile_count};
    run.results[3].verdict.log_ratio = interval_unknown;
    run.results[7].prediction.time_ns = NAN;
    run.results[8].head.samples[0].time_ns = NAN;
    return run;
}

struct run helper_run_unbuilt(void)
{
    static struct build_error errors[] = {
        {"kernels/gemm,1.cu", 34, "error: identifier \"m_of\" is undefined"},
        {"/usr/include/x.h", 7, "error: not the repository's"},
        {"../out.c", 8, "error: beside it"},
        {"", 0, "cannot find -lcublas"},
    };
    struct run run = helper_run_empty();
    text_copy(run.base.id, sizeof(run.base.id), "3f1c09ab77e23f1c09ab77e23f1c09ab77e23f1c");
    text_copy(run.head.id, sizeof(run.head.id), "b07d4e5a91ccb07d4e5a91ccb07d4e5a91ccb07d");
    run.unbuilt[ROLE_BASE] = (struct build_failure){"timed out after 600 s", "", NULL, 0};
    run.unbuilt[ROLE_HEAD] =
        (struct build_failure){"exit status 2", "/cache/0123/log", errors, ARRAY_COUNT(errors)};
    run.conclusion = CONCLUDE_BROKEN;
    run.headline = "BROKEN: commit b07d4e5a91cc does not build: kernels/gemm,1.cu:34: error";
    return run;
}

// Their texts are the run's, so those of a hostile run are hostile.
static struct report_events events_of(struct run *run)
{
    struct report_event *items = arena_alloc(&run->arena, 3 * sizeof(*items));
    const char *text = run->count ? run->results[0].kernel : "";
    items[0] = (struct report_event){.name = "aaaa000000",
                                     .state = EVENT_CONFIRMED,
                                     .cause = ATTRIBUTION_KERNEL,
                                     .sentence = text,
                                     .log_ratio = 0.02,
                                     .commit = run->head,
                                     .commits = 1,
                                     .slowdown = true};
    items[1] = items[2] = items[0];
    items[1].state = EVENT_NEW;
    items[1].slowdown = items[2].slowdown = false;
    items[1].cause = ATTRIBUTION_ENVIRONMENT;
    items[1].name = items[1].what = run->head.summary;
    items[1].commits = 5;
    items[1].taken = (struct event_taken){text, run->head.summary, run->head.time_s};
    items[2].log_ratio = -0.02;
    return (struct report_events){true, items, run->count ? 3 : 0};
}

struct report_context helper_context(struct run *run)
{
    struct report_series *series =
        arena_alloc(&run->arena, (run->count ? run->count : 1) * sizeof(*series));
    for (size_t i = 0; i < run->count; i++) {
        struct report_change *change = arena_alloc(&run->arena, sizeof(*change));
        *change = (struct report_change){.index = 41, .log_ratio = 0.02, .log_evidence = 38};
        series[i] = (struct report_series){0.011, change, run->results[i].history.count > 41};
    }
    return (struct report_context){
        .series = series, .commit_url = "https://example.org/commit/", .events = events_of(run)};
}

struct buffer helper_report(const char *name, struct run run)
{
    struct buffer out = {0};
    struct report_context context = helper_context(&run);
    report_find(name)->write(&out, &run, &context);
    buffer_puts(&out, "");
    run_free(&run);
    return out;
}
