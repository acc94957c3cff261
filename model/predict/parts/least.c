// SPDX-License-Identifier: Apache-2.0
//
// The roofline as a bound, with what a profile may be off.
#include "model/predict/parts/least.h"

#include <math.h>

static const double slack = 0.9;
static const double fewest_tf32_products = 3;

static double flops_clk(const struct gpu *gpu, enum dtype in)
{
    const double own = gpu_flops_clk(gpu, in);
    if (in == DTYPE_E2M1) // its products alone are exact in FP8
        return fmax(own, gpu->flops_clk_fp8.value);
    if (in != DTYPE_FP32 && in != DTYPE_FP64)
        return own;
    return fmax(own, gpu->flops_clk_tf32.value / fewest_tf32_products);
}

double least_time_ns(const struct gpu *gpu, const struct problem *p)
{
    const double weights = problem_weights(p);
    const double read =
        ((double)p->m + weights * (double)p->n) * (double)p->k * p->batch * dtype_bytes(p->in);
    const double rate = flops_clk(gpu, p->in) * gpu->clock_max_hz.value * gpu->sm_count.value;
    const double math_s = rate > 0 ? problem_flops(p) / rate : 0;
    const double dram_s = gpu->dram_bytes_s.value > 0 ? read / gpu->dram_bytes_s.value : 0;
    return slack * fmax(math_s, dram_s) * 1e9;
}
