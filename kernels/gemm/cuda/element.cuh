// SPDX-License-Identifier: Apache-2.0
//
// The element types of the tensor-core kernels: how elements are stored, loaded and written back.
// For every type, one row of a shared-memory slab is 128 bytes.
#ifndef PLUMB_GEMM_ELEMENT_CUH
#define PLUMB_GEMM_ELEMENT_CUH

#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "../../kernel.h"
#include "ptx.cuh"

constexpr int slab_bytes = 128; // of each row in one pipeline stage: the widest swizzle

// Two neighbouring outputs in one 32-bit word, the first in the low half.
struct bf16_output {
    using type = __nv_bfloat16;
    static constexpr plumb_dtype dtype = PLUMB_BF16;
    static constexpr CUtensorMapDataType map = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    static DEVICE type from(float x)
    {
        return __float2bfloat16_rn(x);
    }
    static DEVICE uint32_t pack(float x, float y)
    {
        uint32_t word;
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(y), "f"(x));
        return word;
    }
};

struct fp16_output {
    using type = __half;
    static constexpr plumb_dtype dtype = PLUMB_FP16;
    static constexpr CUtensorMapDataType map = CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    static DEVICE type from(float x)
    {
        return __float2half_rn(x);
    }
    static DEVICE uint32_t pack(float x, float y)
    {
        uint32_t word;
        asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(y), "f"(x));
        return word;
    }
};

struct fp32_output {
    using type = float;
    static constexpr plumb_dtype dtype = PLUMB_FP32;
    static constexpr CUtensorMapDataType map = CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    static DEVICE type from(float x)
    {
        return x;
    }
};

struct bf16 {
    using output = bf16_output;
    static constexpr plumb_dtype dtype = PLUMB_BF16;
    static constexpr int bytes = 2;
    static constexpr CUtensorMapDataType map = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
};

struct fp16 {
    using output = fp16_output;
    static constexpr plumb_dtype dtype = PLUMB_FP16;
    static constexpr int bytes = 2;
    static constexpr CUtensorMapDataType map = CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
};

struct tf32 {
    using output = fp32_output;
    static constexpr plumb_dtype dtype = PLUMB_TF32;
    static constexpr int bytes = 4;
    // The type FLOAT32 would leave the low bits to the tensor core, which truncates them (error
    // 1.6e-3 instead of 4e-4). This type rounds to TF32 while loading.
    static constexpr CUtensorMapDataType map = CU_TENSOR_MAP_DATA_TYPE_TFLOAT32;
};

struct e4m3 {
    using output = bf16_output;
    static constexpr plumb_dtype dtype = PLUMB_E4M3;
    static constexpr int bytes = 1;
    static constexpr CUtensorMapDataType map = CU_TENSOR_MAP_DATA_TYPE_UINT8;
};

// The number of elements in one row of a slab.
template <class type> constexpr int slab_elements = slab_bytes / type::bytes;

#endif
