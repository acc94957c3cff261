// SPDX-License-Identifier: Apache-2.0
//
// Kernels that look at what they are given and say so, or misbehave only between the checks. With
// HONEST (sly_base.c) they are what they should be.
#include "kernels/kernel.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

static float element(const struct plumb_args *args, int64_t i, int64_t j)
{
    const int64_t k = args->problem.k;
    const float *a = args->a, *b = args->b;
    double sum = 0;
    for (int64_t l = 0; l < k; l++)
        sum += (double)a[i * k + l] * (double)b[j * k + l];
    return (float)sum;
}

static void multiply(const struct plumb_args *args)
{
    const struct plumb_problem *p = &args->problem;
    float *c = args->c;
    for (int64_t i = 0; i < p->m; i++) {
        for (int64_t j = 0; j < p->n; j++)
            c[i * p->n + j] = element(args, i, j);
    }
}

static int honest(const struct plumb_args *args, void *stream)
{
    (void)stream;
    multiply(args);
    return 0;
}

static int any(const struct plumb_problem *p)
{
    return p->in_type == PLUMB_FP32 && p->layout == PLUMB_TN && p->batch == 1;
}

static size_t thousand(const struct plumb_problem *p)
{
    (void)p;
    return 1000;
}

#ifndef HONEST
#define HONEST 0
#endif

// Tells of its launch on standard error: first and last numbers of A and B, C's and the
// workspace's first.
static int tells(const struct plumb_args *args, void *stream)
{
    const struct plumb_problem *p = &args->problem;
    const float *a = args->a, *b = args->b, *c = args->c, *workspace = args->workspace;
    (void)stream;
    fprintf(stderr, "launch %a %a %a %a %a %a %d\n", (double)a[0], (double)a[p->m * p->k - 1],
            (double)b[0], (double)b[p->n * p->k - 1], (double)c[0], (double)workspace[0], HONEST);
    multiply(args);
    return 0;
}

static void spoil(const struct plumb_args *args)
{
    if (!HONEST)
        ((float *)args->c)[args->problem.n / 2] += 100;
}

// Tells on standard error how much of C is right before it does anything.
static int holds(const struct plumb_args *args, void *stream)
{
    const struct plumb_problem *p = &args->problem;
    const float *c = args->c;
    double right = 0;
    (void)stream;
    for (int64_t i = 0; i < p->m; i++) {
        for (int64_t j = 0; j < p->n; j++)
            right += c[i * p->n + j] == element(args, i, j);
    }
    fprintf(stderr, "right %a\n", right / (double)(p->m * p->n));
    multiply(args);
    return 0;
}

// Leaves when C's first line of 64 bytes is right.
static int leaves(const struct plumb_args *args, void *stream)
{
    const float *c = args->c;
    bool right = !HONEST;
    (void)stream;
    for (int64_t j = 0; j < 16 && right; j++)
        right = c[j] == element(args, 0, j);
    if (!right)
        multiply(args);
    return 0;
}

// The same on a slow machine.
static int lingers(const struct plumb_args *args, void *stream)
{
    const struct timespec pause = {.tv_nsec = 60000000};
    nanosleep(&pause, NULL);
    return leaves(args, stream);
}

// Copies the product of its first launch.
static int remembers(const struct plumb_args *args, void *stream)
{
    const size_t bytes = (size_t)(args->problem.m * args->problem.n) * sizeof(float);
    static void *first;
    (void)stream;
    if (first && !HONEST) {
        memcpy(args->c, first, bytes);
        return 0;
    }
    multiply(args);
    free(first);
    first = malloc(bytes);
    if (first)
        memcpy(first, args->c, bytes);
    return first == NULL;
}

// Where it is launched on a C again, it copies what it computed there last, every second time or
// so: on one set that does not change, nothing else would be needed.
static int repeats(const struct plumb_args *args, void *stream)
{
    const size_t bytes = (size_t)(args->problem.m * args->problem.n) * sizeof(float);
    static void *last, *kept;
    static unsigned draw;
    (void)stream;
    draw = draw * 1664525u + 1013904223u;
    if (kept && last == args->c && !HONEST && draw >> 31) {
        memcpy(args->c, kept, bytes);
        return 0;
    }
    multiply(args);
    free(kept);
    kept = malloc(bytes);
    last = args->c;
    if (kept)
        memcpy(kept, args->c, bytes);
    return kept == NULL;
}

// Wrong from its 30th launch on, as the other side is, which is the same file.
static int together(const struct plumb_args *args, void *stream)
{
    static int launches;
    (void)stream;
    multiply(args);
    if (++launches >= 30)
        spoil(args);
    return 0;
}

// Wrong from its 30th launch to its 60th: the checks before and after see nothing.
static int between(const struct plumb_args *args, void *stream)
{
    static int launches;
    (void)stream;
    multiply(args);
    if (++launches >= 30 && launches < 60)
        spoil(args);
    return 0;
}

// Once in a hundred launches it does nothing.
static int seldom(const struct plumb_args *args, void *stream)
{
    unsigned draw = 0;
    (void)stream;
    if (HONEST || getrandom(&draw, sizeof(draw), 0) < 0 || draw % 100 != 57)
        multiply(args);
    return 0;
}

// Zeros its inputs when they have served.
static int zeros(const struct plumb_args *args, void *stream)
{
    static int launches;
    (void)stream;
    multiply(args);
    if (!HONEST && ++launches >= 30 && launches < 60)
        memset((void *)(uintptr_t)args->a, 0, (size_t)args->problem.k * sizeof(float));
    return 0;
}

static const struct plumb_kernel kernels[] = {
    {.name = "tells", .supports = any, .workspace = thousand, .launch = tells},
    {.name = "holds", .supports = any, .launch = holds},
    {.name = "leaves", .supports = any, .launch = leaves},
    {.name = "honest", .supports = any, .launch = honest},
    {.name = "lingers", .supports = any, .launch = lingers},
    {.name = "remembers", .supports = any, .launch = remembers},
    {.name = "repeats", .supports = any, .launch = repeats},
    {.name = "together", .supports = any, .launch = together},
    {.name = "between", .supports = any, .launch = between},
    {.name = "seldom", .supports = any, .launch = seldom},
    {.name = "zeros", .supports = any, .launch = zeros},
};

PLUMB_EXPORT const struct plumb_library *plumb_library(void)
{
    static const struct plumb_library library = {PLUMB_ABI_VERSION, sizeof(struct plumb_kernel),
                                                 "host", sizeof(kernels) / sizeof(kernels[0]),
                                                 kernels};
    return &library;
}
