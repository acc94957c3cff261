// SPDX-License-Identifier: Apache-2.0
//
// Speed of light (seed 0): the longer of two times, all multiply-adds at the peak rate and all
// bytes at the DRAM rate, each input read once and the output written once (problem_bytes()).
//     time = max(2 m n k / (clock SMs flops), (m k + k n) b_in + m n b_out [+ scales]) / bandwidth)
#include "model/predict.h"
#include "model/predict/parts/claims.h"

static struct prediction predict(const struct predict_input *in)
{
    const struct gpu *gpu = in->gpu;
    const struct problem *p = in->problem;
    struct prediction out = {.model = "sol", .version = "1"};
    if ((out.why = claims_refuse(in, CLAIM_GEMM)))
        return out;
    out.feasible = true;
    out.clock_hz = in->clock_hz > 0 ? in->clock_hz : gpu->clock_hz.value;
    double rate = out.clock_hz * gpu->sm_count.value * gpu_flops_clk(gpu, p->in);
    if (!(rate > 0) || !(gpu->dram_bytes_s.value > 0)) {
        out.feasible = false;
        out.why = "the profile has no rate for this element type, or no DRAM bandwidth";
        return out;
    }
    double bytes = problem_bytes(p);
    double math_ns = problem_flops(p) / rate * 1e9;
    double rate_s = gpu->dram_bytes_s.value;
    double l2_s = gpu->l2_bytes_clk.value * gpu->clock_hz.value;
    if (in->warm && bytes <= gpu->l2_bytes.value && l2_s > rate_s)
        rate_s = 2 * l2_s; // a floor: reads and writes side by side
    double dram_ns = bytes / rate_s * 1e9;
    out.time_ns = math_ns > dram_ns ? math_ns : dram_ns;
    out.bound = math_ns > dram_ns ? BOUND_COMPUTE : BOUND_MEMORY;
    out.clock_exponent = math_ns > dram_ns ? -1.0 : 0.0;
    out.parts[out.part_count++] = (struct prediction_part){"math", math_ns};
    out.parts[out.part_count++] = (struct prediction_part){"dram", dram_ns};
    return out;
}

const struct model model_sol = {
    .name = "sol",
    .version = "1",
    .why = "the roofline: peak rates, each byte once; a floor, not an estimate",
    .predict = predict,
};
