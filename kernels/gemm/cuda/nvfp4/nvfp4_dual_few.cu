// SPDX-License-Identifier: Apache-2.0
//
// The dual GEMM in NVFP4 with up to 16 rows of A (nvfp4/few.cuh).
#include "few.cuh"

static const plumb_form_kernel kernel = few_row<few_config<true, 4, 2, 8, 1, 2>>("nvfp4-dual-few");
PLUMB_FORM_LIBRARY("cuda", kernel)
