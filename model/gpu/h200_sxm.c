// SPDX-License-Identifier: Apache-2.0
#include "model/gpu.h"

#define SHIPPED(number, where)                                                                     \
    {                                                                                              \
        .value = (number), .origin = ORIGIN_SHIPPED, .source = (where)                             \
    }

// NVIDIA H200 SXM, 141 GB HBM3e.
const struct gpu gpu_h200_sxm = {
    .name = "h200-sxm",
    .summary = "NVIDIA H200 SXM5, 132 SMs, HBM3e",
    .match = "NVIDIA H200",
    .sm_count = SHIPPED(132, "device property, H200 SXM"),
    .clock_hz =
        SHIPPED(1.83e9, "boost clock the datasheet rates refer to (NVIDIA/cudnn-frontend#650)"),
    .dram_bytes_s = SHIPPED(4.55e12, "read of 2 GiB, measured on H200, 2026-11-21"),
    .flops_clk_fp32 = SHIPPED(256, "128 FMA per SM and clock (Hopper whitepaper)"),
    .flops_clk_tf32 = SHIPPED(2048, "494.7 TFLOPS dense at 1.83 GHz (datasheet)"),
    .flops_clk_fp16 = SHIPPED(4096, "989.5 TFLOPS dense at 1.83 GHz (datasheet)"),
    .flops_clk_fp8 = SHIPPED(8192, "1979 TFLOPS dense at 1.83 GHz (datasheet)"),
};
