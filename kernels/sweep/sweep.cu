// SPDX-License-Identifier: Apache-2.0
//
// sweep: every kernel of the given modules on every given problem, beside cuBLASLt, for people who
// work on the kernels and for recording whole tables. (`bench` and `plumb` compare two builds of
// one kernel; this compares many kernels of one build, which needs no statistics beyond medians.)
//
//   nvcc -std=c++20 -O2 --generate-code=arch=compute_90a,code=sm_90a sweep.cu -o sweep
//     -lcublasLt -ldl
//
//   sweep check MODULE...                         correctness on awkward sizes
//   sweep soak COUNT M N K MODULE...              COUNT launches, each compared with the first
//   sweep time ROUNDS PROBLEMS MODULE...          CSV on stdout; PROBLEMS: file of "m n k" lines
//   sweep run M N K MODULE KERNEL                 one launch, for the profiler and the sanitizer
//
// Timing: each round visits all arms in random order, but for those half as slow again as the best;
// before each launch 126 MB are read (no dirty lines, twice the L2), the stream is held while the
// launch is queued, and one SM's clock64 and globaltimer are read just before and after. Inputs are
// normal; outputs are poisoned and checked.
#include <cublasLt.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "../kernel.h"

#define CHECK(call)                                                                                \
    do {                                                                                           \
        const int error_ = (int)(call);                                                            \
        if (error_) {                                                                              \
            fprintf(stderr, "%s:%d: %s: error %d (%s)\n", __FILE__, __LINE__, #call, error_,       \
                    cudaGetErrorString((cudaError_t)error_));                                      \
            exit(4);                                                                               \
        }                                                                                          \
    } while (0)

// ---- data ----

__device__ uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15ull; // splitmix64, Steele et al. 2014
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

__device__ float normal(uint64_t seed, uint64_t i)
{
    const uint64_t bits = mix(seed * 0x100000001b3ull + i);
    const float u = ((bits >> 40) + 1) * 0x1p-24f, v = (bits & 0xffffff) * 0x1p-24f;
    return sqrtf(-2 * logf(u)) * cospif(2 * v);
}

__global__ void fill(void *data, int type, size_t count, uint64_t seed)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count;
         i += (size_t)gridDim.x * blockDim.x) {
        const float x = normal(seed, i);
        if (type == PLUMB_BF16)
            ((__nv_bfloat16 *)data)[i] = __float2bfloat16_rn(x);
        else if (type == PLUMB_FP16)
            ((__half *)data)[i] = __float2half_rn(x);
        else if (type == PLUMB_E4M3)
            ((__nv_fp8_e4m3 *)data)[i] = __nv_fp8_e4m3(x * 96);
        else
            ((float *)data)[i] = x;
    }
}

__device__ double load(const void *data, int type, size_t i)
{
    if (type == PLUMB_BF16)
        return __bfloat162float(((const __nv_bfloat16 *)data)[i]);
    if (type == PLUMB_FP16)
        return __half2float(((const __half *)data)[i]);
    if (type == PLUMB_E4M3)
        return (float)((const __nv_fp8_e4m3 *)data)[i];
    return ((const float *)data)[i];
}

// Compares `count` outputs (all of them, or a random choice) with a float64 sum; one warp each.
// bad counts those off by more than rounding allows, worst keeps the largest error / scale.
__global__ void compare(plumb_problem p, const void *a, const void *b, const void *c, double scale,
                        double tolerance, double rounding, size_t count, uint64_t seed,
                        unsigned long long *bad, float *worst)
{
    const size_t warps = (size_t)gridDim.x * blockDim.x / 32, all = (size_t)p.m * p.n;
    for (size_t w = (blockIdx.x * (size_t)blockDim.x + threadIdx.x) / 32; w < count; w += warps) {
        const size_t i = count == all ? w : mix(seed + w) % all;
        const size_t row = i / p.n, column = i % p.n;
        double sum = 0, squares = 0;
        for (int64_t k = threadIdx.x % 32; k < p.k; k += 32) {
            const double x =
                load(a, p.in_type, row * p.k + k) * load(b, p.in_type, column * p.k + k);
            sum += x;
            squares += x * x;
        }
        for (int d = 16; d; d /= 2) {
            sum += __shfl_xor_sync(~0u, sum, d);
            squares += __shfl_xor_sync(~0u, squares, d);
        }
        if (threadIdx.x % 32)
            continue;
        const double value = load(c, p.out_type, i), spread = sqrt(squares) * scale;
        const double error = fabs(value - sum * scale);
        if (!(error <= rounding * fabs(sum * scale) + tolerance * spread + 1e-30))
            atomicAdd(bad, 1ull);
        const float relative = error / (spread + 1e-30);
        atomicMax((int *)worst, __float_as_int(relative == relative ? relative : INFINITY));
    }
}

