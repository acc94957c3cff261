// SPDX-License-Identifier: Apache-2.0
//
// The cuda device's micro-benchmarks of wgmma, by clock64 on an SM.
//
//   flops_clk_tf32, _fp16, _fp8      m64n256 from shared memory, two warpgroups, per SM
//   cap_clock_*_hz                   the SM clock inside products of 8192^3 in a stream, made as
//                                    GEMMs are and timed as bench times them. Multiplications
//                                    alone leave the clock higher: loading operands takes power
//   wgmma_latency_clk                one m64n256k16 and its wait, one warpgroup
//   math_startup_clk                 the added time of a warpgroup that waits after every stage:
//                                    from the line through stages of one and of four products (seed
//                                    1, equations 6 and 7)
#include "kernels/calibrate/calibrate.cuh"
#include "kernels/device/inputs.h"

#include <time.h>

enum { WGMMA_THREADS = 256, WGMMA_LOOPS = 500, WGMMA_STEPS = 16 };

// A GEMM: its sides, a block's tile of C, how many rows of tiles a band has, and the ring of
// stages, each of which holds rows of 128 bytes of A and of B.
enum {
    SIDE = 8192,
    TILE_M = 128,
    TILE_N = 256,
    BAND = 16,
    SLAB = 128,
    STAGES = 4,
    A_BYTES = TILE_M * SLAB,
    B_BYTES = TILE_N * SLAB,
    RING_BYTES = STAGES * (A_BYTES + B_BYTES),
    GEMM_BYTES = RING_BYTES + 2 * STAGES * 8,
    GEMM_THREADS = WGMMA_THREADS + 32,
    WINDOW = 25 // launches that are read, a tenth of a second with all between them
};

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
    else if constexpr (type == MMA_BF16)
        WGMMA("k16.f32.bf16.bf16 {" NAMES "}, %128, %129, 1, 1, 1, 0, 0;");
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

// ---- products as a GEMM makes them ----

static __device__ __forceinline__ void wait_for(unsigned barrier, unsigned parity)
{
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    asm volatile("{\n\t.reg .pred done;\n"
                 "again:\n\t"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t"
                 "@!done bra again;\n\t}" ::"r"(barrier),
                 "r"(parity)
                 : "memory");
#endif
}

static __device__ __forceinline__ void bulk_copy(unsigned to, const char *from, unsigned bytes,
                                                 unsigned barrier)
{
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], "
                 "%2, [%3];" ::"r"(to),
                 "l"(from), "r"(bytes), "r"(barrier)
                 : "memory");
#endif
}

// The operands and C, and the slabs along K. An operand's part of a tile and slab lies in one
// piece, and the parts of a tile one after another: what a part's numbers are changes nothing of
// the work.
struct gemm {
    const char *a, *b;
    float2 *c;
    unsigned slabs;
};

// A tile's row and column in the order of its number: in bands, as a GEMM's raster goes.
static __device__ __forceinline__ uint2 tile_at(unsigned number)
{
    const unsigned columns = SIDE / TILE_N;
    return {number / (BAND * columns) * BAND + number % BAND, number / BAND % columns};
}

// One thread loads the slabs of all tiles of this block.
static __device__ void load_tiles(const struct gemm &g, unsigned ring, unsigned full)
{
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    unsigned turn = 0;
    for (unsigned t = blockIdx.x; t < SIDE / TILE_M * (SIDE / TILE_N); t += gridDim.x) {
        const uint2 tile = tile_at(t);
        for (unsigned slab = 0; slab < g.slabs; slab++, turn++) {
            const unsigned stage = turn % STAGES, to = ring + stage * (A_BYTES + B_BYTES);
            const unsigned barrier = full + stage * 8;
            wait_for(barrier + STAGES * 8, turn / STAGES % 2 ^ 1);
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier),
                         "r"((unsigned)(A_BYTES + B_BYTES))
                         : "memory");
            bulk_copy(to, g.a + ((size_t)tile.x * g.slabs + slab) * A_BYTES, A_BYTES, barrier);
            bulk_copy(to + A_BYTES, g.b + ((size_t)tile.y * g.slabs + slab) * B_BYTES, B_BYTES,
                      barrier);
        }
    }
#endif
}

