// SPDX-License-Identifier: Apache-2.0
//
// OpenBLAS as a kernel, shared by its single-threaded and threaded modules. It is the reference to
// beat, and a control, because plumb's users do not change it.
#ifndef PLUMB_BLAS_H
#define PLUMB_BLAS_H

#include "host.h"

#include <cblas.h>
#include <stdio.h>
#include <string.h>

static int blas_supports(const struct plumb_problem *p)
{
    return host_supports_fp32(p) && p->m < INT32_MAX && p->n < INT32_MAX && p->k < INT32_MAX;
}

static void blas_multiply(const struct plumb_problem *p, const float *a, const float *b, float *c,
                          void *state)
{
    (void)state;
    const int trans_a = p->layout == PLUMB_NT || p->layout == PLUMB_TT;
    const int trans_b = p->layout == PLUMB_TN || p->layout == PLUMB_TT;
    const int m = (int)p->m, n = (int)p->n, k = (int)p->k;
    cblas_sgemm(CblasRowMajor, trans_a ? CblasTrans : CblasNoTrans,
                trans_b ? CblasTrans : CblasNoTrans, m, n, k, 1.0f, a, trans_a ? m : k, b,
                trans_b ? k : n, 0.0f, c, n);
}

// The note is OpenBLAS's own description (its version and the core for which it chose code); a pin
// requires the same.
static int blas_prepare(const struct plumb_args *args, void *stream, const char *pin, char *note,
                        size_t note_size)
{
    (void)args;
    (void)stream;
    snprintf(note, note_size, "%s", openblas_get_config());
    return pin && strcmp(pin, note) != 0;
}

#endif