__global__ void differ(const uint32_t *x, const uint32_t *y, size_t words, unsigned long long *bad)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < words;
         i += (size_t)gridDim.x * blockDim.x)
        if (x[i] != y[i])
            atomicAdd(bad, 1ull);
}

__global__ void read_flush(const uint4 *data, size_t count, uint32_t *sink)
{
    uint32_t x = 0;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count;
         i += (size_t)gridDim.x * blockDim.x)
        x ^= data[i].x ^ data[i].y ^ data[i].z ^ data[i].w;
    if (x == 0x12345)
        *sink = x;
}

__device__ uint64_t now_ns()
{
    uint64_t t;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
    return t;
}

__global__ void hold(uint64_t ns)
{
    const uint64_t start = now_ns();
    while (now_ns() - start < ns)
        ;
}

__global__ void stamp(uint64_t *out)
{
    uint32_t sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    out[0] = clock64();
    out[1] = now_ns();
    out[2] = sm;
}

static size_t type_bytes(int type)
{
    return type == PLUMB_E4M3 || type == PLUMB_E5M2   ? 1
           : type == PLUMB_BF16 || type == PLUMB_FP16 ? 2
                                                      : 4;
}

// ---- modules and arms ----

struct arm {
    std::string name;
    const plumb_kernel *kernel; // NULL: cuBLASLt
    cublasLtMatmulAlgo_t algorithm;
    std::vector<float> us;
    std::vector<float> ghz;
    float guess; // us
};

static std::vector<const plumb_kernel *> open_modules(char **paths, int count)
{
    std::vector<const plumb_kernel *> kernels;
    for (int i = 0; i < count; ++i) {
        void *module = dlopen(paths[i], RTLD_NOW | RTLD_LOCAL);
        if (!module) {
            fprintf(stderr, "%s\n", dlerror());
            exit(4);
        }
        const auto function = (plumb_library_function)dlsym(module, "plumb_library");
        const struct plumb_library *library = function();
        for (uint32_t k = 0; k < library->count; ++k)
            kernels.push_back(&library->kernels[k]);
    }
    return kernels;
}

// Device memory for the largest problem, made once.
struct device_memory {
    void *a, *b, *c, *first, *workspace;
    float *scale;
    uint4 *flush;
    size_t flush_bytes;
    uint64_t *stamps;
    unsigned long long *bad;
    float *worst;
    cudaStream_t stream;
    cublasLtHandle_t lt;
};

constexpr size_t workspace_bytes = 64 << 20;

static device_memory allocate(size_t a, size_t b, size_t c)
{
    device_memory d = {};
    int l2 = 0;
    CHECK(cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, 0));
    d.flush_bytes = 2 * (size_t)l2;
    CHECK(cudaMalloc(&d.a, a));
    CHECK(cudaMalloc(&d.b, b));
    CHECK(cudaMalloc(&d.c, c));
    CHECK(cudaMalloc(&d.first, c));
    CHECK(cudaMalloc(&d.workspace, workspace_bytes));
    CHECK(cudaMalloc(&d.scale, sizeof(float)));
    CHECK(cudaMalloc(&d.flush, d.flush_bytes));
    CHECK(cudaMalloc(&d.stamps, 6 * sizeof(uint64_t)));
    CHECK(cudaMalloc(&d.bad, sizeof *d.bad));
    CHECK(cudaMalloc(&d.worst, sizeof *d.worst));
    CHECK(cudaMemset(d.flush, 1, d.flush_bytes));
    CHECK(cudaMemset(d.workspace, 0x5a, workspace_bytes));
    const float scale = 1.0f / 96;
    CHECK(cudaMemcpy(d.scale, &scale, sizeof scale, cudaMemcpyHostToDevice));
    CHECK(cudaStreamCreate(&d.stream));
    CHECK(cublasLtCreate(&d.lt));
    return d;
}

