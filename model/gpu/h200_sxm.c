// SPDX-License-Identifier: Apache-2.0
//
// The profile of the H200 SXM, each figure with its source.
#include "model/gpu.h"

// "measured": on NVIDIA H200 SXM boards, driver 580, CUDA 13.0, 2026-11-21.
// NVIDIA H200 SXM, 141 GB HBM3e.
#define CALIBRATED "plumb calibrate, baselines/recorded/h200/calibrate.cfg"

const struct gpu gpu_h200_sxm = {
    .name = "h200-sxm",
    .summary = "NVIDIA H200 SXM5, 132 SMs, HBM3e",
    .match = "NVIDIA H200",
    .fitted = true,
    .judged =
        "hopper on 10,591 times of 32 random problems: median 3.3 %, with a bias per kernel 2.6 %",
    .compute_capability = GPU_SHIPPED(9.0, "CUDA programming guide, list of GPUs"),
    .sm_count = GPU_SHIPPED(132, "device property"),
    .gpc_sms = GPU_SHIPPED(18, "CUTLASS sm90 scheduler's rule, tile_scheduler_params.h @7107b05"),
    .cluster3_sms = GPU_SHIPPED(117, "39 clusters, asked of one board (recorded/h200/ladder)"),
    .cluster4_sms = GPU_SHIPPED(120, "30 clusters, asked of one board; 28 on another"),
    .cluster8_sms = GPU_SHIPPED(120, "15 clusters, asked of one board"),
    .clock_hz = GPU_SHIPPED(1.83e9, "clock the datasheet rates refer to (cudnn-frontend#650)"),
    .clock_max_hz = GPU_SHIPPED(1.98e9, "device property"),
    .flops_clk_fp32 = GPU_SHIPPED(256, "128 FMA per SM and clock (Hopper whitepaper)"),
    .flops_clk_tf32 = GPU_SHIPPED(2048, "494.7 TFLOPS dense at 1.83 GHz (datasheet)"),
    .flops_clk_fp16 = GPU_SHIPPED(4096, "989.5 TFLOPS dense at 1.83 GHz (datasheet)"),
    .flops_clk_fp8 = GPU_SHIPPED(8192, "1979 TFLOPS dense at 1.83 GHz (datasheet)"),
    .mma_sync_flops_clk_tf32 = GPU_SHIPPED(1111, CALIBRATED),
    .mma_sync_flops_clk_fp16 = GPU_SHIPPED(2221, CALIBRATED),
    .mma_sync_flops_clk_fp8 = GPU_SHIPPED(2800, CALIBRATED),
    .dram_bytes_s = GPU_SHIPPED(4.55e12, "read of 2 GiB, measured; datasheet 4.8e12"),
    .l2_bytes = GPU_SHIPPED(62914560, "device property"),
    .l2_bytes_clk = GPU_SHIPPED(4300, "8.5e12 B/s re-reading 16 MiB at 1.98 GHz, measured"),
    .smem_bytes = GPU_SHIPPED(232448, "device property (opt-in limit of a block)"),
    .smem_sm_bytes = GPU_SHIPPED(233472, "device property"),
    .smem_bytes_clk = GPU_SHIPPED(128, "127.7: " CALIBRATED),
    .registers = GPU_SHIPPED(65536, "device property"),
    .dram_latency_clk = GPU_SHIPPED(684, "680-688 pointer chasing, GH200 (RRZE-HPC/gpu-benches)"),
    .l2_latency_clk = GPU_SHIPPED(280, "pointer chasing, GH200 (RRZE-HPC/gpu-benches)"),
    .tma_latency_clk = GPU_SHIPPED(15.5, CALIBRATED),
    .launch_s = GPU_SHIPPED(1.45e-6, "per further launch in a backlogged stream, measured"),
    .event_launch_s = GPU_SHIPPED(2.73e-6, "an empty kernel between events, measured"),
    .graph_launch_s = GPU_SHIPPED(0.57e-6, "per node of a chain, measured"),
    .power_w = GPU_SHIPPED(700, "device property"),
    .cap_clock_tf32_hz = GPU_SHIPPED(1.38e9, "inside 8192^3 back to back, measured"),
    .cap_clock_fp16_hz = GPU_SHIPPED(1.35e9, "inside 8192^3 bf16 back to back, measured"),
    .cap_clock_fp8_hz = GPU_SHIPPED(1.46e9, "inside 8192^3 back to back, measured"),
    .mma_latency_clk = GPU_SHIPPED(38, CALIBRATED),
    .mma_units = GPU_SHIPPED(4, "tensor cores per SM (Hopper whitepaper)"),
    .dram_sm_fraction = GPU_SHIPPED(0.0252, CALIBRATED),
    .overhead_clk = GPU_SHIPPED(5000, "empty kernel between events 2.75 us, measured"),
    .epilogue_min_clk = GPU_SHIPPED(118, CALIBRATED),
    .epilogue_bytes_clk = GPU_SHIPPED(18.4, CALIBRATED),
    .load_startup_clk = GPU_SHIPPED(305, CALIBRATED),
    .load_bytes_clk = GPU_SHIPPED(33.4, CALIBRATED),
    .math_startup_clk = GPU_SHIPPED(66, CALIBRATED),
};
