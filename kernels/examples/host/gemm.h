// SPDX-License-Identifier: Apache-2.0
//
// Three loops that do any GEMM of kernel.h, element by element as the header says that they lie.
// Slow, plain, and written without a look at the tool's own reference.
#ifndef EXAMPLE_GEMM_H
#define EXAMPLE_GEMM_H

#include "kernel.h"

#include <math.h>
#include <string.h>

// ---- element types ----

static inline double gemm_from_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof(value));
    return (double)value;
}

static inline double gemm_small(unsigned code, int exponent_bits, int mantissa_bits, int bias)
{
    const unsigned fraction = code & ((1u << mantissa_bits) - 1);
    const int exponent = (int)(code >> mantissa_bits & ((1u << exponent_bits) - 1));
    const double significand =
        exponent ? 1 + ldexp(fraction, -mantissa_bits) : ldexp(fraction, 1 - mantissa_bits) / 1;
    const double value = exponent ? ldexp(significand, exponent - bias) : ldexp(significand, -bias);
    return code >> (exponent_bits + mantissa_bits) & 1 ? -value : value;
}

static inline double gemm_load(int32_t type, const void *from, int64_t at)
{
    const unsigned char *bytes = (const unsigned char *)from;
    switch (type) {
    case PLUMB_FP64:
        return ((const double *)from)[at];
    case PLUMB_BF16:
        return gemm_from_bits((uint32_t)((const uint16_t *)from)[at] << 16);
    case PLUMB_FP16:
        return gemm_small(((const uint16_t *)from)[at], 5, 10, 15);
    case PLUMB_E4M3:
        return gemm_small(bytes[at], 4, 3, 7);
    case PLUMB_E5M2:
        return gemm_small(bytes[at], 5, 2, 15);
    case PLUMB_E2M1:
        return gemm_small(at % 2 ? bytes[at / 2] >> 4 : bytes[at / 2] & 15u, 2, 1, 1);
    case PLUMB_E8M0:
        return ldexp(1, bytes[at] - 127);
    case PLUMB_INT8:
        return ((const int8_t *)from)[at];
    default:
        return (double)((const float *)from)[at];
    }
}

// Outputs: FP32, BF16 (rounded to nearest even) and INT32.
static inline void gemm_store(int32_t type, void *to, int64_t at, double value)
{
    const float single = (float)value;
    uint32_t bits;
    memcpy(&bits, &single, sizeof(bits));
    if (type == PLUMB_BF16)
        ((uint16_t *)to)[at] = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    else if (type == PLUMB_INT32)
        ((int32_t *)to)[at] = (int32_t)value;
    else
        ((float *)to)[at] = single;
}

// ---- operands ----

static inline int64_t gemm_up(int64_t count, int64_t to)
{
    return (count + to - 1) / to * to;
}

struct gemm_operand {
    int32_t type;
    const void *values, *scales;
    int64_t rows;       // of one matrix
    int64_t pitch;      // elements from one row, or column, to the next
    int transposed;     // rows are next to each other, not k
    int32_t scale_rows; // of a block
};

static inline double gemm_scale(const struct plumb_form *f, const struct gemm_operand *o,
                                int64_t matrix, int64_t row, int64_t l)
{
    const int64_t blocks = (o->rows + o->scale_rows - 1) / o->scale_rows;
    const int64_t k = (f->problem.k + f->scale_vector - 1) / f->scale_vector;
    const int64_t r = row / o->scale_rows, b = l / f->scale_vector;
    int64_t each = blocks * k, at = r * k + b;
    if (f->scale_layout == PLUMB_SCALES_TILED) {
        each = gemm_up(blocks, 128) * gemm_up(k, 4);
        at = (r / 128 * (gemm_up(k, 4) / 4) + b / 4) * 512 + r % 32 * 16 + r % 128 / 32 * 4 + b % 4;
    } else if (f->scale_layout == PLUMB_SCALES_COLUMNS && o->scale_rows == 1) {
        at = b * o->rows + r;
    } else if (f->scale_layout == PLUMB_SCALES_COLUMNS) {
        each = blocks * gemm_up(k, 4);
        at = r * gemm_up(k, 4) + b;
    }
    return gemm_load(f->scale_type, o->scales, matrix * each + at);
}

