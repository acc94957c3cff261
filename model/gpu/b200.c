// SPDX-License-Identifier: Apache-2.0
//
// The profile of the B200 at its own clocks, each figure with its source.
#include "model/gpu.h"

#define GUIDE     "CUDA programming guide, compute capability 10.0"
#define DATASHEET "datasheet at 1.856 GHz: dense rates of one GPU of an HGX B200"

// NVIDIA B200 SXM, 1000 W. Nothing was measured on one by this project.
const struct gpu gpu_b200 = {
    .name = "b200",
    .summary = "NVIDIA B200, 148 SMs, HBM3e",
    .match = "NVIDIA B200",
    .judged = "hopper on 49 published times that gave it nothing: TF32 9.5 %, BF16 5.0 %, NVFP4 "
              "6.5 % in the mean, in the regime that fits; nothing of plumb's ever ran on one",
    .compute_capability = GPU_SHIPPED(10.0, "CUDA programming guide, list of GPUs"),
    .sm_count = GPU_SHIPPED(148, "device property as published (hbarclay/gemm-model)"),
    .cluster4_sms = GPU_SHIPPED(132, "fitted to 800 of seed 0's rows, model/predict/hopper.c"),
    .clock_hz = GPU_SHIPPED(1.856e9, "clock that the datasheet's 2.25 PFLOPS in BF16 imply"),
    .clock_max_hz = GPU_SHIPPED(1.965e9, "flashinfer#2899"),
    .flops_clk_fp32 = GPU_SHIPPED(256, "128 FMA per SM and clock, as Hopper"),
    .flops_clk_tf32 = GPU_SHIPPED(4096, DATASHEET),
    .flops_clk_fp16 = GPU_SHIPPED(8192, DATASHEET),
    .flops_clk_fp8 = GPU_SHIPPED(16384, DATASHEET),
    .flops_clk_fp4 = GPU_SHIPPED(32768, DATASHEET),
    .dram_bytes_s = GPU_SHIPPED(7.672e12, "7680 bit x 2 x 3996 MHz / 8 (pytorch/ao#4002)"),
    .l2_bytes = GPU_SHIPPED(132644864, "126.5 MiB, device property as published for B200"),
    .l2_bytes_clk = GPU_SHIPPED(21900, "28.5e12 B/s at 1.3 GHz, fitted to seed 0's 1600 rows"),
    .smem_bytes = GPU_SHIPPED(232448, GUIDE),
    .smem_sm_bytes = GPU_SHIPPED(233472, GUIDE),
    .smem_bytes_clk = GPU_SHIPPED(128, "as Hopper; not measured"),
    .registers = GPU_SHIPPED(65536, GUIDE),
    .dram_latency_clk = GPU_SHIPPED(684, "as Hopper; not measured"),
    .l2_latency_clk = GPU_SHIPPED(280, "as Hopper; not measured"),
    .launch_s = GPU_SHIPPED(1.45e-6, "measured on an H200; not on a B200"),
    .event_launch_s = GPU_SHIPPED(2.73e-6, "measured on an H200; not on a B200"),
    .graph_launch_s = GPU_SHIPPED(0.57e-6, "measured on an H200; not on a B200"),
    .power_w = GPU_SHIPPED(1000, "datasheet"),
    .cap_clock_tf32_hz = GPU_SHIPPED(1.58e9, "sustained, flashinfer#2899"),
    .cap_clock_fp16_hz = GPU_SHIPPED(1.58e9, "sustained, flashinfer#2899"),
    .cap_clock_fp8_hz = GPU_SHIPPED(1.58e9, "sustained, flashinfer#2899"),
    .overhead_clk = GPU_SHIPPED(5070, "empty kernel between events 2.73 us, measured on an H200"),
    .epilogue_min_clk = GPU_SHIPPED(1000, "seed 0: epilogue_min_latency, config/config.yaml"),
};
