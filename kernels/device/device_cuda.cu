// SPDX-License-Identifier: Apache-2.0
//
// The cuda device: inputs, comparisons, references, memory, samples, identity. Timing and errors
// are in stretch.cu, noise and looks in noise_cuda.cu, records in record_cuda.cu, micro-benchmarks
// in calibrate_*.cu. Settings of the GPU are never changed.
#include "kernels/device/device_cuda.h"

#include "kernels/device/inputs.h"
#include "kernels/device/library_version.h"

#include <cstdint>
#include <cstring>

extern "C" {
#include "kernels/device/form.h"
#include "kernels/device/record.h"
}

enum { THREADS = 256 }; // of a block, in kernels that go through memory

// ==== inputs ====
//
// The cuda device's inputs: numbers by a recipe, computed or, with other signs, copied.

static __global__ void fill_all(void *to, struct inputs_recipe recipe, uint64_t count)
{
    const uint64_t first = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;
    const uint64_t step = (uint64_t)gridDim.x * blockDim.x, each = inputs_each(recipe.type);
    const uint64_t words = recipe.bare ? count / each : 0;
    for (uint64_t i = first; i < words; i += step)
        ((uint64_t *)to)[i] = ((const uint64_t *)recipe.bare)[i] ^ inputs_flips(&recipe, i);
    for (uint64_t i = words * each + first; i < count; i += step)
        inputs_store(to, i, &recipe);
}

static int cuda_load_inputs(struct cuda *cuda, struct error *err)
{
    return cuda_load(cuda, fill_all, err);
}

static int cuda_fill(struct device_base *device, void *to, const struct inputs_recipe *recipe,
                     uint64_t count, struct error *err)
{
    struct cuda *cuda = (struct cuda *)device;
    fill_all<<<cuda_at_once(cuda), THREADS, 0, cuda->stream>>>(to, *recipe, count);
    CUDA_TRY(cuda, cudaGetLastError(), err);
    return 0;
}

// ==== bytes as they are ====

static __global__ void copy_bytes(uint4 *to, const uint4 *from, size_t vectors, unsigned left)
{
    const size_t first = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    for (size_t i = first; i < vectors; i += gridDim.x * (size_t)blockDim.x)
        to[i] = from[i];
    if (first < left)
        ((unsigned char *)(to + vectors))[first] = ((const unsigned char *)(from + vectors))[first];
}

static __global__ void compare_bytes(unsigned *differs, unsigned look, const uint4 *a,
                                     const uint4 *b, size_t vectors, unsigned left)
{
    const size_t first = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    bool same = true;
    for (size_t i = first; i < vectors; i += gridDim.x * (size_t)blockDim.x) {
        const uint4 x = a[i], y = b[i];
        same &= x.x == y.x && x.y == y.y && x.z == y.z && x.w == y.w;
    }
    if (first < left)
        same &= ((const unsigned char *)(a + vectors))[first] ==
                ((const unsigned char *)(b + vectors))[first];
    if (!same)
        *differs = look;
}

// Counts of a comparison. `most` and `largest` are the bits of non-negative numbers, which sort
// like the numbers themselves.
struct tally {
    unsigned long long count, most, largest;
};

static __device__ void raise(unsigned long long *to, double value)
{
    if (value > 0)
        atomicMax(to, (unsigned long long)__double_as_longlong(value));
}

static __global__ void tally_elements(struct tally *out, int type, unsigned bytes,
                                      const unsigned char *a, const unsigned char *b,
                                      uint64_t count)
{
    const uint64_t first = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;
    unsigned long long differ = 0;
    double most = 0, largest = 0;
    for (uint64_t i = first; i < count; i += gridDim.x * (uint64_t)blockDim.x) {
        const double apart = inputs_apart(type, bytes, a + i * bytes, b + i * bytes);
        const double value = fabs(inputs_load(type, b + i * bytes, 0));
        differ += apart >= 0;
        most = apart > most ? apart : most;
        largest = isfinite(value) && value > largest ? value : largest;
    }
    if (differ)
        atomicAdd(&out->count, differ);
    raise(&out->most, most);
    raise(&out->largest, largest);
}

static int cuda_differ(struct differences *out, struct device_base *device, int type,
                       size_t element_bytes, const void *a, const void *b, uint64_t count,
                       struct error *err)
{
    struct cuda *cuda = (struct cuda *)device;
    struct tally found = {};
    CUDA_TRY(
        cuda,
        cudaMemcpyAsync(cuda->tally, &found, sizeof(found), cudaMemcpyHostToDevice, cuda->stream),
        err);
    tally_elements<<<cuda_at_once(cuda), THREADS, 0, cuda->stream>>>(
        cuda->tally, type, (unsigned)element_bytes, (const unsigned char *)a,
        (const unsigned char *)b, count);
    CUDA_TRY(cuda, cudaGetLastError(), err);
    CUDA_TRY(
        cuda,
        cudaMemcpyAsync(&found, cuda->tally, sizeof(found), cudaMemcpyDeviceToHost, cuda->stream),
        err);
    CUDA_TRY(cuda, cudaStreamSynchronize(cuda->stream), err);
    out->count = found.count;
    memcpy(&out->most, &found.most, sizeof(out->most));
    memcpy(&out->largest, &found.largest, sizeof(out->largest));
    return 0;
}

