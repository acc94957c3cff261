// SPDX-License-Identifier: Apache-2.0
//
// Products whose K is no multiple of 16 bytes, which the copy engine does not take, and
// products whose K is too short for it. These are the ways that a selector has beside
// its table (configurations/select.cu):
//
//   any K           both operands are copied to whole lines first, and a row of the table follows
//   m = 1           rows of B are read as they are
//   three slabs     all warps load word by word, and the product is one launch
//   16 and less     C is written without tensor cores
//
// odd_k/copies.h decides which product takes which way.
#ifndef PLUMB_GEMM_ODD_K_ODD_K_CUH
#define PLUMB_GEMM_ODD_K_ODD_K_CUH

#include <type_traits>
#include <utility>

#include "../persistent/persistent.cuh"
#include "../small/gemv.cuh"
#include "copies.h"

// ---- K that is no multiple of 16 bytes. The copy engine takes only matrices whose rows begin at
// multiples of 16 bytes. So both operands are copied into the workspace first: each row to a line
// of L2 of its own (128 bytes), filled up with zeros. The product then has a longer K.
//
// Reading and writing both operands once costs less than loading them without the copy engine. But
// at m = 1 it would be most of the time, so rows are read as they are there (gemv_ragged below).

constexpr int line_bytes = 128, chunk_bytes = 16;
constexpr int pad_threads = 128;

struct pad_params {
    const uint8_t *from[2]; // the sources: A, B
    uint8_t *to;            // the destination: A's rows, then B's
    int64_t bytes[2];       // size of each source
    int rows_a;
    int row_bytes, pitch; // of a row in the source and in the destination
    int blocks;           // of one row
};

// Loads 16 bytes from a multiple of 16; at the matrix's end only the bytes that exist.
DEVICE uint4 load_chunk(const uint8_t *from, int64_t at, int64_t bytes)
{
    if (at + chunk_bytes <= bytes)
        return __ldg(reinterpret_cast<const uint4 *>(from + at));
    uint32_t words[4] = {};
#pragma unroll
    for (int i = 0; i < chunk_bytes; ++i)
        if (at + i < bytes)
            words[i / 4] |= (uint32_t)from[at + i] << i % 4 * 8;
    return make_uint4(words[0], words[1], words[2], words[3]);
}

template <int count> DEVICE void drop_words(uint32_t (&words)[9], bool drop)
{
#pragma unroll
    for (int i = 0; i + count < 9; ++i)
        words[i] = drop ? words[i + count] : words[i];
}

// The 16 bytes that begin `shift` bytes (0 to 16) into x followed by y.
DEVICE uint4 bytes_at(const uint4 &x, const uint4 &y, int shift)
{
    uint32_t words[9] = {x.x, x.y, x.z, x.w, y.x, y.y, y.z, y.w, 0};
    drop_words<4>(words, shift / 16);
    drop_words<2>(words, shift / 8 % 2);
    drop_words<1>(words, shift / 4 % 2);
#pragma unroll
    for (int i = 0; i < 4; ++i)
        words[i] = __funnelshift_r(words[i], words[i + 1], shift % 4 * 8);
    return make_uint4(words[0], words[1], words[2], words[3]);
}

// x with zeros before byte `from` and from byte `to` on.
DEVICE uint4 clip_bytes(const uint4 &x, int from, int to)
{
    uint32_t words[4] = {x.x, x.y, x.z, x.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const int before = from - 4 * i, valid = to - 4 * i; // of this word's bytes
        if (before > 0)
            words[i] &= before < 4 ? ~0u << before * 8 : 0;
        if (valid < 4)
            words[i] &= valid > 0 ? (1u << valid * 8) - 1 : 0;
    }
    return make_uint4(words[0], words[1], words[2], words[3]);
}

