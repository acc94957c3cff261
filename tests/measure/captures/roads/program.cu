// SPDX-License-Identifier: Apache-2.0
//
// The third road: a program that knows nothing of plumb. -DSOURCE is the kernel's file. For each
// size it computes a product of normal numbers in a range that is named as the problem, and says
// how long launches take back to back on sets of operands in turn: queued one by one, and as a
// graph, between whose launches the device pauses for less; as a long one, and as short ones, whose
// begin and end are a larger part. Graphs are for `graphs` in front of the sizes, for a launch
// of a graph is another one to be captured.
#include SOURCE
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nvtx3/nvToolsExt.h>
#include <random>
#include <vector>
enum { SETS_MOST = 64, TIMES = 2 * SETS_MOST, FEW = 16 };
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

static cudaGraphExec_t graph_of(const struct turns *t, int count, cudaStream_t stream)
{
    cudaGraph_t graph;
    cudaGraphExec_t made;
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < count; i++)
        launch(t, i, stream);
    check(cudaStreamEndCapture(stream, &graph));
    check(cudaGraphInstantiate(&made, graph, 0));
    check(cudaGraphDestroy(graph));
    return made;
}

// The same as a graph of so many launches behind one of `before`, in the mean of a few rounds.
static float as_a_graph(const struct turns *t, int count, int before, cudaEvent_t begin,
                        cudaEvent_t end)
{
    enum { ROUNDS = 8 };
    cudaStream_t stream;
    float ms, sum = 0;
    check(cudaStreamCreate(&stream));
    const cudaGraphExec_t first = graph_of(t, before, stream), timed = graph_of(t, count, stream);
    for (int i = 0; i < ROUNDS; i++) {
        check(cudaGraphLaunch(first, stream));
        check(cudaEventRecord(begin, stream));
        check(cudaGraphLaunch(timed, stream));
        check(cudaEventRecord(end, stream));
        check(cudaEventSynchronize(end));
        check(cudaEventElapsedTime(&ms, begin, end));
        sum += ms;
    }
    check(cudaGraphExecDestroy(first));
    check(cudaGraphExecDestroy(timed));
    check(cudaStreamDestroy(stream));
    return 1e3f * sum / (ROUNDS * count);
}

static void product(int size, bool graphs)
{
    std::mt19937 random(size);
    const size_t count = (size_t)size * size;
    const size_t bytes = count * (2 * sizeof(TYPE) + sizeof(float));
    const int wanted = (int)(cold / bytes) + 2;
    struct turns t = {};
    char name[80];
    cudaEvent_t begin, end;
    t.size = size;
    t.sets = wanted < SETS_MOST ? wanted : SETS_MOST;
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
    printf("%d: %.3f us one by one", size, one_by_one(&t, begin, end));
    if (graphs)
        printf(", %.3f us as a graph, %.3f us as graphs of %d",
               as_a_graph(&t, TIMES, TIMES, begin, end), as_a_graph(&t, FEW, FEW / 4, begin, end),
               FEW);
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
