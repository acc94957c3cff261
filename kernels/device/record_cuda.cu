// SPDX-License-Identifier: Apache-2.0
//
// Recording a kernel: launch() is called while the stream is captured, for buffers at made-up
// addresses, and the graph's nodes are the record's launches. Nothing is mapped at those addresses
// and nothing runs.
//
// What cannot be recorded is refused by name: anything but kernels and memsets one after the other,
// a parameter that points to memory of the library's own, an L2 window.
#include "kernels/device/driver_cuda.h"

extern "C" {
#include "kernels/device/call.h"
#include "kernels/device/record.h"
}

struct recorder {
    struct cuda *cuda;
    const struct driver *driver;
    struct arena *arena;
};

// ---- the graph's nodes, in order ----

static const char *const node_words[] = {
    "a kernel",           "a copy",        "a memset",
    "a host callback",    "a child graph", "an empty node",
    "an event's wait",    "an event",      "a semaphore's signal",
    "a semaphore's wait", "an allocation", "a release of memory"};

static int in_order(cudaGraphNode_t *out, bool *programmatic, size_t count, struct cuda *cuda,
                    cudaGraph_t graph, struct error *err)
{
    cudaGraphNode_t from[RECORD_LAUNCHES_MAX], to[RECORD_LAUNCHES_MAX], root;
    cudaGraphEdgeData data[RECORD_LAUNCHES_MAX];
    size_t edges = RECORD_LAUNCHES_MAX, roots = 1;
    CUDA_TRY(cuda, cudaGraphGetEdges(graph, NULL, NULL, NULL, &edges), err);
    if (edges + 1 != count)
        return error_set(err, "launch() forks into other streams: that cannot be recorded");
    CUDA_TRY(cuda, cudaGraphGetRootNodes(graph, &root, &roots), err);
    if (edges)
        CUDA_TRY(cuda, cudaGraphGetEdges(graph, from, to, data, &edges), err);
    out[0] = root;
    programmatic[0] = false;
    for (size_t i = 1; i < count; i++) {
        size_t e = 0;
        while (e < edges && from[e] != out[i - 1])
            e++;
        if (e == edges)
            return error_set(err, "launch() forks into other streams: that cannot be recorded");
        out[i] = to[e];
        programmatic[i] = data[e].type == cudaGraphDependencyTypeProgrammatic;
    }
    return 0;
}

// ---- one node ----

// A word that is a device address already, where nothing of ours lies, belongs to the library.
static int own_memory(const struct recorder *r, const char *function,
                      const struct record_launch *launch, struct error *err)
{
    for (uint32_t p = 0; p < launch->parameter_count; p++) {
        const struct record_parameter *parameter = &launch->parameters[p];
        for (uint32_t i = 0; i + 8 <= parameter->bytes; i += 8) {
            CUdeviceptr word;
            unsigned kind = 0;
            memcpy(&word, launch->bytes + parameter->offset + i, sizeof(word));
            if (word && r->driver->cuPointerGetAttribute(&kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                                         word) == CUDA_SUCCESS)
                return error_set(err,
                                 "%.200s: parameter %u points to memory of the library's own: that "
                                 "cannot be recorded; take a workspace instead",
                                 function, p);
        }
    }
    return 0;
}

static int take_parameters(struct record_launch *out, const struct recorder *r, CUfunction function,
                           void **values, struct error *err)
{
    size_t offset, bytes;
    uint32_t count = 0, size = 0;
    while (r->driver->cuFuncGetParamInfo(function, count, &offset, &bytes) == CUDA_SUCCESS) {
        size = (uint32_t)(offset + bytes);
        count++;
    }
    if (count && !values)
        return error_set(err, "%.200s: its parameters come in one buffer: that cannot be recorded",
                         out->function);
    out->parameters =
        (struct record_parameter *)arena_alloc(r->arena, (count + 1) * sizeof(*out->parameters));
    out->bytes = (unsigned char *)arena_alloc(r->arena, size + 1);
    out->parameter_count = count;
    out->size = size;
    for (uint32_t p = 0; p < count; p++) {
        DRIVER_TRY(r->driver, cuFuncGetParamInfo(function, p, &offset, &bytes), err);
        out->parameters[p] = {(uint32_t)offset, (uint32_t)bytes};
        memcpy(out->bytes + offset, values[p], bytes);
    }
    return own_memory(r, out->function, out, err);
}

