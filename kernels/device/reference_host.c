// SPDX-License-Identifier: Apache-2.0
//
// The host's references, of plain problems and of forms: float64 products.
//
// Up to EXACT_WORK multiply-adds every element is computed. Beyond that, some rows are (spread
// evenly and always the first and the last), and all rows are held against a random projection as
// R. Freivalds proposed (Information Processing Letters 9, 1979): with a random vector x, C x = A
// (B x) takes O(mn + mk + nk), and an error e in one element moves its row's sum by e x_j. A row's
// rounding errors add up like sqrt(n) of one's, so the row fails beyond 8 sqrt(n) tolerances.

#include "kernels/device/check.h"
#include "kernels/device/form.h"
#include "kernels/device/host.h"
#include "kernels/device/inputs.h"

#include <math.h>
#include <stdlib.h>

enum { ROWS_LEAST = 16, PROJECTION = 3, HOST_LANES = 8 };

static const double EXACT_WORK = 1.1e9;

struct reference {
    struct problem problem;
    double *exact;     // [rows][n], of row_at[]
    int64_t *row_at;   // batch * m + i
    int64_t rows;      // computed exactly; batch * m when all are
    double *projected; // [batch * m]: A (B x); NULL when all rows are exact
    double *x;         // [n]
};

// Row `l` of an operand as numbers, scaled: out[i] = matrix[first + i * step].
static void fetch(double *out, const void *matrix, enum dtype type, int64_t first, int64_t step,
                  int64_t count)
{
    const double scale = inputs_is_fp8((int)type) ? (double)(1.0f / INPUTS_FP8_SCALE) : 1.0;
    for (int64_t i = 0; i < count; i++)
        out[i] = inputs_load((int)type, matrix, (uint64_t)(first + i * step)) * scale;
}

// Eight columns of B, k by HOST_LANES.
static void fetch_lanes(double *out, const struct problem *p, const void *b, int64_t first,
                        int64_t col)
{
    const struct check_strides s = check_strides(p);
    const double scale = inputs_is_fp8((int)p->in) ? (double)(1.0f / INPUTS_FP8_SCALE) : 1.0;
    for (int64_t lane = 0; lane < HOST_LANES; lane++) {
        for (int64_t l = 0; l < p->k; l++) {
            int64_t at = first + l * s.b_row + (col + lane) * s.b_col;
            out[l * HOST_LANES + lane] =
                col + lane < p->n ? inputs_load((int)p->in, b, (uint64_t)at) * scale : 0;
        }
    }
}

// What both multiply with: out[i] = the sum over l < k of a[l] * lanes[l * HOST_LANES + i].
static void host_dots(double out[HOST_LANES], const double *a, const double *lanes, int64_t k)
{
    double sum[HOST_LANES] = {0};
    for (int64_t l = 0; l < k; l++) {
        for (int lane = 0; lane < HOST_LANES; lane++)
            sum[lane] += a[l] * lanes[l * HOST_LANES + lane];
    }
    for (int lane = 0; lane < HOST_LANES; lane++)
        out[lane] = sum[lane];
}

// Columns col .. col + HOST_LANES of the exact rows of one batch entry. rows: [count][k] of A.
static void exact_columns(struct reference *r, const void *b, const double *rows, double *lanes,
                          int64_t batch, int64_t first_row, int64_t count, int64_t col)
{
    const struct problem *p = &r->problem;
    const bool dual = p->epilogue == EPILOGUE_DUAL_SILU;
    const int64_t weights = p->n * p->k, first = (dual ? 2 : 1) * batch * weights;
    double gate[HOST_LANES], up[HOST_LANES];
    fetch_lanes(lanes, p, b, first, col);
    if (dual)
        fetch_lanes(lanes + p->k * HOST_LANES, p, b, first + weights, col);
    for (int64_t i = 0; i < count; i++) {
        double *out = r->exact + (first_row + i) * p->n;
        host_dots(gate, rows + i * p->k, lanes, p->k);
        if (dual)
            host_dots(up, rows + i * p->k, lanes + p->k * HOST_LANES, p->k);
        for (int64_t lane = 0; lane < HOST_LANES && col + lane < p->n; lane++)
            out[col + lane] = dual ? gate[lane] / (1 + exp(-gate[lane])) * up[lane] : gate[lane];
    }
}

static void compute_exact(struct reference *r, const struct plumb_args *args)
{
    const struct problem *p = &r->problem;
    const struct check_strides s = check_strides(p);
    const int64_t per_batch = r->rows / p->batch;
    double *rows = xcalloc((size_t)(per_batch * p->k), sizeof(*rows));
    double *lanes = xcalloc((size_t)(2 * HOST_LANES * p->k), sizeof(*lanes));
    for (int64_t batch = 0; batch < p->batch; batch++) {
        for (int64_t i = 0; i < per_batch; i++) {
            int64_t row = r->row_at[batch * per_batch + i] - batch * p->m;
            fetch(rows + i * p->k, args->a, p->in, batch * p->m * p->k + row * s.a_row, s.a_col,
                  p->k);
        }
        for (int64_t col = 0; col < p->n; col += HOST_LANES)
            exact_columns(r, args->b, rows, lanes, batch, batch * per_batch, per_batch, col);
    }
    free(rows);
    free(lanes);
}

