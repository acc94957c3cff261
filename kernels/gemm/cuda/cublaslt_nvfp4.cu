// SPDX-License-Identifier: Apache-2.0
// nvcc: -lcublasLt
//
// The control of NVFP4 on Hopper: decoded first, then a product of cuBLASLt, then a pass that
// scales it.
#include "cublaslt_nvfp4.cuh"

CUBLASLT_NVFP4_LIBRARY("cublaslt_nvfp4", "decoded to FP16, a product of cuBLASLt, a pass", false)
