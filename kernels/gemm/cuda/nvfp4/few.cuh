// SPDX-License-Identifier: Apache-2.0
//
// NVFP4 with few rows of A (up to 32), where reading B once, or decoding it, takes most of the
// time. Weights come from memory as they are, into shared memory. Each thread reads back only what
// it asked for itself, so no barrier is needed until the sums meet. The weights are decoded in
// registers (nvfp4/nvfp4.cuh) and multiplied by mma.sync.
//
// A warp has `tiles` times 16 weight rows, which are operand A of the instruction, and 8 `columns`
// tokens, its operand B. The warps of a block share K, and add up at the end, in order. A thread
// reads 16 bytes of a row at a time, of weights and of tokens alike: 32 elements of K. So the four
// threads of a row have 128 of K, which is one slab. This changes the order of K, but in the same
// way for both operands. While one slab is multiplied, `depth` - 1 others are under way. Each
// block begins at another slab and goes round, so that not all blocks read the same tokens at
// once. Therefore equal rows of B may give results that differ in the last bit, as the order of
// the sums differs.
//
// In a dual GEMM rows 0 to 7 of the instruction are rows of B1, and 8 to 15 the same rows of B2, so
// that both sums of an element are in one thread. The tiles of a warp are 32 rows apart, because
// then their scales are neighbours: a line of 16 bytes has four scales each of rows r, r + 32, r +
// 64 and r + 96.
#ifndef PLUMB_GEMM_NVFP4_FEW_CUH
#define PLUMB_GEMM_NVFP4_FEW_CUH

#include "../persistent/launch.cuh"
#include "nvfp4.cuh"

template <bool dual_, int tiles_, int columns_, int warps_, int blocks_, int depth_>
struct few_config {
    static constexpr bool dual = dual_;
    static constexpr int tiles = tiles_, columns = columns_, warps = warps_, blocks = blocks_;
    static constexpr int depth = depth_; // slabs that shared memory holds
    static constexpr int threads = 32 * warps, slab_k = 128 * warps;
    static constexpr int eights = dual ? 4 : 2; // blocks that divide 32 rows: 8 rows or 16 each
    static constexpr int parts = 4 / tiles;
    static constexpr int sums = tiles * columns * 4; // sums of a thread
    static constexpr int ring_bytes =
        depth * threads * (2 * tiles * 16 + columns * 20 + 2 * 4 * tiles);
    static constexpr int sums_bytes = warps * sums * 32 * 4;
    static constexpr int smem_bytes = ring_bytes > sums_bytes ? ring_bytes : sums_bytes;
    static_assert(tiles == 1 || tiles == 2 || tiles == 4, "a line of scales in whole parts");
};

struct few_params {
    const uint8_t *a, *b, *scales_a, *scales_b;
    nvfp4_output out;
    int k;
    int scale_tiles; // number of tiles of scales along K
};

// A thread's part of a slab, in registers.
template <class c> struct few_slab {
    uint4 weights[c::tiles][2], tokens[c::columns];
    uint32_t scales[2][c::tiles], token_scales[c::columns];
};

// The same parts in shared memory. Every thread's part of an item is next to those of the other
// threads. No thread reads what another has loaded, so no barrier is needed.
template <class c> struct few_ring {
    static constexpr int line = 4 * c::tiles; // bytes of scales in one row of a tile
    static constexpr int weights = 0, tokens = weights + 2 * c::tiles * 16 * c::threads;
    static constexpr int scales = tokens + c::columns * 16 * c::threads;
    static constexpr int token_scales = scales + 2 * line * c::threads;
    static constexpr int slab_bytes = token_scales + c::columns * 4 * c::threads;
};

DEVICE void load_line(uint32_t (&words)[1], const uint8_t *from)
{
    words[0] = *reinterpret_cast<const uint32_t *>(from);
}
DEVICE void load_line(uint32_t (&words)[2], const uint8_t *from)
{
    const uint2 v = *reinterpret_cast<const uint2 *>(from);
    words[0] = v.x;
    words[1] = v.y;
}
DEVICE void load_line(uint32_t (&words)[4], const uint8_t *from)
{
    const uint4 v = *reinterpret_cast<const uint4 *>(from);
    words[0] = v.x;
    words[1] = v.y;
    words[2] = v.z;
    words[3] = v.w;
}