// A thread makes 16 bytes of a row from the two chunks in which they lie.
static __global__ void __launch_bounds__(pad_threads) pad_rows(const __grid_constant__ pad_params p)
{
    let_next_launch_begin();
    wait_for_launch_before();
    const int row = blockIdx.x / p.blocks, block = blockIdx.x - row * p.blocks;
    const int at = (block * pad_threads + (int)threadIdx.x) * chunk_bytes;
    if (at >= p.pitch)
        return;
    const int which = row >= p.rows_a;
    const int64_t begin = (int64_t)(which ? row - p.rows_a : row) * p.row_bytes + at;
    const int shift = (int)(begin % chunk_bytes), left = p.row_bytes - at;
    uint4 made = make_uint4(0, 0, 0, 0);
    if (left > 0) {
        const uint4 x = load_chunk(p.from[which], begin - shift, p.bytes[which]);
        const uint4 y = load_chunk(p.from[which], begin - shift + chunk_bytes, p.bytes[which]);
        made = clip_bytes(bytes_at(x, y, shift), 0, left);
    }
    *reinterpret_cast<uint4 *>(p.to + (int64_t)row * p.pitch + at) = made;
}

// ---- host ----

template <class type> bool is_ragged(const plumb_problem &problem)
{
    return problem.k * type::bytes % chunk_bytes != 0;
}

// The problem as it is computed: if its rows are ragged, with rows of whole lines instead.
// (Unchanged if the longer rows cannot be counted here; then no kernel takes it.)
template <class type> plumb_problem padded(const plumb_problem &problem)
{
    plumb_problem p = problem;
    if (is_ragged<type>(problem) && problem.k * type::bytes <= INT32_MAX - line_bytes)
        p.k = (problem.k * type::bytes + line_bytes - 1) / line_bytes * line_bytes / type::bytes;
    return p;
}

// The number of rows of B; in a dual GEMM, of both matrices.
inline int64_t rows_of_b(const plumb_problem &problem)
{
    return problem.epilogue == PLUMB_DUAL_SILU ? 2 * problem.n : problem.n;
}

// The bytes of the workspace that the copies need; 0 if nothing is copied.
template <class type> size_t padding_bytes(const plumb_problem &problem)
{
    if (!is_ragged<type>(problem))
        return 0;
    const size_t bytes = (problem.m + rows_of_b(problem)) * padded<type>(problem).k * type::bytes;
    return (bytes + 255) / 256 * 256;
}

// Makes the arguments of the padded problem, and queues the copies that they point to.
template <class type> int pad_operands(plumb_args *out, const plumb_args *args, cudaStream_t stream)
{
    const plumb_problem &problem = args->problem;
    const size_t taken = padding_bytes<type>(problem);
    *out = *args;
    if (!taken)
        return cudaSuccess;
    if (args->workspace_bytes < taken)
        return cudaErrorInvalidValue;
    pad_params p = {};
    out->problem = padded<type>(problem);
    p.from[0] = static_cast<const uint8_t *>(args->a);
    p.from[1] = static_cast<const uint8_t *>(args->b);
    p.to = static_cast<uint8_t *>(args->workspace);
    p.rows_a = (int)problem.m;
    p.row_bytes = (int)(problem.k * type::bytes);
    p.pitch = (int)(out->problem.k * type::bytes);
    p.bytes[0] = problem.m * p.row_bytes;
    p.bytes[1] = rows_of_b(problem) * p.row_bytes;
    p.blocks = ceil_div(p.pitch, pad_threads * chunk_bytes);
    out->a = p.to;
    out->b = p.to + problem.m * p.pitch;
    out->workspace = p.to + taken;
    out->workspace_bytes = args->workspace_bytes - taken;
    const int64_t rows = problem.m + rows_of_b(problem);
    if (rows * p.blocks > INT32_MAX)
        return cudaErrorInvalidValue;
    cluster_launch launch(pad_threads, 1, 0, stream);
    launch.config.gridDim = dim3((unsigned)(rows * p.blocks));
    launch.begin_early();
    return cudaLaunchKernelEx(&launch.config, pad_rows, p);
}

// ---- m = 1 with a K that is no multiple of 16 bytes (other K: small/gemv.cuh). Rows of B begin
// anywhere. They are read in chunks of 16 bytes, from the last multiple of 16 before the row on,
// and the bytes of A that belong to a chunk are put together from shared memory. The bytes of
// neighbouring rows in the first and last chunk are cleared, because they may not be numbers.

struct ragged_params {
    const uint8_t *a, *b;
    void *c;
    const float *scale_a, *scale_b;
    int64_t bytes; // size of B
    int n, row_bytes;
    int doublings; // 2^doublings warps share a row: 0 to 3
};

