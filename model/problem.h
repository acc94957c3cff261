// SPDX-License-Identifier: Apache-2.0
//
// A problem: what one GEMM is asked to do, C[m,n] = A[m,k] * B[k,n], and how it is written.
//
// Text form, used in policies, on the command line and as the store's key:
//     MxNxK:IN[-OUT][:LAYOUT][:bBATCH][:EPILOGUE]     e.g. 4096x7168x512:bf16,
//     64x64x64:fp8-bf16:tn:b8
// problem_format() writes the canonical form, which problem_parse() reads back to the same problem.
#ifndef PLUMB_PROBLEM_H
#define PLUMB_PROBLEM_H

#include "model/base.h"

enum dtype {
    DTYPE_FP32, // IEEE single
    DTYPE_TF32, // stored as FP32 (4 bytes), multiplied with a 10-bit mantissa
    DTYPE_BF16,
    DTYPE_FP16,
    DTYPE_E4M3, // "fp8"
    DTYPE_E5M2,
    DTYPE_E2M1, // "fp4"; with block scales: "nvfp4"
    DTYPE_E8M0, // scale factors only
    DTYPE_FP64, // host reference only
    DTYPE_COUNT
};

const char *dtype_name(enum dtype type); // canonical, lower case
double dtype_bytes(enum dtype type);     // 0.5 for e2m1
int dtype_parse(enum dtype *out,
                const char *name); // any case; also fp8, fp4, nvfp4, mxfp8, float; -1 if unknown

// Transposition of A and B as BLAS says it for column-major storage. TN = both K-major:
// A is m rows of k, B is n rows of k, C is m rows of n (all row-major). NN: B is k rows of n.
enum layout { LAYOUT_TN, LAYOUT_NN, LAYOUT_NT, LAYOUT_TT, LAYOUT_COUNT };
const char *layout_name(enum layout layout);

enum epilogue { EPILOGUE_NONE, EPILOGUE_DUAL_SILU, EPILOGUE_COUNT };
const char *epilogue_name(enum epilogue epilogue);

struct problem {
    int64_t m, n, k; // 1 .. 2^31-1
    enum dtype in;
    enum dtype out;
    enum layout layout;
    int32_t batch; // >= 1
    enum epilogue epilogue;
};

enum { PROBLEM_TEXT = 96 }; // room for the longest canonical text

int problem_parse(struct problem *out, const char *text, struct error *err);
void problem_format(char out[PROBLEM_TEXT], const struct problem *problem);
bool problem_equal(const struct problem *a, const struct problem *b);
// The output type that follows from an input type when none is given: tf32 -> fp32, fp8 -> bf16,
// ...
enum dtype problem_default_out(enum dtype in);

double problem_flops(const struct problem *problem); // 2 m n k batch
double
problem_bytes(const struct problem *problem); // each input read once, the output written once

#endif