static int take_attributes(struct record_launch *out, const struct recorder *r, CUgraphNode node,
                           CUfunction function, struct error *err)
{
    CUlaunchAttributeValue value = {};
    const struct driver *driver = r->driver;
    DRIVER_TRY(
        driver,
        cuGraphKernelNodeGetAttribute(node, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, &value), err);
    if (value.accessPolicyWindow.num_bytes)
        return error_set(err, "%.200s sets an L2 window: that cannot be recorded", out->function);
    memset(&value, 0, sizeof(value));
    DRIVER_TRY(driver,
               cuGraphKernelNodeGetAttribute(node, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &value),
               err);
    const uint32_t cluster[] = {value.clusterDim.x, value.clusterDim.y, value.clusterDim.z};
    for (int i = 0; i < 3; i++)
        out->cluster[i] = cluster[i] ? cluster[i] : 1;
    memset(&value, 0, sizeof(value));
    DRIVER_TRY(driver, cuGraphKernelNodeGetAttribute(node, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value),
               err);
    out->cooperative = value.cooperative;
    int carveout = -1;
    DRIVER_TRY(
        driver,
        cuFuncGetAttribute(&carveout, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, function),
        err);
    out->carveout = carveout;
    return 0;
}

static int take_kernel(struct record_launch *out, const struct recorder *r, cudaGraphNode_t node,
                       struct error *err)
{
    CUDA_KERNEL_NODE_PARAMS params = {};
    const char *name = NULL;
    DRIVER_TRY(r->driver, cuGraphKernelNodeGetParams((CUgraphNode)node, &params), err);
    CUfunction function = params.func;
    if (!function)
        DRIVER_TRY(r->driver, cuKernelGetFunction(&function, params.kern), err);
    DRIVER_TRY(r->driver, cuFuncGetName(&name, function), err);
    out->kind = RECORD_KERNEL;
    out->function = arena_strdup(r->arena, name);
    const uint32_t grid[] = {params.gridDimX, params.gridDimY, params.gridDimZ};
    const uint32_t block[] = {params.blockDimX, params.blockDimY, params.blockDimZ};
    memcpy(out->grid, grid, sizeof(grid));
    memcpy(out->block, block, sizeof(block));
    out->shared_bytes = params.sharedMemBytes;
    return take_attributes(out, r, (CUgraphNode)node, function, err) ||
                   take_parameters(out, r, function, params.kernelParams, err)
               ? -1
               : 0;
}

static int take_memset(struct record_launch *out, const struct recorder *r, cudaGraphNode_t node,
                       struct error *err)
{
    cudaMemsetParams params;
    CUDA_TRY(r->cuda, cudaGraphMemsetNodeGetParams(node, &params), err);
    out->kind = RECORD_MEMSET;
    out->value = params.value;
    out->element_bytes = params.elementSize;
    out->width = params.width;
    out->height = params.height;
    out->pitch_bytes = params.pitch;
    out->parameters = (struct record_parameter *)arena_alloc(r->arena, sizeof(*out->parameters));
    out->parameters[0] = {0, sizeof(params.dst)};
    out->parameter_count = 1;
    out->size = sizeof(params.dst);
    out->bytes = (unsigned char *)arena_alloc(r->arena, out->size);
    memcpy(out->bytes, &params.dst, sizeof(params.dst));
    return 0;
}

static int take_node(struct record_launch *out, const struct recorder *r, cudaGraphNode_t node,
                     struct error *err)
{
    cudaGraphNodeType type;
    CUDA_TRY(r->cuda, cudaGraphNodeGetType(node, &type), err);
    if (type == cudaGraphNodeTypeKernel)
        return take_kernel(out, r, node, err);
    if (type == cudaGraphNodeTypeMemset)
        return take_memset(out, r, node, err);
    const size_t known = sizeof(node_words) / sizeof(node_words[0]);
    return error_set(err, "launch() queues %s: that cannot be recorded",
                     (size_t)type < known ? node_words[type] : "a node of an unknown kind");
}

