// SPDX-License-Identifier: Apache-2.0
//
// K spread over the whole device, for outputs of few tiles and a long K. The slabs of each tile
// are cut into as many parts as there are SMs for the tile, one block each. All blocks leave their
// sums in the workspace, and then finish the tile together: for 16 rows by 8 columns at a time, a
// warp adds the sums of all parts, always in the order of the parts, and stores the result. A
// cluster (split/cluster.cuh) cannot be as large, and in stream-K (split/stream.cuh) one block
// adds for all.
//
// A flag for each part and each 16 by 8 results says that the sums are there. The workspace may
// hold anything at first, so a flag is set by writing one of 2^64 words, and its only reader clears
// it: a launch leaves no flag to the next one. A block waits for other blocks of its tile, so all
// blocks of a launch must fit on the device at once. There are never more blocks than SMs.
#ifndef PLUMB_GEMM_SPLIT_DEVICE_CUH
#define PLUMB_GEMM_SPLIT_DEVICE_CUH

#include "../configurations/cost.h"
#include "../persistent/persistent.cuh"

struct spread_params {
    gemm_params gemm;
    float4 *partials; // sums of 16 x 8 results, lane by lane: [block][warp][group][lane]
    uint64_t *flags;  // [tile][warp][group][part]
    int tiles, parts; // tiles * parts blocks; neighbours belong to the same part
    divider by_tiles;
};

constexpr uint64_t part_is_there = 0x5ad1c9e37f20b86d;

template <class c> struct spread_sums {
    static constexpr int warps = 4 * c::consumers;
    static constexpr int groups = c::mi * c::n / 8; // groups of 16 x 8 sums in one warp
    static constexpr int units = warps * groups;    // groups of 16 x 8 sums in a tile
    static constexpr size_t block_bytes = (size_t)units * 512;

    // Leaves this warp's sums in the workspace and sets their flags.
    static DEVICE void leave(const float (&acc)[c::mi][c::n / 2], const spread_params &p, int tile,
                             int part, int warp)
    {
        const int lane = threadIdx.x % 32;
        float4 *place = p.partials + ((int64_t)blockIdx.x * units + warp * groups) * 32 + lane;
#pragma unroll
        for (int i = 0; i < c::mi; ++i)
#pragma unroll
            for (int j = 0; j < c::n / 2; j += 4)
                __stcg(place + (i * c::n / 8 + j / 4) * 32,
                       make_float4(acc[i][j], acc[i][j + 1], acc[i][j + 2], acc[i][j + 3]));
        __threadfence();
        __syncwarp();
        for (int group = lane; group < groups; group += 32)
            store_release(p.flags + (tile * units + warp * groups + group) * p.parts + part,
                          part_is_there);
    }

    // Returns the sum over all parts of a unit of 16 x 8 results, after waiting for each part.
    static DEVICE float4 collect(const spread_params &p, int tile, int unit)
    {
        const int lane = threadIdx.x % 32;
        uint64_t *flags = p.flags + (tile * units + unit) * p.parts;
        for (int part = lane; part < p.parts; part += 32) {
            while (load_acquire(flags + part) != part_is_there)
                ;
            flags[part] = 0;
        }
        __syncwarp();
        float4 sum = make_float4(0, 0, 0, 0);
        const float4 *place = p.partials + ((int64_t)tile * units + unit) * 32 + lane;
        const int64_t step = (int64_t)p.tiles * units * 32;
#pragma unroll 8
        for (int part = 0; part < p.parts; ++part) {
            const float4 v = __ldcg(place + part * step);
            sum.x += v.x;
            sum.y += v.y;
            sum.z += v.z;
            sum.w += v.w;
        }
        return sum;
    }

    // Stores a unit that begins at (row, column) of the computed matrix.
    static DEVICE void store(const float4 &sum, const output_target &out, float scale, int row,
                             int column)
    {
        using element = typename c::output::type;
        const int lane = threadIdx.x % 32, y = row + lane / 4, x = column + lane % 4 * 2;
        element *to = static_cast<element *>(out.c);
        const float values[4] = {sum.x * scale, sum.y * scale, sum.z * scale, sum.w * scale};
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int64_t at_y = y + i / 2 * 8, at_x = x + i % 2;
            if (at_y < out.m && at_x < out.n)
                to[c::swapped ? at_x * out.m + at_y : at_y * out.n + at_x] =
                    c::output::from(values[i]);
        }
    }
};

