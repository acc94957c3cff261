// SPDX-License-Identifier: Apache-2.0
//
// The cuda device's micro-benchmarks of arithmetic, by clock64 on an SM, so that they hold at any
// clock.
//
//   fma_latency_clk, fma_clk_ilp_N   clocks per FP32 FMA of one warp, in 1 and N independent
//   chains;
//                                    the loop's own cost is taken off by timing bodies of 32 and 64
//   imad_latency_clk, loop_clk       integer multiply-add; what the loop costs per turn
//   mma_latency_clk                  one mma.sync m16n8k16 (FP16) after another, one warp
//   mma_sync_flops_clk_*             four independent chains in each of 16 warps, per SM
//   wgmma_latency_clk                one wgmma m64n256k16 and its wait, one warpgroup
//   flops_clk_fp32                   FMA, 32 warps of 8 chains, per SM; 256 of them hide the loop
//   flops_clk_tf32, _fp16, _fp8      wgmma m64n256 from shared memory, two warpgroups, per SM
//   cap_clock_*_hz                   the SM clock after 0.3 s of the same on all SMs with random
//   data
#include "kernels/calibrate/calibrate.h"
#include "kernels/device/device_cuda.h"
#include "kernels/device/inputs.h"

enum {
    REPEATS = CALIBRATE_REPEATS,
    LOOPS = 512,
    WGMMA_THREADS = 256,
    WGMMA_LOOPS = 500,
    WGMMA_STEPS = 16
};

// Where a result goes that never comes out: the compiler must not drop the work.
enum { SINK = 4096 };

template <int chains, int body> static __global__ void fma_chain(uint64_t *out, float x, float y)
{
    float sum[chains];
#pragma unroll
    for (int c = 0; c < chains; c++)
        sum[c] = x + (float)c;
    const long long begin = clock64();
#pragma unroll 1
    for (int i = 0; i < LOOPS; i++) {
#pragma unroll
        for (int b = 0; b < body; b++)
            sum[b % chains] = sum[b % chains] * x + y;
    }
    const long long end = clock64();
    float all = 0;
#pragma unroll
    for (int c = 0; c < chains; c++)
        all += sum[c];
    if (all == 12345.678f)
        out[SINK] = 1;
    if (threadIdx.x == 0)
        out[blockIdx.x] = (uint64_t)(end - begin);
}

template <int body> static __global__ void imad_chain(uint64_t *out, int x, int y)
{
    int sum = x;
    const long long begin = clock64();
#pragma unroll 1
    for (int i = 0; i < LOOPS; i++) {
#pragma unroll
        for (int b = 0; b < body; b++)
            sum = sum * x + y;
    }
    const long long end = clock64();
    if (sum == 123456789)
        out[SINK] = 1;
    if (threadIdx.x == 0)
        out[blockIdx.x] = (uint64_t)(end - begin);
}

enum mma_type { MMA_TF32, MMA_FP16, MMA_FP8 };

