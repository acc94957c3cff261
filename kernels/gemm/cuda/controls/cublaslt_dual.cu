// SPDX-License-Identifier: Apache-2.0
// nvcc: -lcublasLt
// module: cublaslt_dual -DIN=PLUMB_BF16 -DCOUNT=1 -DNAME="cublaslt_dual"
// module: cublaslt_dual_fast -DIN=PLUMB_E4M3 -DCOUNT=1 -DNAME="cublaslt_dual_fast"
// module: dual_1_reference -DIN=PLUMB_BF16 -DCOUNT=2 -DNAME="dual-1-reference"
//
// The dual GEMM with cuBLASLt: products into the workspace, then a kernel that reads them
// row by row and makes the results. A library without a fused kernel can do no better, so
// the fused kernels are compared with this. The controls compute one product of 2 n columns
// in BF16, from BF16 or from FP8 with fast accumulation; torch.compile does about the same,
// in about the same time. The reference is what one would write first: two products in FP32,
// for which A is read twice and 16 m n bytes go to memory and back. All launches are one
// CUDA graph (controls/graphs.cuh).
#include <cuda_bf16.h>

#include <type_traits>

#include "cublaslt.cuh"
#include "graphs.cuh"

// The products as the second kernel reads them: gate and up of row i, element by element.
template <class type> struct pair_of_products {
    const type *gate, *up;
    int64_t pitch; // elements from one row to the next
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

// Each thread makes `width` neighbouring results; the grid's y is the row.
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

// COUNT products (1 of both matrices, or 2), whose elements are of type `element`.
using element = std::conditional_t<COUNT == 1, __nv_bfloat16, float>;
static struct cublaslt_state products;
static struct kept_graphs<struct plumb_args> graphs;

static struct plumb_problem problem_of(const struct plumb_problem *p)
{
    struct plumb_problem product = *p;
    product.n = p->n * 2 / COUNT;
    product.out_type = COUNT == 1 ? PLUMB_BF16 : PLUMB_FP32;
    product.epilogue = PLUMB_NO_EPILOGUE;
    return product;
}

static int supports(const struct plumb_problem *p)
{
    const struct plumb_problem product = problem_of(p);
    return p->epilogue == PLUMB_DUAL_SILU && p->in_type == IN && p->out_type == PLUMB_BF16 &&
           p->layout == PLUMB_TN && p->batch == 1 && p->m <= 65535 && p->n <= INT32_MAX / 2 &&
           cublaslt_supports(&product);
}

// The workspace of the library itself comes first.
static size_t workspace(const struct plumb_problem *p)
{
    return cublaslt_workspace_bytes + 2 * p->m * p->n * sizeof(element);
}

static struct plumb_args product(const struct plumb_args *args, int index)
{
    struct plumb_args one = *args;
    const struct plumb_problem *p = &args->problem;
    one.problem = problem_of(p);
    one.b = static_cast<const char *>(args->b) + index * p->n * p->k * (IN == PLUMB_BF16 ? 2 : 1);
    one.c = static_cast<char *>(args->workspace) + cublaslt_workspace_bytes +
            index * p->m * p->n * sizeof(element);
    one.workspace_bytes = cublaslt_workspace_bytes;
    return one;
}

static int combine(const struct plumb_args *args, cudaStream_t stream)
{
    const int n = static_cast<int>(args->problem.n), threads = 256;
    const int width = n % 8 == 0 ? 8 : 1, per_block = threads * width;
    const element *gate = static_cast<const element *>(product(args, 0).c);
    const struct pair_of_products<element> pair = {
        gate, gate + (COUNT == 1 ? n : args->problem.m * n), COUNT == 1 ? 2L * n : n
    };
    const dim3 blocks((n + per_block - 1) / per_block, static_cast<unsigned>(args->problem.m));
    const auto kernel = width == 8 ? combine_products<element, 8> : combine_products<element, 1>;
    kernel<<<blocks, threads, 0, stream>>>(pair, static_cast<__nv_bfloat16 *>(args->c), n);
    return cudaGetLastError();
}

static int queue(const struct plumb_args *args, cudaStream_t stream)
{
    for (int i = 0; i < COUNT; i++) {
        const struct plumb_args one = product(args, i);
        const int code = cublaslt_launch(&products, &one, stream);
        if (code)
            return code;
    }
    return combine(args, stream);
}

static int prepare(const struct plumb_args *args, void *stream, const char *pin, char *note,
                   size_t note_size)
{
    const struct plumb_args one = product(args, 0);
    const int code = graphs.begin(); // because an algorithm may have changed
    return code ? code
                : cublaslt_prepare(&products, describe_plain<IN == PLUMB_E4M3>, &one, stream, pin,
                                   note, note_size);
}

static int launch(const struct plumb_args *args, void *stream)
{
    if (args->workspace_bytes < workspace(&args->problem))
        return cudaErrorInvalidValue;
    return graphs.launch(args, stream, [=](cudaStream_t to) { return queue(args, to); });
}

static const struct plumb_kernel kernel = {
    .name = NAME,
    .summary = COUNT == 1 ? "one product of cuBLASLt of 2 n columns, and a pass"
                          : "two products of cuBLASLt in FP32, and a pass",
    .traits = {.in_type = IN, .out_type = PLUMB_BF16, .acc_type = PLUMB_FP32},
    .supports = supports,
    .workspace = workspace,
    .prepare = prepare,
    .launch = launch,
};
PLUMB_LIBRARY("cuda", kernel)
