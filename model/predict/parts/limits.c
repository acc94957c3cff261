// SPDX-License-Identifier: Apache-2.0
//
// Limits that a device sets to a kernel: how many of its thread blocks an SM holds, and the least
// physically possible time.
#include "model/predict/parts/limits.h"

#include "model/gpu.h"

#include <math.h>

// ==== thread blocks of an SM ====
//
// The rules of compute capability 8.0 to 10.0 (CUDA C++ Programming Guide, "Compute Capabilities",
// and the toolkit's occupancy calculator). A warp gets registers in units of 256, so 8 per thread.
// A block gets shared memory in units of 128 bytes, after 1 KiB for the system. An SM holds 64
// warps and 32 blocks. (On 8.9 and 12.0 it holds 48 warps and 24 blocks; a profile does not tell
// these apart, so there the answer may be too high if threads are the limit.)

enum {
    WARP = 32,
    WARPS = 64,
    BLOCKS = 32,
    REGISTER_UNIT = 8,
    SHARED_UNIT = 128,
    SHARED_SYSTEM = 1024
};

const char *occupancy_limit_name(enum occupancy_limit limit)
{
    static const char *const names[OCCUPANCY_LIMITS] = {"unknown", "threads", "registers",
                                                        "shared memory", "blocks"};
    return names[limit];
}

static int32_t round_up(int32_t value, int32_t unit)
{
    return (value + unit - 1) / unit * unit;
}

static void limit_to(struct occupancy *o, int32_t blocks, enum occupancy_limit limit)
{
    if (blocks < o->blocks)
        *o = (struct occupancy){.blocks = blocks, .limit = limit};
}

struct occupancy occupancy_of(const struct gpu *gpu, int32_t threads, int32_t registers,
                              int32_t smem_bytes)
{
    struct occupancy o = {.blocks = BLOCKS, .limit = OCCUPANCY_BLOCKS};
    const double shared = gpu->smem_sm_bytes.value;
    if (threads < 1 || threads > 1024 || registers < 0 || registers > 255 || smem_bytes < 0 ||
        smem_bytes > 1 << 24 || !(gpu->registers.value >= 1) || !(shared >= 1))
        return (struct occupancy){.limit = OCCUPANCY_UNKNOWN};
    const int32_t warps = round_up(threads, WARP) / WARP;
    limit_to(&o, WARPS / warps, OCCUPANCY_THREADS);
    if (registers) {
        const int32_t of_warp = round_up(registers, REGISTER_UNIT) * WARP;
        limit_to(&o, (int32_t)gpu->registers.value / of_warp / warps, OCCUPANCY_REGISTERS);
    }
    limit_to(&o, (int32_t)shared / round_up(smem_bytes + SHARED_SYSTEM, SHARED_UNIT),
             OCCUPANCY_SHARED);
    o.warps = o.blocks * warps;
    return o;
}

// ==== the least time ====
//
// The roofline as a lower bound, with room for errors of a profile.

static const double slack = 0.9;
static const double fewest_tf32_products = 3;

static double flops_clk(const struct gpu *gpu, enum dtype in)
{
    const double own = gpu_flops_clk(gpu, in);
    if (in == DTYPE_E2M1) // only its products are exact in FP8
        return fmax(own, gpu->flops_clk_fp8.value);
    if (in != DTYPE_FP32 && in != DTYPE_FP64)
        return own;
    return fmax(own, gpu->flops_clk_tf32.value / fewest_tf32_products);
}

double least_time_ns(const struct gpu *gpu, const struct problem *p)
{
    const double weights = problem_weights(p);
    const double read =
        ((double)p->m + weights * (double)p->n) * (double)p->k * p->batch * dtype_bytes(p->in);
    const double rate = flops_clk(gpu, p->in) * gpu->clock_max_hz.value * gpu->sm_count.value;
    const double math_s = rate > 0 ? problem_flops(p) / rate : 0;
    const double dram_s = gpu->dram_bytes_s.value > 0 ? read / gpu->dram_bytes_s.value : 0;
    return slack * fmax(math_s, dram_s) * 1e9;
}
