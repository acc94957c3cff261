// SPDX-License-Identifier: Apache-2.0
//
// TF32 with a K that is no multiple of 16 bytes, in one launch: the four warps of the producer copy
// rows word by word to where the copy engine would put them, swizzled. A warp asks for 128 bytes of
// a row at a time, by cp.async of 4 bytes, which any row of FP32 is aligned to. Once a slab is
// there its words are rounded to TF32, as the copy engine does, and handed on. The rest is
// split/cluster.cuh.
//
// A slab of 128 rows takes some 0.6 us so, which is why it is for a K of a few slabs.
#ifndef PLUMB_GEMM_ODD_K_COPY_WORDS_CUH
#define PLUMB_GEMM_ODD_K_COPY_WORDS_CUH

#include "../split/cluster.cuh"
#include "copies.h"

constexpr int loose_threads = 128;

struct loose_params {
    gemm_params gemm;
    const float *a, *b; // as computed
    int k;
};

// 4 bytes, or zeros where !valid.
DEVICE void copy_word(uint32_t shared, const float *global, bool valid)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared), "l"(global),
                 "r"(valid ? 4 : 0)
                 : "memory");
}

// One operand's rows of a tile.
template <int tile_rows> struct loose_rows {
    const float *from; // this thread's word of its warp's first row, at K's begin
    int64_t step;      // to the warp's next row
    int count;         // rows of this warp
    uint32_t even, odd;

    DEVICE loose_rows(const float *matrix, int rows, int k, int first) : step(4 * (int64_t)k)
    {
        const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
        const int left = rows - first < tile_rows ? rows - first : tile_rows;
        from = matrix + (int64_t)(first + warp) * k + lane;
        count = left > warp ? (left - warp + 3) / 4 : 0;
        even = loose_place(warp, lane);
        odd = loose_place(warp + 4, lane) - 4 * slab_bytes;
    }

    // x: where K's slab begins; valid: K has this thread's word of it.
    DEVICE void load(uint32_t shared, int x, bool valid) const
    {
        const float *word = valid ? from + x : from;
#pragma unroll
        for (int j = 0; j < tile_rows / 4; ++j, word += step)
            if (j < count)
                copy_word(shared + j * 4 * slab_bytes + (j % 2 ? odd : even), word, valid);
    }
};

// Rounds a stage's words.
template <class c> DEVICE void round_stage(uint32_t stage)
{
#pragma unroll 4
    for (int i = threadIdx.x; i < c::stage_bytes / 16; i += loose_threads) {
        const float4 v = load_shared(stage + i * 16);
        asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(stage + i * 16),
                     "r"(round_tf32(v.x)), "r"(round_tf32(v.y)), "r"(round_tf32(v.z)),
                     "r"(round_tf32(v.w))
                     : "memory");
    }
}

template <class c, int stages>
DEVICE void loose_produce(const loose_params &p, const block_memory<c> &memory, const tile &t,
                          int from, int to)
{
    constexpr int depth = stages - 2; // slabs on their way
    const loose_rows<c::bm> a(p.a, p.gemm.out.m, p.k, t.row * c::bm);
    const loose_rows<c::bn> b(p.b, p.gemm.out.n, p.k, t.column * c::bn);
    ring_position at, done;
#pragma unroll 1
    for (int slab = from; slab < to + depth; ++slab) {
        if (slab < to) {
            const int x = slab * c::bk;
            const bool valid = x + (int)threadIdx.x % 32 < p.k;
            barrier_wait(memory.empty(at.stage), at.phase ^ 1);
            a.load(memory.a(at.stage), x, valid);
            b.load(memory.b(at.stage), x, valid);
            at.advance(stages);
        }
        copy_async_commit();
        if (slab - depth < from)
            continue;
        copy_async_wait<depth>();
        named_barrier(4, loose_threads);
        round_stage<c>(memory.a(done.stage));
        fence_async_shared();
        barrier_arrive(memory.full(done.stage));
        done.advance(stages);
    }
}