// A warpgroup multiplies its 64 rows of a tile.
template <mma_type type>
static __device__ __forceinline__ void multiply_tile(float (&c)[128], unsigned &turn,
                                                     const struct gemm &g,
                                                     const unsigned char *ring, unsigned full)
{
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    const bool first = threadIdx.x % 128 == 0;
#pragma unroll
    for (int i = 0; i < 128; i++)
        c[i] = 0;
#pragma unroll 1
    for (unsigned slab = 0; slab < g.slabs; slab++, turn++) {
        const unsigned stage = turn % STAGES, before = (turn + STAGES - 1) % STAGES;
        const unsigned char *at = ring + stage * (A_BYTES + B_BYTES);
        const uint64_t a = descriptor(at + threadIdx.x / 128 * 64 * SLAB);
        const uint64_t b = descriptor(at + A_BYTES);
        wait_for(full + stage * 8, turn / STAGES % 2);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
        for (uint64_t step = 0; step < 4; step++)
            wgmma<type>(c, a + 2 * step, b + 2 * step);
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
        if (first && turn > 0) // the slab before has been multiplied
            asm volatile(
                "mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(full + (STAGES + before) * 8)
                : "memory");
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
#pragma unroll
    for (int i = 0; i < 128; i++)
        asm volatile("" : "+f"(c[i])::"memory");
#endif
}

// Two numbers in BF16.
static __device__ __forceinline__ float packed(float low, float high)
{
    unsigned bits;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(high), "f"(low));
    return __uint_as_float(bits);
}

template <mma_type type>
static __global__ void __launch_bounds__(GEMM_THREADS) multiply(struct gemm g)
{
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    extern __shared__ __align__(1024) unsigned char ring[];
    const unsigned at_ring = (unsigned)__cvta_generic_to_shared(ring), full = at_ring + RING_BYTES;
    if (threadIdx.x == 0) {
        for (int i = 0; i < 2 * STAGES; i++) // first those that say full, then those that say empty
            asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(full + i * 8),
                         "r"(i < STAGES ? 1 : WGMMA_THREADS / 128));
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    if (threadIdx.x >= WGMMA_THREADS) {
        if (threadIdx.x == WGMMA_THREADS)
            load_tiles(g, at_ring, full);
        return;
    }
    float c[128];
    unsigned turn = 0;
    for (unsigned t = blockIdx.x; t < SIDE / TILE_M * (SIDE / TILE_N); t += gridDim.x) {
        multiply_tile<type>(c, turn, g, ring, full);
#pragma unroll
        for (int i = 0; i < 128; i += 4)
            g.c[((size_t)t * 32 + i / 4) * WGMMA_THREADS + threadIdx.x] = {
                packed(c[i], c[i + 1]), packed(c[i + 2], c[i + 3])};
    }
#endif
}

// Random numbers as in bench's inputs, because power depends on them.
static __global__ void fill(char *memory, size_t count, int format, int which)
{
    const inputs_recipe recipe = {format, which, 1, 1};
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count;
         i += (size_t)gridDim.x * blockDim.x)
        inputs_store(memory, i, &recipe);
}

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

// Lets the device rest until launches of `busy_s` were two thirds of the time since `begun_s`.
static void rest(double begun_s, double busy_s)
{
    const double left_s = fmin(fmax(1.5 * busy_s - (now_s() - begun_s), 0), 0.1);
    const struct timespec wait = {0, (long)(left_s * 1e9)};
    nanosleep(&wait, NULL);
}

