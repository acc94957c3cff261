// SPDX-License-Identifier: Apache-2.0
//
// Code that the rungs of the TF32 ladder share, so that the file of each rung shows its one
// idea: loading slabs of FP32 without TMA, writing accumulators straight to C, and the ABI
// around a kernel.
//
// All rungs compute C (m x n) = A (m x k) * B (n x k)^T, both operands K-major (TN), as wgmma needs
// them for TF32.
#ifndef PLUMB_GEMM_LADDER_LADDER_CUH
#define PLUMB_GEMM_LADDER_LADDER_CUH

#include "../element.cuh"
#include "../schedule.cuh"
#include "../tensor_map.cuh"
#include "../wgmma.cuh"

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

// True for TF32 in layout TN whose rows are multiples of 16 bytes.
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

// Makes the ABI's row of a rung.
constexpr plumb_kernel ladder_row(const char *name, const char *summary, const plumb_traits &traits,
                                  int (*launch)(const plumb_args *args, void *stream))
{
    return {name, summary, traits, supports_tf32, nullptr, nullptr, launch};
}

// The tile with number `index` if bands of `band` tile rows are walked column by column.
DEVICE tile banded_tile(int index, int rows, int columns, int band)
{
    const int number = index / (band * columns), within = index % (band * columns);
    const int height = min(band, rows - number * band);
    return {number * band + within % height, within / height};
}

// Copies a slab of `rows` rows of 128 bytes (32 of K) into shared memory with cp.async. Its 16-byte
// parts are permuted by row % 8, as wgmma's 128-byte swizzle needs them. Places outside of the
// matrix get zeros.
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

// Stores one warp's 16 rows of wgmma accumulators, n columns wide, straight to C. Every four lanes
// fill a sector of 32 bytes.
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

// ---- The mma.sync rungs' common part: 128 threads compute a 128 x 128 tile, each warp a 64 x 64
// quarter of it as 4 x 8 instructions of 16 x 8 x 8.

constexpr int mma_tile = 128, mma_threads = 128;

struct warp_tile {
    float c[4][8][4] = {};
    int row, column; // of this warp's quarter within the tile
    DEVICE warp_tile() : row(threadIdx.x / 32 % 2 * 64), column(threadIdx.x / 64 * 64)
    {
    }

    // Multiplies 8 of K. a(row, k) and b(column, k) give TF32 words.
    template <class load_a, class load_b> DEVICE void multiply(load_a a, load_b b)
    {
        const int group = threadIdx.x % 32 / 4, member = threadIdx.x % 4;
        uint32_t x[4][4], y[8][2];
#pragma unroll
        for (int i = 0; i < 4; ++i)
#pragma unroll
            for (int j = 0; j < 4; ++j)
                x[i][j] = a(row + i * 16 + group + j % 2 * 8, member + j / 2 * 4);
#pragma unroll
        for (int i = 0; i < 8; ++i)
#pragma unroll
            for (int j = 0; j < 2; ++j)
                y[i][j] = b(column + i * 8 + group, member + j * 4);
#pragma unroll
        for (int i = 0; i < 4; ++i)
#pragma unroll
            for (int j = 0; j < 8; ++j)
                mma_tf32_16x8x8(c[i][j], x[i], y[j]);
    }

    DEVICE void store(const operands &o, int tile_row, int tile_column) const
    {
        const int group = threadIdx.x % 32 / 4, member = threadIdx.x % 4;
#pragma unroll
        for (int i = 0; i < 4; ++i)
#pragma unroll
            for (int j = 0; j < 8; ++j)
#pragma unroll
                for (int r = 0; r < 4; ++r) {
                    const int y = tile_row + row + i * 16 + group + r / 2 * 8;
                    const int x = tile_column + column + j * 8 + member * 2 + r % 2;
                    if (y < o.m && x < o.n)
                        o.c[(int64_t)y * o.n + x] = c[i][j][r];
                }
    }
};

