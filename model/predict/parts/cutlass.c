// SPDX-License-Identifier: Apache-2.0
//
// CUTLASS's choice of raster and swizzle, and figures of Hopper's tensor cores that several models
// share.
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

enum raster cutlass_raster(int64_t tiles_m, int64_t tiles_n)
{
    return tiles_n > tiles_m ? RASTER_M : RASTER_N;
}

int32_t cutlass_resident_blocks(int32_t gpc_sms, int32_t cluster_size, int32_t sm_count)
{
    if (gpc_sms <= 0 || cluster_size <= 0 || cluster_size > gpc_sms)
        return 0;
    // As many full-size GPCs as the SMs make up, and the rest as one smaller GPC.
    int32_t rest = sm_count % gpc_sms;
    return sm_count / gpc_sms * (gpc_sms - gpc_sms % cluster_size) + rest - rest % cluster_size;
}

double hopper_wgmma_clk(int32_t n, bool a_in_registers)
{
    // Below N = 64 the operands' shared-memory latency shows, more so when A comes from there too.
    double issue = n / 2.0;
    if (n >= 64)
        return issue;
    double floor = a_in_registers ? 13 : n >= 32 ? 24 : n >= 16 ? 20 : 18;
    return issue > floor ? issue : floor;
}
