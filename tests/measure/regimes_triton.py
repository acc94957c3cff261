#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two changes of a Triton kernel, as libraries for bench: regimes_triton.py KERNEL_H FOLDER.

On a GPU with PyTorch and Triton, and a C compiler. FOLDER/base and FOLDER/head get
libtriton_group.so (tiles in groups of 8 rows, then of 1) and libtriton_stages.so (4 stages, then
3): what Triton compiled, behind the C ABI, launched as Triton launches it.
"""
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
import triton
import triton.language as tl

BM, BN, BK, WARPS = 128, 128, 64, 4


@triton.jit
def product(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
            GROUP: tl.constexpr):
    rows, columns = tl.cdiv(m, BM), tl.cdiv(n, BN)
    band = tl.program_id(0) // (GROUP * columns)
    high = min(rows - band * GROUP, GROUP)
    within = tl.program_id(0) % (GROUP * columns)
    i = (band * GROUP + within % high) * BM + tl.arange(0, BM)
    j = within // high * BN + tl.arange(0, BN)
    l = tl.arange(0, BK)
    left = a + i[:, None].to(tl.int64) * k + l[None, :]
    right = b + j[None, :].to(tl.int64) * k + l[:, None]
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(0, k, BK):
        total = tl.dot(tl.load(left), tl.load(right), total)
        left += BK
        right += BK
    tl.store(c + i[:, None].to(tl.int64) * n + j[None, :], total.to(tl.bfloat16))


SOURCE = r"""
#include "kernel.h"
#include <dlfcn.h>
#include <stddef.h>

typedef int load_t(void **, const void *);
typedef int get_t(void **, void *, const char *);
typedef int attribute_t(void *, int, int);
typedef int start_t(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                    void *, void **, void **);
static const unsigned char image[] __attribute__((aligned(16))) = {@IMAGE@};
static void *function;
static start_t *start;

static int ready(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW), *module;
    if (function)
        return 0;
    start = (start_t *)dlsym(driver, "cuLaunchKernel");
    int code = ((load_t *)dlsym(driver, "cuModuleLoadData"))(&module, image);
    if (code == 0)
        code = ((get_t *)dlsym(driver, "cuModuleGetFunction"))(&function, module, "product");
    return code ? code : ((attribute_t *)dlsym(driver, "cuFuncSetAttribute"))(function, 8, @SHARED@);
}

static int supports(const struct plumb_problem *p)
{
    return p->in_type == PLUMB_BF16 && p->out_type == PLUMB_BF16 && p->layout == PLUMB_TN &&
           p->batch == 1 && p->epilogue == 0 && p->m % @BM@ == 0 && p->n % @BN@ == 0 &&
           p->k % @BK@ == 0;
}

static int prepare(const struct plumb_args *args, void *stream, const char *pin, char *note,
                   size_t size)
{
    (void)args, (void)stream, (void)pin;
    if (size)
        note[0] = 0;
    return ready();
}

static int launch(const struct plumb_args *args, void *stream)
{
    int m = (int)args->problem.m, n = (int)args->problem.n, k = (int)args->problem.k;
    const void *a = args->a, *b = args->b;
    void *c = args->c, *none = NULL;
    void *parameters[] = {&a, &b, &c, &m, &n, &k, &none, &none};
    const int code = ready();
    return code ? code
                : start(function, (unsigned)(m / @BM@ * (n / @BN@)), 1, 1, @THREADS@, 1, 1,
                        @SHARED@, stream, parameters, NULL);
}

static const struct plumb_kernel kernels[] = {{"@NAME@",
                                               "Triton, @BM@x@BN@x@BK@",
                                               {.in_type = PLUMB_BF16,
                                                .out_type = PLUMB_BF16,
                                                .tile_m = @BM@,
                                                .tile_n = @BN@,
                                                .tile_k = @BK@},
                                               supports,
                                               NULL,
                                               prepare,
                                               launch}};
static const struct plumb_library library = {PLUMB_ABI_VERSION, sizeof(struct plumb_kernel),
                                             "cuda", 1, kernels};
__attribute__((visibility("default"))) const struct plumb_library *plumb_library(void)
{
    return &library;
}
"""


def build(header, target, name, group, stages):
    a, b = (torch.randn(512, 512, device="cuda").bfloat16() for _ in range(2))
    c = torch.empty(512, 512, device="cuda", dtype=torch.bfloat16)
    compiled = product[(512 // BM * 512 // BN,)](a, b, c, 512, 512, 512, BM, BN, BK, group,
                                                 num_warps=WARPS, num_stages=stages)
    text = SOURCE
    for key, value in {"IMAGE": ",".join(str(x) for x in compiled.asm["cubin"]),
                       "SHARED": compiled.metadata.shared, "THREADS": 32 * WARPS,
                       "NAME": name.replace("_", "-"), "BM": BM, "BN": BN, "BK": BK}.items():
        text = text.replace(f"@{key}@", str(value))
    with tempfile.TemporaryDirectory() as scratch:
        source = Path(scratch) / "kernel.c"
        source.write_text(text)
        subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-I", str(Path(header).parent), "-o",
                        str(target / f"lib{name}.so"), str(source), "-ldl"], check=True)


def main():
    header, folder = sys.argv[1:]
    for side, group, stages in (("base", 8, 4), ("head", 1, 3)):
        build(header, Path(folder) / side, "triton_group", group, 4)
        build(header, Path(folder) / side, "triton_stages", 8, stages)


main()
