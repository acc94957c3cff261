// SPDX-License-Identifier: Apache-2.0
//
// Stream-K, for few tiles, and for the partial wave that many tiles leave at their end. The K slabs
// of the first `streamed` tiles are laid end to end and cut into one equal share per block,
// wherever that cuts a tile. The block with a tile's last slab finishes it; the other blocks that
// worked on it leave their sums in the workspace. All later tiles stay whole and follow, one per
// block and turn.
//
// With clusters, clusters and their tiles take the place of blocks and tiles: the blocks
// of a cluster walk together, each with its own part of the tile, and multicast the data
// that they share.
//
// A block walks its share backwards: it starts with the tile that it begins but does not end (these
// sums are in the workspace long before anybody needs them), and ends with the tile that it
// finishes. So each block waits only for blocks with lower numbers, which started no later, and
// nothing can wait in a circle. Sums are added in the order of blocks, so results are the same
// words every time.
//
// A flag per warp says that its sums are there. The workspace may hold anything at first, so a
// flag is set by writing one of 2^64 words, and the warp that has read the sums clears it: a
// launch leaves no flag to the next one. So launches keep no state, and a record of a launch
// can be replayed.
#ifndef PLUMB_GEMM_SPLIT_STREAM_CUH
#define PLUMB_GEMM_SPLIT_STREAM_CUH

#include "../configurations/cost.h"
#include "../persistent/persistent.cuh"

struct stream_params {
    gemm_params gemm;
    uint4 *partials;       // a block's sums begin at block * warps * partial_bytes
    uint64_t *flags;       // the flag of block b's warp w is at b * warps + w
    int streamed, sharers; // number of tiles shared out by slabs, and of the blocks that share them
    int share, longer;     // slabs of a sharer, and how many sharers have one more
    divider slabs_divider; // divides by gemm.slabs
};

constexpr uint64_t sums_are_there = 0xb3c81f5e07d94a26;

// Consecutive slabs of one tile, computed by one block.
struct piece {
    int tile, first, slabs;
};

// Walks the pieces of one block (or cluster) of `count`, in order.
struct piece_walk {
    const stream_params &p;
    const int unit, count;
    int end;   // end of the streamed slabs that are still to be done
    int whole; // the next whole tile

    static DEVICE int share_start(const stream_params &p, int block)
    {
        const int sharer = block < p.sharers ? block : p.sharers;
        return sharer * p.share + (sharer < p.longer ? sharer : p.longer);
    }
    DEVICE piece_walk(const stream_params &params, int cluster)
        : p(params), unit(blockIdx.x / cluster), count(gridDim.x / cluster),
          end(share_start(params, unit + 1)), whole(params.streamed + unit)
    {
    }
    DEVICE bool next(piece &out)
    {
        const int slabs = p.gemm.slabs, start = share_start(p, unit);
        if (start < end) {
            const int tile = p.slabs_divider.quotient(end - 1), from = tile * slabs;
            const int first = start > from ? start : from;
            out = {tile, first - from, end - first};
            end = first;
            return true;
        }
        out = {whole, 0, slabs};
        whole += count;
        return out.tile < p.gemm.grid.rows * p.gemm.grid.columns;
    }
};

