// SPDX-License-Identifier: Apache-2.0
//
// A profile: the figures of a device that models use, each with its source.
//
// There are three tiers, of which a later one takes precedence: properties read from the device; a
// shipped profile (one file each in gpu/); figures calibrated on this device or set by the policy.
// A figure of value 0 is unknown. The `host` profile describes the CPU of this machine with the
// same words (an "SM" is a core).
#ifndef PLUMB_GPU_H
#define PLUMB_GPU_H

#include "model/problem.h"

enum origin { ORIGIN_UNKNOWN, ORIGIN_DEVICE, ORIGIN_SHIPPED, ORIGIN_CALIBRATED, ORIGIN_OVERRIDE };
const char *origin_name(enum origin origin);

struct figure {
    double value;
    enum origin origin;
    const char *source; // where the number comes from; borrowed, lives as long as the profile
};

// Defines a figure of a shipped profile: GPU_SHIPPED(132, "device property").
#define GPU_SHIPPED(number, where)                                                                 \
    {                                                                                              \
        .value = (number), .origin = ORIGIN_SHIPPED, .source = (where)                             \
    }

// The figures, one X each: its name, and its unit or meaning. The name is the key in files, the
// store and `list gpus`.
#define GPU_FIGURES(X)                                                                             \
    X(compute_capability, "major.minor: below 9 mma.sync, from 9 wgmma, from 10 tcgen05")          \
    X(sm_count, "multiprocessors (host: cores)")                                                   \
    X(gpc_sms, "SMs of the largest GPC: clusters stay inside one")                                 \
    X(cluster3_sms, "SMs that clusters of three blocks fill at once; 0: CUTLASS's rule")           \
    X(cluster4_sms, "same, of four")                                                               \
    X(cluster8_sms, "same, of eight")                                                              \
    X(clock_hz, "SM clock that rates refer to, Hz")                                                \
    X(clock_max_hz, "highest SM clock, Hz")                                                        \
    X(flops_clk_fp32, "dense FLOP per SM and clock, FP32")                                         \
    X(flops_clk_tf32, "same, TF32")                                                                \
    X(flops_clk_fp16, "same, FP16 and BF16")                                                       \
    X(flops_clk_fp8, "same, FP8")                                                                  \
    X(flops_clk_fp4, "same, FP4")                                                                  \
    X(mma_sync_flops_clk_tf32, "what mma.sync reaches of it, TF32; 0: all")                        \
    X(mma_sync_flops_clk_fp16, "same, FP16 and BF16")                                              \
    X(mma_sync_flops_clk_fp8, "same, FP8")                                                         \
    X(dram_bytes_s, "DRAM bandwidth the models use, bytes/s")                                      \
    X(l2_bytes, "L2 capacity, bytes (host: last-level cache)")                                     \
    X(l2_bytes_clk, "L2 read bandwidth, bytes per SM clock, whole chip")                           \
    X(smem_bytes, "shared memory one block may use, bytes")                                        \
    X(smem_sm_bytes, "shared memory of one SM, bytes; each resident block also takes 1 KiB of it") \
    X(smem_bytes_clk, "shared-memory bandwidth, bytes per clock and SM")                           \
    X(registers, "32-bit registers per SM")                                                        \
    X(dram_latency_clk, "load latency from DRAM, clocks")                                          \
    X(l2_latency_clk, "load latency from L2, clocks")                                              \
    X(tma_latency_clk, "extra latency of a bulk tensor copy, clocks")                              \
    X(launch_s, "launch cost in a stream, s")                                                      \
    X(event_launch_s, "an empty kernel between two events, s")                                     \
    X(graph_launch_s, "launch cost of a graph node, s")                                            \
    X(power_w, "power limit, W")                                                                   \
    X(cap_clock_tf32_hz, "clock the power limit leaves a full-rate TF32 kernel, Hz")               \
    X(cap_clock_fp16_hz, "same, FP16/BF16")                                                        \
    X(cap_clock_fp8_hz, "same, FP8")                                                               \
    X(mma_latency_clk, "latency of one mma.sync m16n8k16 (Origami), clocks")                       \
    X(mma_units, "tensor cores per SM")                                                            \
    X(dram_sm_fraction, "DRAM bandwidth one SM can draw, fraction of all (Origami dram_bw_coeff)") \
    X(overhead_clk, "fixed launch and set-up cost, clocks (seed 0)")                               \
    X(epilogue_min_clk, "least time of an epilogue, clocks (seed 0)")                              \
    X(epilogue_bytes_clk, "an epilogue's bytes per clock and SM beyond that, into L2")             \
    X(load_startup_clk, "startup of a stage's load from L2, clocks (seed 1's T_A, T_B)")           \
    X(load_bytes_clk, "its bytes per clock and SM beyond that, all SMs loading")                   \
    X(math_startup_clk, "startup of a stage's products, clocks (seed 1's T_M)")

struct gpu {
    const char *name;    // "h200-sxm"
    const char *summary; // one line
    const char *match;   // substring of the driver's device name that selects it, or NULL
    const char *judged;  // the times by which `hopper` was judged on it, and the error; NULL: it
                         // was not
    bool fitted;         // the constants of `hopper` were fitted to times of this device
#define X(figure_name, unit) struct figure figure_name;
    GPU_FIGURES(X)
#undef X
};

// The shipped profiles, sorted by name. gpu_find() returns NULL for an unknown name.
extern const struct gpu *const gpus[];
extern const size_t gpu_count;
const struct gpu *gpu_find(const char *name);
// Finds the profile whose `match` is part of the device's name; NULL: there is none.
const struct gpu *gpu_for_device(const char *device_name);

// Finds a figure by its key ("dram_bytes_s"); NULL if there is no such figure.
struct figure *gpu_figure(struct gpu *gpu, const char *key);
size_t gpu_figure_count(void);
const char *gpu_figure_key(size_t index);
const char *gpu_figure_unit(size_t index);
// Copies every known figure of `over` to `base`, if its origin is at least as strong.
void gpu_overlay(struct gpu *base, const struct gpu *over);

// Dense FLOP per SM and clock for products of this element type; 0: not known.
double gpu_flops_clk(const struct gpu *gpu, enum dtype in);

#endif