// The chunks of 16 bytes that a row of B lies in. A row may begin anywhere; its first chunk begins
// at the multiple of 16 bytes at or before the row's own beginning.
struct ragged_row {
    int64_t begin; // of the first chunk, in bytes from B's beginning
    int shift;     // bytes from there to the row's beginning
    int chunks;

    DEVICE ragged_row(const ragged_params &p, int row)
    {
        const int64_t at = (int64_t)row * p.row_bytes;
        shift = (int)(at % chunk_bytes);
        begin = at - shift;
        chunks = (shift + p.row_bytes + chunk_bytes - 1) / chunk_bytes;
    }
    DEVICE uint4 load(const ragged_params &p, int chunk) const
    {
        const uint4 x = load_chunk(p.b, begin + (int64_t)chunk * chunk_bytes, p.bytes);
        const int end = shift + p.row_bytes - chunk * chunk_bytes;
        return chunk == 0 || end < chunk_bytes ? clip_bytes(x, chunk ? 0 : shift, end) : x;
    }
};

template <class type> DEVICE float multiply_bytes(const uint4 &a, const uint4 &b)
{
    constexpr int count = 4 / type::bytes;
    float sum = 0;
#pragma unroll
    for (int word = 0; word < 4; ++word) {
        float x[count], y[count];
        unpack(type(), (&a.x)[word], x);
        unpack(type(), (&b.x)[word], y);
#pragma unroll
        for (int i = 0; i < count; ++i)
            sum += x[i] * y[i];
    }
    return sum;
}

// A warp takes 32 chunks of a row at a time, and then skips the chunks of the warps that share the
// row with it; the first of these warps adds up.
template <class type>
__global__ void __launch_bounds__(32 * gemv_warps, gemv_blocks)
    gemv_ragged(const __grid_constant__ ragged_params p)
{
    extern __shared__ uint4 shared_a[]; // 16 zeros, A, at least 16 zeros
    __shared__ float sums[gemv_warps];
    wait_for_launch_before();
    for (int i = threadIdx.x; i < p.row_bytes / chunk_bytes + 3; i += 32 * gemv_warps) {
        const int at = (i - 1) * chunk_bytes;
        shared_a[i] = i > 0 && at < p.row_bytes
                          ? clip_bytes(load_chunk(p.a, at, p.row_bytes), 0, p.row_bytes - at)
                          : make_uint4(0, 0, 0, 0);
    }
    __syncthreads();
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, parts = 1 << p.doublings;
    const int unit = blockIdx.x * gemv_warps + warp, part = unit & (parts - 1);
    const int column = unit >> p.doublings;
    const ragged_row row(p, column < p.n ? column : p.n - 1);
    const int stride = 32 * parts;
    float sum = 0;
    const auto add = [&](int chunk, const uint4 &b) {
        sum += multiply_bytes<type>(
            bytes_at(shared_a[chunk], shared_a[chunk + 1], chunk_bytes - row.shift), b);
    };
    int at = part * 32 + lane;
    for (; at + 3 * stride < row.chunks; at += 4 * stride) {
        uint4 b[4];
#pragma unroll
        for (int i = 0; i < 4; ++i)
            b[i] = row.load(p, at + i * stride);
#pragma unroll
        for (int i = 0; i < 4; ++i)
            add(at + i * stride, b[i]);
    }
    for (; at < row.chunks; at += stride)
        add(at, row.load(p, at));
    let_next_launch_begin();
#pragma unroll
    for (int d = 16; d; d /= 2)
        sum += __shfl_xor_sync(~0u, sum, d);
    if (lane == 0)
        sums[warp] = sum;
    __syncthreads();
    if (part != 0 || lane != 0 || column >= p.n)
        return;
    for (int i = 1; i < parts; ++i)
        sum += sums[warp + i];
    if constexpr (type::dtype == PLUMB_E4M3)
        sum *= (p.scale_a ? *p.scale_a : 1.0f) * (p.scale_b ? *p.scale_b : 1.0f);
    using output = typename type::output;
    static_cast<typename output::type *>(p.c)[column] = output::from(sum);
}

// ---- host ----

// True if A with its zeros fits the shared memory that every kernel may have.
template <class type> bool takes_ragged_row(const plumb_problem &problem)
{
    return problem.m == 1 && problem.epilogue == PLUMB_NO_EPILOGUE && is_ragged<type>(problem) &&
           problem.k * type::bytes + 4 * chunk_bytes <= 48 * 1024 - 64;
}

