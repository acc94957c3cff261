// SPDX-License-Identifier: Apache-2.0
//
// The profile of one B200 whose clock was locked, each figure with its source.
#include "model/gpu.h"

#define SEED0 "seed 0: hbarclay/gemm-model @0de20a8, config/gpu/b200.yaml"

// NVIDIA B200 as seed 0 measured it: SM clock locked to 1300 MHz. With these figures the model
// ws-persistent gives that document's predictions. Its DRAM figure is the nominal one of 8192 bit
// at 2 x 4000 MHz; a driver reports 7680 bit x 3996 MHz = 7.672e12 (pytorch/ao#4002).
const struct gpu gpu_b200_1300 = {
    .name = "b200-1300",
    .summary = "NVIDIA B200 of seed 0: clock locked to 1300 MHz",
    .judged =
        "hopper on 800 of seed 0's times, of shapes that gave it no constant: 5.9 % in the mean",
    .compute_capability = GPU_SHIPPED(10.0, "CUDA programming guide, list of GPUs"),
    .sm_count = GPU_SHIPPED(148, SEED0),
    .cluster4_sms = GPU_SHIPPED(132, "fitted to 800 of seed 0's rows, model/predict/hopper.c"),
    .clock_hz = GPU_SHIPPED(1.3e9, SEED0 " (locked)"),
    .clock_max_hz = GPU_SHIPPED(1.965e9, "flashinfer#2899"),
    .flops_clk_fp32 = GPU_SHIPPED(256, "128 FMA per SM and clock, as Hopper"),
    .flops_clk_tf32 = GPU_SHIPPED(4096, SEED0 " (there: fp32)"),
    .flops_clk_fp16 = GPU_SHIPPED(8192, SEED0),
    .flops_clk_fp8 = GPU_SHIPPED(16384, SEED0),
    .flops_clk_fp4 = GPU_SHIPPED(32768, SEED0),
    .dram_bytes_s = GPU_SHIPPED(8.192e12, SEED0 ": 8192 bit x 2 x 4000 MHz / 8"),
    .l2_bytes = GPU_SHIPPED(132644864, "126.5 MiB, device property as published for B200"),
    .l2_bytes_clk = GPU_SHIPPED(21900, "28.5e12 B/s at 1.3 GHz, fitted to seed 0's 1600 rows"),
    .smem_bytes = GPU_SHIPPED(232448, "CUDA programming guide, compute capability 10.0"),
    .smem_sm_bytes = GPU_SHIPPED(233472, "CUDA programming guide, compute capability 10.0"),
    .smem_bytes_clk = GPU_SHIPPED(128, "as Hopper; not measured"),
    .registers = GPU_SHIPPED(65536, "CUDA programming guide, compute capability 10.0"),
    .power_w = GPU_SHIPPED(1000, "datasheet"),
    .event_launch_s = GPU_SHIPPED(8.23e-6, "of cold launches, fitted to 800 of seed 0's rows"),
    .overhead_clk = GPU_SHIPPED(8000, "seed 0: fixed_overhead_cycles, config/config.yaml"),
    .epilogue_min_clk = GPU_SHIPPED(1000, "seed 0: epilogue_min_latency, config/config.yaml"),
};