template <class c, int split, int stages>
__global__ void __launch_bounds__(c::threads, 1)
    loose_gemm(const __grid_constant__ gemm_maps maps, const __grid_constant__ loose_params whole)
{
    static_assert(c::swapped && c::boxes == 1 && !c::reallocate && c::type::dtype == PLUMB_TF32,
                  "words of FP32, sums stored from registers");
    extern __shared__ __align__(1024) uint8_t shared[];
    gemm_params p = whole.gemm;
    const block_memory<c> memory(shared_address(shared), p.stages);
    const int rank = split > 1 ? (int)cluster_rank() : 0;
    const int from = p.slabs * rank / split, to = p.slabs * (rank + 1) / split;
    p.slabs = to - from;
    const tile t = tile_at(blockIdx.x / split, p.grid);
    if (threadIdx.x < p.stages) {
        barrier_init(memory.full(threadIdx.x), loose_threads);
        barrier_init(memory.empty(threadIdx.x), c::consumers);
        barrier_init_fence();
    }
    __syncthreads();
    cluster_arrive(); // waited for before the first access to another block
    if (threadIdx.x >= 128) {
        split_consume<c, split>(maps, p, memory, t, rank);
        return;
    }
    loose_produce<c, stages>(whole, memory, t, from, to);
    cluster_wait();
    cluster_sync();
}

// ---- host ----

template <class c, int split, int stages> static cudaError_t allow_loose()
{
    return cudaFuncSetAttribute(loose_gemm<c, split, stages>,
                                cudaFuncAttributeMaxDynamicSharedMemorySize, c::smem_limit);
}

// Tiles of bm rows by 64 columns, in C's own rows and columns.
template <class type, int bm, int split, int stages>
static int launch_loose(const plumb_args *given, void *stream)
{
    using c = tiled<type, tiling{.tile_m = 64, .tile_n = bm, .swapped = true}>;
    static_assert(stages >= 4 && stages <= split_layout<c, split>::most_stages(), "stages fit");
    static const cudaError_t allowed = allow_loose<c, split, stages>();
    const plumb_args turned = oriented<c>(given);
    if (allowed != cudaSuccess)
        return allowed;
    gemm_maps maps = {}; // swapped operands' sums are stored from registers
    loose_params p = {};
    p.gemm = make_params<c>(given, {PLUMB_RASTER_M, 8, stages});
    p.a = static_cast<const float *>(turned.a);
    p.b = static_cast<const float *>(turned.b);
    p.k = (int)given->problem.k;
    cluster_launch launch(c::threads, split, split_layout<c, split>::smem_bytes(stages), stream);
    launch.config.gridDim = dim3(p.gemm.grid.rows * p.gemm.grid.columns * split);
    return cudaLaunchKernelEx(&launch.config, loose_gemm<c, split, stages>, maps, p);
}

// A way to do a problem as it is.
struct ragged_way {
    const char *name;
    int (*launch)(const plumb_args *args, void *stream);
};

struct loose_way {
    loose_choice choice;
    ragged_way way;
};

// (Templates, so that only the modules that ask have them.)
template <class type>
static constexpr loose_way loose_ways[] = {
    {{16, 1}, {"loose-16x64-k1", launch_loose<type, 16, 1, 9>}},
    {{16, 2}, {"loose-16x64-k2", launch_loose<type, 16, 2, 9>}},
    {{64, 1}, {"loose-64x64-k1", launch_loose<type, 64, 1, 6>}},
    {{64, 2}, {"loose-64x64-k2", launch_loose<type, 64, 2, 5>}},
    {{128, 1}, {"loose-128x64-k1", launch_loose<type, 128, 1, 8>}}};

// NULL: it is to be done in another way.
template <class type> static const ragged_way *find_loose(const plumb_problem &problem)
{
    const loose_choice c = loose_choose(problem.m, problem.n, problem.k);
    for (const loose_way &l : loose_ways<type>)
        if (l.choice.tile_m == c.tile_m && l.choice.split == c.split)
            return &l.way;
    return nullptr;
}

#endif
