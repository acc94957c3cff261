// SPDX-License-Identifier: Apache-2.0
//
// A stand-in: strides of a matrix without gaps.
#ifndef STAND_IN_PACKED_STRIDE_HPP
#define STAND_IN_PACKED_STRIDE_HPP

#include "cutlass/gemm/device/gemm_universal_adapter.h"

namespace cutlass {
template <bool second>
cute::Stride<second> make_cute_packed_stride(cute::Stride<second>, cute::Shape<3> shape)
{
    return {second ? shape.size[1] : shape.size[0]};
}
} // namespace cutlass

#endif
