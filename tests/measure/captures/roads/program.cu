// SPDX-License-Identifier: Apache-2.0
//
// The third road: a program that knows nothing of plumb. -DSOURCE is the kernel's file. For each
// size it computes a product of normal numbers in a range that is named as the problem, and says
// how long launches take back to back on sets of operands in turn: queued one by one; as a long
// graph, between whose launches the device pauses for less; and as a stream of the stopwatch is
// described: the L2 is read full of other lines, the kernel runs for a millisecond on two sets of
// its own, and a graph of .6 ms meets each other set once. Graphs are for `graphs` in front of the
// sizes, for a launch of a graph is another one to be captured.
#include SOURCE
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nvtx3/nvToolsExt.h>
#include <random>
#include <vector>
enum { SETS_MOST = 64, SETS_LEAST = 13, TIMES = 2 * SETS_MOST, ROUNDS = 8 };
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

// Launches on sets of operands in turn.
struct turns {
    TYPE *a[SETS_MOST], *b[SETS_MOST];
    float *c[SETS_MOST];
    int sets, size;
};

static void launch(const struct turns *t, int i, cudaStream_t stream)
{
    const int set = i % t->sets;
    KERNEL<<<dim3(t->size / TILE, t->size / TILE), 256, 0, stream>>>(
        t->a[set], t->b[set], t->c[set], t->size, t->size, t->size);
}

// Us a launch, behind as many that are not timed.
static float one_by_one(const struct turns *t, cudaEvent_t begin, cudaEvent_t end)
{
    float ms;
    for (int i = 0; i < 2 * TIMES; i++) {
        if (i == TIMES)
            check(cudaEventRecord(begin));
        launch(t, i, 0);
    }
    check(cudaEventRecord(end));
    check(cudaEventSynchronize(end));
    check(cudaEventElapsedTime(&ms, begin, end));
    return 1e3f * ms / TIMES;
}

static cudaGraphExec_t graph_of(const struct turns *t, int first, int count, cudaStream_t stream)
{
    cudaGraph_t graph;
    cudaGraphExec_t made;
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (int i = first; i < first + count; i++)
        launch(t, i, stream);
    check(cudaStreamEndCapture(stream, &graph));
    check(cudaGraphInstantiate(&made, graph, 0));
    check(cudaGraphDestroy(graph));
    return made;
}

static float timed(cudaGraphExec_t graph, cudaStream_t stream, cudaEvent_t begin, cudaEvent_t end)
{
    float ms;
    check(cudaEventRecord(begin, stream));
    check(cudaGraphLaunch(graph, stream));
    check(cudaEventRecord(end, stream));
    check(cudaEventSynchronize(end));
    check(cudaEventElapsedTime(&ms, begin, end));
    return 1e3f * ms;
}

// The same as a graph behind another one, in the mean of a few rounds.
static float as_a_graph(const struct turns *t, cudaStream_t stream, cudaEvent_t begin,
                        cudaEvent_t end)
{
    const cudaGraphExec_t graph = graph_of(t, 0, TIMES, stream);
    float sum = 0;
    for (int i = 0; i < ROUNDS; i++) {
        check(cudaGraphLaunch(graph, stream));
        sum += timed(graph, stream, begin, end);
    }
    check(cudaGraphExecDestroy(graph));
    return sum / (ROUNDS * TIMES);
}

__global__ void read_all(const uint4 *from, size_t count, unsigned *out)
{
    unsigned sum = 0;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count;
         i += (size_t)gridDim.x * blockDim.x)
        sum ^= from[i].x ^ from[i].y ^ from[i].z ^ from[i].w;
    if (sum == 1) // the lines are zeros, and the compiler does not know
        *out = sum;
}

