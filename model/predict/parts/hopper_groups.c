// SPDX-License-Identifier: Apache-2.0
//
// Groups in the model `hopper`. A kernel that states its tile multiplies them all in one launch, as
// this project's do: rows of a group lie along the matrix instruction's width, are divided evenly
// into as few tiles as hold them, and are rounded up to its steps of 16, or where they lie along
// its 64 rows, to those; blocks take tiles as they come, so that the busiest SM is half a tile
// behind the mean. One that states none is taken for a library's products, one group after the
// other.
#include "model/predict/parts/arithmetic.h"
#include "model/predict/parts/hopper_terms.h"

enum { STEP = 16, ROWS = 64 };

void hopper_lay_groups(struct hopper_breakdown *b, struct hopper_terms *t)
{
    const struct problem *p = t->in->problem;
    int32_t rows[GROUPS_MOST];
    int64_t tiles = 0, padded = 0;
    const int64_t step = t->swapped ? STEP : ROWS;
    problem_group_rows(rows, p);
    t->products = t->rows = 0;
    for (int32_t g = 0; g < p->groups.count; g++) {
        const int64_t parts = ceil_div(rows[g], b->tile_m);
        if (parts == 0)
            continue;
        const int64_t each = ceil_div(ceil_div(rows[g], parts), step) * step;
        tiles += parts;
        padded += parts * each;
        t->products++;
        t->rows += rows[g];
    }
    t->tiles_m = (double)tiles;
    t->columns = t->products * t->weights * (double)p->n;
    b->tile_m = (int32_t)least(b->tile_m, (double)ceil_div(padded, tiles));
}

static void add(struct hopper_breakdown *sum, const struct hopper_breakdown *one)
{
    sum->blocks += one->blocks;
    sum->turns += one->turns;
    sum->l2_bytes += one->l2_bytes;
    sum->dram_bytes += one->dram_bytes;
    for (int i = 0; i < HOPPER_LIMITS; i++)
        sum->limits_ns[i] += one->limits_ns[i];
    sum->launch_ns += one->launch_ns;
    sum->fill_ns += one->fill_ns;
    sum->main_ns += one->main_ns;
    sum->overhead_ns += one->overhead_ns;
    sum->store_ns += one->store_ns;
    sum->split_ns += one->split_ns;
    sum->transpose_ns += one->transpose_ns;
    sum->time_ns += one->time_ns;
    sum->clocked_ns += one->clocked_ns;
}

const char *hopper_each_group(struct hopper_breakdown *out, const struct predict_input *in)
{
    int32_t rows[GROUPS_MOST];
    struct problem product = *in->problem;
    struct predict_input with = *in;
    bool found = false;
    problem_group_rows(rows, in->problem);
    product.groups = (struct groups){0};
    with.problem = &product;
    for (int32_t g = 0; g < in->problem->groups.count; g++) {
        struct hopper_breakdown one;
        product.m = rows[g];
        if (rows[g] == 0)
            continue;
        const char *why = hopper(&one, &with);
        if (why)
            return why;
        if (found)
            add(out, &one);
        else
            *out = one;
        found = true;
    }
    return found ? NULL : "no group has a row";
}
