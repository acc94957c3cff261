// SPDX-License-Identifier: Apache-2.0
//
// CUTLASS's choice of swizzle, and the blocks that fit on a device when clusters stay in a GPC.
#include "model/predict/parts/cutlass.h"

int32_t cutlass_log_swizzle(int64_t ctas_m, int64_t ctas_n, int32_t max_swizzle)
{
    int64_t smaller = ctas_m < ctas_n ? ctas_m : ctas_n;
    if (max_swizzle >= 8 && smaller >= 6)
        return 3;
    if (max_swizzle >= 4 && smaller >= 3)
        return 2;
    if (max_swizzle >= 2 && smaller >= 2)
        return 1;
    return 0;
}

int32_t cutlass_resident_blocks(int32_t gpc_sms, int32_t cluster_size, int32_t sm_count)
{
    if (gpc_sms <= 0 || cluster_size <= 0 || cluster_size > gpc_sms)
        return 0;
    // As many full-size GPCs as the SMs make up, and the rest as one smaller GPC.
    int32_t rest = sm_count % gpc_sms;
    return sm_count / gpc_sms * (gpc_sms - gpc_sms % cluster_size) + rest - rest % cluster_size;
}
