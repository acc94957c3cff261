// SPDX-License-Identifier: Apache-2.0
//
// The cuda device's micro-benchmarks of the work around the multiplications of a pipelined kernel,
// by clock64 on the SMs, from compute capability 9 on. Seed 1 measures its T_A, T_B and T_E in this
// way: two sizes give a startup and a rate (equations 4 and 5).
//
//   load_startup_clk, load_bytes_clk      a bulk copy of 16 bytes and one of 64 KiB from L2 into
//                                         shared memory, one at a time on every SM: bytes per clock
//                                         and SM
//   epilogue_min_clk, epilogue_bytes_clk  FP32 sums of a tile of 128 x 64 and of one of 128 x 256
//                                         are rounded to BF16, brought to shared memory and copied
//                                         to L2 until all is written, on every SM
//   tma_latency_clk                       a bulk copy of 16 bytes from L2 with its barrier, less a
//                                         plain load of the same
//   smem_bytes_clk                        32 warps reading 16 bytes a lane without conflicts
//   cluster3_sms, cluster4_sms,
//   cluster8_sms                          SMs that clusters fill at once, if a block fills an SM
#include "kernels/calibrate/calibrate.cuh"

enum {
    REPEATS = CALIBRATE_REPEATS,
    ROUNDS = 64,
    TILE_ROWS = 128,
    EPILOGUE_THREADS = 256,
    SHARED_THREADS = 1024,
    SHARED_BYTES = SHARED_THREADS * 16,
    LOAD_BYTES = 64 << 10,
    OCCUPY_BYTES = 200 << 10 // more than half of an SM's, so that one block runs on it
};

static const size_t L2_SET = (size_t)16 << 20;

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define HAS_BULK 1
#endif

static __device__ __forceinline__ unsigned shared_address(const void *shared)
{
    return (unsigned)__cvta_generic_to_shared(shared);
}

// Copies `bytes` from `from` and waits for them; `turn` counts the copies of this barrier.
static __device__ __forceinline__ void bulk_load(unsigned to, const char *from, unsigned bytes,
                                                 unsigned barrier, unsigned turn)
{
#ifdef HAS_BULK
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\n\t"
                 "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%2], [%3], "
                 "%1, [%0];\n\t" ::"r"(barrier),
                 "r"(bytes), "r"(to), "l"(from)
                 : "memory");
    asm volatile("{\n\t.reg .pred done;\n"
                 "again:\n\t"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t"
                 "@!done bra again;\n\t}" ::"r"(barrier),
                 "r"(turn & 1)
                 : "memory");
#endif
}

// One thread of each block makes one copy after another. The addresses run through `set` bytes, a
// power of two, which all blocks share.
static __global__ void bulk_loads(const char *from, size_t set, unsigned bytes, uint64_t *out)
{
#ifdef HAS_BULK
    extern __shared__ __align__(128) char memory[];
    __shared__ __align__(8) uint64_t barrier;
    const unsigned at_barrier = shared_address(&barrier);
    size_t at = blockIdx.x * (size_t)bytes & (set - 1);
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\n\t"
                 "fence.mbarrier_init.release.cluster;" ::"r"(at_barrier)
                 : "memory");
    const long long begin = clock64();
    for (unsigned i = 0; i < ROUNDS; i++) {
        bulk_load(shared_address(memory), from + at, bytes, at_barrier, i);
        at = (at + gridDim.x * (size_t)bytes) & (set - 1);
    }
    out[blockIdx.x] = (uint64_t)(clock64() - begin);
#endif
}

// Does the same with plain loads of 16 bytes, each after the one before.
static __global__ void plain_loads(const char *from, size_t set, uint64_t *out)
{
    size_t at = 0;
    unsigned found = 0;
    const long long begin = clock64();
    for (unsigned i = 0; i < ROUNDS; i++) {
        asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(found) : "l"(from + at) : "memory");
        at = (at + (found == 0x9e3779b9u ? 32 : 16)) & (set - 1);
    }
    out[0] = (uint64_t)(clock64() - begin);
    out[1] = found;
}

