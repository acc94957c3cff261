// SPDX-License-Identifier: Apache-2.0
//
// For tensor cores: tiles and clusters of CUTLASS, QuACK and DeepGEMM on Hopper, tall and wide, as
// persistent kernels, with K split within a cluster, and as stream-K. Two consumer warpgroups hold
// at most 256 x 128 accumulators. For FP32 without them, and for tensor cores that mma.sync feeds:
// tiles of CUTLASS's multi-stage kernels, of 256 and 128 threads, with K split up to 64 times; a
// slab is 64 bytes deep, or a whole line where there is room and tensor cores multiply.
#include "model/predict/parts/candidates.h"

#include "model/predict/deepgemm.h"
#include "model/predict/parts/simt.h"

struct candidate_choice {
    int16_t m, n, cluster_m, cluster_n, split;
};

static const struct candidate_choice bulk[] = {
    {64, 32, 1, 1, 1},   {64, 64, 1, 1, 1},   {64, 128, 1, 1, 1},   {64, 192, 1, 1, 1},
    {64, 256, 1, 1, 1},  {128, 32, 1, 1, 1},  {128, 64, 1, 1, 1},   {128, 96, 1, 1, 1},
    {128, 128, 1, 1, 1}, {128, 160, 1, 1, 1}, {128, 192, 1, 1, 1},  {128, 224, 1, 1, 1},
    {128, 256, 1, 1, 1}, {192, 128, 1, 1, 1}, {192, 160, 1, 1, 1},  {256, 64, 1, 1, 1},
    {256, 96, 1, 1, 1},  {256, 128, 1, 1, 1}, {64, 128, 2, 1, 1},   {64, 256, 2, 1, 1},
    {128, 128, 2, 1, 1}, {128, 160, 2, 1, 1}, {128, 192, 2, 1, 1},  {128, 256, 2, 1, 1},
    {128, 128, 1, 2, 1}, {128, 256, 1, 2, 1}, {192, 160, 1, 2, 1},  {256, 128, 1, 2, 1},
    {64, 64, 1, 1, 2},   {64, 128, 1, 1, 2},  {64, 256, 1, 1, 2},   {128, 64, 1, 1, 2},
    {128, 128, 1, 1, 2}, {64, 64, 1, 1, 4},   {64, 128, 1, 1, 4},   {128, 128, 1, 1, 4},
    {64, 64, 1, 1, 8},   {64, 128, 1, 1, -1}, {128, 128, 1, 1, -1}, {128, 256, 1, 1, -1}};

static const struct candidate_choice threads_load[] = {
    {32, 32, 1, 1, 1},    {64, 32, 1, 1, 1},   {32, 64, 1, 1, 1},   {64, 64, 1, 1, 1},
    {128, 32, 1, 1, 1},   {32, 128, 1, 1, 1},  {128, 64, 1, 1, 1},  {64, 128, 1, 1, 1},
    {128, 128, 1, 1, 1},  {256, 64, 1, 1, 1},  {64, 256, 1, 1, 1},  {256, 128, 1, 1, 1},
    {128, 256, 1, 1, 1},  {32, 32, 1, 1, 2},   {64, 64, 1, 1, 2},   {128, 128, 1, 1, 2},
    {32, 32, 1, 1, 4},    {64, 64, 1, 1, 4},   {128, 128, 1, 1, 4}, {32, 32, 1, 1, 8},
    {64, 64, 1, 1, 8},    {128, 128, 1, 1, 8}, {32, 32, 1, 1, 16},  {64, 64, 1, 1, 16},
    {128, 128, 1, 1, 16}, {32, 32, 1, 1, 32},  {64, 64, 1, 1, 32},  {128, 128, 1, 1, 32},
    {32, 32, 1, 1, 64},   {64, 64, 1, 1, 64},  {128, 128, 1, 1, 64}};

enum { SLAB_BYTES = 128, STAGES_MOST = 8, SIMT_STAGES = 3, OUTPUTS_A_THREAD = 64 };

