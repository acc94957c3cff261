// SPDX-License-Identifier: Apache-2.0
//
// The persistent, warp-specialised GEMM of Hopper: C = A * B^T, both operands K-major (layout TN).
//
//   producer warpgroup      one thread fills a ring of `stages` K slabs by TMA, tile after tile;
//                           it never stops at a tile's end and gives its registers away.
//   consumer warpgroups     wm x wn of them divide the tile (or, ping-pong, take turns at whole
//                           tiles); each keeps one slab's matrix instructions in flight while it
//                           releases the slab before.
//   cluster of cm x cn      the blocks of a column share B's rows, those of a row share A's: each
//                           loads its part of the slab and multicasts it.
//   epilogue                while the next tile's slabs are multiplied, each warp brings 16 rows of
//                           128 bytes at a time into its own small ring of shared memory and lets
//                           TMA store them (seam.cuh, epilogue.cuh).
//
// The producer's loop (load_slabs()) is not unrolled: code that has not run since the launch comes
// from memory, and unrolled by four it is 2.5 KB. That gained 0.4 % in BF16, 1.1 % in FP8 and 0.3 %
// in TF32 where tiles are few, 0 to 0.4 % elsewhere.
//
// The full barrier of a stage counts the slab's bytes; its empty barrier counts one arrival per
// consumer warpgroup that reads what this block loads, in whichever block of the cluster.
#ifndef PLUMB_PERSISTENT_CUH
#define PLUMB_PERSISTENT_CUH

#include "launch.cuh"
#include "seam.cuh"

// The producer's thread loads `count` of the first tile's slabs, at most as many as there are
// stages, all of which are free. In an eager block it sets their barriers up before.
template <class c>
DEVICE void load_first(const gemm_maps &maps, const gemm_params &p, const block_memory<c> &memory,
                       int first, int count)
{
    if constexpr (c::eager) {
#pragma unroll 1
        for (int stage = 0; stage < p.stages; ++stage) {
            barrier_init(memory.full(stage), 1);
            barrier_init(memory.empty(stage), c::consumers);
        }
        barrier_init_fence();
    }
    const tile_loads<c> loads(p, tile_at(first, p.grid), 0, 0);
#pragma unroll 1
    for (int slab = 0; slab < count; ++slab) {
        barrier_arrive_expect(memory.full(slab), loads.bytes);
        loads.load_a(maps, memory.a(slab), slab, memory.full(slab));
        loads.load_b(maps, memory.b(slab), slab, memory.full(slab));
    }
}

// Until a peer in the cluster can no longer arrive on this block's barriers: all its stages are
// free. Nothing more comes into them then, for its own consumers have read all that was sent. (A
// barrier of the whole cluster at the end, and one that orders memory at the start, take a launch
// 0.7 us longer: clusters.csv in baselines/recorded/h200/ladder.)
template <class c>
DEVICE void wait_for_peers(const block_memory<c> &memory, ring_position at, int stages)
{
    if constexpr (c::cluster > 1)
#pragma unroll 1
        for (int stage = 0; stage < stages; ++stage) {
            barrier_wait(memory.empty(at.stage), at.phase ^ 1);
            at.advance(stages);
        }
}

// One thread loads all slabs of all tiles. Those of the first tile that are `loaded` are on their
// way already.
template <class c>
DEVICE void produce(const gemm_maps &maps, const gemm_params &p, const block_memory<c> &memory,
                    int rank_m, int rank_n, int first, int step, int loaded)
{
    ring_position at;
    if (loaded == p.stages)
        at.phase = 1;
    else
        at.stage = loaded;
    for (int index = first; index < p.grid.tiles; index += step) {
        const tile_loads<c> loads(p, tile_at(index, p.grid), rank_m, rank_n);
        load_slabs(loads, maps, memory, at, p.stages, loaded, p.slabs);
        loaded = 0;
    }
    wait_for_peers(memory, at, p.stages);
}

// Per-tensor scales of FP8; 1 for the others, whose multiplications the compiler drops.
template <class c> DEVICE float output_scale(const gemm_params &p)
{
    if constexpr (c::type::dtype == PLUMB_E4M3 && !c::scaled)
        return (p.scale_a ? *p.scale_a : 1.0f) * (p.scale_b ? *p.scale_b : 1.0f);
    return 1;
}