template <class c> struct stream_sums {
    static constexpr int warps = 4 * c::consumers;
    static constexpr int warp_words = c::mi * c::n / 8 * 32; // 16-byte words of one warp's sums
    static constexpr size_t block_bytes = (size_t)warps * warp_words * 16;

    // Leaves this warp's sums in the workspace.
    static DEVICE void leave(const float (&acc)[c::mi][c::n / 2], const stream_params &p, int warp)
    {
        const int index = blockIdx.x * warps + warp, lane = threadIdx.x % 32;
        uint4 *place = p.partials + (int64_t)index * warp_words + lane;
#pragma unroll
        for (int i = 0; i < c::mi; ++i)
#pragma unroll
            for (int j = 0; j < c::n / 2; j += 4)
                __stcg(place + (i * c::n / 8 + j / 4) * 32,
                       make_uint4(__float_as_uint(acc[i][j]), __float_as_uint(acc[i][j + 1]),
                                  __float_as_uint(acc[i][j + 2]), __float_as_uint(acc[i][j + 3])));
        __threadfence();
        __syncwarp();
        if (lane == 0)
            store_release(p.flags + index, sums_are_there);
    }

    // Adds the sums that earlier blocks left for the tile whose slabs begin at `from`.
    static DEVICE void collect(float (&acc)[c::mi][c::n / 2], const stream_params &p, int warp,
                               int from)
    {
        const int lane = threadIdx.x % 32;
        int unit = blockIdx.x / c::cluster, block = blockIdx.x;
        do {
            block -= c::cluster;
            const int index = block * warps + warp;
            while (load_acquire(p.flags + index) != sums_are_there)
                ;
            __syncwarp();
            const uint4 *place = p.partials + (int64_t)index * warp_words + lane;
#pragma unroll
            for (int i = 0; i < c::mi; ++i)
#pragma unroll
                for (int j = 0; j < c::n / 2; j += 4) {
                    const uint4 v = __ldcg(place + (i * c::n / 8 + j / 4) * 32);
                    acc[i][j] += __uint_as_float(v.x);
                    acc[i][j + 1] += __uint_as_float(v.y);
                    acc[i][j + 2] += __uint_as_float(v.z);
                    acc[i][j + 3] += __uint_as_float(v.w);
                }
            __syncwarp();
            if (lane == 0)
                p.flags[index] = 0;
        } while (piece_walk::share_start(p, --unit) > from);
    }
};

template <class c>
DEVICE void stream_produce(const gemm_maps &maps, const stream_params &p,
                           const block_memory<c> &memory, int rank_m, int rank_n)
{
    ring_position at;
    piece_walk walk(p, c::cluster);
    for (piece work; walk.next(work);) {
        const tile_loads<c> loads(p.gemm, tile_at(work.tile, p.gemm.grid), rank_m, rank_n);
        load_slabs(loads, maps, memory, at, p.gemm.stages, work.first, work.first + work.slabs);
    }
    let_next_launch_begin();
    wait_for_peers(memory, at, p.gemm.stages);
}

template <class c>
DEVICE void stream_consume(const gemm_maps &maps, const stream_params &p,
                           const block_memory<c> &memory, int rank_m, int rank_n)
{
    const tile_part<c> part;
    const float scale = output_scale<c>(p.gemm);
    gemm_params now = p.gemm; // a copy whose slabs are those of the present piece
    consumer<c> self = {now, memory, rank_m, rank_n, part.offset_a(), part.offset_b()};
    typename c::stager out = {maps.c, maps.tail, memory.staging(part.warp), p.gemm.out};
    float acc[c::mi][c::n / 2];
    piece_walk walk(p, c::cluster);
    for (piece work; walk.next(work);) {
        now.slabs = work.slabs;
        self.accumulate(acc);
        if (work.first + work.slabs < p.gemm.slabs) {
            stream_sums<c>::leave(acc, p, part.warp);
            continue;
        }
        if (work.first > 0)
            stream_sums<c>::collect(acc, p, part.warp, work.tile * p.gemm.slabs);
        const tile t = tile_at(work.tile, p.gemm.grid);
        out.store_held(acc, scale, part.row(t.row * c::cm + rank_m),
                       part.column(t.column * c::cn + rank_n));
    }
    if (elect())
        bulk_wait_read<0>();
}

// The producer keeps more state than the persistent kernel's producer: 40 registers are not enough.
template <class c> struct stream_registers {
    static constexpr int producer = 56;
    static constexpr int rest = (c::launch_registers * c::threads / 128 - producer) / c::consumers;
    static constexpr int consumer = rest / 8 * 8 > 240 ? 240 : rest / 8 * 8;
};

