// SPDX-License-Identifier: Apache-2.0
//
// m = 1 in E4M3 without tensor cores (gemv.cuh, which says what it gains).
#include "gemv.cuh"

static const plumb_kernel kernel = gemv_row<e4m3>("e4m3-gemv", 0);
PLUMB_LIBRARY("cuda", kernel)
