// SPDX-License-Identifier: Apache-2.0
//
// The profile of the L40S, each figure with its source. A figure that nobody published is unknown.
#include "model/gpu.h"

// NVIDIA L40S, 48 GB GDDR6. The SM is the RTX 4090's, with all of its tensor-core rate.
const struct gpu gpu_l40s = {
    .name = "l40s",
    .summary = "NVIDIA L40S, 142 SMs, GDDR6",
    .match = "NVIDIA L40S",
    .compute_capability = GPU_SHIPPED(8.9, "CUDA programming guide, list of GPUs"),
    .sm_count = GPU_SHIPPED(142, "18,176 CUDA cores (datasheet), 128 per SM"),
    .clock_hz = GPU_SHIPPED(2.52e9, "boost clock: 91.6 TFLOPS FP32 (datasheet)"),
    .clock_max_hz = GPU_SHIPPED(2.52e9, "boost clock: 91.6 TFLOPS FP32 (datasheet)"),
    .flops_clk_fp32 = GPU_SHIPPED(256, "91.6 TFLOPS (datasheet)"),
    .flops_clk_tf32 = GPU_SHIPPED(512, "183 TFLOPS dense (datasheet)"),
    .flops_clk_fp16 = GPU_SHIPPED(1024, "362 TFLOPS dense (datasheet)"),
    .flops_clk_fp8 = GPU_SHIPPED(2048, "733 TFLOPS dense (datasheet)"),
    .dram_bytes_s = GPU_SHIPPED(864e9, "datasheet, nominal: no measured figure"),
    .l2_bytes = GPU_SHIPPED(100663296, "96 MB: the Ada whitepaper's AD102, whole"),
    .smem_bytes = GPU_SHIPPED(101376, "CUDA programming guide, compute capability 8.9"),
    .smem_sm_bytes = GPU_SHIPPED(102400, "CUDA programming guide, compute capability 8.9"),
    .smem_bytes_clk = GPU_SHIPPED(128, "CUDA programming guide: 32 banks of 4 bytes"),
    .registers = GPU_SHIPPED(65536, "CUDA programming guide, compute capability 8.9"),
    .power_w = GPU_SHIPPED(350, "datasheet"),
    .mma_units = GPU_SHIPPED(4, "tensor cores per SM (Ada whitepaper)"),
};
