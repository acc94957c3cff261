// SPDX-License-Identifier: Apache-2.0
//
// The model `deepgemm` as the table of models knows it. Its arithmetic is parts/deepgemm.c.
#include "model/predict/parts/deepgemm.h"
#include "model/predict/parts/claims.h"

#include "model/predict.h"

static struct prediction predict(const struct predict_input *in)
{
    const struct traits *t = in->traits;
    struct prediction out = {.model = "deepgemm", .version = "1"};
    const struct deepgemm_layout layout = {.block_m = t->tile_m ? t->tile_m : 128,
                                           .block_n = t->tile_n ? t->tile_n : 128,
                                           .cluster_m = t->cluster_m ? t->cluster_m : 1,
                                           .cluster_n = t->cluster_n ? t->cluster_n : 1,
                                           .stages = t->stages};
    struct deepgemm_score s;
    if ((out.why = claims_refuse(in, CLAIM_PLAIN)))
        return out;
    out.why = deepgemm_score(&s, in->problem, &layout, false, (int32_t)in->gpu->sm_count.value);
    if (out.why)
        return out;
    out.clock_hz = in->clock_hz > 0 ? in->clock_hz : in->gpu->clock_hz.value;
    if (!(out.clock_hz > 0)) {
        out.why = "the profile has no clock";
        return out;
    }
    double ns = 1e9 / out.clock_hz;
    out.feasible = true;
    out.time_ns = (double)(s.cycles > 0 ? s.cycles : 1) * ns; // whole clocks, rounded down
    out.clock_exponent = -1;
    // Shared memory feeds the tensor cores: when it is what binds, that is the compute side.
    out.bound = s.l2_cycles > s.l1_cycles ? BOUND_MEMORY : BOUND_COMPUTE;
    out.parts[out.part_count++] = (struct prediction_part){"l2", (double)s.l2_cycles * ns};
    out.parts[out.part_count++] =
        (struct prediction_part){"shared-memory", (double)s.l1_cycles * ns};
    return out;
}

const struct model model_deepgemm = {
    .name = "deepgemm",
    .version = "1",
    .why = "DeepGEMM's cycle score: L2 and shared-memory traffic; ranks tiles, is no time",
    .predict = predict,
};
