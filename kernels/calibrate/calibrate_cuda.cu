// SPDX-License-Identifier: Apache-2.0
//
// The cuda device's micro-benchmarks of memory and launches; the other .cu files have the rest.
//
//   launch_s, graph_launch_s     the added cost of one more empty kernel behind another, in a
//                                stream whose work is queued, and as a node of a graph
//   dram_bytes_s                 reading 2 GiB; dram_copy_bytes_s: copying (read + written)
//   dram_sm_fraction             the share of that rate that one SM reaches; dram_share_N: N SMs
//   l2_bytes_clk, l2_share_N     the same, reading 16 MiB again and again
//   *_latency_clk                one thread; the address of each load is the result of the last
//   transpose_bytes_s            a tiled transpose (read + written), whose result is checked
//   study_*                      seed 2's measurements of memory, at its sizes: latencies, copies
//                                by one thread, one warp and 1 to all SMs, four transposes
#include "kernels/calibrate/calibrate.cuh"

enum {
    THREADS = 1024,
    UNROLL = 4,
    LINE = 128,
    CHASE = 4000,
    SHARED_WORDS = 4096,
    TILE = 32,
    REPEATS = CALIBRATE_REPEATS,
    EMPTY_FEW = 50,
    EMPTY_MANY = 250
};

static const size_t L2_SET = (size_t)16 << 20, CHASE_L2 = (size_t)8 << 20,
                    CHASE_DRAM = (size_t)512 << 20, BIG = (size_t)2 << 30;

static __global__ void empty(void)
{
}

// Reads `count` vectors `passes` times, past L1.
static __global__ void __launch_bounds__(THREADS)
    read_vectors(const uint4 *from, size_t count, int passes, unsigned *sink)
{
    extern __shared__ char occupy[]; // so much shared memory that an SM takes only one block
    const size_t step = (size_t)gridDim.x * blockDim.x;
    unsigned sum = 0;
    for (int pass = 0; pass < passes; pass++) {
        for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count;
             i += step * UNROLL) {
            uint4 x[UNROLL];
#pragma unroll
            for (int u = 0; u < UNROLL; u++)
                x[u] = i + u * step < count ? __ldcg(from + i + u * step) : uint4{0, 0, 0, 0};
#pragma unroll
            for (int u = 0; u < UNROLL; u++)
                sum ^= x[u].x ^ x[u].y ^ x[u].z ^ x[u].w;
        }
    }
    if (sum == 0x9e3779b9u)
        *sink = sum + (unsigned)occupy[0];
}

static __global__ void copy_vectors(uint4 *to, const uint4 *from, size_t count)
{
    const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < count)
        to[i] = __ldcg(from + i);
}

static __global__ void transpose(float *to, const float *from, int n)
{
    __shared__ float tile[TILE][TILE + 1];
    const int x = (int)blockIdx.x * TILE, y = (int)blockIdx.y * TILE;
    for (int i = (int)threadIdx.y; i < TILE; i += (int)blockDim.y)
        tile[i][threadIdx.x] = from[(size_t)(y + i) * n + x + threadIdx.x];
    __syncthreads();
    for (int i = (int)threadIdx.y; i < TILE; i += (int)blockDim.y)
        to[(size_t)(x + i) * n + y + threadIdx.x] = tile[threadIdx.x][i];
}

// Writes numbers of which no element equals its neighbours.
static __global__ void number(float *out, int n)
{
    const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < (size_t)n * n)
        out[i] = (float)(i % 16777213);
}

static __global__ void count_wrong(unsigned *wrong, const float *transposed, int n)
{
    const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < (size_t)n * n && transposed[i] != (float)((i % n * n + i / n) % 16777213))
        atomicAdd(wrong, 1u);
}

// Lays a cycle through all lines. Line (s * multiplier) leads to line ((s + 1) * multiplier);
// the multiplier is odd and near the golden section of a power of two, so that neighbours in
// time lie far apart.
static __global__ void lay_cycle(char *memory, uint64_t lines, uint64_t multiplier)
{
    const uint64_t s = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;
    if (s < lines)
        *(uint64_t *)(memory + s * multiplier % lines * LINE) = (s + 1) * multiplier % lines * LINE;
}

