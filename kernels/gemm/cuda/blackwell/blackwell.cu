// SPDX-License-Identifier: Apache-2.0
// arch: 100a
// module: blackwell_1_fused -DMODULE_blackwell_1_fused
// module: blackwell_2_pair -DMODULE_blackwell_2_pair
// module: blackwell_3_collector -DMODULE_blackwell_3_collector
//
// The ladder of NVFP4 on Blackwell (blackwell.cuh).
#include "blackwell.cuh"

#if defined MODULE_blackwell_1_fused
// NVFP4 on Blackwell, rung 1: both products and the gate in one kernel, sums in tensor memory.

static const plumb_form_kernel kernel = blackwell_kernel<1, false>(
    "blackwell-1-fused", "both sums in tensor memory, one block per instruction; never run");
PLUMB_FORM_LIBRARY("cuda", kernel)

#elif defined MODULE_blackwell_2_pair
// NVFP4 on Blackwell, rung 2: pairs of blocks share each matrix instruction, and each loads half of
// B, so that a stage is smaller and the ring deeper.

static const plumb_form_kernel kernel = blackwell_kernel<2, false>(
    "blackwell-2-pair", "pairs of blocks share an instruction; never run");
PLUMB_FORM_LIBRARY("cuda", kernel)

#elif defined MODULE_blackwell_3_collector
// NVFP4 on Blackwell, rung 3: the two instructions that have A in common say so, and the second
// takes it from the buffer in front of the tensor cores.

static const plumb_form_kernel kernel = blackwell_kernel<2, true>(
    "blackwell-3-collector", "A is kept between the two instructions that share it; never run");
PLUMB_FORM_LIBRARY("cuda", kernel)
#endif
