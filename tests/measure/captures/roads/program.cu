// SPDX-License-Identifier: Apache-2.0
//
// The third road: a program that knows nothing of plumb. -DSOURCE is the kernel's file. For each
// size it computes a product of normal numbers in a range that is named as the problem, and says
// how long launches take back to back on six sets of operands in turn.
#include SOURCE
#include <cstdio>
#include <cstdlib>
#include <nvtx3/nvToolsExt.h>
#include <random>
#include <vector>
enum { SETS_MOST = 64, TIMES = 2 * SETS_MOST };
static const size_t cold = (size_t)120 << 20; // more than twice the L2 of any GPU today

static void check(cudaError_t code)
{
    if (code != cudaSuccess) {
        fprintf(stderr, "%s\n", cudaGetErrorString(code));
        exit(1);
    }
}

static TYPE *filled(size_t count, std::mt19937 &random)
{
    std::normal_distribution<float> normal;
    std::vector<TYPE> host(count);
    TYPE *device;
    for (TYPE &each : host)
        each = (TYPE)normal(random);
    check(cudaMalloc(&device, count * sizeof(TYPE)));
    check(cudaMemcpy(device, host.data(), count * sizeof(TYPE), cudaMemcpyHostToDevice));
    return device;
}

static void product(int size)
{
    std::mt19937 random(size);
    const size_t count = (size_t)size * size;
    const dim3 grid(size / TILE, size / TILE);
    const size_t bytes = count * (2 * sizeof(TYPE) + sizeof(float));
    const int wanted = (int)(cold / bytes) + 2, sets = wanted < SETS_MOST ? wanted : SETS_MOST;
    TYPE *a[SETS_MOST], *b[SETS_MOST];
    float *c[SETS_MOST], ms;
    char name[80];
    cudaEvent_t begin, end;
    for (int i = 0; i < sets; i++) {
        a[i] = i ? NULL : filled(count, random);
        b[i] = i ? NULL : filled(count, random);
        if (i) { // the same numbers elsewhere
            check(cudaMalloc(&a[i], count * sizeof(TYPE)));
            check(cudaMalloc(&b[i], count * sizeof(TYPE)));
            check(cudaMemcpy(a[i], a[0], count * sizeof(TYPE), cudaMemcpyDeviceToDevice));
            check(cudaMemcpy(b[i], b[0], count * sizeof(TYPE), cudaMemcpyDeviceToDevice));
        }
        check(cudaMalloc(&c[i], count * sizeof(float)));
        check(cudaMemset(c[i], 0, count * sizeof(float)));
    }
    snprintf(name, sizeof(name), "m=%d,n=%d,k=%d:" TYPES, size, size, size);
    nvtxRangePushA(name);
    KERNEL<<<grid, 256>>>(a[0], b[0], c[0], size, size, size);
    nvtxRangePop();
    check(cudaDeviceSynchronize());
    check(cudaEventCreate(&begin));
    check(cudaEventCreate(&end));
    for (int i = 0; i < 2 * TIMES; i++) {
        if (i == TIMES)
            check(cudaEventRecord(begin));
        KERNEL<<<grid, 256>>>(a[i % sets], b[i % sets], c[i % sets], size, size, size);
    }
    check(cudaEventRecord(end));
    check(cudaEventSynchronize(end));
    check(cudaEventElapsedTime(&ms, begin, end));
    printf("%d: %.3f us\n", size, 1e3 * ms / TIMES);
    for (int i = 0; i < sets; i++) {
        cudaFree(a[i]);
        cudaFree(b[i]);
        cudaFree(c[i]);
    }
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        product(atoi(argv[i]));
    return 0;
}
