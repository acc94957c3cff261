// SPDX-License-Identifier: Apache-2.0
//
// One tile per block, like small/tile_per_block.cuh, but in clusters that share their loads. It is
// for outputs of about one wave of tiles whose rows of A and B are an odd number of half sectors
// of L2 (16 bytes): every second row then begins in the middle of a sector, and loading takes most
// of the time.
//
// A tile has every second row of A, and so of C. Even rows begin with a sector. Odd rows begin with
// a sector 16 bytes before K begins, so their blocks begin there too: bytes outside of a matrix are
// loaded as zeros. Half of B's rows begin in the middle of a sector in any case.
//
// The blocks of a cluster meet once, when their barriers are set up. Before that each block asks
// for its first slab alone. At the end no block waits for a peer. It may leave, because by then
//   - everything that its peers load for it has arrived: its consumers have waited for every slab;
//   - no peer arrives on its barriers any more: a slab is only released if a later one takes its
//     stage, which the block's producer has waited for.
// Every block must have rows of A or of B (supports_allied()): a block without rows waits for
// nothing and would release slabs too soon.
#ifndef PLUMB_GEMM_SMALL_TILE_PER_BLOCK_CLUSTERS_CUH
#define PLUMB_GEMM_SMALL_TILE_PER_BLOCK_CLUSTERS_CUH

#include "tile_per_block.cuh"

// The maps of every second row of A and C.
struct allied_half {
    CUtensorMap a, edge_a, c, tail;
};

// The maps of the even rows, and of the odd rows.
struct allied_maps {
    CUtensorMap b, edge_b;
    allied_half halves[2];
};

struct allied_params {
    gemm_params gemm; // m: number of rows of a half; slabs: not used
    int k;
};

// The rows of one operand that a block's tile needs. `sharers` blocks share them, and take turns at
// loading whole slabs. If each loaded a part of every slab, which must be whole swizzle atoms, it
// would be no faster.
template <int tile_rows, int sharers> struct allied_rows {
    const CUtensorMap *whole, *edge;
    int rows, first; // number of rows of the matrix; first row of the tile
    int rank;        // number of this block among the sharers
    uint16_t ranks;  // bits of the sharers in the cluster

    // The bytes that a block receives per slab.
    DEVICE uint32_t bytes() const
    {
        return row_parts{rows, tile_rows}.received(first, 1) * slab_bytes;
    }

    // Loads the slab that begins at x of K, for this block alone.
    DEVICE void load_alone(uint32_t stage, int x, uint32_t full) const
    {
        if (const CUtensorMap *map = box())
            tensor_load(stage, map, x, first, full);
    }

    // Loads a slab for all sharers, if it is this block's turn.
    DEVICE void load(uint32_t stage, int slab, int x, uint32_t full) const
    {
        if (slab % sharers == rank)
            if (const CUtensorMap *map = box())
                tensor_load_multicast(stage, map, x, first, full, ranks);
    }

  private:
    // The map to load with; NULL: the tile lies outside of the matrix.
    DEVICE const CUtensorMap *box() const
    {
        const extent e = row_parts{rows, tile_rows}.extent_at(first);
        return e == extent::whole ? whole : e == extent::edge ? edge : nullptr;
    }
};

template <class c> struct allied_loads {
    allied_rows<c::bm, c::cn> a;
    allied_rows<c::bn, c::cm> b;
    int early; // number of elements before K's beginning

    DEVICE void load_alone(const block_memory<c> &memory, int slab) const
    {
        const int x = slab * c::bk - early;
        a.load_alone(memory.a(slab), x, memory.full(slab));
        b.load_alone(memory.b(slab), x, memory.full(slab));
    }
    DEVICE void load(const block_memory<c> &memory, int stage, int slab) const
    {
        const int x = slab * c::bk - early;
        a.load(memory.a(stage), slab, x, memory.full(stage));
        b.load(memory.b(stage), slab, x, memory.full(stage));
    }
};

