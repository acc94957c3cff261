// SPDX-License-Identifier: Apache-2.0
//
// The cuda device's micro-benchmarks of wgmma, by clock64 on an SM.
//
//   flops_clk_tf32, _fp16, _fp8      m64n256 from shared memory, two warpgroups, per SM
//   cap_clock_*_hz                   the SM clock after 0.3 s of the same on all SMs with random
//                                    data
//   wgmma_latency_clk                one m64n256k16 and its wait, one warpgroup
//   math_startup_clk                 the added time of a warpgroup that waits after every stage:
//                                    from the line through stages of one and of four products (seed
//                                    1, equations 6 and 7)
#include "kernels/calibrate/calibrate.cuh"
#include "kernels/device/inputs.h"

enum { WGMMA_THREADS = 256, WGMMA_LOOPS = 500, WGMMA_STEPS = 16 };

// The steps after which a warpgroup waits.
enum waits { WAIT_NEVER = 0, WAIT_EACH = 0xffff, WAIT_FOURTH = 0x8888 };

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

// Computes WGMMA_STEPS products 64 x 256 along one 128-byte slab, `loops` times, and waits
// after those whose bit is set in `waits`. The operands are random numbers, because power
// depends on them.
template <mma_type type, unsigned waits>
static __global__ void __launch_bounds__(WGMMA_THREADS) wgmma_chain(uint64_t *out, int loops)
{
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    extern __shared__ __align__(1024) unsigned char memory[];
    constexpr int bytes = WGMMA_BYTES;
    constexpr int format = type == MMA_TF32   ? (int)PLUMB_TF32
                           : type == MMA_FP16 ? (int)PLUMB_FP16
                                              : (int)PLUMB_E4M3;
    constexpr int size = type == MMA_TF32 ? 4 : type == MMA_FP16 ? 2 : 1;
    const inputs_recipe recipe = {format, MATRIX_A, blockIdx.x + 1, 1};
    float c[128] = {};
    for (int i = (int)threadIdx.x; i < bytes / size; i += (int)blockDim.x)
        inputs_store(memory, (uint64_t)i, &recipe);
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
            if (waits >> step & 1) {
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

// Measures the rate, and the clock that is left after 0.3 s at it, in the last of many stretches.
template <mma_type type>
static int wgmma_figures(const struct calibration_plan *plan, const char *rate_key,
                         const char *clock_key, int k, struct error *err)
{
    struct cuda *cuda = plan->cuda;
    cudaStream_t stream = cuda->stream;
    const unsigned sms = (unsigned)cuda->sm_count;
    CUDA_TRY(cuda,
             cudaFuncSetAttribute(wgmma_chain<type, WAIT_NEVER>,
                                  cudaFuncAttributeMaxDynamicSharedMemorySize, WGMMA_BYTES),
             err);
    auto launch = [=](uint64_t *out) {
        wgmma_chain<type, WAIT_NEVER>
            <<<sms, WGMMA_THREADS, WGMMA_BYTES, stream>>>(out, WGMMA_LOOPS);
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
    double values[CALIBRATE_REPEATS];
    for (int i = 0; i < CALIBRATE_REPEATS; i++) {
        struct stretch stretch;
        for (double spent_s = 0; spent_s < (i ? 0.1 : 0.3);) {
            int failed = cuda_begin(cuda, FLUSH_NONE, err);
            for (int j = 0; j < 20 && !failed; j++)
                launch((uint64_t *)cuda->flush); // not to the stamps, which are in use
            if (cuda_end(&stretch, cuda, err) || failed)
                return -1;
            spent_s += stretch.seconds;
        }
        values[i] = stretch.clock_hz;
    }
    calibrate_send(plan->sink, plan->state, clock_key, values, CALIBRATE_REPEATS,
                   "after 0.3 s of wgmma on random data from shared memory, no DRAM traffic");
    return 0;
}

template <unsigned waits>
static int waiting_clocks(double *clocks, const struct calibration_plan *plan, struct error *err)
{
    enum { TURNS = 200 };
    CUDA_TRY(plan->cuda,
             cudaFuncSetAttribute(wgmma_chain<MMA_FP16, waits>,
                                  cudaFuncAttributeMaxDynamicSharedMemorySize, WGMMA_BYTES),
             err);
    wgmma_chain<MMA_FP16, waits>
        <<<1, 128, WGMMA_BYTES, plan->cuda->stream>>>((uint64_t *)plan->cuda->stamps, TURNS);
    if (fetch_clocks(clocks, plan->cuda, err))
        return -1;
    *clocks /= WGMMA_STEPS * TURNS;
    return 0;
}

static int waiting_figures(const struct calibration_plan *plan, struct error *err)
{
    double latency[CALIBRATE_REPEATS], startup[CALIBRATE_REPEATS], of_one, of_four;
    for (int i = -1; i < CALIBRATE_REPEATS; i++) { // the first warms up
        if (waiting_clocks<WAIT_EACH>(&of_one, plan, err) ||
            waiting_clocks<WAIT_FOURTH>(&of_four, plan, err))
            return -1;
        latency[i < 0 ? 0 : i] = of_one;
        startup[i < 0 ? 0 : i] = of_one - (4 * of_four - of_one) / 3;
    }
    if (calibrate_wanted(plan->only, "wgmma_latency_clk"))
        calibrate_send(plan->sink, plan->state, "wgmma_latency_clk", latency, CALIBRATE_REPEATS,
                       "wgmma m64n256k16 FP16 and its wait, one warpgroup");
    if (calibrate_wanted(plan->only, "math_startup_clk"))
        calibrate_send(plan->sink, plan->state, "math_startup_clk", startup, CALIBRATE_REPEATS,
                       "a stage's wait: stages of one and of four m64n256k16, one warpgroup");
    return 0;
}

static bool has_wgmma(void)
{
    int major = 0;
    cudaFuncAttributes attributes;
    cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0);
    const bool there =
        cudaFuncGetAttributes(&attributes, wgmma_chain<MMA_FP16, WAIT_NEVER>) == cudaSuccess;
    return major == 9 && there;
}

int calibrate_cuda_wgmma(const struct calibration_plan *plan, struct error *err)
{
    if (!has_wgmma())
        return 0;
    return wgmma_figures<MMA_TF32>(plan, "flops_clk_tf32", "cap_clock_tf32_hz", 8, err) ||
                   wgmma_figures<MMA_FP16>(plan, "flops_clk_fp16", "cap_clock_fp16_hz", 16, err) ||
                   wgmma_figures<MMA_FP8>(plan, "flops_clk_fp8", "cap_clock_fp8_hz", 32, err) ||
                   waiting_figures(plan, err)
               ? -1
               : 0;
}
