// SPDX-License-Identifier: Apache-2.0
//
// One launch into poisoned memory, and its outputs against float64 sums.
#ifndef PLUMB_SWEEP_VERIFY_CUH
#define PLUMB_SWEEP_VERIFY_CUH

#include <math.h>
#include <string.h>

#include <algorithm>

#include "memory.cuh"

// Errors are judged against sqrt(sum (a b)^2), the size of a random sum: inputs rounded to TF32
// give 2^-11 twice per product; FP8's fast sums keep about 14 bits at each of k / 32 steps; the
// output rounds once.
static double tolerance(const plumb_problem &p)
{
    const double accumulate = 0x1p-23 * (double)p.k / 8;
    if (p.in_type == PLUMB_TF32)
        return 6 * 0x1p-11 + accumulate;
    if (p.in_type == PLUMB_E4M3)
        return 8 * 0x1p-11 + 4 * 0x1p-14 * (double)p.k / 32;
    return 0x1p-15 + accumulate;
}

// Loads without TMA leave rounding to the tensor core, which truncates TF32 towards zero.
static double rounding(const plumb_problem &p)
{
    if (p.in_type == PLUMB_TF32)
        return 0x1p-9;
    const int out_type = p.out_type;
    return out_type == PLUMB_BF16 ? 0x1p-8 : out_type == PLUMB_FP16 ? 0x1p-11 : 0x1p-22;
}

constexpr size_t every_output = 5000000000ull, some_outputs = 200000000ull;

// Controls of a dual GEMM round its products to BF16 on their way, some of them parts of the sums
// too; our kernels do not.
static bool is_control(const plumb_kernel *kernel)
{
    return kernel->prepare && !strncmp(kernel->name, "cublaslt", 8);
}

// Judges all outputs if that takes at most `products` multiplications, else a random choice.
static bool verify(const device_memory &d, const plumb_problem &p, const plumb_kernel *kernel,
                   bool loud, size_t products = every_output)
{
    const char *name = kernel->name;
    const size_t all = (size_t)p.m * p.n, limit = products / p.k;
    const size_t count = all < limit ? all : std::min<size_t>({all, 65536, limit / 10});
    const double scale = p.in_type == PLUMB_E4M3 ? 1.0 / 96 / 96 : 1;
    CHECK(cudaMemsetAsync(d.bad, 0, sizeof *d.bad, d.stream));
    CHECK(cudaMemsetAsync(d.worst, 0, sizeof *d.worst, d.stream));
    compare<<<2048, 256, 0, d.stream>>>(p, d.a, d.b, d.c, scale, tolerance(p), rounding(p),
                                        is_control(kernel) ? 0x1p-7 : 0, count, 7, d.bad, d.worst);
    unsigned long long bad;
    float worst;
    CHECK(cudaMemcpyAsync(&bad, d.bad, sizeof bad, cudaMemcpyDeviceToHost, d.stream));
    CHECK(cudaMemcpyAsync(&worst, d.worst, sizeof worst, cudaMemcpyDeviceToHost, d.stream));
    CHECK(cudaStreamSynchronize(d.stream));
    if (bad || loud)
        fprintf(stderr, "%s %s %ldx%ldx%ld: %llu of %zu wrong, worst %.2e\n", bad ? "WRONG" : "ok",
                name, (long)p.m, (long)p.n, (long)p.k, bad, count, worst);
    return bad == 0;
}

// In layout TN, or in NN or as a dual GEMM for a kernel that does that alone.
static plumb_problem problem_for(const plumb_kernel *kernel, long m, long n, long k)
{
    plumb_problem p = {};
    p.m = m;
    p.n = n;
    p.k = k;
    p.in_type = kernel->traits.in_type;
    p.out_type = kernel->traits.out_type;
    p.layout = PLUMB_NN;
    p.batch = 1;
    if (kernel->supports(&p))
        return p;
    p.layout = PLUMB_TN;
    plumb_problem dual = p;
    dual.epilogue = PLUMB_DUAL_SILU;
    return kernel->supports(&dual) ? dual : p;
}

static size_t workspace_of(const plumb_kernel *kernel, const plumb_problem &p)
{
    return kernel->workspace ? kernel->workspace(&p) : 0;
}

static bool launch_once(const device_memory &d, const plumb_kernel *kernel, const plumb_problem &p)
{
    const plumb_args args = make_args(d, p);
    const size_t c_bytes = (size_t)p.m * p.n * type_bytes(p.out_type);
    CHECK(cudaMemsetAsync(d.c, 0xff, c_bytes + 256, d.stream));
    const int error = kernel->launch(&args, d.stream);
    if (error) {
        fprintf(stderr, "WRONG %s %ldx%ldx%ld: launch error %d\n", kernel->name, (long)p.m,
                (long)p.n, (long)p.k, error);
        return false;
    }
    finish(d.stream, kernel->name, p);
    unsigned char after[256];
    CHECK(cudaMemcpy(after, (char *)d.c + c_bytes, sizeof after, cudaMemcpyDeviceToHost));
    for (unsigned char byte : after)
        if (byte != 0xff) {
            fprintf(stderr, "WRONG %s %ldx%ldx%ld: wrote behind C\n", kernel->name, (long)p.m,
                    (long)p.n, (long)p.k);
            return false;
        }
    return true;
}

#endif
