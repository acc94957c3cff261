// SPDX-License-Identifier: Apache-2.0
//
// cuBLASLt and the kernels under test as arms of a comparison.
#ifndef PLUMB_SWEEP_BLAS_CUH
#define PLUMB_SWEEP_BLAS_CUH

#include <string>
#include <vector>

#include "memory.cuh"

struct blas_problem;

struct arm {
    std::string name;
    const plumb_kernel *kernel; // NULL: cuBLASLt
    cublasLtMatmulAlgo_t algorithm;
    std::vector<float> us;
    std::vector<float> ghz;
    float guess;                        // us
    const blas_problem *blas = nullptr; // this arm's own, if it differs from the others'
};

static cudaDataType_t blas_type(int type)
{
    return type == PLUMB_BF16   ? CUDA_R_16BF
           : type == PLUMB_FP16 ? CUDA_R_16F
           : type == PLUMB_E4M3 ? CUDA_R_8F_E4M3
                                : CUDA_R_32F;
}

// cuBLASLt is column-major: C^T (n x m) = B^T (stored as k x n, transposed; in layout NN as it is)
// * A^T (k x m).
struct blas_problem {
    cublasLtMatmulDesc_t operation;
    cublasLtMatrixLayout_t a, b, c;
};

static blas_problem describe(const device_memory &d, const plumb_problem &p, bool fast)
{
    blas_problem blas;
    const bool plain = p.layout == PLUMB_NN; // B is stored as k rows of n
    const cublasOperation_t operation = plain ? CUBLAS_OP_N : CUBLAS_OP_T;
    CHECK(cublasLtMatmulDescCreate(
        &blas.operation,
        p.in_type == PLUMB_TF32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUDA_R_32F));
    CHECK(cublasLtMatmulDescSetAttribute(blas.operation, CUBLASLT_MATMUL_DESC_TRANSA, &operation,
                                         sizeof operation));
    if (p.in_type == PLUMB_E4M3) {
        const int8_t fast_sums = fast;
        CHECK(cublasLtMatmulDescSetAttribute(blas.operation, CUBLASLT_MATMUL_DESC_FAST_ACCUM,
                                             &fast_sums, sizeof fast_sums));
        const void *scale = d.scale;
        CHECK(cublasLtMatmulDescSetAttribute(blas.operation, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER,
                                             &scale, sizeof scale));
        CHECK(cublasLtMatmulDescSetAttribute(blas.operation, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER,
                                             &scale, sizeof scale));
    }
    CHECK(cublasLtMatrixLayoutCreate(&blas.a, blas_type(p.in_type), plain ? p.n : p.k,
                                     plain ? p.k : p.n, plain ? p.n : p.k));
    CHECK(cublasLtMatrixLayoutCreate(&blas.b, blas_type(p.in_type), p.k, p.m, p.k));
    CHECK(cublasLtMatrixLayoutCreate(&blas.c, blas_type(p.out_type), p.n, p.m, p.n));
    return blas;
}

static void destroy(blas_problem &blas)
{
    cublasLtMatmulDescDestroy(blas.operation);
    cublasLtMatrixLayoutDestroy(blas.a);
    cublasLtMatrixLayoutDestroy(blas.b);
    cublasLtMatrixLayoutDestroy(blas.c);
}

static std::vector<arm> blas_arms(const device_memory &d, const blas_problem &blas,
                                  const char *name)
{
    cublasLtMatmulPreference_t preference;
    CHECK(cublasLtMatmulPreferenceCreate(&preference));
    const size_t bytes = blas_workspace_bytes;
    CHECK(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                               &bytes, sizeof bytes));
    cublasLtMatmulHeuristicResult_t results[32];
    int found = 0;
    if (cublasLtMatmulAlgoGetHeuristic(d.lt, blas.operation, blas.a, blas.b, blas.c, blas.c,
                                       preference, 32, results, &found) != CUBLAS_STATUS_SUCCESS)
        found = 0;
    cublasLtMatmulPreferenceDestroy(preference);
    std::vector<arm> arms;
    for (int i = 0; i < found; ++i)
        if (results[i].state == CUBLAS_STATUS_SUCCESS)
            arms.push_back(
                {name + std::string("#") + std::to_string(i), nullptr, results[i].algo, {}, {}, 0});
    return arms;
}

static int launch(const device_memory &d, const arm &arm, const plumb_args &args,
                  const blas_problem &usual)
{
    if (arm.kernel)
        return arm.kernel->launch(&args, d.stream);
    const float one = 1, zero = 0;
    const blas_problem &blas = arm.blas ? *arm.blas : usual;
    return cublasLtMatmul(d.lt, blas.operation, &one, args.b, blas.a, args.a, blas.b, &zero, args.c,
                          blas.c, args.c, blas.c, &arm.algorithm, d.workspace, blas_workspace_bytes,
                          d.stream);
}

#endif
