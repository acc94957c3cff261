// SPDX-License-Identifier: Apache-2.0
//
// The first road: a library. -DSOURCE is the kernel's file.
#include SOURCE
#include "kernel.h"
#define TEXT_OF(name) #name
#define NAME_OF(name) TEXT_OF(name)

static int supports(const struct plumb_problem *p)
{
    return p->in_type == (sizeof(TYPE) == 4 ? PLUMB_FP32 : PLUMB_BF16) &&
           p->out_type == PLUMB_FP32 && p->layout == 0 && p->batch == 1 && p->epilogue == 0 &&
           p->m % TILE == 0 && p->n % TILE == 0 && p->k % DEPTH == 0;
}

static int launch(const struct plumb_args *args, void *stream)
{
    const struct plumb_problem *p = &args->problem;
    KERNEL<<<dim3(p->n / TILE, p->m / TILE), 256, 0, (cudaStream_t)stream>>>(
        (const TYPE *)args->a, (const TYPE *)args->b, (float *)args->c, (int)p->m, (int)p->n,
        (int)p->k);
    return (int)cudaGetLastError();
}

static const struct plumb_kernel kernel = {
    NAME_OF(KERNEL) "-shim", "by a shim", {}, supports, NULL, NULL, launch};
PLUMB_LIBRARY("cuda", kernel)