// Where a thread finds its rows.
template <class c> struct few_reader {
    using ring = few_ring<c>;
    const uint8_t *weights[c::tiles][2], *tokens[c::columns];
    const uint8_t *scales[2], *token_scales[c::columns];
    const uint32_t base;        // begin of the ring
    const int k, end;           // K, and the end of the block's last slab
    bool has_token[c::columns]; // false: there is no such token, and nothing is read. (Reading
                                // another row in its place, by all blocks at once, took 3 us with
                                // one row of A)
    int chunk;                  // where the thread's 32 of K of the next slab begin

    DEVICE few_reader(const few_params &p, int first_row, int warp, int lane, uint32_t shared)
        : base(shared), k(p.k), end((p.k + c::slab_k - 1) / c::slab_k * c::slab_k),
          chunk((int)(blockIdx.x % (end / c::slab_k)) * c::slab_k + warp * 128 + lane % 4 * 32)
    {
        const int n = p.out.n, m = p.out.m;
        const int64_t row_bytes = p.k / 2;
        const int64_t tile_row_bytes = (int64_t)p.scale_tiles * nvfp4_tile_bytes;
#pragma unroll
        for (int second = 0; second < 2; ++second) {
            const int first = first_row + lane / 4 + (c::dual ? 0 : 8 * second);
            const int64_t matrix = c::dual ? second : 0;
#pragma unroll
            for (int i = 0; i < c::tiles; ++i) {
                const int row = first + 32 * i; // rows beyond the end repeat the last one
                weights[i][second] = p.b + (matrix * n + (row < n ? row : n - 1)) * row_bytes;
            }
            scales[second] = p.scales_b + first / 128 * tile_row_bytes + first % 32 * 16 +
                             first % 128 / 32 * 4 + matrix * ((n + 127) / 128) * tile_row_bytes;
        }
#pragma unroll
        for (int i = 0; i < c::columns; ++i) {
            const int token = 8 * i + lane / 4, row = token < m ? token : m - 1;
            has_token[i] = token < m;
            tokens[i] = p.a + row * row_bytes;
            token_scales[i] = p.scales_a + row % 32 * 16 + row / 32 * 4; // m is at most 128 here
        }
    }

    // Asks for the next slab. Elements beyond K are zero.
    DEVICE void request(int slot)
    {
        const bool is_there = chunk < k;
        const int inside = is_there ? chunk : 0;
        const int64_t at = inside / 2, tile = (int64_t)(inside / 64) * nvfp4_tile_bytes;
        const uint32_t to = base + slot * ring::slab_bytes, thread = threadIdx.x;
#pragma unroll
        for (int i = 0; i < c::tiles; ++i)
#pragma unroll
            for (int second = 0; second < 2; ++second)
                copy_async<16>(to + ring::weights + ((2 * i + second) * c::threads + thread) * 16,
                               weights[i][second] + at, is_there);
#pragma unroll
        for (int second = 0; second < 2; ++second)
            copy_async<ring::line>(to + ring::scales + (second * c::threads + thread) * ring::line,
                                   scales[second] + tile, is_there);
#pragma unroll
        for (int i = 0; i < c::columns; ++i) {
            copy_async<16>(to + ring::tokens + (i * c::threads + thread) * 16, tokens[i] + at,
                           is_there && has_token[i]);
            copy_async<4>(to + ring::token_scales + (i * c::threads + thread) * 4,
                          token_scales[i] + tile, is_there && has_token[i]);
        }
        chunk += c::slab_k;
        if (chunk >= end)
            chunk -= end;
    }

    DEVICE void take(few_slab<c> &s, const uint8_t *shared, int slot) const
    {
        const uint8_t *from = shared + slot * ring::slab_bytes;
        const int thread = threadIdx.x;
#pragma unroll
        for (int i = 0; i < c::tiles; ++i)
#pragma unroll
            for (int second = 0; second < 2; ++second)
                s.weights[i][second] = *reinterpret_cast<const uint4 *>(
                    from + ring::weights + ((2 * i + second) * c::threads + thread) * 16);
#pragma unroll
        for (int second = 0; second < 2; ++second)
            load_line(s.scales[second],
                      from + ring::scales + (second * c::threads + thread) * ring::line);
#pragma unroll
        for (int i = 0; i < c::columns; ++i) {
            s.tokens[i] = *reinterpret_cast<const uint4 *>(from + ring::tokens +
                                                           (i * c::threads + thread) * 16);
            s.token_scales[i] = *reinterpret_cast<const uint32_t *>(from + ring::token_scales +
                                                                    (i * c::threads + thread) * 4);
        }
    }
};

