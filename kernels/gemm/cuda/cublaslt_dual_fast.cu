// SPDX-License-Identifier: Apache-2.0
// nvcc: -lcublasLt
//
// The dual GEMM's control in FP8: one product of cuBLASLt with fast accumulation, of 2 n columns in
// BF16, and a pass over its rows, in a CUDA graph.
#include "cublaslt_dual.cuh"

CUBLASLT_DUAL_LIBRARY("cublaslt_dual_fast", "one product of cuBLASLt of 2 n columns, and a pass",
                      PLUMB_E4M3, __nv_bfloat16, 1)
