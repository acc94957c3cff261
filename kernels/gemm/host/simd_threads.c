// SPDX-License-Identifier: Apache-2.0
//
// Host ladder, rung 4: rung 3 on every core this process may use, each thread a band of rows.
// Threads are started per launch: that costs some 20 us each, so a thread is only added for every
// 20 MFLOP of work, and nothing of this module runs between launches.
#include "simd.h"

#include <pthread.h>
#include <sched.h>

enum { THREADS_MAX = 64 };

static int64_t thread_count(const struct plumb_problem *p)
{
    cpu_set_t cpus;
    int64_t cores = sched_getaffinity(0, sizeof(cpus), &cpus) ? 1 : CPU_COUNT(&cpus);
    int64_t worth = 1 + (int64_t)(2.0 * (double)p->m * (double)p->n * (double)p->k / 20e6);
    int64_t count = simd_least(simd_least(cores, THREADS_MAX), worth);
    return simd_least(count, p->m);
}

struct band {
    const struct plumb_problem *problem;
    const float *a, *b;
    float *c, *packed;
    int64_t first, last;
};

static void *run(void *opaque)
{
    const struct band *band = opaque;
    simd_rows(band->problem, band->a, band->b, band->c, band->first, band->last, band->packed);
    return NULL;
}

static void multiply(const struct plumb_problem *p, const float *a, const float *b, float *c,
                     void *workspace)
{
    pthread_t threads[THREADS_MAX];
    struct band bands[THREADS_MAX];
    int started[THREADS_MAX] = {0};
    int64_t count = thread_count(p);
    for (int64_t t = 0; t < count; t++) {
        bands[t] = (struct band){p,
                                 a,
                                 b,
                                 c,
                                 (float *)workspace + t * SIMD_FLOATS,
                                 t * p->m / count,
                                 (t + 1) * p->m / count};
        if (t + 1 < count)
            started[t] = pthread_create(&threads[t], NULL, run, &bands[t]) == 0;
    }
    for (int64_t t = count - 1; t >= 0; t--) {
        if (started[t])
            pthread_join(threads[t], NULL);
        else
            run(&bands[t]); // the last band is this thread's, and so are bands that got no thread
    }
}

static size_t workspace(const struct plumb_problem *p)
{
    return (size_t)thread_count(p) * SIMD_FLOATS * sizeof(float);
}

static int launch(const struct plumb_args *args, void *stream)
{
    (void)stream;
    return host_launch(args, workspace, multiply);
}

static const struct plumb_kernel simd_threads = {
    .name = "simd_threads",
    .summary = "the simd kernel on every core, bands of rows",
    .traits = {HOST_TRAITS, .acc_type = PLUMB_FP32, .tile_m = ROWS, .tile_n = COLS, .tile_k = DEPTH,
               .stages = 1, .threads = THREADS_MAX, .smem_bytes = SIMD_FLOATS * (int)sizeof(float),
               .raster = PLUMB_RASTER_M, .raster_group = 1},
    .supports = host_supports_fp32,
    .workspace = workspace,
    .launch = launch,
};
PLUMB_LIBRARY("host", simd_threads)