// The sums of 128 x `columns` outputs leave the registers of two warpgroups: they are rounded,
// stored to shared memory, and copied out by one bulk copy that is waited for.
template <int columns>
static __global__ void __launch_bounds__(EPILOGUE_THREADS)
    tile_ends(char *to, uint64_t *out, float value)
{
#ifdef HAS_BULK
    extern __shared__ __align__(128) char memory[];
    constexpr int sums = TILE_ROWS * columns / EPILOGUE_THREADS, bytes = TILE_ROWS * columns * 2;
    float c[sums];
#pragma unroll
    for (int i = 0; i < sums; i++)
        c[i] = value + (float)i;
    __syncthreads();
    const long long begin = clock64();
#pragma unroll 1
    for (int round = 0; round < ROUNDS; round++) {
#pragma unroll
        for (int i = 0; i < sums; i += 8) {
            unsigned pair[4];
#pragma unroll
            for (int j = 0; j < 4; j++)
                asm volatile("cvt.rn.bf16x2.f32 %0, %1, %2;"
                             : "=r"(pair[j])
                             : "f"(c[i + 2 * j + 1]), "f"(c[i + 2 * j]));
            const int chunk = i / 8 * EPILOGUE_THREADS + (int)threadIdx.x;
            *(uint4 *)(memory + chunk * 16) = {pair[0], pair[1], pair[2], pair[3]};
        }
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();
        if (threadIdx.x == 0) {
            asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;\n\t"
                         "cp.async.bulk.commit_group;\n\t"
                         "cp.async.bulk.wait_group 0;" ::"l"(to + blockIdx.x * (size_t)bytes),
                         "r"(shared_address(memory)), "r"(bytes)
                         : "memory");
        }
        __syncthreads();
    }
    if (threadIdx.x == 0)
        out[blockIdx.x] = (uint64_t)(clock64() - begin);
#endif
}

static __global__ void __launch_bounds__(SHARED_THREADS) shared_reads(uint64_t *out)
{
    __shared__ __align__(16) char memory[SHARED_BYTES];
    const unsigned at = shared_address(memory) + threadIdx.x * 16;
    unsigned x[4], sum = 0;
    ((uint4 *)memory)[threadIdx.x] = {threadIdx.x, 0, 0, 0};
    __syncthreads();
    const long long begin = clock64();
#pragma unroll 16
    for (int i = 0; i < 16 * ROUNDS; i++) {
        asm volatile("ld.volatile.shared.v4.u32 {%0,%1,%2,%3}, [%4];"
                     : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                     : "r"(at));
        sum ^= x[0];
    }
    __syncthreads();
    const long long end = clock64();
    if (sum == 0x9e3779b9u)
        out[SINK] = 1;
    if (threadIdx.x == 0)
        out[blockIdx.x] = (uint64_t)(end - begin);
}

// The mean clocks of one round, over the blocks of the last launch, each of which left its clocks.
static int round_clocks(double *clocks, const struct calibration_plan *plan, int blocks,
                        struct error *err)
{
    uint64_t found[STAMPS_MAX];
    struct cuda *cuda = plan->cuda;
    const size_t count = (size_t)(blocks < STAMPS_MAX ? blocks : STAMPS_MAX);
    CUDA_TRY(cuda, cudaGetLastError(), err);
    CUDA_TRY(cuda, cudaStreamSynchronize(cuda->stream), err);
    CUDA_TRY(cuda, cudaMemcpy(found, cuda->stamps, count * sizeof(*found), cudaMemcpyDeviceToHost),
             err);
    *clocks = 0;
    for (size_t i = 0; i < count; i++)
        *clocks += (double)found[i] / (double)count / ROUNDS;
    return 0;
}

// Computes the rate between the two larger sizes, and the time of the smallest beyond that rate.
// launch(size) queues ROUNDS rounds on every SM.
template <class Launch>
static int line_figures(const struct calibration_plan *plan, const char *const keys[2],
                        const char *note, const int sizes[3], Launch launch, struct error *err)
{
    double startup[REPEATS], rate[REPEATS], clocks[3];
    if (!calibrate_wanted(plan->only, keys[0]) && !calibrate_wanted(plan->only, keys[1]))
        return 0;
    for (int i = -1; i < REPEATS; i++) { // the first warms up
        for (int size = 0; size < 3; size++) {
            launch(sizes[size]);
            if (round_clocks(&clocks[size], plan, plan->cuda->sm_count, err))
                return -1;
        }
        const double of = (sizes[2] - sizes[1]) / (clocks[2] - clocks[1]);
        rate[i < 0 ? 0 : i] = of;
        startup[i < 0 ? 0 : i] = clocks[0] - sizes[0] / of;
    }
    if (calibrate_wanted(plan->only, keys[0]))
        calibrate_send(plan->sink, plan->state, keys[0], startup, REPEATS, note);
    if (calibrate_wanted(plan->only, keys[1]))
        calibrate_send(plan->sink, plan->state, keys[1], rate, REPEATS, note);
    return 0;
}

static int latency_figure(const struct calibration_plan *plan, const char *memory,
                          struct error *err)
{
    double values[REPEATS], bulk, plain;
    cudaStream_t stream = plan->cuda->stream;
    uint64_t *out = (uint64_t *)plan->cuda->stamps;
    if (!calibrate_wanted(plan->only, "tma_latency_clk"))
        return 0;
    for (int i = -1; i < REPEATS; i++) { // the first brings the lines to L2
        bulk_loads<<<1, 1, LOAD_BYTES, stream>>>(memory, L2_SET, 16, out);
        if (round_clocks(&bulk, plan, 1, err))
            return -1;
        plain_loads<<<1, 1, 0, stream>>>(memory, L2_SET, out);
        if (round_clocks(&plain, plan, 1, err))
            return -1;
        values[i < 0 ? 0 : i] = bulk - plain;
    }
    calibrate_send(plan->sink, plan->state, "tma_latency_clk", values, REPEATS,
                   "a bulk copy of 16 bytes over a plain load, both from L2");
    return 0;
}

