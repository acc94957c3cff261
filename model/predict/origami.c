// SPDX-License-Identifier: Apache-2.0
//
// The model `origami` as the table of models knows it. Its arithmetic is in parts/origami*.c.
#include "model/predict/parts/origami.h"
#include "model/predict/parts/claims.h"

#include <math.h>

static struct origami_config config_of(const struct traits *t)
{
    return (struct origami_config){
        .tile_m = t->tile_m ? t->tile_m : 128,
        .tile_n = t->tile_n ? t->tile_n : 128,
        .tile_k = t->tile_k ? t->tile_k : 64,
        .group = t->raster_group > 1 ? t->raster_group : 0,
        .stages = t->stages,
        .warps = t->threads / 32,
        .split = t->split_k > 0 ? t->split_k : 0,
    };
}

static enum bound bound_of(const struct origami_latency *l)
{
    double main_loop = l->steady * (double)l->iterations;
    if (2 * l->epilogue > main_loop)
        return BOUND_EPILOGUE;
    if (500 * (double)l->iterations + l->prologue + l->k_pad > main_loop)
        return BOUND_LATENCY;
    return l->compute >= l->mem ? BOUND_COMPUTE : BOUND_MEMORY;
}

// The model counts clocks and DRAM bytes per clock, so time barely follows the clock where DRAM
// binds; the slope is taken numerically.
static double exponent(const struct predict_input *in, const struct origami_config *c, double clock,
                       double total)
{
    const double step = 1.001;
    struct origami_latency faster;
    if (origami_latency(&faster, in->gpu, in->problem, c, clock * step))
        return 0;
    return log(faster.total / total) / log(step) - 1;
}

static struct prediction predict(const struct predict_input *in)
{
    struct prediction out = {.model = "origami", .version = "1"};
    struct origami_config c = config_of(in->traits);
    double clock = in->clock_hz > 0 ? in->clock_hz : in->gpu->clock_hz.value;
    struct origami_latency l;
    if ((out.why = claims_refuse(in, CLAIM_NN)))
        return out;
    out.why = origami_latency(&l, in->gpu, in->problem, &c, clock);
    if (out.why)
        return out;
    double ns = 1e9 / clock, waves = (double)l.waves, iterations = (double)l.iterations;
    out.feasible = true;
    out.time_ns = l.total * ns;
    out.clock_hz = clock;
    out.clock_exponent = exponent(in, &c, clock, l.total);
    out.bound = bound_of(&l);
    const struct prediction_part parts[] = {{"prologue", l.prologue * waves * ns},
                                            {"mainloop", l.steady * iterations * waves * ns},
                                            {"loop-overhead", 500 * iterations * waves * ns},
                                            {"epilogue", (2 * l.epilogue + 1) * waves * ns},
                                            {"k-padding", l.k_pad * waves * ns}};
    for (size_t i = 0; i < ARRAY_COUNT(parts); i++)
        out.parts[out.part_count++] = parts[i];
    return out;
}

const struct model model_origami = {
    .name = "origami",
    .version = "1",
    .why = "tile latency with L2 reuse of the tiles that run at once; made to select",
    .predict = predict,
};
