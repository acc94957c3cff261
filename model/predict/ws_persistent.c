// SPDX-License-Identifier: Apache-2.0
//
// The model `ws-persistent` as the table of models knows it. Its arithmetic is
// parts/ws_persistent.c.
#include "model/predict/parts/ws_persistent.h"

#include "model/predict/parts/claims.h"

static enum bound bound_of(const struct ws_wave *wave)
{
    static const enum bound bounds[] = {
        [WS_DMA] = BOUND_MEMORY, [WS_MATH] = BOUND_COMPUTE, [WS_EPILOGUE] = BOUND_EPILOGUE};
    return bounds[wave->limiter];
}

static struct prediction predict(const struct predict_input *in)
{
    struct ws_breakdown b;
    struct prediction out = {.model = "ws-persistent", .version = "1"};
    if ((out.why = claims_refuse(in, CLAIM_SCALES)))
        return out;
    out.why = ws_persistent(&b, in);
    if (out.why)
        return out;
    double waves_ns = (double)b.full_waves * ws_wave_ns(&b.full);
    double last_ns = b.partial ? ws_wave_ns(&b.last) : 0;
    double around_ns = b.overhead_ns + b.first_dma_ns;
    out.feasible = true;
    out.time_ns = b.time_ns;
    out.clock_hz = b.clock_hz;
    out.clock_exponent = -b.clocked_ns / b.time_ns;
    out.bound =
        around_ns > waves_ns + last_ns ? BOUND_LATENCY : bound_of(b.full_waves ? &b.full : &b.last);
    const struct prediction_part parts[] = {{"overhead", b.overhead_ns},
                                            {"first-dma", b.first_dma_ns},
                                            {"full-waves", waves_ns},
                                            {"last-wave", last_ns},
                                            {"epilogue", b.last.epilogue_ns}};
    for (size_t i = 0; i < ARRAY_COUNT(parts); i++)
        out.parts[out.part_count++] = parts[i];
    return out;
}

const struct model model_ws_persistent = {
    .name = "ws-persistent",
    .version = "1",
    .why = "waves of a warp-specialised persistent kernel: load, math and epilogue overlap",
    .predict = predict,
};
