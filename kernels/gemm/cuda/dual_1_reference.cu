// SPDX-License-Identifier: Apache-2.0
// nvcc: -lcublasLt
//
// The dual GEMM as one would first write it: two products of a library, FP32, into memory, and a
// kernel that makes the results of them. A is read twice, and 16 m n bytes go to memory and back.
#include "cublaslt_dual.cuh"

CUBLASLT_DUAL_LIBRARY("dual-1-reference", "two products of cuBLASLt in FP32, and a pass",
                      PLUMB_BF16, float, 2)