static int shared_figure(const struct calibration_plan *plan, struct error *err)
{
    double values[REPEATS], clocks;
    const int sms = plan->cuda->sm_count;
    if (!calibrate_wanted(plan->only, "smem_bytes_clk"))
        return 0;
    for (int i = -1; i < REPEATS; i++) {
        shared_reads<<<(unsigned)sms, SHARED_THREADS, 0, plan->cuda->stream>>>(
            (uint64_t *)plan->cuda->stamps);
        if (round_clocks(&clocks, plan, sms, err))
            return -1;
        values[i < 0 ? 0 : i] = 16.0 * SHARED_BYTES / clocks;
    }
    calibrate_send(plan->sink, plan->state, "smem_bytes_clk", values, REPEATS,
                   "32 warps on every SM, 16 bytes a lane");
    return 0;
}

static int cluster_figure(const struct calibration_plan *plan, const char *key, unsigned blocks,
                          struct error *err)
{
    double values[REPEATS];
    int clusters = 0;
    cudaLaunchAttribute cluster = {};
    cudaLaunchConfig_t config = {};
    if (!calibrate_wanted(plan->only, key))
        return 0;
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim = {blocks, 1, 1};
    config.gridDim = dim3(blocks * (unsigned)plan->cuda->sm_count);
    config.blockDim = dim3(1);
    config.dynamicSmemBytes = OCCUPY_BYTES;
    config.attrs = &cluster;
    config.numAttrs = 1;
    CUDA_TRY(plan->cuda, cudaOccupancyMaxActiveClusters(&clusters, bulk_loads, &config), err);
    for (int i = 0; i < REPEATS; i++)
        values[i] = (double)clusters * blocks;
    calibrate_send(plan->sink, plan->state, key, values, REPEATS, "asked of the driver");
    return 0;
}

// Whether the device copies in bulk and this program has the code for it. Also allows every kernel
// the memory that it needs.
static int prepare(bool *out, const struct calibration_plan *plan, struct error *err)
{
    int major = 0;
    cudaFuncAttributes attributes;
    cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0);
    *out = major >= 9 && cudaFuncGetAttributes(&attributes, bulk_loads) == cudaSuccess &&
           attributes.binaryVersion >= 90;
    if (!*out)
        return 0;
    CUDA_TRY(
        plan->cuda,
        cudaFuncSetAttribute(bulk_loads, cudaFuncAttributeMaxDynamicSharedMemorySize, OCCUPY_BYTES),
        err);
    CUDA_TRY(plan->cuda,
             cudaFuncSetAttribute(tile_ends<256>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  TILE_ROWS * 256 * 2),
             err);
    return 0;
}

int calibrate_cuda_pipeline(const struct calibration_plan *plan, char *memory, size_t bytes,
                            struct error *err)
{
    static const char *const load[] = {"load_startup_clk", "load_bytes_clk"};
    static const char *const end[] = {"epilogue_min_clk", "epilogue_bytes_clk"};
    static const int loads[] = {1 << 10, LOAD_BYTES / 4, LOAD_BYTES};
    static const int tiles[] = {TILE_ROWS * 16 * 2, TILE_ROWS * 64 * 2, TILE_ROWS * 256 * 2};
    cudaStream_t stream = plan->cuda->stream;
    uint64_t *out = (uint64_t *)plan->cuda->stamps;
    const unsigned sms = (unsigned)plan->cuda->sm_count;
    bool can;
    if (prepare(&can, plan, err))
        return -1;
    if (!can || bytes < L2_SET + LOAD_BYTES || sms * (size_t)tiles[2] > bytes)
        return 0;
    const auto queue_loads = [=](int size) {
        bulk_loads<<<sms, 1, OCCUPY_BYTES, stream>>>(memory, L2_SET, (unsigned)size, out);
    };
    const auto queue_ends = [=](int size) {
        const auto kernel = size == tiles[0]   ? tile_ends<16>
                            : size == tiles[1] ? tile_ends<64>
                                               : tile_ends<256>;
        kernel<<<sms, EPILOGUE_THREADS, (size_t)size, stream>>>(memory, out, 1.5f);
    };
    return line_figures(plan, load,
                        "bulk copies of 1, 16 and 64 KiB from L2, one at a time, all SMs", loads,
                        queue_loads, err) ||
                   line_figures(plan, end, "128 x 16, 64 and 256 BF16 outputs until written", tiles,
                                queue_ends, err) ||
                   latency_figure(plan, memory, err) || shared_figure(plan, err) ||
                   cluster_figure(plan, "cluster3_sms", 3, err) ||
                   cluster_figure(plan, "cluster4_sms", 4, err) ||
                   cluster_figure(plan, "cluster8_sms", 8, err)
               ? -1
               : 0;
}
