// SPDX-License-Identifier: Apache-2.0
// nvcc: -lcublasLt
// module: cublaslt -DMODULE_cublaslt
// module: cublaslt_fast -DMODULE_cublaslt_fast
//
// cuBLASLt as the control of plain products, by the best of its heuristics.
#include "cublaslt.cuh"

#if defined MODULE_cublaslt
// cuBLASLt: fp32, tf32, bf16, fp16, and fp8 with accurate accumulation.

CUBLASLT_LIBRARY("cublaslt", "best of cuBLASLt's heuristics, found once and frozen", false, choose)

#elif defined MODULE_cublaslt_fast
// cuBLASLt: fp8 with fast accumulation (partial sums stay in the tensor cores' short accumulator),
// a choice of its own and to be compared with kernels that make it too.

CUBLASLT_LIBRARY("cublaslt_fast", "cuBLASLt fp8 with fast accumulation, best of its heuristics",
                 true, choose)
#endif
