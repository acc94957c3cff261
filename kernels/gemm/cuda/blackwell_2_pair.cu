// SPDX-License-Identifier: Apache-2.0
// arch: 100a
//
// NVFP4 on Blackwell, rung 2: pairs of blocks share each matrix instruction, and each loads half of
// B, so that a stage is smaller and the ring deeper.
#include "nvfp4_blackwell.cuh"

static const plumb_form_kernel kernel =
    blackwell_kernel<2, false>("blackwell-2-pair", "pairs of blocks share an instruction");
PLUMB_FORM_LIBRARY("cuda", kernel)
