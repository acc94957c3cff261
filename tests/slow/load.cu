// SPDX-License-Identifier: Apache-2.0
//
// load PATTERN SECONDS [MODULE]: another process at work on the same GPU, for negatives of a study:
// nothing that it does may raise an alarm.
//
//   step       heat: 8192^3 products in BF16 by MODULE (base/bf16_0050.so of build.sh), back to
//              back on random data for 1.5 s, then nothing for 1.5 s, and again. They take all the
//              power there is, so that the clock steps without a setting touched.
//   neighbour  a copy on a quarter of the SMs, half of the time, all the while: it takes memory
//              bandwidth, L2 and time slices.
//
// Prints a line per half second: seconds since the start, launches, and the SM clock that it saw.
#include "kernel.h"

#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <dlfcn.h>

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

// Random operands between -1 and 1: zeros cost less power.
static __global__ void fill(__nv_bfloat16 *out, size_t count, uint32_t seed)
{
    const size_t step = static_cast<size_t>(gridDim.x) * blockDim.x;
    for (size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
         i += step) {
        const uint32_t word = scramble(static_cast<uint32_t>(i) + seed);
        out[i] = __float2bfloat16(static_cast<float>(word) * 4.6e-10f - 1.0f);
    }
}

// Clocks of one SM and nanoseconds, of some 50 us.
static __global__ void look(uint64_t *stamps)
{
    uint64_t begun_ns, ended_ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begun_ns));
    const int64_t begun = clock64();
    int64_t ended;
    do {
        ended = clock64();
    } while (ended - begun < 90000);
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ended_ns));
    stamps[0] = static_cast<uint64_t>(ended - begun);
    stamps[1] = ended_ns - begun_ns;
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
    uint64_t *stamps;
    float4 *from, *to;
    size_t count;
    int processors;
    const plumb_kernel *heat; // NULL: copy
    plumb_args args;
};

static const plumb_kernel *open_module(const char *path)
{
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *symbol = module ? dlsym(module, "plumb_library") : nullptr;
    if (!symbol) {
        std::fprintf(stderr, "load: %s\n", dlerror());
        std::exit(4);
    }
    return reinterpret_cast<plumb_library_function>(symbol)()->kernels;
}

static machine prepare(const char *module)
{
    constexpr int64_t size = 8192;
    constexpr size_t elements = size_t{size} * size;
    machine m = {};
    m.count = size_t{64} << 20 >> 4;
    check(cudaDeviceGetAttribute(&m.processors, cudaDevAttrMultiProcessorCount, 0), "device");
    check(cudaMallocManaged(&m.stamps, 2 * sizeof(*m.stamps)), "memory");
    check(cudaMalloc(&m.from, m.count * sizeof(*m.from)), "memory");
    check(cudaMalloc(&m.to, m.count * sizeof(*m.to)), "memory");
    check(cudaMemset(m.from, 1, m.count * sizeof(*m.from)), "memory");
    m.stamps[0] = m.stamps[1] = 0;
    if (!module)
        return m;
    __nv_bfloat16 *operands;
    check(cudaMalloc(&operands, 3 * elements * sizeof(*operands)), "memory");
    fill<<<8 * m.processors, 256>>>(operands, 2 * elements, 1);
    check(cudaGetLastError(), "launch");
    m.heat = open_module(module);
    m.args.problem = {size, size, size, PLUMB_BF16, PLUMB_BF16, PLUMB_TN, 1, 0, 0};
    m.args.a = operands;
    m.args.b = operands + elements;
    m.args.c = operands + 2 * elements;
    if (!m.heat->supports(&m.args.problem)) {
        std::fprintf(stderr, "load: %s does not do 8192^3 in BF16\n", m.heat->name);
        std::exit(4);
    }
    return m;
}

// Some milliseconds of heat, or one copy of about one, waited for.
static unsigned work(const machine &m)
{
    unsigned launches = 1;
    if (m.heat) {
        for (launches = 0; launches < 4; launches++)
            check(static_cast<cudaError_t>(m.heat->launch(&m.args, nullptr)), "product");
    } else {
        copy<<<m.processors / 4, 1024>>>(m.to, m.from, m.count);
    }
    check(cudaGetLastError(), "launch");
    check(cudaDeviceSynchronize(), "kernel");
    return launches;
}

static double clock_ghz(const machine &m)
{
    look<<<1, 1>>>(m.stamps);
    check(cudaGetLastError(), "launch");
    check(cudaDeviceSynchronize(), "kernel");
    const double ns = static_cast<double>(m.stamps[1]);
    return ns > 0 ? static_cast<double>(m.stamps[0]) / ns : 0;
}

int main(int argc, char **argv)
{
    const double seconds = argc >= 3 ? std::atof(argv[2]) : 0;
    const bool step = argc == 4 && std::strcmp(argv[1], "step") == 0;
    const bool neighbour = argc == 3 && std::strcmp(argv[1], "neighbour") == 0;
    if (!(seconds > 0) || (!step && !neighbour)) {
        std::fprintf(stderr, "usage: load step SECONDS MODULE | load neighbour SECONDS\n");
        return 4;
    }
    const machine m = prepare(step ? argv[3] : nullptr);
    const double begun_s = now_s();
    double told_s = begun_s;
    unsigned launches = 0;
    for (double at_s = begun_s; at_s < begun_s + seconds; at_s = now_s()) {
        const double phase_s = at_s - begun_s - 3.0 * static_cast<int>((at_s - begun_s) / 3.0);
        if (step && phase_s >= 1.5) {
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        } else {
            launches += work(m);
            if (!step)
                std::this_thread::sleep_for(std::chrono::duration<double>(now_s() - at_s));
        }
        if (now_s() - told_s < 0.5)
            continue;
        told_s = now_s();
        std::printf("%6.1f s  %s  %u launches  %.3f GHz\n", told_s - begun_s,
                    step && phase_s >= 1.5 ? "rests" : "works", launches, clock_ghz(m));
        std::fflush(stdout);
    }
    return 0;
}
