// SPDX-License-Identifier: Apache-2.0
//
// One tile per block with the shortest way to its first byte, for outputs of about one wave of
// tiles and a short K. The loading thread sets up each stage's barriers and asks for as many slabs
// as there are stages before it tells the other threads. A block's place in the grid decides its
// tile. At 512^3 in BF16 the first slab is asked for 0.35 us after the block began and arrives
// after 1.3 us; the product takes 0.8 us more and its storing 0.3 us. The launch itself is the
// other 3 of 5.6 us (the persistent kernel takes 6.1).
#ifndef PLUMB_GEMM_SMALL_TILE_PER_BLOCK_CUH
#define PLUMB_GEMM_SMALL_TILE_PER_BLOCK_CUH

#include "../persistent/persistent.cuh"

// One thread sets up all barriers: of so few stages, that is soonest done.
template <class c> DEVICE void begin_ring(const block_memory<c> &memory, int stages)
{
#pragma unroll 1
    for (int stage = 0; stage < stages; ++stage) {
        barrier_init(memory.full(stage), 1);
        barrier_init(memory.empty(stage), c::consumers);
    }
    barrier_init_fence();
}

// Loads the slabs after the first ones.
template <class c>
DEVICE void brief_produce(const tile_loads<c> &loads, const gemm_maps &maps, const gemm_params &p,
                          const block_memory<c> &memory)
{
    ring_position at;
    const int count = p.slabs < p.stages ? p.slabs : p.stages;
    at.skip(count % p.stages, count / p.stages, p.stages);
    load_slabs(loads, maps, memory, at, p.stages, count, p.slabs);
    let_next_launch_begin();
}

template <class c>
__global__ void __launch_bounds__(c::threads, 1)
    brief_gemm(const __grid_constant__ gemm_maps maps, const __grid_constant__ gemm_params p)
{
    static_assert(!c::pingpong && !c::promote && !c::scaled && c::blocks == 1, "one plain tile");
    // A version with clusters, which ended without meeting, hung on an H200.
    static_assert(c::cluster == 1, "no clusters");
    constexpr int meeting = 32 + 128 * c::consumers;
    extern __shared__ __align__(1024) uint8_t shared[];
    const block_memory<c> memory(shared_address(shared), p.stages);
    const tile t = {(int)(blockIdx.z * gridDim.x + blockIdx.x), (int)blockIdx.y};
    if (t.row >= p.grid.rows) // the last band may have fewer rows
        return;
    if (threadIdx.x < 128) {
        const bool producer = is_producer();
        const tile_loads<c> loads(p, t, 0, 0);
        if (producer) {
            begin_ring(memory, p.stages);
            wait_for_launch_before();
            load_free(loads, maps, memory, p.slabs < p.stages ? p.slabs : p.stages);
        }
        __syncwarp();
        if (threadIdx.x < 32)
            named_barrier_arrive(3, meeting);
        else if (threadIdx.x == 32)
            tensor_prefetch(&maps.c);
        if constexpr (c::reallocate)
            registers_give<c::producer_registers>();
        if (producer)
            brief_produce<c>(loads, maps, p, memory);
        return;
    }
    if constexpr (c::reallocate)
        registers_take<c::consumer_registers>();
    const tile_part<c> part;
    consumer<c> self = {p, memory, 0, 0, part.offset_a(), part.offset_b()};
    const int row = part.row(t.row), column = part.column(t.column);
    typename c::stager out = {maps.c, maps.tail, memory.staging(part.warp), p.out};
    float acc[c::mi][c::n / 2];
    named_barrier(3, meeting);
    wait_for_launch_before();
    self.accumulate(acc);
    const float scale = output_scale<c>(p);
    if (p.out.direct)
        c::stager::store_elements(acc, scale, p.out, row, column);
    else
        out.put_all_sums(acc, scale, row, column);
    if (elect())
        bulk_wait_read<0>();
}

// ---- host ----

// The number of tile rows in a band, which is walked column by column: about `most` if there
// are more than eight columns. Bands save up to 30 % of the time, because blocks that run at
// once then ask for half as many different rows. With fewer columns a band gains nothing. A
// block finds its tile from its place in the grid without a division, which would cost small
// products 2 to 4 % before the first load. So the last band has blocks for rows that do not
// exist, as few as possible.
inline int brief_band(int rows, int columns, int most)
{
    if (columns <= 8 || most == 1)
        return 1;
    if (rows <= most + 1)
        return rows;
    int best = most, least = most;
    for (int change : {0, -1, 1, -2}) {
        const int band = most + change, idle = (band - rows % band) % band;
        if (idle < least) {
            least = idle;
            best = band;
        }
    }
    return best;
}

template <class c> static int launch_brief(const plumb_args *args, void *stream, const schedule &s)
{
    gemm_maps maps = {};
    if (make_maps<c>(&maps, args) != cudaSuccess)
        return cudaErrorInvalidValue;
    const gemm_params p = make_params<c>(args, s);
    cluster_launch launch(c::threads, c::cluster, c::smem_bytes(s.stages), stream);
    static const int resident = resident_clusters<c>(brief_gemm<c>, &launch.config);
    if (resident == 0)
        return cudaErrorInvalidConfiguration;
    const int band = brief_band(p.grid.rows, p.grid.columns, s.group);
    launch.config.gridDim = dim3(band, p.grid.columns, ceil_div(p.grid.rows, band));
    launch.begin_early();
    return cudaLaunchKernelEx(&launch.config, brief_gemm<c>, maps, p);
}

// About three waves of tiles. More tiles are better left to the persistent kernel,
// which keeps running.
constexpr int most_brief_tiles = 400;

template <class c> int supports_brief(const plumb_problem *problem)
{
    return supports_tn<typename c::type, c::dual>(problem) &&
           count_tiles<c>(problem) <= most_brief_tiles;
}

template <class c> constexpr plumb_traits brief_traits(int stages, int raster, int group)
{
    plumb_traits t = persistent_traits<c>(stages, raster, group);
    t.persistent = 0;
    t.overlap = PLUMB_OVERLAP_NONE;
    return t;
}

// A row of a kernel table.
template <class c, int stages, int raster, int group>
constexpr plumb_kernel brief_row(const char *name,
                                 const char *summary = "one tile per block, soon begun")
{
    static_assert(stages >= 2 && stages <= c::most_stages(), "stages do not fit shared memory");
    return {name,
            summary,
            brief_traits<c>(stages, raster, group),
            supports_brief<c>,
            nullptr,
            nullptr,
            launch_scheduled<launch_brief<c>, stages, raster, group>};
}

#endif
