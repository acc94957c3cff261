// SPDX-License-Identifier: Apache-2.0
//
// Seed 1's pipeline with its times taken from a profile instead of two measurements:
//     T_A, T_B  startup / (2 depth), because a deep buffer keeps that many loads in flight, and
//               bytes at a rate: as `plumb calibrate` measures loads from L2 (load_*), or else the
//               DRAM's latency and one SM's share of its bandwidth
//     T_M       startup and tile_m tile_n tile_k multiply-adds at the tensor rate
//     T_E       startup and the tile's bytes, at the slower of an epilogue's rate into L2 and one
//               SM's share of the DRAM bandwidth
// The document fits these to one kernel; taken from a profile they know no partial waves.
#include "model/predict/ws_pipeline.h"

#include "model/predict.h"
#include "model/predict/parts/pipeline.h"

#include <math.h>

static int32_t or_default(int32_t value, int32_t otherwise)
{
    return value ? value : otherwise;
}

const char *ws_pipeline(struct ws_pipeline *out, const struct predict_input *in)
{
    const struct gpu *gpu = in->gpu;
    const struct problem *p = in->problem;
    struct ws_pipeline w = {
        .tile_m = or_default(in->traits->tile_m, 128),
        .tile_n = or_default(in->traits->tile_n, 128),
        .tile_k = or_default(in->traits->tile_k, 64),
        .clock_hz = in->clock_hz > 0 ? in->clock_hz : gpu->clock_hz.value,
    };
    double flops_clk = gpu_flops_clk(gpu, p->in), sms = gpu->sm_count.value;
    if (w.tile_m < 1 || w.tile_n < 1 || w.tile_k < 1 || w.tile_m > 1024 || w.tile_n > 1024 ||
        w.tile_k > 4096 || in->traits->stages < 0 || in->traits->stages > 64)
        return "a tile must be 1-1024 x 1-1024 x 1-4096, with up to 64 stages";
    if (!(sms > 0) || !(flops_clk > 0) || !(gpu->dram_bytes_s.value > 0) || !(w.clock_hz > 0))
        return "the profile lacks SMs, clock, DRAM bandwidth, or a rate for this element type";
    if ((double)p->m / w.tile_m * ((double)p->n / w.tile_n) * p->batch > 1e15)
        return "more tiles than can be counted";
    double share = gpu->dram_bytes_s.value / sms, ns_clk = 1e9 / w.clock_hz;
    double m = w.tile_m, n = w.tile_n, k = w.tile_k, bytes = dtype_bytes(p->in);
    w.pipeline.depth = or_default(in->traits->stages, 4);
    w.pipeline.dma_warps = 1;
    w.pipeline.stages = (p->k + w.tile_k - 1) / w.tile_k;
    const bool measured = gpu->load_startup_clk.value > 0 && gpu->load_bytes_clk.value > 0;
    double startup = measured ? gpu->load_startup_clk.value : gpu->dram_latency_clk.value;
    double startup_ns = startup * ns_clk / w.pipeline.depth / 2;
    double byte_ns = measured ? ns_clk / gpu->load_bytes_clk.value : 1e9 / share;
    double store_ns = 1e9 / share;
    if (gpu->epilogue_bytes_clk.value > 0)
        store_ns = fmax(store_ns, ns_clk / gpu->epilogue_bytes_clk.value);
    w.pipeline.load_a = startup_ns + m * k * bytes * byte_ns;
    w.pipeline.load_b = startup_ns + n * k * bytes * byte_ns;
    w.pipeline.math = gpu->math_startup_clk.value * ns_clk + 2 * m * n * k / flops_clk * ns_clk;
    w.pipeline.epilogue = m * n * dtype_bytes(p->out) * store_ns;
    if (measured)
        w.pipeline.epilogue += gpu->epilogue_min_clk.value * ns_clk;
    w.launch_ns =
        gpu->overhead_clk.value > 0 ? gpu->overhead_clk.value * ns_clk : gpu->launch_s.value * 1e9;
    int64_t tiles =
        ((p->m + w.tile_m - 1) / w.tile_m) * ((p->n + w.tile_n - 1) / w.tile_n) * p->batch;
    w.kernel = pipeline_kernel(&w.pipeline, tiles, (int64_t)sms, w.launch_ns);
    *out = w;
    return NULL;
}

static double exponent(const struct predict_input *in, const struct ws_pipeline *w)
{
    const double step = 1.001;
    struct predict_input faster_in = *in;
    struct ws_pipeline faster;
    faster_in.clock_hz = w->clock_hz * step;
    if (ws_pipeline(&faster, &faster_in))
        return 0;
    return log(faster.kernel.time / w->kernel.time) / log(step);
}

static struct prediction predict(const struct predict_input *in)
{
    struct prediction out = {.model = "ws-pipeline", .version = "2"};
    struct ws_pipeline w;
    if ((out.why = claims_refuse(in, CLAIM_PLAIN)))
        return out;
    out.why = ws_pipeline(&w, in);
    if (out.why)
        return out;
    double waves = (double)w.kernel.waves, load = w.pipeline.load_a + w.pipeline.load_b;
    double main_loop = (double)w.pipeline.stages * w.pipeline.math;
    out.feasible = true;
    out.time_ns = w.kernel.time;
    out.clock_hz = w.clock_hz;
    out.clock_exponent = exponent(in, &w);
    out.bound = load > w.pipeline.math ? BOUND_MEMORY : BOUND_COMPUTE;
    if (w.pipeline.epilogue > main_loop + w.kernel.wait / waves)
        out.bound = BOUND_EPILOGUE;
    if (w.launch_ns > out.time_ns / 2)
        out.bound = BOUND_LATENCY;
    const struct prediction_part parts[] = {{"launch", w.launch_ns},
                                            {"math", main_loop * waves},
                                            {"math-waits", w.kernel.wait},
                                            {"epilogue", w.pipeline.epilogue * waves}};
    for (size_t i = 0; i < ARRAY_COUNT(parts); i++)
        out.parts[out.part_count++] = parts[i];
    return out;
}

const struct model model_ws_pipeline = {
    .name = "ws-pipeline",
    .version = "2",
    .why = "producer and consumer warps around a buffer of any depth, event by event",
    .predict = predict,
};