// The producer's warp. One thread sets up the barriers and loads all slabs.
template <class c>
DEVICE void allied_produce(const allied_loads<c> &loads, const gemm_params &p,
                           const block_memory<c> &memory)
{
    const int count = p.slabs < p.stages ? p.slabs : p.stages;
    const uint32_t bytes = loads.a.bytes() + loads.b.bytes();
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
    wait_for_launch_before();
    if (producer) {
#pragma unroll 1
        for (int slab = 0; slab < count; ++slab)
            barrier_arrive_expect(memory.full(slab), bytes);
        loads.load_alone(memory, 0);
    }
    __syncwarp();
    cluster_wait();
    if (!producer)
        return;
#pragma unroll 1
    for (int slab = 1; slab < count; ++slab)
        loads.load(memory, slab, slab);
    ring_position at;
    at.skip(count % p.stages, count / p.stages, p.stages);
#pragma unroll 1
    for (int slab = count; slab < p.slabs; ++slab) {
        barrier_wait(memory.empty(at.stage), at.phase ^ 1);
        barrier_arrive_expect(memory.full(at.stage), bytes);
        loads.load(memory, at.stage, slab);
        at.advance(p.stages);
    }
    let_next_launch_begin();
}

// Sums all slabs, and hands back each stage that will be filled again.
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
    allied_gemm(const __grid_constant__ allied_maps maps,
                const __grid_constant__ allied_params whole)
{
    static_assert(!c::pingpong && !c::promote && !c::scaled && !c::swapped && c::blocks == 1 &&
                      c::boxes == 1 && c::wn == 1 && c::mi == 1 && c::cm > 1 && c::cn > 1,
                  "one plain tile, both operands shared");
    extern __shared__ __align__(1024) uint8_t shared[];
    gemm_params p = whole.gemm;
    const block_memory<c> memory(shared_address(shared), p.stages);
    const int rank = (int)cluster_rank(), rank_m = rank % c::cm, rank_n = rank / c::cm;
    const int odd = (int)blockIdx.y % 2, early = odd * (16 / c::type::bytes);
    const allied_half &half = maps.halves[odd];
    const int first_row = ((int)blockIdx.y / 2 * c::cm + rank_m) * c::bm;
    const int first_column = ((int)blockIdx.x / c::cluster * c::cn + rank_n) * c::bn;
    p.slabs = (whole.k + early + c::bk - 1) / c::bk;
    if (threadIdx.x < 32) {
        constexpr int row_ranks = 1 | 1 << c::cm, column_ranks = (1 << c::cm) - 1;
        const allied_loads<c> loads = {
            {&half.a, &half.edge_a, p.out.m, first_row, rank_n, uint16_t(row_ranks << rank_m)},
            {&maps.b, &maps.edge_b, p.out.n, first_column, rank_m,
             uint16_t(column_ranks << (rank_n * c::cm))},
            early};
        allied_produce<c>(loads, p, memory);
        return;
    }
    cluster_arrive_relaxed();
    if (threadIdx.x == 32)
        tensor_prefetch(&half.c);
    __syncwarp();
    cluster_wait();
    wait_for_launch_before();
    if (threadIdx.x < 128)
        return;
    const int warp = (int)uniform(threadIdx.x / 32) - 4, group = warp / 4;
    consumer<c> self = {p, memory, rank_m, rank_n, group * (64u * slab_bytes), 0};
    typename c::stager out = {half.c, half.tail, memory.staging(warp), p.out};
    float acc[c::mi][c::n / 2];
    allied_accumulate<c>(self, acc, p);
    out.put_all_sums(acc, output_scale<c>(p), first_row + warp * 16, first_column);
    if (elect())
        bulk_wait_read<0>();
}

// ---- host ----

