// SPDX-License-Identifier: Apache-2.0
//
// overlap WHAT: two kernels that a quarter of the GPU holds each, and one that adds what they
// computed, twelve times in a range, and how long it takes in ms.
//   serial    one after the other
//   streams   the two on streams of their own
//   graph     the same as a CUDA graph
//   updated   a graph whose kernels take half as long, which was updated as a whole to that one
//   copies    the two on streams of their own, and a copy of what they computed; copied: as a graph
//   dependent the second may start before the first has ended (PDL), and waits for it at its end
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>
enum { COUNT = 32 * 256, TIMES = 12 };

__global__ void work(float *out, const float *in, int rounds)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = in[i];
    for (int r = 0; r < rounds; r++)
        x = x * 0.999f + 0.5f;
    out[i] = x;
}

__global__ void work_behind(float *out, const float *in, const float *before, int rounds)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = in[i];
    for (int r = 0; r < rounds; r++)
        x = x * 0.999f + 0.5f;
    cudaGridDependencySynchronize();
    out[i] = x + before[i];
}

__global__ void add(float *out, const float *a, const float *b)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = a[i] + b[i];
}

static void check(cudaError_t code)
{
    if (code != cudaSuccess) {
        fprintf(stderr, "%s\n", cudaGetErrorString(code));
        exit(1);
    }
}

static float *in, *a, *b, *sum, *copy;
static bool copies;
static cudaStream_t first, second;
static cudaEvent_t forked, joined;
static cudaGraphExec_t graph;
enum { ROUNDS = 40000 };

static void fork_and_join(bool two, int rounds = ROUNDS)
{
    const cudaStream_t other = two ? second : first;
    if (two) {
        check(cudaEventRecord(forked, first));
        check(cudaStreamWaitEvent(second, forked, 0));
    }
    work<<<COUNT / 256, 256, 0, first>>>(a, in, rounds);
    work<<<COUNT / 256, 256, 0, other>>>(b, in, rounds);
    if (two) {
        check(cudaEventRecord(joined, second));
        check(cudaStreamWaitEvent(first, joined, 0));
    }
    add<<<COUNT / 256, 256, 0, first>>>(sum, a, b);
    if (copies)
        check(cudaMemcpyAsync(copy, sum, COUNT * sizeof(float), cudaMemcpyDeviceToDevice, first));
}

static void dependent()
{
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute attribute = {};
    work<<<COUNT / 256, 256, 0, first>>>(a, in, ROUNDS);
    config.gridDim = COUNT / 256;
    config.blockDim = 256;
    config.stream = first;
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    config.attrs = &attribute;
    config.numAttrs = 1;
    check(cudaLaunchKernelEx(&config, work_behind, sum, (const float *)in, (const float *)a,
                             (int)ROUNDS));
}

static void run(const char *what)
{
    if (strcmp(what, "graph") == 0 || strcmp(what, "updated") == 0 || strcmp(what, "copied") == 0)
        check(cudaGraphLaunch(graph, first));
    else if (strcmp(what, "dependent") == 0)
        dependent();
    else
        fork_and_join(strcmp(what, "serial") != 0);
}

static void make(cudaGraph_t *made, int rounds)
{
    check(cudaStreamBeginCapture(first, cudaStreamCaptureModeGlobal));
    fork_and_join(true, rounds);
    check(cudaStreamEndCapture(first, made));
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "serial";
    cudaEvent_t begin, end;
    cudaGraph_t made;
    float ms[TIMES];
    copies = strcmp(what, "copies") == 0 || strcmp(what, "copied") == 0;
    for (float **each : {&in, &a, &b, &sum, &copy}) {
        check(cudaMalloc(each, COUNT * sizeof(float)));
        check(cudaMemset(*each, 1, COUNT * sizeof(float)));
    }
    check(cudaStreamCreate(&first));
    check(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    for (cudaEvent_t *each : {&forked, &joined})
        check(cudaEventCreateWithFlags(each, cudaEventDisableTiming));
    check(cudaEventCreate(&begin));
    check(cudaEventCreate(&end));
    const bool updated = strcmp(what, "updated") == 0;
    make(&made, updated ? ROUNDS / 2 : ROUNDS);
    check(cudaGraphInstantiate(&graph, made, 0));
    if (updated) {
        cudaGraphExecUpdateResultInfo how;
        make(&made, ROUNDS);
        check(cudaGraphExecUpdate(graph, made, &how));
    }
    for (int i = 0; i < TIMES; i++) {
        check(cudaDeviceSynchronize());
        nvtxRangePushA("work");
        check(cudaEventRecord(begin, first));
        run(what);
        check(cudaEventRecord(end, first));
        nvtxRangePop();
        check(cudaDeviceSynchronize());
        check(cudaEventElapsedTime(&ms[i], begin, end));
    }
    std::sort(ms, ms + TIMES);
    printf("%.5f ms\n", ms[TIMES / 2]);
    return 0;
}