template <class type> int launch_ragged_row(const plumb_args *args, void *stream)
{
    const plumb_problem &problem = args->problem;
    ragged_params p = {static_cast<const uint8_t *>(args->a),
                       static_cast<const uint8_t *>(args->b),
                       args->c,
                       args->scale_a,
                       args->scale_b,
                       problem.n * problem.k * type::bytes,
                       (int)problem.n,
                       (int)(problem.k * type::bytes),
                       0};
    static const int sms = count_sms();
    const int resident = sms * gemv_blocks * gemv_warps, chunks = p.row_bytes / chunk_bytes;
    while (p.doublings < 3 && (int64_t)p.n << (p.doublings + 1) <= resident &&
           chunks >= (2 << p.doublings) * 32 * 4)
        ++p.doublings;
    cluster_launch launch(32 * gemv_warps, 1, (chunks + 3) * chunk_bytes, stream);
    launch.config.gridDim = dim3(ceil_div((int64_t)p.n << p.doublings, gemv_warps));
    launch.begin_early();
    return cudaLaunchKernelEx(&launch.config, gemv_ragged<type>, p);
}

// ---- Loads of rows that begin anywhere, word by word, to the swizzled places where the copy
// engine would put them. In TF32 a row's words begin at multiples of 4 bytes; in BF16 each half of
// a word is loaded by itself, so that nothing outside of the matrix is read.

// A way to do a problem as it is, without padding.
struct ragged_way {
    const char *name;
    int (*launch)(const plumb_args *args, void *stream);
};

// Loads the value at `from`, or gives zeros if !valid. There is no branch, because behind a branch
// each load would wait for the one before.
DEVICE uint32_t load_valid(const float *from, bool valid)
{
    uint32_t word;
    asm volatile("{\n"
                 ".reg .pred p;\n"
                 "setp.ne.b32 p, %2, 0;\n"
                 "mov.b32 %0, 0;\n"
                 "@p ld.global.nc.b32 %0, [%1];\n"
                 "}"
                 : "=r"(word)
                 : "l"(from), "r"((int)valid));
    return word;
}

DEVICE uint32_t load_valid(const uint16_t *from, bool valid)
{
    uint16_t half;
    asm volatile("{\n"
                 ".reg .pred p;\n"
                 "setp.ne.b32 p, %2, 0;\n"
                 "mov.b16 %0, 0;\n"
                 "@p ld.global.nc.b16 %0, [%1];\n"
                 "}"
                 : "=h"(half)
                 : "l"(from), "r"((int)valid));
    return half;
}

// The rows of an operand's tile that a warp loads: every `warps`-th.
template <class type, int tile_rows, int warps> struct word_rows {
    static constexpr int each = tile_rows / warps;
    static constexpr int halves = 4 / type::bytes; // number of loads for a word
    uint32_t words[halves][each];

    DEVICE void load(const uint8_t *matrix, int rows, int k, int first, int slab)
    {
        using element = std::conditional_t<type::bytes == 4, float, uint16_t>;
        const int row = first + (int)uniform(threadIdx.x / 32);
        const int column = slab * slab_elements<type> + threadIdx.x % 32 * halves;
        const int64_t step = (int64_t)warps * k;
        const element *from = reinterpret_cast<const element *>(matrix) + (int64_t)row * k + column;
#pragma unroll
        for (int j = 0; j < each; ++j, from += step)
#pragma unroll
            for (int half = 0; half < halves; ++half)
                words[half][j] =
                    load_valid(from + half, column + half < k && row + j * warps < rows);
    }

    DEVICE void store(uint32_t shared) const
    {
        const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
#pragma unroll
        for (int j = 0; j < each; ++j) {
            uint32_t word = words[0][j];
            if constexpr (halves == 2)
                word |= words[1][j] << 16;
            else
                word = round_tf32(__uint_as_float(word));
            asm volatile(
                "st.shared.b32 [%0], %1;" ::"r"(shared + loose_place(warp + j * warps, lane)),
                "r"(word)
                : "memory");
        }
    }
};