// y = B x of one batch entry, then A y for all its rows.
static void project(struct reference *r, const struct plumb_args *args, int64_t batch, double *y,
                    double *row)
{
    const struct problem *p = &r->problem;
    const struct check_strides s = check_strides(p);
    for (int64_t l = 0; l < p->k; l++)
        y[l] = 0;
    for (int64_t j = 0; j < p->n; j++) {
        fetch(row, args->b, p->in, batch * p->n * p->k + j * s.b_col, s.b_row, p->k);
        for (int64_t l = 0; l < p->k; l++)
            y[l] += row[l] * r->x[j];
    }
    for (int64_t i = 0; i < p->m; i++) {
        double sum = 0;
        fetch(row, args->a, p->in, batch * p->m * p->k + i * s.a_row, s.a_col, p->k);
        for (int64_t l = 0; l < p->k; l++)
            sum += row[l] * y[l];
        r->projected[batch * p->m + i] = sum;
    }
}

static void compute_projection(struct reference *r, const struct plumb_args *args, uint64_t seed)
{
    const struct problem *p = &r->problem;
    r->projected = xcalloc((size_t)(p->batch * p->m), sizeof(*r->projected));
    r->x = xcalloc((size_t)p->n, sizeof(*r->x));
    for (int64_t j = 0; j < p->n; j++)
        r->x[j] = (double)inputs_normal(seed, PROJECTION, (uint64_t)j);
    double *y = xcalloc((size_t)p->k, sizeof(*y)), *row = xcalloc((size_t)p->k, sizeof(*row));
    for (int64_t batch = 0; batch < p->batch; batch++)
        project(r, args, batch, y, row);
    free(y);
    free(row);
}

int host_reference(struct reference **out, struct device_base *device,
                   const struct problem *problem, const struct plumb_args *args,
                   const uint64_t *seed, struct error *err)
{
    (void)device;
    (void)err;
    struct reference *r = xcalloc(1, sizeof(*r));
    const int64_t m = problem->m, batches = problem->batch;
    const bool dual = problem->epilogue == EPILOGUE_DUAL_SILU;
    double row_work = (double)problem->n * (double)problem->k;
    int64_t per_batch = m;
    if (row_work * (double)m * (double)batches > EXACT_WORK && !dual) // silu has no projection
        per_batch =
            (int64_t)fmin((double)m, fmax(ROWS_LEAST, EXACT_WORK / row_work / (double)batches));
    r->problem = *problem;
    r->rows = per_batch * batches;
    r->row_at = xcalloc((size_t)r->rows, sizeof(*r->row_at));
    r->exact = xcalloc((size_t)(r->rows * problem->n), sizeof(*r->exact));
    for (int64_t i = 0; i < r->rows; i++) {
        int64_t at = i % per_batch;
        r->row_at[i] = i / per_batch * m + (per_batch > 1 ? at * (m - 1) / (per_batch - 1) : 0);
    }
    compute_exact(r, args);
    if (per_batch < m)
        compute_projection(r, args, seed ? *seed : 0);
    *out = r;
    return 0;
}

// An output, and the signs that its inputs have now.
struct output {
    const void *c;
    const struct inputs_signs *signs;
};

// As it was without the signs.
static double element(const struct reference *r, const struct output *out, int64_t row, int64_t col)
{
    const struct problem *p = &r->problem;
    return inputs_load((int)p->out, out->c, (uint64_t)(row * p->n + col)) *
           inputs_sign(out->signs, (uint64_t)row, (uint64_t)col);
}

static void compare_projection(struct comparison *out, const struct reference *r,
                               const struct output *output, double tolerance)
{
    const struct problem *p = &r->problem;
    // In units of one element's error, so that one tolerance serves both.
    const double scale = check_scale(p) * 8 * sqrt((double)p->n);
    for (int64_t row = 0; row < p->batch * p->m; row++) {
        double sum = 0;
        for (int64_t j = 0; j < p->n; j++)
            sum += element(r, output, row, j) * r->x[j];
        check_value(out, sum, r->projected[row], scale, tolerance, row, -1);
    }
}

int host_compare(struct comparison *out, struct device_base *device, const struct reference *r,
                 const void *c, const struct inputs_signs *signs, double tolerance,
                 struct error *err)
{
    (void)device;
    (void)err;
    const struct problem *p = &r->problem;
    const struct output output = {c, signs};
    struct comparison found = {0};
    const double scale = check_scale(p);
    for (int64_t i = 0; i < r->rows; i++) {
        for (int64_t j = 0; j < p->n; j++)
            check_value(&found, element(r, &output, r->row_at[i], j), r->exact[i * p->n + j], scale,
                        tolerance, r->row_at[i], j);
    }
    if (r->projected)
        compare_projection(&found, r, &output, tolerance);
    *out = found;
    return 0;
}

void host_reference_free(struct device_base *device, struct reference *r)
{
    (void)device;
    free(r->exact);
    free(r->row_at);
    free(r->projected);
    free(r->x);
    free(r);
}

// ---- forms: float64 products of elements that are read one by one (form.h) ----

// Up to FORM_WORK multiply-adds all rows are computed; beyond that some are, spread evenly over
// those of all groups, and always the first and the last.
static const double FORM_WORK = 5e8;

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
    const double most = fmax(ROWS_LEAST, FORM_WORK / row_work);
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

static void fetch_form_lanes(double *out, const struct form_reference *r, int64_t matrix,
                             int64_t col)
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
            fetch_form_lanes(lanes + w * p->k * HOST_LANES, r, matrix + w, col);
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
