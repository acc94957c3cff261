// SPDX-License-Identifier: Apache-2.0
//
// Stand-ins for the device kernels of CUTLASS's version 2.
#ifndef STAND_IN_GEMM_H
#define STAND_IN_GEMM_H

#include "cutlass/cutlass.h"

#include <type_traits>

namespace cutlass::gemm::device
{

template <class T, class L> stand_in_matrix<T> stand_in_view(T *at, int64_t leading)
{
    const bool rows = std::is_same_v<L, layout::RowMajor>;
    return {at, rows ? leading : 1, rows ? 1 : leading};
}

template <class A, class LA, class B, class LB, class C, class LC, class = float,
          class Class = arch::OpClassSimt>
struct stand_in_types {
    using ElementA = A;
    using LayoutA = LA;
    using ElementB = B;
    using LayoutB = LB;
    using ElementC = C;
    using LayoutC = LC;
    using OperatorClass = Class;
    struct EpilogueOutputOp {
        using ElementCompute = float;
        struct Params {
            float alpha, beta;
        };
    };
};

template <class... Types> struct Gemm : stand_in_types<Types...> {
    using types = stand_in_types<Types...>;
    template <class T> struct TensorRef {
        T *at;
        int leading;
    };
    struct Arguments {
        GemmCoord size;
        TensorRef<const typename types::ElementA> a;
        TensorRef<const typename types::ElementB> b;
        TensorRef<const typename types::ElementC> c;
        TensorRef<typename types::ElementC> d;
        typename types::EpilogueOutputOp::Params epilogue;
    };
    static Status can_implement(const Arguments &arguments)
    {
        return arguments.size.k % 2 ? Status::kErrorMisalignedOperand : Status::kSuccess;
    }
    static size_t get_workspace_size(const Arguments &)
    {
        return 0;
    }
    Status operator()(const Arguments &p, void *, cudaStream_t stream)
    {
        return stand_in_launch(
            p.size,
            stand_in_view<const typename types::ElementA, typename types::LayoutA>(p.a.at,
                                                                                   p.a.leading),
            stand_in_view<const typename types::ElementB, typename types::LayoutB>(p.b.at,
                                                                                   p.b.leading),
            stand_in_view<typename types::ElementC, typename types::LayoutC>(p.d.at, p.d.leading),
            stream);
    }
};

template <class... Types> struct GemmUniversal : Gemm<Types...> {
    using plain = Gemm<Types...>;
    struct Arguments : plain::Arguments {
        Arguments(GemmUniversalMode, GemmCoord size, int,
                  typename plain::EpilogueOutputOp::Params epilogue, const void *a, const void *b,
                  const void *c, void *d, int64_t, int64_t, int64_t, int64_t, int64_t lda,
                  int64_t ldb, int64_t ldc, int64_t ldd)
            : plain::Arguments{size,
                               {(const typename plain::ElementA *)a, (int)lda},
                               {(const typename plain::ElementB *)b, (int)ldb},
                               {(const typename plain::ElementC *)c, (int)ldc},
                               {(typename plain::ElementC *)d, (int)ldd},
                               epilogue}
        {
        }
    };
};

} // namespace cutlass::gemm::device

#endif
