// SPDX-License-Identifier: Apache-2.0
//
// The TMA rungs: thread 0 has the copy engine fill a ring of stages; both warpgroups multiply, 64
// rows of the 128 x bn tile each, and all threads meet after each slab so that its stage can be
// filled again. `running` slabs' instructions (0 or 1) are not waited for before they meet. One
// block per tile, tiles in bands of 8 rows.
#ifndef PLUMB_LADDER_TMA_CUH
#define PLUMB_LADDER_TMA_CUH

#include "ladder.cuh"
#include "tensor_map.cuh"
#include "wgmma.cuh"

constexpr int tma_bm = 128, tma_threads = 256, tma_band = 8;

template <int bn> constexpr int tma_stage = (tma_bm + bn) * slab_bytes;
template <int bn, int stages> constexpr int tma_shared = stages *tma_stage<bn> + stages * 8;

// Thread 0: both operands' slabs number `slab` into its stage.
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
        // All threads have met after slab - 1, and what still ran then was slab - running.
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
