// SPDX-License-Identifier: Apache-2.0
//
// The profile of the H100 PCIe, each figure with its source. A figure that nobody published is
// unknown; one's own board can be measured (plumb calibrate -o).
#include "model/gpu.h"

// NVIDIA H100 PCIe, 80 GB HBM2e, 350 W. The SM is the H100 SXM's.
const struct gpu gpu_h100_pcie = {
    .name = "h100-pcie",
    .summary = "NVIDIA H100 PCIe, 114 SMs, HBM2e",
    .match = "NVIDIA H100 PCIe",
    .compute_capability = GPU_SHIPPED(9.0, "CUDA programming guide, list of GPUs"),
    .sm_count = GPU_SHIPPED(114, "H100 whitepaper, table 3"),
    .clock_hz = GPU_SHIPPED(1.62e9, "756 TFLOPS dense BF16 (datasheet) over 114 x 4096 FLOP"),
    .clock_max_hz = GPU_SHIPPED(1.755e9, "boost clock (H100 PCIe product brief)"),
    .flops_clk_fp32 = GPU_SHIPPED(256, "128 FMA per SM and clock (Hopper whitepaper)"),
    .flops_clk_tf32 = GPU_SHIPPED(2048, "Hopper whitepaper, as the SXM's SM"),
    .flops_clk_fp16 = GPU_SHIPPED(4096, "Hopper whitepaper, as the SXM's SM"),
    .flops_clk_fp8 = GPU_SHIPPED(8192, "Hopper whitepaper, as the SXM's SM"),
    .dram_bytes_s = GPU_SHIPPED(2.039e12, "datasheet, nominal: no measured figure"),
    .l2_bytes = GPU_SHIPPED(52428800, "datasheet, 50 MB"),
    .l2_bytes_clk = GPU_SHIPPED(4300, "not measured here: an H200's, same L2 design"),
    .smem_bytes = GPU_SHIPPED(232448, "CUDA programming guide, compute capability 9.0"),
    .smem_sm_bytes = GPU_SHIPPED(233472, "CUDA programming guide, compute capability 9.0"),
    .smem_bytes_clk = GPU_SHIPPED(128, "127.4-127.9 on H800 (arXiv 2501.12084)"),
    .registers = GPU_SHIPPED(65536, "CUDA programming guide, compute capability 9.0"),
    .launch_s = GPU_SHIPPED(1.45e-6, "measured on H200"),
    .event_launch_s = GPU_SHIPPED(2.73e-6, "measured on H200"),
    .power_w = GPU_SHIPPED(350, "datasheet"),
    .mma_units = GPU_SHIPPED(4, "tensor cores per SM (Hopper whitepaper)"),
    .overhead_clk = GPU_SHIPPED(4430, "empty kernel between events 2.73 us, measured on H200"),
};