// Multiplies slabs of bk of K from one buffer: loads a slab, waits, multiplies, and begins
// again. Rows are padded by four words, so that the eight rows and four columns of a fragment
// fall on 32 different banks.
template <int bk> __global__ void __launch_bounds__(mma_threads) shared_mma(operands o)
{
    constexpr int pitch = bk + 4, parts = bk / 4;
    __shared__ __align__(16) float a[mma_tile * pitch];
    __shared__ __align__(16) float b[mma_tile * pitch];
    const int tile_row = blockIdx.y * mma_tile, tile_column = blockIdx.x * mma_tile;
    warp_tile acc;
    for (int k = 0; k < o.k; k += bk) {
#pragma unroll
        for (int i = 0; i < mma_tile * parts / mma_threads; ++i) {
            const int index = i * mma_threads + threadIdx.x;
            const int row = index / parts, part = index % parts, at = k + part * 4;
            const bool in_a = tile_row + row < o.m && at < o.k;
            const bool in_b = tile_column + row < o.n && at < o.k;
            copy_async_16(shared_address(a + row * pitch + part * 4),
                          in_a ? o.a + (int64_t)(tile_row + row) * o.k + at : o.a, in_a);
            copy_async_16(shared_address(b + row * pitch + part * 4),
                          in_b ? o.b + (int64_t)(tile_column + row) * o.k + at : o.b, in_b);
        }
        copy_async_commit();
        copy_async_wait<0>();
        __syncthreads();
#pragma unroll
        for (int step = 0; step < bk; step += 8)
            acc.multiply([&](int r, int c) { return round_tf32(a[r * pitch + step + c]); },
                         [&](int r, int c) { return round_tf32(b[r * pitch + step + c]); });
        __syncthreads();
    }
    acc.store(o, tile_row, tile_column);
}

template <int bk> int launch_shared(const plumb_args *args, void *stream)
{
    shared_mma<bk><<<grid_of(args, mma_tile, mma_tile), mma_threads, 0, (cudaStream_t)stream>>>(
        operands_of(args));
    return cudaGetLastError();
}

// ---- The wgmma rungs before TMA: two warpgroups compute a 128 x 128 tile, 64 rows each. All 256
// threads copy slabs of 32 of K with cp.async into shared memory with 128-byte swizzle. Loading
// this way has a price: only TMA rounds to TF32 on the way in, so here the tensor core truncates.

constexpr int wgmma_tile = 128, wgmma_threads = 256;
constexpr int wgmma_operand = wgmma_tile * slab_bytes, wgmma_slab = 2 * wgmma_operand;

DEVICE void load_slabs(uint32_t buffer, const operands &o, int tile_row, int tile_column, int k)
{
    load_slab_swizzled<wgmma_tile, wgmma_threads>(buffer, o.a, tile_row, o.m, k, o.k);
    load_slab_swizzled<wgmma_tile, wgmma_threads>(buffer + wgmma_operand, o.b, tile_column, o.n, k,
                                                  o.k);
    copy_async_commit();
}

// acc += A * B over the slab in `buffer`. Returns when the tensor cores have read it.
DEVICE void multiply_slab(float (&acc)[wgmma_tile / 2], uint32_t buffer)
{
    const int group = threadIdx.x / 128;
    const uint64_t a = operand_descriptor(buffer + group * 64 * slab_bytes);
    const uint64_t b = operand_descriptor(buffer + wgmma_operand);
    pin(acc);
    wgmma_fence();
#pragma unroll
    for (int step = 0; step < 4; ++step)
        wgmma<tf32, wgmma_tile>::multiply(acc, a + 2 * step, b + 2 * step, 1);
    wgmma_commit();
    wgmma_wait<0>();
    pin(acc);
}

// Computes a whole tile with two buffers: the next slab is copied while this one is multiplied.
DEVICE void double_buffered_tile(const operands &o, uint32_t buffers, int tile_row, int tile_column)
{
    float acc[wgmma_tile / 2] = {};
    load_slabs(buffers, o, tile_row, tile_column, 0);
    for (int k = 0, turn = 0; k < o.k; k += 32, turn ^= 1) {
        load_slabs(buffers + (turn ^ 1) * wgmma_slab, o, tile_row, tile_column, k + 32);
        copy_async_wait<1>();
        fence_async_shared();
        __syncthreads();
        multiply_slab(acc, buffers + turn * wgmma_slab);
        __syncthreads();
    }
    store_direct<wgmma_tile>(acc, o, tile_row + threadIdx.x / 32 * 16, tile_column);
}