static int take_graph(struct record_capture *out, const struct recorder *r, cudaGraph_t graph,
                      struct error *err)
{
    cudaGraphNode_t nodes[RECORD_LAUNCHES_MAX];
    bool programmatic[RECORD_LAUNCHES_MAX];
    size_t count = 0;
    CUDA_TRY(r->cuda, cudaGraphGetNodes(graph, NULL, &count), err);
    if (count == 0 || count > RECORD_LAUNCHES_MAX)
        return error_set(err, "launch() queues %zu launches on its stream; a record has 1 to %d",
                         count, RECORD_LAUNCHES_MAX);
    if (in_order(nodes, programmatic, count, r->cuda, graph, err))
        return -1;
    out->launches = (struct record_launch *)arena_alloc(r->arena, count * sizeof(*out->launches));
    out->count = count;
    for (size_t i = 0; i < count; i++) {
        if (take_node(&out->launches[i], r, nodes[i], err))
            return -1;
        out->launches[i].programmatic = programmatic[i];
    }
    return 0;
}

// ---- the three captures ----

// What a library leaves unset in its parameters (the gaps of its structs) is what lay on the stack
// before. So that it is the same each time, the stack below is cleared.
static void __attribute__((noinline)) clear_stack()
{
    char room[256 << 10];
    memset(room, 0, sizeof(room));
    asm volatile("" ::"r"(room) : "memory");
}

// Why a launch() that failed, or a capture that was broken off, is none. Most kernels from
// elsewhere are launched on the default stream, and no capture is possible on that.
static int refuse(int code, cudaError_t ended, struct error *err)
{
    if (code == cudaErrorStreamCaptureImplicit)
        return error_set(err,
                         "launch() uses the default stream: let it launch on the stream that it "
                         "is given, or compile with nvcc --default-stream per-thread");
    if (code)
        return error_set(err, "launch() returned %d while it was recorded", code);
    return error_set(
        err,
        "launch() did what cannot be recorded: it waits, allocates, or uses the default "
        "stream without nvcc's --default-stream per-thread (%s)",
        cudaGetErrorString(ended));
}

// On the stream that is this thread's default: a library compiled for that need not name it.
struct capturing {
    const struct recorder *r;
    const struct record_request *what;
};

static int capture(struct record_capture *out, void *context, const struct record_places *places,
                   struct error *err)
{
    const struct recorder *r = ((const struct capturing *)context)->r;
    const struct record_request *what = ((const struct capturing *)context)->what;
    const struct plumb_form_args args = record_args(places, &what->form);
    const cudaStream_t stream = cudaStreamPerThread;
    cudaGraph_t graph = NULL;
    CUDA_TRY(r->cuda, cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), err);
    clear_stack();
    const int code = call_launch(what->kernel, &args, stream);
    const cudaError_t ended = cudaStreamEndCapture(stream, &graph);
    int status = 0;
    if (code || ended != cudaSuccess || !graph)
        status = refuse(code, ended, err);
    else
        status = take_graph(out, r, graph, err);
    if (graph)
        cudaGraphDestroy(graph);
    cudaGetLastError(); // what a refused capture leaves behind is told above
    return status;
}

extern "C" int cuda_record(struct record *out, struct device_base *device,
                           const struct record_request *what, struct arena *arena,
                           struct error *err)
{
    struct cuda *cuda = (struct cuda *)device;
    const struct recorder r = {cuda, cuda_driver(cuda, err), arena};
    struct record_places places[2];
    if (!r.driver)
        return -1;
    record_made_up(places, what->bytes);
    const struct plumb_form_args args = record_args(&places[0], &what->form);
    if (call_prepares(what->kernel, &what->form)) {
        const int code = call_prepare(what->kernel, &args, cuda->stream, what->pin, out->note,
                                      sizeof(out->note));
        out->note[sizeof(out->note) - 1] = '\0';
        const cudaError_t ran = cudaDeviceSynchronize();
        if (ran != cudaSuccess)
            return cuda_failed(cuda, ran,
                               "prepare() reads the buffers or launches on them, so its kernel "
                               "cannot be recorded",
                               err);
        if (code)
            return error_set(err,
                             "prepare() returned %d; no buffers are mapped while it is "
                             "recorded",
                             code);
    }
    struct capturing capturing = {&r, what};
    return record_captured(out, capture, &capturing, places, arena, err);
}
