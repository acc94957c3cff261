// SPDX-License-Identifier: Apache-2.0
//
// The table of element types, and the other names that people have for them.
#include "model/dtype.h"

#include <strings.h>

static const struct {
    const char *name;
    double bytes;
    enum dtype default_out;
} dtypes[DTYPE_COUNT] = {
    [DTYPE_FP32] = {"fp32", 4, DTYPE_FP32},    [DTYPE_TF32] = {"tf32", 4, DTYPE_FP32},
    [DTYPE_BF16] = {"bf16", 2, DTYPE_BF16},    [DTYPE_FP16] = {"fp16", 2, DTYPE_FP16},
    [DTYPE_E4M3] = {"e4m3", 1, DTYPE_BF16},    [DTYPE_E5M2] = {"e5m2", 1, DTYPE_BF16},
    [DTYPE_E2M1] = {"e2m1", 0.5, DTYPE_BF16},  [DTYPE_E8M0] = {"e8m0", 1, DTYPE_FP32},
    [DTYPE_FP64] = {"fp64", 8, DTYPE_FP64},    [DTYPE_INT8] = {"int8", 1, DTYPE_INT32},
    [DTYPE_INT32] = {"int32", 4, DTYPE_INT32},
};

static const struct {
    const char *name;
    enum dtype type;
} aliases[] = {
    {"fp8", DTYPE_E4M3},    {"mxfp8", DTYPE_E4M3}, {"fp4", DTYPE_E2M1},  {"nvfp4", DTYPE_E2M1},
    {"mxfp4", DTYPE_E2M1},  {"float", DTYPE_FP32}, {"half", DTYPE_FP16}, {"bfloat16", DTYPE_BF16},
    {"double", DTYPE_FP64}, {"s8", DTYPE_INT8},    {"i8", DTYPE_INT8},   {"s32", DTYPE_INT32},
    {"i32", DTYPE_INT32},
};

const char *dtype_name(enum dtype type)
{
    return dtypes[type].name;
}

double dtype_bytes(enum dtype type)
{
    return dtypes[type].bytes;
}

int dtype_parse(enum dtype *out, const char *name)
{
    for (int i = 0; i < DTYPE_COUNT; i++) {
        if (strcasecmp(dtypes[i].name, name) == 0) {
            *out = (enum dtype)i;
            return 0;
        }
    }
    for (size_t i = 0; i < ARRAY_COUNT(aliases); i++) {
        if (strcasecmp(aliases[i].name, name) == 0) {
            *out = aliases[i].type;
            return 0;
        }
    }
    return -1;
}

enum dtype dtype_default_out(enum dtype in)
{
    return dtypes[in].default_out;
}