// ---- Rows of C that are no multiple of 16 bytes, which the copy engine cannot store. They are
// stored in words of 4 bytes, neighbouring lanes storing neighbouring words of a row. The sums
// go through shared memory; if a row begins in the middle of a word, the halves of two words
// there become one.

// 16 rows of n sums of one warp, which other warps may help to store. The warp's shared memory
// limits how many pieces are stored at a time.
template <class c> struct ragged_rows {
    using stager = typename c::stager;
    static constexpr int together = stager::count < c::ring ? stager::count : c::ring;
    // elements of a row that are stored at a time
    static constexpr int width = together * stager::columns;
    static_assert(c::mi == 1 && c::n % width == 0, "whole pieces of one block of rows");

    // Puts the sums from column `first` on into shared memory, as pieces one behind the other.
    template <int first>
    static DEVICE void fill(const stager &out, const typename stager::sums &acc)
    {
        constexpr int piece = first / stager::columns;
        typename stager::words held;
        [&]<int... i>(std::integer_sequence<int, i...>)
        {
            ((stager::template hold_piece<piece + i>(held, acc, 1),
              out.template fill<piece + i>(held, out.pieces + i * piece_bytes)),
             ...);
        }
        (std::make_integer_sequence<int, together>());
    }

    // Reads word `word` of a row of the pieces.
    static DEVICE uint32_t word_at(uint32_t pieces, int row, int word)
    {
        return __float_as_uint(
            load_shared_float(pieces + word / 32 * piece_bytes + loose_place(row, word % 32)));
    }

    // Stores the words of a row: `left` elements (none, if negative), from element `begin` of C on.
    static DEVICE void store_row(uint32_t pieces, void *matrix, int row, int64_t begin, int left)
    {
        const int lane = threadIdx.x % 32;
        if constexpr (stager::element == 4) {
            uint32_t *to = static_cast<uint32_t *>(matrix) + begin;
#pragma unroll
            for (int word = lane; word < width; word += 32)
                if (word < left)
                    to[word] = word_at(pieces, row, word);
        } else {
            uint16_t *to = static_cast<uint16_t *>(matrix) + begin;
            const loose_part part = loose_part_of(begin, left);
#pragma unroll
            for (int word = lane; word < width / 2; word += 32) {
                const uint32_t x = word_at(pieces, row, word);
                const uint32_t y = word_at(pieces, row, min(word + 1, width / 2 - 1));
                if (word < part.words)
                    *reinterpret_cast<uint32_t *>(to + part.head + 2 * word) =
                        __funnelshift_r(x, y, 16 * part.head);
                if (word == 0 && part.head)
                    to[0] = (uint16_t)x;
                if (word == part.words && part.tail)
                    to[left - 1] = (uint16_t)(x >> 16 * part.head);
            }
        }
    }

    // Stores every `step`-th of the 16 rows, which begin at (row, column) of C.
    static DEVICE void store(uint32_t pieces, const output_target &target, int row, int column,
                             int from, int step)
    {
        const int left = min(target.n - column, width);
#pragma unroll 4
        for (int i = from; i < 16; i += step)
            if (row + i < target.m)
                store_row(pieces, target.c, i, (int64_t)(row + i) * target.n + column, left);
    }
};

// Stores the sums of a block's last warpgroup by both of its warpgroups: each warp of the first one
// stores half of the rows of the warp with its number in the last one.
template <class c>
DEVICE void store_ragged_rows(const typename c::stager &out, const typename c::stager::sums &acc,
                              int row, int column)
{
    using rows = ragged_rows<c>;
    static_assert(c::threads == 256 && c::n <= 2 * rows::width, "two warpgroups, two turns");
    const int group = (int)uniform(threadIdx.x / 128);
    if (group == 1)
        rows::template fill<0>(out, acc);
    __syncthreads();
    rows::store(out.pieces, out.target, row, column, group, 2);
    if constexpr (c::n > rows::width) {
        __syncthreads();
        if (group == 1)
            rows::template fill<rows::width>(out, acc);
        __syncthreads();
        rows::store(out.pieces, out.target, row, column + rows::width, group, 2);
    }
}

// ---- A K of at most three slabs that is no multiple of 16 bytes, in one launch. All warps of a
// block load its rows to shared memory word by word, and ask for all words of a slab at once. Then
// one warpgroup multiplies. Both store, if the copy engine cannot store C's rows. There is no ring;
// instead two blocks share an SM.