// ---- The TMA rungs: thread 0 has the copy engine fill a ring of stages. Both warpgroups multiply,
// 64 rows each of the 128 x bn tile, and all threads meet after each slab so that its stage can be
// filled again. The instructions of `running` slabs (0 or 1) may still run when they meet. There is
// one block per tile, and tiles are in bands of 8 rows.

constexpr int tma_bm = 128, tma_threads = 256, tma_band = 8;

template <int bn> constexpr int tma_stage = (tma_bm + bn) * slab_bytes;
template <int bn, int stages> constexpr int tma_shared = stages *tma_stage<bn> + stages * 8;

// Run by thread 0: loads slab `slab` of both operands into its stage.
template <int bn, int stages>
DEVICE void fill_stage(const CUtensorMap &map_a, const CUtensorMap &map_b, uint32_t base, int slab,
                       int row, int column)
{
    const uint32_t stage = base + slab % stages * tma_stage<bn>;
    const uint32_t full = base + stages * tma_stage<bn> + slab % stages * 8;
    barrier_arrive_expect(full, tma_stage<bn>);
    tensor_load(stage, &map_a, slab * 32, row, full);
    tensor_load(stage + tma_bm * slab_bytes, &map_b, slab * 32, column, full);
}

template <int bn, int stages, int running>
__global__ void __launch_bounds__(tma_threads)
    tma_tf32(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
             operands o, int rows, int columns)
{
    extern __shared__ __align__(1024) uint8_t shared[];
    const uint32_t base = shared_address(shared), barriers = base + stages * tma_stage<bn>;
    const tile t = banded_tile(blockIdx.x, rows, columns, tma_band);
    const int row = t.row * tma_bm, column = t.column * bn, slabs = (o.k + 31) / 32;
    if (threadIdx.x == 0) {
        for (int i = 0; i < stages; ++i)
            barrier_init(barriers + i * 8, 1);
        barrier_init_fence();
        for (int i = 0; i < stages - 1 - running && i < slabs; ++i)
            fill_stage<bn, stages>(map_a, map_b, base, i, row, column);
    }
    __syncthreads();
    float acc[bn / 2];
    pin(acc);
    for (int slab = 0; slab < slabs; ++slab) {
        // All threads have met after slab - 1; at that time slab - running was
        // still being multiplied.
        const int ahead = slab + stages - 1 - running;
        if (threadIdx.x == 0 && ahead < slabs)
            fill_stage<bn, stages>(map_a, map_b, base, ahead, row, column);
        barrier_wait(barriers + slab % stages * 8, slab / stages & 1);
        const uint32_t stage = base + slab % stages * tma_stage<bn>;
        const uint64_t a = operand_descriptor(stage + threadIdx.x / 128 * 64 * slab_bytes);
        const uint64_t b = operand_descriptor(stage + tma_bm * slab_bytes);
        wgmma_fence();
#pragma unroll
        for (int step = 0; step < 4; ++step)
            wgmma<tf32, bn>::multiply(acc, a + 2 * step, b + 2 * step, slab + step > 0);
        wgmma_commit();
        wgmma_wait<running>();
        __syncthreads();
    }
    wgmma_wait<0>();
    pin(acc);
    store_direct<bn>(acc, o, row + threadIdx.x / 32 * 16, column);
}

template <int bn, int stages, int running = 0> int launch_tma(const plumb_args *args, void *stream)
{
    constexpr int bytes = tma_shared<bn, stages>;
    const plumb_problem &p = args->problem;
    CUtensorMap map_a, map_b;
    int error = cudaFuncSetAttribute(tma_tf32<bn, stages, running>,
                                     cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (!error)
        error = make_tensor_map(&map_a, {args->a, p.m, p.k, p.k * 4, tf32::map}, tma_bm, 32, true);
    if (!error)
        error = make_tensor_map(&map_b, {args->b, p.n, p.k, p.k * 4, tf32::map}, bn, 32, true);
    if (error)
        return error;
    const dim3 grid = grid_of(args, tma_bm, bn);
    tma_tf32<bn, stages, running><<<grid.x * grid.y, tma_threads, bytes, (cudaStream_t)stream>>>(
        map_a, map_b, operands_of(args), grid.y, grid.x);
    return cudaGetLastError();
}

#endif
