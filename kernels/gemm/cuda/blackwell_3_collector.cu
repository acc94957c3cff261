// SPDX-License-Identifier: Apache-2.0
// arch: 100a
//
// NVFP4 on Blackwell, rung 3: the two instructions that have A in common say so, and the second
// takes it from the buffer in front of the tensor cores.
#include "nvfp4_blackwell.cuh"

static const plumb_form_kernel kernel = blackwell_kernel<2, true>(
    "blackwell-3-collector", "A is kept between the two instructions that share it");
PLUMB_FORM_LIBRARY("cuda", kernel)
