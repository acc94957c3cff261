// SPDX-License-Identifier: Apache-2.0
//
// A trial: ways to do one problem, timed in turn on the operands that are there, in the regime that
// the problem says. Which of two ways is faster depends on that for small problems: several of 20 %
// and more exchange places where operands are warm, or where launches follow each other.
//     cold, isolated   each launch finds L2 full of clean lines that are not the operands';
//                      isolated, the device has rested, too
//     dirty            full of lines to write back
//     activations      full of other lines, and then A and C are read
//     warm             the same launch came just before
//     stream           launches without a pause, each on other copies of the operands, so many that
//                      twice L2 lies between two launches on one; a few of a way are timed together
// A round is queued whole while the stream is held, for the host queues a small kernel more slowly
// than the device runs it, and such times would be the host's.
//
// Who is behind is not launched again, so that there are more rounds for those that are near each
// other (rounds.h).
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
constexpr double together_us = 100; // of a stream, that are timed together
constexpr int together_most = 6, copies_most = 128;
constexpr size_t copy_align = 256;
constexpr uint64_t rest_ns = 15000;

struct trial_terms {
    int count;          // of ways, at most tried_most
    double expected_us; // of the slowest; 0: not known
    double limit_us;    // of the device's time
    double margin;      // the first way stays unless another takes less than this share of its time
};

// Reads all of it; what it writes is never read.
static __global__ void __launch_bounds__(sweep_threads) read_all(const uint4 *from, size_t count)
{
    uint32_t all = 0;
    for (size_t i = (size_t)blockIdx.x * sweep_threads + threadIdx.x; i < count;
         i += (size_t)sweep_blocks * sweep_threads) {
        const uint4 v = from[i];
        all ^= v.x ^ v.y ^ v.z ^ v.w;
    }
    asm volatile("" ::"r"(all)); // so that it is read
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
    char *lines;    // twice L2; in a stream copies of the operands
    size_t bytes;
    int copies, next; // that there are beside the operands, and which is met next
    int together;     // launches of a way that are timed together
    cudaEvent_t from[tried_most], to[tried_most];
    way_times times[tried_most];
    std::atomic<bool> go;
};

// Holds the stream until the round is queued. A launch that waits for the device waits 20 ms.
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
    for (int i = 0; i < ways; ++i) {
        if (t->from[i])
            cudaEventDestroy(t->from[i]);
        if (t->to[i])
            cudaEventDestroy(t->to[i]);
    }
    return code;
}

// Bytes of so many elements, which fill no half of one.
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

// The operands of copy `which`; 0: those that are there.
static plumb_args operands_of(const trial *t, int which)
{
    plumb_args args = *t->args;
    char *at = t->lines;
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

// As many copies as there is room for; none where the operands alone are as large.
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
        code = cudaMalloc(&t->lines, t->bytes); // for the trial alone: launches have none
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

// Launches of a stream that are timed together where one takes so long; not known: one.
static int together_at(double us)
{
    const double wanted = us > 0 ? ceil(together_us / us) : 1;
    return wanted < together_most ? (int)wanted : together_most;
}

// Launches before those. Where only one is timed, another way's came before it.
static int runup_of(const trial *t)
{
    return t->together > 1 ? 2 : 0;
}

// The time that a way takes in a round, where one launch takes so long.
static double turn_us(const trial *t, double us)
{
    return us * (t->together + runup_of(t)) +
           (t->args->problem.regime == PLUMB_STREAM ? 0 : sweep_us);
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

// Queues what comes before launches that are timed.
template <class launcher> static int approach(trial *t, int way, launcher launch)
{
    const plumb_args *args = t->args;
    switch (args->problem.regime) {
    case PLUMB_STREAM:
        return queue_some(t, way, runup_of(t), launch);
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

// Queues one way: what comes before, and what is timed. A way that cannot be launched is left out.
template <class launcher> static int queue_way(trial *t, int i, launcher launch)
{
    way_times &times = t->times[i];
    times.fails = approach(t, i, launch) != 0;
    const int from = cudaEventRecord(t->from[i], t->stream);
    if (!times.fails)
        times.fails = queue_some(t, i, t->together, launch) != 0;
    if (times.fails)
        cudaGetLastError();
    times.queued = !times.fails;
    const int to = cudaEventRecord(t->to[i], t->stream);
    return from ? from : to;
}

// Queues the ways that are still in it. launch(i, args) queues way i on the operands of args.
template <class launcher> static int queue_round(trial *t, int round, int ways, launcher launch)
{
    int code = 0;
    for (int turn = 0; turn < ways && !code; ++turn) {
        const int i = round % 2 ? ways - 1 - turn : turn; // a clock that falls is shared
        if (way_goes_on(&t->times[i]))
            code = queue_way(t, i, launch);
    }
    return code;
}

// Rounds whose times are forgotten. The first loads the ways' code, so it is neither held nor
// counted. A stream's second tells how many of its launches are timed together.
static int first_kept(const trial *t)
{
    return t->args->problem.regime == PLUMB_STREAM ? 2 : 1;
}

template <class launcher>
static int time_round(double *spent_us, trial *t, int round, int ways, launcher launch)
{
    double least_us = INFINITY;
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
    if (round == 1 && round < first_kept(t))
        t->together = together_at(least_us);
    leave_slow_ways(t->times, ways);
    return code ? code : ran;
}

// Sets *best to the fastest way: as many ways in as many rounds as there is time for. Nothing is
// tried, and the first is the best, where there is no time for two ways in three rounds. The first
// stays where it is among the last four and no other takes less than `margin` of its time.
template <class launcher>
static int try_out(int *best, const trial_terms &terms, const plumb_args *args, cudaStream_t stream,
                   launcher launch)
{
    trial t = {};
    t.stream = stream;
    t.args = args;
    t.together = args->problem.regime == PLUMB_STREAM ? together_at(terms.expected_us) : 1;
    // (Where it is not known how long a way takes, a stream's turn takes nothing.)
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