template <bool in_l1> static __device__ __forceinline__ uint64_t next_line(const char *at)
{
    uint64_t next;
    if (in_l1)
        asm volatile("ld.global.ca.u64 %0, [%1];" : "=l"(next) : "l"(at) : "memory");
    else
        asm volatile("ld.global.cg.u64 %0, [%1];" : "=l"(next) : "l"(at) : "memory");
    return next;
}

// Follows a cycle. If the cycle fits into L1, timing begins when it is there.
template <bool in_l1>
static __global__ void chase(const char *memory, uint64_t start, int loads, uint64_t *out)
{
    uint64_t at = start;
    for (int i = 0; in_l1 && i < loads; i++)
        at = next_line<in_l1>(memory + at);
    const long long begin = clock64();
    for (int i = 0; i < loads; i++)
        at = next_line<in_l1>(memory + at);
    const long long end = clock64();
    out[0] = (uint64_t)(end - begin);
    out[1] = at;
}

static __global__ void chase_shared(int loads, uint64_t *out)
{
    __shared__ unsigned next[SHARED_WORDS];
    for (unsigned i = threadIdx.x; i < SHARED_WORDS; i += blockDim.x)
        next[i] = (unsigned)__cvta_generic_to_shared(&next[(i + 33) % SHARED_WORDS]);
    __syncthreads();
    unsigned at = (unsigned)__cvta_generic_to_shared(next);
    const long long begin = clock64();
    for (int i = 0; i < loads; i++)
        asm volatile("ld.shared.u32 %0, [%1];" : "=r"(at) : "r"(at) : "memory");
    const long long end = clock64();
    if (threadIdx.x == 0) {
        out[0] = (uint64_t)(end - begin);
        out[1] = at;
    }
}

struct memory_plan {
    const struct calibration_plan *plan;
    struct cuda *cuda;
    char *big, *second; // BIG bytes each
};

static void send(const struct memory_plan *m, const char *key, const double *values,
                 const char *note)
{
    calibrate_send(m->plan->sink, m->plan->state, key, values, REPEATS, note);
}

static bool wanted(const struct memory_plan *m, const char *key)
{
    return calibrate_wanted(m->plan->only, key);
}

static bool is_study(const struct memory_plan *m)
{
    return m->plan->only && strncmp(m->plan->only, "study_", 6) == 0;
}

static int empty_launches(double *seconds, struct cuda *cuda, int count, bool graph,
                          struct error *err)
{
    struct stretch stretch;
    cudaGraph_t recorded = NULL;
    cudaGraphExec_t ready = NULL;
    if (graph) {
        CUDA_TRY(cuda, cudaStreamBeginCapture(cuda->stream, cudaStreamCaptureModeThreadLocal), err);
        for (int i = 0; i < count; i++)
            empty<<<(unsigned)cuda->sm_count, 384, 0, cuda->stream>>>();
        CUDA_TRY(cuda, cudaStreamEndCapture(cuda->stream, &recorded), err);
        CUDA_TRY(cuda, cudaGraphInstantiate(&ready, recorded, 0), err);
        CUDA_TRY(cuda, cudaGraphLaunch(ready, cuda->stream), err); // uploads it
    }
    int failed = cuda_begin(cuda, FLUSH_NONE, err);
    if (!failed && graph)
        cudaGraphLaunch(ready, cuda->stream);
    for (int i = 0; !failed && !graph && i < count; i++)
        empty<<<(unsigned)cuda->sm_count, 384, 0, cuda->stream>>>();
    failed |= cuda_end(&stretch, cuda, err);
    if (graph) {
        cudaGraphExecDestroy(ready);
        cudaGraphDestroy(recorded);
    }
    *seconds = stretch.seconds;
    return failed ? -1 : 0;
}

static int launch_figures(const struct memory_plan *m, struct error *err)
{
    static const char *const keys[] = {"launch_s", "graph_launch_s"};
    for (int graph = 0; graph < 2; graph++) {
        double values[REPEATS], few, many;
        if (!wanted(m, keys[graph]))
            continue;
        for (int i = -1; i < REPEATS; i++) { // the first warms up
            if (empty_launches(&few, m->cuda, EMPTY_FEW, graph, err) ||
                empty_launches(&many, m->cuda, EMPTY_MANY, graph, err))
                return -1;
            values[i < 0 ? 0 : i] = (many - few) / (EMPTY_MANY - EMPTY_FEW);
        }
        send(m, keys[graph], values, "250 against 50 empty kernels, already queued");
    }
    return 0;
}

