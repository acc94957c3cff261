// SPDX-License-Identifier: Apache-2.0
// nvcc: -lcublasLt
//
// The control of the dual GEMM in NVFP4 on Hopper: decoded first, then one product of cuBLASLt of
// 2 n columns, then a pass.
#include "cublaslt_nvfp4.cuh"

CUBLASLT_NVFP4_LIBRARY("cublaslt_nvfp4_dual", "decoded to FP16, a product of cuBLASLt, a pass",
                       true)
