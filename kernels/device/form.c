// SPDX-License-Identifier: Apache-2.0
//
// Converts a problem to the ABI's forms, and its operands for the references.
#include "kernels/device/form.h"

#include "kernels/device/check.h"

#include <string.h>

_Static_assert((int)DTYPE_INT32 == PLUMB_INT32 && (int)DTYPE_E2M1 == PLUMB_E2M1,
               "the ABI's element types are the vocabulary's");
_Static_assert((int)EPILOGUE_BIAS_SILU == PLUMB_BIAS_SILU && (int)EPILOGUE_RELU == PLUMB_RELU,
               "the ABI's epilogues are the vocabulary's");
_Static_assert((int)SCALES_TILED == PLUMB_SCALES_TILED && (int)GROUPS_MASKED == PLUMB_MASKED,
               "the ABI's block scales and groups are the vocabulary's");
_Static_assert((int)REGIME_ACTIVATIONS == PLUMB_ACTIVATIONS && (int)REGIME_DIRTY == PLUMB_DIRTY,
               "the ABI's regimes are the vocabulary's");
_Static_assert(PROBLEM_NUMBERS <= PLUMB_NUMBERS && PROBLEM_NUMBER_NAME <= PLUMB_NUMBER_NAME,
               "the ABI holds as many named integers");

struct plumb_form check_abi_form(const struct problem *p)
{
    const struct problem_pitches pitches = problem_pitches(p);
    const struct block_scales *s = &p->scales;
    struct plumb_form form = {.problem = check_abi_problem(p),
                              .lda = pitches.a,
                              .ldb = pitches.b,
                              .ldc = pitches.c,
                              .alpha = p->alpha != 0 ? p->alpha : 1,
                              .beta = p->beta,
                              .grouping = (int32_t)p->groups.kind,
                              .groups = p->groups.count,
                              .rows = problem_stored_rows(p),
                              .number_count = p->number_count,
                              .plain = problem_is_plain(p)};
    if (s->vector) {
        form.scale_type = (int32_t)s->type;
        form.scale_vector = s->vector;
        form.scale_rows_a = s->rows_a;
        form.scale_rows_b = s->rows_b;
        form.scale_layout = (int32_t)s->layout;
    }
    for (int32_t i = 0; i < p->number_count; i++) {
        memcpy(form.numbers[i].name, p->numbers[i].name, PROBLEM_NUMBER_NAME);
        form.numbers[i].value = (int32_t)p->numbers[i].value;
    }
    return form;
}

struct form_view form_view_of(const struct problem *p, const struct plumb_form_args *args,
                              const void *given)
{
    const bool fp8 = inputs_is_fp8((int)p->in) && !p->scales.vector;
    const double tensor = fp8                   ? (double)(1.0f / INPUTS_FP8_SCALE)
                          : p->in == DTYPE_E2M1 ? (double)(float)check_tensor_scale(p)
                                                : 1;
    return (struct form_view){.form = args->form,
                              .a = args->args.a,
                              .b = args->args.b,
                              .scales_a = args->block_scales_a,
                              .scales_b = args->block_scales_b,
                              .bias = args->bias,
                              .given = given,
                              .tensor_scale = tensor * tensor};
}

int64_t form_used_rows(int64_t *row_at, int64_t *matrix, const struct problem *p)
{
    int32_t rows[GROUPS_MOST];
    int64_t count = 0, first = 0;
    if (!p->groups.kind) {
        for (; count < p->m * p->batch; count++) {
            row_at[count] = count;
            matrix[count] = count / p->m;
        }
        return count;
    }
    problem_group_rows(rows, p);
    for (int32_t g = 0; g < p->groups.count; g++) {
        for (int32_t i = 0; i < rows[g]; i++, count++) {
            row_at[count] = first + i;
            matrix[count] = g;
        }
        first += p->groups.kind == GROUPS_MASKED ? p->m : form_up(rows[g], GROUP_ALIGN);
    }
    return count;
}