// The size, at least `bytes`, that gives every thread whole rounds, so that no SM
// waits for another.
static size_t even_bytes(size_t bytes, int blocks)
{
    const size_t round = (size_t)blocks * THREADS * UNROLL * sizeof(uint4);
    return (bytes + round - 1) / round * round;
}

// Measures bytes/s, and bytes per clock, of `blocks` SMs that read `bytes` `passes` times.
static int read_rate(double *bytes_s, double *bytes_clk, const struct memory_plan *m, int blocks,
                     size_t bytes, int passes, struct error *err)
{
    struct stretch stretch;
    const int occupy = 120 << 10; // more than half of an SM's, so that one block runs on it
    CUDA_TRY(
        m->cuda,
        cudaFuncSetAttribute(read_vectors, cudaFuncAttributeMaxDynamicSharedMemorySize, occupy),
        err);
    int failed = cuda_begin(m->cuda, FLUSH_NONE, err);
    if (!failed)
        read_vectors<<<(unsigned)blocks, THREADS, occupy, m->cuda->stream>>>(
            (const uint4 *)m->big, bytes / sizeof(uint4), passes, (unsigned *)m->cuda->stamps + 7);
    if (cuda_end(&stretch, m->cuda, err) || failed)
        return -1;
    *bytes_s = (double)bytes * passes / stretch.seconds;
    *bytes_clk = stretch.clock_hz > 0 ? *bytes_s / stretch.clock_hz : 0;
    return 0;
}

// Measures with all SMs, one SM, and powers of two in between.
static int scaling(const struct memory_plan *m, bool l2, struct error *err)
{
    const char *figure = l2 ? "l2_bytes_clk" : "dram_bytes_s", *share = l2 ? "l2" : "dram";
    double all[REPEATS], values[REPEATS], rate, clk;
    char key[32], note[96];
    for (int i = -1; i < REPEATS; i++) {
        const size_t bytes = l2 ? even_bytes(L2_SET, m->cuda->sm_count) : BIG;
        if (read_rate(&rate, &clk, m, m->cuda->sm_count, bytes, l2 ? 200 : 1, err))
            return -1;
        all[i < 0 ? 0 : i] = l2 ? clk : rate;
    }
    if (wanted(m, figure))
        send(m, figure, all, l2 ? "re-reading 16 MiB past L1, all SMs" : "reading 2 GiB, all SMs");
    for (int blocks = 1; blocks < m->cuda->sm_count; blocks *= 2) {
        if (blocks == 1 && !l2)
            snprintf(key, sizeof(key), "dram_sm_fraction");
        else
            snprintf(key, sizeof(key), "%s_share_%d", share, blocks);
        if (!wanted(m, key))
            continue;
        for (int i = 0; i < REPEATS; i++) {
            // The size is more than L2 holds, or well within L2.
            const size_t dram = BIG / 8 * (size_t)(blocks < 8 ? blocks : 8);
            const size_t bytes = l2 ? even_bytes(L2_SET, blocks) : dram;
            if (read_rate(&rate, &clk, m, blocks, bytes, l2 ? 4 + blocks : 1, err))
                return -1;
            values[i] = (l2 ? clk : rate) / all[i];
        }
        snprintf(note, sizeof(note), "%d SMs against all, reading %s", blocks, l2 ? "L2" : "DRAM");
        send(m, key, values, note);
    }
    return 0;
}

static int copy_figure(const struct memory_plan *m, struct error *err)
{
    double values[REPEATS];
    const size_t bytes = BIG / 2, count = bytes / sizeof(uint4);
    for (int i = -1; i < REPEATS && wanted(m, "dram_copy_bytes_s"); i++) {
        struct stretch stretch;
        int failed = cuda_begin(m->cuda, FLUSH_NONE, err);
        if (!failed)
            copy_vectors<<<(unsigned)(count / 256), 256, 0, m->cuda->stream>>>(
                (uint4 *)m->second, (const uint4 *)m->big, count);
        if (cuda_end(&stretch, m->cuda, err) || failed)
            return -1;
        values[i < 0 ? 0 : i] = 2.0 * (double)bytes / stretch.seconds;
    }
    if (wanted(m, "dram_copy_bytes_s"))
        send(m, "dram_copy_bytes_s", values, "copying 1 GiB, bytes read and written");
    return 0;
}