template <class c>
DEVICE void spread_consume(const spread_params &p, const block_memory<c> &memory, const tile &t,
                           int tile, int part, int slabs)
{
    using sums = spread_sums<c>;
    const tile_part<c> own;
    gemm_params now = p.gemm; // a copy whose slabs are this part's
    now.slabs = slabs;
    consumer<c> self = {now, memory, 0, 0, own.offset_a(), own.offset_b()};
    const float scale = output_scale<c>(p.gemm);
    float acc[c::mi][c::n / 2];
    self.accumulate(acc);
    sums::leave(acc, p, tile, part, own.warp);
#pragma unroll 1
    for (int unit = part + own.warp * p.parts; unit < sums::units; unit += sums::warps * p.parts) {
        // the warp and group whose sums these are
        const int owner = unit / sums::groups, within = unit % sums::groups;
        const int row = t.row * c::c_rows + owner / 4 % c::wm * (c::c_mi * 64) +
                        within / (c::n / 8) * 64 + owner % 4 * 16;
        const int column =
            t.column * c::c_columns + owner / 4 / c::wm * c::c_n + within % (c::n / 8) * 8;
        sums::store(sums::collect(p, tile, unit), p.gemm.out, scale, row, column);
    }
}

template <class c>
__global__ void __launch_bounds__(c::threads, 1)
    spread_gemm(const __grid_constant__ gemm_maps maps, const __grid_constant__ spread_params p)
{
    static_assert(c::cluster == 1 && !c::pingpong && c::blocks == 1, "one tile's part per SM");
    extern __shared__ __align__(1024) uint8_t shared[];
    const block_memory<c> memory(shared_address(shared), p.gemm.stages);
    set_barriers(memory, p.gemm.stages);
    begin_block<c>(maps);
    const int part = p.by_tiles.quotient(blockIdx.x), tile = blockIdx.x - part * p.tiles;
    const ::tile t = tile_at(tile, p.gemm.grid);
    const int from = p.gemm.slabs * part / p.parts, to = p.gemm.slabs * (part + 1) / p.parts;
    if (threadIdx.x >= 128) {
        if constexpr (c::reallocate)
            registers_take<c::consumer_registers>();
        spread_consume<c>(p, memory, t, tile, part, to - from);
        return;
    }
    if constexpr (c::reallocate)
        registers_give<c::producer_registers>();
    if (threadIdx.x == 0) {
        const tile_loads<c> loads(p.gemm, t, 0, 0);
        ring_position at;
        load_slabs(loads, maps, memory, at, p.gemm.stages, from, to);
        let_next_launch_begin();
    }
}

// ---- host ----

template <class c> size_t spread_flags_bytes()
{
    return ((size_t)count_sms() * spread_sums<c>::units * sizeof(uint64_t) + 255) / 256 * 256;
}

template <class c> size_t spread_workspace(const plumb_problem *)
{
    return spread_flags_bytes<c>() + (size_t)count_sms() * spread_sums<c>::block_bytes;
}

template <class c> static int launch_spread(const plumb_args *args, void *stream, const schedule &s)
{
    gemm_maps maps = {};
    if (args->workspace_bytes < spread_workspace<c>(&args->problem) ||
        make_maps<c>(&maps, args) != cudaSuccess)
        return cudaErrorInvalidValue;
    cluster_launch launch(c::threads, 1, c::smem_bytes(s.stages), stream);
    static const int resident = resident_clusters<c>(spread_gemm<c>, &launch.config);
    spread_params p = {};
    p.gemm = make_params<c>(args, s);
    p.tiles = p.gemm.grid.rows * p.gemm.grid.columns;
    p.parts = plumb_spread_parts(p.tiles, p.gemm.slabs, resident);
    if (p.parts == 0)
        return cudaErrorInvalidConfiguration;
    p.by_tiles = divider::by(p.tiles);
    p.flags = static_cast<uint64_t *>(args->workspace);
    p.partials = reinterpret_cast<float4 *>(static_cast<uint8_t *>(args->workspace) +
                                            spread_flags_bytes<c>());
    launch.config.gridDim = dim3(p.tiles * p.parts);
    launch.begin_early();
    return cudaLaunchKernelEx(&launch.config, spread_gemm<c>, maps, p);
}

// Each tile beyond this number would have only one part: every device with wgmma has more SMs.
constexpr int most_spread_tiles = 64;

template <class c> int supports_spread(const plumb_problem *problem)
{
    return supports_tn<typename c::type, c::dual>(problem) &&
           count_tiles<c>(problem) <= most_spread_tiles;
}

template <class c> constexpr plumb_traits spread_traits(int stages, int raster, int group)
{
    plumb_traits t = persistent_traits<c>(stages, raster, group);
    t.split_k = -2;
    t.persistent = 0;
    t.overlap = PLUMB_OVERLAP_NONE;
    return t;
}

// A row of a kernel table.
template <class c, int stages, int raster, int group>
constexpr plumb_kernel
spread_row(const char *name, const char *summary = "K spread over all SMs, through the workspace")
{
    static_assert(stages >= 2 && stages <= c::most_stages(), "stages do not fit shared memory");
    return {name,
            summary,
            spread_traits<c>(stages, raster, group),
            supports_spread<c>,
            spread_workspace<c>,
            nullptr,
            launch_scheduled<launch_spread<c>, stages, raster, group>};
}

#endif
