// SPDX-License-Identifier: Apache-2.0
//
// The tolerance of an output, and its comparison with a reference, element by element. This is the
// host's part; a GPU compares in its own file by the same rule.
#include "kernels/device/check.h"

#include "kernels/device/inputs.h"

#include <math.h>

_Static_assert((int)DTYPE_FP32 == PLUMB_FP32 && (int)DTYPE_E4M3 == PLUMB_E4M3 &&
                   (int)DTYPE_FP64 == PLUMB_FP64,
               "the ABI's element types are the vocabulary's");
_Static_assert((int)LAYOUT_TT == PLUMB_TT, "the ABI's layouts are the vocabulary's");

// The standard deviation of an element of an operand (kernels/device/inputs.h), with its block
// scales.
static double operand_scale(const struct problem *p)
{
    const double scales = p->scales.vector == 0 ? 1 : p->scales.type == DTYPE_E8M0 ? 1.75 : 1.083;
    const double value = p->in == DTYPE_INT8 ? 32 * 32 : p->in == DTYPE_E2M1 ? 4 : 1;
    return sqrt(value * scales);
}

// The scale for alpha 1 with nothing added, before tensors are scaled.
static double product_scale(const struct problem *p)
{
    return operand_scale(p) * operand_scale(p) * sqrt((double)p->k);
}

double check_tensor_scale(const struct problem *p)
{
    return p->in == DTYPE_E2M1 ? 1 / sqrt(product_scale(p)) : 1;
}

// Everything that is added to the product has the product's size.
double check_scale(const struct problem *p)
{
    const double tensors = check_tensor_scale(p) * check_tensor_scale(p);
    const double product = product_scale(p) * tensors;
    if (p->epilogue == EPILOGUE_DUAL_SILU)
        return p->scales.vector ? product * product : (double)p->k;
    if (problem_is_plain(p))
        return sqrt((double)p->k);
    const double terms = 1 + (p->beta != 0) + epilogue_has_bias(p->epilogue);
    return fabs(p->alpha != 0 ? (double)p->alpha : 1) * product * sqrt(terms);
}

// Unit roundoff, 2^-p for p significant bits.
static double unit_out(enum dtype type)
{
    switch (type) {
    case DTYPE_BF16:
        return 0x1p-8;
    case DTYPE_FP16:
        return 0x1p-11;
    case DTYPE_E4M3:
        return 0x1p-4;
    case DTYPE_E5M2:
        return 0x1p-3;
    case DTYPE_FP64:
        return 0x1p-53;
    default:
        return 0x1p-24;
    }
}

static double unit_sum(enum dtype in)
{
    switch (in) {
    case DTYPE_FP32:
        return 0x1p-24;
    case DTYPE_FP64:
        return 0x1p-53;
    case DTYPE_E4M3:
    case DTYPE_E5M2:
        return 0x1p-14;
    default:
        return 0x1p-23;
    }
}

double check_farthest(double k)
{
    double low = 0, high = 1;
    for (int i = 0; i < 60; i++) {
        const double x = 0.5 * (low + high), rest = 1 - x * x;
        if (k * x * x / rest + 0.5 * k * log1p(-x * x) < 32)
            low = x;
        else
            high = x;
    }
    return sqrt(k) * low / (1 - low * low);
}

double check_tolerance(const struct problem *p)
{
    const double k = (double)p->k, far = check_farthest(k);
    if (p->in == DTYPE_INT8)
        return 0;
    const double unit = unit_out(p->out) + (p->in == DTYPE_TF32 ? 0x1p-10 : 0);
    const double sum = unit_sum(p->in) * (8 * sqrt(k) + k / 8);
    return p->epilogue == EPILOGUE_DUAL_SILU ? 0.75 * far * far * unit + 1.5 * far * sum
                                             : far * unit + sum;
}

struct check_strides check_strides(const struct problem *p)
{
    struct check_strides s = {.a_row = p->k, .a_col = 1, .b_row = 1, .b_col = p->k};
    if (p->layout == LAYOUT_NN || p->layout == LAYOUT_NT) {
        s.b_row = p->n;
        s.b_col = 1;
    }
    if (p->layout == LAYOUT_NT || p->layout == LAYOUT_TT) {
        s.a_row = 1;
        s.a_col = p->m;
    }
    return s;
}

// Generates element `at` of an input matrix again.
static double input(enum dtype type, uint64_t seed, int which, uint64_t at)
{
    const float value = inputs_normal(seed, which, at);
    if (type == DTYPE_FP32 || type == DTYPE_TF32 || type == DTYPE_FP64)
        return (double)value;
    const struct inputs_format format = inputs_format((int)type);
    if (inputs_is_fp8((int)type))
        return (double)inputs_decode(format, inputs_encode(format, value * INPUTS_FP8_SCALE)) *
               (double)(1.0f / INPUTS_FP8_SCALE);
    return (double)inputs_decode(format, inputs_encode(format, value));
}

static double dot(const struct problem *p, uint64_t seed, int64_t batch, int64_t i, int64_t j,
                  uint64_t b_first)
{
    const struct check_strides s = check_strides(p);
    const uint64_t a_first = (uint64_t)(batch * p->m * p->k);
    double sum = 0;
    for (int64_t l = 0; l < p->k; l++)
        sum += input(p->in, seed, MATRIX_A, a_first + (uint64_t)(i * s.a_row + l * s.a_col)) *
               input(p->in, seed, MATRIX_B, b_first + (uint64_t)(l * s.b_row + j * s.b_col));
    return sum;
}

double check_element(const struct problem *p, uint64_t seed, int64_t row, int64_t col)
{
    const int64_t batch = row / p->m, i = row % p->m;
    const uint64_t weights = (uint64_t)p->n * (uint64_t)p->k;
    if (p->epilogue != EPILOGUE_DUAL_SILU)
        return dot(p, seed, batch, i, col, (uint64_t)batch * weights);
    double gate = dot(p, seed, batch, i, col, 2 * (uint64_t)batch * weights);
    double up = dot(p, seed, batch, i, col, (2 * (uint64_t)batch + 1) * weights);
    return gate / (1 + exp(-gate)) * up;
}

void check_value(struct comparison *out, double got, double wanted, double scale, double tolerance,
                 int64_t row, int64_t col)
{
    const double error = fabs(got - wanted) / scale;
    if (!(error <= tolerance)) { // NaN fails
        if (out->wrong++ == 0) {
            out->row = row;
            out->col = col;
            out->got = got;
            out->wanted = wanted;
        }
    }
    if (!(error <= out->error))
        out->error = isnan(error) ? INFINITY : error;
}

struct plumb_problem check_abi_problem(const struct problem *p)
{
    return (struct plumb_problem){.m = p->m,
                                  .n = p->n,
                                  .k = p->k,
                                  .in_type = (int32_t)p->in,
                                  .out_type = (int32_t)p->out,
                                  .layout = (int32_t)p->layout,
                                  .batch = p->batch,
                                  .epilogue = (int32_t)p->epilogue,
                                  .regime = (int32_t)p->regime};
}