static int transpose_figure(const struct memory_plan *m, struct error *err)
{
    enum { N = 8192 };
    double values[REPEATS];
    struct stretch stretch;
    unsigned wrong = 0, *on_device = (unsigned *)m->cuda->stamps;
    float *from = (float *)m->big, *to = (float *)m->second;
    const unsigned blocks = (unsigned)((size_t)N * N / 256);
    if (!wanted(m, "transpose_bytes_s"))
        return 0;
    number<<<blocks, 256, 0, m->cuda->stream>>>(from, N);
    for (int i = -1; i < REPEATS; i++) {
        int failed = cuda_begin(m->cuda, FLUSH_READ, err);
        if (!failed)
            transpose<<<dim3(N / TILE, N / TILE), dim3(TILE, 8), 0, m->cuda->stream>>>(to, from, N);
        if (cuda_end(&stretch, m->cuda, err) || failed)
            return -1;
        values[i < 0 ? 0 : i] = 2.0 * N * N * sizeof(float) / stretch.seconds;
    }
    CUDA_TRY(m->cuda, cudaMemsetAsync(on_device, 0, sizeof(wrong), m->cuda->stream), err);
    count_wrong<<<blocks, 256, 0, m->cuda->stream>>>(on_device, to, N);
    CUDA_TRY(m->cuda, cudaStreamSynchronize(m->cuda->stream), err);
    CUDA_TRY(m->cuda, cudaMemcpy(&wrong, on_device, sizeof(wrong), cudaMemcpyDeviceToHost), err);
    if (wrong)
        return error_set(err, "cuda: the transpose has %u wrong elements", wrong);
    send(m, "transpose_bytes_s", values, "8192 x 8192 FP32 in 32 x 32 tiles, result checked");
    return 0;
}

static int chase_once(double *clocks, const struct memory_plan *m, uint64_t start, int loads,
                      bool shared, struct error *err)
{
    uint64_t found[2], *on_device = (uint64_t *)m->cuda->stamps;
    if (shared)
        chase_shared<<<1, 32, 0, m->cuda->stream>>>(loads, on_device);
    else
        chase<false><<<1, 1, 0, m->cuda->stream>>>(m->big, start, loads, on_device);
    CUDA_TRY(m->cuda, cudaGetLastError(), err);
    CUDA_TRY(m->cuda, cudaStreamSynchronize(m->cuda->stream), err);
    CUDA_TRY(m->cuda, cudaMemcpy(found, on_device, sizeof(found), cudaMemcpyDeviceToHost), err);
    *clocks = (double)found[0] / loads;
    return 0;
}

static int latency_figure(const struct memory_plan *m, const char *key, size_t bytes,
                          const char *note, struct error *err)
{
    double values[REPEATS], ignored;
    const uint64_t lines = bytes / LINE; // a power of two
    const uint64_t multiplier = (uint64_t)((double)lines * 0.6180339887498949) | 1;
    if (!wanted(m, key))
        return 0;
    if (bytes)
        lay_cycle<<<(unsigned)((lines + 255) / 256), 256, 0, m->cuda->stream>>>(m->big, lines,
                                                                                multiplier);
    // A cycle that fits into L2 is walked once before. A cycle that does not is placed somewhere
    // new each time.
    if (bytes == CHASE_L2 && chase_once(&ignored, m, 0, (int)lines, false, err))
        return -1;
    for (int i = 0; i < REPEATS; i++) {
        const uint64_t start =
            bytes == CHASE_DRAM ? (uint64_t)(i + 1) * CHASE * multiplier % lines * LINE : 0;
        if (chase_once(&values[i], m, start, CHASE, bytes == 0, err))
            return -1;
    }
    send(m, key, values, note);
    return 0;
}

// ---- seed 2's measurements, at its sizes ----

static const size_t STUDY_COPY = (size_t)256 << 20, STUDY_L2 = (size_t)8 << 20,
                    STUDY_CHASE_L2 = (size_t)4 << 20, STUDY_CHASE_L1 = (size_t)8 << 10;

enum { STUDY_SIDE = 32768, STUDY_LOADS = 4000 };

