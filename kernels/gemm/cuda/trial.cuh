// SPDX-License-Identifier: Apache-2.0
//
// A trial: several ways to do one problem are timed in turn, on the operands in memory and in the
// problem's regime. For small problems the regime decides which of two ways is faster: several
// pairs that differ by 20 % and more change their order when operands are warm, or when launches
// follow each other. The regimes differ in what precedes a launch:
//     cold, isolated   L2 is full of clean lines that do not belong to the operands;
//                      isolated: the device has rested, too
//     dirty            L2 is full of lines that must be written back
//     activations      L2 is full of other lines, and then A and C are read
//     warm             the same launch
//     stream           launches without a pause, each on another copy of the operands; there are so
//                      many copies that twice L2's size passes between two launches on one copy. A
//                      few launches of a way are timed together as a graph, behind a sweep of L2
//
// Launches of a stream that are queued one by one are 1.4 us further apart than those of a graph,
// as which bench times them (../../device/stretch.cu). A short launch that begins under the one
// before would gain nothing in such a trial.
//
// A whole round is queued while the stream is held, because the host queues a small kernel more
// slowly than the device runs it. Otherwise the times would be the host's.
//
// A way that falls behind is not launched again, so that there are more rounds for the ways that
// are close to each other (rounds.h).
#ifndef PLUMB_GEMM_TRIAL_CUH
#define PLUMB_GEMM_TRIAL_CUH

#include <cuda_runtime.h>

#include <math.h>
#include <stdint.h>

#include <atomic>
#include <chrono>

#include "../../kernel.h"
#include "rounds.h"

constexpr int tried_most = 32;
constexpr double sweep_us = 50;
constexpr int sweep_blocks = 1056, sweep_threads = 256;
constexpr double together_us = 100; // launches of a stream are timed together for so long
constexpr int together_most = 24, copies_most = 128;
constexpr size_t copy_align = 256;
constexpr uint64_t rest_ns = 15000;

struct trial_terms {
    int count;          // number of ways, at most tried_most
    double expected_us; // time of the slowest way; 0: not known
    double limit_us;    // device time for the whole trial
    double margin; // the first way is kept unless another takes less than this share of its time
    int together_least; // so many launches of a stream are timed together at least
};

// Reads all bytes, so that L2 holds them.
static __global__ void __launch_bounds__(sweep_threads) read_all(const uint4 *from, size_t count)
{
    uint32_t all = 0;
    for (size_t i = (size_t)blockIdx.x * sweep_threads + threadIdx.x; i < count;
         i += (size_t)sweep_blocks * sweep_threads) {
        const uint4 v = from[i];
        all ^= v.x ^ v.y ^ v.z ^ v.w;
    }
    asm volatile("" ::"r"(all)); // makes the compiler keep the reads
}

static __global__ void rest()
{
    uint64_t begun, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begun));
    do
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    while (now - begun < rest_ns);
}

struct trial {
    cudaStream_t stream;
    const plumb_args *args;
    size_t part[3]; // bytes of A, B and C
    char *lines;    // of twice L2's size, for sweeps
    char *copied;   // in a stream: as many bytes, for copies of the operands
    size_t bytes;
    int copies, next; // number of copies beside the operands, and the copy that the
                      // next launch uses
    int together;     // number of launches of a way that are timed together
    int least;        // the least such number in a stream
    bool as_graphs;   // both graphs of each way are there: the run-up and the timed launches
    cudaGraphExec_t graphs[tried_most][2];
    cudaEvent_t from[tried_most], to[tried_most];
    way_times times[tried_most];
    std::atomic<bool> go;
};

// Holds the stream until the round is queued. If a launch itself waits for the device, the hold
// ends after 20 ms.
static void CUDART_CB hold_back(void *go)
{
    const auto begun = std::chrono::steady_clock::now();
    while (!static_cast<std::atomic<bool> *>(go)->load() &&
           std::chrono::steady_clock::now() - begun < std::chrono::milliseconds(20))
        continue;
}

