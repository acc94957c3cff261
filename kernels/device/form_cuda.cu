// SPDX-License-Identifier: Apache-2.0
//
// The cuda device's reference of forms, in float64: tiles of 64 x 64 in shared memory, with
// operands read as form.h says. The rows of a tile are multiplied by one matrix B. All rows are
// computed. It is trusted because some elements are computed a second time on the host, with the
// same functions, from copies of the data that they need.
#include "kernels/device/device_cuda.h"

extern "C" {
#include "kernels/device/form.h"
}

enum { TILE = 64, SLAB = 16, SIDE = 16, EACH = TILE / SIDE, SPOTS = 16, THREADS = 256 };

// `count` computed rows from number `first` on, all multiplied by one matrix B.
struct row_tile {
    int64_t first, matrix;
    int32_t count;
};

// The expected results, hidden under a key like those of plain problems.
struct form_reference {
    struct problem problem;
    struct form_view view;
    int64_t *row_at;        // device
    struct row_tile *tiles; // device
    int64_t rows;
    double *exact; // device: [rows][n]
    uint64_t key;
};

// EACH x EACH elements per thread of a tile's product: rows threadIdx.y + SIDE * i.
static __device__ void tile_product(double sum[EACH][EACH], const struct form_view &v,
                                    const struct row_tile &t, const int64_t *row_at, int64_t matrix,
                                    int64_t col)
{
    __shared__ double a[SLAB][TILE + 1], b[SLAB][TILE + 1];
    const int thread = (int)(threadIdx.y * SIDE + threadIdx.x);
    const int64_t k = v.form.problem.k, n = v.form.problem.n;
    for (int64_t l = 0; l < k; l += SLAB) {
        for (int at = thread; at < SLAB * TILE; at += SIDE * SIDE) {
            // Neighbouring threads read neighbouring k, which is coalesced if operands are K-major.
            const int step = at % SLAB, i = at / SLAB;
            const bool inside = l + step < k;
            a[step][i] = inside && i < t.count ? form_a(&v, row_at[t.first + i], l + step) : 0;
            b[step][i] = inside && col + i < n ? form_b(&v, matrix, l + step, col + i) : 0;
        }
        __syncthreads();
        for (int step = 0; step < SLAB; step++) {
            for (int i = 0; i < EACH; i++) {
                for (int j = 0; j < EACH; j++)
                    sum[i][j] += a[step][threadIdx.y + SIDE * i] * b[step][threadIdx.x + SIDE * j];
            }
        }
        __syncthreads();
    }
}

// A function that is not inlined, so that its caller, which calls it 16 times, can keep its
// sums in registers.
static __device__ __noinline__ double element_of(const struct form_view *v, double sum,
                                                 double second, int64_t row, int64_t col)
{
    return form_element(v, sum, second, row, col);
}

static __global__ void __launch_bounds__(SIDE *SIDE)
    exact_elements(double *exact, const int64_t *row_at, const struct row_tile *tiles, uint64_t key,
                   const __grid_constant__ struct form_view v)
{
    const struct row_tile t = tiles[blockIdx.x];
    const int64_t n = v.form.problem.n, col = blockIdx.y * (int64_t)TILE;
    const int weights = form_weights(&v.form);
    double sum[EACH][EACH] = {}, second[EACH][EACH] = {};
    tile_product(sum, v, t, row_at, t.matrix * weights, col);
    if (weights > 1)
        tile_product(second, v, t, row_at, t.matrix * weights + 1, col);
#pragma unroll
    for (int y = 0; y < EACH; y++) {
#pragma unroll
        for (int x = 0; x < EACH; x++) {
            const int64_t i = threadIdx.y + SIDE * y, j = col + threadIdx.x + SIDE * x;
            const uint64_t at = (uint64_t)((t.first + i) * n + j);
            if (i < t.count && j < n)
                exact[at] = masked(element_of(&v, sum[y][x], second[y][x], row_at[t.first + i], j),
                                   key, at);
        }
    }
}

// ---- spots, on the host ----

// Memory for a copy of an operand; only pages that are written to become real. NULL where the
// operand is NULL.
static void *room_for(const void *operand, double bytes)
{
    return operand && bytes > 0 ? xcalloc((size_t)bytes + 1, 1) : NULL;
}

// Copies elements first, first + 1, ... of an operand, `bytes` each, to the same place of its copy.
static int fetch(const void *copy, struct cuda *cuda, const void *from, int64_t first,
                 int64_t count, double bytes, struct error *err)
{
    const size_t begin = (size_t)((double)first * bytes);
    const size_t end = (size_t)ceil((double)(first + count) * bytes);
    if (!copy)
        return 0;
    CUDA_TRY(cuda,
             cudaMemcpy((char *)(uintptr_t)copy + begin, (const char *)from + begin, end - begin,
                        cudaMemcpyDeviceToHost),
             err);
    return 0;
}

