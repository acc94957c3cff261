// SPDX-License-Identifier: Apache-2.0
//
// The cuda device's reference of forms: a thread for each element, its operands read one by one as
// form.h says, summed in float64. All rows are computed. It is trusted because spots of it are
// computed a second time on the host, by the same words from copies of what they read.
#include "kernels/device/device_cuda.h"
#include "kernels/device/mask.cuh"

extern "C" {
#include "kernels/device/form.h"
}

enum { SIDE = 16, SPOTS = 16, THREADS = 256 };

// As of plain problems, what should be computed lies under a key.
struct form_reference {
    struct problem problem;
    struct form_view view;
    int64_t *row_at, *matrix; // device
    int64_t rows;
    double *exact; // device: [rows][n]
    uint64_t key;
};

static __global__ void __launch_bounds__(SIDE *SIDE)
    exact_elements(double *exact, const int64_t *row_at, const int64_t *matrix, int64_t rows,
                   uint64_t key, const __grid_constant__ struct form_view v)
{
    const int64_t i = blockIdx.y * (int64_t)SIDE + threadIdx.y;
    const int64_t j = blockIdx.x * (int64_t)SIDE + threadIdx.x;
    const int weights = form_weights(&v.form);
    double sum[2] = {0, 0};
    if (i >= rows || j >= v.form.problem.n)
        return;
    for (int w = 0; w < weights; w++) {
        for (int64_t l = 0; l < v.form.problem.k; l++)
            sum[w] += form_a(&v, row_at[i], l) * form_b(&v, matrix[i] * weights + w, l, j);
    }
    const uint64_t at = (uint64_t)(i * v.form.problem.n + j);
    exact[at] = masked(form_element(&v, sum[0], sum[1], row_at[i], j), key, at);
}

// ---- spots, on the host ----

// A copy of an operand; NULL stays NULL.
static int fetch(const void **out, struct cuda *cuda, const void *from, double bytes,
                 struct error *err)
{
    *out = NULL;
    if (!from || bytes <= 0)
        return 0;
    void *copy = xcalloc((size_t)bytes, 1);
    *out = copy;
    CUDA_TRY(cuda, cudaMemcpy(copy, from, (size_t)bytes, cudaMemcpyDeviceToHost), err);
    return 0;
}

static int fetch_view(struct form_view *out, struct cuda *cuda, const struct form_view *v,
                      struct error *err)
{
    const struct plumb_form *f = &v->form;
    const double in = dtype_bytes((enum dtype)f->problem.in_type);
    const double to = dtype_bytes((enum dtype)f->problem.out_type);
    const int64_t of_a = f->rows / form_rows_a(f), of_b = form_matrices(f) * form_weights(f);
    const double scale = f->scale_vector ? dtype_bytes((enum dtype)f->scale_type) : 0;
    const int64_t scales_a =
        scale > 0 ? of_a * form_scale_count(f, form_rows_a(f), f->scale_rows_a) : 0;
    const int64_t scales_b =
        scale > 0 ? of_b * form_scale_count(f, f->problem.n, f->scale_rows_b) : 0;
    *out = *v;
    return fetch(&out->a, cuda, v->a, (double)(of_a * form_size_a(f)) * in, err) ||
                   fetch(&out->b, cuda, v->b, (double)(of_b * form_size_b(f)) * in, err) ||
                   fetch(&out->scales_a, cuda, v->scales_a, (double)scales_a * scale, err) ||
                   fetch(&out->scales_b, cuda, v->scales_b, (double)scales_b * scale, err) ||
                   fetch(&out->bias, cuda, v->bias, (double)f->problem.n * to, err) ||
                   fetch(&out->given, cuda, v->given, (double)(f->rows * f->ldc) * to, err)
               ? -1
               : 0;
}

static void forget_view(struct form_view *v)
{
    const void *const copies[] = {v->a, v->b, v->scales_a, v->scales_b, v->bias, v->given};
    for (size_t i = 0; i < ARRAY_COUNT(copies); i++)
        free((void *)(uintptr_t)copies[i]);
}

