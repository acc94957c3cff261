// SPDX-License-Identifier: Apache-2.0
// module: bf16_gemv -DTYPE=bf16 -DNAME="bf16-gemv"
// module: e4m3_gemv -DTYPE=e4m3 -DNAME="e4m3-gemv"
// module: tf32_gemv -DTYPE=tf32 -DNAME="tf32-gemv"
//
// m = 1 without tensor cores (gemv.cuh).
#include "gemv.cuh"

static const plumb_kernel kernel = gemv_row<TYPE>(NAME, 0);
PLUMB_LIBRARY("cuda", kernel)
