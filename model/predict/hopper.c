// SPDX-License-Identifier: Apache-2.0
//
// The model `hopper` as the table of models knows it. Its arithmetic is in parts/hopper*.c and
// parts/simt.c.
#include "model/predict/parts/hopper.h"
#include "model/predict/parts/claims.h"

static enum bound bound_of(const struct hopper_breakdown *b)
{
    static const enum bound bounds[] = {
        [HOPPER_MATH] = BOUND_COMPUTE, [HOPPER_ISSUE] = BOUND_COMPUTE,
        [HOPPER_PORT] = BOUND_MEMORY,  [HOPPER_LATENCY] = BOUND_LATENCY,
        [HOPPER_L2] = BOUND_MEMORY,    [HOPPER_DRAM] = BOUND_MEMORY,
        [HOPPER_SHARED] = BOUND_MEMORY};
    if (b->overhead_ns + b->store_ns > b->main_ns)
        return BOUND_EPILOGUE;
    if (b->launch_ns + b->fill_ns + b->split_ns > b->main_ns)
        return BOUND_LATENCY;
    return bounds[b->limit];
}

static struct prediction predict(const struct predict_input *in)
{
    struct prediction out = {.model = "hopper", .version = "11"};
    struct hopper_breakdown b;
    out.why = claims_refuse(in, CLAIM_SCALES | CLAIM_LAYOUTS | CLAIM_EPILOGUES | CLAIM_WARM |
                                    CLAIM_GROUPS);
    if (!out.why)
        out.why = hopper(&b, in);
    if (out.why)
        return out;
    out.feasible = true;
    out.time_ns = b.time_ns;
    out.clock_hz = b.clock_hz;
    out.clock_exponent = -b.clocked_ns / b.time_ns;
    out.band = b.band;
    out.bound = bound_of(&b);
    const struct prediction_part parts[] = {
        {"launch", b.launch_ns},          {"fill", b.fill_ns},        {"mainloop", b.main_ns},
        {"tile-overhead", b.overhead_ns}, {"last-store", b.store_ns}, {"split-k", b.split_ns},
        {"transpose", b.transpose_ns}};
    for (size_t i = 0; i < ARRAY_COUNT(parts); i++) {
        if (parts[i].time_ns > 0)
            out.parts[out.part_count++] = parts[i];
    }
    return out;
}

const struct model model_hopper = {
    .name = "hopper",
    .version = "11",
    .why = "waves against math, shared memory, L2 and DRAM at the observed clock; what we judge by",
    .predict = predict,
};
