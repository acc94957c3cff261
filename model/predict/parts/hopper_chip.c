// SPDX-License-Identifier: Apache-2.0
//
// What the whole chip moves for a kernel, from L2 and from DRAM. Everything here grows with m, n
// and k; prose in hopper.h.
#include "model/predict/parts/hopper_terms.h"

#include "model/predict/parts/arithmetic.h"

enum { HILBERT_SIDE = 16, BAND_DEFAULT = 8 }; // as CUTLASS bands tiles at the widest

// Bytes of both operands.
static double operand_bytes(const struct hopper_terms *t)
{
    const struct problem *p = t->in->problem;
    return (t->rows + t->columns) * (double)p->k * t->bytes_read;
}

// The raster walks bands of tile rows (or columns). An operand's rows along the bands are read
// anew for every turn that a band takes, the other's once per band.
static double reread_bytes(const struct hopper_breakdown *b, const struct hopper_terms *t)
{
    const struct problem *p = t->in->problem;
    const struct traits *traits = t->in->traits;
    bool by_columns = traits->raster == RASTER_N;
    double tiles_m = t->tiles_m / t->products, tiles_n = (double)t->grid_n;
    double along = by_columns ? tiles_n : tiles_m, across = by_columns ? tiles_m : tiles_n;
    double band = traits->raster == RASTER_HILBERT ? HILBERT_SIDE
                  : traits->raster_group > 1       ? traits->raster_group
                  : traits->raster_group == 1      ? along
                  : t->blackwell                   ? along // CuTe's persistent scheduler
                                                   : BAND_DEFAULT;
    band = least(most(band, 1) * (by_columns ? t->cluster_n : t->cluster_m), along);
    double tiles = along * across * t->products;
    double at_once = least(tiles, (double)b->resident / t->split);
    double bands = ceil(along / band), columns_once = by_columns ? t->cluster_m : t->cluster_n;
    // A band that is higher than what runs at once is walked one column of clusters after another.
    double again = least(across / columns_once, most(1, across * band / at_once));
    double rows = t->rows * (by_columns ? bands : again);
    double columns = t->columns * (by_columns ? again : bands);
    return (rows + columns) * (double)p->k * t->bytes_read;
}

double hopper_last_stores(const struct hopper_breakdown *b, const struct hopper_terms *t)
{
    const struct problem *p = t->in->problem;
    double all = t->rows * (double)p->n * t->bytes_out;
    double ending = least((double)b->blocks, (double)b->resident) / t->split;
    return least(all, ending * b->tile_m * b->tile_n * t->bytes_out);
}

bool hopper_in_l2(const struct hopper_terms *t)
{
    const struct problem *p = t->in->problem;
    double stored = t->rows * (double)p->n * t->bytes_out;
    return t->in->warm && operand_bytes(t) + stored <= t->gpu->l2_bytes.value;
}

static double dram_bytes(const struct hopper_breakdown *b, const struct hopper_terms *t)
{
    const struct problem *p = t->in->problem;
    double once = operand_bytes(t), l2 = t->gpu->l2_bytes.value;
    if (hopper_in_l2(t))
        return 0;
    double kept = l2 > 0 ? least(1, t->fit->l2_kept * l2 / once) : 0;
    double read = once * kept + most(once, reread_bytes(b, t)) * (1 - kept);
    double all = t->rows * (double)p->n * t->bytes_out;
    return read + all - hopper_last_stores(b, t);
}

// Rows that blocks load along one side of the tile grid, all together.
static double asked_bytes(const struct hopper_terms *t)
{
    const struct problem *p = t->in->problem;
    double near_a = t->fit->l2_near, near_b = t->fit->l2_near;
    if (t->in->traits->raster == RASTER_M)
        near_a = 1; // neighbours share columns
    else if (t->in->traits->raster == RASTER_N)
        near_b = 1;
    else
        near_a = near_b = (1 + t->fit->l2_near) / 2;
    double a = near_a * t->rows * (double)t->grid_n / t->cluster_n;
    double b = near_b * t->weights * (double)p->n * t->tiles_m / t->cluster_m;
    return (a + b) * t->k * t->split * t->bytes_read;
}

void hopper_chip(struct hopper_breakdown *b, const struct hopper_terms *t)
{
    const struct gpu *gpu = t->gpu;
    b->dram_bytes = dram_bytes(b, t);
    b->limits_ns[HOPPER_DRAM] = b->dram_bytes / (gpu->dram_bytes_s.value * t->fit->dram_rate) * 1e9;
    b->l2_bytes = asked_bytes(t);
    double clock = gpu->clock_max_hz.value > 0 ? gpu->clock_max_hz.value : gpu->clock_hz.value;
    double rate = gpu->l2_bytes_clk.value * clock * t->fit->l2_rate;
    if (!(rate > 0))
        return;
    double near_bytes = t->fit->l2_near_share * gpu->l2_bytes.value;
    double far = near_bytes > 0 ? 1 - least(1, near_bytes / operand_bytes(t)) : 0;
    b->limits_ns[HOPPER_L2] = b->l2_bytes * t->line * (1 + t->fit->l2_far * far) / rate * 1e9;
}