static double on_host(const struct form_view *v, int64_t row, int64_t matrix, int64_t j)
{
    const int weights = form_weights(&v->form);
    double sum[2] = {0, 0};
    for (int w = 0; w < weights; w++) {
        for (int64_t l = 0; l < v->form.problem.k; l++)
            sum[w] += form_a(v, row, l) * form_b(v, matrix * weights + w, l, j);
    }
    return form_element(v, sum[0], sum[1], row, j);
}

static int check_spots(struct cuda *cuda, const struct form_reference *r, const int64_t *row_at,
                       const int64_t *matrix, const struct form_view *copies, struct error *err)
{
    const int64_t n = r->problem.n;
    for (int spot = 0; spot < SPOTS; spot++) {
        const int64_t i = spot == 0 ? 0 : (r->rows - 1) * spot / (SPOTS - 1);
        const int64_t j = (n - 1) * (SPOTS - 1 - spot) / (SPOTS - 1);
        double device;
        CUDA_TRY(cuda,
                 cudaMemcpy(&device, r->exact + i * n + j, sizeof(device), cudaMemcpyDeviceToHost),
                 err);
        device = masked(device, r->key, (uint64_t)(i * n + j));
        const double host = on_host(copies, row_at[i], matrix[i], j);
        if (!(fabs(device - host) <= 1e-9 * check_scale(&r->problem)))
            return error_set(err,
                             "cuda: the reference is not to be trusted: C[%lld][%lld] is %.12g on "
                             "the device and %.12g on the host",
                             (long long)row_at[i], (long long)j, device, host);
    }
    return 0;
}

// ---- the device's operations ----

static int upload(int64_t **out, struct cuda *cuda, const int64_t *from, int64_t count,
                  struct error *err)
{
    const size_t bytes = (size_t)count * sizeof(*from);
    CUDA_TRY(cuda, cudaMalloc(out, bytes), err);
    CUDA_TRY(cuda, cudaMemcpy(*out, from, bytes, cudaMemcpyHostToDevice), err);
    return 0;
}

static int compute(struct cuda *cuda, struct form_reference *r, const int64_t *row_at,
                   const int64_t *matrix, struct error *err)
{
    const int64_t n = r->problem.n;
    const dim3 blocks((unsigned)((n + SIDE - 1) / SIDE), (unsigned)((r->rows + SIDE - 1) / SIDE));
    if (r->rows > 65535LL * SIDE)
        return error_set(err, "cuda: more than %lld rows have no reference here", 65535LL * SIDE);
    if (upload(&r->row_at, cuda, row_at, r->rows, err) ||
        upload(&r->matrix, cuda, matrix, r->rows, err))
        return -1;
    CUDA_TRY(cuda, cudaMalloc(&r->exact, (size_t)(r->rows * n) * sizeof(double)), err);
    exact_elements<<<blocks, dim3(SIDE, SIDE), 0, cuda->stream>>>(r->exact, r->row_at, r->matrix,
                                                                  r->rows, r->key, r->view);
    CUDA_TRY(cuda, cudaGetLastError(), err);
    CUDA_TRY(cuda, cudaStreamSynchronize(cuda->stream), err);
    struct form_view copies;
    const int status = fetch_view(&copies, cuda, &r->view, err) ||
                               check_spots(cuda, r, row_at, matrix, &copies, err)
                           ? -1
                           : 0;
    forget_view(&copies);
    return status;
}

int cuda_form_reference(struct form_reference **out, struct device_base *device,
                        const struct problem *problem, const struct plumb_form_args *args,
                        const void *given, struct error *err)
{
    struct form_reference *r = (struct form_reference *)xcalloc(1, sizeof(*r));
    const size_t most = (size_t)problem_used_rows(problem);
    int64_t *row_at = (int64_t *)xcalloc(most, sizeof(*row_at));
    int64_t *matrix = (int64_t *)xcalloc(most, sizeof(*matrix));
    r->problem = *problem;
    r->view = form_view_of(problem, args, given);
    r->rows = form_used_rows(row_at, matrix, problem);
    r->key = inputs_word((uint64_t)(uintptr_t)r, MASK_STREAM, (uint64_t)r->rows);
    const int status = compute((struct cuda *)device, r, row_at, matrix, err);
    free(row_at);
    free(matrix);
    if (status) {
        cuda_form_reference_free(device, r);
        return -1;
    }
    *out = r;
    return 0;
}

