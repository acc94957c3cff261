// SPDX-License-Identifier: Apache-2.0
//
// What the rungs of the TF32 ladder share, so that each rung's file shows its one idea: loading
// slabs of FP32 without TMA, writing accumulators straight to C, and the ABI around a kernel.
//
// All rungs compute C (m x n) = A (m x k) * B (n x k)^T, both operands K-major (TN), as wgmma needs
// for TF32; transpose.cu brings the other layout into this one.
#ifndef PLUMB_LADDER_CUH
#define PLUMB_LADDER_CUH

#include "element.cuh"
#include "schedule.cuh"

struct operands {
    const float *a, *b;
    float *c;
    int m, n, k;
};

inline operands operands_of(const plumb_args *args)
{
    return {(const float *)args->a, (const float *)args->b, (float *)args->c,
            (int)args->problem.m,   (int)args->problem.n,   (int)args->problem.k};
}

// TN TF32 with rows of 16-byte multiples.
inline int supports_tf32(const plumb_problem *p)
{
    const int64_t limit = INT32_MAX / 2;
    return p->in_type == PLUMB_TF32 && p->out_type == PLUMB_FP32 && p->layout == PLUMB_TN &&
           p->batch == 1 && p->epilogue == 0 && p->m > 0 && p->n > 0 && p->k > 0 && p->k % 4 == 0 &&
           p->m < limit && p->n < limit && p->k < limit;
}

inline dim3 grid_of(const plumb_args *args, int bm, int bn)
{
    return dim3((unsigned)((args->problem.n + bn - 1) / bn),
                (unsigned)((args->problem.m + bm - 1) / bm));
}

constexpr plumb_traits ladder_traits(int bm, int bn, int bk, int stages, int threads, int smem,
                                     int registers, int blocks, int raster = PLUMB_RASTER_N,
                                     int group = 1, int multiply = PLUMB_WGMMA)
{
    plumb_traits t = {};
    t.in_type = PLUMB_TF32;
    t.out_type = PLUMB_FP32;
    t.acc_type = PLUMB_FP32;
    t.tile_m = bm;
    t.tile_n = bn;
    t.tile_k = bk;
    t.stages = stages;
    t.cluster_m = t.cluster_n = 1;
    t.threads = threads;
    t.smem_bytes = smem;
    t.registers = registers;
    t.blocks_per_sm = blocks;
    t.raster = raster;
    t.raster_group = group;
    t.split_k = 1;
    t.multiply = multiply;
    return t;
}

// The index-th tile when bands of `band` tile rows are walked column by column.
DEVICE tile banded_tile(int index, int rows, int columns, int band)
{
    const int number = index / (band * columns), within = index % (band * columns);
    const int height = min(band, rows - number * band);
    return {number * band + within % height, within / height};
}

// Copies a slab of `rows` rows of 128 bytes (32 of K) into shared memory with cp.async, its 16-byte
// parts permuted by row % 8 as wgmma's 128-byte swizzle wants. Outside the matrix come zeros.
template <int rows, int threads>
DEVICE void load_slab_swizzled(uint32_t shared, const float *matrix, int first, int limit, int from,
                               int k)
{
    static_assert(rows * 8 % threads == 0, "whole turns");
#pragma unroll
    for (int i = 0; i < rows * 8 / threads; ++i) {
        const int part = (i * threads + threadIdx.x) % 8, row = (i * threads + threadIdx.x) / 8;
        const int at = from + part * 4;
        const bool inside = first + row < limit && at < k;
        const float *source = inside ? matrix + (int64_t)(first + row) * k + at : matrix;
        copy_async_16(shared + row * slab_bytes + ((part ^ row % 8) << 4), source, inside);
    }
}

// One warp's 16 rows of wgmma accumulators, n columns wide, straight to C: each four lanes fill a
// 32-byte sector.
template <int n>
DEVICE void store_direct(const float (&acc)[n / 2], const operands &o, int row, int column)
{
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < n / 2; i += 2) {
        const int y = row + lane / 4 + i / 2 % 2 * 8;
        const int x = column + i / 4 * 8 + lane % 4 * 2;
        float *out = o.c + (int64_t)y * o.n + x;
        if (y < o.m && x + 1 < o.n && o.n % 2 == 0)
            *(float2 *)out = make_float2(acc[i], acc[i + 1]);
        else if (y < o.m && x < o.n) {
            out[0] = acc[i];
            if (x + 1 < o.n)
                out[1] = acc[i + 1];
        }
    }
}

#endif
