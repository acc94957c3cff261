// SPDX-License-Identifier: Apache-2.0
//
// load PATTERN SECONDS: another process at work on the same GPU, for negatives of a study: nothing
// that it does may raise an alarm.
//
//   step       heat: tensor cores of all SMs on random data for 1.5 s, then nothing for 1.5 s, and
//              again. Power and clock step between a study's blocks without a setting touched.
//   neighbour  a copy on a quarter of the SMs, half of the time, all the while: it takes memory
//              bandwidth, L2 and time slices.
//
// Prints a line per second: seconds since the start, launches, and the SM clock that it saw.
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <mma.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

static void check(cudaError_t status, const char *what)
{
    if (status == cudaSuccess)
        return;
    std::fprintf(stderr, "load: %s: %s\n", what, cudaGetErrorString(status));
    std::exit(4);
}

static __device__ uint32_t scramble(uint32_t x)
{
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return x ^ (x >> 16);
}

// Random operands: zeros cost less power. Clocks of the SM and nanoseconds of one thread go out.
static __global__ void heat(float *out, uint64_t *stamps, int steps)
{
    using namespace nvcuda;
    __shared__ __nv_bfloat16 values[2][16 * 16];
    for (unsigned i = threadIdx.x; i < 512; i += blockDim.x)
        values[i / 256][i % 256] =
            __float2bfloat16(static_cast<float>(scramble(i + 512 * blockIdx.x)) * 4.6e-10f - 1.0f);
    __syncthreads();
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::col_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums[4];
    wmma::load_matrix_sync(a, values[0], 16);
    wmma::load_matrix_sync(b, values[1], 16);
    for (auto &sum : sums)
        wmma::fill_fragment(sum, 0.0f);
    uint64_t begun_ns, ended_ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begun_ns));
    const int64_t begun = clock64();
    for (int i = 0; i < steps; i++) {
        for (auto &sum : sums)
            wmma::mma_sync(sum, a, b, sum);
    }
    const int64_t ended = clock64();
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ended_ns));
    float total = 0;
    for (auto &sum : sums)
        total += sum.x[0];
    if (total == -7.25e33f)
        *out = total;
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        stamps[0] = static_cast<uint64_t>(ended - begun);
        stamps[1] = ended_ns - begun_ns;
    }
}

static __global__ void copy(float4 *to, const float4 *from, size_t count)
{
    const size_t step = static_cast<size_t>(gridDim.x) * blockDim.x;
    for (size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
         i += step)
        to[i] = from[i];
}

static double now_s()
{
    using namespace std::chrono;
    return duration<double>(steady_clock::now().time_since_epoch()).count();
}

struct machine {
    float *out;
    uint64_t *stamps;
    float4 *from, *to;
    size_t count;
    int processors;
};

static machine prepare()
{
    machine m = {};
    m.count = size_t{64} << 20 >> 4;
    check(cudaDeviceGetAttribute(&m.processors, cudaDevAttrMultiProcessorCount, 0), "device");
    check(cudaMalloc(&m.out, sizeof(*m.out)), "memory");
    check(cudaMallocManaged(&m.stamps, 2 * sizeof(*m.stamps)), "memory");
    check(cudaMalloc(&m.from, m.count * sizeof(*m.from)), "memory");
    check(cudaMalloc(&m.to, m.count * sizeof(*m.to)), "memory");
    check(cudaMemset(m.from, 1, m.count * sizeof(*m.from)), "memory");
    m.stamps[0] = m.stamps[1] = 0;
    return m;
}

// One launch of about a millisecond, waited for.
static void work(const machine &m, bool step)
{
    if (step)
        heat<<<2 * m.processors, 512>>>(m.out, m.stamps, 6000);
    else
        copy<<<m.processors / 4, 1024>>>(m.to, m.from, m.count);
    check(cudaGetLastError(), "launch");
    check(cudaDeviceSynchronize(), "kernel");
}

int main(int argc, char **argv)
{
    const double seconds = argc == 3 ? std::atof(argv[2]) : 0;
    const bool step = argc == 3 && std::strcmp(argv[1], "step") == 0;
    if (argc != 3 || !(seconds > 0) || (!step && std::strcmp(argv[1], "neighbour") != 0)) {
        std::fprintf(stderr, "usage: load step|neighbour SECONDS\n");
        return 4;
    }
    const machine m = prepare();
    const double begun_s = now_s();
    double told_s = begun_s;
    unsigned launches = 0;
    for (double at_s = begun_s; at_s < begun_s + seconds; at_s = now_s()) {
        const double phase_s = at_s - begun_s - 3.0 * static_cast<int>((at_s - begun_s) / 3.0);
        if (step && phase_s >= 1.5) {
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        } else {
            work(m, step);
            launches++;
            if (!step)
                std::this_thread::sleep_for(std::chrono::duration<double>(now_s() - at_s));
        }
        if (now_s() - told_s < 1)
            continue;
        told_s = now_s();
        const double ns = static_cast<double>(m.stamps[1]);
        std::printf("%6.1f s  %u launches  %.3f GHz\n", told_s - begun_s, launches,
                    ns > 0 ? static_cast<double>(m.stamps[0]) / ns : 0.0);
        std::fflush(stdout);
    }
    return 0;
}