// One warp copies the scales of all slabs of all tiles.
template <class c>
DEVICE void produce_scales(const gemm_params &p, const block_memory<c> &memory, int rank_m,
                           int rank_n, int first, int step)
{
    ring_position at;
    for (int index = first; index < p.grid.tiles; index += step) {
        const tile t = tile_at(index, p.grid);
        load_scales<c>(p, memory, at, p.stages, (t.row * c::cm + rank_m) * c::bm,
                       (t.column * c::cn + rank_n) * c::bn, 0, p.slabs);
    }
    copy_async_wait_all();
}

template <class c>
DEVICE void consume(const CUtensorMap &map_c, const CUtensorMap &map_tail, const gemm_params &p,
                    const block_memory<c> &memory, int rank_m, int rank_n, int first, int step)
{
    const int warp = (int)uniform(threadIdx.x / 32) - 4;
    const int group = warp / 4; // consumer warpgroup
    const int part_m = c::pingpong || c::wm == 1 ? 0 : group % c::wm;
    const int part_n = c::pingpong || c::wn == 1 ? 0 : group / c::wm;
    consumer<c> self = {p,
                        memory,
                        rank_m,
                        rank_n,
                        part_m * (c::c_mi * 64u * slab_bytes),
                        part_n * (uint32_t)(c::n * slab_bytes)};
    output_of<c> out = {p,
                        {map_c, map_tail, memory.staging(warp), p.out},
                        output_scale<c>(p),
                        rank_m,
                        rank_n,
                        part_m,
                        part_n,
                        warp};
    if constexpr (c::pingpong)
        take_turns<c>(self, out, group, first, step);
    else if (c::cooperative && first + step >= p.grid.tiles)
        only_tile<c>(self, out, first);
    else if constexpr (c::alternate)
        alternate<c>(self, out, first, step);
    else
        hold_results<c>(self, out, first, step);
    if (elect())
        bulk_wait_read<0>();
}

// The barriers are set up: fetches the tensor maps, and lets the cluster, or the
// block's consumers, go on.
template <class c> DEVICE void begin_block(const gemm_maps &maps)
{
    if (threadIdx.x == 32) {
        tensor_prefetch(&maps.a);
        tensor_prefetch(&maps.b);
        tensor_prefetch(&maps.c);
    }
    __syncwarp();
    if constexpr (c::cluster > 1) {
        cluster_arrive_relaxed(); // the barriers' own fence orders them
        cluster_wait();
    } else if constexpr (c::scaled)
        __syncthreads();
    else if (threadIdx.x < 32)
        named_barrier_arrive(3, c::threads - 96); // nobody in this warp waits for the others
    else if (threadIdx.x >= 128)
        named_barrier(3, c::threads - 96);
}

template <class c>
__global__ void __launch_bounds__(c::threads, c::blocks)
    persistent_gemm(const __grid_constant__ gemm_maps maps, const __grid_constant__ gemm_params p)
{
    extern __shared__ __align__(1024) uint8_t shared[];
    const block_memory<c> memory(shared_address(shared), p.stages);
    const int rank = c::cluster == 1 ? 0 : (int)cluster_rank();
    const int rank_m = rank % c::cm, rank_n = rank / c::cm;
    const int first = blockIdx.x / c::cluster, step = gridDim.x / c::cluster;

    const int loaded = !c::eager && !c::prompt ? 0 : p.slabs < p.stages ? p.slabs : p.stages;
    if constexpr (c::eager) {
        if (is_producer())
            load_first<c>(maps, p, memory, first, loaded);
    } else if (threadIdx.x < p.stages) { // at most 32: the producer's warp
        barrier_init(memory.full(threadIdx.x), c::full_arrivals);
        barrier_init(memory.empty(threadIdx.x),
                     (c::pingpong ? 1 : c::consumers) * (c::cm + c::cn - 1) * c::releases);
        barrier_init_fence();
    }
    begin_block<c>(maps);

    if (threadIdx.x < 128) {
        if (c::prompt && is_producer())
            load_first<c>(maps, p, memory, first, loaded);
        if constexpr (c::reallocate)
            registers_give<c::producer_registers>();
        if constexpr (c::scaled)
            if (threadIdx.x / 32 == 1)
                produce_scales<c>(p, memory, rank_m, rank_n, first, step);
        if (!is_producer())
            return; // a cluster's barriers do not wait for threads that have left
        produce<c>(maps, p, memory, rank_m, rank_n, first, step, loaded);
    } else {
        if constexpr (c::reallocate)
            registers_take<c::consumer_registers>();
        consume<c>(maps.c, maps.tail, p, memory, rank_m, rank_n, first, step);
    }
}