static int close_trial(trial *t, int ways, int code)
{
    cudaFree(t->lines);
    cudaFree(t->copied);
    for (int i = 0; i < ways; ++i) {
        for (cudaGraphExec_t graph : t->graphs[i])
            if (graph)
                cudaGraphExecDestroy(graph);
        if (t->from[i])
            cudaEventDestroy(t->from[i]);
        if (t->to[i])
            cudaEventDestroy(t->to[i]);
    }
    return code;
}

// Bytes of so many elements. Elements of half a byte always fill whole bytes.
static size_t bytes_of(int32_t type, int64_t count)
{
    const int bits = type == PLUMB_FP64                          ? 64
                     : type <= PLUMB_TF32 || type == PLUMB_INT32 ? 32
                     : type <= PLUMB_FP16                        ? 16
                     : type == PLUMB_E2M1                        ? 4
                                                                 : 8;
    return (size_t)count * bits / 8;
}

static void measure_operands(trial *t)
{
    const plumb_problem &p = t->args->problem;
    const int64_t weights = p.epilogue == PLUMB_DUAL_SILU ? 2 : 1;
    t->part[0] = bytes_of(p.in_type, p.m * p.k * p.batch);
    t->part[1] = bytes_of(p.in_type, p.n * p.k * p.batch * weights);
    t->part[2] = bytes_of(p.out_type, p.m * p.n * p.batch);
}

// The arguments with the operands of copy `which`; 0: the original operands.
static plumb_args operands_of(const trial *t, int which)
{
    plumb_args args = *t->args;
    char *at = t->copied;
    char *places[3];
    for (int copy = 1; copy <= which; ++copy)
        for (int i = 0; i < 3; ++i) {
            places[i] = at;
            at += (t->part[i] + copy_align - 1) / copy_align * copy_align;
        }
    if (which > 0) {
        args.a = places[0];
        args.b = places[1];
        args.c = places[2];
    }
    return args;
}

// Makes as many copies as there is room for, or none if the operands alone are as large
// as the room.
static int copy_operands(trial *t)
{
    size_t each = 0;
    for (const size_t part : t->part)
        each += (part + copy_align - 1) / copy_align * copy_align;
    const size_t room = t->bytes / each;
    t->copies = room < copies_most ? (int)room : copies_most;
    int code = 0;
    for (int copy = 1; copy <= t->copies && !code; ++copy) {
        const plumb_args to = operands_of(t, copy);
        code = cudaMemcpyAsync(const_cast<void *>(to.a), t->args->a, t->part[0],
                               cudaMemcpyDeviceToDevice, t->stream);
        if (!code)
            code = cudaMemcpyAsync(const_cast<void *>(to.b), t->args->b, t->part[1],
                                   cudaMemcpyDeviceToDevice, t->stream);
    }
    return code;
}

static int open_trial(trial *t, int ways)
{
    int device = 0, l2 = 0, code = cudaGetDevice(&device);
    if (!code)
        code = cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, device);
    t->bytes = 2 * (size_t)l2;
    if (!code)
        code = cudaMalloc(&t->lines, t->bytes); // used by the trial alone;
                                                // launches allocate nothing
    if (!code && t->args->problem.regime == PLUMB_STREAM)
        code = cudaMalloc(&t->copied, t->bytes);
    for (int i = 0; i < ways && !code; ++i) {
        code = cudaEventCreate(&t->from[i]);
        if (!code)
            code = cudaEventCreate(&t->to[i]);
    }
    if (!code)
        code = cudaMemsetAsync(t->lines, 0, t->bytes, t->stream);
    measure_operands(t);
    return code || t->args->problem.regime != PLUMB_STREAM ? code : copy_operands(t);
}

// The number of launches of a stream that are timed together if one takes `us`; if that is
// not known, one.
static int together_at(double us)
{
    const double wanted = us > 0 ? ceil(together_us / us) : 1;
    return wanted < together_most ? (int)wanted : together_most;
}

