// SPDX-License-Identifier: Apache-2.0
//
// TF32 of few rows with a K that is no multiple of 16 bytes, in one launch. Producers copy whole
// chunks of 16 bytes as they lie in memory, many slabs ahead. Then each shifts its chunks to where
// rows begin, rounds their words to TF32, as the copy engine does, and puts them where the copy
// engine would. A row's first word lies as far into a chunk in all slabs, for they are of 128
// bytes, and a slab's last words come from the slab after. The rest is split/cluster.cuh.
//
// A warp brings the same chunks that it shifts, so warps of producers do not wait for each other,
// and each arrives once per stage: an arrival of each thread took most of the time.
#ifndef PLUMB_GEMM_ODD_K_COPY_CHUNKS_CUH
#define PLUMB_GEMM_ODD_K_COPY_CHUNKS_CUH

#include "copy_words.cuh"

// One operand's rows of a tile, as `warps` warps bring them: eight lanes to a row.
template <int tile_rows, int warps> struct shifted_rows {
    static constexpr int pass = warps * 4; // rows at a time
    static constexpr int each = tile_rows > pass ? tile_rows / pass : 1;
    const uint8_t *from,
        *end;          // this thread's chunk of its first row, at K's begin; the matrix's end
    int64_t step;      // to its next row
    int count;         // its rows in the matrix
    int safe;          // slabs of which the matrix has all its chunks
    bool idle;         // more threads than rows
    uint32_t place;    // of the chunk, as it comes
    uint32_t words[4]; // of the chunk's words, as they are to be:
    int after[4];      // in the slab after
    uint32_t to;       // where they go

    DEVICE shifted_rows(const float *matrix, int rows, int k, int first, int thread)
        : step(4 * pass * (int64_t)k)
    {
        const int row = thread / 8, chunk = thread % 8;
        const int64_t begin = (int64_t)(first + row) * k;
        const int shift = (int)(begin % 4);
        from = reinterpret_cast<const uint8_t *>(matrix + (begin - shift)) + chunk * 16;
        end = reinterpret_cast<const uint8_t *>(matrix + (int64_t)rows * k);
        const int left = (rows - first < tile_rows ? rows - first : tile_rows) - row;
        idle = row >= tile_rows;
        count = left <= 0 ? 0 : (left + pass - 1) / pass;
        const int64_t bytes = end - (from + (count - 1) * step) - 16;
        safe = bytes < 0 ? 0 : (int)(bytes / slab_bytes) + 1;
        place = row * slab_bytes + chunk * 16;
        to = loose_place(row, chunk * 4);
#pragma unroll
        for (int j = 0; j < 4; ++j)
            words[j] = shifted_place(row, chunk * 4 + j, shift, &after[j]);
    }

    // The thread's chunks of a slab; of the slab after the last only each row's first.
    DEVICE void load(uint32_t shared, int slab, bool last, int thread) const
    {
        const uint8_t *at = from + (int64_t)slab * slab_bytes;
        if (slab < safe && !last) {
#pragma unroll
            for (int i = 0; i < each; ++i, at += step)
                if (i < count)
                    copy_async_16(shared + place + i * pass * slab_bytes, at, true);
            return;
        }
#pragma unroll 1
        for (int i = 0; i < count; ++i, at += step)
            if (!last || thread % 8 == 0)
                copy_last(shared + place + i * pass * slab_bytes, at);
    }

    // valid: words of the chunk that K has.
    DEVICE void shift(uint32_t slab, uint32_t next, uint32_t stage, int valid) const
    {
        constexpr int batch = each < 4 ? each : 4; // read before any of them is written
        if (idle)
            return;
        uint32_t at[4];
#pragma unroll
        for (int j = 0; j < 4; ++j)
            at[j] = (after[j] ? next : slab) + words[j];
#pragma unroll
        for (int i = 0; i < each; i += batch) {
            float w[batch][4];
#pragma unroll
            for (int j = 0; j < batch * 4; ++j)
                w[j / 4][j % 4] = load_shared_float(at[j % 4] + (i + j / 4) * pass * slab_bytes);
#pragma unroll
            for (int j = 0; j < batch; ++j)
                asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(
                                 stage + to + (i + j) * pass * slab_bytes),
                             "r"(0 < valid ? round_tf32(w[j][0]) : 0),
                             "r"(1 < valid ? round_tf32(w[j][1]) : 0),
                             "r"(2 < valid ? round_tf32(w[j][2]) : 0),
                             "r"(3 < valid ? round_tf32(w[j][3]) : 0)
                             : "memory");
        }
    }

  private:
    // Copies the part of a chunk that the matrix has.
    DEVICE void copy_last(uint32_t shared, const uint8_t *at) const
    {
        const int64_t left = end - at;
        const int bytes = left >= 16 ? 16 : left > 0 ? (int)left : 0;
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared),
                     "l"(bytes ? at : from), "r"(bytes)
                     : "memory");
    }
};