static plumb_args make_args(const device_memory &d, const plumb_problem &p)
{
    plumb_args args = {};
    args.problem = p;
    args.a = d.a;
    args.b = d.b;
    args.c = d.c;
    args.scale_a = args.scale_b = p.in_type == PLUMB_E4M3 ? d.scale : nullptr;
    args.workspace = d.workspace;
    args.workspace_bytes = workspace_bytes;
    return args;
}

static void make_inputs(const device_memory &d, const plumb_problem &p)
{
    fill<<<1024, 256, 0, d.stream>>>(d.a, p.in_type, (size_t)p.m * p.k, 1);
    fill<<<1024, 256, 0, d.stream>>>(d.b, p.in_type, (size_t)p.n * p.k, 2);
    CHECK(cudaGetLastError());
}

// ---- correctness ----

// Errors are judged against sqrt(sum (a b)^2), the size of a random sum: inputs rounded to TF32
// give 2^-11 twice per product; FP8's fast sums keep about 14 bits at each of k / 32 steps; the
// output rounds once.
static double tolerance(const plumb_problem &p)
{
    const double accumulate = 0x1p-23 * (double)p.k / 8;
    if (p.in_type == PLUMB_TF32)
        return 6 * 0x1p-11 + accumulate;
    if (p.in_type == PLUMB_E4M3)
        return 8 * 0x1p-11 + 4 * 0x1p-14 * (double)p.k / 32;
    return 0x1p-15 + accumulate;
}

// Loads without TMA leave rounding to the tensor core, which truncates TF32 towards zero.
static double rounding(const plumb_problem &p)
{
    if (p.in_type == PLUMB_TF32)
        return 0x1p-9;
    const int out_type = p.out_type;
    return out_type == PLUMB_BF16 ? 0x1p-8 : out_type == PLUMB_FP16 ? 0x1p-11 : 0x1p-22;
}

static bool verify(const device_memory &d, const plumb_problem &p, const char *name, bool loud)
{
    const size_t all = (size_t)p.m * p.n, limit = 5000000000ull / p.k;
    const size_t count = all < limit ? all : std::min<size_t>({all, 65536, 500000000ull / p.k});
    const double scale = p.in_type == PLUMB_E4M3 ? 1.0 / 96 / 96 : 1;
    CHECK(cudaMemsetAsync(d.bad, 0, sizeof *d.bad, d.stream));
    CHECK(cudaMemsetAsync(d.worst, 0, sizeof *d.worst, d.stream));
    compare<<<2048, 256, 0, d.stream>>>(p, d.a, d.b, d.c, scale, tolerance(p), rounding(p), count,
                                        7, d.bad, d.worst);
    unsigned long long bad;
    float worst;
    CHECK(cudaMemcpyAsync(&bad, d.bad, sizeof bad, cudaMemcpyDeviceToHost, d.stream));
    CHECK(cudaMemcpyAsync(&worst, d.worst, sizeof worst, cudaMemcpyDeviceToHost, d.stream));
    CHECK(cudaStreamSynchronize(d.stream));
    if (bad || loud)
        fprintf(stderr, "%s %s %ldx%ldx%ld: %llu of %zu wrong, worst %.2e\n", bad ? "WRONG" : "ok",
                name, (long)p.m, (long)p.n, (long)p.k, bad, count, worst);
    return bad == 0;
}

static plumb_problem problem_for(const plumb_kernel *kernel, long m, long n, long k)
{
    plumb_problem p = {};
    p.m = m;
    p.n = n;
    p.k = k;
    p.in_type = kernel->traits.in_type;
    p.out_type = kernel->traits.out_type;
    p.layout = PLUMB_TN;
    p.batch = 1;
    return p;
}

