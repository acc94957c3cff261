// SPDX-License-Identifier: Apache-2.0
//
// How CUTLASS's persistent scheduler for Hopper walks tiles, and how many blocks run at once.
// Source: NVIDIA/cutlass @7107b05, include/cutlass/gemm/kernel/tile_scheduler_params.h.
#ifndef PLUMB_CUTLASS_H
#define PLUMB_CUTLASS_H

#include "model/traits.h"

// Blocks that run at once, one per SM, when clusters must stay inside a GPC of `gpc_sms` SMs. 0 if
// the cluster does not fit in a GPC. A rule for planning: a device may do a little better or worse.
int32_t cutlass_resident_blocks(int32_t gpc_sms, int32_t cluster_size, int32_t sm_count);

#endif