void cuda_form_reference_free(struct device_base *device, struct form_reference *r)
{
    if (device->loss == DEVICE_OK) {
        cudaFree(r->exact);
        cudaFree(r->row_at);
        cudaFree(r->matrix);
    }
    free(r);
}

struct wrong_elements {
    unsigned long long error_bits; // of a non-negative double: they order like integers
    unsigned long long wrong, first;
};

static __global__ void compare_elements(struct wrong_elements *out, const double *exact,
                                        const int64_t *row_at, uint64_t key, const void *c,
                                        int type, uint64_t count, uint64_t n, int64_t ldc,
                                        double scale, double tolerance)
{
    for (uint64_t at = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; at < count;
         at += (uint64_t)gridDim.x * blockDim.x) {
        const uint64_t row = inputs_quotient(at, n);
        const uint64_t place = (uint64_t)(row_at[row] * ldc) + (at - row * n);
        double error = fabs(inputs_load(type, c, place) - masked(exact[at], key, at)) / scale;
        const bool wrong = !(error <= tolerance); // NaN fails
        if (isnan(error))
            error = INFINITY;
        atomicMax(&out->error_bits, (unsigned long long)__double_as_longlong(error));
        if (wrong) {
            atomicAdd(&out->wrong, 1ull);
            atomicMin(&out->first, (unsigned long long)at);
        }
    }
}

// What the first wrong element is and should be.
static int read_first(struct comparison *out, struct cuda *cuda, const struct form_reference *r,
                      const void *c, uint64_t at, struct error *err)
{
    const int64_t n = r->problem.n, i = (int64_t)at / n;
    const size_t bytes = (size_t)dtype_bytes(r->problem.out);
    alignas(8) char slot[8];
    double wanted;
    int64_t row;
    CUDA_TRY(cuda, cudaMemcpy(&row, r->row_at + i, sizeof(row), cudaMemcpyDeviceToHost), err);
    CUDA_TRY(cuda, cudaMemcpy(&wanted, r->exact + at, sizeof(wanted), cudaMemcpyDeviceToHost), err);
    out->row = row;
    out->col = (int64_t)at % n;
    const char *from = (const char *)c + (size_t)(row * r->view.form.ldc + out->col) * bytes;
    CUDA_TRY(cuda, cudaMemcpy(slot, from, bytes, cudaMemcpyDeviceToHost), err);
    out->got = inputs_load((int)r->problem.out, slot, 0);
    out->wanted = masked(wanted, r->key, at);
    return 0;
}

int cuda_form_compare(struct comparison *out, struct device_base *device,
                      const struct form_reference *r, const void *c, double tolerance,
                      struct error *err)
{
    struct cuda *cuda = (struct cuda *)device;
    struct wrong_elements found = {0, 0, ~0ull};
    struct wrong_elements *on_device =
        (struct wrong_elements *)cuda->stamps; // scratch between samples
    struct comparison result = {};
    CUDA_TRY(cuda, cudaMemcpy(on_device, &found, sizeof(found), cudaMemcpyHostToDevice), err);
    compare_elements<<<cuda_at_once(cuda), THREADS, 0, cuda->stream>>>(
        on_device, r->exact, r->row_at, r->key, c, (int)r->problem.out,
        (uint64_t)(r->rows * r->problem.n), (uint64_t)r->problem.n, r->view.form.ldc,
        check_scale(&r->problem), tolerance);
    CUDA_TRY(cuda, cudaGetLastError(), err);
    CUDA_TRY(cuda, cudaStreamSynchronize(cuda->stream), err);
    CUDA_TRY(cuda, cudaMemcpy(&found, on_device, sizeof(found), cudaMemcpyDeviceToHost), err);
    memcpy(&result.error, &found.error_bits, sizeof(result.error));
    result.wrong = found.wrong;
    if (found.wrong && read_first(&result, cuda, r, c, found.first, err))
        return -1;
    *out = result;
    return 0;
}