struct short_params {
    gemm_params gemm;
    const uint8_t *a, *b;
    int k;
};

template <class c>
DEVICE void short_multiply(float (&acc)[c::mi][c::n / 2], const block_memory<c> &memory, int slabs)
{
    consumer<c>::pin_all(acc);
#pragma unroll 1
    for (int slab = 0; slab < slabs; ++slab) {
        wgmma_fence();
        multiply_slab<c>(acc, operand_start(memory.a(slab)), operand_start(memory.b(slab)),
                         slab > 0);
        wgmma_commit();
    }
    wgmma_wait<0>();
    consumer<c>::pin_all(acc);
}

template <class c>
__global__ void __launch_bounds__(c::threads, 2)
    short_gemm(const __grid_constant__ gemm_maps maps, const __grid_constant__ short_params p)
{
    static_assert(c::wm * c::wn * c::cluster == 1 && c::boxes == 1 && !c::swapped && !c::promote,
                  "one warpgroup, one plain tile");
    using type = typename c::type;
    constexpr int warps = c::threads / 32;
    extern __shared__ __align__(1024) uint8_t shared[];
    const block_memory<c> memory(shared_address(shared), p.gemm.stages);
    const tile t = {(int)blockIdx.y, (int)blockIdx.x};
    wait_for_launch_before();
#pragma unroll 1
    for (int slab = 0; slab < p.gemm.slabs; ++slab) {
        word_rows<type, c::bm, warps> a;
        word_rows<type, c::bn, warps> b;
        a.load(p.a, p.gemm.out.m, p.k, t.row * c::bm, slab);
        b.load(p.b, p.gemm.out.n, p.k, t.column * c::bn, slab);
        a.store(memory.a(slab));
        b.store(memory.b(slab));
    }
    let_next_launch_begin();
    fence_async_shared();
    __syncthreads();
    const bool multiplies = threadIdx.x >= 128;
    if (!multiplies && !p.gemm.out.direct)
        return;
    float acc[c::mi][c::n / 2];
    if (multiplies)
        short_multiply<c>(acc, memory, p.gemm.slabs);
    const int warp = (int)uniform(threadIdx.x / 32) % 4;
    const int row = t.row * c::bm + warp * 16, column = t.column * c::bn;
    typename c::stager out = {maps.c, maps.tail, memory.staging(warp), p.gemm.out};
    if (p.gemm.out.direct) {
        store_ragged_rows<c>(out, acc, row, column);
        return;
    }
    out.put_all_sums(acc, 1, row, column);
    if (elect())
        bulk_wait_read<0>();
}

// ---- host ----

constexpr int most_short_slabs = 3;

template <class c> static cudaError_t allow_short()
{
    return cudaFuncSetAttribute(short_gemm<c>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                c::smem_bytes(most_short_slabs));
}

// Makes the maps with which the copy engine stores C, if C's rows are whole multiples of 16 bytes.
template <class c> cudaError_t make_output_maps(gemm_maps *maps, const plumb_args *args)
{
    plumb_args whole = *args;
    whole.problem.k = slab_elements<typename c::type>; // for the operands' maps, which nobody uses
    return make_maps<c>(maps, &whole);
}

template <class type, int bm, int bn> int launch_short(const plumb_args *args, void *stream)
{
    using c = tiled<type, tiling{.tile_m = bm, .tile_n = bn}>;
    static const cudaError_t allowed = allow_short<c>();
    gemm_maps maps = {};
    short_params p = {};
    if (allowed != cudaSuccess || make_output_maps<c>(&maps, args) != cudaSuccess)
        return cudaErrorInvalidValue;
    p.gemm = make_params<c>(args, {PLUMB_RASTER_M, 1, 0});
    p.gemm.stages = p.gemm.slabs;
    p.a = static_cast<const uint8_t *>(args->a);
    p.b = static_cast<const uint8_t *>(args->b);
    p.k = (int)args->problem.k;
    if (p.gemm.slabs > most_short_slabs)
        return cudaErrorInvalidValue;
    cluster_launch launch(c::threads, 1, c::smem_bytes(p.gemm.slabs), stream);
    launch.config.gridDim = dim3(p.gemm.grid.columns, p.gemm.grid.rows);
    launch.begin_early();
    return cudaLaunchKernelEx(&launch.config, short_gemm<c>, maps, p);
}