static bool launch_once(const device_memory &d, const plumb_kernel *kernel, const plumb_problem &p)
{
    const plumb_args args = make_args(d, p);
    const size_t c_bytes = (size_t)p.m * p.n * type_bytes(p.out_type);
    CHECK(cudaMemsetAsync(d.c, 0xff, c_bytes + 256, d.stream));
    const int error = kernel->launch(&args, d.stream);
    if (error) {
        fprintf(stderr, "WRONG %s %ldx%ldx%ld: launch error %d\n", kernel->name, (long)p.m,
                (long)p.n, (long)p.k, error);
        return false;
    }
    CHECK(cudaStreamSynchronize(d.stream));
    unsigned char after[256];
    CHECK(cudaMemcpy(after, (char *)d.c + c_bytes, sizeof after, cudaMemcpyDeviceToHost));
    for (unsigned char byte : after)
        if (byte != 0xff) {
            fprintf(stderr, "WRONG %s %ldx%ldx%ld: wrote behind C\n", kernel->name, (long)p.m,
                    (long)p.n, (long)p.k);
            return false;
        }
    return true;
}

static int check(const std::vector<const plumb_kernel *> &kernels)
{
    static const long sizes[][3] = {
        {128, 256, 64},   {1, 8, 16},       {64, 64, 64},      {127, 129, 48},   {1, 4096, 7168},
        {257, 263, 1040}, {4096, 576, 512}, {1000, 2112, 784}, {17, 7168, 2048}, {128, 130, 16384},
        {769, 3001, 272}, {2048, 2048, 96}, {33, 1536, 4096},  {3840, 4224, 176}};
    const device_memory d = allocate(256 << 20, 256 << 20, 128 << 20);
    int wrong = 0, done = 0;
    for (const plumb_kernel *kernel : kernels)
        for (const auto &s : sizes) {
            const plumb_problem p = problem_for(kernel, s[0], s[1], s[2]);
            if (!kernel->supports(&p) ||
                (kernel->workspace && kernel->workspace(&p) > workspace_bytes))
                continue;
            make_inputs(d, p);
            ++done;
            if (!launch_once(d, kernel, p) || !verify(d, p, kernel->name, false))
                ++wrong;
        }
    printf("check: %d wrong of %d (%zu kernels)\n", wrong, done, kernels.size());
    return wrong ? 3 : 0;
}

static int soak(long count, long m, long n, long k,
                const std::vector<const plumb_kernel *> &kernels)
{
    const device_memory d = allocate((size_t)m * k * 4, (size_t)n * k * 4, (size_t)m * n * 4 + 256);
    int wrong = 0;
    for (const plumb_kernel *kernel : kernels) {
        const plumb_problem p = problem_for(kernel, m, n, k);
        const plumb_args args = make_args(d, p);
        const size_t bytes = (size_t)m * n * type_bytes(p.out_type);
        if (!kernel->supports(&p))
            continue;
        make_inputs(d, p);
        if (!launch_once(d, kernel, p) || !verify(d, p, kernel->name, false)) {
            ++wrong;
            continue;
        }
        CHECK(cudaMemcpyAsync(d.first, d.c, bytes, cudaMemcpyDeviceToDevice, d.stream));
        CHECK(cudaMemsetAsync(d.bad, 0, sizeof *d.bad, d.stream));
        for (long i = 0; i < count; ++i) {
            CHECK(cudaMemsetAsync(d.c, 0xff, bytes, d.stream));
            CHECK(kernel->launch(&args, d.stream));
            differ<<<512, 256, 0, d.stream>>>((uint32_t *)d.c, (uint32_t *)d.first, bytes / 4,
                                              d.bad);
        }
        unsigned long long bad;
        CHECK(cudaMemcpyAsync(&bad, d.bad, sizeof bad, cudaMemcpyDeviceToHost, d.stream));
        CHECK(cudaStreamSynchronize(d.stream));
        printf("soak %s %ldx%ldx%ld: %ld launches, %llu words differ\n", kernel->name, m, n, k,
               count, bad);
        wrong += bad != 0;
    }
    return wrong ? 3 : 0;
}

// ---- cuBLASLt ----

static cudaDataType_t blas_type(int type)
{
    return type == PLUMB_BF16   ? CUDA_R_16BF
           : type == PLUMB_FP16 ? CUDA_R_16F
           : type == PLUMB_E4M3 ? CUDA_R_8F_E4M3
                                : CUDA_R_32F;
}

