// SPDX-License-Identifier: Apache-2.0
//
// Finds the shipped profiles by name, and combines figures. The numbers themselves are in
// model/gpu/, one file for each GPU.
#include "model/gpu.h"

#include <stddef.h>
#include <string.h>

static const struct {
    const char *key, *unit;
    size_t offset;
} figures[] = {
#define X(name, text) {#name, text, offsetof(struct gpu, name)},
    GPU_FIGURES(X)
#undef X
};

static const char *const origins[] = {"unknown", "device", "shipped", "calibrated", "override"};

const char *origin_name(enum origin origin)
{
    return origins[origin];
}

size_t gpu_figure_count(void)
{
    return ARRAY_COUNT(figures);
}

const char *gpu_figure_key(size_t index)
{
    return figures[index].key;
}

const char *gpu_figure_unit(size_t index)
{
    return figures[index].unit;
}

struct figure *gpu_figure(struct gpu *gpu, const char *key)
{
    for (size_t i = 0; i < ARRAY_COUNT(figures); i++) {
        if (strcmp(figures[i].key, key) == 0)
            return (struct figure *)(void *)((char *)gpu + figures[i].offset);
    }
    return NULL;
}

void gpu_overlay(struct gpu *base, const struct gpu *over)
{
    for (size_t i = 0; i < ARRAY_COUNT(figures); i++) {
        const struct figure *from =
            (const struct figure *)(const void *)((const char *)over + figures[i].offset);
        struct figure *to = (struct figure *)(void *)((char *)base + figures[i].offset);
        if (from->value != 0 && from->origin >= to->origin)
            *to = *from;
    }
}

double gpu_flops_clk(const struct gpu *gpu, enum dtype in)
{
    switch (in) {
    case DTYPE_FP32:
        return gpu->flops_clk_fp32.value;
    case DTYPE_TF32:
        return gpu->flops_clk_tf32.value;
    case DTYPE_BF16:
    case DTYPE_FP16:
        return gpu->flops_clk_fp16.value;
    case DTYPE_E4M3:
    case DTYPE_E5M2:
    case DTYPE_E8M0:
        return gpu->flops_clk_fp8.value;
    case DTYPE_E2M1: // without tensor cores for it, it is decoded to FP16
        return gpu->flops_clk_fp4.value > 0 ? gpu->flops_clk_fp4.value : gpu->flops_clk_fp16.value;
    case DTYPE_FP64:
    case DTYPE_INT8:
    case DTYPE_INT32:
    case DTYPE_COUNT:
        break;
    }
    return 0;
}