template <class type>
static constexpr ragged_way short_ways[] = {{"short-64x64", launch_short<type, 64, 64>},
                                            {"short-64x128", launch_short<type, 64, 128>}};

// NULL: the problem is to be done in another way.
template <class type> static const ragged_way *find_short(const plumb_problem &problem)
{
    const int columns = short_columns(problem.m, problem.n, problem.k, type::bytes);
    return columns ? &short_ways<type>[columns == 128] : nullptr;
}

// ---- A K of at most 16, with a C that is much larger than A and B, so that writing C takes the
// time. There are no tensor cores. A thread holds the values of B for its columns in registers (as
// many columns as 16 bytes of C have), and writes 16 bytes of one row after the other. Rows of C
// may begin anywhere. But every 8th row of BF16, and every 4th of FP32, begins at the same offset
// from a multiple of 16 bytes. A block has such rows, so only the ends of a row are written
// element by element.
//
// TF32 inputs are not rounded here, as tensor cores' inputs are, so results are those of FP32.

constexpr int outer_threads = 128, most_outer_rows = 64;

struct outer_params {
    const void *a, *b;
    void *c;
    int m, n;
    int rows; // of a block
};

template <class type> struct outer_form {
    using output = typename type::output;
    using element = std::conditional_t<type::bytes == 4, float, uint16_t>;
    static constexpr int columns = 16 / type::bytes; // of a thread
    static_assert(sizeof(typename output::type) == type::bytes, "C's elements are like B's");

    static DEVICE float value(uint32_t word, int half)
    {
        if constexpr (type::bytes == 4)
            return __uint_as_float(word);
        return __uint_as_float(half ? word & 0xffff0000u : word << 16);
    }

    static DEVICE uint4 vector(const float (&x)[columns])
    {
        if constexpr (type::bytes == 4)
            return make_uint4(__float_as_uint(x[0]), __float_as_uint(x[1]), __float_as_uint(x[2]),
                              __float_as_uint(x[3]));
        else
            return make_uint4(output::pack(x[0], x[1]), output::pack(x[2], x[3]),
                              output::pack(x[4], x[5]), output::pack(x[6], x[7]));
    }
};

// Loads the block's rows of B, one behind the other, from column `begin` on; places outside of
// B get zeros.
template <class type, int k>
DEVICE void outer_load_b(uint16_t *shared, const outer_params &p, int begin)
{
    using form = outer_form<type>;
    using element = typename form::element;
    constexpr int each = form::columns * k;
    const element *from = static_cast<const element *>(p.b) + (int64_t)begin * k;
    const int64_t left = (int64_t)(p.n - begin) * k;
    const int first = begin < 0 ? -begin * k : 0;
#pragma unroll 8
    for (int j = 0; j < each; ++j) {
        const int i = j * outer_threads + (int)threadIdx.x;
        const auto x = load_valid(from + i, i >= first && i < left);
        if constexpr (type::bytes == 4)
            reinterpret_cast<uint32_t *>(shared)[i] = x;
        else
            shared[i] = (uint16_t)x;
    }
}

// Loads its rows of A, every columns-th from `first` on, as floats in rows of `pitch`.
template <class type, int k, int pitch>
DEVICE void outer_load_a(float *shared, const outer_params &p, int first)
{
    using form = outer_form<type>;
    using element = typename form::element;
#pragma unroll 4
    for (int i = threadIdx.x; i < p.rows * k; i += outer_threads) {
        const int row = i / k, at = i - row * k, whole = first + row * form::columns;
        const element *from = static_cast<const element *>(p.a) + (int64_t)whole * k + at;
        shared[row * pitch + at] = form::value(load_valid(from, whole < p.m), 0);
    }
}

// Stores this thread's elements of one row: all of them, or those inside of C.
template <class type>
DEVICE void outer_store(void *c, int64_t at, const float (&x)[outer_form<type>::columns],
                        int column, int n)
{
    using form = outer_form<type>;
    using output = typename form::output;
    typename output::type *to = static_cast<typename output::type *>(c) + at;
    if (column >= 0 && column + form::columns <= n) {
        *reinterpret_cast<uint4 *>(to) = form::vector(x);
        return;
    }
#pragma unroll
    for (int i = 0; i < form::columns; ++i)
        if (column + i >= 0 && column + i < n)
            to[i] = output::from(x[i]);
}