// One warp-wide 16 x 8 product; k is 8 (TF32), 16 (FP16) or 32 (e4m3).
template <mma_type type>
static __device__ __forceinline__ void mma(float (&c)[4], const unsigned (&a)[4],
                                           const unsigned (&b)[2])
{
#define MMA(shape)                                                                                 \
    asm volatile("mma.sync.aligned." shape                                                         \
                 " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"                          \
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                                  \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
    if constexpr (type == MMA_TF32)
        MMA("m16n8k8.row.col.f32.tf32.tf32.f32");
    else if constexpr (type == MMA_FP16)
        MMA("m16n8k16.row.col.f32.f16.f16.f32");
    else {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
        MMA("m16n8k32.row.col.f32.e4m3.e4m3.f32");
#endif
    }
#undef MMA
}

template <mma_type type, int chains> static __global__ void mma_chain(uint64_t *out, unsigned seed)
{
    unsigned a[4], b[2];
    float c[chains][4] = {};
    for (int i = 0; i < 4; i++)
        a[i] = seed * (threadIdx.x + 1) & 0x3c3c3c3cu; // small finite numbers in every type
    b[0] = a[1];
    b[1] = a[2];
    __syncthreads();
    const long long begin = clock64();
#pragma unroll 1
    for (int i = 0; i < LOOPS; i++) {
#pragma unroll
        for (int j = 0; j < chains; j++)
            mma<type>(c[j], a, b);
    }
    __syncthreads();
    const long long end = clock64();
    float all = 0;
    for (int j = 0; j < chains; j++)
        all += c[j][0] + c[j][1] + c[j][2] + c[j][3];
    if (all == 12345.678f)
        out[SINK] = 1;
    if (threadIdx.x == 0)
        out[blockIdx.x] = (uint64_t)(end - begin);
}

#define EIGHT(i)                                                                                   \
    "+f"(c[i]), "+f"(c[i + 1]), "+f"(c[i + 2]), "+f"(c[i + 3]), "+f"(c[i + 4]), "+f"(c[i + 5]),    \
        "+f"(c[i + 6]), "+f"(c[i + 7])
#define NAMES                                                                                      \
    "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,"   \
    "%25,%26,%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,"     \
    "%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63,%64,%65,%66,%67,%68,"     \
    "%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,"     \
    "%91,%92,%93,%94,%95,%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,"       \
    "%110,%111,%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127"
#define WGMMA(form)                                                                                \
    asm volatile("wgmma.mma_async.sync.aligned.m64n256" form                                       \
                 : EIGHT(0), EIGHT(8), EIGHT(16), EIGHT(24), EIGHT(32), EIGHT(40), EIGHT(48),      \
                   EIGHT(56), EIGHT(64), EIGHT(72), EIGHT(80), EIGHT(88), EIGHT(96), EIGHT(104),   \
                   EIGHT(112), EIGHT(120)                                                          \
                 : "l"(a), "l"(b))

template <mma_type type>
static __device__ __forceinline__ void wgmma(float (&c)[128], uint64_t a, uint64_t b)
{
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    if constexpr (type == MMA_TF32)
        WGMMA("k8.f32.tf32.tf32 {" NAMES "}, %128, %129, 1, 1, 1;");
    else if constexpr (type == MMA_FP16)
        WGMMA("k16.f32.f16.f16 {" NAMES "}, %128, %129, 1, 1, 1, 0, 0;");
    else
        WGMMA("k32.f32.e4m3.e4m3 {" NAMES "}, %128, %129, 1, 1, 1;");
#endif
}

// A K-major tile with 128-byte swizzled rows at this shared address.
static __device__ __forceinline__ uint64_t descriptor(const void *shared)
{
    const uint64_t address = (uint64_t)__cvta_generic_to_shared(shared);
    return (address & 0x3ffff) >> 4 | 1ull << 16 | 64ull << 32 | 1ull << 62;
}

// An A of 64 rows for each of two warpgroups and one B of 256, rows of 128 bytes.
enum { WGMMA_A_BYTES = 2 * 64 * 128, WGMMA_BYTES = WGMMA_A_BYTES + 256 * 128 };

// WGMMA_STEPS products 64 x 256 along one 128-byte slab, `loops` times; `wait_each` waits after
// every one. The operands are random numbers, as power depends on them.
template <mma_type type>
static __global__ void __launch_bounds__(WGMMA_THREADS)
    wgmma_chain(uint64_t *out, int loops, bool wait_each)
{
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    extern __shared__ __align__(1024) unsigned char memory[];
    constexpr int bytes = WGMMA_BYTES;
    constexpr int format = type == MMA_TF32   ? (int)PLUMB_TF32
                           : type == MMA_FP16 ? (int)PLUMB_FP16
                                              : (int)PLUMB_E4M3;
    constexpr int size = type == MMA_TF32 ? 4 : type == MMA_FP16 ? 2 : 1;
    float c[128] = {};
    for (int i = (int)threadIdx.x; i < bytes / size; i += (int)blockDim.x)
        inputs_store(format, memory, (uint64_t)i, blockIdx.x + 1, MATRIX_A);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    const uint64_t a = descriptor(memory + (threadIdx.x / 128) * 64 * 128);
    const uint64_t b = descriptor(memory + WGMMA_A_BYTES);
    const long long begin = clock64();
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll 1
    for (int i = 0; i < loops; i++) {
#pragma unroll
        for (int step = 0; step < WGMMA_STEPS; step++) {
            wgmma<type>(c, a + 2 * (uint64_t)(step % 4), b + 2 * (uint64_t)(step % 4));
            if (wait_each) {
                asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
                asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
            }
        }
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    __syncthreads();
    const long long end = clock64();
    float all = 0;
    for (int i = 0; i < 128; i++)
        all += c[i];
    if (all == 12345.678f)
        out[SINK] = 1;
    if (threadIdx.x == 0)
        out[blockIdx.x] = (uint64_t)(end - begin);
#endif
}

static int fetch_clocks(double *clocks, struct cuda *cuda, struct error *err)
{
    uint64_t found;
    CUDA_TRY(cuda, cudaGetLastError(), err);
    CUDA_TRY(cuda, cudaStreamSynchronize(cuda->stream), err);
    CUDA_TRY(cuda, cudaMemcpy(&found, cuda->stamps, sizeof(found), cudaMemcpyDeviceToHost), err);
    *clocks = (double)found;
    return 0;
}

// One reading: queues a kernel that leaves its clocks in the first stamp, and turns them into the
// figure.
template <class Launch, class Figure>
static int figure(const struct bench_plan *plan, const char *key, const char *note, Launch launch,
                  Figure value, struct error *err)
{
    double values[REPEATS], clocks;
    if (!calibrate_wanted(plan->only, key))
        return 0;
    for (int i = -1; i < REPEATS; i++) {
        launch((uint64_t *)plan->cuda->stamps);
        if (fetch_clocks(&clocks, plan->cuda, err))
            return -1;
        values[i < 0 ? 0 : i] = value(clocks);
    }
    calibrate_send(plan->sink, plan->state, key, values, REPEATS, note);
    return 0;
}

// Clocks per operation of bodies of 32 and 64, so that the loop's own cost cancels.
template <class Short, class Long>
static int chain_figure(const struct bench_plan *plan, const char *key, const char *note,
                        Short short_body, Long long_body, bool loop_cost, struct error *err)
{
    double values[REPEATS], of_32, of_64;
    if (!calibrate_wanted(plan->only, key))
        return 0;
    for (int i = -1; i < REPEATS; i++) {
        short_body((uint64_t *)plan->cuda->stamps);
        if (fetch_clocks(&of_32, plan->cuda, err))
            return -1;
        long_body((uint64_t *)plan->cuda->stamps);
        if (fetch_clocks(&of_64, plan->cuda, err))
            return -1;
        values[i < 0 ? 0 : i] =
            loop_cost ? (2 * of_32 - of_64) / LOOPS : (of_64 - of_32) / (32.0 * LOOPS);
    }
    calibrate_send(plan->sink, plan->state, key, values, REPEATS, note);
    return 0;
}

template <int chains>
static int fma_figure(const struct bench_plan *plan, const char *key, const char *note,
                      bool loop_cost, struct error *err)
{
    cudaStream_t stream = plan->cuda->stream;
    return chain_figure(
        plan, key, note,
        [=](uint64_t *out) { fma_chain<chains, 32><<<1, 32, 0, stream>>>(out, 0.999f, 0.001f); },
        [=](uint64_t *out) { fma_chain<chains, 64><<<1, 32, 0, stream>>>(out, 0.999f, 0.001f); },
        loop_cost, err);
}

static int arithmetic_figures(const struct bench_plan *plan, struct error *err)
{
    struct cuda *cuda = plan->cuda;
    cudaStream_t stream = cuda->stream;
    const unsigned sms = (unsigned)cuda->sm_count;
    if (fma_figure<1>(plan, "fma_latency_clk", "one warp, one chain, loop cost removed", false,
                      err) ||
        fma_figure<2>(plan, "fma_clk_ilp_2", "clocks per FMA, two chains", false, err) ||
        fma_figure<4>(plan, "fma_clk_ilp_4", "clocks per FMA, four chains", false, err) ||
        fma_figure<8>(plan, "fma_clk_ilp_8", "clocks per FMA, eight chains", false, err) ||
        fma_figure<1>(plan, "loop_clk", "cost of one turn of the loop", true, err))
        return -1;
    if (chain_figure(
            plan, "imad_latency_clk", "integer multiply-add, one chain",
            [=](uint64_t *out) { imad_chain<32><<<1, 32, 0, stream>>>(out, 3, 5); },
            [=](uint64_t *out) { imad_chain<64><<<1, 32, 0, stream>>>(out, 3, 5); }, false, err))
        return -1;
    return figure(
        plan, "flops_clk_fp32", "FMA, 32 warps of 8 chains on every SM, 256 a turn",
        [=](uint64_t *out) { fma_chain<8, 256><<<sms, 1024, 0, stream>>>(out, 0.999f, 0.001f); },
        [=](double clocks) { return 2.0 * 1024 * 256 * LOOPS / clocks; }, err);
}

template <mma_type type>
static int mma_rate(const struct bench_plan *plan, const char *key, int k, struct error *err)
{
    cudaStream_t stream = plan->cuda->stream;
    const unsigned sms = (unsigned)plan->cuda->sm_count;
    return figure(
        plan, key, "mma.sync, 16 warps of 4 chains on every SM",
        [=](uint64_t *out) { mma_chain<type, 4><<<sms, 512, 0, stream>>>(out, 0x01020304u); },
        [=](double clocks) { return 2.0 * 16 * 8 * k * 4 * 16 * LOOPS / clocks; }, err);
}

static int mma_figures(const struct bench_plan *plan, struct error *err)
{
    cudaStream_t stream = plan->cuda->stream;
    if (figure(
            plan, "mma_latency_clk", "mma.sync m16n8k16 FP16, one warp, one chain",
            [=](uint64_t *out) { mma_chain<MMA_FP16, 1><<<1, 32, 0, stream>>>(out, 0x01020304u); },
            [](double clocks) { return clocks / LOOPS; }, err))
        return -1;
    return mma_rate<MMA_TF32>(plan, "mma_sync_flops_clk_tf32", 8, err) ||
                   mma_rate<MMA_FP16>(plan, "mma_sync_flops_clk_fp16", 16, err) ||
                   mma_rate<MMA_FP8>(plan, "mma_sync_flops_clk_fp8", 32, err)
               ? -1
               : 0;
}

// Rate, and the clock that is left after 0.3 s of it: the last stretch of many.
template <mma_type type>
static int wgmma_figures(const struct bench_plan *plan, const char *rate_key, const char *clock_key,
                         int k, struct error *err)
{
    struct cuda *cuda = plan->cuda;
    cudaStream_t stream = cuda->stream;
    const unsigned sms = (unsigned)cuda->sm_count;
    CUDA_TRY(cuda,
             cudaFuncSetAttribute(wgmma_chain<type>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  WGMMA_BYTES),
             err);
    auto launch = [=](uint64_t *out) {
        wgmma_chain<type><<<sms, WGMMA_THREADS, WGMMA_BYTES, stream>>>(out, WGMMA_LOOPS, false);
    };
    if (figure(
            plan, rate_key, "wgmma m64n256 from shared memory, 2 warpgroups on every SM", launch,
            [=](double clocks) {
                return 2.0 * 64 * 256 * k * WGMMA_STEPS * 2 * WGMMA_LOOPS / clocks;
            },
            err))
        return -1;
    if (!calibrate_wanted(plan->only, clock_key))
        return 0;
    double values[REPEATS];
    for (int i = 0; i < REPEATS; i++) {
        struct stretch stretch;
        for (double spent_s = 0; spent_s < (i ? 0.1 : 0.3);) {
            int failed = cuda_begin(cuda, FLUSH_NONE, err);
            for (int j = 0; j < 20 && !failed; j++)
                launch((uint64_t *)cuda->flush); // not the stamps, which are in use
            if (cuda_end(&stretch, cuda, err) || failed)
                return -1;
            spent_s += stretch.seconds;
        }
        values[i] = stretch.clock_hz;
    }
    calibrate_send(plan->sink, plan->state, clock_key, values, REPEATS,
                   "after 0.3 s of wgmma on random data from shared memory, no DRAM traffic");
    return 0;
}

static bool has_wgmma(void)
{
    int major = 0;
    cudaFuncAttributes attributes;
    cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0);
    const bool there = cudaFuncGetAttributes(&attributes, wgmma_chain<MMA_FP16>) == cudaSuccess;
    return major == 9 && there;
}

int calibrate_cuda_compute(const struct bench_plan *plan, struct error *err)
{
    cudaStream_t stream = plan->cuda->stream;
    if (arithmetic_figures(plan, err) || mma_figures(plan, err))
        return -1;
    if (!has_wgmma())
        return 0;
    if (wgmma_figures<MMA_TF32>(plan, "flops_clk_tf32", "cap_clock_tf32_hz", 8, err) ||
        wgmma_figures<MMA_FP16>(plan, "flops_clk_fp16", "cap_clock_fp16_hz", 16, err) ||
        wgmma_figures<MMA_FP8>(plan, "flops_clk_fp8", "cap_clock_fp8_hz", 32, err))
        return -1;
    return figure(
        plan, "wgmma_latency_clk", "wgmma m64n256k16 FP16 and its wait, one warpgroup",
        [=](uint64_t *out) {
            wgmma_chain<MMA_FP16><<<1, 128, WGMMA_BYTES, stream>>>(out, 200, true);
        },
        [](double clocks) { return clocks / (WGMMA_STEPS * 200); }, err);
}