// As they come, slabs lie in `slots` slots, each as large as a stage and divided like it.
template <class c, int stages, int slots, int warps>
DEVICE void shifted_produce(const loose_params &p, const block_memory<c> &memory, uint32_t raw,
                            const tile &t, int from, int to, int thread)
{
    constexpr int depth = slots - 1; // slabs on their way
    const shifted_rows<c::bm, warps> a(p.a, p.gemm.out.m, p.k, t.row * c::bm, thread);
    const shifted_rows<c::bn, warps> b(p.b, p.gemm.out.n, p.k, t.column * c::bn, thread);
    ring_position at, newest, oldest;
#pragma unroll 1
    for (int slab = from; slab < to + depth; ++slab) {
        if (slab <= to) {
            const uint32_t slot = raw + newest.stage * c::stage_bytes;
#pragma unroll
            for (int i = 0; i < c::boxes; ++i)
                if (i == 0 || slab < to) {
                    const int box = slab * c::boxes + i;
                    a.load(slot + i * c::a_box, box, slab == to, thread);
                    b.load(slot + c::a_bytes + i * c::b_box, box, slab == to, thread);
                }
            newest.advance(slots);
        }
        copy_async_commit();
        const int done = slab - depth;
        if (done < from)
            continue;
        copy_async_wait<depth - 1>();
        __syncwarp();
        barrier_wait(memory.empty(at.stage), at.phase ^ 1);
        const uint32_t slot = raw + oldest.stage * c::stage_bytes, stage = memory.a(at.stage);
        oldest.advance(slots);
        const uint32_t after = raw + oldest.stage * c::stage_bytes;
        const int valid = p.k - done * c::bk - thread % 8 * 4;
#pragma unroll
        for (int i = 0; i < c::boxes; ++i) {
            const bool last = i + 1 == c::boxes;
            const int in_a = i * c::a_box, in_b = c::a_bytes + i * c::b_box;
            a.shift(slot + in_a, last ? after : slot + in_a + c::a_box, stage + in_a,
                    valid - i * c::box_k);
            b.shift(slot + in_b, last ? after + c::a_bytes : slot + in_b + c::b_box, stage + in_b,
                    valid - i * c::box_k);
        }
        fence_async_shared();
        __syncwarp();
        if (thread % 32 == 0)
            barrier_arrive(memory.full(at.stage));
        at.advance(stages);
    }
}

// The first four warps are producers, then come the consumers, then more producers.
template <class c, int split, int stages, int slots, int warps> struct shifted_layout {
    static constexpr int threads = c::threads + (warps - 4) * 32;
    static constexpr int raw = (split_layout<c, split>::smem_bytes(stages) + 127) / 128 * 128;
    static constexpr int smem_bytes = raw + slots * c::stage_bytes;
    static_assert(smem_bytes <= c::smem_limit && slots >= 3 && stages >= 2, "stages and slots");
};

