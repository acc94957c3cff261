// SPDX-License-Identifier: Apache-2.0
// nvcc: -lcublasLt
//
// cuBLASLt fp8 with fast accumulation by a wide search.
#include "cublaslt_wide.cuh"

CUBLASLT_LIBRARY("cublaslt_wide_fast",
                 "cuBLASLt fp8 with fast accumulation, best of a wide search, 0.6 s per problem",
                 true, choose_widely)
