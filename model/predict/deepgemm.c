// SPDX-License-Identifier: Apache-2.0
//
// The model `deepgemm`: DeepGEMM's cycle score, turned into a prediction.
#include "model/predict/parts/select.h"

#include "model/predict.h"
#include "model/predict/parts/arithmetic.h"
#include "model/problem.h"

static const char *refuse(const struct problem *p, const struct deepgemm_layout *l, int32_t sms)
{
    if (l->block_m < 16 || l->block_n < 16 || l->block_m > 256 || l->block_n > 256)
        return "a block must be 16 to 256 on each side";
    if (l->block_m > 128 && l->block_n > 128)
        return "one side of a block must be at most 128: the accumulators must fit in registers";
    if (l->cluster_m < 1 || l->cluster_n < 1 || l->cluster_m > 2 || l->cluster_n > 2 ||
        l->cluster_m * l->cluster_n > 2)
        return "a cluster holds one or two blocks";
    if (l->stages && l->stages < (l->block_m * l->block_n < 128 * 192 ? 4 : 3))
        return "too few stages to hide the latency of loads (3; 4 for blocks below 128 x 192)";
    if (sms < 1)
        return "the profile has no SM count";
    if (dtype_bytes(p->in) < 1 || dtype_bytes(p->out) < 1)
        return "elements below one byte are not scored";
    double blocks = (double)ceil_div(p->m, l->block_m) * (double)ceil_div(p->n, l->block_n);
    // The largest number of bytes that one block can move: operands twice and the output three
    // times, at 8 bytes an element.
    double block_bytes = (double)p->k * (256 + 256) * 8 * 2 + 3.0 * 256 * 256 * 8;
    if (blocks * p->batch * block_bytes > 9e18)
        return "more bytes than can be counted";
    return NULL;
}

const char *deepgemm_score(struct deepgemm_score *out, const struct problem *p,
                           const struct deepgemm_layout *l, bool accumulate, int32_t sms)
{
    const char *why = refuse(p, l, sms);
    if (why)
        return why;
    struct deepgemm_score s;
    int64_t in = (int64_t)dtype_bytes(p->in), to = (int64_t)dtype_bytes(p->out);
    int64_t bm = l->block_m, bn = l->block_n;
    s.blocks = ceil_div(p->m, bm) * ceil_div(p->n, bn) * p->batch;
    s.waves = ceil_div(s.blocks, sms);
    s.last_wave = s.blocks % sms ? s.blocks % sms : sms;
    // 64 bytes per SM and clock, but no more than 8 TB/s at 1.3 GHz.
    s.l2_bytes_clk = (int64_t)(64.0 * sms < 8e6 / 1.3e3 ? 64.0 * sms : 8e6 / 1.3e3);
    s.l1_bytes_clk = (int64_t)128 * sms;
    s.l2_ab = p->k * (bm / l->cluster_n + bn / l->cluster_m) * in;
    s.l1_ab = p->k * (bm + bn) * in;
    s.l1_tc = p->k * ((bm > 64 ? bm : 64) + bn) * in + bm * bn * to;
    s.cd = bm * bn * to * (accumulate ? 2 : 1);
    s.l2_cycles = (s.l2_ab + s.cd) * s.blocks / s.l2_bytes_clk;
    s.l1_cycles = (s.l1_ab + s.l1_tc + s.cd) * s.blocks / s.l1_bytes_clk;
    s.wave_efficiency = (float)s.blocks / (float)(s.waves * sms);
    int64_t longer = s.l1_cycles > s.l2_cycles ? s.l1_cycles : s.l2_cycles;
    s.cycles = (int64_t)((float)longer / s.wave_efficiency);
    // With a single wave, multicast gains no more than it loses in scheduling.
    if (s.waves <= 1 && l->cluster_m * l->cluster_n > 1)
        return "multicast is not used when everything fits in one wave";
    *out = s;
    return NULL;
}

struct deepgemm_group deepgemm_group(int32_t block_m, int32_t block_n, int32_t sms,
                                     bool multicast_on_a)
{
    static const int32_t candidates[] = {8, 16};
    int64_t along = multicast_on_a ? block_n : block_m, across = multicast_on_a ? block_m : block_n;
    struct deepgemm_group best = {.usage = INT64_MAX};
    for (size_t i = 0; i < ARRAY_COUNT(candidates); i++) {
        int64_t usage = candidates[i] * along + ceil_div(sms, candidates[i]) * across;
        if (usage < best.usage)
            best = (struct deepgemm_group){usage, candidates[i]};
    }
    return best;
}

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
    // Shared memory feeds the tensor cores, so if it is the limit, the kernel counts as
    // bound by compute.
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