template <class c, int split, int stages, int slots, int warps>
__global__ void __launch_bounds__((shifted_layout<c, split, stages, slots, warps>::threads), 1)
    shifted_gemm(const __grid_constant__ gemm_maps maps, const __grid_constant__ loose_params whole)
{
    static_assert(c::swapped && c::type::dtype == PLUMB_TF32,
                  "words of FP32, sums stored from registers");
    extern __shared__ __align__(1024) uint8_t shared[];
    gemm_params p = whole.gemm;
    const block_memory<c> memory(shared_address(shared), p.stages);
    const int rank = (int)cluster_rank();
    const int from = p.slabs * rank / split, to = p.slabs * (rank + 1) / split;
    p.slabs = to - from;
    const tile t = tile_at(blockIdx.x / split, p.grid);
    if (threadIdx.x < p.stages) {
        barrier_init(memory.full(threadIdx.x), warps);
        barrier_init(memory.empty(threadIdx.x), c::consumers);
        barrier_init_fence();
    }
    __syncthreads();
    cluster_arrive(); // waited for before the first access to another block
    if (threadIdx.x >= 128 && threadIdx.x < c::threads) {
        split_consume<c, split>(maps, p, memory, t, rank);
        return;
    }
    const int thread = threadIdx.x < 128 ? threadIdx.x : threadIdx.x - 128 * c::consumers;
    const uint32_t raw =
        shared_address(shared) + shifted_layout<c, split, stages, slots, warps>::raw;
    shifted_produce<c, stages, slots, warps>(whole, memory, raw, t, from, to, thread);
    cluster_wait();
    cluster_sync();
}

// ---- host ----

template <class c, int split, int stages, int slots, int warps> static cudaError_t allow_shifted()
{
    return cudaFuncSetAttribute(shifted_gemm<c, split, stages, slots, warps>,
                                cudaFuncAttributeMaxDynamicSharedMemorySize, c::smem_limit);
}

// Tiles of bm rows by bn columns, in C's own rows and columns.
template <class type, int bm, int bn, int split, int boxes, int stages, int slots, int warps>
static int launch_shifted(const plumb_args *given, void *stream)
{
    using c = tiled<
        type,
        tiling{.tile_m = bn, .tile_n = bm, .groups_m = bn / 64, .boxes = boxes, .swapped = true}>;
    using layout = shifted_layout<c, split, stages, slots, warps>;
    static const cudaError_t allowed = allow_shifted<c, split, stages, slots, warps>();
    const plumb_args turned = oriented<c>(given);
    if (allowed != cudaSuccess)
        return allowed;
    gemm_maps maps = {}; // swapped operands' sums are stored from registers
    loose_params p = {};
    p.gemm = make_params<c>(given, {PLUMB_RASTER_M, 8, stages});
    p.a = static_cast<const float *>(turned.a);
    p.b = static_cast<const float *>(turned.b);
    p.k = (int)given->problem.k;
    cluster_launch launch(layout::threads, split, layout::smem_bytes, stream);
    launch.config.gridDim = dim3(p.gemm.grid.rows * p.gemm.grid.columns * split);
    return cudaLaunchKernelEx(&launch.config, shifted_gemm<c, split, stages, slots, warps>, maps,
                              p);
}

struct shifted_way {
    shifted_choice choice;
    ragged_way way;
};

template <class type>
static constexpr shifted_way shifted_ways[] = {
    {{16, 64, 2, 1}, {"shifted-16x64-k2-wide", launch_shifted<type, 16, 64, 2, 2, 2, 3, 8>}},
    {{32, 64, 2, 1}, {"shifted-32x64-k2-wide", launch_shifted<type, 32, 64, 2, 2, 2, 6, 8>}},
    {{32, 64, 2, 0}, {"shifted-32x64-k2", launch_shifted<type, 32, 64, 2, 1, 3, 5, 8>}},
    {{64, 64, 2, 1}, {"shifted-64x64-k2-wide", launch_shifted<type, 64, 64, 2, 2, 2, 4, 8>}},
    {{64, 64, 2, 0}, {"shifted-64x64-k2", launch_shifted<type, 64, 64, 2, 1, 2, 4, 8>}},
    {{64, 64, 4, 0}, {"shifted-64x64-k4", launch_shifted<type, 64, 64, 4, 1, 2, 4, 8>}},
    {{64, 128, 2, 0}, {"shifted-64x128-k2", launch_shifted<type, 64, 128, 2, 1, 3, 5, 16>}},
    {{128, 128, 2, 0}, {"shifted-128x128-k2", launch_shifted<type, 128, 128, 2, 1, 2, 4, 8>}}};

// NULL: it is to be done in another way.
template <class type> static const ragged_way *find_shifted(const plumb_problem &problem)
{
    const shifted_choice c = shifted_choose(problem.m, problem.n, problem.k);
    for (const shifted_way &s : shifted_ways<type>)
        if (s.choice.tile_m == c.tile_m && s.choice.tile_n == c.tile_n &&
            s.choice.split == c.split && s.choice.wide == c.wide)
            return &s.way;
    return nullptr;
}

#endif