static int cuda_copy(struct device_base *device, void *to, const void *from, size_t bytes,
                     struct error *err)
{
    struct cuda *cuda = (struct cuda *)device;
    copy_bytes<<<cuda_at_once(cuda), THREADS, 0, cuda->stream>>>(
        (uint4 *)to, (const uint4 *)from, bytes / sizeof(uint4), (unsigned)(bytes % sizeof(uint4)));
    CUDA_TRY(cuda, cudaGetLastError(), err);
    return 0;
}

static int cuda_same(bool *out, struct device_base *device, const void *a, const void *b,
                     size_t bytes, struct error *err)
{
    struct cuda *cuda = (struct cuda *)device;
    unsigned differs = 0;
    compare_bytes<<<cuda_at_once(cuda), THREADS, 0, cuda->stream>>>(
        cuda->differs, ++cuda->looks, (const uint4 *)a, (const uint4 *)b, bytes / sizeof(uint4),
        (unsigned)(bytes % sizeof(uint4)));
    CUDA_TRY(cuda, cudaGetLastError(), err);
    CUDA_TRY(cuda,
             cudaMemcpyAsync(&differs, cuda->differs, sizeof(differs), cudaMemcpyDeviceToHost,
                             cuda->stream),
             err);
    CUDA_TRY(cuda, cudaStreamSynchronize(cuda->stream), err);
    *out = differs != cuda->looks;
    return 0;
}

// ==== expected results are hidden under a key ====
//
// Kernels can read all device memory. So the results that they should compute are stored there with
// their bits changed by a key.

enum { MASK_STREAM = 12 }; // stream of inputs_word() from which keys come

// Changes the bits of `value`, element `at`, by the key. Called with a changed value, it gives
// the value back.
static __host__ __device__ double masked(double value, uint64_t key, uint64_t at)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    bits ^= inputs_mix(key + at * 0x9e3779b97f4a7c15u);
    memcpy(&value, &bits, sizeof(bits));
    return value;
}

// ==== references ====
//
// The expected results of plain problems: every element, in float64, by a kernel as plain as speed
// allows (64 x 64 tiles in shared memory). They are trusted because samples of them are computed a
// second time on the host, from the generator and not from the device's memory. So an error in
// filling, in the layout or in this kernel is noticed.

enum { TILE = 64, SLAB = 16, SIDE = 16, EACH = TILE / SIDE, SPOTS = 24, FORM_SPOTS = 16 };

// The exact result, whose numbers are hidden under a key by masked().
struct reference {
    struct problem problem;
    double *exact; // device: [batch * m][n], each with its bits changed by masked()
    uint64_t key;
};

struct reference_operands {
    const void *a, *b;
    int64_t m, n, k;
    struct check_strides strides;
    int type;
    double scale; // product of both operands' scales
};

static __device__ double load_a(const struct reference_operands &o, int64_t i, int64_t l)
{
    return i < o.m && l < o.k
               ? inputs_load(o.type, o.a, (uint64_t)(i * o.strides.a_row + l * o.strides.a_col))
               : 0;
}

static __device__ double load_b(const struct reference_operands &o, int64_t first, int64_t l,
                                int64_t j)
{
    return l < o.k && j < o.n
               ? inputs_load(o.type, o.b,
                             (uint64_t)(first + l * o.strides.b_row + j * o.strides.b_col))
               : 0;
}

