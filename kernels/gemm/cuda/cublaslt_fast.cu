// SPDX-License-Identifier: Apache-2.0
// nvcc: -lcublasLt
//
// cuBLASLt: fp8 with fast accumulation (partial sums stay in the tensor cores' short accumulator),
// a choice of its own and to be compared with kernels that make it too.
#include "cublaslt.cuh"

CUBLASLT_LIBRARY("cublaslt_fast", "cuBLASLt fp8 with fast accumulation, best of its heuristics",
                 true, choose)
