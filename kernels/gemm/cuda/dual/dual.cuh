// SPDX-License-Identifier: Apache-2.0
//
// Dual GEMM, C = silu(A B1) * (A B2), by the kernels that compute one product. A is read once, both
// sums of an element of C are in one thread, and neither goes to memory. Half of a stage's rows of
// B come from B1, and half from B2:
//
//   not swapped     one matrix instruction multiplies 64 rows of A by both halves, and its
//                   accumulators are C's columns of the first product, then those of the second;
//   swapped         B's rows lie along the instruction's 64, so a warpgroup has two such
//                   instructions: the same registers of both are the two sums of an element.
//
// dual_config<c>: c where bn (swapped: bm) counts the rows of both matrices together, so its tile
// of C is half as wide. It changes two things of the kernels: where a slab comes from
// (persistent/launch.cuh) and what becomes of the sums (epilogue.cuh).
//
// drained: the partial sums of a split go where its slabs were. Those of 128 x (128 + 128) take 64
// KiB; without them the ring has one stage more.
#ifndef PLUMB_GEMM_DUAL_DUAL_CUH
#define PLUMB_GEMM_DUAL_DUAL_CUH

#include "../small/gemv.cuh"
#include "../split/cluster.cuh"

template <class base, bool drained_ = false> struct dual_config : base {
    static constexpr bool dual = true, drained = drained_;
    static constexpr int c_rows = base::swapped ? base::bm / 2 : base::bm;
    static constexpr int c_columns = base::swapped ? base::bn : base::bn / 2;
    static constexpr int c_n = base::swapped ? base::n : base::n / 2;
    static constexpr int c_mi = base::swapped ? base::mi / 2 : base::mi;
    static __host__ __device__ constexpr int a_block(int i)
    {
        return (i % c_mi * 64 + i / c_mi * (base::bm / 2)) * slab_bytes;
    }
    using stager = ::stager<typename base::output, c_mi, c_n, base::ring, base::swapped, true>;
    static constexpr int words = held_words<typename base::output, c_n>;
    static constexpr bool overlap =
        base::cooperative && !base::alternate && base::mi * base::n / 2 + c_mi * words <= 192;

    static constexpr bool prompt = base::consumers == 1 && base::cluster == 1 && !base::eager;

    static_assert(base::wn == 1 && !base::promote, "both sums in one warpgroup");
    static_assert(c_n % 16 == 0 && (!base::swapped || base::mi % 2 == 0), "both sums in a thread");
};

#endif