template <class type, int k>
__global__ void __launch_bounds__(outer_threads) outer_gemm(const __grid_constant__ outer_params p)
{
    using form = outer_form<type>;
    constexpr int columns = form::columns, pitch = (k + 3) / 4 * 4, halves = 4 / type::bytes;
    __shared__ __align__(16) uint16_t shared_b[outer_threads * 8 * k];
    __shared__ __align__(16) float shared_a[most_outer_rows * pitch];
    const int group = (int)blockIdx.x, first = group + columns * (int)blockIdx.z * p.rows;
    // offset of its rows' beginnings, within 16 bytes
    const int off = group * (p.n % columns) % columns;
    const int begin = (int)blockIdx.y * outer_threads * columns - off;
    outer_load_b<type, k>(shared_b, p, begin);
    outer_load_a<type, k, pitch>(shared_a, p, first);
    __syncthreads();
    const int column = begin + (int)threadIdx.x * columns;
    if (column >= p.n || first >= p.m)
        return;
    float b[columns * k];
#pragma unroll
    for (int i = 0; i < k; ++i) {
        const uint4 v = reinterpret_cast<const uint4 *>(shared_b)[threadIdx.x * k + i];
        const uint32_t words[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
        for (int j = 0; j < 4 * halves; ++j)
            b[i * columns + j] = form::value(words[j / halves], j % halves);
    }
    const int inside = (p.m - first + columns - 1) / columns;
    const int rows = inside < p.rows ? inside : p.rows;
    int64_t at = (int64_t)first * p.n + column;
#pragma unroll 2
    for (int row = 0; row < rows; ++row, at += (int64_t)columns * p.n) {
        float a[pitch], sums[columns] = {};
#pragma unroll
        for (int i = 0; i < pitch; i += 4)
            *reinterpret_cast<float4 *>(a + i) =
                *reinterpret_cast<const float4 *>(shared_a + row * pitch + i);
#pragma unroll
        for (int i = 0; i < columns; ++i)
#pragma unroll
            for (int j = 0; j < k; ++j)
                sums[i] = fmaf(a[j], b[i * k + j], sums[i]);
        outer_store<type>(p.c, at, sums, column, p.n);
    }
}

// ---- host ----

template <class type, int k> int launch_outer_k(const outer_params &p, dim3 grid, cudaStream_t s)
{
    outer_gemm<type, k><<<grid, outer_threads, 0, s>>>(p);
    return cudaGetLastError();
}

template <class type, int... k>
int launch_outer_any(int which, const outer_params &p, dim3 grid, cudaStream_t s,
                     std::integer_sequence<int, k...>)
{
    static constexpr decltype(&launch_outer_k<type, 1>) launchers[] = {
        launch_outer_k<type, k + 1>...};
    return launchers[which - 1](p, grid, s);
}

template <class type> int launch_outer(const plumb_args *args, void *stream)
{
    const plumb_problem &problem = args->problem;
    constexpr int columns = outer_form<type>::columns;
    if (problem.k < 1 || problem.k > most_outer_k)
        return cudaErrorInvalidValue;
    const int rows = outer_rows(problem.m, problem.n, problem.k, type::bytes);
    const outer_params p = {args->a, args->b, args->c, (int)problem.m, (int)problem.n, rows};
    // A row that begins in the middle of 16 bytes touches one more part of 16 bytes.
    const int64_t parts = (problem.n + 2 * columns - 2) / columns;
    const dim3 grid(columns, (unsigned)((parts + outer_threads - 1) / outer_threads),
                    (unsigned)((problem.m + rows * columns - 1) / (rows * columns)));
    return launch_outer_any<type>((int)problem.k, p, grid, (cudaStream_t)stream,
                                  std::make_integer_sequence<int, most_outer_k>());
}

template <class type> static constexpr ragged_way outer_way = {"outer", launch_outer<type>};

// NULL: the problem is to be done in another way.
template <class type> static const ragged_way *find_outer(const plumb_problem &problem)
{
    const bool takes = takes_outer(problem.m, problem.n, problem.k, type::bytes);
    return takes ? &outer_way<type> : nullptr;
}

#endif