// As a stream of the stopwatch, by launches that take `us` one by one. *count: how many are timed.
static float as_a_stream(int *count, const struct turns *all, float us, cudaStream_t stream,
                         cudaEvent_t begin, cudaEvent_t end)
{
    enum { AHEAD = 4, LEAST = 6 };
    struct turns t = *all, hot = *all;
    const size_t lines = cold / sizeof(uint4);
    const int wanted = us * LEAST > 600 ? LEAST : (int)(600 / us) + 1, heats = (int)(1000 / us) + 1;
    uint4 *other;
    float sum = 0;
    t.sets -= 2; // the last two are for heat
    hot.a[0] = t.a[t.sets], hot.b[0] = t.b[t.sets], hot.c[0] = t.c[t.sets];
    hot.a[1] = t.a[t.sets + 1], hot.b[1] = t.b[t.sets + 1], hot.c[1] = t.c[t.sets + 1];
    hot.sets = 2;
    *count = wanted < t.sets - AHEAD ? wanted : t.sets - AHEAD;
    check(cudaMalloc(&other, cold));
    check(cudaMemset(other, 0, cold));
    const cudaGraphExec_t ahead = graph_of(&t, 0, AHEAD, stream),
                          graph = graph_of(&t, AHEAD, *count, stream);
    for (int i = 0; i < ROUNDS; i++) {
        read_all<<<1056, 256, 0, stream>>>(other, lines, (unsigned *)other);
        for (int k = 0; k < heats; k++)
            launch(&hot, k, stream);
        check(cudaGraphLaunch(ahead, stream));
        sum += timed(graph, stream, begin, end);
    }
    check(cudaGraphExecDestroy(ahead));
    check(cudaGraphExecDestroy(graph));
    check(cudaFree(other));
    return sum / (ROUNDS * *count);
}

static void product(int size, bool graphs)
{
    std::mt19937 random(size);
    const size_t count = (size_t)size * size;
    const size_t bytes = count * (2 * sizeof(TYPE) + sizeof(float));
    const int wanted = (int)(cold / bytes) + 2, usual = wanted < SETS_MOST ? wanted : SETS_MOST;
    struct turns t = {};
    char name[80];
    int count_timed;
    cudaStream_t stream;
    cudaEvent_t begin, end;
    t.size = size;
    t.sets = usual > SETS_LEAST ? usual : SETS_LEAST;
    for (int i = 0; i < t.sets; i++) {
        t.a[i] = i ? NULL : filled(count, random);
        t.b[i] = i ? NULL : filled(count, random);
        if (i) { // the same numbers elsewhere
            check(cudaMalloc(&t.a[i], count * sizeof(TYPE)));
            check(cudaMalloc(&t.b[i], count * sizeof(TYPE)));
            check(cudaMemcpy(t.a[i], t.a[0], count * sizeof(TYPE), cudaMemcpyDeviceToDevice));
            check(cudaMemcpy(t.b[i], t.b[0], count * sizeof(TYPE), cudaMemcpyDeviceToDevice));
        }
        check(cudaMalloc(&t.c[i], count * sizeof(float)));
        check(cudaMemset(t.c[i], 0, count * sizeof(float)));
    }
    snprintf(name, sizeof(name), "m=%d,n=%d,k=%d:" TYPES, size, size, size);
    nvtxRangePushA(name);
    launch(&t, 0, 0);
    nvtxRangePop();
    check(cudaDeviceSynchronize());
    check(cudaEventCreate(&begin));
    check(cudaEventCreate(&end));
    const float us = one_by_one(&t, begin, end);
    printf("%d: %.3f us one by one", size, us);
    if (graphs) {
        check(cudaStreamCreate(&stream));
        const float graph = as_a_graph(&t, stream, begin, end);
        const float as_stream = as_a_stream(&count_timed, &t, us, stream, begin, end);
        printf(", %.3f us as a graph, %.3f us in a stream of %d", graph, as_stream, count_timed);
        check(cudaStreamDestroy(stream));
    }
    printf("\n");
    for (int i = 0; i < t.sets; i++) {
        cudaFree(t.a[i]);
        cudaFree(t.b[i]);
        cudaFree(t.c[i]);
    }
}

// [graphs] SIZE...
int main(int argc, char **argv)
{
    const bool graphs = argc > 1 && strcmp(argv[1], "graphs") == 0;
    for (int i = 1 + graphs; i < argc; i++)
        product(atoi(argv[i]), graphs);
    return 0;
}
