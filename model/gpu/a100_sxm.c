// SPDX-License-Identifier: Apache-2.0
//
// The profile of the A100 SXM4, each figure with its source. A figure that nobody published is
// unknown.
#include "model/gpu.h"

// NVIDIA A100 SXM4, 80 GB HBM2e. Its tensor cores are fed by mma.sync.
const struct gpu gpu_a100_sxm = {
    .name = "a100-sxm",
    .summary = "NVIDIA A100 SXM4 80 GB, 108 SMs, HBM2e",
    .match = "NVIDIA A100-SXM4-80GB",
    .judged = "hopper on 3 published cuBLAS times in BF16 that gave it nothing: 7.7 % in the mean",
    .compute_capability = GPU_SHIPPED(8.0, "CUDA programming guide, list of GPUs"),
    .sm_count = GPU_SHIPPED(108, "A100 whitepaper, table 1"),
    .clock_hz = GPU_SHIPPED(1.41e9, "boost clock, to which the datasheet's rates refer"),
    .clock_max_hz = GPU_SHIPPED(1.41e9, "A100 whitepaper, table 1"),
    .flops_clk_fp32 = GPU_SHIPPED(128, "19.5 TFLOPS (A100 whitepaper)"),
    .flops_clk_tf32 = GPU_SHIPPED(1024, "156 TFLOPS dense (A100 whitepaper)"),
    .flops_clk_fp16 = GPU_SHIPPED(2048, "312 TFLOPS dense (A100 whitepaper)"),
    .dram_bytes_s = GPU_SHIPPED(2.039e12, "datasheet, nominal: no measured figure"),
    .l2_bytes = GPU_SHIPPED(41943040, "A100 whitepaper, 40 MB"),
    .l2_bytes_clk = GPU_SHIPPED(5120, "A100 whitepaper: 5120 bytes per clock"),
    .smem_bytes = GPU_SHIPPED(166912, "CUDA programming guide, compute capability 8.0"),
    .smem_sm_bytes = GPU_SHIPPED(167936, "CUDA programming guide, compute capability 8.0"),
    .smem_bytes_clk = GPU_SHIPPED(128, "CUDA programming guide: 32 banks of 4 bytes"),
    .registers = GPU_SHIPPED(65536, "CUDA programming guide, compute capability 8.0"),
    .power_w = GPU_SHIPPED(400, "datasheet"),
    .mma_units = GPU_SHIPPED(4, "tensor cores per SM (A100 whitepaper)"),
};
