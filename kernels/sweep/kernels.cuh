// SPDX-License-Identifier: Apache-2.0
//
// What sweep runs beside the kernels under test: inputs, comparison, flush, time stamps.
#ifndef PLUMB_SWEEP_KERNELS_CUH
#define PLUMB_SWEEP_KERNELS_CUH

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>
#include <stdint.h>

#include "../kernel.h"

__device__ uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15ull; // splitmix64, Steele et al. 2014
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

__device__ float normal(uint64_t seed, uint64_t i)
{
    const uint64_t bits = mix(seed * 0x100000001b3ull + i);
    const float u = ((bits >> 40) + 1) * 0x1p-24f, v = (bits & 0xffffff) * 0x1p-24f;
    return sqrtf(-2 * logf(u)) * cospif(2 * v);
}

// spread: magnitudes from 2^-12 to 2^3 side by side, so that products cancel and saturate, and what
// is out of place is out by orders of magnitude.
__global__ void fill(void *data, int type, size_t count, uint64_t seed, bool spread)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count;
         i += (size_t)gridDim.x * blockDim.x) {
        const float x = normal(seed, i) * (spread ? exp2f((int)(mix(~seed + i) % 16) - 12) : 1);
        if (type == PLUMB_BF16)
            ((__nv_bfloat16 *)data)[i] = __float2bfloat16_rn(x);
        else if (type == PLUMB_FP16)
            ((__half *)data)[i] = __float2half_rn(x);
        else if (type == PLUMB_E4M3)
            ((__nv_fp8_e4m3 *)data)[i] = __nv_fp8_e4m3(x * 96);
        else
            ((float *)data)[i] = x;
    }
}

__device__ double load(const void *data, int type, size_t i)
{
    if (type == PLUMB_BF16)
        return __bfloat162float(((const __nv_bfloat16 *)data)[i]);
    if (type == PLUMB_FP16)
        return __half2float(((const __half *)data)[i]);
    if (type == PLUMB_E4M3)
        return (float)((const __nv_fp8_e4m3 *)data)[i];
    return ((const float *)data)[i];
}

// One element of A B in float64, by a warp, and what its errors are measured against: the root of
// the sum of its products' squares.
struct exact_sum {
    double sum, spread;
};

__device__ exact_sum exact_product(const plumb_problem &p, const void *a, const void *b, size_t row,
                                   size_t column, double scale)
{
    double sum = 0, squares = 0;
    for (int64_t k = threadIdx.x % 32; k < p.k; k += 32) {
        const size_t at_b = p.layout == PLUMB_NN ? k * p.n + column : column * p.k + k;
        const double x = load(a, p.in_type, row * p.k + k) * load(b, p.in_type, at_b);
        sum += x;
        squares += x * x;
    }
    for (int d = 16; d; d /= 2) {
        sum += __shfl_xor_sync(~0u, sum, d);
        squares += __shfl_xor_sync(~0u, squares, d);
    }
    return {sum * scale, sqrt(squares) * scale};
}

// Compares `count` outputs (all of them, or a random choice) with a float64 sum; one warp each.
// bad counts those off by more than rounding allows, worst keeps the largest error / scale. Of a
// dual GEMM an output's error is that of two sums: silu's slope is at most 1.1, and its quotient is
// good to 2^-20. between: the sums were rounded so on their way.
__global__ void compare(plumb_problem p, const void *a, const void *b, const void *c, double scale,
                        double tolerance, double rounding, double between, size_t count,
                        uint64_t seed, unsigned long long *bad, float *worst)
{
    const size_t warps = (size_t)gridDim.x * blockDim.x / 32, all = (size_t)p.m * p.n;
    for (size_t w = (blockIdx.x * (size_t)blockDim.x + threadIdx.x) / 32; w < count; w += warps) {
        const size_t i = count == all ? w : mix(seed + w) % all;
        const size_t row = i / p.n, column = i % p.n;
        const exact_sum first = exact_product(p, a, b, row, column, scale);
        double wanted = first.sum, spread = first.spread, allowed = tolerance * spread;
        if (p.epilogue == PLUMB_DUAL_SILU) {
            const exact_sum second = exact_product(p, a, b, row, p.n + column, scale);
            const double gate = first.sum / (1 + exp(-first.sum));
            wanted = gate * second.sum;
            spread = first.spread * fabs(second.sum) + fabs(gate) * second.spread;
            const double each = tolerance + between;
            allowed = 1.1 * each * first.spread * (fabs(second.sum) + each * second.spread) +
                      fabs(gate) * each * second.spread + 0x1p-20 * fabs(wanted);
        }
        if (threadIdx.x % 32)
            continue;
        const double value = load(c, p.out_type, i), error = fabs(value - wanted);
        if (!(error <= rounding * fabs(wanted) + allowed + 1e-30))
            atomicAdd(bad, 1ull);
        const float relative = error / (spread + 1e-30);
        atomicMax((int *)worst, __float_as_int(relative == relative ? relative : INFINITY));
    }
}

__global__ void differ(const uint32_t *x, const uint32_t *y, size_t words, unsigned long long *bad)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < words;
         i += (size_t)gridDim.x * blockDim.x)
        if (x[i] != y[i])
            atomicAdd(bad, 1ull);
}

__global__ void read_flush(const uint4 *data, size_t count, uint32_t *sink)
{
    uint32_t x = 0;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count;
         i += (size_t)gridDim.x * blockDim.x)
        x ^= data[i].x ^ data[i].y ^ data[i].z ^ data[i].w;
    if (x == 0x12345)
        *sink = x;
}

__device__ uint64_t now_ns()
{
    uint64_t t;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
    return t;
}

__global__ void hold(uint64_t ns)
{
    const uint64_t start = now_ns();
    while (now_ns() - start < ns)
        ;
}

__global__ void stamp(uint64_t *out)
{
    uint32_t sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    out[0] = clock64();
    out[1] = now_ns();
    out[2] = sm;
}

#endif
