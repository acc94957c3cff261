// SPDX-License-Identifier: Apache-2.0
//
// A trial: ways to do one problem, timed in turn on the operands that are there. Each launch finds
// L2 full of clean lines that are not the operands', as one that is timed cold does. Which of two
// ways is faster depends on that for small problems: several of 20 % and more exchange places where
// operands are warm. A round is queued whole while the stream is held, for the host queues a small
// kernel more slowly than the device runs it, and such times would be the host's.
//
// A way that is clearly behind is not launched again, so that there are more rounds for those that
// are near each other.
#ifndef PLUMB_GEMM_TRIAL_CUH
#define PLUMB_GEMM_TRIAL_CUH

#include <cuda_runtime.h>

#include <math.h>
#include <stdint.h>

#include <atomic>
#include <chrono>

constexpr int tried_most = 32, trial_rounds = 12, rounds_of_all = 3;
constexpr double sweep_us = 50, clearly_behind = 1.03;
constexpr int sweep_blocks = 1056, sweep_threads = 256;

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

// The times of one way, in rising order. One that cannot be launched has none.
struct way_times {
    double us[trial_rounds];
    int count;
    bool queued, fails;

    void add(double time)
    {
        int at = count++;
        for (; at > 0 && us[at - 1] > time; --at)
            us[at] = us[at - 1];
        us[at] = time;
    }
    double median() const
    {
        return count && !fails ? us[count / 2] : INFINITY;
    }
};

struct trial {
    cudaStream_t stream;
    void *lines; // twice L2
    size_t bytes;
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
    return code ? code : cudaMemsetAsync(t->lines, 0, t->bytes, t->stream);
}

static int fastest_of(const way_times *times, int count)
{
    int best = 0;
    for (int i = 1; i < count; ++i)
        if (times[i].median() < times[best].median())
            best = i;
    return best;
}

// Queues the ways that are still in it, each behind a sweep of L2. launch(i) queues way i.
template <class launcher> static int queue_round(trial *t, int round, int ways, launcher launch)
{
    const double least = t->times[fastest_of(t->times, ways)].median();
    int code = 0;
    for (int turn = 0; turn < ways && !code; ++turn) {
        const int i = (round + turn) % ways;
        way_times &times = t->times[i];
        if (times.fails || (round >= rounds_of_all && times.median() > clearly_behind * least))
            continue;
        read_all<<<sweep_blocks, sweep_threads, 0, t->stream>>>(
            static_cast<const uint4 *>(t->lines), t->bytes / sizeof(uint4));
        code = cudaEventRecord(t->from[i], t->stream);
        times.fails = launch(i) != 0;
        if (times.fails)
            cudaGetLastError();
        if (!code)
            code = cudaEventRecord(t->to[i], t->stream);
        times.queued = !times.fails;
    }
    return code;
}

// One round. The first loads the ways' code, so it is neither held nor kept.
template <class launcher>
static int time_round(double *spent_us, trial *t, int round, int ways, launcher launch)
{
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
        *spent_us += 1e3 * ms + sweep_us;
        if (round > 0)
            t->times[i].add(1e3 * ms);
    }
    return code ? code : ran;
}

// Sets *best to the fastest way: as many ways in as many rounds as there is time for. Nothing is
// tried, and the first is the best, where there is no time for two ways in three rounds.
template <class launcher>
static int try_out(int *best, const trial_terms &terms, cudaStream_t stream, launcher launch)
{
    const int turns = (int)(terms.limit_us / (terms.expected_us + sweep_us));
    const int most = turns / rounds_of_all, ways = most < terms.count ? most : terms.count;
    double spent_us = 0;
    *best = 0;
    if (ways < 2)
        return 0;
    trial t = {};
    t.stream = stream;
    int code = open_trial(&t, ways);
    for (int round = 0; round < trial_rounds && spent_us < terms.limit_us && !code; ++round)
        code = time_round(&spent_us, &t, round, ways, launch);
    const int fastest = fastest_of(t.times, ways);
    if (!code && t.times[fastest].fails)
        code = cudaErrorInvalidValue;
    if (!code && !(t.times[fastest].median() > terms.margin * t.times[0].median()))
        *best = fastest;
    return close_trial(&t, ways, code);
}

#endif