struct candidate_set candidates_of(const struct gpu *gpu, const struct problem *p)
{
    const struct traits none = {0};
    if (simt_applies(&(struct predict_input){.gpu = gpu, .traits = &none, .problem = p}))
        return (struct candidate_set){threads_load, ARRAY_COUNT(threads_load), true,
                                      MULTIPLY_UNKNOWN};
    return (struct candidate_set){bulk, ARRAY_COUNT(bulk), false, MULTIPLY_UNKNOWN};
}

struct candidate_set candidates_mma(void)
{
    return (struct candidate_set){threads_load, ARRAY_COUNT(threads_load), true, MULTIPLY_MMA};
}

// As many stages as shared memory holds beside the output tile.
static int32_t stages_for(const struct gpu *gpu, const struct problem *p, const struct traits *t)
{
    double slab = ((double)t->tile_m + t->tile_n) * SLAB_BYTES;
    double room = gpu->smem_bytes.value - (double)t->tile_m * t->tile_n * dtype_bytes(p->out);
    if (gpu->smem_bytes.value <= 0)
        return 4;
    if (room < 2 * slab) // the output tile then takes the drained stages' place
        room = gpu->smem_bytes.value;
    int32_t stages = (int32_t)(room / slab);
    return stages > STAGES_MOST ? STAGES_MOST : stages;
}

static bool bulk_candidate(struct traits *t, const struct gpu *gpu, const struct problem *p)
{
    t->tile_k = (int32_t)(SLAB_BYTES / dtype_bytes(p->in));
    t->stages = stages_for(gpu, p, t);
    t->threads = 128 + (t->tile_m > 64 ? 256 : 128);
    t->persistent = t->split_k <= 1;
    if (p->scales.vector > 0 && dtype_bytes(p->in) == 1) // sums are scaled where they are added up
        t->promote_k = t->tile_k;
    t->overlap = t->split_k == 1 && t->tile_m > 64 ? OVERLAP_NEXT_TILE : OVERLAP_NONE;
    t->raster_group = deepgemm_group(t->tile_m, t->tile_n, (int32_t)gpu->sm_count.value,
                                     t->cluster_n > t->cluster_m)
                          .blocks;
    return t->stages >= 2;
}

static bool threads_candidate(struct traits *t, const struct gpu *gpu, const struct problem *p)
{
    int32_t outputs = t->tile_m * t->tile_n;
    int32_t depth = (int32_t)(SLAB_BYTES / 2 / dtype_bytes(p->in));
    double whole = (double)SIMT_STAGES * (t->tile_m + t->tile_n) * SLAB_BYTES;
    if (p->in != DTYPE_FP32 && whole <= gpu->smem_bytes.value)
        depth *= 2;
    t->tile_k = depth;
    t->stages = SIMT_STAGES;
    t->threads = outputs / OUTPUTS_A_THREAD < 64 ? 64 : outputs / OUTPUTS_A_THREAD;
    if (t->threads > 256)
        t->threads = 256;
    t->smem_bytes = (int32_t)(t->stages * (t->tile_m + t->tile_n) * depth * dtype_bytes(p->in));
    return !(gpu->smem_bytes.value > 0) || t->smem_bytes <= gpu->smem_bytes.value;
}

bool candidate(struct traits *out, const struct candidate_set *all, const struct gpu *gpu,
               const struct problem *p, size_t index)
{
    const struct candidate_choice *c = &all->items[index];
    *out = (struct traits){.in = p->in, .out = p->out, .acc = DTYPE_FP32};
    out->tile_m = c->m;
    out->tile_n = c->n;
    out->cluster_m = c->cluster_m;
    out->cluster_n = c->cluster_n;
    out->split_k = c->split;
    out->multiply = all->multiply;
    return all->threads_load ? threads_candidate(out, gpu, p) : bulk_candidate(out, gpu, p);
}
