// SPDX-License-Identifier: Apache-2.0
//
// Element types, by name and by size. Their values are the ABI's (kernels/kernel.h).
#ifndef PLUMB_DTYPE_H
#define PLUMB_DTYPE_H

#include "model/base.h"

enum dtype {
    DTYPE_FP32, // IEEE single
    DTYPE_TF32, // stored as FP32 (4 bytes), multiplied with a 10-bit mantissa
    DTYPE_BF16,
    DTYPE_FP16,
    DTYPE_E4M3, // "fp8"
    DTYPE_E5M2,
    DTYPE_E2M1,  // "fp4", two in a byte, the first in its lower half
    DTYPE_E8M0,  // scale factors only: powers of two
    DTYPE_FP64,  // host reference only
    DTYPE_INT8,  // into int32
    DTYPE_INT32, // sums of int8
    DTYPE_COUNT
};

const char *dtype_name(enum dtype type); // canonical, lower case
double dtype_bytes(enum dtype type);     // 0.5 for e2m1
// Any case; also fp8, fp4, s8, float and such; nvfp4, mxfp8 and mxfp4 are their elements. -1:
// unknown.
int dtype_parse(enum dtype *out, const char *name);
// The output type that follows from an input type when none is given: tf32 -> fp32, fp8 -> bf16,
// ...
enum dtype dtype_default_out(enum dtype in);

#endif
