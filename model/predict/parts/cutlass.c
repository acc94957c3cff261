// SPDX-License-Identifier: Apache-2.0
//
// The blocks that fit on a device when clusters stay in a GPC, as CUTLASS plans them.
#include "model/predict/parts/cutlass.h"

int32_t cutlass_resident_blocks(int32_t gpc_sms, int32_t cluster_size, int32_t sm_count)
{
    if (gpc_sms <= 0 || cluster_size <= 0 || cluster_size > gpc_sms)
        return 0;
    // As many full-size GPCs as the SMs make up, and the rest as one smaller GPC.
    int32_t rest = sm_count % gpc_sms;
    return sm_count / gpc_sms * (gpc_sms - gpc_sms % cluster_size) + rest - rest % cluster_size;
}
