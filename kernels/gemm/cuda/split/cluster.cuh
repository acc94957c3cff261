// SPDX-License-Identifier: Apache-2.0
//
// Split-K within a cluster, for problems with too few tiles to fill the device. The `split` blocks
// of a cluster compute the same tile over different slabs of K. Then each warp sends its partial
// sums through distributed shared memory to the block that finishes its 16 rows (warp w to block w
// % split). So all blocks take part in the addition, it needs no workspace, and it always adds in
// the same order. There is one tile per cluster, and the kernel is not persistent.
//
// The partial sums have shared memory of their own. In a `drained` configuration they go where
// the slabs were, once all blocks of the cluster have read their slabs; that leaves more memory
// to the ring.
#ifndef PLUMB_GEMM_SPLIT_CLUSTER_CUH
#define PLUMB_GEMM_SPLIT_CLUSTER_CUH

#include "../persistent/persistent.cuh"

// c: a cooperative configuration without clusters of its own.
template <class c, int split> struct split_layout {
    static constexpr int warps = 4 * c::consumers;
    // number of warps whose rows a block finishes
    static constexpr int share = (warps + split - 1) / split;
    static constexpr int partial_bytes = c::mi * 16 * c::n * 4; // partial sums of one warp
    static constexpr int partials_bytes = share * (split - 1) * partial_bytes;
    static constexpr int own_bytes = c::drained ? 0 : 1024 + partials_bytes;
    static constexpr int least_stages =
        c::drained ? (partials_bytes + c::stage_bytes - 1) / c::stage_bytes : 2;
    static constexpr int smem_bytes(int stages)
    {
        return c::smem_bytes(stages) + own_bytes;
    }
    static constexpr int most_stages()
    {
        return (c::smem_limit - c::staging_bytes - own_bytes) /
               (c::stage_bytes + 16 + c::scale_bytes);
    }

    // owner() is the block that finishes a warp's rows; index() counts the warp among those of that
    // block. A result of a dual GEMM costs more than a sum, so a block gets neighbouring warps,
    // which sit on all four schedulers of its SM.
    static DEVICE int owner(int warp)
    {
        return c::dual ? warp / share : warp % split;
    }
    static DEVICE int index(int warp)
    {
        return c::dual ? warp % share : warp / split;
    }
};

// Sends this warp's sums to the block that finishes them: groups of four registers, lane by lane.
template <class c, int split>
DEVICE void send_partial(const float (&acc)[c::mi][c::n / 2], uint32_t partials, int warp, int rank)
{
    using layout = split_layout<c, split>;
    const int owner = layout::owner(warp), slot = rank < owner ? rank : rank - 1;
    const uint32_t place = remote_address(partials, owner) +
                           (layout::index(warp) * (split - 1) + slot) * layout::partial_bytes +
                           threadIdx.x % 32 * 16;
#pragma unroll
    for (int i = 0; i < c::mi; ++i)
#pragma unroll
        for (int j = 0; j < c::n / 2; j += 4)
            store_remote(place + (i * c::n / 8 + j / 4) * 512, acc[i][j], acc[i][j + 1],
                         acc[i][j + 2], acc[i][j + 3]);
}

template <class c, int split>
DEVICE void add_partials(float (&acc)[c::mi][c::n / 2], uint32_t partials, int warp)
{
    using layout = split_layout<c, split>;
    const uint32_t first = partials + layout::index(warp) * (split - 1) * layout::partial_bytes +
                           threadIdx.x % 32 * 16;
#pragma unroll 1
    for (int slot = 0; slot < split - 1; ++slot)
#pragma unroll
        for (int i = 0; i < c::mi; ++i)
#pragma unroll
            for (int j = 0; j < c::n / 2; j += 4) {
                const float4 v = load_shared(first + slot * layout::partial_bytes +
                                             (i * c::n / 8 + j / 4) * 512);
                acc[i][j] += v.x;
                acc[i][j + 1] += v.y;
                acc[i][j + 2] += v.z;
                acc[i][j + 3] += v.w;
            }
}

// Loads this block's share of the slabs, by one thread.
template <class c>
DEVICE void split_produce(const gemm_maps &maps, const gemm_params &p,
                          const block_memory<c> &memory, const tile &t, int from)
{
    const tile_loads<c> loads(p, t, 0, 0);
    ring_position at;
    load_slabs(loads, maps, memory, at, p.stages, from, from + p.slabs);
    let_next_launch_begin();
}

// Copies the block scales of these slabs, by one warp.
template <class c>
DEVICE void split_produce_scales(const gemm_params &whole, const block_memory<c> &memory,
                                 const tile &t, int from, int count)
{
    ring_position at;
    load_scales<c>(whole, memory, at, whole.stages, t.row * c::bm, t.column * c::bn, from,
                   from + count);
    copy_async_wait_all();
}

