// SPDX-License-Identifier: Apache-2.0
// nvcc: -lcublasLt
//
// cuBLASLt: fp32, tf32, bf16, fp16, and fp8 with accurate accumulation.
#include "cublaslt.cuh"

CUBLASLT_LIBRARY("cublaslt", "best of cuBLASLt's heuristics, found once and frozen", false, choose)