static __global__ void __launch_bounds__(THREADS)
    copy_by_few(uint4 *to, const uint4 *from, size_t count, int passes)
{
    const size_t step = (size_t)gridDim.x * blockDim.x;
    for (int pass = 0; pass < passes; pass++) {
        for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count;
             i += step * UNROLL) {
            uint4 x[UNROLL];
#pragma unroll
            for (int u = 0; u < UNROLL; u++)
                x[u] = i + u * step < count ? __ldcg(from + i + u * step) : uint4{0, 0, 0, 0};
#pragma unroll
            for (int u = 0; u < UNROLL; u++) {
                if (i + u * step < count)
                    __stcg(to + i + u * step, x[u]);
            }
        }
    }
}

// Measures bytes read and written per second. Memory that should come from DRAM is elsewhere
// in each repeat.
static int study_copy(const struct memory_plan *m, const char *key, unsigned blocks,
                      unsigned threads, size_t bytes, bool l2, struct error *err)
{
    double values[REPEATS];
    struct stretch stretch;
    char note[96];
    const int passes = l2 ? 4 + (int)blocks : 1;
    if (!calibrate_studied(m->plan->only, key))
        return 0;
    for (int i = -1; i < REPEATS; i++) {
        const size_t at = l2 ? 0 : (size_t)(i + 1) * STUDY_COPY;
        int failed = cuda_begin(m->cuda, FLUSH_NONE, err);
        if (!failed)
            copy_by_few<<<blocks, threads, 0, m->cuda->stream>>>((uint4 *)(m->second + at),
                                                                 (const uint4 *)(m->big + at),
                                                                 bytes / sizeof(uint4), passes);
        if (cuda_end(&stretch, m->cuda, err) || failed)
            return -1;
        values[i < 0 ? 0 : i] = 2.0 * (double)bytes * passes / stretch.seconds;
    }
    snprintf(note, sizeof(note), "copying %zu KiB, %u blocks of %u threads", bytes >> 10, blocks,
             threads);
    send(m, key, values, note);
    return 0;
}

static int study_copies(const struct memory_plan *m, struct error *err)
{
    const unsigned all = (unsigned)m->cuda->sm_count;
    char key[32];
    // One thread would take 6 s for the document's 256 MiB.
    if (study_copy(m, "study_dram_thread", 1, 1, STUDY_COPY / 128, false, err) ||
        study_copy(m, "study_dram_warp", 1, 32, STUDY_COPY / 8, false, err))
        return -1;
    for (unsigned blocks = 1; blocks < all; blocks *= 2) {
        snprintf(key, sizeof(key), "study_dram_sm_%u", blocks);
        if (study_copy(m, key, blocks, THREADS, STUDY_COPY, false, err))
            return -1;
        snprintf(key, sizeof(key), "study_l2_sm_%u", blocks);
        if (study_copy(m, key, blocks, THREADS, STUDY_L2, true, err))
            return -1;
    }
    return study_copy(m, "study_dram_sm_all", all, THREADS, STUDY_COPY, false, err) ||
                   study_copy(m, "study_l2_sm_all", all, THREADS, STUDY_L2, true, err) ||
                   study_copy(m, "study_l2_blocks_4x", 4 * all, THREADS, STUDY_L2, true, err)
               ? -1
               : 0;
}

static int study_latency(const struct memory_plan *m, const char *key, size_t bytes,
                         const char *note, struct error *err)
{
    double values[REPEATS];
    uint64_t found[2], *on_device = (uint64_t *)m->cuda->stamps;
    const uint64_t lines = bytes / LINE;
    const uint64_t multiplier = (uint64_t)((double)lines * 0.6180339887498949) | 1;
    cudaStream_t stream = m->cuda->stream;
    if (!calibrate_studied(m->plan->only, key))
        return 0;
    if (bytes)
        lay_cycle<<<(unsigned)((lines + 255) / 256), 256, 0, stream>>>(m->big, lines, multiplier);
    if (bytes == STUDY_CHASE_L2) // walked once before
        chase<false><<<1, 1, 0, stream>>>(m->big, 0, (int)lines, on_device);
    for (int i = 0; i < REPEATS; i++) {
        const uint64_t start =
            bytes == STUDY_COPY ? (uint64_t)(i + 1) * STUDY_LOADS * multiplier % lines * LINE : 0;
        if (bytes == 0)
            chase_shared<<<1, 32, 0, stream>>>(STUDY_LOADS, on_device);
        else if (bytes == STUDY_CHASE_L1)
            chase<true><<<1, 1, 0, stream>>>(m->big, 0, STUDY_LOADS, on_device);
        else
            chase<false><<<1, 1, 0, stream>>>(m->big, start, STUDY_LOADS, on_device);
        CUDA_TRY(m->cuda, cudaGetLastError(), err);
        CUDA_TRY(m->cuda, cudaStreamSynchronize(stream), err);
        CUDA_TRY(m->cuda, cudaMemcpy(found, on_device, sizeof(found), cudaMemcpyDeviceToHost), err);
        values[i] = (double)found[0] / STUDY_LOADS;
    }
    send(m, key, values, note);
    return 0;
}

