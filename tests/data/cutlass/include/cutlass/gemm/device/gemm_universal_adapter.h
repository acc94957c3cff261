// SPDX-License-Identifier: Apache-2.0
//
// A stand-in for the device kernel of CUTLASS's version 3, and for what it takes of cute.
#ifndef STAND_IN_ADAPTER_H
#define STAND_IN_ADAPTER_H

#include "cutlass/gemm/device/gemm.h"

namespace cute
{

template <int rank> struct Shape {
    int size[rank];
};
template <class... T> auto make_shape(T... sizes)
{
    return Shape<sizeof...(T)>{{sizes...}};
}
template <class> constexpr int rank_v = 0;
template <int rank> constexpr int rank_v<Shape<rank>> = rank;
template <int first, int end, int rank> Shape<end> take(Shape<rank> all)
{
    Shape<end> out{};
    for (int i = first; i < end; i++)
        out.size[i] = all.size[i];
    return out;
}

// Of a matrix whose second mode is contiguous, or whose first is.
template <bool second> struct Stride {
    int64_t leading;
};

} // namespace cute

namespace cutlass::gemm
{

namespace kernel
{
template <int rank, class... Types> struct GemmUniversal : device::stand_in_types<Types...> {
    using types = device::stand_in_types<Types...>;
    template <class L> static constexpr bool rows = std::is_same_v<L, layout::RowMajor>;
    using ElementD = typename types::ElementC;
    using LayoutD = typename types::LayoutC;
    using ProblemShape = cute::Shape<rank>;
    using StrideA = cute::Stride<rows<typename types::LayoutA>>;
    using StrideB = cute::Stride<!rows<typename types::LayoutB>>; // of n and k
    using StrideC = cute::Stride<rows<typename types::LayoutC>>;
    using StrideD = StrideC;
};
} // namespace kernel

namespace device
{
template <class Kernel> struct GemmUniversalAdapter : Kernel {
    using GemmKernel = Kernel;
    template <class T, class S> struct Operand {
        const T *at;
        S stride;
    };
    struct Epilogue {
        struct {
            float alpha, beta;
        } thread;
        const typename Kernel::ElementC *c;
        typename Kernel::StrideC stride_c;
        typename Kernel::ElementD *d;
        typename Kernel::StrideD stride_d;
    };
    struct Mainloop {
        const typename Kernel::ElementA *a;
        typename Kernel::StrideA stride_a;
        const typename Kernel::ElementB *b;
        typename Kernel::StrideB stride_b;
    };
    struct Arguments {
        GemmUniversalMode mode;
        typename Kernel::ProblemShape shape;
        Mainloop mainloop;
        Epilogue epilogue;
    };
    static Status can_implement(const Arguments &)
    {
        return Status::kSuccess;
    }
    static size_t get_workspace_size(const Arguments &)
    {
        return 256;
    }
    template <class T, bool second> static stand_in_matrix<T> view(T *at, cute::Stride<second> s)
    {
        return {at, second ? s.leading : 1, second ? 1 : s.leading};
    }
    Status operator()(const Arguments &p, void *, cudaStream_t stream)
    {
        const auto b = view(p.mainloop.b, p.mainloop.stride_b); // n by k
        const stand_in_matrix<const typename Kernel::ElementB> turned = {b.at, b.col, b.row};
        return stand_in_launch({p.shape.size[0], p.shape.size[1], p.shape.size[2]},
                               view(p.mainloop.a, p.mainloop.stride_a), turned,
                               view(p.epilogue.d, p.epilogue.stride_d), stream);
    }
};
} // namespace device

} // namespace cutlass::gemm

#endif
