// SPDX-License-Identifier: Apache-2.0
//
// The dual GEMM in NVFP4 in tiles of 256 tokens (nvfp4/many.cuh).
#include "many.cuh"

static const plumb_form_kernel kernel =
    many_row<many_config<true, 2, 256, 1, 3, 1>>("nvfp4-dual-many");
PLUMB_FORM_LIBRARY("cuda", kernel)