// Computes one 64 x 64 tile of A B, EACH x EACH elements per thread: rows threadIdx.y + SIDE * i.
static __device__ void tile_product(double sum[EACH][EACH], const struct reference_operands &o,
                                    int64_t b_first, int64_t row, int64_t col)
{
    __shared__ double a[SLAB][TILE + 1], b[SLAB][TILE + 1];
    const int thread = (int)(threadIdx.y * SIDE + threadIdx.x);
    for (int64_t l = 0; l < o.k; l += SLAB) {
        for (int at = thread; at < SLAB * TILE; at += SIDE * SIDE) {
            // Neighbouring threads read neighbouring k, which is coalesced if operands are K-major.
            a[at % SLAB][at / SLAB] = load_a(o, row + at / SLAB, l + at % SLAB);
            b[at % SLAB][at / SLAB] = load_b(o, b_first, l + at % SLAB, col + at / SLAB);
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

static __global__ void __launch_bounds__(SIDE *SIDE)
    exact_product(double *exact, int64_t first, uint64_t key, struct reference_operands o,
                  bool dual)
{
    const int64_t row = (int64_t)blockIdx.y * TILE, col = (int64_t)blockIdx.x * TILE;
    double gate[EACH][EACH] = {}, up[EACH][EACH] = {};
    tile_product(gate, o, 0, row, col);
    if (dual)
        tile_product(up, o, o.n * o.k, row, col);
    for (int i = 0; i < EACH; i++) {
        for (int j = 0; j < EACH; j++) {
            const int64_t r = row + threadIdx.y + SIDE * i, c = col + threadIdx.x + SIDE * j;
            const double x = gate[i][j] * o.scale;
            const int64_t at = first + r * o.n + c;
            if (r < o.m && c < o.n)
                exact[at] =
                    masked(dual ? x / (1 + exp(-x)) * up[i][j] * o.scale : x, key, (uint64_t)at);
        }
    }
}

// Computes the same elements from the generator, on the host. Returns 0 if they agree.
static int spot_check(struct cuda *cuda, const struct reference *r, uint64_t seed,
                      struct error *err)
{
    const struct problem *p = &r->problem;
    const int64_t rows = p->batch * p->m;
    for (int spot = 0; spot < SPOTS; spot++) {
        // Both corners come first, then random places.
        int64_t row = spot == 0 ? 0 : rows - 1, col = spot == 0 ? 0 : p->n - 1;
        if (spot > 1) {
            row = (int64_t)(inputs_word(seed, 11, 2 * (uint64_t)spot) % (uint64_t)rows);
            col = (int64_t)(inputs_word(seed, 11, 2 * (uint64_t)spot + 1) % (uint64_t)p->n);
        }
        double device;
        const double host = check_element(p, seed, row, col);
        CUDA_TRY(cuda,
                 cudaMemcpy(&device, r->exact + row * p->n + col, sizeof(device),
                            cudaMemcpyDeviceToHost),
                 err);
        device = masked(device, r->key, (uint64_t)(row * p->n + col));
        if (!(fabs(device - host) <= 1e-9 * check_scale(p)))
            return error_set(err,
                             "cuda: the reference is not to be trusted: C[%lld][%lld] is %.12g on "
                             "the device and %.12g on the host",
                             (long long)row, (long long)col, device, host);
    }
    return 0;
}

static int compute(struct cuda *cuda, struct reference *r, const struct plumb_args *args,
                   struct error *err)
{
    const struct problem *p = &r->problem;
    const bool dual = p->epilogue == EPILOGUE_DUAL_SILU, fp8 = inputs_is_fp8((int)p->in);
    struct reference_operands o = {};
    o.m = p->m;
    o.n = p->n;
    o.k = p->k;
    o.strides = check_strides(p);
    o.type = (int)p->in;
    const double one = (double)(1.0f / INPUTS_FP8_SCALE);
    o.scale = fp8 ? one * one : 1;
    const size_t bytes = (size_t)dtype_bytes(p->in);
    const dim3 threads(SIDE, SIDE);
    const dim3 blocks((unsigned)((p->n + TILE - 1) / TILE), (unsigned)((p->m + TILE - 1) / TILE));
    for (int64_t batch = 0; batch < p->batch; batch++) {
        o.a = (const char *)args->a + (size_t)(batch * p->m * p->k) * bytes;
        o.b = (const char *)args->b + (size_t)(batch * p->n * p->k * (dual ? 2 : 1)) * bytes;
        exact_product<<<blocks, threads, 0, cuda->stream>>>(r->exact, batch * p->m * p->n, r->key,
                                                            o, dual);
        CUDA_TRY(cuda, cudaGetLastError(), err);
    }
    CUDA_TRY(cuda, cudaStreamSynchronize(cuda->stream), err);
    return 0;
}

// The number of elements of all C matrices.
static uint64_t elements_of(const struct problem *p)
{
    return (uint64_t)p->batch * (uint64_t)p->m * (uint64_t)p->n;
}

static void cuda_reference_free(struct device_base *device, struct reference *r)
{
    (void)device;
    cudaFree(r->exact);
    free(r);
}

static int cuda_reference(struct reference **out, struct device_base *device,
                          const struct problem *problem, const struct plumb_args *args,
                          const uint64_t *seed, struct error *err)
{
    struct cuda *cuda = (struct cuda *)device;
    struct reference *r = (struct reference *)xcalloc(1, sizeof(*r));
    r->problem = *problem;
    r->key = seed ? inputs_word(*seed, MASK_STREAM, 0) : 0;
    if (problem->m > 65535LL * TILE) {
        free(r);
        return error_set(err, "cuda: m above %lld has no reference here", 65535LL * TILE);
    }
    if (cuda_failed(cuda, cudaMalloc(&r->exact, elements_of(problem) * sizeof(double)),
                    "memory for the reference", err) ||
        compute(cuda, r, args, err) || (seed && spot_check(cuda, r, *seed, err))) {
        cuda_reference_free(device, r);
        return -1;
    }
    *out = r;
    return 0;
}

struct wrong_places {
    unsigned long long error_bits; // bits of a non-negative double, which sort like integers
    unsigned long long wrong, first;
};

static __global__ void compare_all(struct wrong_places *out, const double *exact, uint64_t key,
                                   const void *c, int type, uint64_t count, uint64_t n,
                                   struct inputs_signs signs, double scale, double tolerance)
{
    for (uint64_t at = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; at < count;
         at += (uint64_t)gridDim.x * blockDim.x) {
        const uint64_t row = inputs_quotient(at, n);
        const double sign = inputs_sign(&signs, row, at - row * n);
        double error = fabs(sign * inputs_load(type, c, at) - masked(exact[at], key, at)) / scale;
        const bool wrong = !(error <= tolerance); // NaN fails
        if (isnan(error))
            error = INFINITY;
        const unsigned long long bits = (unsigned long long)__double_as_longlong(error);
        if (bits > *(volatile unsigned long long *)&out->error_bits)
            atomicMax(&out->error_bits, bits);
        if (wrong) {
            atomicAdd(&out->wrong, 1ull);
            atomicMin(&out->first, (unsigned long long)at);
        }
    }
}

static int cuda_compare(struct comparison *out, struct device_base *device,
                        const struct reference *r, const void *c, const struct inputs_signs *signs,
                        double tolerance, struct error *err)
{
    struct cuda *cuda = (struct cuda *)device;
    const struct problem *p = &r->problem;
    struct wrong_places found = {0, 0, ~0ull};
    struct wrong_places *on_device = (struct wrong_places *)cuda->stamps; // scratch between samples
    double got = 0, wanted = 0;
    CUDA_TRY(cuda, cudaMemcpy(on_device, &found, sizeof(found), cudaMemcpyHostToDevice), err);
    compare_all<<<cuda_at_once(cuda), THREADS, 0, cuda->stream>>>(
        on_device, r->exact, r->key, c, (int)p->out, elements_of(p), (uint64_t)p->n, *signs,
        check_scale(p), tolerance);
    CUDA_TRY(cuda, cudaGetLastError(), err);
    CUDA_TRY(cuda, cudaStreamSynchronize(cuda->stream), err);
    CUDA_TRY(cuda, cudaMemcpy(&found, on_device, sizeof(found), cudaMemcpyDeviceToHost), err);
    struct comparison result = {};
    memcpy(&result.error, &found.error_bits, sizeof(result.error));
    result.wrong = found.wrong;
    if (found.wrong) {
        alignas(8) char slot[8];
        const size_t bytes = (size_t)dtype_bytes(p->out);
        CUDA_TRY(
            cuda,
            cudaMemcpy(slot, (const char *)c + found.first * bytes, bytes, cudaMemcpyDeviceToHost),
            err);
        CUDA_TRY(
            cuda,
            cudaMemcpy(&wanted, r->exact + found.first, sizeof(wanted), cudaMemcpyDeviceToHost),
            err);
        wanted = masked(wanted, r->key, found.first);
        result.row = (int64_t)found.first / p->n;
        result.col = (int64_t)found.first % p->n;
        got = inputs_sign(signs, (uint64_t)result.row, (uint64_t)result.col) *
              inputs_load((int)p->out, slot, 0);
        result.got = got;
        result.wanted = wanted;
    }
    *out = result;
    return 0;
}

// ==== references of forms ====
//
// The same tiles, with operands read as form.h says. The rows of a tile are multiplied by one
// matrix B. All rows are computed. Some elements are computed a second time on the host, with the
// same functions, from copies of the data that they need.

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
static __device__ void form_tile_product(double sum[EACH][EACH], const struct form_view &v,
                                         const struct row_tile &t, const int64_t *row_at,
                                         int64_t matrix, int64_t col)
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
    form_tile_product(sum, v, t, row_at, t.matrix * weights, col);
    if (weights > 1)
        form_tile_product(second, v, t, row_at, t.matrix * weights + 1, col);
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
    for (int spot = 0; spot < FORM_SPOTS; spot++) {
        const int64_t i = spot == 0 ? 0 : (r->rows - 1) * spot / (FORM_SPOTS - 1);
        const int64_t j = (n - 1) * (FORM_SPOTS - 1 - spot) / (FORM_SPOTS - 1);
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

// ---- the whole reference ----

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

static int launch_form(struct cuda *cuda, struct form_reference *r, const int64_t *row_at,
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

static int compute_form(struct cuda *cuda, struct form_reference *r, const int64_t *row_at,
                        const int64_t *matrix, struct error *err)
{
    struct form_view copies;
    if (r->problem.n > 65535LL * TILE)
        return error_set(err, "cuda: n above %lld has no reference here", 65535LL * TILE);
    if (launch_form(cuda, r, row_at, matrix, err))
        return -1;
    const int status = copy_view(&copies, cuda, &r->view, err) ||
                               check_spots(cuda, r, row_at, matrix, &copies, err)
                           ? -1
                           : 0;
    forget_view(&copies);
    return status;
}

static void cuda_form_reference_free(struct device_base *device, struct form_reference *r)
{
    if (device->loss == DEVICE_OK) {
        cudaFree(r->exact);
        cudaFree(r->row_at);
        cudaFree(r->tiles);
    }
    free(r);
}

static int cuda_form_reference(struct form_reference **out, struct device_base *device,
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
    const int status = compute_form((struct cuda *)device, r, row_at, matrix, err);
    free(row_at);
    free(matrix);
    if (status) {
        cuda_form_reference_free(device, r);
        return -1;
    }
    *out = r;
    return 0;
}

static __global__ void compare_elements(struct wrong_places *out, const double *exact,
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

static int cuda_form_compare(struct comparison *out, struct device_base *device,
                             const struct form_reference *r, const void *c, double tolerance,
                             struct error *err)
{
    struct cuda *cuda = (struct cuda *)device;
    struct wrong_places found = {0, 0, ~0ull};
    struct wrong_places *on_device = (struct wrong_places *)cuda->stamps; // scratch between samples
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

// ==== the device ====

enum { HOLD_LIMIT_MS = 500 };

enum { STATE_EVERY_MS = 10, ATTEMPTS = 3 };
// for launches timed one by one, as in other tools
static const size_t flush_least = (size_t)256 << 20;

// Makes the device with this index (among those that the user shows us) the only one. Then every
// runtime in the process, also those of libraries, agrees on which one is device 0.
static int choose(const char *index, struct error *err)
{
    int64_t wanted = 0;
    char entry[128];
    if (index && (parse_int64(&wanted, index) || wanted < 0 || wanted > 1023))
        return error_set(err, "cuda:%.40s: not an index; write --device cuda:0", index);
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    if (!visible) {
        snprintf(entry, sizeof(entry), "%d", (int)wanted);
    } else {
        for (; wanted > 0 && visible; wanted--) {
            visible = strchr(visible, ',');
            visible = visible ? visible + 1 : NULL;
        }
        snprintf(entry, sizeof(entry), "%.*s", visible ? (int)strcspn(visible, ",") : 0,
                 visible ? visible : "");
    }
    setenv("CUDA_VISIBLE_DEVICES", entry, 1);
    return 0;
}

// Frees nothing for a device that was only asked about and never woken: it has no context, and even
// freeing nothing would make one.
static void cuda_close(struct device_base *device)
{
    struct cuda *cuda = (struct cuda *)device;
    nvml_close(cuda->nvml);
    if (cuda->base.loss == DEVICE_OK && cuda->stream) {
        for (cudaGraphExec_t graph : cuda->graphs) {
            if (graph)
                cudaGraphExecDestroy(graph);
        }
        for (int i = 0; i < EACH_MOST; i++) {
            if (cuda->start[i])
                cudaEventDestroy(cuda->start[i]);
            if (cuda->stop[i])
                cudaEventDestroy(cuda->stop[i]);
        }
        if (cuda->told)
            cudaEventDestroy(cuda->told);
        if (cuda->stream)
            cudaStreamDestroy(cuda->stream);
        cudaFree(cuda->flush);
        cudaFree(cuda->stamps);
        cudaFree(cuda->differs);
        cudaFree(cuda->tally);
        cudaFreeHost((void *)cuda->go);
        cudaFreeHost(cuda->seen);
    }
    free(cuda);
}

static void uuid_text(char out[96], const cudaDeviceProp *properties)
{
    const unsigned char *b = (const unsigned char *)properties->uuid.bytes;
    snprintf(out, 96, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
             b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13],
             b[14], b[15]);
}

// Reads the facts that need no context, because making a context takes as long again, in one
// process after another.
static int open_known(struct cuda *cuda, struct error *err)
{
    cudaDeviceProp properties;
    char uuid[96];
    CUDA_TRY(cuda, cudaGetDeviceProperties(&properties, 0), err);
    cuda->sm_count = properties.multiProcessorCount;
    if (cuda->sm_count >= STAMPS_MAX) // the last stamp is that of cuda_held()
        return error_set(err, "cuda: %d SMs, bench knows fewer than %d", cuda->sm_count,
                         STAMPS_MAX);
    cuda->flush_bytes = 2 * (size_t)properties.l2CacheSize;
    cuda->wide_bytes = cuda->flush_bytes > flush_least ? cuda->flush_bytes : flush_least;
    cuda->keeps = properties.persistingL2CacheMaxSize > 0;
    uuid_text(uuid, &properties);
    cuda->nvml = nvml_open(uuid);
    return 0;
}

static int cuda_wake(struct device_base *device, struct error *err)
{
    struct cuda *cuda = (struct cuda *)device;
    // A blocking stream: a kernel that strays to the default stream is still timed.
    CUDA_TRY(cuda, cudaStreamCreate(&cuda->stream), err);
    for (int i = 0; i < EACH_MOST; i++) {
        CUDA_TRY(cuda, cudaEventCreate(&cuda->start[i]), err);
        CUDA_TRY(cuda, cudaEventCreate(&cuda->stop[i]), err);
    }
    CUDA_TRY(cuda, cudaEventCreateWithFlags(&cuda->told, cudaEventDisableTiming), err);
    CUDA_TRY(cuda, cudaMalloc(&cuda->flush, cuda->wide_bytes), err);
    CUDA_TRY(cuda, cudaMemset(cuda->flush, 1, cuda->wide_bytes), err);
    CUDA_TRY(cuda, cudaMalloc(&cuda->stamps, STAMPS_BYTES), err);
    CUDA_TRY(cuda, cudaMemset(cuda->stamps, 0, STAMPS_BYTES), err);
    CUDA_TRY(cuda, cudaMalloc(&cuda->differs, sizeof(*cuda->differs)), err);
    CUDA_TRY(cuda, cudaMemset(cuda->differs, 0, sizeof(*cuda->differs)), err);
    CUDA_TRY(cuda, cudaMalloc(&cuda->tally, sizeof(*cuda->tally)), err);
    CUDA_TRY(cuda, cudaMallocHost(&cuda->seen, STAMPS_BYTES), err);
    CUDA_TRY(cuda, cudaHostAlloc((void **)&cuda->go, 2 * sizeof(uint64_t), cudaHostAllocMapped),
             err);
    cuda->late = cuda->go + 1;
    *cuda->go = *cuda->late = 0;
    cuda->hold_ns = HOLD_LIMIT_MS * 1000000ull;
    if (cuda_load_stretch(cuda, err) || cuda_load_noise(cuda, err) || cuda_load_inputs(cuda, err))
        return -1;
    cuda->state = nvml_read(cuda->nvml);
    return 0;
}

static int cuda_open(struct device_base **out, const char *index, bool *no_device,
                     struct error *err)
{
    int count = 0;
    if (choose(index, err))
        return -1;
    cudaError_t code = cudaGetDeviceCount(&count);
    if (code != cudaSuccess || count == 0) {
        *no_device = true;
        return error_set(err,
                         "cuda%s%s: there is no such device (%s); is the driver loaded, and "
                         "does the sandbox show /dev/nvidia*?",
                         index ? ":" : "", index ? index : "",
                         code != cudaSuccess ? cudaGetErrorString(code) : "none is visible");
    }
    struct cuda *cuda = (struct cuda *)xcalloc(1, sizeof(*cuda));
    if (open_known(cuda, err)) {
        *no_device = cuda->base.loss == DEVICE_GONE;
        cuda_close(&cuda->base);
        return -1;
    }
    *out = &cuda->base;
    return 0;
}

static void set_figure(struct figure *figure, double value, const char *source)
{
    if (value > 0)
        *figure = {value, ORIGIN_DEVICE, source};
}

static double attribute(enum cudaDeviceAttr which)
{
    int value = 0;
    return cudaDeviceGetAttribute(&value, which, 0) == cudaSuccess ? value : 0;
}

// Finds cuBLASLt's release where a module would find the library: in the user's folders, then
// in the toolkit's.
static void runtime_text(char *out, size_t size, int version)
{
    const char *set = getenv("LD_LIBRARY_PATH"), *home = getenv("CUDA_HOME");
    char file[32], directories[4096], cublaslt[32];
    snprintf(file, sizeof(file), "libcublasLt.so.%d", version / 1000);
    snprintf(directories, sizeof(directories), "%s:%s%s:/usr/local/cuda/lib64", set ? set : "",
             home ? home : "", home ? "/lib64" : "");
    const bool known = library_version(cublaslt, sizeof(cublaslt), file, directories);
    snprintf(out, size, "CUDA %d.%d%s%s", version / 1000, version % 1000 / 10,
             known ? ", cuBLASLt " : "", cublaslt);
}

static int cuda_info(struct device_info *out, struct device_base *device, struct error *err)
{
    struct cuda *cuda = (struct cuda *)device;
    struct device_info info = {};
    cudaDeviceProp properties;
    int version = 0;
    CUDA_TRY(cuda, cudaGetDeviceProperties(&properties, 0), err);
    CUDA_TRY(cuda, cudaRuntimeGetVersion(&version), err);
    uuid_text(info.uuid, &properties);
    text_copy(info.name, sizeof(info.name), properties.name);
    nvml_driver(cuda->nvml, info.driver, sizeof(info.driver));
    runtime_text(info.runtime, sizeof(info.runtime), version);
    if (cudaDeviceGetPCIBusId(info.bus, sizeof(info.bus), 0) != cudaSuccess)
        info.bus[0] = '\0';
    struct gpu *g = &info.figures;
    g->name = "cuda";
    set_figure(&g->sm_count, cuda->sm_count, "cudaGetDeviceProperties");
    set_figure(&g->clock_max_hz, attribute(cudaDevAttrClockRate) * 1e3, "cudaDevAttrClockRate");
    set_figure(&g->l2_bytes, (double)properties.l2CacheSize, "cudaGetDeviceProperties");
    set_figure(&g->smem_bytes, (double)properties.sharedMemPerBlockOptin,
               "cudaGetDeviceProperties");
    set_figure(&g->registers, properties.regsPerMultiprocessor, "cudaGetDeviceProperties");
    set_figure(&g->dram_bytes_s,
               2 * attribute(cudaDevAttrMemoryClockRate) * 1e3 *
                   attribute(cudaDevAttrGlobalMemoryBusWidth) / 8,
               "memory clock and bus width");
    set_figure(&g->power_w, nvml_power_limit_w(cuda->nvml), "NVML, enforced limit");
    *out = info;
    return 0;
}

// Moves the thread that queues and waits. Threads that the driver has started stay where they are.
static void cuda_own(struct device_base *device, const cpu_set_t *processors)
{
    (void)device;
    if (CPU_COUNT(processors) > 0)
        // if it is refused, the scheduler decides
        sched_setaffinity(0, sizeof(*processors), processors);
}

static size_t cuda_flush_bytes(struct device_base *device)
{
    return ((struct cuda *)device)->flush_bytes;
}

static size_t cuda_free_bytes(struct device_base *device)
{
    (void)device;
    size_t free_bytes = 0, total = 0;
    const size_t most = (size_t)4 << 30;
    if (cudaMemGetInfo(&free_bytes, &total) != cudaSuccess)
        return 0;
    return free_bytes / 4 < most ? free_bytes / 4 : most;
}

static int cuda_alloc(void **out, struct device_base *device, size_t bytes, struct error *err)
{
    void *memory = NULL;
    char what[64];
    snprintf(what, sizeof(what), "memory for %zu MiB", bytes >> 20);
    if (cuda_failed((struct cuda *)device, cudaMalloc(&memory, bytes), what, err))
        return -1;
    *out = memory;
    return 0;
}

static void cuda_free(struct device_base *device, void *memory)
{
    if (device->loss == DEVICE_OK)
        cudaFree(memory);
}

static int cuda_read(struct device_base *device, void *to, const void *from, size_t bytes,
                     struct error *err)
{
    CUDA_TRY((struct cuda *)device, cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost), err);
    return 0;
}

static int cuda_write(struct device_base *device, void *to, const void *from, size_t bytes,
                      struct error *err)
{
    CUDA_TRY((struct cuda *)device, cudaMemcpy(to, from, bytes, cudaMemcpyDefault), err);
    return 0;
}

static int cuda_set(struct device_base *device, void *to, int byte, size_t bytes, struct error *err)
{
    struct cuda *cuda = (struct cuda *)device;
    CUDA_TRY(cuda, cudaMemsetAsync(to, byte, bytes, cuda->stream), err);
    return 0;
}

static void *cuda_stream(struct device_base *device)
{
    return ((struct cuda *)device)->stream;
}

static int cuda_sync(struct device_base *device, struct error *err)
{
    CUDA_TRY((struct cuda *)device, cudaDeviceSynchronize(), err);
    CUDA_TRY((struct cuda *)device, cudaGetLastError(), err);
    return 0;
}

// *out: whether launches can be captured. A launch on the legacy default stream breaks the capture
// of any stream that waits for it.
static int cuda_graphs(bool *out, struct device_base *device,
                       int (*launch)(void *self, uint32_t set, void *stream), void *self,
                       struct error *err)
{
    struct cuda *cuda = (struct cuda *)device;
    cudaGraph_t graph = NULL;
    CUDA_TRY(cuda, cudaStreamBeginCapture(cuda->stream, cudaStreamCaptureModeThreadLocal), err);
    const int code = launch(self, 0, cuda->stream);
    const cudaError_t ended = cudaStreamEndCapture(cuda->stream, &graph);
    *out = !code && ended == cudaSuccess;
    if (graph)
        cudaGraphDestroy(graph);
    cudaGetLastError(); // clears the error that a broken capture leaves
    return 0;
}

// A library's host code may have asked to keep lines in L2 even while twice the L2 is read (llm.c
// #851 saw 3,530 instead of 714 GB/s). This removes the limit and releases such lines.
static int cuda_calm(struct device_base *device, struct error *err)
{
    struct cuda *cuda = (struct cuda *)device;
    size_t limit = 0;
    if (!cuda->keeps)
        return 0;
    CUDA_TRY(cuda, cudaDeviceGetLimit(&limit, cudaLimitPersistingL2CacheSize), err);
    if (limit > 0)
        CUDA_TRY(cuda, cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, 0), err);
    CUDA_TRY(cuda, cudaCtxResetPersistingL2Cache(), err);
    return 0;
}

// Asking NVML takes longer than many kernels run, and its answers change slowly.
static void refresh_state(struct cuda *cuda)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const double now_ns = (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
    if (now_ns - cuda->state_at_ns < STATE_EVERY_MS * 1e6)
        return;
    cuda->state = nvml_read(cuda->nvml);
    cuda->state_at_ns = now_ns;
}

static const unsigned hold_ms[ATTEMPTS] = {20, 100, HOLD_LIMIT_MS};

static int cuda_sample(struct sample *out, struct findings *found, struct device_base *device,
                       const struct batch *batch, int *code, struct error *err)
{
    struct cuda *cuda = (struct cuda *)device;
    struct stretch stretch = {0, 0, 0, true};
    // The host may have been stopped for a while, but not three times. Queueing takes well under a
    // ms, so the first attempts need not wait long for a launch that waits for the device.
    for (int attempt = 0; attempt < ATTEMPTS && stretch.late; attempt++) {
        cuda->hold_ns = hold_ms[attempt] * 1000000ull;
        if (cuda_take(&stretch, cuda, batch, code, err))
            return -1;
    }
    cuda->hold_ns = HOLD_LIMIT_MS * 1000000ull;
    if (stretch.late)
        return error_set(err,
                         "cuda: queueing took so long, %d times, that the device was let go; "
                         "does launch() wait for it?",
                         ATTEMPTS);
    if (!(stretch.seconds > 0) && !*code)
        return error_set(err, "cuda: the events read no time; the kernel ran elsewhere");
    refresh_state(cuda);
    if (batch->look)
        *found = *cuda_findings(cuda->seen);
    found->waited_ns = stretch.waited_ns;
    out->time_ns = stretch.seconds * 1e9 / batch->launches;
    out->clock_hz = stretch.clock_hz;
    out->throttle = (uint8_t)cuda->state.throttle;
    out->temperature_c = (int16_t)cuda->state.temperature_c;
    out->power_mw = cuda->state.power_mw;
    return 0;
}

// Kernels of 10 to 50 us are timed in batches of 6 to 32. With cuBLASLt compared with itself on an
// H200 (292 blocks of 64 pairs, both arms one file, over 60 processes; bf16), the SD of z is 1.07;
// 5.1 % are beyond 2, and 0.3 % beyond 3. The standard error of a block is 0.042 % at 4096^3 (179
// us), 0.05 % at 2048^3 in batches of 12 (25 us), and 0.08-0.09 % at 128x7168x2048 in batches of 26
// (11.7 us), where single launches give 0.33 %.
extern "C" const struct device_ops device_cuda = {
    .kind = "cuda",
    .batch_below_ns = 50e3,
    .sample_ns = 300e3,
    .launches_max = 32,
    .stream_ns = 600e3,
    // Single launches differ by 0.8 to 2 %. So pairs of two launches of TF32 at 4096^3 on an H100
    // scattered by 0.7 to 0.9 %, and those of ten launches by 0.35 %, however much heat came before
    // (baselines/recorded/h100/regimes, "What scatters").
    .stream_most_ns = 2.4e6,
    // After a pause of 0.2 ms, an SM's clock was 1.69 GHz in the first 0.1 ms, and 1.56 GHz in the
    // mean of the next 1.6 ms (TF32 at 2048^3). From 1 ms on, launches took the same time as 10 ms
    // later, within 0.5 %. More heat brings the device to the limit of its mean power, which
    // wanders for seconds: pairs after 16 ms scattered by 1.5 to 2.2 %.
    .heat_ns = 1e6,
    // After a pause of 20 ms or more, an H100's clock was 0.1 to 0.25 GHz higher than pairs keep
    // it, for 65 to 170 ms of pairs. One change was +1.5 to +2.5 % instead of -0.2 %, another -4.5
    // instead of -0.6 % (baselines/recorded/h100/regimes, "What a pause does").
    .settle_ns = 150e6,
    .settle_most_ns = 300e6,
    .stream_least = 6,
    .runup_least = 1,
    // Most of a sample's cost is its rest or its heat, so it holds several launches. With pairs of
    // one launch of 97 us alone (FP8 on an H100), pairs scattered by 3.3 %, and 60 of 60 gates of
    // identical code ended undecided.
    .each_ns = 400e3,
    .rest_ns = 100000000,
    .still_ns = 1e6,
    .touches = true,
    .open = cuda_open,
    .close = cuda_close,
    .wake = cuda_wake,
    .info = cuda_info,
    .graphs = cuda_graphs,
    .own = cuda_own,
    .flush_bytes = cuda_flush_bytes,
    .free_bytes = cuda_free_bytes,
    .alloc = cuda_alloc,
    .alloc_inputs = cuda_alloc,
    .memory = nullptr,
    .free = cuda_free,
    .read = cuda_read,
    .write = cuda_write,
    .set = cuda_set,
    .copy = cuda_copy,
    .same = cuda_same,
    .differ = cuda_differ,
    .fill = cuda_fill,
    .noise = cuda_noise,
    .calm = cuda_calm,
    .reference = cuda_reference,
    .compare = cuda_compare,
    .reference_free = cuda_reference_free,
    .form_reference = cuda_form_reference,
    .form_compare = cuda_form_compare,
    .form_reference_free = cuda_form_reference_free,
    .stream = cuda_stream,
    .sync = cuda_sync,
    .sample = cuda_sample,
    .record = cuda_record,
    .replay_open = cuda_replay_open,
    .replay_launch = cuda_replay_launch,
    .replay_launch_one = cuda_replay_launch_one,
    .replay_free = cuda_replay_free,
    .calibrate = cuda_calibrate,
};