// One block of 256 threads transposes 32 x 32 elements. Without padding, all elements of a tile's
// column are in one bank.
template <int padding> static __global__ void transpose_words(float *to, const float *from, int n)
{
    __shared__ float tile[TILE][TILE + padding];
    const int x = (int)blockIdx.x * TILE, y = (int)blockIdx.y * TILE;
    for (int i = (int)threadIdx.x / TILE; i < TILE; i += 8)
        tile[i][threadIdx.x % TILE] = from[(size_t)(y + i) * n + x + threadIdx.x % TILE];
    __syncthreads();
    for (int i = (int)threadIdx.x / TILE; i < TILE; i += 8)
        to[(size_t)(x + i) * n + y + threadIdx.x % TILE] = tile[threadIdx.x % TILE][i];
}

// Does the same by vectors of four. A tile is padded, or its columns are permuted by
// the row instead.
template <bool swizzled>
static __global__ void transpose_vectors(float *to, const float *from, int n)
{
    __shared__ float tile[TILE][TILE + !swizzled];
    const int x = (int)blockIdx.x * TILE, y = (int)blockIdx.y * TILE;
    const int row = (int)threadIdx.x / 8, at = (int)threadIdx.x % 8 * 4;
    const float4 in = *(const float4 *)(from + (size_t)(y + row) * n + x + at);
    const float words[4] = {in.x, in.y, in.z, in.w};
#pragma unroll
    for (int i = 0; i < 4; i++)
        tile[row][swizzled ? (at + i) ^ row : at + i] = words[i];
    __syncthreads();
    float turned[4];
#pragma unroll
    for (int i = 0; i < 4; i++)
        turned[i] = tile[at + i][swizzled ? row ^ (at + i) : row];
    *(float4 *)(to + (size_t)(x + row) * n + y + at) =
        make_float4(turned[0], turned[1], turned[2], turned[3]);
}

typedef void transpose_kernel(float *to, const float *from, int n);

static int study_transpose(const struct memory_plan *m, const char *key, transpose_kernel *kernel,
                           float *to, const float *from, const char *note, struct error *err)
{
    double values[REPEATS];
    struct stretch stretch;
    unsigned wrong = 0, *on_device = (unsigned *)m->cuda->stamps;
    const size_t count = (size_t)STUDY_SIDE * STUDY_SIDE;
    if (!calibrate_studied(m->plan->only, key))
        return 0;
    CUDA_TRY(m->cuda, cudaMemsetAsync(to, 0xff, count * sizeof(float), m->cuda->stream), err);
    for (int i = -1; i < REPEATS; i++) {
        int failed = cuda_begin(m->cuda, FLUSH_READ, err);
        if (!failed)
            kernel<<<dim3(STUDY_SIDE / TILE, STUDY_SIDE / TILE), 256, 0, m->cuda->stream>>>(
                to, from, STUDY_SIDE);
        if (cuda_end(&stretch, m->cuda, err) || failed)
            return -1;
        values[i < 0 ? 0 : i] = 2.0 * (double)count * sizeof(float) / stretch.seconds;
    }
    CUDA_TRY(m->cuda, cudaMemsetAsync(on_device, 0, sizeof(wrong), m->cuda->stream), err);
    count_wrong<<<(unsigned)(count / 256), 256, 0, m->cuda->stream>>>(on_device, to, STUDY_SIDE);
    CUDA_TRY(m->cuda, cudaStreamSynchronize(m->cuda->stream), err);
    CUDA_TRY(m->cuda, cudaMemcpy(&wrong, on_device, sizeof(wrong), cudaMemcpyDeviceToHost), err);
    if (wrong)
        return error_set(err, "cuda: %s has %u wrong elements", key, wrong);
    send(m, key, values, note);
    return 0;
}