// cuBLASLt is column-major: C^T (n x m) = B (k x n, transposed) * A^T (k x m).
struct blas_problem {
    cublasLtMatmulDesc_t operation;
    cublasLtMatrixLayout_t a, b, c;
};

static blas_problem describe(const device_memory &d, const plumb_problem &p, bool fast)
{
    blas_problem blas;
    const cublasOperation_t transpose = CUBLAS_OP_T;
    CHECK(cublasLtMatmulDescCreate(
        &blas.operation,
        p.in_type == PLUMB_TF32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUDA_R_32F));
    CHECK(cublasLtMatmulDescSetAttribute(blas.operation, CUBLASLT_MATMUL_DESC_TRANSA, &transpose,
                                         sizeof transpose));
    if (p.in_type == PLUMB_E4M3) {
        const int8_t fast_sums = fast;
        CHECK(cublasLtMatmulDescSetAttribute(blas.operation, CUBLASLT_MATMUL_DESC_FAST_ACCUM,
                                             &fast_sums, sizeof fast_sums));
        const void *scale = d.scale;
        CHECK(cublasLtMatmulDescSetAttribute(blas.operation, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER,
                                             &scale, sizeof scale));
        CHECK(cublasLtMatmulDescSetAttribute(blas.operation, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER,
                                             &scale, sizeof scale));
    }
    CHECK(cublasLtMatrixLayoutCreate(&blas.a, blas_type(p.in_type), p.k, p.n, p.k));
    CHECK(cublasLtMatrixLayoutCreate(&blas.b, blas_type(p.in_type), p.k, p.m, p.k));
    CHECK(cublasLtMatrixLayoutCreate(&blas.c, blas_type(p.out_type), p.n, p.m, p.n));
    return blas;
}

static void destroy(blas_problem &blas)
{
    cublasLtMatmulDescDestroy(blas.operation);
    cublasLtMatrixLayoutDestroy(blas.a);
    cublasLtMatrixLayoutDestroy(blas.b);
    cublasLtMatrixLayoutDestroy(blas.c);
}

static std::vector<arm> blas_arms(const device_memory &d, const blas_problem &blas,
                                  const char *name)
{
    cublasLtMatmulPreference_t preference;
    CHECK(cublasLtMatmulPreferenceCreate(&preference));
    const size_t bytes = workspace_bytes;
    CHECK(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                               &bytes, sizeof bytes));
    cublasLtMatmulHeuristicResult_t results[32];
    int found = 0;
    if (cublasLtMatmulAlgoGetHeuristic(d.lt, blas.operation, blas.a, blas.b, blas.c, blas.c,
                                       preference, 32, results, &found) != CUBLAS_STATUS_SUCCESS)
        found = 0;
    cublasLtMatmulPreferenceDestroy(preference);
    std::vector<arm> arms;
    for (int i = 0; i < found; ++i)
        if (results[i].state == CUBLAS_STATUS_SUCCESS)
            arms.push_back(
                {name + std::string("#") + std::to_string(i), nullptr, results[i].algo, {}, {}, 0});
    return arms;
}

static int launch(const device_memory &d, const arm &arm, const plumb_args &args,
                  const blas_problem &blas)
{
    if (arm.kernel)
        return arm.kernel->launch(&args, d.stream);
    const float one = 1, zero = 0;
    return cublasLtMatmul(d.lt, blas.operation, &one, args.b, blas.a, args.a, blas.b, &zero, args.c,
                          blas.c, args.c, blas.c, &arm.algorithm, d.workspace, workspace_bytes,
                          d.stream);
}

// ---- timing ----

