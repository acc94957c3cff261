// SPDX-License-Identifier: Apache-2.0
//
// The cuda device's reference: every element, in float64, by a kernel as plain as speed allows (64
// x 64 tiles in shared memory). It is trusted because samples of it are computed a second time on
// the host, from the generator and not from the device's memory. So an error in filling, in the
// layout or in this kernel is noticed.
#include "kernels/device/device_cuda.h"

enum { TILE = 64, SLAB = 16, SIDE = 16, EACH = TILE / SIDE, SPOTS = 24, THREADS = 256 };

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

int cuda_reference(struct reference **out, struct device_base *device,
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
    if (cuda_failed(cuda, cudaMalloc(&r->exact, check_count_c(problem) * sizeof(double)),
                    "memory for the reference", err) ||
        compute(cuda, r, args, err) || (seed && spot_check(cuda, r, *seed, err))) {
        cuda_reference_free(device, r);
        return -1;
    }
    *out = r;
    return 0;
}

void cuda_reference_free(struct device_base *device, struct reference *r)
{
    (void)device;
    cudaFree(r->exact);
    free(r);
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

int cuda_compare(struct comparison *out, struct device_base *device, const struct reference *r,
                 const void *c, const struct inputs_signs *signs, double tolerance,
                 struct error *err)
{
    struct cuda *cuda = (struct cuda *)device;
    const struct problem *p = &r->problem;
    struct wrong_places found = {0, 0, ~0ull};
    struct wrong_places *on_device = (struct wrong_places *)cuda->stamps; // scratch between samples
    double got = 0, wanted = 0;
    CUDA_TRY(cuda, cudaMemcpy(on_device, &found, sizeof(found), cudaMemcpyHostToDevice), err);
    compare_all<<<cuda_at_once(cuda), THREADS, 0, cuda->stream>>>(
        on_device, r->exact, r->key, c, (int)p->out, check_count_c(p), (uint64_t)p->n, *signs,
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
