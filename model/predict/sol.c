// SPDX-License-Identifier: Apache-2.0
//
// Speed of light (seed 0), the lower bound on a launch's time: the longer of two times, that of all
// multiply-adds at the peak rate and that of all bytes at the DRAM rate. Each input is read once
// and the output is written once (problem_bytes()).
//     time = max(2 m n k / (clock SMs flops), (m k + k n) b_in + m n b_out [+ scales]) / bandwidth)
#include "model/predict.h"
#include "model/predict/parts/arithmetic.h"

#include <math.h>

// Bytes to and from DRAM. Of a last block of scales that is not whole, seed 0 counts a part.
static double dram_bytes(const struct problem *p)
{
    const struct block_scales *s = &p->scales;
    double bytes = problem_bytes(p);
    if (s->vector == 0 || p->groups.kind)
        return bytes;
    double blocks = (double)p->k / s->vector;
    double rows = (double)p->m / s->rows_a + problem_weights(p) * (double)p->n / s->rows_b;
    return bytes - (ceil(blocks) - blocks) * p->batch * rows * dtype_bytes(s->type);
}

// Bytes that a launch finds in L2 already in this regime, as far as L2 has room.
static double found_bytes(const struct predict_input *in)
{
    const struct problem *p = in->problem;
    if (in->warm || p->regime == REGIME_WARM)
        return problem_bytes(p);
    if (p->regime != REGIME_ACTIVATIONS)
        return 0;
    double rows = (double)problem_used_rows(p);
    return rows * ((double)p->k * dtype_bytes(p->in) + (double)p->n * dtype_bytes(p->out));
}

static struct prediction predict(const struct predict_input *in)
{
    const struct gpu *gpu = in->gpu;
    const struct problem *p = in->problem;
    struct prediction out = {.model = "sol", .version = "2"};
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
    double bytes = dram_bytes(p);
    double math_ns = problem_flops(p) / rate * 1e9;
    double rate_s = gpu->dram_bytes_s.value;
    double l2_s = gpu->l2_bytes_clk.value * gpu->clock_hz.value;
    double found = least(found_bytes(in), gpu->l2_bytes.value);
    double dram_ns = (bytes - found) / rate_s * 1e9;
    if (found > 0 && l2_s > rate_s)
        // a lower bound, since reads and writes go side by side
        dram_ns = most(dram_ns, bytes / (2 * l2_s) * 1e9);
    out.time_ns = math_ns > dram_ns ? math_ns : dram_ns;
    out.bound = math_ns > dram_ns ? BOUND_COMPUTE : BOUND_MEMORY;
    out.clock_exponent = math_ns > dram_ns ? -1.0 : 0.0;
    out.parts[out.part_count++] = (struct prediction_part){"math", math_ns};
    out.parts[out.part_count++] = (struct prediction_part){"dram", dram_ns};
    return out;
}

const struct model model_sol = {
    .name = "sol",
    .version = "2",
    .why = "the roofline: peak rates, each byte once; a floor, not an estimate",
    .predict = predict,
    .knows_regimes = true,
};