template <class c> cudaError_t make_allied_maps(allied_maps *maps, const plumb_args *args)
{
    using output = typename c::output;
    constexpr int element = sizeof(typename output::type), piece = 128 / element;
    static_assert(c::c_n > piece && c::c_n % piece != 0, "a whole piece and a narrower one");
    const plumb_problem &p = args->problem;
    const int64_t rows = p.m / 2, pitch = p.k * c::type::bytes, c_pitch = p.n * element;
    const matrix b = {args->b, p.n, p.k, pitch, c::type::map};
    cudaError_t error = make_operand_maps(&maps->b, &maps->edge_b, b, p.n, c::bn, c::box_k);
    for (int odd = 0; odd < 2 && !error; ++odd) {
        allied_half &half = maps->halves[odd];
        const matrix a = {static_cast<const uint8_t *>(args->a) + odd * pitch, rows, p.k, 2 * pitch,
                          c::type::map};
        const matrix out = {static_cast<uint8_t *>(args->c) + odd * c_pitch, rows, p.n, 2 * c_pitch,
                            output::map};
        error = make_operand_maps(&half.a, &half.edge_a, a, rows, c::bm, c::box_k);
        if (!error)
            error = make_tensor_map(&half.c, out, 16, piece, true);
        if (!error)
            error = make_tensor_map(&half.tail, out, 16, c::c_n % piece, false);
    }
    return error;
}

template <class c> dim3 allied_grid(const plumb_problem &problem)
{
    return dim3(ceil_div(problem.n, c::bn * c::cn) * c::cluster,
                2 * ceil_div(problem.m / 2, c::bm * c::cm));
}

template <class c, int stages> int launch_allied_row(const plumb_args *args, void *stream)
{
    allied_maps maps = {};
    if (make_allied_maps<c>(&maps, args) != cudaSuccess)
        return cudaErrorInvalidValue;
    allied_params p = {make_params<c>(args, {PLUMB_RASTER_M, 1, stages}), (int)args->problem.k};
    p.gemm.out.m /= 2;
    cluster_launch launch(c::threads, c::cluster, c::smem_bytes(stages), stream);
    static const int resident = resident_clusters<c>(allied_gemm<c>, &launch.config);
    if (resident == 0)
        return cudaErrorInvalidConfiguration;
    launch.config.gridDim = allied_grid<c>(args->problem);
    launch.begin_early();
    return cudaLaunchKernelEx(&launch.config, allied_gemm<c>, maps, p);
}

// True if rows of C are whole multiples of 16 bytes.
template <class c> int supports_allied(const plumb_problem *problem)
{
    return supports_brief<c>(problem) && problem->m % 2 == 0 &&
           problem->n * sizeof(typename c::output::type) % 16 == 0 &&
           (ceil_div(problem->m / 2, c::bm) % c::cm == 0 ||
            ceil_div(problem->n, c::bn) % c::cn == 0);
}

// The fastest tilings in BF16 at 1000^3, and at 1024 x 1024 x 1000, where the first would
// need two waves.
constexpr tiling allied_tiling = {
    .tile_m = 128, .tile_n = 72, .groups_m = 2, .cluster_m = 2, .cluster_n = 2};
constexpr tiling allied_wide_tiling = {
    .tile_m = 128, .tile_n = 80, .groups_m = 2, .cluster_m = 2, .cluster_n = 2};
constexpr int allied_stages = 7;

// The problems for which this is fastest, as measured: rows that are an odd number of half sectors,
// one wave of clusters (of which an H200 holds 28 to 30), and a K of about a thousand.
template <class c> bool takes_allied(const plumb_problem &problem)
{
    const dim3 grid = allied_grid<c>(problem);
    const unsigned clusters = grid.x / c::cluster * grid.y;
    return problem.k * c::type::bytes % 32 == 16 && problem.k >= 512 && problem.k <= 2048 &&
           clusters >= 20 && clusters <= 28 && supports_allied<c>(&problem);
}

#endif
