// SPDX-License-Identifier: Apache-2.0
//
// The profile of the RTX 4090, each figure with its source.
#include "model/gpu.h"

#define SEED3 "seed 3, appendix A"
#define CLOCK 2.52e9

// NVIDIA GeForce RTX 4090 as seed 3 calibrated it. That document states bandwidths per SM clock
// only (342.9 bytes of DRAM); dram_bytes_s is that figure times clock_hz.
const struct gpu gpu_rtx4090 = {
    .name = "rtx4090",
    .summary = "NVIDIA GeForce RTX 4090, 128 SMs, GDDR6X",
    .match = "GeForce RTX 4090",
    .compute_capability = GPU_SHIPPED(8.9, "CUDA programming guide, list of GPUs"),
    .sm_count = GPU_SHIPPED(128, SEED3),
    .clock_hz = GPU_SHIPPED(CLOCK, "boost clock (datasheet)"),
    .flops_clk_fp32 = GPU_SHIPPED(256, "82.6 TFLOPS at 2.52 GHz (Ada whitepaper)"),
    .flops_clk_tf32 = GPU_SHIPPED(256, "82.6 TFLOPS dense at 2.52 GHz (Ada whitepaper)"),
    .flops_clk_fp16 = GPU_SHIPPED(512, "165.2 TFLOPS dense, FP32 accumulation (Ada whitepaper)"),
    .flops_clk_fp8 = GPU_SHIPPED(1024, "330.3 TFLOPS dense, FP32 accumulation (Ada whitepaper)"),
    .dram_bytes_s = GPU_SHIPPED(342.9 * CLOCK, SEED3 ": dram_perf_ratio 342.9 B/clk"),
    .l2_bytes = GPU_SHIPPED(75497472, SEED3),
    .l2_bytes_clk = GPU_SHIPPED(1896.0, SEED3 ": l2_perf_ratio"),
    .smem_bytes = GPU_SHIPPED(101376, SEED3),
    .smem_sm_bytes = GPU_SHIPPED(102400, "CUDA programming guide, compute capability 8.9"),
    .smem_bytes_clk = GPU_SHIPPED(128, "CUDA programming guide: 32 banks of 4 bytes"),
    .registers = GPU_SHIPPED(65536, "CUDA programming guide, compute capability 8.9"),
    .dram_latency_clk = GPU_SHIPPED(623, SEED3 ": hbm_latency_penalty"),
    .power_w = GPU_SHIPPED(450, "datasheet"),
    .mma_latency_clk = GPU_SHIPPED(33, SEED3),
    .mma_units = GPU_SHIPPED(4, SEED3),
    .dram_sm_fraction = GPU_SHIPPED(0.0222, SEED3 ": dram_bw_coeff"),
};