static inline double gemm_value(const struct plumb_form *f, const struct gemm_operand *o,
                                int64_t matrix, int64_t row, int64_t l)
{
    const int64_t each = (o->transposed ? f->problem.k : o->rows) * o->pitch;
    const int64_t at = o->transposed ? l * o->pitch + row : row * o->pitch + l;
    const double value = gemm_load(o->type, o->values, matrix * each + at);
    return f->scale_vector ? value * gemm_scale(f, o, matrix, row, l) : value;
}

// ---- one element of C ----

static inline double gemm_finish(const struct plumb_form_args *args, double x, int64_t row,
                                 int64_t col)
{
    const struct plumb_form *f = &args->form;
    const int32_t e = f->problem.epilogue, out = f->problem.out_type;
    x *= (double)f->alpha;
    if (f->beta != 0)
        x += (double)f->beta * gemm_load(out, args->args.c, row * f->ldc + col);
    if (e == PLUMB_BIAS || e == PLUMB_BIAS_RELU || e == PLUMB_BIAS_GELU || e == PLUMB_BIAS_SILU)
        x += gemm_load(out, args->bias, col);
    if (e == PLUMB_RELU || e == PLUMB_BIAS_RELU)
        return fmax(x, 0);
    if (e == PLUMB_GELU || e == PLUMB_BIAS_GELU)
        return x * (1 + erf(x / sqrt(2))) / 2;
    return e == PLUMB_SILU || e == PLUMB_BIAS_SILU ? x / (1 + exp(-x)) : x;
}

// Row `row` of C, by row `i` of matrix `of_a` of A and by matrix `of_b` of B.
static inline void gemm_row(const struct plumb_form_args *args, const struct gemm_operand *a,
                            const struct gemm_operand *b, int64_t row, int64_t of_a, int64_t i,
                            int64_t of_b)
{
    const struct plumb_form *f = &args->form;
    const double tensors =
        args->args.scale_a ? (double)*args->args.scale_a * (double)*args->args.scale_b : 1;
    const int dual = f->problem.epilogue == PLUMB_DUAL_SILU;
    for (int64_t j = 0; j < f->problem.n; j++) {
        double sum[2] = {0, 0};
        for (int w = 0; w <= dual; w++) {
            for (int64_t l = 0; l < f->problem.k; l++)
                sum[w] += gemm_value(f, a, of_a, i, l) *
                          gemm_value(f, b, dual ? 2 * of_b + w : of_b, j, l);
            sum[w] *= tensors;
        }
        const double value =
            dual ? sum[0] / (1 + exp(-sum[0])) * sum[1] : gemm_finish(args, sum[0], row, j);
        gemm_store(f->problem.out_type, args->args.c, row * f->ldc + j, value);
    }
}

static inline int gemm_any(const struct plumb_form_args *args)
{
    const struct plumb_form *f = &args->form;
    const int32_t layout = f->problem.layout;
    const int64_t rows_a = f->grouping == PLUMB_CONTIGUOUS ? f->rows : f->problem.m;
    const struct gemm_operand a = {f->problem.in_type,
                                   args->args.a,
                                   args->block_scales_a,
                                   rows_a,
                                   f->lda,
                                   layout == PLUMB_NT || layout == PLUMB_TT,
                                   f->scale_rows_a};
    const struct gemm_operand b = {
        f->problem.in_type, args->args.b, args->block_scales_b,
        f->problem.n,       f->ldb,       layout == PLUMB_NN || layout == PLUMB_NT,
        f->scale_rows_b};
    if (!f->grouping) {
        for (int64_t row = 0; row < f->rows; row++)
            gemm_row(args, &a, &b, row, row / rows_a, row % rows_a, row / rows_a);
    }
    for (int32_t g = 0; f->grouping && g < f->groups; g++) {
        for (int64_t row = args->group_first[g]; row < args->group_first[g] + args->group_rows[g];
             row++)
            gemm_row(args, &a, &b, row, row / rows_a, row % rows_a, g);
    }
    return 0;
}

static inline int gemm_supports(const struct plumb_form *f)
{
    const int32_t out = f->problem.out_type;
    return f->number_count == 0 && (out == PLUMB_FP32 || out == PLUMB_BF16 || out == PLUMB_INT32);
}

#endif