// The number of untimed launches before the timed ones. If only one launch is timed, a launch of
// another way came before it.
static int runup_of(const trial *t)
{
    return t->together > 1 ? 2 : 0;
}

// The time that one way takes in a round if one launch takes `us`.
static double turn_us(const trial *t, double us)
{
    const bool swept = t->args->problem.regime != PLUMB_STREAM || t->together > 1;
    return us * (t->together + runup_of(t)) + (swept ? sweep_us : 0);
}

static void sweep(const trial *t, const void *from, size_t bytes)
{
    read_all<<<sweep_blocks, sweep_threads, 0, t->stream>>>(static_cast<const uint4 *>(from),
                                                            bytes / sizeof(uint4));
}

template <class launcher> static int queue_some(trial *t, int way, int count, launcher launch)
{
    int code = 0;
    for (int i = 0; i < count && !code; ++i) {
        const plumb_args on = operands_of(t, t->next++ % (t->copies + 1));
        code = launch(way, &on);
    }
    return code;
}

// Makes a graph of `count` launches of a way, each on the next copy of the operands.
template <class launcher>
static int make_graph(cudaGraphExec_t *out, trial *t, int way, int count, launcher launch)
{
    cudaGraph_t graph = nullptr;
    int code = cudaStreamBeginCapture(t->stream, cudaStreamCaptureModeRelaxed);
    if (code)
        return code;
    code = queue_some(t, way, count, launch);
    const int ended = cudaStreamEndCapture(t->stream, &graph);
    code = code ? code : ended ? ended : cudaGraphInstantiate(out, graph, 0);
    if (graph)
        cudaGraphDestroy(graph);
    return code;
}

// Makes the graphs of all ways. If one cannot be made, as on the default stream, the launches of
// all ways are queued one by one.
template <class launcher> static void make_graphs(trial *t, int ways, launcher launch)
{
    int code = 0;
    for (int i = 0; i < ways && !code; ++i) {
        if (!way_goes_on(&t->times[i]))
            continue;
        t->next = 0;
        code = make_graph(&t->graphs[i][0], t, i, runup_of(t), launch);
        if (!code)
            code = make_graph(&t->graphs[i][1], t, i, t->together, launch);
    }
    t->as_graphs = !code;
    if (code)
        cudaGetLastError();
}

// Queues what precedes the timed launches in this regime.
template <class launcher> static int approach(trial *t, int way, launcher launch)
{
    const plumb_args *args = t->args;
    switch (args->problem.regime) {
    case PLUMB_STREAM:
        if (t->together > 1)
            sweep(t, t->lines, t->bytes);
        return t->as_graphs ? cudaGraphLaunch(t->graphs[way][0], t->stream)
                            : queue_some(t, way, runup_of(t), launch);
    case PLUMB_WARM:
        return launch(way, args);
    case PLUMB_DIRTY:
        return cudaMemsetAsync(t->lines, 1, t->bytes, t->stream);
    case PLUMB_ACTIVATIONS:
        sweep(t, t->lines, t->bytes);
        sweep(t, args->a, t->part[0]);
        sweep(t, args->c, t->part[2]);
        return 0;
    default:
        sweep(t, t->lines, t->bytes);
        if (args->problem.regime == PLUMB_ISOLATED)
            rest<<<1, 1, 0, t->stream>>>();
        return 0;
    }
}

// Queues one way: what precedes it, and its timed launches. A way that cannot be launched
// is left out.
template <class launcher> static int queue_way(trial *t, int i, launcher launch)
{
    way_times &times = t->times[i];
    times.fails = approach(t, i, launch) != 0;
    const int from = cudaEventRecord(t->from[i], t->stream);
    if (!times.fails)
        times.fails = (t->as_graphs ? cudaGraphLaunch(t->graphs[i][1], t->stream)
                                    : queue_some(t, i, t->together, launch)) != 0;
    if (times.fails)
        cudaGetLastError();
    times.queued = !times.fails;
    const int to = cudaEventRecord(t->to[i], t->stream);
    return from ? from : to;
}

