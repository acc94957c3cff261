// SPDX-License-Identifier: Apache-2.0
//
// The SM clock that a kernel will run at, where nobody observed it.
#include "model/predict/parts/hopper.h"

#include <math.h>

static double cap_clock(const struct gpu *gpu, enum dtype in)
{
    switch (in) {
    case DTYPE_TF32:
        return gpu->cap_clock_tf32_hz.value;
    case DTYPE_BF16:
    case DTYPE_FP16:
        return gpu->cap_clock_fp16_hz.value;
    case DTYPE_E4M3:
    case DTYPE_E5M2:
        return gpu->cap_clock_fp8_hz.value;
    default:
        return 0;
    }
}

double hopper_clock_hz(const struct gpu *gpu, enum dtype in, double math_ns)
{
    // Read off clocks inside cuBLASLt's kernels on an H200: 1.86 GHz idle, 1.70 at full load before
    // the power limit acts, and the cap after some 500 us of multiplying.
    const double idle = 0.94, droop = 0.10, droop_ns = 20e3, cap_ns = 500e3;
    double cap = cap_clock(gpu, in), high = gpu->clock_max_hz.value;
    if (!(cap > 0) || !(high > 0))
        return gpu->clock_hz.value;
    double start = high * (idle - droop * (1 - exp(-math_ns / droop_ns)));
    return start <= cap ? start : cap + (start - cap) * exp(-math_ns / cap_ns);
}
