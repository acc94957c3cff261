// SPDX-License-Identifier: Apache-2.0
// nvcc: -lcublasLt
//
// The dual GEMM's control: one product of cuBLASLt, of 2 n columns in BF16, and a pass over its
// rows, in a CUDA graph. torch.compile makes about this, in about this time.
#include "cublaslt_dual.cuh"

CUBLASLT_DUAL_LIBRARY("cublaslt_dual", "one product of cuBLASLt of 2 n columns, and a pass",
                      PLUMB_BF16, __nv_bfloat16, 1)
