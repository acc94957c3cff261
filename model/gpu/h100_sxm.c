// SPDX-License-Identifier: Apache-2.0
//
// The profile of the H100 SXM, each figure with its source.
#include "model/gpu.h"

// NVIDIA H100 SXM5, 80 GB HBM3. The SM is the H200's; figures measured only there say so.
#define CALIBRATED "plumb calibrate, baselines/recorded/h100/calibrate.cfg"

const struct gpu gpu_h100_sxm = {
    .name = "h100-sxm",
    .summary = "NVIDIA H100 SXM5, 132 SMs, HBM3",
    .match = "NVIDIA H100 80GB HBM3",
    .judged =
        "hopper on 948 times of random problems in six regimes: median 4.5 %, with a bias per "
        "kernel 3.4 %; on 101 published ones in the regime that fits: BF16 3.0 to 6.2 %, FP32 "
        "9.1 %, FP8 with block scales 7.3 % in the mean",
    .compute_capability = GPU_SHIPPED(9.0, "CUDA programming guide, list of GPUs"),
    .sm_count = GPU_SHIPPED(132, "device property"),
    .gpc_sms = GPU_SHIPPED(18, "CUTLASS sm90 scheduler's rule, tile_scheduler_params.h @7107b05"),
    .cluster3_sms = GPU_SHIPPED(117, "39 clusters, baselines/recorded/h100/calibrate.cfg"),
    .cluster4_sms = GPU_SHIPPED(120, "30 clusters, baselines/recorded/h100/calibrate.cfg"),
    .clock_hz = GPU_SHIPPED(1.83e9, "clock the datasheet rates refer to (cudnn-frontend#650)"),
    .clock_max_hz = GPU_SHIPPED(1.98e9, "device property"),
    .flops_clk_fp32 = GPU_SHIPPED(256, "128 FMA per SM and clock (Hopper whitepaper)"),
    .flops_clk_tf32 = GPU_SHIPPED(2048, "494.7 TFLOPS dense at 1.83 GHz (datasheet)"),
    .flops_clk_fp16 = GPU_SHIPPED(4096, "989.5 TFLOPS dense at 1.83 GHz (datasheet)"),
    .flops_clk_fp8 = GPU_SHIPPED(8192, "1979 TFLOPS dense at 1.83 GHz (datasheet)"),
    .mma_sync_flops_clk_tf32 =
        GPU_SHIPPED(1111, "not measured here: an H200, which has the same SM"),
    .mma_sync_flops_clk_fp16 =
        GPU_SHIPPED(2221, "not measured here: an H200, which has the same SM"),
    .mma_sync_flops_clk_fp8 =
        GPU_SHIPPED(2800, "not measured here: an H200, which has the same SM"),
    .dram_bytes_s = GPU_SHIPPED(3.24e12, "sum reduction (pranjalssh/fast.cu); datasheet 3.35e12"),
    .l2_bytes = GPU_SHIPPED(52428800, "datasheet, 50 MB"),
    .l2_bytes_clk = GPU_SHIPPED(3900, "plumb calibrate, baselines/recorded/h100/calibrate.cfg"),
    .smem_bytes = GPU_SHIPPED(232448, "device property (opt-in limit of a block)"),
    .smem_sm_bytes = GPU_SHIPPED(233472, "device property"),
    .smem_bytes_clk = GPU_SHIPPED(128, "127.4-127.9 on H800 (arXiv 2501.12084)"),
    .registers = GPU_SHIPPED(65536, "device property"),
    .dram_latency_clk = GPU_SHIPPED(684, "680-688 pointer chasing, GH200 (RRZE-HPC/gpu-benches)"),
    .l2_latency_clk = GPU_SHIPPED(280, "pointer chasing, GH200 (RRZE-HPC/gpu-benches)"),
    .tma_latency_clk = GPU_SHIPPED(14.8, CALIBRATED),
    .launch_s = GPU_SHIPPED(1.45e-6, "measured on H200"),
    .event_launch_s = GPU_SHIPPED(2.73e-6, "an empty kernel between events, measured on H200"),
    .graph_launch_s = GPU_SHIPPED(0.57e-6, "measured on H200"),
    .power_w = GPU_SHIPPED(700, "datasheet"),
    .cap_clock_tf32_hz = GPU_SHIPPED(1.38e9, "measured on H200"),
    .cap_clock_fp16_hz = GPU_SHIPPED(1.35e9, "measured on H200"),
    .cap_clock_fp8_hz = GPU_SHIPPED(1.46e9, "measured on H200"),
    .mma_latency_clk = GPU_SHIPPED(38, CALIBRATED),
    .mma_units = GPU_SHIPPED(4, "tensor cores per SM (Hopper whitepaper)"),
    .dram_sm_fraction = GPU_SHIPPED(0.0403, CALIBRATED),
    .overhead_clk = GPU_SHIPPED(5000, "empty kernel between events 2.75 us, measured on H200"),
    .epilogue_min_clk = GPU_SHIPPED(86, CALIBRATED),
    .epilogue_bytes_clk = GPU_SHIPPED(16, CALIBRATED),
    .load_startup_clk = GPU_SHIPPED(300, CALIBRATED),
    .load_bytes_clk = GPU_SHIPPED(28.6, CALIBRATED),
    .math_startup_clk = GPU_SHIPPED(66, CALIBRATED),
};
