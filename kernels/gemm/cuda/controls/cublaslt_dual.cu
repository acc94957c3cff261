// SPDX-License-Identifier: Apache-2.0
// nvcc: -lcublasLt
// module: cublaslt_dual -DIN=PLUMB_BF16 -DCOUNT=1 -DNAME="cublaslt_dual"
// module: cublaslt_dual_fast -DIN=PLUMB_E4M3 -DCOUNT=1 -DNAME="cublaslt_dual_fast"
// module: dual_1_reference -DIN=PLUMB_BF16 -DCOUNT=2 -DNAME="dual-1-reference"
//
// The dual GEMM with cuBLASLt: products into the workspace, then a kernel that reads them row by
// row and makes the results. This is what a library without a fused kernel offers, and what the
// fused ones are held against. The controls take one product of 2 n columns in BF16, from BF16 or
// from FP8 with fast accumulation; torch.compile makes about this, in about this time. The
// reference is what one would first write: two products in FP32, by which A is read twice and 16 m
// n bytes go to memory and back.
// All launches are one CUDA graph (controls/graphs.cuh).
#include <cuda_bf16.h>

#include <type_traits>

#include "cublaslt.cuh"
#include "graphs.cuh"

// The products as the second kernel finds them: gate and up of row i, element by element.
template <class type> struct pair_of_products {
    const type *gate, *up;
    int64_t pitch; // from row to row
};

[[maybe_unused]] static __device__ inline float as_float(float x)
{
    return x;
}
[[maybe_unused]] static __device__ inline float as_float(__nv_bfloat16 x)
{
    return __bfloat162float(x);
}

template <class type, int width> struct alignas(width * sizeof(type)) chunk {
    type x[width];
};

// Each thread makes `width` neighbouring results; one row per block in y.
template <class type, int width>
static __global__ void __launch_bounds__(256)
    combine_products(pair_of_products<type> products, __nv_bfloat16 *c, int n)
{
    const int column = (blockIdx.x * blockDim.x + threadIdx.x) * width;
    if (column >= n)
        return;
    const int64_t at = blockIdx.y * products.pitch + column;
    using in = chunk<type, width>;
    using out = chunk<__nv_bfloat16, width>;
    const in gate = *reinterpret_cast<const in *>(products.gate + at);
    const in up = *reinterpret_cast<const in *>(products.up + at);
    out results;
#pragma unroll
    for (int i = 0; i < width; ++i) {
        const float x = as_float(gate.x[i]);
        results.x[i] = __float2bfloat16_rn(__fdividef(x, 1 + __expf(-x)) * as_float(up.x[i]));
    }
    *reinterpret_cast<out *>(c + (int64_t)blockIdx.y * n + column) = results;
}

// ---- host ----

struct dual_state {
    struct cublaslt_state products;
    struct kept_graphs<struct plumb_args> graphs;
};

// A dual problem of `in` (BF16 or E4M3, the latter with fast accumulation) as `count` products (1
// of both matrices, or 2) whose elements are `type`.
template <plumb_dtype in, class type, int count> struct dual_by_products {
    static struct plumb_problem problem(const struct plumb_problem *p)
    {
        struct plumb_problem product = *p;
        product.n = p->n * 2 / count;
        product.out_type = sizeof(type) == 2 ? PLUMB_BF16 : PLUMB_FP32;
        product.epilogue = PLUMB_NO_EPILOGUE;
        return product;
    }

    static int supports(const struct plumb_problem *p)
    {
        const struct plumb_problem product = problem(p);
        return p->epilogue == PLUMB_DUAL_SILU && p->in_type == in && p->out_type == PLUMB_BF16 &&
               p->layout == PLUMB_TN && p->batch == 1 && p->m <= 65535 && p->n <= INT32_MAX / 2 &&
               cublaslt_supports(&product);
    }

    // The library's own workspace comes first.
    static size_t workspace(const struct plumb_problem *p)
    {
        return cublaslt_workspace_bytes + 2 * p->m * p->n * sizeof(type);
    }

    static struct plumb_args product(const struct plumb_args *args, int index)
    {
        struct plumb_args one = *args;
        const struct plumb_problem *p = &args->problem;
        one.problem = problem(p);
        one.b =
            static_cast<const char *>(args->b) + index * p->n * p->k * (in == PLUMB_BF16 ? 2 : 1);
        one.c = static_cast<char *>(args->workspace) + cublaslt_workspace_bytes +
                index * p->m * p->n * sizeof(type);
        one.workspace_bytes = cublaslt_workspace_bytes;
        return one;
    }

    static int combine(const struct plumb_args *args, cudaStream_t stream)
    {
        const int n = static_cast<int>(args->problem.n), threads = 256;
        const int width = n % 8 == 0 ? 8 : 1, per_block = threads * width;
        const type *gate = static_cast<const type *>(product(args, 0).c);
        const struct pair_of_products<type> products = {
            gate, gate + (count == 1 ? n : args->problem.m * n), count == 1 ? 2L * n : n
        };
        const dim3 blocks((n + per_block - 1) / per_block, static_cast<unsigned>(args->problem.m));
        const auto kernel = width == 8 ? combine_products<type, 8> : combine_products<type, 1>;
        kernel<<<blocks, threads, 0, stream>>>(products, static_cast<__nv_bfloat16 *>(args->c), n);
        return cudaGetLastError();
    }

    static int queue(struct dual_state *s, const struct plumb_args *args, cudaStream_t stream)
    {
        for (int i = 0; i < count; i++) {
            const struct plumb_args one = product(args, i);
            const int code = cublaslt_launch(&s->products, &one, stream);
            if (code)
                return code;
        }
        return combine(args, stream);
    }

    static int prepare(struct dual_state *s, const struct plumb_args *args, void *stream,
                       const char *pin, char *note, size_t note_size)
    {
        const struct plumb_args one = product(args, 0);
        const int code = s->graphs.begin(); // of an algorithm that may change now
        return code ? code
                    : cublaslt_prepare(&s->products, describe_plain<in == PLUMB_E4M3>, &one, stream,
                                       pin, note, note_size);
    }

    static int launch(struct dual_state *s, const struct plumb_args *args, void *stream)
    {
        if (args->workspace_bytes < workspace(&args->problem))
            return cudaErrorInvalidValue;
        return s->graphs.launch(args, stream, [=](cudaStream_t to) { return queue(s, args, to); });
    }
};

using dual = dual_by_products<IN, std::conditional_t<COUNT == 1, __nv_bfloat16, float>, COUNT>;
static struct dual_state state;

static int prepare(const struct plumb_args *args, void *stream, const char *pin, char *note,
                   size_t note_size)
{
    return dual::prepare(&state, args, stream, pin, note, note_size);
}

static int launch(const struct plumb_args *args, void *stream)
{
    return dual::launch(&state, args, stream);
}

static const struct plumb_kernel kernel = {
    .name = NAME,
    .summary = COUNT == 1 ? "one product of cuBLASLt of 2 n columns, and a pass"
                          : "two products of cuBLASLt in FP32, and a pass",
    .traits = {.in_type = IN, .out_type = PLUMB_BF16, .acc_type = PLUMB_FP32},
    .supports = dual::supports,
    .workspace = dual::workspace,
    .prepare = prepare,
    .launch = launch,
};
PLUMB_LIBRARY("cuda", kernel)
