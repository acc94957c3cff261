// SPDX-License-Identifier: Apache-2.0
//
// One problem as cuBLASLt is asked to do it: descriptors, algorithms, the call.
//
// Row-major C = A B is column-major C' = B' A', so the library's first operand is our B: K-major B
// is its "T", K-major A its "N".
#ifndef PLUMB_CUBLASLT_CALL_CUH
#define PLUMB_CUBLASLT_CALL_CUH

#include "../../kernel.h"

#include <cublasLt.h>
#include <cuda_runtime.h>

constexpr size_t cublaslt_workspace_bytes = size_t{64} << 20;
constexpr int algorithms_max = 32;

// What launch() needs of one problem. Kept between prepare() and launch(): the one state a module
// has, since the library's descriptors cannot be made within a launch without changing its time.
struct choice {
    struct plumb_problem problem;
    cublasLtMatmulDesc_t operation;
    cublasLtMatrixLayout_t first, second, out;
    cublasLtMatmulAlgo_t algorithm;
    int ready;
};

struct cublaslt_state {
    cublasLtHandle_t handle;
    struct choice choices[64];
    unsigned next;
};

static int type_of(cudaDataType_t *out, int type)
{
    switch (type) {
    case PLUMB_FP32:
    case PLUMB_TF32:
        *out = CUDA_R_32F;
        return 1;
    case PLUMB_BF16:
        *out = CUDA_R_16BF;
        return 1;
    case PLUMB_FP16:
        *out = CUDA_R_16F;
        return 1;
    case PLUMB_E4M3:
        *out = CUDA_R_8F_E4M3;
        return 1;
    default:
        return 0;
    }
}

static int make_layout(cublasLtMatrixLayout_t *out, cudaDataType_t type, int64_t rows, int64_t cols,
                       int32_t batch)
{
    const int64_t stride = rows * cols;
    int code = cublasLtMatrixLayoutCreate(out, type, rows, cols, rows);
    if (!code)
        code = cublasLtMatrixLayoutSetAttribute(*out, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch,
                                                sizeof(batch));
    if (!code)
        code = cublasLtMatrixLayoutSetAttribute(*out, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                                &stride, sizeof(stride));
    return code;
}

static int make_operation(struct choice *c, bool fast)
{
    const struct plumb_problem *p = &c->problem;
    const cublasOperation_t none = CUBLAS_OP_N, transposed = CUBLAS_OP_T;
    const bool b_k_major = p->layout == PLUMB_TN || p->layout == PLUMB_TT;
    const bool a_k_major = p->layout == PLUMB_TN || p->layout == PLUMB_NN;
    const int8_t fast_accumulation = fast;
    cudaDataType_t in = CUDA_R_32F, out = CUDA_R_32F;
    type_of(&in, p->in_type);
    type_of(&out, p->out_type);
    const cublasComputeType_t compute =
        p->in_type == PLUMB_TF32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    int code = cublasLtMatmulDescCreate(&c->operation, compute, CUDA_R_32F);
    if (!code)
        code = cublasLtMatmulDescSetAttribute(c->operation, CUBLASLT_MATMUL_DESC_TRANSA,
                                              b_k_major ? &transposed : &none, sizeof(none));
    if (!code)
        code = cublasLtMatmulDescSetAttribute(c->operation, CUBLASLT_MATMUL_DESC_TRANSB,
                                              a_k_major ? &none : &transposed, sizeof(none));
    if (!code && p->in_type == PLUMB_E4M3)
        code = cublasLtMatmulDescSetAttribute(c->operation, CUBLASLT_MATMUL_DESC_FAST_ACCUM,
                                              &fast_accumulation, sizeof(fast_accumulation));
    if (!code)
        code = b_k_major ? make_layout(&c->first, in, p->k, p->n, p->batch)
                         : make_layout(&c->first, in, p->n, p->k, p->batch);
    if (!code)
        code = a_k_major ? make_layout(&c->second, in, p->k, p->m, p->batch)
                         : make_layout(&c->second, in, p->m, p->k, p->batch);
    return code ? code : make_layout(&c->out, out, p->n, p->m, p->batch);
}

static void free_choice(struct choice *c)
{
    if (c->operation)
        cublasLtMatmulDescDestroy(c->operation);
    if (c->first)
        cublasLtMatrixLayoutDestroy(c->first);
    if (c->second)
        cublasLtMatrixLayoutDestroy(c->second);
    if (c->out)
        cublasLtMatrixLayoutDestroy(c->out);
    *c = {};
}

static int run(const struct cublaslt_state *s, const struct choice *c,
               const struct plumb_args *args, cudaStream_t stream)
{
    const float one = 1, zero = 0;
    return cublasLtMatmul(s->handle, c->operation, &one, args->b, c->first, args->a, c->second,
                          &zero, args->c, c->out, args->c, c->out, &c->algorithm, args->workspace,
                          args->workspace_bytes, stream);
}

static int ask_heuristics(cublasLtMatmulHeuristicResult_t *results, int *count, int most,
                          const struct cublaslt_state *s, const struct choice *c,
                          const struct plumb_args *args)
{
    cublasLtMatmulPreference_t preference = nullptr;
    const uint64_t bytes = args->workspace_bytes;
    int code = cublasLtMatmulPreferenceCreate(&preference);
    if (!code)
        code = cublasLtMatmulPreferenceSetAttribute(
            preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes, sizeof(bytes));
    if (!code)
        code = cublasLtMatmulAlgoGetHeuristic(s->handle, c->operation, c->first, c->second, c->out,
                                              c->out, preference, most, results, count);
    if (preference)
        cublasLtMatmulPreferenceDestroy(preference);
    return code;
}

static int set_scales(struct choice *c, const struct plumb_args *args)
{
    if (!args->scale_a || !args->scale_b)
        return 0;
    int code = cublasLtMatmulDescSetAttribute(c->operation, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER,
                                              &args->scale_b, sizeof(args->scale_b));
    return code ? code
                : cublasLtMatmulDescSetAttribute(c->operation, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER,
                                                 &args->scale_a, sizeof(args->scale_a));
}

#endif
