// SPDX-License-Identifier: Apache-2.0
//
// The warpgroup matrix instruction, C (64 x n) += A (64 x k) * B (n x k). It reads A and B from
// shared memory by descriptors, for n = 16 .. 256 in steps of 16, n = 72, and four element types. k
// is always 32 bytes of a row. C lies in n / 2 FP32 registers of each of the 128 threads: register
// i of a thread is row 16 * warp + lane / 4 + 8 * (i / 2 % 2), column 8 * (i / 4) + 2 * (lane % 4)
// + i % 2.
//
// Inline PTX must name every register. So the preprocessor builds the operand lists here, once:
// REGISTERS_r is the text "%0,...,%(r-1)", and ACCUMULATORS_r the matching operands.
#ifndef PLUMB_GEMM_WGMMA_CUH
#define PLUMB_GEMM_WGMMA_CUH

#include "ptx.cuh"

// wgmma<type, n>::multiply(c, a, b, accumulate): c = a * b + (accumulate ? c : 0).
template <class type, int n> struct wgmma;

struct bf16;
struct fp16;
struct tf32;
struct e4m3;

#define NAMES_0       "%0,%1,%2,%3,%4,%5,%6,%7"
#define NAMES_1       "%8,%9,%10,%11,%12,%13,%14,%15"
#define NAMES_2       "%16,%17,%18,%19,%20,%21,%22,%23"
#define NAMES_3       "%24,%25,%26,%27,%28,%29,%30,%31"
#define NAMES_4       "%32,%33,%34,%35,%36,%37,%38,%39"
#define NAMES_5       "%40,%41,%42,%43,%44,%45,%46,%47"
#define NAMES_6       "%48,%49,%50,%51,%52,%53,%54,%55"
#define NAMES_7       "%56,%57,%58,%59,%60,%61,%62,%63"
#define NAMES_8       "%64,%65,%66,%67,%68,%69,%70,%71"
#define NAMES_9       "%72,%73,%74,%75,%76,%77,%78,%79"
#define NAMES_10      "%80,%81,%82,%83,%84,%85,%86,%87"
#define NAMES_11      "%88,%89,%90,%91,%92,%93,%94,%95"
#define NAMES_12      "%96,%97,%98,%99,%100,%101,%102,%103"
#define NAMES_13      "%104,%105,%106,%107,%108,%109,%110,%111"
#define NAMES_14      "%112,%113,%114,%115,%116,%117,%118,%119"
#define NAMES_15      "%120,%121,%122,%123,%124,%125,%126,%127"
#define REGISTERS_8   NAMES_0
#define REGISTERS_16  REGISTERS_8 "," NAMES_1
#define REGISTERS_24  REGISTERS_16 "," NAMES_2
#define REGISTERS_32  REGISTERS_24 "," NAMES_3
#define REGISTERS_36  REGISTERS_32 ",%32,%33,%34,%35"
#define REGISTERS_40  REGISTERS_32 "," NAMES_4
#define REGISTERS_48  REGISTERS_40 "," NAMES_5
#define REGISTERS_56  REGISTERS_48 "," NAMES_6
#define REGISTERS_64  REGISTERS_56 "," NAMES_7
#define REGISTERS_72  REGISTERS_64 "," NAMES_8
#define REGISTERS_80  REGISTERS_72 "," NAMES_9
#define REGISTERS_88  REGISTERS_80 "," NAMES_10
#define REGISTERS_96  REGISTERS_88 "," NAMES_11
#define REGISTERS_104 REGISTERS_96 "," NAMES_12
#define REGISTERS_112 REGISTERS_104 "," NAMES_13
#define REGISTERS_120 REGISTERS_112 "," NAMES_14
#define REGISTERS_128 REGISTERS_120 "," NAMES_15

#define EIGHT(i)                                                                                   \
    "+f"(c[i]), "+f"(c[i + 1]), "+f"(c[i + 2]), "+f"(c[i + 3]), "+f"(c[i + 4]), "+f"(c[i + 5]),    \
        "+f"(c[i + 6]), "+f"(c[i + 7])