// One window of a stream as bench times one: fresh operands, launches that heat, the one that is
// read, and a third of the time for all else. Without a pause the clock of an H200 settles 10 %
// lower. The stopwatch is bench's own. Returns the mean clock inside of the launches that are read,
// and the share of the tensor cores' rate that they reach.
template <mma_type type>
static int read_window(double *clock_hz, double *share, const struct calibration_plan *plan,
                       const struct gemm *g, int format, struct error *err)
{
    struct cuda *cuda = plan->cuda;
    const unsigned sms = (unsigned)cuda->sm_count, heats = type == MMA_FP8 ? 3 : 1;
    double spent_s = 0, clocks = 0;
    for (int i = 0; i < WINDOW; i++) {
        struct stretch stretch;
        const double begun_s = now_s();
        fill<<<2048, 256, 0, cuda->stream>>>((char *)g->a, (size_t)SIDE * SIDE, format, MATRIX_A);
        for (unsigned j = 0; j < heats; j++)
            multiply<type><<<sms, GEMM_THREADS, GEMM_BYTES, cuda->stream>>>(*g);
        const int failed = cuda_begin(cuda, FLUSH_NONE, err);
        if (!failed)
            multiply<type><<<sms, GEMM_THREADS, GEMM_BYTES, cuda->stream>>>(*g);
        if (cuda_end(&stretch, cuda, err) || failed)
            return -1;
        spent_s += stretch.seconds;
        clocks += stretch.seconds * stretch.clock_hz;
        rest(begun_s, (heats + 1) * stretch.seconds);
    }
    // One slab of a tile is 2 x 4 instructions of 128 clocks.
    const double slabs = (double)g->slabs * (SIDE / TILE_M) * (SIDE / TILE_N) / sms;
    *clock_hz = clocks / spent_s;
    *share = WINDOW * slabs * 8 * 128 / clocks;
    return 0;
}

template <mma_type type>
static int clock_figure(const struct calibration_plan *plan, const char *key, int format, int size,
                        char *memory, size_t bytes, struct error *err)
{
    cudaStream_t stream = plan->cuda->stream;
    const struct gemm g = {memory, memory + bytes / 4, (float2 *)(memory + bytes / 2),
                           (unsigned)(SIDE * size / SLAB)};
    double clocks[CALIBRATE_WINDOWS], share = 0;
    if (!calibrate_wanted(plan->only, key))
        return 0;
    fill<<<2048, 256, 0, stream>>>(memory + bytes / 4, (size_t)SIDE * SIDE, format, MATRIX_B);
    CUDA_TRY(plan->cuda, cudaGetLastError(), err);
    CUDA_TRY(plan->cuda,
             cudaFuncSetAttribute(multiply<type>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  GEMM_BYTES),
             err);
    for (int i = 0; i < CALIBRATE_WINDOWS; i++) {
        if (read_window<type>(&clocks[i], &share, plan, &g, format, err))
            return -1;
    }
    calibrate_send_loaded(plan->sink, plan->state, key, clocks, share);
    return 0;
}

template <mma_type type>
static int rate_figure(const struct calibration_plan *plan, const char *key, int k,
                       struct error *err)
{
    struct cuda *cuda = plan->cuda;
    cudaStream_t stream = cuda->stream;
    const unsigned sms = (unsigned)cuda->sm_count;
    CUDA_TRY(cuda,
             cudaFuncSetAttribute(wgmma_chain<type, WAIT_NEVER>,
                                  cudaFuncAttributeMaxDynamicSharedMemorySize, WGMMA_BYTES),
             err);
    return figure(
        plan, key, "wgmma m64n256 from shared memory, 2 warpgroups on every SM",
        [=](uint64_t *out) {
            wgmma_chain<type, WAIT_NEVER>
                <<<sms, WGMMA_THREADS, WGMMA_BYTES, stream>>>(out, WGMMA_LOOPS);
        },
        [=](double clocks) { return 2.0 * 64 * 256 * k * WGMMA_STEPS * 2 * WGMMA_LOOPS / clocks; },
        err);
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

int calibrate_cuda_wgmma(const struct calibration_plan *plan, char *memory, size_t bytes,
                         struct error *err)
{
    if (!has_wgmma())
        return 0;
    if (rate_figure<MMA_TF32>(plan, "flops_clk_tf32", 8, err) ||
        rate_figure<MMA_FP16>(plan, "flops_clk_fp16", 16, err) ||
        rate_figure<MMA_FP8>(plan, "flops_clk_fp8", 32, err) || waiting_figures(plan, err))
        return -1;
    // These come last: they leave the device hot.
    return clock_figure<MMA_TF32>(plan, "cap_clock_tf32_hz", PLUMB_TF32, 4, memory, bytes, err) ||
                   clock_figure<MMA_BF16>(plan, "cap_clock_fp16_hz", PLUMB_BF16, 2, memory, bytes,
                                          err) ||
                   clock_figure<MMA_FP8>(plan, "cap_clock_fp8_hz", PLUMB_E4M3, 1, memory, bytes,
                                         err)
               ? -1
               : 0;
}
