// SPDX-License-Identifier: Apache-2.0
// arch: 100a
//
// NVFP4 on Blackwell, rung 1: both products and the gate in one kernel, sums in tensor memory.
#include "nvfp4_blackwell.cuh"

static const plumb_form_kernel kernel = blackwell_kernel<1, false>(
    "blackwell-1-fused", "both sums in tensor memory, one block per instruction");
PLUMB_FORM_LIBRARY("cuda", kernel)