DEVICE void mma_fp16_16x8x16(float (&c)[4], uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3,
                             uint32_t b0, uint32_t b1)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
                 "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

// acc += the products of the slab. A word of 8 codes is two steps of the instruction; two words
// have one scale.
template <class c>
DEVICE void multiply(float (&acc)[c::tiles][c::columns][4], const few_slab<c> &s, int lane)
{
    uint32_t token_scales[c::columns], scales[c::tiles][2];
#pragma unroll
    for (int j = 0; j < c::columns; ++j)
        token_scales[j] = nvfp4_two_scales(s.token_scales[j], lane % 2);
#pragma unroll
    for (int i = 0; i < c::tiles; ++i)
#pragma unroll
        for (int second = 0; second < 2; ++second)
            scales[i][second] = nvfp4_two_scales(s.scales[second][i], lane % 2);
#pragma unroll
    for (int word = 0; word < 4; ++word) {
        uint32_t b[c::columns][4];
#pragma unroll
        for (int j = 0; j < c::columns; ++j)
            nvfp4_decode(b[j], (&s.tokens[j].x)[word], token_scales[j], word / 2);
#pragma unroll
        for (int i = 0; i < c::tiles; ++i) {
            uint32_t a[2][4];
#pragma unroll
            for (int second = 0; second < 2; ++second)
                nvfp4_decode(a[second], (&s.weights[i][second].x)[word], scales[i][second],
                             word / 2);
#pragma unroll
            for (int j = 0; j < c::columns; ++j) {
                mma_fp16_16x8x16(acc[i][j], a[0][0], a[1][0], a[0][1], a[1][1], b[j][0], b[j][1]);
                mma_fp16_16x8x16(acc[i][j], a[0][2], a[1][2], a[0][3], a[1][3], b[j][2], b[j][3]);
            }
        }
    }
}

// Adds the sums of all warps in the order of warps. Each thread makes some of the results.
template <class c> DEVICE void finish(const few_params &p, const float *sums, int first_row)
{
    constexpr int per_warp = c::sums * 32, results = c::dual ? per_warp / 2 : per_warp;
    const float scale = nvfp4_unscale * nvfp4_tensor_scale(p.out);
    for (int index = threadIdx.x; index < results; index += c::threads) {
        // The order of sums in memory: [tile][column][register of 4][lane]. Registers 2 and 3
        // belong to the second row.
        const int lane = index % 32, rest = index / 32;
        const int of_four = c::dual ? rest % 2 : rest % 4, block = c::dual ? rest / 2 : rest / 4;
        const int tile = block / c::columns, column = block % c::columns;
        const float *from = sums + (block * 4 + of_four) * 32 + lane;
        float sum = 0, second = 0;
#pragma unroll
        for (int warp = 0; warp < c::warps; ++warp) {
            sum += from[warp * per_warp];
            if constexpr (c::dual)
                second += from[warp * per_warp + 2 * 32];
        }
        const int row = first_row + 32 * tile + lane / 4 + (of_four > 1 ? 8 : 0);
        const int token = 8 * column + lane % 4 * 2 + of_four % 2;
        if (row < p.out.n && token < p.out.m)
            nvfp4_store(p.out, token, row,
                        c::dual ? gated(sum * scale, second * scale) : sum * scale);
    }
}