static int study_transposes(const struct memory_plan *m, struct error *err)
{
    const size_t bytes = (size_t)STUDY_SIDE * STUDY_SIDE * sizeof(float);
    float *from = NULL, *to = NULL;
    int failed = cuda_failed(m->cuda, cudaMalloc(&from, bytes), "memory for 4 GiB", err) ||
                 cuda_failed(m->cuda, cudaMalloc(&to, bytes), "memory for 4 GiB", err);
    if (!failed) {
        number<<<STUDY_SIDE / 256 * STUDY_SIDE, 256, 0, m->cuda->stream>>>(from, STUDY_SIDE);
        failed = study_transpose(m, "study_transpose_basic", transpose_words<0>, to, from,
                                 "32768 x 32768 FP32, tiles without padding", err) ||
                 study_transpose(m, "study_transpose_vectorized", transpose_vectors<false>, to,
                                 from, "by vectors of four, padded", err) ||
                 study_transpose(m, "study_transpose_scalar", transpose_words<1>, to, from,
                                 "by words, padded", err) ||
                 study_transpose(m, "study_transpose_swizzled", transpose_vectors<true>, to, from,
                                 "by vectors of four, swizzled", err);
    }
    if (m->cuda->base.loss == DEVICE_OK) {
        cudaFree(from);
        cudaFree(to);
    }
    return failed ? -1 : 0;
}

static int study_figures(const struct memory_plan *m, struct error *err)
{
    return study_latency(m, "study_smem_latency_clk", 0, "pointer chase in shared memory", err) ||
                   study_latency(m, "study_l1_latency_clk", STUDY_CHASE_L1,
                                 "pointer chase over 8 KiB, cached in L1", err) ||
                   study_latency(m, "study_l2_latency_clk", STUDY_CHASE_L2,
                                 "pointer chase over 4 MiB past L1", err) ||
                   study_latency(m, "study_dram_latency_clk", STUDY_COPY,
                                 "pointer chase over 256 MiB", err) ||
                   study_copies(m, err) || study_transposes(m, err)
               ? -1
               : 0;
}

static int load_kernels(struct cuda *cuda, struct error *err)
{
    return cuda_load(cuda, empty, err) || cuda_load(cuda, read_vectors, err) ||
           cuda_load(cuda, copy_vectors, err) || cuda_load(cuda, transpose, err) ||
           cuda_load(cuda, copy_by_few, err);
}

static int memory_figures(const struct memory_plan *m, struct error *err)
{
    if (load_kernels(m->cuda, err))
        return -1;
    CUDA_TRY(m->cuda, cudaMemsetAsync(m->big, 1, BIG, m->cuda->stream), err);
    if (is_study(m))
        return study_figures(m, err);
    return launch_figures(m, err) || scaling(m, false, err) || scaling(m, true, err) ||
                   copy_figure(m, err) || transpose_figure(m, err) ||
                   latency_figure(m, "dram_latency_clk", CHASE_DRAM,
                                  "pointer chase over 512 MiB, TLB misses included", err) ||
                   latency_figure(m, "l2_latency_clk", CHASE_L2, "pointer chase over 8 MiB", err) ||
                   latency_figure(m, "smem_latency_clk", 0, "pointer chase in shared memory", err)
               ? -1
               : 0;
}

int cuda_calibrate(struct device_base *device, const char *only, calibration_sink *sink,
                   void *state, struct error *err)
{
    struct cuda *cuda = (struct cuda *)device;
    const struct calibration_plan plan = {cuda, only, sink, state};
    struct memory_plan memory = {&plan, cuda, NULL, NULL};
    int failed =
        cuda_failed(cuda, cudaMalloc(&memory.big, BIG), "memory for 2 GiB", err) ||
        cuda_failed(cuda, cudaMalloc(&memory.second, BIG), "memory for 2 GiB", err) ||
        memory_figures(&memory, err) || calibrate_cuda_pipeline(&plan, memory.big, BIG, err) ||
        calibrate_cuda_compute(&plan, err) || calibrate_cuda_wgmma(&plan, memory.big, BIG, err);
    if (cuda->base.loss == DEVICE_OK) {
        cudaFree(memory.big);
        cudaFree(memory.second);
    }
    return failed ? -1 : 0;
}
