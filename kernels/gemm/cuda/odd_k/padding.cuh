// SPDX-License-Identifier: Apache-2.0
//
// K that is no multiple of 16 bytes. The copy engine takes matrices whose rows begin at multiples
// of 16 bytes only, so both operands are copied into the workspace first, each row to a line of L2
// of its own (128 bytes) and filled up with zeros, and the product is then one of a longer K.
//
// Reading and writing both operands once costs less than loading them without the copy engine. At m
// = 1 it would be most of the time: there odd_k/gemv.cuh takes rows as they are.
#ifndef PLUMB_GEMM_ODD_K_PADDING_CUH
#define PLUMB_GEMM_ODD_K_PADDING_CUH

#include "../persistent/launch.cuh"

constexpr int line_bytes = 128, chunk_bytes = 16;
constexpr int pad_threads = 128;

struct pad_params {
    const uint8_t *from[2]; // A, B
    uint8_t *to;            // A's rows, then B's
    int64_t bytes[2];       // of each
    int rows_a;
    int row_bytes, pitch; // of a row as it is, as it becomes
    int blocks;           // of a row
};

// 16 bytes from a multiple of 16; of the matrix's last ones only what there is.
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

// The 16 bytes that begin `shift` bytes (0 to 16) into x and y, one behind the other.
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

// Zeros before byte `from` and from byte `to` on.
DEVICE uint4 clip_bytes(const uint4 &x, int from, int to)
{
    uint32_t words[4] = {x.x, x.y, x.z, x.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const int before = from - 4 * i, valid = to - 4 * i; // bytes of this word
        if (before > 0)
            words[i] &= before < 4 ? ~0u << before * 8 : 0;
        if (valid < 4)
            words[i] &= valid > 0 ? (1u << valid * 8) - 1 : 0;
    }
    return make_uint4(words[0], words[1], words[2], words[3]);
}

// A thread makes 16 bytes of a row from the two chunks that they lie in.
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

// The problem as it is computed: with rows of whole lines if those it has are ragged. (As it is if
// they are longer than can be counted here; no kernel takes it then.)
template <class type> plumb_problem padded(const plumb_problem &problem)
{
    plumb_problem p = problem;
    if (is_ragged<type>(problem) && problem.k * type::bytes <= INT32_MAX - line_bytes)
        p.k = (problem.k * type::bytes + line_bytes - 1) / line_bytes * line_bytes / type::bytes;
    return p;
}

// Rows of B: of both matrices of a dual GEMM.
inline int64_t rows_of_b(const plumb_problem &problem)
{
    return problem.epilogue == PLUMB_DUAL_SILU ? 2 * problem.n : problem.n;
}

// Bytes of the workspace that the copies take; 0 if there is nothing to copy.
template <class type> size_t padding_bytes(const plumb_problem &problem)
{
    if (!is_ragged<type>(problem))
        return 0;
    const size_t bytes = (problem.m + rows_of_b(problem)) * padded<type>(problem).k * type::bytes;
    return (bytes + 255) / 256 * 256;
}

// The arguments of the padded problem; queues the copies that they point to.
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

#endif
