// SPDX-License-Identifier: Apache-2.0
//
// Computes any GEMM of kernel.h, element by element, where the header says that elements lie,
// on the host and on a GPU. It is slow and plain, and was written without a look at the
// tool's own reference.
#ifndef EXAMPLE_GEMM_H
#define EXAMPLE_GEMM_H

#include "kernel.h"

#include <math.h>
#include <string.h>

#ifdef __CUDACC__
#define GEMM_INLINE static __host__ __device__ inline
#else
#define GEMM_INLINE static inline
#endif

// ---- element types ----

GEMM_INLINE double gemm_from_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof(value));
    return (double)value;
}

GEMM_INLINE double gemm_small(unsigned code, int exponent_bits, int mantissa_bits, int bias)
{
    const unsigned fraction = code & ((1u << mantissa_bits) - 1);
    const int exponent = (int)(code >> mantissa_bits & ((1u << exponent_bits) - 1));
    const double whole = (double)(exponent ? fraction | 1u << mantissa_bits : fraction);
    const double value = ldexp(whole, (exponent ? exponent : 1) - bias - mantissa_bits);
    return code >> (exponent_bits + mantissa_bits) & 1 ? -value : value;
}

GEMM_INLINE double gemm_load(int32_t type, const void *from, int64_t at)
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
        return ldexp(1.0, bytes[at] - 127);
    case PLUMB_INT8:
        return ((const int8_t *)from)[at];
    default:
        return (double)((const float *)from)[at];
    }
}

// Outputs: FP32, BF16 (rounded to nearest even) and INT32.
GEMM_INLINE void gemm_store(int32_t type, void *to, int64_t at, double value)
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

GEMM_INLINE int64_t gemm_up(int64_t count, int64_t to)
{
    return (count + to - 1) / to * to;
}

struct gemm_operand {
    int32_t type;
    const void *values, *scales;
    int64_t rows;       // number of rows of one matrix
    int64_t pitch;      // elements from one row, or column, to the next
    int transposed;     // neighbours in memory belong to different rows, not to different k
    int32_t scale_rows; // rows of a block of scales
};

GEMM_INLINE double gemm_scale(const struct plumb_form *f, const struct gemm_operand *o,
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

GEMM_INLINE double gemm_value(const struct plumb_form *f, const struct gemm_operand *o,
                              int64_t matrix, int64_t row, int64_t l)
{
    const int64_t each = (o->transposed ? f->problem.k : o->rows) * o->pitch;
    const int64_t at = o->transposed ? l * o->pitch + row : row * o->pitch + l;
    const double value = gemm_load(o->type, o->values, matrix * each + at);
    return f->scale_vector ? value * gemm_scale(f, o, matrix, row, l) : value;
}

// ---- one element of C ----

GEMM_INLINE double gemm_finish(const struct plumb_form_args *args, double x, int64_t row,
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
        return fmax(x, 0.0);
    if (e == PLUMB_GELU || e == PLUMB_BIAS_GELU)
        return x * (1 + erf(x / sqrt(2.0))) / 2;
    return e == PLUMB_SILU || e == PLUMB_BIAS_SILU ? x / (1 + exp(-x)) : x;
}

// The operands of a form.
struct gemm_operands {
    struct gemm_operand a, b;
};

GEMM_INLINE struct gemm_operands gemm_operands(const struct plumb_form_args *args)
{
    const struct plumb_form *f = &args->form;
    const int32_t layout = f->problem.layout;
    const int64_t rows = f->grouping == PLUMB_CONTIGUOUS ? f->rows : f->problem.m;
    struct gemm_operands o;
    o.a.type = o.b.type = f->problem.in_type;
    o.a.values = args->args.a;
    o.a.scales = args->block_scales_a;
    o.a.rows = rows;
    o.a.pitch = f->lda;
    o.a.transposed = layout == PLUMB_NT || layout == PLUMB_TT;
    o.a.scale_rows = f->scale_rows_a;
    o.b.values = args->args.b;
    o.b.scales = args->block_scales_b;
    o.b.rows = f->problem.n;
    o.b.pitch = f->ldb;
    o.b.transposed = layout == PLUMB_NN || layout == PLUMB_NT;
    o.b.scale_rows = f->scale_rows_b;
    return o;
}

// Computes element (row, col) of C, whose rows are multiplied by matrix `of_b` of B.
GEMM_INLINE void gemm_element(const struct plumb_form_args *args, const struct gemm_operands *o,
                              int64_t row, int64_t col, int64_t of_b)
{
    const struct plumb_form *f = &args->form;
    const float *const scale_a = args->args.scale_a, *const scale_b = args->args.scale_b;
    const double tensors = scale_a ? (double)*scale_a * (double)*scale_b : 1;
    const int dual = f->problem.epilogue == PLUMB_DUAL_SILU;
    double sum[2] = {0, 0};
    for (int w = 0; w <= dual; w++) {
        for (int64_t l = 0; l < f->problem.k; l++)
            sum[w] += gemm_value(f, &o->a, row / o->a.rows, row % o->a.rows, l) *
                      gemm_value(f, &o->b, dual ? 2 * of_b + w : of_b, col, l);
        sum[w] *= tensors;
    }
    const double value =
        dual ? sum[0] / (1 + exp(-sum[0])) * sum[1] : gemm_finish(args, sum[0], row, col);
    gemm_store(f->problem.out_type, args->args.c, row * f->ldc + col, value);
}

// The matrix of B for a row of C; -1: the row belongs to no group.
GEMM_INLINE int64_t gemm_matrix(const struct plumb_form_args *args, int64_t row)
{
    const struct plumb_form *f = &args->form;
    if (!f->grouping)
        return row / f->problem.m;
    for (int32_t g = 0; g < f->groups; g++) {
        const int64_t first = args->group_first[g];
        if (row >= first && row < first + args->group_rows[g])
            return g;
    }
    return -1;
}

static inline int gemm_any(const struct plumb_form_args *args)
{
    const struct gemm_operands operands = gemm_operands(args);
    for (int64_t row = 0; row < args->form.rows; row++) {
        const int64_t of_b = gemm_matrix(args, row);
        for (int64_t col = 0; of_b >= 0 && col < args->form.problem.n; col++)
            gemm_element(args, &operands, row, col, of_b);
    }
    return 0;
}

static inline int gemm_supports(const struct plumb_form *f)
{
    const int32_t out = f->problem.out_type;
    return f->number_count == 0 && (out == PLUMB_FP32 || out == PLUMB_BF16 || out == PLUMB_INT32);
}

#endif
