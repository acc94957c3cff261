// SPDX-License-Identifier: Apache-2.0
//
// Repeats one micro-benchmark and sends its median and spread. The devices' own files measure.
#include "kernels/calibrate/calibrate.h"

#include "kernels/device/host.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// ==== readings ====

void calibrate_send(calibration_sink *sink, void *state, const char *key, const double *values,
                    int count, const char *note)
{
    assert(count >= 3 && count <= CALIBRATE_REPEATS_MAX);
    double sorted[CALIBRATE_REPEATS_MAX], sum = 0, squares = 0;
    struct calibration reading = {.key = key, .repeats = count};
    for (int i = 0; i < count; i++) {
        sorted[i] = isfinite(values[i]) ? values[i] : 0;
        sum += sorted[i];
    }
    const double mean = sum / count;
    for (int i = 0; i < count; i++)
        squares += (sorted[i] - mean) * (sorted[i] - mean);
    qsort(sorted, (size_t)count, sizeof(*sorted), rising_doubles);
    reading.value = (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
    if (sorted[0] > 0)
        reading.cv = sqrt(squares / (count - 1)) / mean;
    else
        reading.value = 0;
    reading.stable = reading.value > 0 && reading.cv <= CALIBRATE_CV_LIMIT;
    text_copy(reading.note, sizeof(reading.note), note);
    sink(state, &reading);
}

void calibrate_send_loaded(calibration_sink *sink, void *state, const char *key,
                           const double *windows, double share)
{
    enum { SETTLING = 4, COUNT = CALIBRATE_WINDOWS - SETTLING };
    const double none[COUNT] = {0}, least_share = 0.9;
    double sorted[COUNT];
    char note[96];
    memcpy(sorted, share >= least_share ? windows + SETTLING : none, sizeof(sorted));
    qsort(sorted, COUNT, sizeof(*sorted), rising_doubles);
    snprintf(note, sizeof(note), "inside 8192^3 in a stream, at %.0f %% of the tensor cores' rate",
             100 * share);
    calibrate_send(sink, state, key, sorted + 1, COUNT - 2, note);
}

bool calibrate_wanted(const char *only, const char *key)
{
    size_t length = only ? strlen(only) : 0;
    if (length > 0 && only[length - 1] == '*')
        return strncmp(only, key, length - 1) == 0;
    return !only || strcmp(only, key) == 0;
}

bool calibrate_studied(const char *only, const char *key)
{
    return only && calibrate_wanted(only, key);
}

// ==== the host's micro-benchmarks ====
//
// Measures the figures of the host's CPU that models need, in about two seconds: the clock
// of a busy core, FP32 operations per clock, bandwidth of memory and of the last-level
// cache, load latencies.

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { THREADS_MAX = 64, CHAINS = 12, TRIES = 3 };

// FLOP of one pass over CHAINS independent chains of multiply-adds, long enough to hide the latency
// (4 clocks on two units need 8 in flight).
#if defined(__x86_64__)
__attribute__((target("avx512f"))) static double flops_avx512(int passes)
{
    __m512 sum[CHAINS];
    const __m512 x = _mm512_set1_ps(0.999f), y = _mm512_set1_ps(0.001f);
#pragma GCC unroll 12
    for (int i = 0; i < CHAINS; i++)
        sum[i] = _mm512_set1_ps((float)i);
    for (int pass = 0; pass < passes; pass++) {
#pragma GCC unroll 12
        for (int i = 0; i < CHAINS; i++)
            sum[i] = _mm512_fmadd_ps(sum[i], x, y);
    }
#pragma GCC unroll 12
    for (int i = 1; i < CHAINS; i++)
        sum[0] = _mm512_add_ps(sum[0], sum[i]);
    __asm__ volatile("" ::"v"(sum[0]));
    return 2.0 * 16 * CHAINS * passes;
}

__attribute__((target("avx2,fma"))) static double flops_avx2(int passes)
{
    __m256 sum[CHAINS];
    const __m256 x = _mm256_set1_ps(0.999f), y = _mm256_set1_ps(0.001f);
#pragma GCC unroll 12
    for (int i = 0; i < CHAINS; i++)
        sum[i] = _mm256_set1_ps((float)i);
    for (int pass = 0; pass < passes; pass++) {
#pragma GCC unroll 12
        for (int i = 0; i < CHAINS; i++)
            sum[i] = _mm256_fmadd_ps(sum[i], x, y);
    }
#pragma GCC unroll 12
    for (int i = 1; i < CHAINS; i++)
        sum[0] = _mm256_add_ps(sum[0], sum[i]);
    __asm__ volatile("" ::"v"(sum[0]));
    return 2.0 * 8 * CHAINS * passes;
}
#endif

static double flops_portable(int passes)
{
    enum { WIDTH = 64 };
    float sum[WIDTH] = {0};
    for (int pass = 0; pass < passes; pass++) {
        for (int i = 0; i < WIDTH; i++)
            sum[i] = sum[i] * 0.999f + 0.001f;
    }
    volatile float keep = 0;
    for (int i = 0; i < WIDTH; i++)
        keep = keep + sum[i];
    return 2.0 * WIDTH * passes;
}

static double flops(int passes)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f"))
        return flops_avx512(passes);
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return flops_avx2(passes);
#endif
    return flops_portable(passes);
}

