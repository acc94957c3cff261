// SPDX-License-Identifier: Apache-2.0
//
// A stand-in for CUTLASS, of which tests of `plumb init` need the names alone: device kernels that
// multiply in one loop, on the host, and on a GPU when nvcc builds them.
#ifndef STAND_IN_CUTLASS_H
#define STAND_IN_CUTLASS_H

#include <cstddef>
#include <cstdint>

#ifndef __CUDACC__
typedef void *cudaStream_t;
#endif

namespace cutlass
{

enum class Status { kSuccess, kErrorMisalignedOperand };

struct half_t {
    uint16_t bits;
};
struct bfloat16_t {
    uint16_t bits;
};
struct tfloat32_t {
    uint32_t bits;
};

namespace layout
{
struct RowMajor {
};
struct ColumnMajor {
};
} // namespace layout

namespace arch
{
struct OpClassSimt {
};
struct OpClassTensorOp {
};
} // namespace arch

namespace gemm
{

enum class GemmUniversalMode { kGemm };
struct GemmCoord {
    int m, n, k;
};

} // namespace gemm

// A matrix in memory: element (i, j) is at[i * row + j * col].
template <class T> struct stand_in_matrix {
    T *at;
    int64_t row, col;
};

template <class A, class B, class C>
#ifdef __CUDACC__
__global__
#endif
    void
    stand_in_product(gemm::GemmCoord size, stand_in_matrix<A> a, stand_in_matrix<B> b,
                     stand_in_matrix<C> c)
{
    for (int i = 0; i < size.m; i++) {
        for (int j = 0; j < size.n; j++) {
            C sum = 0;
            for (int l = 0; l < size.k; l++)
                sum += a.at[i * a.row + l * a.col] * b.at[l * b.row + j * b.col];
            c.at[i * c.row + j * c.col] = sum;
        }
    }
}

template <class A, class B, class C>
Status stand_in_launch(gemm::GemmCoord size, stand_in_matrix<A> a, stand_in_matrix<B> b,
                       stand_in_matrix<C> c, cudaStream_t stream)
{
#ifdef __CUDACC__
    stand_in_product<<<1, 1, 0, stream>>>(size, a, b, c);
#else
    (void)stream;
    stand_in_product(size, a, b, c);
#endif
    return Status::kSuccess;
}

} // namespace cutlass

#endif
