// SPDX-License-Identifier: Apache-2.0
//
// Kernels that are wrong, one way each: what bench must notice. "right" is the only correct one.
#include "kernels/kernel.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void multiply(const struct plumb_args *args)
{
    const struct plumb_problem *p = &args->problem;
    const float *a = args->a, *b = args->b;
    float *c = args->c;
    for (int64_t i = 0; i < p->m; i++) {
        for (int64_t j = 0; j < p->n; j++) {
            double sum = 0;
            for (int64_t l = 0; l < p->k; l++)
                sum += (double)a[i * p->k + l] * (double)b[j * p->k + l];
            c[i * p->n + j] = (float)sum;
        }
    }
}

static int64_t count(const struct plumb_args *args)
{
    return args->problem.m * args->problem.n;
}

static int any(const struct plumb_problem *p)
{
    return p->in_type == PLUMB_FP32 && p->layout == PLUMB_TN && p->batch == 1;
}

static int none(const struct plumb_problem *p)
{
    (void)p;
    return 0;
}

static int right(const struct plumb_args *args, void *stream)
{
    (void)stream;
    multiply(args);
    return 0;
}

// One element is off by a hundredth of its size's scale.
static int wrong(const struct plumb_args *args, void *stream)
{
    (void)stream;
    multiply(args);
    ((float *)args->c)[count(args) / 2] += 0.01f * sqrtf((float)args->problem.k);
    return 0;
}

// Within what bf16 would be allowed, not FP32.
static int imprecise(const struct plumb_args *args, void *stream)
{
    (void)stream;
    multiply(args);
    ((float *)args->c)[0] += 1e-5f * sqrtf((float)args->problem.k);
    return 0;
}

static int nan_result(const struct plumb_args *args, void *stream)
{
    (void)stream;
    multiply(args);
    ((float *)args->c)[count(args) - 1] = NAN;
    return 0;
}

// Leaves the last element as it was: right only if someone wrote it before.
static int unwritten(const struct plumb_args *args, void *stream)
{
    (void)stream;
    float *last = (float *)args->c + count(args) - 1, before = *last;
    multiply(args);
    *last = before;
    return 0;
}

// The last column of K is left out.
static int short_k(const struct plumb_args *args, void *stream)
{
    const struct plumb_problem *p = &args->problem;
    (void)stream;
    multiply(args);
    for (int64_t i = 0; i < p->m; i++) {
        for (int64_t j = 0; j < p->n; j++)
            ((float *)args->c)[i * p->n + j] -= ((const float *)args->a)[i * p->k + p->k - 1] *
                                                ((const float *)args->b)[j * p->k + p->k - 1];
    }
    return 0;
}

static int transposed(const struct plumb_args *args, void *stream)
{
    struct plumb_args swapped = *args;
    (void)stream;
    swapped.a = args->b;
    swapped.b = args->a;
    swapped.problem.m = args->problem.n;
    swapped.problem.n = args->problem.m;
    multiply(&swapped);
    return 0;
}

static int beyond(const struct plumb_args *args, void *stream)
{
    (void)stream;
    multiply(args);
    ((float *)args->c)[count(args)] = 1;
    return 0;
}

static int before(const struct plumb_args *args, void *stream)
{
    (void)stream;
    multiply(args);
    ((float *)args->c)[-1] = 1;
    return 0;
}

static int workspace_overrun(const struct plumb_args *args, void *stream)
{
    (void)stream;
    multiply(args);
    ((char *)args->workspace)[args->workspace_bytes] = 1;
    return 0;
}

static size_t thousand(const struct plumb_problem *p)
{
    (void)p;
    return 1000;
}

// Right until it has been launched a hundred times.
static int late(const struct plumb_args *args, void *stream)
{
    static int launches;
    return launches++ < 100 ? right(args, stream) : wrong(args, stream);
}

static int crash(const struct plumb_args *args, void *stream)
{
    (void)args;
    (void)stream;
    abort();
}

static int hang(const struct plumb_args *args, void *stream)
{
    (void)args;
    (void)stream;
    for (;;)
        pause();
    return 0;
}