static double flops_per_clock(void)
{
    enum { PASSES = 50000 };
    double least_ns = INFINITY, done = flops(PASSES);
    for (int try = 0; try < 3 * TRIES; try++) {
        double start = host_now_ns();
        done = flops(PASSES);
        least_ns = fmin(least_ns, host_now_ns() - start);
    }
    double clock_hz = host_clock_hz();
    return clock_hz > 0 ? done / (least_ns * 1e-9) / clock_hz : 0;
}

struct stripe {
    const uint64_t *from;
    size_t words;
    int passes;
    uint64_t sum;
};

static void *read_stripe(void *opaque)
{
    struct stripe *stripe = opaque;
    uint64_t sums[8] = {0};
    for (int pass = 0; pass < stripe->passes; pass++) {
        for (size_t i = 0; i + 8 <= stripe->words; i += 8) {
            for (int j = 0; j < 8; j++)
                sums[j] += stripe->from[i + (size_t)j];
        }
        __asm__ volatile("" ::: "memory");
    }
    for (int j = 0; j < 8; j++)
        stripe->sum += sums[j];
    return NULL;
}

// Bytes per second when `threads` threads read their stripes `passes` times.
static double read_once(const uint64_t *buffer, size_t bytes, int threads, int passes)
{
    pthread_t ids[THREADS_MAX];
    struct stripe stripes[THREADS_MAX];
    bool started[THREADS_MAX] = {false};
    size_t words = bytes / sizeof(uint64_t) / (size_t)threads;
    double start = host_now_ns();
    for (int t = 0; t < threads; t++) {
        stripes[t] =
            (struct stripe){.from = buffer + words * (size_t)t, .words = words, .passes = passes};
        if (t + 1 < threads)
            started[t] = pthread_create(&ids[t], NULL, read_stripe, &stripes[t]) == 0;
        if (!started[t])
            read_stripe(&stripes[t]);
    }
    for (int t = 0; t < threads; t++) {
        if (started[t])
            pthread_join(ids[t], NULL);
    }
    double spent_s = (host_now_ns() - start) * 1e-9;
    return (double)(words * sizeof(uint64_t)) * threads * passes / spent_s;
}

// The best of TRIES, because other programs only slow it.
static double read_rate(const uint64_t *buffer, size_t bytes, int threads, int passes)
{
    double most = 0;
    for (int try = 0; try < TRIES; try++)
        most = fmax(most, read_once(buffer, bytes, threads, passes));
    return most;
}

enum { STRIDE = 64 / sizeof(uint64_t), LOADS = 30000 };

// A random cycle over all cache lines (Sattolo's shuffle).
static void lay_cycle(uint64_t *buffer, size_t bytes)
{
    const size_t count = bytes / 64;
    uint64_t random = 88172645463325252u;
    for (size_t i = 0; i < count; i++)
        buffer[i * STRIDE] = i;
    for (size_t i = count - 1; i > 0; i--) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        size_t j = random % i;
        uint64_t swap = buffer[i * STRIDE];
        buffer[i * STRIDE] = buffer[j * STRIDE];
        buffer[j * STRIDE] = swap;
    }
}

// Clocks of a dependent load, from *at on; the best of TRIES, because other programs only slow it.
static double latency_clk(const uint64_t *buffer, uint64_t *at)
{
    double least_ns = INFINITY;
    for (int try = 0; try < TRIES; try++) {
        uint64_t here = *at;
        double start = host_now_ns();
        for (int i = 0; i < LOADS; i++)
            here = buffer[here * STRIDE];
        __asm__ volatile("" : "+r"(here)); // the loads must end before the clock is read
        least_ns = fmin(least_ns, host_now_ns() - start);
        *at = here;
    }
    return least_ns * 1e-9 / LOADS * host_clock_hz();
}

struct plan {
    const char *only;
    calibration_sink *sink;
    void *state;
    uint64_t *big; // larger than the last-level cache, within limits
    size_t big_bytes;
    size_t near_bytes; // fits the last-level cache, but not the private ones
    int threads;
};

static void send(const struct plan *plan, const char *key, const double *values, const char *note)
{
    calibrate_send(plan->sink, plan->state, key, values, CALIBRATE_REPEATS, note);
}