#define ACCUMULATORS_8   EIGHT(0)
#define ACCUMULATORS_16  ACCUMULATORS_8, EIGHT(8)
#define ACCUMULATORS_24  ACCUMULATORS_16, EIGHT(16)
#define ACCUMULATORS_32  ACCUMULATORS_24, EIGHT(24)
#define ACCUMULATORS_36  ACCUMULATORS_32, "+f"(c[32]), "+f"(c[33]), "+f"(c[34]), "+f"(c[35])
#define ACCUMULATORS_40  ACCUMULATORS_32, EIGHT(32)
#define ACCUMULATORS_48  ACCUMULATORS_40, EIGHT(40)
#define ACCUMULATORS_56  ACCUMULATORS_48, EIGHT(48)
#define ACCUMULATORS_64  ACCUMULATORS_56, EIGHT(56)
#define ACCUMULATORS_72  ACCUMULATORS_64, EIGHT(64)
#define ACCUMULATORS_80  ACCUMULATORS_72, EIGHT(72)
#define ACCUMULATORS_88  ACCUMULATORS_80, EIGHT(80)
#define ACCUMULATORS_96  ACCUMULATORS_88, EIGHT(88)
#define ACCUMULATORS_104 ACCUMULATORS_96, EIGHT(96)
#define ACCUMULATORS_112 ACCUMULATORS_104, EIGHT(104)
#define ACCUMULATORS_120 ACCUMULATORS_112, EIGHT(112)
#define ACCUMULATORS_128 ACCUMULATORS_120, EIGHT(120)

// Defines one form of the instruction. r: the number of C's registers, n / 2. a, b, s: the numbers
// of the operands after these registers (r, r + 1, r + 2).
#define WGMMA(type, form, transposes, n, r, a, b, s)                                               \
    template <> struct wgmma<type, n> {                                                            \
        static DEVICE void multiply(float (&c)[r], uint64_t desc_a, uint64_t desc_b,               \
                                    int accumulate)                                                \
        {                                                                                          \
            asm volatile("{\n"                                                                     \
                         ".reg .pred p;\n"                                                         \
                         "setp.ne.b32 p, %" #s ", 0;\n"                                            \
                         "wgmma.mma_async.sync.aligned.m64n" #n form " {" REGISTERS_##r            \
                         "}, %" #a ", %" #b ", p, 1, 1" transposes ";\n"                           \
                         "}"                                                                       \
                         : ACCUMULATORS_##r                                                        \
                         : "l"(desc_a), "l"(desc_b), "r"(accumulate));                             \
        }                                                                                          \
    };

#define WGMMA_TYPES(n, r, a, b, s)                                                                 \
    WGMMA(bf16, "k16.f32.bf16.bf16", ", 0, 0", n, r, a, b, s)                                      \
    WGMMA(fp16, "k16.f32.f16.f16", ", 0, 0", n, r, a, b, s)                                        \
    WGMMA(tf32, "k8.f32.tf32.tf32", "", n, r, a, b, s)                                             \
    WGMMA(e4m3, "k32.f32.e4m3.e4m3", "", n, r, a, b, s)

WGMMA_TYPES(16, 8, 8, 9, 10)
WGMMA_TYPES(32, 16, 16, 17, 18)
WGMMA_TYPES(48, 24, 24, 25, 26)
WGMMA_TYPES(64, 32, 32, 33, 34)
WGMMA_TYPES(72, 36, 36, 37, 38)
WGMMA_TYPES(80, 40, 40, 41, 42)
WGMMA_TYPES(96, 48, 48, 49, 50)
WGMMA_TYPES(112, 56, 56, 57, 58)
WGMMA_TYPES(128, 64, 64, 65, 66)
WGMMA_TYPES(144, 72, 72, 73, 74)
WGMMA_TYPES(160, 80, 80, 81, 82)
WGMMA_TYPES(176, 88, 88, 89, 90)
WGMMA_TYPES(192, 96, 96, 97, 98)
WGMMA_TYPES(208, 104, 104, 105, 106)
WGMMA_TYPES(224, 112, 112, 113, 114)
WGMMA_TYPES(240, 120, 120, 121, 122)
WGMMA_TYPES(256, 128, 128, 129, 130)

#undef WGMMA_TYPES
#undef WGMMA

#endif
