// SPDX-License-Identifier: Apache-2.0
// nvcc: -lcublasLt
// module: cublaslt_nvfp4 -DDUAL=false -DNAME="cublaslt_nvfp4"
// module: cublaslt_nvfp4_dual -DDUAL=true -DNAME="cublaslt_nvfp4_dual"
//
// NVFP4 with cuBLASLt on Hopper, where the library does not have that type. Both operands are
// decoded to FP16 in the workspace (nvfp4/nvfp4.cuh; exactly, in an order of K of their own). One
// product in FP32 follows, and then a pass that scales it and, in a dual GEMM, makes its results. A
// library without NVFP4 can do no better, so the kernels that decode inside are compared with this.
//
// All launches are one CUDA graph (controls/graphs.cuh).
#include "../epilogue.cuh"
#include "../nvfp4/nvfp4.cuh"
#include "cublaslt.cuh"
#include "graphs.cuh"

// Decodes rows of packed codes, and of scales in tiles, to rows of FP16. A thread has 32 elements.
static __global__ void __launch_bounds__(256)
    decode_rows(uint4 *to, const uint8_t *codes, const uint8_t *scales, int rows, int k)
{
    const int64_t index = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    const int chunks = k / 32, row = (int)(index / chunks), chunk = (int)(index % chunks);
    if (row >= rows)
        return;
    const uint4 packed = *reinterpret_cast<const uint4 *>(codes + index * 16);
    const int k_tiles = (k + 63) / 64;
    const uint32_t line = *reinterpret_cast<const uint32_t *>(
        scales + ((int64_t)(row / 128) * k_tiles + chunk / 2) * nvfp4_tile_bytes + row % 32 * 16 +
        row % 128 / 32 * 4);
#pragma unroll
    for (int word = 0; word < 4; ++word) {
        uint32_t pairs[4];
        nvfp4_decode(pairs, (&packed.x)[word],
                     nvfp4_scale(line, nvfp4_scale_at(chunk % 2 * 2 + word / 2)));
        to[index * 4 + word] = make_uint4(pairs[0], pairs[1], pairs[2], pairs[3]);
    }
}

// products: rows of n, or of 2 n of which the first half is the gate.
template <bool dual>
static __global__ void __launch_bounds__(256)
    finish_products(const float *products, nvfp4_output out)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    if (column >= out.n)
        return;
    const float scale = nvfp4_unscale * nvfp4_tensor_scale(out);
    const float *at = products + (int64_t)row * out.n * (dual ? 2 : 1) + column;
    nvfp4_store(out, row, column, dual ? gated(at[0] * scale, at[out.n] * scale) : at[0] * scale);
}

// ---- host ----

constexpr int matrices = DUAL ? 2 : 1; // matrices B
static struct cublaslt_state products;
static struct kept_graphs<struct plumb_form_args> graphs;

static struct plumb_problem problem_of(const struct plumb_problem *p)
{
    struct plumb_problem product = *p;
    product.n = matrices * p->n;
    product.in_type = PLUMB_FP16;
    product.out_type = PLUMB_FP32;
    product.epilogue = PLUMB_NO_EPILOGUE;
    return product;
}

static int supports(const struct plumb_form *form)
{
    const struct plumb_problem *p = &form->problem;
    const struct plumb_problem product = problem_of(p);
    return nvfp4_supports(form, DUAL ? PLUMB_DUAL_SILU : PLUMB_NO_EPILOGUE) && p->m <= 65535 &&
           cublaslt_supports(&product);
}

// The workspace: first the library's own, then products, A, B.
static size_t products_bytes(const struct plumb_problem *p)
{
    return static_cast<size_t>(p->m * matrices * p->n * 4 + 255) / 256 * 256;
}

static size_t a_bytes(const struct plumb_problem *p)
{
    return static_cast<size_t>(p->m * p->k * 2 + 255) / 256 * 256;
}

static size_t workspace(const struct plumb_form *form)
{
    const struct plumb_problem *p = &form->problem;
    return cublaslt_workspace_bytes + products_bytes(p) + a_bytes(p) +
           static_cast<size_t>(matrices * p->n * p->k * 2);
}

static struct plumb_args product(const struct plumb_form_args *args)
{
    struct plumb_args one = args->args;
    const struct plumb_problem *p = &args->form.problem;
    one.problem = problem_of(p);
    char *at = static_cast<char *>(one.workspace) + cublaslt_workspace_bytes;
    one.c = at;
    one.a = at + products_bytes(p);
    one.b = at + products_bytes(p) + a_bytes(p);
    one.workspace_bytes = cublaslt_workspace_bytes;
    one.scale_a = one.scale_b = nullptr;
    return one;
}

static void decode(const void *to, const void *codes, const void *scales, int64_t rows, int64_t k,
                   cudaStream_t stream)
{
    const int64_t blocks = (rows * (k / 32) + 255) / 256;
    decode_rows<<<static_cast<unsigned>(blocks), 256, 0, stream>>>(
        static_cast<uint4 *>(const_cast<void *>(to)), static_cast<const uint8_t *>(codes),
        static_cast<const uint8_t *>(scales), static_cast<int>(rows), static_cast<int>(k));
}

static int queue(const struct plumb_form_args *args, cudaStream_t stream)
{
    const struct plumb_problem *p = &args->form.problem;
    const struct plumb_args one = product(args);
    const int64_t b_scales = (p->n + 127) / 128 * ((p->k + 63) / 64) * nvfp4_tile_bytes;
    decode(one.a, args->args.a, args->block_scales_a, p->m, p->k, stream);
    for (int i = 0; i < matrices; i++)
        decode(static_cast<const char *>(one.b) + i * p->n * p->k * 2,
               static_cast<const char *>(args->args.b) + i * p->n * p->k / 2,
               static_cast<const char *>(args->block_scales_b) + i * b_scales, p->n, p->k, stream);
    const int code = cublaslt_launch(&products, &one, stream);
    if (code)
        return code;
    const dim3 blocks(static_cast<unsigned>((p->n + 255) / 256), static_cast<unsigned>(p->m));
    finish_products<DUAL>
        <<<blocks, 256, 0, stream>>>(static_cast<const float *>(one.c), nvfp4_output_of(args));
    return cudaGetLastError();
}

static int prepare(const struct plumb_form_args *args, void *stream, const char *pin, char *note,
                   size_t note_size)
{
    const struct plumb_args one = product(args);
    const int code = graphs.begin(); // because an algorithm may have changed
    return code ? code
                : cublaslt_prepare(&products, describe_plain<false>, &one, stream, pin, note,
                                   note_size);
}

static int launch(const struct plumb_form_args *args, void *stream)
{
    if (args->args.workspace_bytes < workspace(&args->form))
        return cudaErrorInvalidValue;
    return graphs.launch(args, stream, [=](cudaStream_t to) { return queue(args, to); });
}

static const struct plumb_form_kernel kernel = {
    .kernel = {.name = NAME,
               .summary = "decoded to FP16, a product of cuBLASLt, a pass",
               .traits = {.in_type = PLUMB_E2M1, .out_type = PLUMB_FP16, .acc_type = PLUMB_FP32}},
    .supports = supports,
    .workspace = workspace,
    .prepare = prepare,
    .launch = launch,
};
PLUMB_FORM_LIBRARY("cuda", kernel)