static void core_figures(const struct plan *plan)
{
    double values[CALIBRATE_REPEATS];
    if (calibrate_wanted(plan->only, "clock_hz")) {
        for (int i = 0; i < CALIBRATE_REPEATS; i++) {
            flops(2000000); // so that the clock is that of a busy core
            values[i] = host_clock_hz();
        }
        send(plan, "clock_hz", values,
             "chain of dependent additions, one core, after 20 ms of FMA");
    }
    if (calibrate_wanted(plan->only, "flops_clk_fp32")) {
        for (int i = 0; i < CALIBRATE_REPEATS; i++)
            values[i] = flops_per_clock();
        send(plan, "flops_clk_fp32", values, "12 independent chains of vector FMA, one core");
    }
}

static void memory_figures(const struct plan *plan)
{
    double values[CALIBRATE_REPEATS], one[CALIBRATE_REPEATS];
    char note[160];
    if (calibrate_wanted(plan->only, "dram_bytes_s") ||
        calibrate_wanted(plan->only, "dram_sm_fraction")) {
        snprintf(note, sizeof(note), "reading %zu MiB, %d threads%s", plan->big_bytes >> 20,
                 plan->threads,
                 plan->big_bytes < 2 * host_cache_bytes(3) ? ", partly from the shared cache" : "");
        for (int i = 0; i < CALIBRATE_REPEATS; i++) {
            values[i] = read_rate(plan->big, plan->big_bytes, plan->threads, 1);
            one[i] = read_rate(plan->big, plan->big_bytes, 1, 1) / values[i];
        }
        if (calibrate_wanted(plan->only, "dram_bytes_s"))
            send(plan, "dram_bytes_s", values, note);
        if (calibrate_wanted(plan->only, "dram_sm_fraction"))
            send(plan, "dram_sm_fraction", one, "one thread against all");
    }
    if (calibrate_wanted(plan->only, "l2_bytes_clk")) {
        for (int i = 0; i < CALIBRATE_REPEATS; i++) {
            read_rate(plan->big, plan->near_bytes, plan->threads, 1);
            double rate = read_rate(plan->big, plan->near_bytes, plan->threads, 8);
            values[i] = rate / host_clock_hz();
        }
        snprintf(note, sizeof(note), "reading %zu MiB again and again, %d threads",
                 plan->near_bytes >> 20, plan->threads);
        send(plan, "l2_bytes_clk", values, note);
    }
}

static void latency_figure(const struct plan *plan, const char *key, size_t bytes, const char *note)
{
    double values[CALIBRATE_REPEATS];
    uint64_t at = 0;
    if (!calibrate_wanted(plan->only, key))
        return;
    lay_cycle(plan->big, bytes);
    for (size_t i = 0; i < bytes / 64 && bytes == plan->near_bytes; i++)
        at = plan->big[at * STRIDE]; // one pass over the cycle, after which everything that fits is
                                     // cached
    for (int i = 0; i < CALIBRATE_REPEATS; i++)
        values[i] = latency_clk(plan->big, &at);
    send(plan, key, values, note);
}

static bool wants_memory(const char *only)
{
    static const char *const keys[] = {"dram_bytes_s", "dram_sm_fraction", "l2_bytes_clk",
                                       "l2_latency_clk", "dram_latency_clk"};
    for (size_t i = 0; i < ARRAY_COUNT(keys); i++) {
        if (calibrate_wanted(only, keys[i]))
            return true;
    }
    return false;
}

int host_calibrate(struct device_base *device, const char *only, calibration_sink *sink,
                   void *state, struct error *err)
{
    (void)device;
    cpu_set_t cpus;
    const size_t last = host_cache_bytes(3), private_cache = host_cache_bytes(2);
    struct plan plan = {.only = only, .sink = sink, .state = state};
    plan.threads = sched_getaffinity(0, sizeof(cpus), &cpus) ? 1 : CPU_COUNT(&cpus);
    plan.threads = plan.threads > THREADS_MAX ? THREADS_MAX : plan.threads;
    core_figures(&plan);
    if (!wants_memory(only))
        return 0;
    // Twice the last-level cache, but at most half a gigabyte, because a virtual machine is shown
    // the cache of the whole socket.
    plan.big_bytes = (size_t)fmin(fmax(2.0 * (double)last, 64e6), 512 << 20);
    plan.near_bytes =
        (size_t)fmin(fmax(4.0 * (double)private_cache, 4 << 20), fmax((double)last / 2, 4 << 20));
    plan.big =
        mmap(NULL, plan.big_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (plan.big == MAP_FAILED)
        return error_set(err, "calibrate: no memory for %zu MiB: %s", plan.big_bytes >> 20,
                         strerror(errno));
    madvise(plan.big, plan.big_bytes, MADV_HUGEPAGE);
    memset(plan.big, 1, plan.big_bytes);
    memory_figures(&plan);
    latency_figure(&plan, "l2_latency_clk", plan.near_bytes,
                   "pointer chase beyond the private caches");
    latency_figure(&plan, "dram_latency_clk", plan.big_bytes, "pointer chase, TLB misses included");
    munmap(plan.big, plan.big_bytes);
    return 0;
}
