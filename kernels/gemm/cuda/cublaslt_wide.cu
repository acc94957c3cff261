// SPDX-License-Identifier: Apache-2.0
// nvcc: -lcublasLt
//
// cuBLASLt by a wide search: the control for "could the library do better than it says".
#include "cublaslt_wide.cuh"

CUBLASLT_LIBRARY("cublaslt_wide", "best of a wide search in cuBLASLt, 0.6 s per problem, frozen",
                 false, choose_widely)
