// SPDX-License-Identifier: Apache-2.0
//
// Reads the elements of a form from memory, where kernels/kernel.h says that they lie. C
// and CUDA both include it, so that both references read in the same way: element by
// element, in double precision.
#ifndef PLUMB_FORM_H
#define PLUMB_FORM_H

#include "kernels/device/inputs.h"
#include "model/problem.h"

#include <math.h>

// A form, with operands at addresses that the reader can use.
struct form_view {
    struct plumb_form form;
    const void *a, *b, *scales_a, *scales_b, *bias;
    const void *given;   // what C held before the launch; NULL without beta
    double tensor_scale; // product of the scales of both operands' tensors
};

// Makes a view. given: what C held before the launch, or NULL.
struct form_view form_view_of(const struct problem *problem, const struct plumb_form_args *args,
                              const void *given);
// Lists the rows of C that are multiplied, at most problem_used_rows(), and for each the matrix B
// with which it is multiplied (for dual-silu the pair of matrices). Returns their number.
int64_t form_used_rows(int64_t *row_at, int64_t *matrix, const struct problem *problem);

INPUTS_INLINE int64_t form_blocks(int64_t count, int64_t each)
{
    return (count + each - 1) / each;
}

INPUTS_INLINE int64_t form_up(int64_t count, int64_t to)
{
    return form_blocks(count, to) * to;
}

// The number of scales of one matrix with `rows` rows, if a block has rows_each rows.
INPUTS_INLINE int64_t form_scale_count(const struct plumb_form *f, int64_t rows, int32_t rows_each)
{
    const int64_t blocks = form_blocks(rows, rows_each);
    const int64_t k = form_blocks(f->problem.k, f->scale_vector);
    if (f->scale_layout == PLUMB_SCALES_TILED)
        return form_up(blocks, 128) * form_up(k, 4);
    return f->scale_layout == PLUMB_SCALES_COLUMNS && rows_each > 1 ? blocks * form_up(k, 4)
                                                                    : blocks * k;
}

// The index of element (row, l)'s scale among those of its matrix.
INPUTS_INLINE int64_t form_scale_at(const struct plumb_form *f, int64_t rows, int32_t rows_each,
                                    int64_t row, int64_t l)
{
    const int64_t k = form_blocks(f->problem.k, f->scale_vector);
    const int64_t r = row / rows_each, b = l / f->scale_vector;
    if (f->scale_layout == PLUMB_SCALES_TILED)
        return (r / 128 * form_blocks(k, 4) + b / 4) * 512 + r % 32 * 16 + r % 128 / 32 * 4 + b % 4;
    if (f->scale_layout != PLUMB_SCALES_COLUMNS)
        return r * k + b;
    return rows_each > 1 ? r * form_up(k, 4) + b : b * rows + r;
}

INPUTS_INLINE int form_a_is_k_major(const struct plumb_form *f)
{
    return f->problem.layout == PLUMB_TN || f->problem.layout == PLUMB_NN;
}

INPUTS_INLINE int form_b_is_k_major(const struct plumb_form *f)
{
    return f->problem.layout == PLUMB_TN || f->problem.layout == PLUMB_TT;
}

INPUTS_INLINE int form_weights(const struct plumb_form *f)
{
    return f->problem.epilogue == PLUMB_DUAL_SILU ? 2 : 1;
}

// The number of matrices B (pairs, for dual-silu): one for each group, or for each product
// of the batch.
INPUTS_INLINE int64_t form_matrices(const struct plumb_form *f)
{
    return f->grouping ? f->groups : f->problem.batch;
}

// The number of rows of one matrix A. Contiguous groups have one matrix together.
INPUTS_INLINE int64_t form_rows_a(const struct plumb_form *f)
{
    return f->grouping == PLUMB_CONTIGUOUS ? f->rows : f->problem.m;
}

// The number of elements that one matrix has in memory.
INPUTS_INLINE int64_t form_size_a(const struct plumb_form *f)
{
    return (form_a_is_k_major(f) ? form_rows_a(f) : f->problem.k) * f->lda;
}

INPUTS_INLINE int64_t form_size_b(const struct plumb_form *f)
{
    return (form_b_is_k_major(f) ? f->problem.n : f->problem.k) * f->ldb;
}

// Element l of the row of A that belongs to this row of C.
INPUTS_INLINE double form_a(const struct form_view *v, int64_t row, int64_t l)
{
    const struct plumb_form *f = &v->form;
    const int64_t rows = form_rows_a(f), matrix = row / rows, i = row % rows;
    const int64_t at = form_a_is_k_major(f) ? i * f->lda + l : l * f->lda + i;
    const double value =
        inputs_load(f->problem.in_type, v->a, (uint64_t)(matrix * form_size_a(f) + at));
    if (!f->scale_vector)
        return value;
    const int64_t first = matrix * form_scale_count(f, rows, f->scale_rows_a);
    return value * inputs_load(f->scale_type, v->scales_a,
                               (uint64_t)(first + form_scale_at(f, rows, f->scale_rows_a, i, l)));
}

// Element (l, j) of a matrix B. For dual-silu, matrices 2 g and 2 g + 1 belong together.
INPUTS_INLINE double form_b(const struct form_view *v, int64_t matrix, int64_t l, int64_t j)
{
    const struct plumb_form *f = &v->form;
    const int64_t at = form_b_is_k_major(f) ? j * f->ldb + l : l * f->ldb + j;
    const double value =
        inputs_load(f->problem.in_type, v->b, (uint64_t)(matrix * form_size_b(f) + at));
    if (!f->scale_vector)
        return value;
    const int64_t n = f->problem.n, first = matrix * form_scale_count(f, n, f->scale_rows_b);
    return value * inputs_load(f->scale_type, v->scales_b,
                               (uint64_t)(first + form_scale_at(f, n, f->scale_rows_b, j, l)));
}

INPUTS_INLINE double form_activation(int epilogue, double x)
{
    switch (epilogue) {
    case PLUMB_RELU:
    case PLUMB_BIAS_RELU:
        return x > 0 ? x : 0;
    case PLUMB_GELU:
    case PLUMB_BIAS_GELU:
        return x * 0.5 * erfc(-x * 0.70710678118654752440);
    case PLUMB_SILU:
    case PLUMB_BIAS_SILU:
        return x / (1 + exp(-x));
    default:
        return x;
    }
}

INPUTS_INLINE int form_has_bias(int epilogue)
{
    return epilogue == PLUMB_BIAS || epilogue >= PLUMB_BIAS_RELU;
}

// The element of C that follows from the sum of its products; `second` is the second
// sum of dual-silu.
INPUTS_INLINE double form_element(const struct form_view *v, double sum, double second, int64_t row,
                                  int64_t col)
{
    const struct plumb_form *f = &v->form;
    const int out = f->problem.out_type, epilogue = f->problem.epilogue;
    sum *= v->tensor_scale;
    if (epilogue == PLUMB_DUAL_SILU)
        return sum / (1 + exp(-sum)) * (second * v->tensor_scale);
    sum *= (double)f->alpha;
    if (v->given)
        sum += (double)f->beta * inputs_load(out, v->given, (uint64_t)(row * f->ldc + col));
    if (form_has_bias(epilogue))
        sum += inputs_load(out, v->bias, (uint64_t)col);
    return form_activation(epilogue, sum);
}

#endif