template <class c>
__global__ void __launch_bounds__(c::threads, c::blocks)
    stream_gemm(const __grid_constant__ gemm_maps maps, const __grid_constant__ stream_params p)
{
    static_assert(!c::pingpong, "a tile's sums are one set");
    extern __shared__ __align__(1024) uint8_t shared[];
    const block_memory<c> memory(shared_address(shared), p.gemm.stages);
    const int rank = c::cluster == 1 ? 0 : (int)cluster_rank();
    const int rank_m = rank % c::cm, rank_n = rank / c::cm;
    set_barriers(memory, p.gemm.stages);
    begin_block<c>(maps);
    if (threadIdx.x < 128) {
        if constexpr (c::reallocate)
            registers_give<stream_registers<c>::producer>();
        if (threadIdx.x == 0)
            stream_produce<c>(maps, p, memory, rank_m, rank_n);
    } else {
        if constexpr (c::reallocate)
            registers_take<stream_registers<c>::consumer>();
        stream_consume<c>(maps, p, memory, rank_m, rank_n);
    }
}

// ---- host ----

constexpr size_t stream_flags_bytes = 65536;

template <class c> size_t stream_workspace(const plumb_problem *)
{
    return stream_flags_bytes + (size_t)count_sms() * c::blocks * stream_sums<c>::block_bytes;
}

template <class c>
static stream_params make_stream_params(const plumb_args *args, const schedule &s, int resident,
                                        int *blocks)
{
    stream_params p = {};
    p.gemm = make_params<c>(args, s);
    const int tiles = p.gemm.grid.rows * p.gemm.grid.columns;
    const plumb_stream_shares shares = plumb_share_slabs(tiles, p.gemm.slabs, resident);
    const int slabs = shares.streamed * p.gemm.slabs;
    p.flags = static_cast<uint64_t *>(args->workspace);
    p.partials =
        reinterpret_cast<uint4 *>(static_cast<uint8_t *>(args->workspace) + stream_flags_bytes);
    p.streamed = shares.streamed;
    p.sharers = shares.sharers;
    p.share = slabs / shares.sharers;
    p.longer = slabs % shares.sharers;
    p.slabs_divider = divider::by(p.gemm.slabs);
    *blocks = shares.blocks * c::cluster;
    return p;
}

template <class c> static int launch_stream(const plumb_args *args, void *stream, const schedule &s)
{
    gemm_maps maps = {};
    if (args->workspace_bytes < stream_workspace<c>(&args->problem) ||
        make_maps<c>(&maps, args) != cudaSuccess)
        return cudaErrorInvalidValue;
    cluster_launch launch(c::threads, c::cluster, c::smem_bytes(s.stages), stream);
    static const int resident = resident_clusters<c>(stream_gemm<c>, &launch.config);
    if (resident == 0)
        return cudaErrorInvalidConfiguration;
    int blocks;
    const stream_params p = make_stream_params<c>(args, s, resident, &blocks);
    launch.config.gridDim = dim3(blocks);
    launch.begin_early();
    return cudaLaunchKernelEx(&launch.config, stream_gemm<c>, maps, p);
}

// True up to about three waves of tiles. With more, the partial wave is a small part of the work,
// and L2 hits are lost because blocks walk through K out of step.
template <class c> int supports_stream(const plumb_problem *problem)
{
    constexpr int64_t most_tiles = 400;
    return supports_tn<typename c::type, c::dual>(problem) &&
           count_tiles<c>(problem) <= most_tiles &&
           most_tiles * ceil_div(problem->k, c::bk) < INT32_MAX;
}

template <class c> constexpr plumb_traits stream_traits(int stages, int raster, int group)
{
    plumb_traits t = persistent_traits<c>(stages, raster, group);
    t.split_k = -1;
    t.overlap = PLUMB_OVERLAP_NONE;
    return t;
}

// A row of a kernel table.
template <class c, int stages, int raster, int group>
constexpr plumb_kernel stream_row(const char *name,
                                  const char *summary = "stream-K over the workspace")
{
    static_assert(stages >= 2 && stages <= c::most_stages(), "stages do not fit shared memory");
    return {name,
            summary,
            stream_traits<c>(stages, raster, group),
            supports_stream<c>,
            stream_workspace<c>,
            nullptr,
            launch_scheduled<launch_stream<c>, stages, raster, group>};
}

#endif