// ---- host ----

// Clusters of this kernel that fit on the device at once, 0 on error. (Functions that remember
// something are static: shared libraries of one process would share an inline function's variable,
// and the second one's kernels would never be prepared.)
template <class c, class kernel>
static int resident_clusters(kernel gemm, cudaLaunchConfig_t *launch)
{
    int clusters = 0, device = 0, sms = 0;
    if (cudaFuncSetAttribute(gemm, cudaFuncAttributeMaxDynamicSharedMemorySize, c::smem_limit) !=
        cudaSuccess)
        return 0;
    if (c::cluster == 1) {
        if (cudaGetDevice(&device) != cudaSuccess ||
            cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device) != cudaSuccess)
            return 0;
        return sms * c::blocks;
    }
    cudaLaunchConfig_t all = *launch;
    all.gridDim = dim3(c::cluster);
    if (cudaOccupancyMaxActiveClusters(&clusters, gemm, &all) != cudaSuccess)
        return 0;
    return clusters;
}

template <class c> static int launch_gemm(const plumb_args *args, void *stream, const schedule &s)
{
    gemm_maps maps = {};
    if (make_maps<c>(&maps, args) != cudaSuccess)
        return cudaErrorInvalidValue;
    const gemm_params p = make_params<c>(args, s);
    cluster_launch launch(c::threads, c::cluster, c::smem_bytes(s.stages), stream);
    static const int resident = resident_clusters<c>(persistent_gemm<c>, &launch.config);
    if (resident == 0)
        return cudaErrorInvalidConfiguration;
    launch.config.gridDim = dim3((p.grid.tiles < resident ? p.grid.tiles : resident) * c::cluster);
    return cudaLaunchKernelEx(&launch.config, persistent_gemm<c>, maps, p);
}

// A row of a kernel table: the ABI's functions for one configuration and one schedule.
template <class c, int stages, int raster, int group>
int launch_row(const plumb_args *args, void *stream)
{
    return launch_gemm<c>(args, stream, {raster, group, stages});
}

// States how many blocks an SM holds, and the registers that this leaves a thread at most.
template <class c> constexpr void set_resident(plumb_traits *t, int blocks)
{
    t->blocks_per_sm = blocks;
    t->registers = c::registers_beside(blocks) > 255 ? 255 : c::registers_beside(blocks);
}

template <class c> constexpr plumb_traits persistent_traits(int stages, int raster, int group)
{
    plumb_traits t = {};
    t.in_type = c::type::dtype;
    t.out_type = c::output::dtype;
    t.acc_type = PLUMB_FP32;
    t.tile_m = c::c_rows;
    t.tile_n = c::c_columns;
    t.tile_k = c::bk;
    t.stages = stages;
    t.cluster_m = c::cm;
    t.cluster_n = c::cn;
    t.threads = c::threads;
    t.smem_bytes = c::smem_bytes(stages);
    set_resident<c>(&t, c::blocks);
    t.persistent = 1;
    t.raster = raster;
    t.raster_group = group;
    t.split_k = 1;
    t.overlap = c::pingpong                  ? PLUMB_OVERLAP_PINGPONG
                : c::overlap || c::alternate ? PLUMB_OVERLAP_NEXT_TILE
                                             : PLUMB_OVERLAP_NONE;
    t.promote_k = c::promote ? c::bk : 0;
    t.multiply = PLUMB_WGMMA;
    if (c::swapped) { // in C's own rows and columns
        t.tile_m = c::c_columns;
        t.tile_n = c::c_rows;
        t.cluster_m = c::cn;
        t.cluster_n = c::cm;
        t.raster = raster == PLUMB_RASTER_M   ? PLUMB_RASTER_N
                   : raster == PLUMB_RASTER_N ? PLUMB_RASTER_M
                                              : raster;
    }
    return t;
}

#endif