template <class c>
__global__ void __launch_bounds__(c::threads, c::blocks)
    nvfp4_few(const __grid_constant__ few_params p)
{
    extern __shared__ __align__(16) uint8_t few_shared[];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int part = blockIdx.x % c::parts, unit = blockIdx.x / c::parts;
    const int first_row =
        unit / c::eights * 128 + unit % c::eights * (32 / c::eights) + part * c::tiles * 32;
    few_reader<c> reader(p, first_row, warp, lane, shared_address(few_shared));
    float acc[c::tiles][c::columns][4] = {};
    const int slabs = (p.k + c::slab_k - 1) / c::slab_k;
#pragma unroll
    for (int i = 0; i < c::depth - 1; ++i) {
        reader.request(i);
        copy_async_commit();
    }
    int slot = 0, free = c::depth - 1; // the slab in slot `free` was multiplied
#pragma unroll 1
    for (int slab = 0; slab < slabs; ++slab) {
        few_slab<c> s;
        copy_async_wait<c::depth - 2>();
        reader.take(s, few_shared, slot);
        if (slab + c::depth - 1 < slabs)
            reader.request(free);
        copy_async_commit();
        multiply<c>(acc, s, lane);
        free = slot;
        slot = slot + 1 == c::depth ? 0 : slot + 1;
    }
    copy_async_wait<0>();
    __syncthreads();
    float *few_sums = reinterpret_cast<float *>(few_shared);
#pragma unroll
    for (int i = 0; i < c::tiles; ++i)
#pragma unroll
        for (int j = 0; j < c::columns; ++j)
#pragma unroll
            for (int r = 0; r < 4; ++r)
                few_sums[warp * c::sums * 32 + ((i * c::columns + j) * 4 + r) * 32 + lane] =
                    acc[i][j][r];
    __syncthreads();
    finish<c>(p, few_sums, first_row);
}

// ---- host ----

template <class c> int supports_few(const plumb_form *form)
{
    return nvfp4_supports(form, c::dual ? PLUMB_DUAL_SILU : PLUMB_NO_EPILOGUE) &&
           form->problem.m <= 8 * c::columns;
}

template <class c> static int launch_few(const plumb_form_args *args, void *stream)
{
    static const cudaError_t allowed = cudaFuncSetAttribute(
        nvfp4_few<c>, cudaFuncAttributeMaxDynamicSharedMemorySize, c::smem_bytes);
    const plumb_problem &problem = args->form.problem;
    const few_params p = {static_cast<const uint8_t *>(args->args.a),
                          static_cast<const uint8_t *>(args->args.b),
                          static_cast<const uint8_t *>(args->block_scales_a),
                          static_cast<const uint8_t *>(args->block_scales_b),
                          nvfp4_output_of(args),
                          (int)problem.k,
                          ceil_div(problem.k, 4 * nvfp4_block)};
    if (allowed != cudaSuccess)
        return allowed;
    nvfp4_few<c><<<ceil_div(problem.n, 128) * c::eights * c::parts, c::threads, c::smem_bytes,
                   (cudaStream_t)stream>>>(p);
    return cudaGetLastError();
}

template <class c> constexpr plumb_traits few_traits()
{
    plumb_traits t = {};
    t.in_type = PLUMB_E2M1;
    t.out_type = PLUMB_FP16;
    t.acc_type = PLUMB_FP32;
    t.tile_m = 8 * c::columns;
    t.tile_n = (c::dual ? 8 : 16) * c::tiles;
    t.tile_k = c::slab_k;
    t.stages = c::depth;
    t.cluster_m = t.cluster_n = t.raster_group = t.split_k = 1;
    t.threads = c::threads;
    t.smem_bytes = c::smem_bytes;
    const int registers = 65536 / (c::threads * c::blocks) / 8 * 8;
    t.registers = registers > 255 ? 255 : registers;
    t.blocks_per_sm = c::blocks;
    t.multiply = PLUMB_MMA_SYNC;
    return t;
}

template <class c> constexpr plumb_form_kernel few_row(const char *name)
{
    return {{name, "few rows of A: weights decoded in registers, mma.sync", few_traits<c>()},
            supports_few<c>,
            nullptr,
            nullptr,
            launch_few<c>};
}

#endif
