// SPDX-License-Identifier: Apache-2.0
//
// Which SM gets which block of a kernel, after a kernel of how many blocks.
//
//     nvcc -std=c++20 -O3 -arch=sm_90a deal.cu -o deal && ./deal [LAUNCHES]
//
// A probe of 256 blocks notes the SM of each, as a kernel that a bench times might. Before it, in
// this order: a kernel of BLOCKS blocks of 256 threads that write to memory, one that reads twice
// the L2 with as many threads as fit, and a stamp on each SM; the stream waits between launches. A
// line says in how many ways the probe's blocks were dealt, and how often each was seen.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <map>
#include <string>
#include <vector>

#define TRY(call)                                                                                  \
    do {                                                                                           \
        const cudaError_t code = (call);                                                           \
        if (code != cudaSuccess) {                                                                 \
            std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(code));                     \
            std::exit(1);                                                                          \
        }                                                                                          \
    } while (0)

constexpr int probe_blocks = 256, probe_threads = 256, probe_ns = 20000;

static __device__ unsigned multiprocessor()
{
    unsigned sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    return sm;
}

static __global__ void write_all(uint4 *to, size_t count, unsigned key)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count;
         i += (size_t)gridDim.x * blockDim.x)
        to[i] = make_uint4(key, key * 3, key * 5, (unsigned)i);
}

static __global__ void read_all(const uint4 *from, size_t count, unsigned *sink)
{
    unsigned sum = 0;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count;
         i += (size_t)gridDim.x * blockDim.x) {
        const uint4 x = __ldcg(from + i);
        sum += x.x ^ x.y ^ x.z ^ x.w;
    }
    if (sum == 0x9e3779b9u)
        *sink = sum;
}

static __global__ void stamp(unsigned *to)
{
    if (threadIdx.x == 0)
        to[blockIdx.x] = multiprocessor();
}

static __global__ void __launch_bounds__(probe_threads) probe(unsigned char *to)
{
    uint64_t begun, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begun));
    do
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    while (now - begun < probe_ns);
    if (threadIdx.x == 0)
        to[blockIdx.x] = (unsigned char)multiprocessor();
}

int main(int argc, char **argv)
{
    const int launches = argc > 1 ? std::atoi(argv[1]) : 400;
    constexpr size_t written = 4u << 20;
    cudaDeviceProp device;
    TRY(cudaGetDeviceProperties(&device, 0));
    const size_t flushed = 2 * (size_t)device.l2CacheSize;
    const unsigned sms = (unsigned)device.multiProcessorCount, fit = 8 * sms;
    uint4 *to, *flush;
    unsigned *stamps;
    unsigned char *dealt;
    TRY(cudaMalloc(&to, written));
    TRY(cudaMalloc(&flush, flushed));
    TRY(cudaMalloc(&stamps, (sms + 1) * sizeof(*stamps)));
    TRY(cudaMalloc(&dealt, probe_blocks));
    TRY(cudaMemset(flush, 1, flushed));
    std::printf("%s, %u SMs, %d launches each\n", device.name, sms, launches);
    for (const unsigned blocks : {0u, 8u, fit / 2, fit - 1, fit, fit + 1, 2 * fit, 4 * fit}) {
        std::map<std::string, int> ways;
        for (int i = 0; i < launches; i++) {
            std::string way(probe_blocks, '\0');
            if (blocks)
                write_all<<<blocks, 256>>>(to, written / sizeof(*to), (unsigned)i);
            read_all<<<4 * sms, 512>>>(flush, flushed / sizeof(*flush), stamps + sms);
            stamp<<<sms, 32>>>(stamps);
            probe<<<probe_blocks, probe_threads>>>(dealt);
            TRY(cudaMemcpy(way.data(), dealt, probe_blocks, cudaMemcpyDeviceToHost));
            ways[way]++;
        }
        std::printf("%5u blocks before: %zu ways,", blocks, ways.size());
        std::vector<int> seen;
        for (const auto &way : ways)
            seen.push_back(way.second);
        std::sort(seen.rbegin(), seen.rend());
        for (size_t i = 0; i < seen.size() && i < 16; i++)
            std::printf(" %d", seen[i]);
        std::printf("\n");
    }
    return 0;
}