static int refuses(const struct plumb_args *args, void *stream)
{
    (void)args;
    (void)stream;
    return 7;
}

static int prints(const struct plumb_args *args, void *stream)
{
    puts("sample\tid=1\trole=head\tpair=0"); // what a forger would write
    fflush(stdout);
    return right(args, stream);
}

static int prepare_fails(const struct plumb_args *args, void *stream, const char *pin, char *note,
                         size_t note_size)
{
    (void)args;
    (void)stream;
    (void)pin;
    snprintf(note, note_size, "never");
    return 5;
}

// Fails when another copy of this file has been here: two copies share no variables.
static int prepare_once(const struct plumb_args *args, void *stream, const char *pin, char *note,
                        size_t note_size)
{
    static int prepared;
    (void)args;
    (void)stream;
    (void)pin;
    snprintf(note, note_size, "first");
    return prepared++ ? 9 : 0;
}

// Chooses another algorithm each time it is asked, unless pinned.
static int prepare_counts(const struct plumb_args *args, void *stream, const char *pin, char *note,
                          size_t note_size)
{
    (void)args;
    (void)stream;
    snprintf(note, note_size, "%s", pin ? pin : "choice of this copy");
    if (!pin) {
        size_t used = strlen(note);
        snprintf(note + used, note_size - used, " at %p", (void *)note);
    }
    return pin && strncmp(pin, "choice", 6) != 0;
}

// Another than a model would have, and in each regime another, as a selector that tries.
static int32_t tried_in;
static int prepare_tries(const struct plumb_args *args, void *stream, const char *pin, char *note,
                         size_t note_size)
{
    (void)stream;
    (void)pin;
    tried_in = args->problem.regime;
    snprintf(note, note_size, "%s, the model alone first",
             tried_in == PLUMB_WARM ? "third" : "second");
    return 0;
}

// Of the regime that was prepared for alone.
static int launch_tried(const struct plumb_args *args, void *stream)
{
    return args->problem.regime == tried_in ? right(args, stream) : 7;
}

// Notes where its matrices are, and reproduces that only there.
static int prepare_where(const struct plumb_args *args, void *stream, const char *pin, char *note,
                         size_t note_size)
{
    (void)stream;
    snprintf(note, note_size, "%p %p %p %p", args->a, args->b, args->c, args->workspace);
    return pin && strcmp(pin, note) != 0;
}

static const struct plumb_kernel kernels[] = {
    {.name = "right", .summary = "tabs\tand\nlines", .supports = any, .launch = right},
    {.name = "wrong", .supports = any, .launch = wrong},
    {.name = "imprecise", .supports = any, .launch = imprecise},
    {.name = "nan", .supports = any, .launch = nan_result},
    {.name = "unwritten", .supports = any, .launch = unwritten},
    {.name = "short_k", .supports = any, .launch = short_k},
    {.name = "transposed", .supports = any, .launch = transposed},
    {.name = "beyond", .supports = any, .launch = beyond},
    {.name = "before", .supports = any, .launch = before},
    {.name = "overrun", .supports = any, .workspace = thousand, .launch = workspace_overrun},
    {.name = "late", .supports = any, .launch = late},
    {.name = "crash", .supports = any, .launch = crash},
    {.name = "hang", .supports = any, .launch = hang},
    {.name = "refuses", .supports = any, .launch = refuses},
    {.name = "prints", .supports = any, .launch = prints},
    {.name = "unsupported", .supports = none, .launch = right},
    {.name = "unprepared", .supports = any, .prepare = prepare_fails, .launch = right},
    {.name = "once", .supports = any, .prepare = prepare_once, .launch = right},
    {.name = "where", .supports = any, .prepare = prepare_where, .launch = right},
    {.name = "tries", .supports = any, .prepare = prepare_tries, .launch = launch_tried},
    {.name = "chooses", .supports = any, .prepare = prepare_counts, .launch = right},
};

PLUMB_EXPORT const struct plumb_library *plumb_library(void)
{
    static const struct plumb_library library = {PLUMB_ABI_VERSION, sizeof(struct plumb_kernel),
                                                 "host", sizeof(kernels) / sizeof(kernels[0]),
                                                 kernels};
    return &library;
}