static void sample(const device_memory &d, arm &arm, const plumb_args &args,
                   const blas_problem &blas, bool keep)
{
    static cudaEvent_t events[2] = {};
    if (!events[0]) {
        CHECK(cudaEventCreate(&events[0]));
        CHECK(cudaEventCreate(&events[1]));
    }
    read_flush<<<1024, 512, 0, d.stream>>>(d.flush, d.flush_bytes / sizeof(uint4),
                                           (uint32_t *)d.bad);
    hold<<<1, 1, 0, d.stream>>>(20000);
    stamp<<<1, 1, 0, d.stream>>>(d.stamps);
    CHECK(cudaEventRecord(events[0], d.stream));
    CHECK(launch(d, arm, args, blas));
    CHECK(cudaEventRecord(events[1], d.stream));
    stamp<<<1, 1, 0, d.stream>>>(d.stamps + 3);
    uint64_t stamps[6];
    CHECK(cudaMemcpyAsync(stamps, d.stamps, sizeof stamps, cudaMemcpyDeviceToHost, d.stream));
    CHECK(cudaStreamSynchronize(d.stream));
    float ms;
    CHECK(cudaEventElapsedTime(&ms, events[0], events[1]));
    if (!keep)
        return;
    arm.us.push_back(ms * 1000);
    if (stamps[2] == stamps[5] && stamps[4] > stamps[1])
        arm.ghz.push_back((double)(stamps[3] - stamps[0]) / (stamps[4] - stamps[1]));
}