// Queues all ways that are still in the trial. launch(i, args) queues way i on the
// operands of args.
template <class launcher> static int queue_round(trial *t, int round, int ways, launcher launch)
{
    int code = 0;
    for (int turn = 0; turn < ways && !code; ++turn) {
        // forth and back, so that a falling clock meets all ways alike
        const int i = round % 2 ? ways - 1 - turn : turn;
        if (way_goes_on(&t->times[i]))
            code = queue_way(t, i, launch);
    }
    return code;
}

// The number of first rounds whose times are ignored. The first round loads the code of the
// ways, so it is neither held nor counted. In a stream, the second round tells how many launches
// to time together.
static int first_kept(const trial *t)
{
    return t->args->problem.regime == PLUMB_STREAM ? 2 : 1;
}

template <class launcher>
static int time_round(double *spent_us, trial *t, int round, int ways, launcher launch)
{
    double least_us = INFINITY;
    if (round == 2 && t->together > 1)
        make_graphs(t, ways, launch);
    t->go = round == 0;
    int code = cudaLaunchHostFunc(t->stream, hold_back, &t->go);
    if (!code)
        code = queue_round(t, round, ways, launch);
    t->go = true;
    const int ran = cudaStreamSynchronize(t->stream);
    for (int i = 0; i < ways && !code && !ran; ++i) {
        float ms = 0;
        if (!t->times[i].queued)
            continue;
        t->times[i].queued = false;
        code = cudaEventElapsedTime(&ms, t->from[i], t->to[i]);
        const double us = 1e3 * ms / t->together;
        least_us = us < least_us ? us : least_us;
        *spent_us += round > 0 ? turn_us(t, us) : 0;
        if (round >= first_kept(t))
            way_add(&t->times[i], us);
    }
    if (round == 1 && round < first_kept(t)) {
        const int wanted = together_at(least_us);
        t->together = wanted > t->least ? wanted : t->least;
    }
    leave_slow_ways(t->times, ways);
    return code ? code : ran;
}

// Sets *best to the fastest way, trying as many ways in as many rounds as the time allows. If there
// is no time for two ways in three rounds, nothing is tried and the first way is the best. The
// first way also stays the best if it is among the last four and no other takes less than `margin`
// of its time.
template <class launcher>
static int try_out(int *best, const trial_terms &terms, const plumb_args *args, cudaStream_t stream,
                   launcher launch)
{
    trial t = {};
    t.stream = stream;
    t.args = args;
    t.least = terms.together_least;
    t.together = args->problem.regime == PLUMB_STREAM ? together_at(terms.expected_us) : 1;
    // (If the time of a way is not known, a turn in a stream is taken to cost nothing.)
    const double turns = fmin(terms.limit_us / turn_us(&t, terms.expected_us), 1e6);
    const int ways = ways_in_time((int)turns, terms.count);
    double spent_us = 0, last_us = 0;
    *best = 0;
    if (ways < 2)
        return 0;
    t.together = 1;
    int code = open_trial(&t, ways);
    for (int round = 0;
         round < first_kept(&t) + looks_most && spent_us + last_us <= terms.limit_us && !code;
         ++round) {
        const double before_us = spent_us;
        code = time_round(&spent_us, &t, round, ways, launch);
        last_us = spent_us - before_us;
    }
    const int fastest = fastest_way(t.times, ways);
    if (!code && t.times[fastest].fails)
        code = cudaErrorInvalidValue;
    if (!code && (!way_goes_on(&t.times[0]) ||
                  !(way_median(&t.times[fastest]) > terms.margin * way_median(&t.times[0]))))
        *best = fastest;
    return close_trial(&t, ways, code);
}

#endif
