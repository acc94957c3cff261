// SPDX-License-Identifier: Apache-2.0
//
// The warpgroup matrix instruction with A in registers: C (64 x n) += A (64 x 16) * B (n x 16) in
// FP16, B read from shared memory by descriptor. Of A a thread has rows 16 * warp + lane / 4 and
// the eighth after it, two neighbouring elements of each from 2 * (lane % 4) on (a[0], a[1]) and
// from 8 behind that (a[2], a[3]). C lies as in wgmma.cuh, whose lists of operands these are.
//
// a[] must stay as it is until the instruction was waited for.
#ifndef PLUMB_WGMMA_REGISTERS_CUH
#define PLUMB_WGMMA_REGISTERS_CUH

#include "wgmma.cuh"

// wgmma_registers<n>::multiply(c, a, b): c += a * b.
template <int n> struct wgmma_registers;

#define EIGHT(i)                                                                                   \
    "+f"(c[i]), "+f"(c[i + 1]), "+f"(c[i + 2]), "+f"(c[i + 3]), "+f"(c[i + 4]), "+f"(c[i + 5]),    \
        "+f"(c[i + 6]), "+f"(c[i + 7])

// r = n / 2 registers; the numbers of the operands after them.
#define WGMMA_REGISTERS(n, r, a0, a1, a2, a3, b, s)                                                \
    template <> struct wgmma_registers<n> {                                                        \
        static DEVICE void multiply(float (&c)[r], const uint32_t (&a)[4], uint64_t desc_b,        \
                                    int accumulate)                                                \
        {                                                                                          \
            asm volatile("{\n"                                                                     \
                         ".reg .pred p;\n"                                                         \
                         "setp.ne.b32 p, %" #s ", 0;\n"                                            \
                         "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32.f16.f16 {" REGISTERS_##r  \
                         "}, {%" #a0 ", %" #a1 ", %" #a2 ", %" #a3 "}, %" #b ", p, 1, 1, 0;\n"     \
                         "}"                                                                       \
                         : ACCUMULATORS_##r                                                        \
                         : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(desc_b),                \
                           "r"(accumulate));                                                       \
        }                                                                                          \
    };

WGMMA_REGISTERS(32, 16, 16, 17, 18, 19, 20, 21)
WGMMA_REGISTERS(64, 32, 32, 33, 34, 35, 36, 37)
WGMMA_REGISTERS(128, 64, 64, 65, 66, 67, 68, 69)
WGMMA_REGISTERS(256, 128, 128, 129, 130, 131, 132, 133)

#undef WGMMA_REGISTERS
#undef EIGHT

#endif
