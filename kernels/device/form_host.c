// SPDX-License-Identifier: Apache-2.0
//
// The host's reference of forms: float64 products of elements that are read one by one (form.h).
// Up to EXACT_WORK multiply-adds all rows are computed; beyond that some are, spread evenly over
// those of all groups, and always the first and the last.
#include "kernels/device/form.h"

#include "kernels/device/check.h"
#include "kernels/device/host.h"

#include <math.h>
#include <stdlib.h>

enum { ROWS_LEAST = 16 };
static const double EXACT_WORK = 5e8;

struct form_reference {
    struct problem problem;
    struct form_view view;
    double *exact;   // [rows][n], of row_at[]
    int64_t *row_at; // rows of C
    int64_t *matrix; // of B, for each
    int64_t rows;
    bool all; // rows that are computed are all that there are
};

// Keeps some of the rows when all are too much work.
static void choose_rows(struct form_reference *r)
{
    const struct problem *p = &r->problem;
    const double row_work = (double)p->n * (double)p->k * problem_weights(p);
    const int64_t all = r->rows;
    const double most = fmax(ROWS_LEAST, EXACT_WORK / row_work);
    r->all = (double)all <= most;
    if (r->all)
        return;
    r->rows = (int64_t)most;
    for (int64_t i = 0; i < r->rows; i++) {
        const int64_t from = i * (all - 1) / (r->rows - 1);
        r->row_at[i] = r->row_at[from];
        r->matrix[i] = r->matrix[from];
    }
}

static void fetch_lanes(double *out, const struct form_reference *r, int64_t matrix, int64_t col)
{
    const struct problem *p = &r->problem;
    for (int64_t l = 0; l < p->k; l++) {
        for (int lane = 0; lane < HOST_LANES; lane++)
            out[l * HOST_LANES + lane] =
                col + lane < p->n ? form_b(&r->view, matrix, l, col + lane) : 0;
    }
}

// All columns of the rows from `first` to `end`, which have one matrix B.
static void multiply(struct form_reference *r, int64_t first, int64_t end, const double *a,
                     double *lanes)
{
    const struct problem *p = &r->problem;
    const int64_t weights = problem_weights(p), matrix = r->matrix[first] * weights;
    double sum[HOST_LANES], second[HOST_LANES] = {0};
    for (int64_t col = 0; col < p->n; col += HOST_LANES) {
        for (int64_t w = 0; w < weights; w++)
            fetch_lanes(lanes + w * p->k * HOST_LANES, r, matrix + w, col);
        for (int64_t i = first; i < end; i++) {
            host_dots(sum, a + i * p->k, lanes, p->k);
            if (weights > 1)
                host_dots(second, a + i * p->k, lanes + p->k * HOST_LANES, p->k);
            for (int64_t lane = 0; lane < HOST_LANES && col + lane < p->n; lane++)
                r->exact[i * p->n + col + lane] =
                    form_element(&r->view, sum[lane], second[lane], r->row_at[i], col + lane);
        }
    }
}

int host_form_reference(struct form_reference **out, struct device_base *device,
                        const struct problem *p, const struct plumb_form_args *args,
                        const void *given, struct error *err)
{
    (void)device;
    (void)err;
    struct form_reference *r = xcalloc(1, sizeof(*r));
    const size_t most = (size_t)problem_used_rows(p);
    r->problem = *p;
    r->view = form_view_of(p, args, given);
    r->row_at = xcalloc(most, sizeof(*r->row_at));
    r->matrix = xcalloc(most, sizeof(*r->matrix));
    r->rows = form_used_rows(r->row_at, r->matrix, p);
    choose_rows(r);
    r->exact = xcalloc((size_t)(r->rows * p->n), sizeof(*r->exact));
    double *a = xcalloc((size_t)(r->rows * p->k), sizeof(*a));
    double *lanes = xcalloc((size_t)(2 * HOST_LANES * p->k), sizeof(*lanes));
    for (int64_t i = 0; i < r->rows; i++) {
        for (int64_t l = 0; l < p->k; l++)
            a[i * p->k + l] = form_a(&r->view, r->row_at[i], l);
    }
    for (int64_t first = 0, end; first < r->rows; first = end) {
        for (end = first + 1; end < r->rows && r->matrix[end] == r->matrix[first];)
            end++;
        multiply(r, first, end, a, lanes);
    }
    free(a);
    free(lanes);
    *out = r;
    return 0;
}

int host_form_compare(struct comparison *out, struct device_base *device,
                      const struct form_reference *r, const void *c, double tolerance,
                      struct error *err)
{
    (void)device;
    (void)err;
    const struct problem *p = &r->problem;
    struct comparison found = {0};
    const double scale = check_scale(p);
    for (int64_t i = 0; i < r->rows; i++) {
        for (int64_t j = 0; j < p->n; j++) {
            const uint64_t at = (uint64_t)(r->row_at[i] * r->view.form.ldc + j);
            check_value(&found, inputs_load((int)p->out, c, at), r->exact[i * p->n + j], scale,
                        tolerance, r->row_at[i], j);
        }
    }
    *out = found;
    return 0;
}

void host_form_reference_free(struct device_base *device, struct form_reference *r)
{
    (void)device;
    free(r->exact);
    free(r->row_at);
    free(r->matrix);
    free(r);
}