// p.slabs: the number of slabs in this block's share.
template <class c, int split>
DEVICE void split_consume(const gemm_maps &maps, const gemm_params &p,
                          const block_memory<c> &memory, const tile &t, int rank)
{
    using layout = split_layout<c, split>;
    const uint32_t partials = c::drained ? memory.base : (memory.scales(p.stages) + 1023) & ~1023u;
    const tile_part<c> part;
    const int warp = part.warp;
    consumer<c> self = {p, memory, 0, 0, part.offset_a(), part.offset_b()};
    float acc[c::mi][c::n / 2];
    const float scale = output_scale<c>(p);
    if constexpr (c::scaled)
        self.place(t.column * c::bn);
    self.accumulate(acc);
    if constexpr (c::drained)
        cluster_arrive();
    cluster_wait();
    if (layout::owner(warp) != rank)
        send_partial<c, split>(acc, partials, warp, rank);
    cluster_sync();
    if (layout::owner(warp) != rank)
        return;
    add_partials<c, split>(acc, partials, warp);
    const int row = part.row(t.row), column = part.column(t.column);
    typename c::stager out = {maps.c, maps.tail, memory.staging(warp), p.out};
    if (out.store_held(acc, scale, row, column) && elect())
        bulk_wait_read<0>();
}

template <class c, int split>
__global__ void __launch_bounds__(c::threads, 1)
    split_gemm(const __grid_constant__ gemm_maps maps, const __grid_constant__ gemm_params whole)
{
    extern __shared__ __align__(1024) uint8_t shared[];
    gemm_params p = whole;
    const block_memory<c> memory(shared_address(shared), p.stages);
    const int rank = (int)cluster_rank();
    const int from = p.slabs * rank / split;
    p.slabs = whole.slabs * (rank + 1) / split - from;
    const tile t = tile_at(blockIdx.x / split, p.grid);
    set_barriers(memory, p.stages);
    __syncthreads();
    if (!c::drained || threadIdx.x < 128)
        cluster_arrive(); // waited for before another block is first accessed
    wait_for_launch_before();
    if (threadIdx.x >= 128) {
        if constexpr (c::reallocate)
            registers_take<c::consumer_registers>();
        split_consume<c, split>(maps, p, memory, t, rank);
        return;
    }
    if constexpr (c::reallocate)
        registers_give<c::producer_registers>();
    if (threadIdx.x == 0)
        split_produce<c>(maps, p, memory, t, from);
    if constexpr (c::scaled)
        if (threadIdx.x / 32 == 1)
            split_produce_scales<c>(whole, memory, t, from, p.slabs);
    cluster_wait();
    cluster_sync();
}

// ---- host ----

// Every block needs at least one slab.
template <class c, int split> int supports_split(const plumb_problem *problem)
{
    return supports_tn<typename c::type, c::dual>(problem) && ceil_div(problem->k, c::bk) >= split;
}

// Asks for more shared memory, and for larger clusters if needed, than every device has.
template <class c, int split> static cudaError_t allow_split()
{
    const cudaError_t error = cudaFuncSetAttribute(
        split_gemm<c, split>, cudaFuncAttributeMaxDynamicSharedMemorySize, c::smem_limit);
    if (error != cudaSuccess || split <= 8)
        return error;
    return cudaFuncSetAttribute(split_gemm<c, split>,
                                cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
}

template <class c, int split>
static int launch_split(const plumb_args *args, void *stream, const schedule &s)
{
    using layout = split_layout<c, split>;
    static const cudaError_t allowed = allow_split<c, split>();
    gemm_maps maps = {};
    if (allowed != cudaSuccess || make_maps<c>(&maps, args) != cudaSuccess)
        return cudaErrorInvalidValue;
    const gemm_params p = make_params<c>(args, s);
    cluster_launch launch(c::threads, split, layout::smem_bytes(s.stages), stream);
    launch.config.gridDim = dim3(p.grid.rows * p.grid.columns * split);
    launch.begin_early();
    return cudaLaunchKernelEx(&launch.config, split_gemm<c, split>, maps, p);
}

template <class c, int split> constexpr plumb_traits split_traits(int stages, int raster, int group)
{
    plumb_traits t = persistent_traits<c>(stages, raster, group);
    t.smem_bytes = split_layout<c, split>::smem_bytes(stages);
    t.cluster_m = t.cluster_n = 1; // the cluster divides K and not the output
    t.persistent = 0;
    t.split_k = split;
    t.overlap = PLUMB_OVERLAP_NONE;
    // With one consumer warpgroup the registers leave room for a second block on the SM.
    if (c::consumers == 1 && 2 * (t.smem_bytes + 1024) <= 233472)
        set_resident<c>(&t, 2);
    return t;
}

// A row of a kernel table.
template <class c, int split, int stages, int raster, int group>
constexpr plumb_kernel split_row(const char *name,
                                 const char *summary = "split-K over a cluster's shared memory")
{
    static_assert(stages >= split_layout<c, split>::least_stages &&
                      stages <= split_layout<c, split>::most_stages(),
                  "stages do not fit shared memory, or partial sums not the stages");
    return {name,
            summary,
            split_traits<c, split>(stages, raster, group),
            supports_split<c, split>,
            nullptr,
            nullptr,
            launch_scheduled<launch_split<c, split>, stages, raster, group>};
}

#endif
