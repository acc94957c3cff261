// SPDX-License-Identifier: Apache-2.0
//
// Records a kernel: launch() is called while the stream is captured, with buffers at made-up
// addresses, and the graph's nodes become the record's launches. Nothing is mapped at those
// addresses and nothing runs.
//
// A launch that cannot be recorded is refused with the reason: it is something else than kernels
// and memsets one after the other, has a parameter that points to memory of the library itself, or
// uses an L2 window.
#include "kernels/device/device_cuda.h"

#include <cuda.h>

extern "C" {
#include "kernels/device/call.h"
#include "kernels/device/record.h"
#include "model/record/record.h"
}

// ==== the driver's functions ====
//
// The driver's functions that recording and replaying need. They are asked of the runtime and not
// linked, so that bench starts where no driver is installed.

#define DRIVER_FUNCTIONS(X)                                                                        \
    X(cuEventCreate)                                                                               \
    X(cuEventDestroy)                                                                              \
    X(cuEventRecord)                                                                               \
    X(cuGetErrorString)                                                                            \
    X(cuFuncGetAttribute)                                                                          \
    X(cuFuncGetName)                                                                               \
    X(cuFuncGetParamInfo)                                                                          \
    X(cuFuncSetAttribute)                                                                          \
    X(cuGraphKernelNodeGetAttribute)                                                               \
    X(cuGraphKernelNodeGetParams)                                                                  \
    X(cuKernelGetFunction)                                                                         \
    X(cuLaunchKernelEx)                                                                            \
    X(cuLibraryGetKernel)                                                                          \
    X(cuLibraryLoadData)                                                                           \
    X(cuLibraryUnload)                                                                             \
    X(cuMemcpyDtoDAsync)                                                                           \
    X(cuMemsetD2D8Async)                                                                           \
    X(cuMemsetD2D16Async)                                                                          \
    X(cuMemsetD2D32Async)                                                                          \
    X(cuPointerGetAttribute)                                                                       \
    X(cuStreamCreate)                                                                              \
    X(cuStreamDestroy)                                                                             \
    X(cuStreamWaitEvent)                                                                           \
    X(cuTensorMapEncodeTiled)

struct record_driver {
#define X(name) decltype(&::name) name;
    DRIVER_FUNCTIONS(X)
#undef X
};

static int driver_failed(const struct record_driver *driver, CUresult code, const char *what,
                         struct error *err);