// Makes a view of copies. Copies of small operands have their contents already.
static int copy_view(struct form_view *out, struct cuda *cuda, const struct form_view *v,
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
    out->a = room_for(v->a, (double)(of_a * form_size_a(f)) * in);
    out->b = room_for(v->b, (double)(of_b * form_size_b(f)) * in);
    out->scales_a = room_for(v->scales_a, (double)scales_a * scale);
    out->scales_b = room_for(v->scales_b, (double)scales_b * scale);
    out->bias = room_for(v->bias, (double)f->problem.n * to);
    out->given = room_for(v->given, (double)(f->rows * f->ldc) * to);
    return fetch(out->scales_a, cuda, v->scales_a, 0, scales_a, scale, err) ||
                   fetch(out->scales_b, cuda, v->scales_b, 0, scales_b, scale, err) ||
                   fetch(out->bias, cuda, v->bias, 0, f->problem.n, to, err)
               ? -1
               : 0;
}

static void forget_view(struct form_view *v)
{
    const void *const copies[] = {v->a, v->b, v->scales_a, v->scales_b, v->bias, v->given};
    for (size_t i = 0; i < ARRAY_COUNT(copies); i++)
        free((void *)(uintptr_t)copies[i]);
}

// Copies the data that element (row, j) needs: a row of A and a column of B if they are contiguous,
// else the whole matrix.
static int fetch_spot(const struct form_view *copies, struct cuda *cuda, const struct form_view *v,
                      int64_t row, int64_t matrix, int64_t j, struct error *err)
{
    const struct plumb_form *f = &v->form;
    const double in = dtype_bytes((enum dtype)f->problem.in_type);
    const double to = dtype_bytes((enum dtype)f->problem.out_type);
    const int64_t k = f->problem.k, rows = form_rows_a(f), of_a = row / rows * form_size_a(f);
    const bool whole_a = !form_a_is_k_major(f), whole_b = !form_b_is_k_major(f);
    if (fetch(copies->a, cuda, v->a, of_a + (whole_a ? 0 : row % rows * f->lda),
              whole_a ? form_size_a(f) : k, in, err) ||
        fetch(copies->given, cuda, v->given, row * f->ldc + j, 1, to, err))
        return -1;
    for (int w = 0; w < form_weights(f); w++) {
        const int64_t of_b = (matrix * form_weights(f) + w) * form_size_b(f);
        if (fetch(copies->b, cuda, v->b, of_b + (whole_b ? 0 : j * f->ldb),
                  whole_b ? form_size_b(f) : k, in, err))
            return -1;
    }
    return 0;
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
        if (fetch_spot(copies, cuda, &r->view, row_at[i], matrix[i], j, err))
            return -1;
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

static int upload(void **out, struct cuda *cuda, const void *from, size_t bytes, struct error *err)
{
    CUDA_TRY(cuda, cudaMalloc(out, bytes), err);
    CUDA_TRY(cuda, cudaMemcpy(*out, from, bytes, cudaMemcpyHostToDevice), err);
    return 0;
}

// Cuts rows into tiles: at most one for each TILE rows, and one more for each matrix.
static size_t cut(struct row_tile *out, const int64_t *matrix, int64_t rows)
{
    size_t count = 0;
    for (int64_t i = 0; i < rows; i++) {
        const bool goes_on = count && out[count - 1].matrix == matrix[i] && //
                             out[count - 1].count < TILE;
        if (goes_on)
            out[count - 1].count++;
        else
            out[count++] = {i, matrix[i], 1};
    }
    return count;
}

static int launch(struct cuda *cuda, struct form_reference *r, const int64_t *row_at,
                  const int64_t *matrix, struct error *err)
{
    const int64_t n = r->problem.n, columns = (n + TILE - 1) / TILE;
    struct row_tile *tiles = (struct row_tile *)xcalloc((size_t)r->rows, sizeof(*tiles));
    const size_t count = cut(tiles, matrix, r->rows);
    const int status =
        upload((void **)&r->row_at, cuda, row_at, (size_t)r->rows * sizeof(*row_at), err) ||
                upload((void **)&r->tiles, cuda, tiles, count * sizeof(*tiles), err)
            ? -1
            : 0;
    free(tiles);
    if (status)
        return -1;
    CUDA_TRY(cuda, cudaMalloc(&r->exact, (size_t)(r->rows * n) * sizeof(double)), err);
    exact_elements<<<dim3((unsigned)count, (unsigned)columns), dim3(SIDE, SIDE), 0, cuda->stream>>>(
        r->exact, r->row_at, r->tiles, r->key, r->view);
    CUDA_TRY(cuda, cudaGetLastError(), err);
    CUDA_TRY(cuda, cudaStreamSynchronize(cuda->stream), err);
    return 0;
}

static int compute(struct cuda *cuda, struct form_reference *r, const int64_t *row_at,
                   const int64_t *matrix, struct error *err)
{
    struct form_view copies;
    if (r->problem.n > 65535LL * TILE)
        return error_set(err, "cuda: n above %lld has no reference here", 65535LL * TILE);
    if (launch(cuda, r, row_at, matrix, err))
        return -1;
    const int status = copy_view(&copies, cuda, &r->view, err) ||
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
        cudaFree(r->tiles);
    }
    free(r);
}

struct wrong_elements {
    unsigned long long error_bits; // bits of a non-negative double, which sort like integers
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

// Reads the first wrong element, and its expected value.
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
