// SPDX-License-Identifier: Apache-2.0
//
// One tile per block, like brief.cuh, in clusters that share what they load: for outputs of about
// one wave of tiles whose rows do not begin with a sector of L2 (32 bytes), so that loading is what
// takes the time.
//
// A cluster's blocks meet once, when their barriers are set up; what is not shared is asked for
// before. At the end nobody waits for a peer. A block may leave, since by then
//   - all that its peers load for it has arrived: its consumers have waited for every slab;
//   - no peer arrives on its barriers any more: a slab is only released if a later one takes its
//     stage, which the block's producer has waited for.
// Every block must have rows of A or of B (supports_allied()): one without waits for nothing and
// would release slabs too soon.
#ifndef PLUMB_ALLIED_CUH
#define PLUMB_ALLIED_CUH

#include "brief.cuh"

// The producer's warp. One thread sets the barriers up and loads all slabs.
template <class c>
DEVICE void allied_produce(const tile_loads<c> &loads, const gemm_maps &maps, const gemm_params &p,
                           const block_memory<c> &memory)
{
    const int count = p.slabs < p.stages ? p.slabs : p.stages;
    const bool producer = elect();
    if (producer) {
#pragma unroll 1
        for (int stage = 0; stage < p.stages; ++stage) {
            barrier_init(memory.full(stage), 1);
            barrier_init(memory.empty(stage), c::consumers * (c::cm + c::cn - 1));
        }
        barrier_init_fence();
    }
    __syncwarp();
    cluster_arrive_relaxed();
    if (producer) {
#pragma unroll 1
        for (int slab = 0; slab < count; ++slab) {
            barrier_arrive_expect(memory.full(slab), loads.bytes);
            if constexpr (c::cn == 1)
                loads.load_a(maps, memory.a(slab), slab, memory.full(slab));
            if constexpr (c::cm == 1)
                loads.load_b(maps, memory.b(slab), slab, memory.full(slab));
        }
    }
    __syncwarp();
    cluster_wait();
    if (!producer)
        return;
#pragma unroll 1
    for (int slab = 0; slab < count; ++slab) {
        if constexpr (c::cn > 1)
            loads.load_a(maps, memory.a(slab), slab, memory.full(slab));
        if constexpr (c::cm > 1)
            loads.load_b(maps, memory.b(slab), slab, memory.full(slab));
    }
    ring_position at;
    at.skip(count % p.stages, count / p.stages, p.stages);
    load_slabs(loads, maps, memory, at, p.stages, count, p.slabs);
}

// Sums all slabs; hands on the stages that are filled again.
template <class c>
DEVICE void allied_accumulate(consumer<c> &self, float (&acc)[c::mi][c::n / 2],
                              const gemm_params &p)
{
    self.pin_all(acc);
#pragma unroll 1
    for (int slab = 0; slab < p.slabs; ++slab) {
        self.start_next(acc, slab > 0);
        wgmma_wait<1>();
        if (slab > 0 && slab - 1 + p.stages < p.slabs)
            self.release_previous();
        self.advance();
    }
    wgmma_wait<0>();
    self.pin_all(acc);
}

template <class c>
__global__ void __launch_bounds__(c::threads, 1)
    allied_gemm(const __grid_constant__ gemm_maps maps, const __grid_constant__ gemm_params p)
{
    static_assert(!c::pingpong && !c::promote && !c::scaled && !c::swapped && c::blocks == 1 &&
                      c::cluster > 1,
                  "one plain tile");
    extern __shared__ __align__(1024) uint8_t shared[];
    const block_memory<c> memory(shared_address(shared), p.stages);
    const int rank = (int)cluster_rank(), rank_m = rank % c::cm, rank_n = rank / c::cm;
    const tile t = {(int)blockIdx.y, (int)blockIdx.x / c::cluster};
    if (threadIdx.x < 32) {
        const tile_loads<c> loads(p, t, rank_m, rank_n);
        allied_produce<c>(loads, maps, p, memory);
        return;
    }
    cluster_arrive_relaxed();
    if (threadIdx.x == 32)
        tensor_prefetch(&maps.c);
    __syncwarp();
    cluster_wait();
    if (threadIdx.x < 128)
        return;
    const int warp = (int)uniform(threadIdx.x / 32) - 4, group = warp / 4;
    const int part_m = group % c::wm, part_n = group / c::wm;
    consumer<c> self = {p,
                        memory,
                        rank_m,
                        rank_n,
                        part_m * (c::c_mi * 64u * slab_bytes),
                        part_n * (uint32_t)(c::n * slab_bytes)};
    const int row = (t.row * c::cm + rank_m) * c::c_rows + part_m * (c::c_mi * 64) + warp % 4 * 16;
    const int column = (t.column * c::cn + rank_n) * c::c_columns + part_n * c::c_n;
    typename c::stager out = {maps.c, maps.tail, memory.staging(warp), p.out};
    float acc[c::mi][c::n / 2];
    allied_accumulate<c>(self, acc, p);
    const float scale = output_scale<c>(p);
    if (p.out.direct)
        c::stager::store_elements(acc, scale, p.out, row, column);
    else
        out.put_all_sums(acc, scale, row, column);
    if (elect())
        bulk_wait_read<0>();
}

// ---- host ----

template <class c, int stages> int launch_allied_row(const plumb_args *args, void *stream)
{
    gemm_maps maps = {};
    if (make_maps<c>(&maps, args) != cudaSuccess)
        return cudaErrorInvalidValue;
    const gemm_params p = make_params<c>(args, {PLUMB_RASTER_M, 1, stages});
    cluster_launch launch(c::threads, c::cluster, c::smem_bytes(stages), stream);
    static const int resident = resident_clusters<c>(allied_gemm<c>, &launch.config);
    if (resident == 0)
        return cudaErrorInvalidConfiguration;
    launch.config.gridDim = dim3(p.grid.columns * c::cluster, p.grid.rows);
    return cudaLaunchKernelEx(&launch.config, allied_gemm<c>, maps, p);
}

template <class c> int supports_allied(const plumb_problem *problem)
{
    return supports_brief<c>(problem) && (ceil_div(problem->m, c::c_rows) % c::cm == 0 ||
                                          ceil_div(problem->n, c::c_columns) % c::cn == 0);
}

// What was fastest at 1000^3 in BF16.
constexpr tiling allied_tiling = {
    .tile_m = 128, .tile_n = 96, .groups_m = 2, .cluster_m = 2, .cluster_n = 2};
constexpr int allied_stages = 6;

// As measured: rows that begin in the middle of a sector, a wave of clusters (of which an H200
// holds 28 to 30), and a K of about a thousand.
template <class c> bool takes_allied(const plumb_problem &problem)
{
    const int clusters =
        ceil_div(problem.m, c::c_rows * c::cm) * ceil_div(problem.n, c::c_columns * c::cn);
    return problem.k * c::type::bytes % 32 == 16 && problem.k >= 512 && problem.k <= 2048 &&
           clusters >= 20 && clusters <= 28 && supports_allied<c>(&problem);
}

#endif