#define DRIVER_TRY(driver, call, err)                                                              \
    do {                                                                                           \
        if (driver_failed((driver), (driver)->call, #call, (err)))                                 \
            return -1;                                                                             \
    } while (0)

// The newest driver API whose functions are asked for: that of cuFuncGetParamInfo.
enum { DRIVER_API = 12040 };

static int find(void **out, struct cuda *cuda, const char *name, struct error *err)
{
    cudaDriverEntryPointQueryResult found;
    CUDA_TRY(cuda,
             cudaGetDriverEntryPointByVersion(name, out, DRIVER_API, cudaEnableDefault, &found),
             err);
    if (found != cudaDriverEntryPointSuccess || !*out)
        return error_set(
            err, "cuda: the driver has no %s; recording needs one for CUDA 12.4 or newer", name);
    return 0;
}

// The functions of the process's driver, borrowed. NULL, with a text, if the driver lacks one (it
// is older than CUDA 12.4).
static const struct record_driver *cuda_driver(struct cuda *cuda, struct error *err)
{
    static struct record_driver driver;
    static bool known;
    if (known)
        return &driver;
#define X(name)                                                                                    \
    if (find((void **)&driver.name, cuda, #name, err))                                             \
        return NULL;
    DRIVER_FUNCTIONS(X)
#undef X
    known = true;
    return &driver;
}

// Returns 0, or -1 with the driver's words.
static int driver_failed(const struct record_driver *driver, CUresult code, const char *what,
                         struct error *err)
{
    const char *text = NULL;
    if (code == CUDA_SUCCESS)
        return 0;
    if (driver->cuGetErrorString(code, &text) != CUDA_SUCCESS || !text)
        text = "an error the driver has no words for";
    return error_set(err, "cuda: %.200s: %s (%d)", what, text, (int)code);
}

// ==== recording ====

struct recorder {
    struct cuda *cuda;
    const struct record_driver *driver;
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

// Refuses a word that is a device address although none of our buffers lies there: it belongs
// to the library.
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
    const struct record_driver *driver = r->driver;
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

// Clears the stack below. A library may leave bytes of its parameters unset (the gaps of its
// structs); they then have the values that lay on the stack, which must be the same each time.
static void __attribute__((noinline)) clear_stack()
{
    char room[256 << 10];
    memset(room, 0, sizeof(room));
    asm volatile("" ::"r"(room) : "memory");
}

// Explains why a launch() failed, or why its capture was broken off. Most foreign kernels are
// launched on the default stream, which cannot be captured.
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

// Captures on this thread's default stream, so that a library compiled for that need not
// name a stream.
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
    cudaGetLastError(); // clears the error that a refused capture leaves, which was reported above
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

// ==== replaying ====
//
// Replaying a record: its device code is loaded by the driver, which runs no host code of the
// commit, and its launches are queued with the addresses of the stopwatch's buffers.

enum { PORTABLE_CLUSTER = 8, REPLAY_IMAGES_MAX = 64 };

// One launch of one set, ready to be queued.
struct ready {
    unsigned char *bytes;
    void **parameters; // pointers into `bytes`
};

struct replay {
    struct cuda *cuda;
    const struct record_driver *driver;
    const struct record *record;
    CUlibrary libraries[REPLAY_IMAGES_MAX]; // one per image; NULL: the image is
                                            // for another architecture
    CUfunction *functions;                  // one per launch; NULL for a memset
    struct ready *bound;                    // set * launch_count + launch
    // For a record on several streams: stream 0 is the stopwatch's own. The others begin after the
    // work that it has, and end before the work that follows.
    uint32_t streams;
    CUstream stream[RECORD_STREAMS_MAX];
    CUevent begun, *ended; // one per launch; NULL: nothing waits for it
    struct arena arena;
};

static int find_function(CUfunction *out, const struct replay *r,
                         const struct record_launch *launch, struct error *err)
{
    CUkernel kernel;
    for (size_t i = 0; i < r->record->image_count; i++) {
        if (!r->libraries[i] || (launch->image && launch->image != i + 1) ||
            r->driver->cuLibraryGetKernel(&kernel, r->libraries[i], launch->function) !=
                CUDA_SUCCESS)
            continue;
        DRIVER_TRY(r->driver, cuKernelGetFunction(out, kernel), err);
        return 0;
    }
    return error_set(err, "the record's device code has no entry point %.200s for this device",
                     launch->function);
}

// Compares the parameters' sizes with those in the device code. If they differ, the record is not
// of this code.
static int same_parameters(const struct replay *r, CUfunction function,
                           const struct record_launch *launch, struct error *err)
{
    size_t offset, bytes;
    uint32_t p = 0;
    for (; p < launch->parameter_count; p++) {
        if (r->driver->cuFuncGetParamInfo(function, p, &offset, &bytes) != CUDA_SUCCESS ||
            offset != launch->parameters[p].offset || bytes != launch->parameters[p].bytes)
            return error_set(err, "%.200s: parameter %u is not the one that the record has",
                             launch->function, p);
    }
    if (r->driver->cuFuncGetParamInfo(function, p, &offset, &bytes) == CUDA_SUCCESS)
        return error_set(err, "%.200s has more parameters than the record", launch->function);
    return 0;
}

static int make_ready(const struct replay *r, CUfunction function,
                      const struct record_launch *launch, struct error *err)
{
    const uint32_t blocks = launch->cluster[0] * launch->cluster[1] * launch->cluster[2];
    if (launch->shared_bytes)
        DRIVER_TRY(r->driver,
                   cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                      (int)launch->shared_bytes),
                   err);
    if (blocks > PORTABLE_CLUSTER)
        DRIVER_TRY(
            r->driver,
            cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1),
            err);
    if (launch->carveout >= 0)
        DRIVER_TRY(r->driver,
                   cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
                                      launch->carveout),
                   err);
    return 0;
}

static int load(struct replay *r, struct error *err)
{
    const struct record *record = r->record;
    if (record->image_count > REPLAY_IMAGES_MAX)
        return error_set(err, "a record of more than %d images", REPLAY_IMAGES_MAX);
    // A library may hold the same code for several architectures; code for another architecture
    // does not load.
    for (size_t i = 0; i < record->image_count; i++) {
        CUlibrary loaded;
        const CUresult code = r->driver->cuLibraryLoadData(&loaded, record->images[i].bytes, NULL,
                                                           NULL, 0, NULL, NULL, 0);
        if (code == CUDA_ERROR_NO_BINARY_FOR_GPU)
            continue;
        if (driver_failed(r->driver, code, "loading the record's device code", err))
            return -1;
        r->libraries[i] = loaded;
    }
    r->functions =
        (CUfunction *)arena_alloc(&r->arena, record->launch_count * sizeof(*r->functions));
    for (size_t i = 0; i < record->launch_count; i++) {
        const struct record_launch *launch = &record->launches[i];
        if (launch->kind != RECORD_KERNEL)
            continue;
        if (find_function(&r->functions[i], r, launch, err) ||
            same_parameters(r, r->functions[i], launch, err) ||
            make_ready(r, r->functions[i], launch, err))
            return -1;
    }
    return 0;
}

// The driver's numbers for sizes: 0 for none, 1 for the smallest possible number of bytes, 2 for
// its double, ...
static int step_of(uint32_t bytes, uint32_t smallest)
{
    int step = 0;
    for (; bytes >= smallest; bytes /= 2)
        step++;
    return step;
}

static int make_map(CUtensorMap *out, const struct replay *r, const struct record_map *m,
                    const struct record_places *places, struct error *err)
{
    cuuint64_t strides[RECORD_MAP_DIMS] = {};
    void *at = (void *)(places->address[m->buffer] + m->offset);
    for (uint32_t d = 1; d < m->rank; d++)
        strides[d - 1] = m->strides[d];
    const CUtensorMapFloatOOBfill fill = m->fill_nan
                                             ? CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA
                                             : CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;
    return driver_failed(r->driver,
                         r->driver->cuTensorMapEncodeTiled(
                             out, (CUtensorMapDataType)m->type, m->rank, at, m->dims, strides,
                             m->box, m->elements, (CUtensorMapInterleave)step_of(m->interleave, 16),
                             (CUtensorMapSwizzle)step_of(m->swizzle, 32),
                             (CUtensorMapL2promotion)step_of(m->promote, 64), fill),
                         "making a TMA descriptor", err);
}

// Makes the TMA descriptors in the places of the launch's parameters.
static int make_maps(unsigned char *bytes, const struct replay *r,
                     const struct record_launch *launch, const struct record_places *places,
                     struct error *err)
{
    CUtensorMap map;
    static_assert(sizeof(map) == RECORD_MAP_BYTES, "a descriptor's bytes");
    for (uint32_t i = 0; i < launch->map_count; i++) {
        if (make_map(&map, r, &launch->maps[i], places, err))
            return -1;
        memcpy(bytes + launch->maps[i].at, &map, sizeof(map));
    }
    return 0;
}

static int bind(struct replay *r, const struct record_places *places, uint32_t sets,
                struct error *err)
{
    const size_t count = r->record->launch_count;
    r->bound = (struct ready *)arena_alloc(&r->arena, sets * count * sizeof(*r->bound));
    for (uint32_t set = 0; set < sets; set++) {
        for (size_t i = 0; i < count; i++) {
            const struct record_launch *launch = &r->record->launches[i];
            struct ready *bound = &r->bound[set * count + i];
            bound->bytes = (unsigned char *)arena_alloc(&r->arena, launch->size + 64);
            bound->parameters = (void **)arena_alloc(&r->arena, (launch->parameter_count + 1) *
                                                                    sizeof(*bound->parameters));
            if (record_bind(bound->bytes, launch, &places[set], err) ||
                make_maps(bound->bytes, r, launch, &places[set], err))
                return -1;
            for (uint32_t p = 0; p < launch->parameter_count; p++)
                bound->parameters[p] = bound->bytes + launch->parameters[p].offset;
        }
    }
    return 0;
}

static int want_event(const struct replay *r, size_t launch, struct error *err)
{
    if (!r->ended[launch])
        DRIVER_TRY(r->driver, cuEventCreate(&r->ended[launch], CU_EVENT_DISABLE_TIMING), err);
    return 0;
}

// Opens streams, and events for launches that others wait for, and for the last launch
// of each stream.
static int open_streams(struct replay *r, struct error *err)
{
    const struct record *record = r->record;
    size_t last[RECORD_STREAMS_MAX] = {};
    r->streams = 1;
    r->stream[0] = r->cuda->stream;
    r->ended = (CUevent *)arena_alloc(&r->arena, record->launch_count * sizeof(*r->ended));
    memset(r->ended, 0, record->launch_count * sizeof(*r->ended));
    for (size_t i = 0; i < record->launch_count; i++) {
        const struct record_launch *launch = &record->launches[i];
        r->streams = launch->stream >= r->streams ? launch->stream + 1 : r->streams;
        last[launch->stream] = i + 1;
        for (uint32_t k = 0; k < launch->after_count; k++) {
            if (want_event(r, launch->after[k], err))
                return -1;
        }
    }
    for (uint32_t s = 1; s < r->streams; s++) {
        DRIVER_TRY(r->driver, cuStreamCreate(&r->stream[s], CU_STREAM_NON_BLOCKING), err);
        if (last[s] && want_event(r, last[s] - 1, err))
            return -1;
    }
    if (r->streams > 1)
        DRIVER_TRY(r->driver, cuEventCreate(&r->begun, CU_EVENT_DISABLE_TIMING), err);
    return 0;
}

static void close_streams(struct replay *r)
{
    if (r->begun)
        r->driver->cuEventDestroy(r->begun);
    for (size_t i = 0; r->ended && i < r->record->launch_count; i++) {
        if (r->ended[i])
            r->driver->cuEventDestroy(r->ended[i]);
    }
    for (uint32_t s = 1; s < r->streams; s++) {
        if (r->stream[s])
            r->driver->cuStreamDestroy(r->stream[s]);
    }
}

extern "C" int cuda_replay_open(struct replay **out, struct device_base *device,
                                const struct record *record, const struct record_places *places,
                                uint32_t sets, struct error *err)
{
    struct cuda *cuda = (struct cuda *)device;
    struct replay *r = (struct replay *)xcalloc(1, sizeof(*r));
    r->cuda = cuda;
    r->record = record;
    r->driver = cuda_driver(cuda, err);
    if (!r->driver || load(r, err) || bind(r, places, sets, err) || open_streams(r, err)) {
        cuda_replay_free(r);
        return -1;
    }
    *out = r;
    return 0;
}

extern "C" void cuda_replay_free(struct replay *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < REPLAY_IMAGES_MAX && r->cuda->base.loss == DEVICE_OK; i++) {
        if (r->libraries[i])
            r->driver->cuLibraryUnload(r->libraries[i]);
    }
    if (r->cuda->base.loss == DEVICE_OK)
        close_streams(r);
    arena_free(&r->arena);
    free(r);
}

static CUresult queue_memset(const struct replay *r, const struct record_launch *launch,
                             const struct ready *bound)
{
    CUdeviceptr to;
    memcpy(&to, bound->bytes, sizeof(to));
    // One row needs no pitch, but the driver wants one that covers the row.
    const size_t row = launch->width * launch->element_bytes;
    const size_t pitch = launch->height > 1 ? launch->pitch_bytes : row;
    CUstream stream = r->stream[launch->stream];
    switch (launch->element_bytes) {
    case 1:
        return r->driver->cuMemsetD2D8Async(to, pitch, (unsigned char)launch->value, launch->width,
                                            launch->height, stream);
    case 2:
        return r->driver->cuMemsetD2D16Async(to, pitch, (unsigned short)launch->value,
                                             launch->width, launch->height, stream);
    default:
        return r->driver->cuMemsetD2D32Async(to, pitch, launch->value, launch->width,
                                             launch->height, stream);
    }
}

static CUresult queue_copy(const struct replay *r, const struct record_launch *launch,
                           const struct ready *bound)
{
    CUdeviceptr places[2]; // to, from
    memcpy(places, bound->bytes, sizeof(places));
    return r->driver->cuMemcpyDtoDAsync(places[0], places[1], launch->width,
                                        r->stream[launch->stream]);
}

// first: the record's first launch. Earlier work in the queue is the stopwatch's or another
// launch's; to start before that has ended would hide a part of its own time.
static CUresult queue_kernel(const struct replay *r, const struct record_launch *launch, bool first,
                             CUfunction function, const struct ready *bound)
{
    CUlaunchAttribute attributes[3];
    CUlaunchConfig config = {};
    unsigned count = 0;
    config.gridDimX = launch->grid[0];
    config.gridDimY = launch->grid[1];
    config.gridDimZ = launch->grid[2];
    config.blockDimX = launch->block[0];
    config.blockDimY = launch->block[1];
    config.blockDimZ = launch->block[2];
    config.sharedMemBytes = launch->shared_bytes;
    config.hStream = r->stream[launch->stream];
    if (launch->cluster[0] * launch->cluster[1] * launch->cluster[2] > 1) {
        attributes[count].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
        attributes[count].value.clusterDim.x = launch->cluster[0];
        attributes[count].value.clusterDim.y = launch->cluster[1];
        attributes[count++].value.clusterDim.z = launch->cluster[2];
    }
    if (launch->cooperative) {
        attributes[count].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
        attributes[count++].value.cooperative = 1;
    }
    if (launch->programmatic && !first) {
        attributes[count].id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
        attributes[count++].value.programmaticStreamSerializationAllowed = 1;
    }
    config.attrs = attributes;
    config.numAttrs = count;
    return r->driver->cuLaunchKernelEx(&config, function, bound->parameters, NULL);
}

static CUresult fork_streams(const struct replay *r)
{
    CUresult code =
        r->streams > 1 ? r->driver->cuEventRecord(r->begun, r->stream[0]) : CUDA_SUCCESS;
    for (uint32_t s = 1; s < r->streams && code == CUDA_SUCCESS; s++)
        code = r->driver->cuStreamWaitEvent(r->stream[s], r->begun, 0);
    return code;
}

// Joins the streams: work that comes after waits for the last launch of each.
static CUresult join_streams(const struct replay *r)
{
    bool joined[RECORD_STREAMS_MAX] = {true};
    CUresult code = CUDA_SUCCESS;
    for (size_t i = r->record->launch_count; r->streams > 1 && i-- > 0 && code == CUDA_SUCCESS;) {
        const uint32_t s = r->record->launches[i].stream;
        if (!joined[s])
            code = r->driver->cuStreamWaitEvent(r->stream[0], r->ended[i], 0);
        joined[s] = true;
    }
    return code;
}

static CUresult queue(const struct replay *r, uint32_t set, size_t i)
{
    const struct record_launch *launch = &r->record->launches[i];
    const struct ready *bound = &r->bound[set * r->record->launch_count + i];
    CUresult code = CUDA_SUCCESS;
    for (uint32_t k = 0; k < launch->after_count && code == CUDA_SUCCESS; k++)
        code =
            r->driver->cuStreamWaitEvent(r->stream[launch->stream], r->ended[launch->after[k]], 0);
    if (code == CUDA_SUCCESS)
        code = launch->kind == RECORD_MEMSET ? queue_memset(r, launch, bound)
               : launch->kind == RECORD_COPY
                   ? queue_copy(r, launch, bound)
                   : queue_kernel(r, launch, i == 0, r->functions[i], bound);
    return code == CUDA_SUCCESS && r->ended[i]
               ? r->driver->cuEventRecord(r->ended[i], r->stream[launch->stream])
               : code;
}

extern "C" int cuda_replay_launch(struct replay *r, uint32_t set)
{
    CUresult code = fork_streams(r);
    for (size_t i = 0; i < r->record->launch_count && code == CUDA_SUCCESS; i++)
        code = queue(r, set, i);
    return (int)(code == CUDA_SUCCESS ? join_streams(r) : code);
}

extern "C" int cuda_replay_launch_one(struct replay *r, uint32_t set, size_t launch)
{
    return (int)queue(r, set, launch);
}