static float median(std::vector<float> values)
{
    if (values.empty())
        return NAN;
    std::sort(values.begin(), values.end());
    const size_t n = values.size();
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

static void rounds(const device_memory &d, std::vector<arm> &arms, const plumb_args &args,
                   const blas_problem &blas, int count, int warm)
{
    static std::mt19937 random(20261121);
    std::vector<int> order(arms.size());
    for (size_t i = 0; i < arms.size(); ++i)
        order[i] = (int)i;
    for (int round = 0; round < warm + count; ++round) {
        float best = INFINITY;
        for (const arm &a : arms)
            if (!a.us.empty())
                best = fminf(best, median(a.us));
        std::shuffle(order.begin(), order.end(), random);
        for (int i : order)
            if (arms[i].us.empty() || median(arms[i].us) < 1.5f * best)
                sample(d, arms[i], args, blas, round >= warm);
    }
}

// The fastest `keep` of cuBLASLt's algorithms, timed cold; the first heuristic ("default") always.
static std::vector<arm> best_blas(const device_memory &d, const plumb_args &args,
                                  const blas_problem &blas, const char *name)
{
    std::vector<arm> all = blas_arms(d, blas, name);
    rounds(d, all, args, blas, 4, 1);
    std::vector<arm> kept;
    if (all.empty())
        return kept;
    std::stable_sort(all.begin() + 1, all.end(),
                     [](const arm &x, const arm &y) { return median(x.us) < median(y.us); });
    for (size_t i = 0; i < all.size() && i < 3; ++i) {
        all[i].guess = median(all[i].us);
        all[i].us.clear();
        all[i].ghz.clear();
        kept.push_back(all[i]);
    }
    return kept;
}

// Kernels that are prepared (the library's, by a wide search) say by themselves what they support.
static bool takes(const plumb_kernel *kernel, const plumb_problem &p)
{
    const bool typed = !kernel->prepare;
    return (!typed ||
            (kernel->traits.in_type == p.in_type && kernel->traits.out_type == p.out_type)) &&
           kernel->supports(&p) && (!kernel->workspace || kernel->workspace(&p) <= workspace_bytes);
}

static bool prepared(const device_memory &d, const plumb_kernel *kernel, const plumb_args &args)
{
    char note[512] = "";
    if (!kernel->prepare)
        return true;
    const int code = kernel->prepare(&args, d.stream, nullptr, note, sizeof note);
    fprintf(stderr, "%d,%ld,%ld,%ld,%s: %d %s\n", args.problem.in_type, (long)args.problem.m,
            (long)args.problem.n, (long)args.problem.k, kernel->name, code, note);
    return code == 0;
}

static void time_problem(const device_memory &d, const std::vector<const plumb_kernel *> &kernels,
                         const plumb_problem &p, int count)
{
    const plumb_args args = make_args(d, p);
    make_inputs(d, p);
    const bool fp8 = p.in_type == PLUMB_E4M3;
    blas_problem blas = describe(d, p, true), exact = describe(d, p, false);
    std::vector<arm> arms = best_blas(d, args, blas, fp8 ? "cublaslt-fast" : "cublaslt");
    const size_t fast_arms = arms.size();
    for (const plumb_kernel *kernel : kernels) {
        if (!takes(kernel, p) || !prepared(d, kernel, args))
            continue;
        if (launch_once(d, kernel, p) && verify(d, p, kernel->name, false))
            arms.push_back({kernel->name, kernel, {}, {}, {}, 0});
    }
    count = std::max(3, std::min(count, arms.empty() ? count : (int)(20000 / arms.front().guess)));
    for (arm &a : arms) { // one cold sample each; hopeless arms get no more
        sample(d, a, args, blas, false);
        sample(d, a, args, blas, true);
    }
    rounds(d, arms, args, blas, count, 0);
    if (fp8) {
        std::vector<arm> accurate = best_blas(d, args, exact, "cublaslt-exact");
        rounds(d, accurate, args, exact, count, 1);
        arms.insert(arms.end(), accurate.begin(), accurate.end());
    }
    float best = INFINITY;
    for (size_t i = 0; i < fast_arms; ++i)
        best = fminf(best, median(arms[i].us));
    for (const arm &a : arms) {
        const float us = median(a.us);
        printf("%d,%ld,%ld,%ld,%s,%.2f,%.1f,%.4f,%.3f,%.2f,%zu\n", p.in_type, (long)p.m, (long)p.n,
               (long)p.k, a.name.c_str(), us, 2e-6 * p.m * p.n * p.k / us, best / us, median(a.ghz),
               *std::min_element(a.us.begin(), a.us.end()), a.us.size());
    }
    fflush(stdout);
    destroy(blas);
    destroy(exact);
}

static int time_all(int count, const char *path, const std::vector<const plumb_kernel *> &kernels)
{
    FILE *file = fopen(path, "r");
    if (!file) {
        fprintf(stderr, "%s: cannot be read\n", path);
        return 4;
    }
    std::vector<plumb_problem> problems;
    std::vector<int> types;
    for (const plumb_kernel *kernel : kernels)
        if (!kernel->prepare &&
            std::find(types.begin(), types.end(), kernel->traits.in_type) == types.end())
            types.push_back(kernel->traits.in_type);
    size_t a = 0, b = 0, c = 0;
    char line[256];
    while (fgets(line, sizeof line, file)) {
        long m, n, k;
        if (sscanf(line, "%ld %ld %ld", &m, &n, &k) != 3)
            continue;
        for (int type : types) {
            const plumb_kernel *first = *std::find_if(
                kernels.begin(), kernels.end(), [&](auto *x) { return x->traits.in_type == type; });
            problems.push_back(problem_for(first, m, n, k));
            a = std::max(a, (size_t)m * k * type_bytes(type));
            b = std::max(b, (size_t)n * k * type_bytes(type));
            c = std::max(c, (size_t)m * n * 4);
        }
    }
    fclose(file);
    const device_memory d = allocate(a, b, c + 256);
    printf("in_type,m,n,k,kernel,us,tflops,ratio,ghz,min_us,samples\n");
    for (const plumb_problem &p : problems)
        time_problem(d, kernels, p, count);
    return 0;
}

int main(int argc, char **argv)
{
    const std::string verb = argc > 1 ? argv[1] : "";
    if (verb == "check" && argc > 2)
        return check(open_modules(argv + 2, argc - 2));
    if (verb == "soak" && argc > 6)
        return soak(atol(argv[2]), atol(argv[3]), atol(argv[4]), atol(argv[5]),
                    open_modules(argv + 6, argc - 6));
    if (verb == "time" && argc > 4)
        return time_all(atoi(argv[2]), argv[3], open_modules(argv + 4, argc - 4));
    if (verb == "run" && argc == 7) {
        const long m = atol(argv[2]), n = atol(argv[3]), k = atol(argv[4]);
        const device_memory d =
            allocate((size_t)m * k * 4, (size_t)n * k * 4, (size_t)m * n * 4 + 256);
        for (const plumb_kernel *kernel : open_modules(argv + 5, 1)) {
            const plumb_problem p = problem_for(kernel, m, n, k);
            if (strcmp(kernel->name, argv[6]) || !kernel->supports(&p))
                continue;
            make_inputs(d, p);
            return launch_once(d, kernel, p) && verify(d, p, kernel->name, true) ? 0 : 3;
        }
        fprintf(stderr, "%s: no such kernel for this problem\n", argv[6]);
        return 4;
    }
    fprintf(stderr, "usage: sweep check|soak|time|run ...; the file's head says how\n");
    return 4;
}
