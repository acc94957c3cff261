// SPDX-License-Identifier: Apache-2.0
//
// The library's entry, which the CUDA driver calls when it starts, and the events that CUPTI
// reports: modules, launches, graphs, TMA descriptors. It keeps the program's device functions and
// graphs; which of their launches are counted (survey.c) and recorded (taking.c) is decided here.
// CUPTI is looked for in the program's and in CUDA's folders. Without it nothing is watched, and
// the survey says so.
#include "kernels/capture/capture.h"

#include <cupti.h>
#include <dlfcn.h>
#include <fnmatch.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// ==== the driver's functions ====
//
// Finds the driver's functions in the library that the process has loaded.

#define TEXT_OF(name) #name
#define NAME_OF(name) TEXT_OF(name) // cuda.h selects versions of functions by macros

// Returns NULL if the process has no driver of CUDA 12.4 or newer; `missing` names what it lacks.
static const struct driver *driver_find(const char **missing)
{
    static struct driver found;
    static const struct {
        const char *name;
        size_t at;
    } functions[] = {
#define X(name) {NAME_OF(name), offsetof(struct driver, name)},
        DRIVER_FUNCTIONS(X)
#undef X
    };
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    *missing = "libcuda.so.1";
    for (size_t i = 0; library && i < sizeof(functions) / sizeof(*functions); i++) {
        void *function = dlsym(library, functions[i].name);
        if (!function) {
            *missing = functions[i].name;
            return NULL;
        }
        memcpy((char *)&found + functions[i].at, &function, sizeof(function));
    }
    return library ? &found : NULL;
}

struct wish wishes[WISHES_MOST];
size_t wish_count;
bool wish_times;
const struct driver *driver;

// ==== device functions, and the images that they were loaded from ====
//
// Functions are kept by their handles. The driver reports an image during the call that loads it:
// of a module, of a library, or here, where a function is loaded that its runtime would load at its
// first launch. An image that is reported meanwhile belongs to that handle. For any other function
// the image is found by name; if different images have that name, it has none.

static struct record_image **images; // by the order in which they were loaded
static size_t image_count, image_room;
static int32_t loaded_now = -1; // the last image reported while a function is being loaded
static struct came_from {
    const void *handle; // of a module or a library
    int32_t image;
} * origins;
static size_t origin_count, origin_room;

static void image_loaded(const char *bytes, size_t size)
{
    images = xgrow(images, image_count, &image_room, sizeof(*images));
    unsigned char *copy = xcalloc(size ? size : 1, 1);
    struct record_image *image = xcalloc(1, sizeof(*image));
    memcpy(copy, bytes, size);
    *image = (struct record_image){copy, size};
    loaded_now = (int32_t)image_count;
    images[image_count++] = image;
}

// Notes that the images loaded after the first `before` ones belong to this module or library.
static void image_is_of(const void *handle, size_t before)
{
    if (image_count != before + 1)
        return; // there is no image, or there are those of several calls at the same time
    origins = xgrow(origins, origin_count, &origin_room, sizeof(*origins));
    origins[origin_count++] = (struct came_from){handle, (int32_t)before};
}

// Finds the last image with this handle, because a handle is reused when its module is gone.
static int32_t image_by_origin(const void *handle)
{
    for (size_t i = origin_count; handle && i-- > 0;) {
        if (origins[i].handle == handle)
            return origins[i].image;
    }
    return -1;
}

static bool has_text(const struct record_image *image, const char *text, size_t size)
{
    return memmem(image->bytes, image->size, text, size) != NULL;
}

static bool is_same_image(const struct record_image *a, const struct record_image *b)
{
    return a == b || (a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0);
}

// Finds an image by the name of a section: that of the function's machine code. -1: there is none;
// -2: there are several that differ.
static int32_t image_by_name(const char *name)
{
    char *section = xprintf(".text.%s", name);
    const size_t size = strlen(section) + 1;
    int32_t found = -1;
    for (size_t i = 0; i < image_count && found >= -1; i++) {
        if (!has_text(images[i], section, size))
            continue;
        const bool same = found >= 0 && is_same_image(images[found], images[i]);
        found = found < 0 || same ? (int32_t)i : -2;
    }
    free(section);
    return found;
}

static void find_parameters(struct function *f)
{
    size_t offset, bytes;
    size_t room = 0;
    while (driver->cuFuncGetParamInfo(f->handle, f->parameter_count, &offset, &bytes) ==
           CUDA_SUCCESS) {
        f->parameters = xgrow(f->parameters, f->parameter_count, &room, sizeof(*f->parameters));
        f->parameters[f->parameter_count++] =
            (struct record_parameter){(uint32_t)offset, (uint32_t)bytes};
        if (offset + bytes > PARAMETERS_BYTES_MAX) {
            f->refused = "it has more bytes of parameters than CUDA allows";
            return;
        }
        f->parameter_bytes = (uint32_t)(offset + bytes);
    }
}

static int attribute(const struct function *f, CUfunction_attribute which)
{
    int value = 0;
    driver->cuFuncGetAttribute(&value, which, f->handle);
    return value;
}

static void describe(struct function *f, int32_t image)
{
    // Functions that launch from device code, of the first and of the second version.
    static const char launches[] = "cudaLaunchDevice", launches_2[] = "cudaCDP2LaunchDevice";
    f->registers = attribute(f, CU_FUNC_ATTRIBUTE_NUM_REGS);
    f->shared_bytes = attribute(f, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
    f->local_bytes = attribute(f, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
    f->clustered = attribute(f, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH) > 0;
    find_parameters(f);
    if (!f->image)
        f->refused = image == -2 ? "several images that differ have a function of this name"
                                 : "the driver told of no image that has it";
    else if (has_text(f->image, launches, sizeof(launches) - 1) ||
             has_text(f->image, launches_2, sizeof(launches_2) - 1))
        f->refused = "its image launches kernels from the device";
}

static int32_t find_image(const struct function *f, CUfunction handle)
{
    CUmodule module = NULL;
    CUlibrary library = NULL;
    if (loaded_now >= 0)
        return loaded_now;
    if (driver->cuFuncGetModule(&module, f->handle) != CUDA_SUCCESS)
        module = NULL;
    if (f->handle != handle &&
        driver->cuKernelGetLibrary(&library, (CUkernel)handle) != CUDA_SUCCESS)
        library = NULL;
    const int32_t of_module = image_by_origin(module);
    const int32_t of_library = image_by_origin(library);
    return of_module >= 0 ? of_module : of_library >= 0 ? of_library : image_by_name(f->name);
}

// The functions that launches have given so far, by what they gave. Handles of one function share
// its entry: a launch may give a CUkernel and a graph's node its CUfunction, and each context that
// loads an image has a handle of its own.
static struct known {
    CUfunction given;
    const struct function *function;
} * known;
static size_t known_count, known_room;

// Finds a known function that is this one: the driver has one handle for both, or they have the
// same name in the same code.
static const struct function *known_as(const struct function *f)
{
    for (size_t i = 0; i < known_count; i++) {
        const struct function *other = known[i].function;
        if (strcmp(other->name, f->name) == 0 &&
            (other->handle == f->handle ||
             (other->image && f->image && is_same_image(other->image, f->image))))
            return other;
    }
    return NULL;
}

static const struct function *make_function(CUfunction handle)
{
    struct function f = {.handle = handle};
    CUfunctionLoadingState state;
    loaded_now = -1;
    if (driver->cuFuncGetName(&f.name, handle) != CUDA_SUCCESS &&
        (driver->cuKernelGetFunction(&f.handle, (CUkernel)handle) != CUDA_SUCCESS ||
         driver->cuFuncGetName(&f.name, f.handle) != CUDA_SUCCESS))
        return NULL;
    if (driver->cuFuncIsLoaded(&state, f.handle) == CUDA_SUCCESS &&
        state == CU_FUNCTION_LOADING_STATE_UNLOADED)
        driver->cuFuncLoad(f.handle);
    const int32_t image = find_image(&f, handle);
    f.image = image < 0 ? NULL : images[image];
    const struct function *same = known_as(&f);
    if (same)
        return same;
    f.name = xstrdup(f.name);
    describe(&f, image);
    struct function *kept = xcalloc(1, sizeof(*kept));
    *kept = f;
    return kept;
}

// Finds a function by a CUfunction or a CUkernel, because launches give either. All handles of one
// function find the same, which does not move. NULL: the driver knows no such function.
static const struct function *function_of(CUfunction handle)
{
    static size_t last;
    if (known_count && known[last].given == handle)
        return known[last].function;
    for (size_t i = 0; i < known_count; i++) {
        if (known[i].given == handle)
            return known[last = i].function;
    }
    const struct function *function = make_function(handle);
    if (!function)
        return NULL;
    known = xgrow(known, known_count, &known_room, sizeof(*known));
    known[last = known_count] = (struct known){handle, function};
    return known[known_count++].function;
}

// ==== a launch, as the program asks for it ====

static void unpack(struct seen *seen, void **extra)
{
    const unsigned char *bytes = NULL;
    size_t size = 0;
    for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
        if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER)
            bytes = extra[1];
        else if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE)
            size = *(const size_t *)extra[1];
    }
    if (bytes && size <= sizeof(seen->bytes))
        memcpy(seen->bytes, bytes, size);
}

// Copies a launch's parameters, in whichever form the launch gives them.
static void seen_parameters(struct seen *seen, void **parameters, void **extra)
{
    const struct function *f = seen->function;
    seen->size = f->parameter_bytes;
    if (f->refused) {
        seen->refused = f->refused;
        if (f->parameter_bytes > sizeof(seen->bytes))
            return;
    }
    for (uint32_t p = 0; parameters && p < f->parameter_count; p++)
        memcpy(seen->bytes + f->parameters[p].offset, parameters[p], f->parameters[p].bytes);
    if (!parameters && extra)
        unpack(seen, extra);
}

static void seen_attributes(struct seen *seen, const CUlaunchAttribute *attributes, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        const CUlaunchAttributeValue *value = &attributes[i].value;
        switch (attributes[i].id) {
        case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
            if (seen->function->clustered)
                break; // a graph's node names a cluster that is compiled in, other launches do not
            seen->cluster[0] = value->clusterDim.x ? value->clusterDim.x : 1;
            seen->cluster[1] = value->clusterDim.y ? value->clusterDim.y : 1;
            seen->cluster[2] = value->clusterDim.z ? value->clusterDim.z : 1;
            break;
        case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
            seen->cooperative = value->cooperative;
            break;
        case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
            seen->programmatic = value->programmaticStreamSerializationAllowed;
            break;
        case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
            seen->carveout = (int32_t)value->sharedMemCarveout;
            break;
        case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
            if (value->accessPolicyWindow.num_bytes)
                seen->refused = "its launch asks for a window of L2";
            break;
        case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
            if (value->deviceUpdatableKernelNode.deviceUpdatable)
                seen->refused = "its launch may be changed by the device";
            break;
        default:
            break; // priorities, events and domains do not change the result
        }
    }
}

// ==== CUDA graphs ====
//
// When a graph is instantiated, its kernels, memsets and copies within the device's memory are
// noted in an order that its edges allow. A graph with any other node is counted but not recorded.

enum { NODES_MAX = 65536 };

struct graph_step {
    bool is_transfer; // a memset or a copy
    uint32_t chain;   // below RECORD_STREAMS_MAX: steps of one chain follow each other
    uint32_t *after;  // steps of other chains that it waits for
    uint32_t after_count;
    struct seen *seen;
    struct record_launch transfer;
    uint64_t addresses[2];
};
struct graph {
    CUgraphExec exec;
    struct graph_step *steps;
    size_t count;
    char refused[128]; // "" or why it cannot be recorded
};

static struct graph *graphs;
static size_t graph_count, graph_room;

// NULL: its making was not seen.
static struct graph *graph_of(CUgraphExec exec)
{
    for (size_t i = 0; i < graph_count; i++) {
        if (graphs[i].exec == exec)
            return &graphs[i];
    }
    return NULL;
}

static void graph_changed(CUgraphExec exec)
{
    struct graph *graph = graph_of(exec);
    if (graph)
        snprintf(graph->refused, sizeof(graph->refused),
                 "its graph was changed after it was made executable");
}

// Drops what was noted for a handle, because handles are reused, and a graph may be updated as a
// whole for each launch.
static struct graph *forgotten(CUgraphExec exec)
{
    struct graph *graph = graph_of(exec);
    for (size_t i = 0; graph && i < graph->count; i++) {
        free(graph->steps[i].seen);
        free(graph->steps[i].after);
    }
    if (graph)
        free(graph->steps);
    return graph;
}

static void add_attributes(struct seen *seen, CUgraphNode node)
{
    static const CUlaunchAttributeID which[] = {
        CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
        CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
        CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW};
    for (size_t i = 0; i < ARRAY_COUNT(which); i++) {
        CUlaunchAttribute attribute = {.id = which[i]};
        if (driver->cuGraphKernelNodeGetAttribute(node, which[i], &attribute.value) == CUDA_SUCCESS)
            seen_attributes(seen, &attribute, 1);
    }
}

static bool add_kernel(struct graph *graph, CUgraphNode node, bool programmatic)
{
    CUDA_KERNEL_NODE_PARAMS from;
    struct seen seen = SEEN_NONE;
    if (driver->cuGraphKernelNodeGetParams(node, &from) != CUDA_SUCCESS)
        return false;
    seen.function = function_of(from.func ? from.func : (CUfunction)from.kern);
    if (!seen.function)
        return false;
    const uint32_t grid[] = {from.gridDimX, from.gridDimY, from.gridDimZ};
    const uint32_t block[] = {from.blockDimX, from.blockDimY, from.blockDimZ};
    memcpy(seen.grid, grid, sizeof(grid));
    memcpy(seen.block, block, sizeof(block));
    seen.shared_bytes = from.sharedMemBytes;
    seen.programmatic = programmatic;
    add_attributes(&seen, node);
    seen_parameters(&seen, from.kernelParams, from.extra);
    struct graph_step *step = &graph->steps[graph->count++];
    const size_t size = offsetof(struct seen, bytes) + seen.size;
    step->seen = xcalloc(size, 1);
    memcpy(step->seen, &seen, size);
    return true;
}

static bool add_memset(struct graph *graph, CUgraphNode node)
{
    CUDA_MEMSET_NODE_PARAMS from;
    if (driver->cuGraphMemsetNodeGetParams(node, &from) != CUDA_SUCCESS)
        return false;
    graph->steps[graph->count++] =
        (struct graph_step){.is_transfer = true,
                            .transfer = {.kind = RECORD_MEMSET,
                                         .value = from.value,
                                         .element_bytes = from.elementSize,
                                         .width = from.width,
                                         .height = from.height ? from.height : 1,
                                         .pitch_bytes = from.pitch},
                            .addresses = {from.dst}};
    return true;
}

// Adds a copy, if it is one row within the device's memory.
static bool add_copy(struct graph *graph, CUgraphNode node)
{
    CUDA_MEMCPY3D from;
    if (driver->cuGraphMemcpyNodeGetParams(node, &from) != CUDA_SUCCESS || from.Height > 1 ||
        from.Depth > 1 || from.srcMemoryType != CU_MEMORYTYPE_DEVICE ||
        from.dstMemoryType != CU_MEMORYTYPE_DEVICE)
        return false;
    graph->steps[graph->count++] = (struct graph_step){
        .is_transfer = true,
        .transfer = {.kind = RECORD_COPY,
                     .element_bytes = 1,
                     .width = from.WidthInBytes,
                     .height = 1},
        .addresses = {from.dstDevice + from.dstXInBytes, from.srcDevice + from.srcXInBytes}};
    return true;
}

static void add_node(struct graph *graph, CUgraphNode node, bool programmatic)
{
    CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
    driver->cuGraphNodeGetType(node, &type);
    const bool added = type == CU_GRAPH_NODE_TYPE_KERNEL   ? add_kernel(graph, node, programmatic)
                       : type == CU_GRAPH_NODE_TYPE_MEMSET ? add_memset(graph, node)
                       : type == CU_GRAPH_NODE_TYPE_MEMCPY ? add_copy(graph, node)
                                                           : type == CU_GRAPH_NODE_TYPE_EMPTY;
    static const char *const names[] = {"kernel",           "copy",        "memset",
                                        "host callback",    "child graph", "empty node",
                                        "event's wait",     "event",       "semaphore's signal",
                                        "semaphore's wait", "allocation",  "release",
                                        "memory operation", "conditional"};
    if (!added && !graph->refused[0])
        snprintf(graph->refused, sizeof(graph->refused), "its graph has a %s that cannot be read",
                 (size_t)type < ARRAY_COUNT(names) ? names[type] : "node");
}

struct edges {
    CUgraphNode *from, *to;
    CUgraphEdgeData *data;
    size_t count;
};

// The steps after which a node's successors come: its own step, or if it has none, those that it
// waits for itself.
struct behind {
    uint32_t *steps;
    size_t count, room;
};

static void add_behind(struct behind *to, uint32_t step)
{
    to->steps = xgrow(to->steps, to->count, &to->room, sizeof(*to->steps));
    to->steps[to->count++] = step;
}

// Puts a step on a chain whose last step it waits for, or on a new chain; if there is no room for
// one, at the end of the first.
static void settle_chain(struct graph *graph, uint32_t at, const struct behind *waits,
                         int64_t last[RECORD_STREAMS_MAX])
{
    struct graph_step *step = &graph->steps[at];
    uint32_t chain = RECORD_STREAMS_MAX;
    for (size_t i = 0; i < waits->count && chain == RECORD_STREAMS_MAX; i++) {
        const uint32_t other = graph->steps[waits->steps[i]].chain;
        chain = last[other] == waits->steps[i] ? other : chain;
    }
    for (uint32_t c = 0; c < RECORD_STREAMS_MAX && chain == RECORD_STREAMS_MAX; c++)
        chain = last[c] < 0 ? c : chain;
    step->chain = chain % RECORD_STREAMS_MAX;
    step->after = xcalloc(waits->count + 1, sizeof(*step->after));
    for (size_t i = 0; i < waits->count; i++) {
        if (graph->steps[waits->steps[i]].chain != step->chain)
            step->after[step->after_count++] = waits->steps[i];
    }
    last[step->chain] = at;
}

// Whether all nodes that a node waits for have been added; collects their steps.
static bool is_ready(struct behind *waits, bool *programmatic, size_t node, CUgraphNode *nodes,
                     size_t count, const struct edges *edges, const struct behind *behind,
                     const bool *done)
{
    waits->count = 0;
    *programmatic = false;
    for (size_t e = 0; e < edges->count; e++) {
        if (edges->to[e] != nodes[node])
            continue;
        size_t from = 0;
        while (from < count && nodes[from] != edges->from[e])
            from++;
        if (from < count && !done[from])
            return false;
        for (size_t i = 0; from < count && i < behind[from].count; i++)
            add_behind(waits, behind[from].steps[i]);
        *programmatic |= edges->data[e].type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
    }
    return true;
}

// Adds each node after all nodes that it waits for.
static void in_order(struct graph *graph, CUgraphNode *nodes, size_t count,
                     const struct edges *edges)
{
    bool *done = xcalloc(count + 1, sizeof(*done)), programmatic;
    struct behind *behind = xcalloc(count + 1, sizeof(*behind)), waits = {0};
    int64_t last[RECORD_STREAMS_MAX];
    memset(last, -1, sizeof(last));
    for (size_t left = count, before = count + 1; left && left < before;) {
        before = left;
        for (size_t i = 0; i < count; i++) {
            if (done[i] || !is_ready(&waits, &programmatic, i, nodes, count, edges, behind, done))
                continue;
            const size_t step = graph->count;
            add_node(graph, nodes[i], programmatic);
            if (graph->count > step) {
                settle_chain(graph, (uint32_t)step, &waits, last);
                add_behind(&behind[i], (uint32_t)step);
            }
            for (size_t k = 0; graph->count == step && k < waits.count; k++)
                add_behind(&behind[i], waits.steps[k]);
            done[i] = true;
            left--;
        }
    }
    for (size_t i = 0; i < count; i++)
        free(behind[i].steps);
    free(behind);
    free(waits.steps);
    free(done);
}

static void graph_made(CUgraphExec exec, CUgraph from)
{
    struct graph graph = {.exec = exec};
    struct edges edges = {0};
    size_t count = 0;
    if (driver->cuGraphGetNodes(from, NULL, &count) != CUDA_SUCCESS || count > NODES_MAX ||
        driver->cuGraphGetEdges(from, NULL, NULL, NULL, &edges.count) != CUDA_SUCCESS)
        return;
    CUgraphNode *nodes = xcalloc(count + 1, sizeof(*nodes));
    edges.from = xcalloc(edges.count + 1, sizeof(*edges.from));
    edges.to = xcalloc(edges.count + 1, sizeof(*edges.to));
    edges.data = xcalloc(edges.count + 1, sizeof(*edges.data));
    graph.steps = xcalloc(count + 1, sizeof(*graph.steps));
    if (driver->cuGraphGetNodes(from, nodes, &count) == CUDA_SUCCESS &&
        driver->cuGraphGetEdges(from, edges.from, edges.to, edges.data, &edges.count) ==
            CUDA_SUCCESS)
        in_order(&graph, nodes, count, &edges);
    free(nodes);
    free(edges.from);
    free(edges.to);
    free(edges.data);
    struct graph *before = forgotten(exec);
    if (!before) {
        graphs = xgrow(graphs, graph_count, &graph_room, sizeof(*graphs));
        before = &graphs[graph_count++];
    }
    *before = graph;
}

// ==== events from the driver ====

#define CUPTI_FUNCTIONS(X)                                                                         \
    X(cuptiSubscribe)                                                                              \
    X(cuptiEnableCallback)                                                                         \
    X(cuptiGetResultString)                                                                        \
    X(cuptiActivityRegisterCallbacks)                                                              \
    X(cuptiActivityEnable)                                                                         \
    X(cuptiActivityFlushAll)                                                                       \
    X(cuptiActivityGetNextRecord)
static struct {
#define X(name) __typeof__(&name) name;
    CUPTI_FUNCTIONS(X)
#undef X
} cupti;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local bool inside; // set during this library's own calls of the driver
// For each wish: whether this thread's present call is being recorded, and at which depth the
// recorded range lies.
static _Thread_local bool ends_at_exit[WISHES_MOST];
static _Thread_local unsigned taken_depth[WISHES_MOST];
static _Thread_local unsigned depth;       // number of open ranges
static _Thread_local size_t loaded_before; // number of images when this thread's call began
enum { RANGES_MOST = 32 };
static _Thread_local struct problem named[RANGES_MOST]; // the problems of the open ranges; batch 0:
                                                        // none
static uint64_t matched[WISHES_MOST];
static bool per_thread; // the call's default stream is its thread's own
static pid_t process;

// ---- launches ----

static bool is_captured(CUstream stream)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    return driver->cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS &&
           status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

// The problem that the innermost range names. NULL: it names none.
static const struct problem *problem_named(void)
{
    for (unsigned i = depth < RANGES_MOST ? depth : RANGES_MOST; i-- > 0;) {
        if (named[i].batch)
            return &named[i];
    }
    return NULL;
}

// Begins to record the launch or range that was asked for, or one of each shape.
static bool begin(size_t wish, uint64_t shape)
{
    const uint64_t launch = wishes[wish].launch;
    return launch ? ++matched[wish] == launch && taking_begin(wish, 0, problem_named())
                  : taking_begin(wish, shape | 1, problem_named());
}

static void begin_if_wished(const struct seen *seen, uint64_t shape)
{
    for (size_t i = 0; i < wish_count; i++) {
        const char *kernel = wishes[i].kernel;
        ends_at_exit[i] |= !taking_now(i) && kernel && !wishes[i].range &&
                           fnmatch(kernel, seen->function->name, 0) == 0 && begin(i, shape);
    }
}

static void launched(const struct seen *seen, uint64_t stream, uint32_t correlation)
{
    begin_if_wished(seen, survey_count(seen, correlation));
    taking_launch(seen, stream);
}

static uint64_t number_of(CUstream stream)
{
    return stream ? (uintptr_t)stream : per_thread ? STREAM_PER_THREAD : STREAM_LEGACY;
}

struct launch_size {
    unsigned grid[3], block[3], shared_bytes;
};

static void kernel_launched(CUfunction function, const struct launch_size *shape, CUstream stream,
                            const CUlaunchAttribute *attributes, unsigned attribute_count,
                            void **parameters, void **extra, bool cooperative, uint32_t correlation)
{
    static struct seen seen;
    if (is_captured(stream))
        return;
    seen = (struct seen)SEEN_NONE;
    seen.function = function_of(function);
    if (!seen.function) {
        survey_note("a launch of a function that the driver does not name was not counted");
        return;
    }
    memcpy(seen.grid, shape->grid, sizeof(seen.grid));
    memcpy(seen.block, shape->block, sizeof(seen.block));
    seen.shared_bytes = shape->shared_bytes;
    seen.cooperative = cooperative;
    seen_attributes(&seen, attributes, attribute_count);
    seen_parameters(&seen, parameters, extra);
    launched(&seen, number_of(stream), correlation);
}

// Records a graph. Its first chain continues the stream, the other chains fork from it, and the
// stream waits for all of them. Events are numbered: one for what comes before, one for each step,
// one for the end of each chain.
static void take_graph(const struct graph *graph, uint64_t stream)
{
    enum { BEFORE = 1, STEP };
    uint32_t chains = 1;
    taking_order(ORDER_EVENT, BEFORE, stream);
    for (uint32_t i = 0; i < graph->count; i++) {
        const struct graph_step *step = &graph->steps[i];
        const uint64_t on = step->chain ? STREAM_OF_GRAPH | step->chain : stream;
        if (step->chain >= chains) {
            taking_order(ORDER_WAIT, BEFORE, on);
            chains = step->chain + 1;
        }
        for (uint32_t k = 0; k < step->after_count; k++)
            taking_order(ORDER_WAIT, STEP + step->after[k], on);
        if (step->is_transfer)
            taking_transfer(&step->transfer, step->addresses, on);
        else
            taking_launch(step->seen, on);
        taking_order(ORDER_EVENT, STEP + i, on);
    }
    for (uint32_t chain = 1; chain < chains; chain++) {
        taking_order(ORDER_EVENT, BEFORE, STREAM_OF_GRAPH | chain);
        taking_order(ORDER_WAIT, BEFORE, stream);
    }
}

static void graph_launched(CUgraphExec exec, CUstream stream, uint32_t correlation)
{
    const struct graph *graph = graph_of(exec);
    if (is_captured(stream))
        return;
    if (!graph) {
        survey_note("a CUDA graph that was made unseen was not counted");
        return;
    }
    for (size_t i = 0; i < graph->count; i++) {
        const struct graph_step *step = &graph->steps[i];
        if (step->is_transfer)
            continue;
        begin_if_wished(step->seen, survey_count(step->seen, correlation));
    }
    if (graph->refused[0])
        taking_refuse("%s", graph->refused);
    if (taking_any())
        take_graph(graph, number_of(stream));
}

// ---- ranges ----

static uint64_t hash_of(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325u; // FNV-1a
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return hash;
}

static void range_pushed(const char *name)
{
    struct error none;
    pthread_mutex_lock(&lock);
    if (depth < RANGES_MOST && problem_parse_named(&named[depth], name, &none))
        named[depth] = (struct problem){0};
    depth++;
    survey_range(name);
    for (size_t i = 0; i < wish_count && driver; i++) {
        const char *range = wishes[i].range;
        if (range && !taking_now(i) && fnmatch(range, name, 0) == 0 && begin(i, hash_of(name)))
            taken_depth[i] = depth;
    }
    pthread_mutex_unlock(&lock);
}

static void range_popped(void)
{
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < wish_count; i++) {
        if (!taken_depth[i] || depth != taken_depth[i])
            continue;
        taken_depth[i] = 0;
        inside = true;
        taking_end(i);
        inside = false;
    }
    if (depth)
        depth--;
    pthread_mutex_unlock(&lock);
}

// ---- events at the beginning of a call ----

#define SHAPE(p)                                                                                   \
    {                                                                                              \
        {(p)->gridDimX, (p)->gridDimY, (p)->gridDimZ},                                             \
            {(p)->blockDimX, (p)->blockDimY, (p)->blockDimZ}, (p)->sharedMemBytes                  \
    }

static void plain_launch(const cuLaunchKernel_params *p, uint32_t correlation)
{
    const struct launch_size shape = SHAPE(p);
    kernel_launched(p->f, &shape, p->hStream, NULL, 0, p->kernelParams, p->extra, false,
                    correlation);
}

static void cooperative_launch(const cuLaunchCooperativeKernel_params *p, uint32_t correlation)
{
    const struct launch_size shape = SHAPE(p);
    kernel_launched(p->f, &shape, p->hStream, NULL, 0, p->kernelParams, NULL, true, correlation);
}

static void extended_launch(const cuLaunchKernelEx_params *p, uint32_t correlation)
{
    const CUlaunchConfig *config = p->config;
    const struct launch_size shape = SHAPE(config);
    kernel_launched(p->f, &shape, config->hStream, config->attrs, config->numAttrs, p->kernelParams,
                    p->extra, false, correlation);
}

// Records a memset of `count` elements between launches.
static void memset_queued(CUdeviceptr to, uint32_t value, uint32_t element_bytes, size_t width,
                          size_t height, size_t pitch, CUstream stream)
{
    const struct record_launch memset = {.kind = RECORD_MEMSET,
                                         .value = value,
                                         .element_bytes = element_bytes,
                                         .width = width,
                                         .height = height,
                                         .pitch_bytes = pitch};
    const uint64_t address = to;
    if (width && height)
        taking_transfer(&memset, &address, number_of(stream));
}

#define MEMSET(bytes, member, name, stream)                                                        \
    {                                                                                              \
        const name##_params *p = data->functionParams;                                             \
        memset_queued(p->dstDevice, p->member, bytes, p->N, 1, 0, stream);                         \
        break;                                                                                     \
    }
#define MEMSET_ROWS(bytes, member, name)                                                           \
    {                                                                                              \
        const name##_params *p = data->functionParams;                                             \
        memset_queued(p->dstDevice, p->member, bytes, p->Width, p->Height, p->dstPitch,            \
                      p->hStream);                                                                 \
        break;                                                                                     \
    }
#define LOADS                                                                                      \
    case CUPTI_DRIVER_TRACE_CBID_cuModuleLoad:                                                     \
    case CUPTI_DRIVER_TRACE_CBID_cuModuleLoadData:                                                 \
    case CUPTI_DRIVER_TRACE_CBID_cuModuleLoadDataEx:                                               \
    case CUPTI_DRIVER_TRACE_CBID_cuModuleLoadFatBinary:                                            \
    case CUPTI_DRIVER_TRACE_CBID_cuLibraryLoadData:                                                \
    case CUPTI_DRIVER_TRACE_CBID_cuLibraryLoadFromFile
#define BOTH(name, thread)                                                                         \
    case CUPTI_DRIVER_TRACE_CBID_##name:                                                           \
    case CUPTI_DRIVER_TRACE_CBID_##name##_##thread

// Calls that no record can hold between two launches. A blocking copy to the host is not one of
// them, because it only reads.
#define AMONG(X)                                                                                   \
    X(cuLaunchHostFunc, ptsz)                                                                      \
    X(cuMemcpy, ptds)                                                                              \
    X(cuMemcpyAsync, ptsz)                                                                         \
    X(cuMemcpyPeer, ptds)                                                                          \
    X(cuMemcpyPeerAsync, ptsz)                                                                     \
    X(cuMemcpyHtoD_v2, ptds)                                                                       \
    X(cuMemcpyHtoDAsync_v2, ptsz)                                                                  \
    X(cuMemcpyDtoD_v2, ptds)                                                                       \
    X(cuMemcpyDtoDAsync_v2, ptsz)                                                                  \
    X(cuMemcpyDtoHAsync_v2, ptsz)                                                                  \
    X(cuMemcpyAtoD_v2, ptds)                                                                       \
    X(cuMemcpy2D_v2, ptds)                                                                         \
    X(cuMemcpy2DUnaligned_v2, ptds)                                                                \
    X(cuMemcpy2DAsync_v2, ptsz)                                                                    \
    X(cuMemcpy3D_v2, ptds)                                                                         \
    X(cuMemcpy3DAsync_v2, ptsz)                                                                    \
    X(cuMemcpy3DPeer, ptds)                                                                        \
    X(cuMemcpy3DPeerAsync, ptsz)                                                                   \
    X(cuMemsetD2D8_v2, ptds)                                                                       \
    X(cuMemsetD2D16_v2, ptds)                                                                      \
    X(cuMemsetD2D32_v2, ptds)                                                                      \
    X(cuStreamWaitValue32_v2, ptsz)                                                                \
    X(cuStreamWaitValue64_v2, ptsz)                                                                \
    X(cuStreamWriteValue32_v2, ptsz)                                                               \
    X(cuStreamWriteValue64_v2, ptsz)                                                               \
    X(cuStreamBatchMemOp_v2, ptsz)
#define CASE_BOTH(name, thread) BOTH(name, thread) :
// Calls after which an executable graph differs from its nodes. The graph is the first parameter of
// all of them.
#define GRAPH_CHANGES(X)                                                                           \
    X(cuGraphExecKernelNodeSetParams)                                                              \
    X(cuGraphExecKernelNodeSetParams_v2)                                                           \
    X(cuGraphExecMemsetNodeSetParams)                                                              \
    X(cuGraphExecMemcpyNodeSetParams)                                                              \
    X(cuGraphExecHostNodeSetParams)                                                                \
    X(cuGraphExecChildGraphNodeSetParams)                                                          \
    X(cuGraphExecNodeSetParams)                                                                    \
    X(cuGraphNodeSetEnabled)
#define CASE_OF(name) case CUPTI_DRIVER_TRACE_CBID_##name:

// Records a copy between launches. False: it is not within the device's memory, and no record holds
// it.
static bool copy_queued(uint64_t to, uint64_t from, size_t bytes, CUstream stream)
{
    const struct record_launch copy = {
        .kind = RECORD_COPY, .element_bytes = 1, .width = bytes, .height = 1};
    const uint64_t addresses[] = {to, from};
    CUdeviceptr base;
    size_t size;
    if (!allocation_of(to, &base, &size) || !allocation_of(from, &base, &size))
        return false;
    if (bytes && !is_captured(stream))
        taking_transfer(&copy, addresses, number_of(stream));
    return true;
}

static bool copy_begins(CUpti_CallbackId id, const void *parameters)
{
    switch (id) {
        BOTH(cuMemcpyDtoDAsync_v2, ptsz) :
        {
            const cuMemcpyDtoDAsync_v2_params *p = parameters;
            return copy_queued(p->dstDevice, p->srcDevice, p->ByteCount, p->hStream);
        }
        BOTH(cuMemcpyDtoD_v2, ptds) :
        {
            const cuMemcpyDtoD_v2_params *p = parameters;
            return copy_queued(p->dstDevice, p->srcDevice, p->ByteCount, NULL);
        }
        BOTH(cuMemcpyAsync, ptsz) :
        {
            const cuMemcpyAsync_params *p = parameters;
            return copy_queued(p->dst, p->src, p->ByteCount, p->hStream);
        }
        BOTH(cuMemcpy, ptds) :
        {
            const cuMemcpy_params *p = parameters;
            return copy_queued(p->dst, p->src, p->ByteCount, NULL);
        }
    default:
        return false;
    }
}

// Notes which streams wait for which events.
static void order_begins(CUpti_CallbackId id, const CUpti_CallbackData *data)
{
    switch (id) {
        BOTH(cuEventRecord, ptsz) :
        {
            const cuEventRecord_params *p = data->functionParams;
            taking_order(ORDER_EVENT, (uintptr_t)p->hEvent, number_of(p->hStream));
            break;
        }
        BOTH(cuEventRecordWithFlags, ptsz) :
        {
            const cuEventRecordWithFlags_params *p = data->functionParams;
            taking_order(ORDER_EVENT, (uintptr_t)p->hEvent, number_of(p->hStream));
            break;
        }
        BOTH(cuStreamWaitEvent, ptsz) :
        {
            const cuStreamWaitEvent_params *p = data->functionParams;
            taking_order(ORDER_WAIT, (uintptr_t)p->hEvent, number_of(p->hStream));
            break;
        }
    default:
        break;
    }
}

static void begins(CUpti_CallbackId id, const CUpti_CallbackData *data)
{
    switch (id) {
        BOTH(cuLaunchKernel, ptsz) : plain_launch(data->functionParams, data->correlationId);
        break;
        BOTH(cuLaunchKernelEx, ptsz) : extended_launch(data->functionParams, data->correlationId);
        break;
        BOTH(cuLaunchCooperativeKernel, ptsz)
            : cooperative_launch(data->functionParams, data->correlationId);
        break;
        BOTH(cuGraphLaunch, ptsz) :
        {
            const cuGraphLaunch_params *p = data->functionParams;
            graph_launched(p->hGraph, p->hStream, data->correlationId);
            break;
        }
    LOADS:
    case CUPTI_DRIVER_TRACE_CBID_cuModuleGetFunction:
        loaded_before = image_count;
        break;
        BOTH(cuMemsetD8_v2, ptds)
            : MEMSET(1, uc, cuMemsetD8_v2_ptds, NULL) BOTH(cuMemsetD16_v2, ptds)
            : MEMSET(2, us, cuMemsetD16_v2_ptds, NULL) BOTH(cuMemsetD32_v2, ptds)
            : MEMSET(4, ui, cuMemsetD32_v2_ptds, NULL) BOTH(cuMemsetD8Async, ptsz)
            : MEMSET(1, uc, cuMemsetD8Async_ptsz, p->hStream) BOTH(cuMemsetD16Async, ptsz)
            : MEMSET(2, us, cuMemsetD16Async_ptsz, p->hStream) BOTH(cuMemsetD32Async, ptsz)
            : MEMSET(4, ui, cuMemsetD32Async_ptsz, p->hStream) BOTH(cuMemsetD2D8Async, ptsz)
            : MEMSET_ROWS(1, uc, cuMemsetD2D8Async_ptsz) BOTH(cuMemsetD2D16Async, ptsz)
            : MEMSET_ROWS(2, us, cuMemsetD2D16Async_ptsz) BOTH(cuMemsetD2D32Async, ptsz)
            : MEMSET_ROWS(
                  4, ui,
                  cuMemsetD2D32Async_ptsz) case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernelMultiDevice
            : survey_note("a launch over several devices was not counted");
        __attribute__((fallthrough));
        AMONG(CASE_BOTH)
        if (taking_any() && !copy_begins(id, data->functionParams))
            taking_refuse("%s was called among its launches", data->functionName);
        break;
    default:
        order_begins(id, data);
        break;
    }
}

// ---- events at the end of a call ----

static uint32_t bytes_of(int step, uint32_t smallest)
{
    return step ? smallest << (step - 1) : 0;
}

static void map_ended(const cuTensorMapEncodeTiled_params *p)
{
    struct record_map map = {.type = (uint32_t)p->tensorDataType,
                             .rank = p->tensorRank,
                             .interleave = bytes_of(p->interleave, 16),
                             .swizzle = bytes_of(p->swizzle, 32),
                             .promote = bytes_of(p->l2Promotion, 64),
                             .fill_nan = p->oobFill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE};
    if (map.rank < 1 || map.rank > RECORD_MAP_DIMS || p->swizzle > CU_TENSOR_MAP_SWIZZLE_128B ||
        (int)p->tensorDataType >= RECORD_MAP_TYPES)
        return; // its bytes contain the address as a word, which is found like any other
    for (uint32_t d = 0; d < map.rank; d++) {
        map.dims[d] = p->globalDim[d];
        map.box[d] = p->boxDim[d];
        map.elements[d] = p->elementStrides ? p->elementStrides[d] : 1;
        if (d)
            map.strides[d] = p->globalStrides[d - 1];
    }
    map_made(p->tensorMap, &map, (uintptr_t)p->globalAddress);
}

// Handles of memory that another process exported; what is mapped from one is that process's
// memory.
static CUmemGenericAllocationHandle *imported;
static size_t imported_count, imported_room;

static void handle_imported(CUmemGenericAllocationHandle handle)
{
    imported = xgrow(imported, imported_count, &imported_room, sizeof(*imported));
    imported[imported_count++] = handle;
}

static bool is_imported(CUmemGenericAllocationHandle handle)
{
    for (size_t i = 0; i < imported_count; i++) {
        if (imported[i] == handle)
            return true;
    }
    return false;
}

// Notes what the host has waited for; everything that it queues later comes after that.
static void order_ends(CUpti_CallbackId id, const CUpti_CallbackData *data, bool done)
{
    switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize:
        taking_order(ORDER_HOST, 0, 0);
        break;
        BOTH(cuStreamSynchronize, ptsz)
            : BOTH(cuStreamQuery, ptsz)
            : if (done) // for both the stream is the first parameter
              taking_order(
                  ORDER_HOST, 0,
                  number_of(((const cuStreamQuery_params *)data->functionParams)->hStream));
        break;
    case CUPTI_DRIVER_TRACE_CBID_cuEventSynchronize:
    case CUPTI_DRIVER_TRACE_CBID_cuEventQuery:
        if (done)
            taking_order(ORDER_HOST,
                         (uintptr_t)((const cuEventQuery_params *)data->functionParams)->hEvent, 0);
        break;
    default:
        break;
    }
}

// Whether a call of this kind, if it succeeded, made a handle that no record can hold, for example
// a texture object.
static bool foreign_ends(CUpti_CallbackId id, const CUpti_CallbackData *data)
{
    switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuTexObjectCreate:
        foreign_made(*((const cuTexObjectCreate_params *)data->functionParams)->pTexObject,
                     "a texture");
        break;
    case CUPTI_DRIVER_TRACE_CBID_cuSurfObjectCreate:
        foreign_made(*((const cuSurfObjectCreate_params *)data->functionParams)->pSurfObject,
                     "a surface");
        break;
    case CUPTI_DRIVER_TRACE_CBID_cuIpcOpenMemHandle_v2:
        foreign_made(*((const cuIpcOpenMemHandle_v2_params *)data->functionParams)->pdptr,
                     "memory of another process");
        break;
    case CUPTI_DRIVER_TRACE_CBID_cuMemPoolImportPointer:
        foreign_made(*((const cuMemPoolImportPointer_params *)data->functionParams)->ptr_out,
                     "memory of another process");
        break;
    case CUPTI_DRIVER_TRACE_CBID_cuExternalMemoryGetMappedBuffer:
        foreign_made(
            *((const cuExternalMemoryGetMappedBuffer_params *)data->functionParams)->devPtr,
            "memory of another interface");
        break;
    case CUPTI_DRIVER_TRACE_CBID_cuMemImportFromShareableHandle:
        handle_imported(
            *((const cuMemImportFromShareableHandle_params *)data->functionParams)->handle);
        break;
    case CUPTI_DRIVER_TRACE_CBID_cuMemMap: {
        const cuMemMap_params *p = data->functionParams;
        if (is_imported(p->handle))
            foreign_made(p->ptr, "memory of another process");
        break;
    }
    default:
        return false;
    }
    return true;
}

static void end_at_exit(void)
{
    for (size_t i = 0; i < wish_count; i++) {
        if (ends_at_exit[i])
            taking_end(i);
        ends_at_exit[i] = false;
    }
}

static void ends(CUpti_CallbackId id, const CUpti_CallbackData *data)
{
    const CUresult *code = data->functionReturnValue;
    const bool done = !code || *code == CUDA_SUCCESS;
    switch (id) {
        BOTH(cuLaunchKernel, ptsz)
            : BOTH(cuLaunchKernelEx, ptsz)
            : BOTH(cuLaunchCooperativeKernel, ptsz)
            : BOTH(cuGraphLaunch, ptsz)
            : if (!done) taking_refuse("its launch failed: %s", driver_error(driver, *code));
        end_at_exit();
        break;
    LOADS:
        if (done) // for all of them the first parameter is the place of the handle
            image_is_of(**(void *const *const *)data->functionParams, loaded_before);
        break;
    case CUPTI_DRIVER_TRACE_CBID_cuModuleGetFunction:
        if (done)
            image_is_of(((const cuModuleGetFunction_params *)data->functionParams)->hmod,
                        loaded_before);
        break;
    case CUPTI_DRIVER_TRACE_CBID_cuTensorMapEncodeTiled:
        if (done)
            map_ended(data->functionParams);
        break;
    case CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiate_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithFlags:
        BOTH(cuGraphInstantiateWithParams, ptsz) :
        {
            // All of them begin with these parameters.
            const cuGraphInstantiateWithFlags_params *p = data->functionParams;
            if (done)
                graph_made(*p->phGraphExec, p->hGraph);
            break;
        }
    case CUPTI_DRIVER_TRACE_CBID_cuGraphExecUpdate:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphExecUpdate_v2:
        if (done) { // its nodes are that graph's from now on
            const cuGraphExecUpdate_v2_params *p = data->functionParams;
            graph_made(p->hGraphExec, p->hGraph);
        }
        break;
        GRAPH_CHANGES(CASE_OF)
        graph_changed(*(const CUgraphExec *)data->functionParams);
        break;
    default:
        if (!done || !foreign_ends(id, data))
            order_ends(id, data, done);
        break;
    }
}

static void CUPTIAPI told(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                          const void *what)
{
    const bool module =
        domain == CUPTI_CB_DOMAIN_RESOURCE && id == CUPTI_CBID_RESOURCE_MODULE_LOADED;
    (void)user;
    if (inside && !module)
        return;
    if (!inside)
        pthread_mutex_lock(&lock);
    const bool outermost = !inside;
    inside = true;
    if (module) {
        const CUpti_ResourceData *resource = what;
        const CUpti_ModuleResourceData *loaded = resource->resourceDescriptor;
        image_loaded(loaded->pCubin, loaded->cubinSize);
    } else if (domain == CUPTI_CB_DOMAIN_DRIVER_API) {
        const CUpti_CallbackData *data = what;
        const char *end = strrchr(data->functionName, '_');
        per_thread = end && (strcmp(end, "_ptsz") == 0 || strcmp(end, "_ptds") == 0);
        if (data->callbackSite == CUPTI_API_ENTER)
            begins(id, data);
        else
            ends(id, data);
    }
    if (outermost) {
        inside = false;
        pthread_mutex_unlock(&lock);
    }
}

// ---- times ----

enum { ACTIVITY_BYTES = 4 << 20 };

static void CUPTIAPI want_buffer(uint8_t **buffer, size_t *size, size_t *records)
{
    *buffer = aligned_alloc(8, ACTIVITY_BYTES);
    *size = *buffer ? ACTIVITY_BYTES : 0;
    *records = 0;
}

static void CUPTIAPI full_buffer(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
                                 size_t valid)
{
    CUpti_Activity *activity = NULL;
    (void)context;
    (void)stream;
    (void)size;
    if (!inside)
        pthread_mutex_lock(&lock);
    while (cupti.cuptiActivityGetNextRecord(buffer, valid, &activity) == CUPTI_SUCCESS) {
        const CUpti_ActivityKernel10 *kernel = (const CUpti_ActivityKernel10 *)activity;
        if (activity->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL && !kernel->graphId &&
            kernel->end > kernel->start)
            survey_time(kernel->correlationId, (double)(kernel->end - kernel->start));
    }
    if (!inside)
        pthread_mutex_unlock(&lock);
    free(buffer);
}

// ---- begin and end ----

static bool find_cupti(void)
{
    static const char *const names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so",
                                        "/usr/local/cuda/lib64/libcupti.so",
                                        "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so"};
    void *library = NULL;
    for (size_t i = 0; i < ARRAY_COUNT(names) && !library; i++)
        library = dlopen(names[i], RTLD_NOW);
    if (!library) {
        survey_note("CUPTI was not found, so nothing could be watched: install the CUDA toolkit's "
                    "libcupti, or set LD_LIBRARY_PATH to where it lies");
        return false;
    }
#define X(name)                                                                                    \
    *(void **)&cupti.name = dlsym(library, #name);                                                 \
    if (!cupti.name) {                                                                             \
        survey_note("CUPTI has no %s: install a newer one", #name);                                \
        return false;                                                                              \
    }
    CUPTI_FUNCTIONS(X)
#undef X
    return true;
}

static bool cupti_ok(CUptiResult code, const char *what)
{
    const char *text = "unknown error";
    if (code == CUPTI_SUCCESS)
        return true;
    cupti.cuptiGetResultString(code, &text);
    survey_note("CUPTI: %s: %s%s", what, text,
                code == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED
                    ? " (the program uses CUPTI itself: turn its profiler off)"
                    : "");
    return false;
}

static bool watch_calls(CUpti_SubscriberHandle subscriber, const CUpti_CallbackId *calls,
                        size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!cupti_ok(
                cupti.cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, calls[i]),
                "watching launches"))
            return false;
    }
    return true;
}

static const CUpti_CallbackId calls[] = {
#define ONE(name)             CUPTI_DRIVER_TRACE_CBID_##name
#define BOTH_OF(name, thread) ONE(name), ONE(name##_##thread)
    BOTH_OF(cuLaunchKernel, ptsz),
    BOTH_OF(cuLaunchKernelEx, ptsz),
    BOTH_OF(cuLaunchCooperativeKernel, ptsz),
    BOTH_OF(cuGraphLaunch, ptsz),
    BOTH_OF(cuMemsetD8_v2, ptds),
    BOTH_OF(cuMemsetD16_v2, ptds),
    BOTH_OF(cuMemsetD32_v2, ptds),
    BOTH_OF(cuMemsetD8Async, ptsz),
    BOTH_OF(cuMemsetD16Async, ptsz),
    BOTH_OF(cuMemsetD32Async, ptsz),
    BOTH_OF(cuMemsetD2D8Async, ptsz),
    BOTH_OF(cuMemsetD2D16Async, ptsz),
    BOTH_OF(cuMemsetD2D32Async, ptsz),
    BOTH_OF(cuGraphInstantiateWithParams, ptsz),
    ONE(cuLaunchCooperativeKernelMultiDevice),
    ONE(cuTensorMapEncodeTiled),
    ONE(cuTexObjectCreate),
    ONE(cuSurfObjectCreate),
    ONE(cuIpcOpenMemHandle_v2),
    ONE(cuMemPoolImportPointer),
    ONE(cuExternalMemoryGetMappedBuffer),
    ONE(cuMemImportFromShareableHandle),
    ONE(cuMemMap),
    ONE(cuModuleLoad),
    ONE(cuModuleLoadData),
    ONE(cuModuleLoadDataEx),
    ONE(cuModuleLoadFatBinary),
    ONE(cuModuleGetFunction),
    ONE(cuLibraryLoadData),
    ONE(cuLibraryLoadFromFile),
    ONE(cuGraphInstantiate_v2),
    ONE(cuGraphInstantiateWithFlags),
    ONE(cuGraphExecUpdate),
    ONE(cuGraphExecUpdate_v2),
#define LISTED(name)           ONE(name),
#define LISTED_BOTH(name, way) BOTH_OF(name, way),
    AMONG(LISTED_BOTH) GRAPH_CHANGES(LISTED)
#undef LISTED
#undef LISTED_BOTH
};
// Calls that must be observed if a range of launches is recorded.
static const CUpti_CallbackId orders[] = {
    BOTH_OF(cuEventRecord, ptsz),     BOTH_OF(cuEventRecordWithFlags, ptsz),
    BOTH_OF(cuStreamWaitEvent, ptsz), BOTH_OF(cuStreamSynchronize, ptsz),
    BOTH_OF(cuStreamQuery, ptsz),     ONE(cuCtxSynchronize),
    ONE(cuEventSynchronize),          ONE(cuEventQuery),
};
#undef BOTH_OF
#undef ONE

static bool watch(void)
{
    CUpti_SubscriberHandle subscriber;
    if (!cupti_ok(cupti.cuptiSubscribe(&subscriber, told, NULL), "subscribing") ||
        !cupti_ok(cupti.cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE,
                                            CUPTI_CBID_RESOURCE_MODULE_LOADED),
                  "watching modules"))
        return false;
    bool ranges = false;
    for (size_t i = 0; i < wish_count; i++)
        ranges |= wishes[i].range != NULL;
    if (!watch_calls(subscriber, calls, ARRAY_COUNT(calls)) ||
        (ranges && !watch_calls(subscriber, orders, ARRAY_COUNT(orders))))
        return false;
    return !wish_times ||
           (cupti_ok(cupti.cuptiActivityRegisterCallbacks(want_buffer, full_buffer),
                     "taking times") &&
            cupti_ok(cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL),
                     "taking times"));
}

static void at_end(void)
{
    if (getpid() != process)
        return; // a child that was forked
    if (cupti.cuptiActivityFlushAll && wish_times)
        cupti.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    survey_write();
}

// Reads a setting of a wish, counted from 0: NAME, for the second wish NAME_2.
static const char *setting(const char *name, size_t wish)
{
    char numbered[64];
    snprintf(numbered, sizeof(numbered), "%s_%zu", name, wish + 1);
    return getenv(wish ? numbered : name);
}

static uint64_t number(const char *text, uint64_t otherwise)
{
    int64_t value;
    return text && parse_int64(&value, text) == 0 && value > 0 ? (uint64_t)value : otherwise;
}

__attribute__((visibility("default"))) int InitializeInjection(void);
int InitializeInjection(void)
{
    const char *missing;
    if (!getenv("PLUMB_CAPTURE") || process)
        return 1;
    process = getpid();
    wish_times = number(getenv("PLUMB_CAPTURE_TIMES"), 0);
    for (size_t i = 0; i < WISHES_MOST && setting("PLUMB_CAPTURE", i); i++)
        wishes[wish_count++] =
            (struct wish){.folder = setting("PLUMB_CAPTURE", i),
                          .kernel = setting("PLUMB_CAPTURE_KERNEL", i),
                          .range = setting("PLUMB_CAPTURE_RANGE", i),
                          .launch = number(setting("PLUMB_CAPTURE_LAUNCH", i), 0),
                          .limit = number(setting("PLUMB_CAPTURE_LIMIT", i), (uint64_t)2 << 30)};
    driver = driver_find(&missing);
    if (!driver)
        survey_note("the CUDA driver has no %s: CUDA 12.4 or newer is needed", missing);
    else if (find_cupti())
        watch();
    atexit(at_end);
    return 1;
}

// ==== NVTX ranges ====
//
// NVTX ranges, of the default domain and others. NVTX loads the library that NVTX_INJECTION64_PATH
// names and gives it tables, in which it enters functions for the program's calls.

static int pushed(const char *message)
{
    range_pushed(message ? message : "");
    return 0;
}

static int popped(void)
{
    range_popped();
    return 0;
}

// A registered string is the copy that string_registered() made.
static const char *message_of(const nvtxEventAttributes_t *event)
{
    if (event && event->messageType == NVTX_MESSAGE_TYPE_ASCII)
        return event->message.ascii;
    return event && event->messageType == NVTX_MESSAGE_TYPE_REGISTERED && event->message.registered
               ? (const char *)event->message.registered
               : "";
}

static nvtxStringHandle_t string_registered(nvtxDomainHandle_t domain, const char *text)
{
    (void)domain;
    return (nvtxStringHandle_t)xstrdup(text ? text : "");
}

static int event_pushed(const nvtxEventAttributes_t *event)
{
    return pushed(message_of(event));
}

static int domain_pushed(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *event)
{
    (void)domain;
    return pushed(message_of(event));
}

static int domain_popped(nvtxDomainHandle_t domain)
{
    (void)domain;
    return popped();
}

static void set(NvtxFunctionTable table, unsigned count, unsigned which, NvtxFunctionPointer to)
{
    if (which < count && table[which])
        *table[which] = to;
}

__attribute__((visibility("default"))) int
InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table);
int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table)
{
    const NvtxExportTableCallbacks *callbacks = get_table(NVTX_ETID_CALLBACKS);
    NvtxFunctionTable table;
    unsigned count;
    if (!callbacks || callbacks->struct_size < sizeof(*callbacks))
        return 0;
    if (callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &count)) {
        set(table, count, NVTX_CBID_CORE_RangePushEx, (NvtxFunctionPointer)event_pushed);
        set(table, count, NVTX_CBID_CORE_RangePushA, (NvtxFunctionPointer)pushed);
        set(table, count, NVTX_CBID_CORE_RangePop, (NvtxFunctionPointer)popped);
    }
    if (callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &count)) {
        set(table, count, NVTX_CBID_CORE2_DomainRangePushEx, (NvtxFunctionPointer)domain_pushed);
        set(table, count, NVTX_CBID_CORE2_DomainRangePop, (NvtxFunctionPointer)domain_popped);
        set(table, count, NVTX_CBID_CORE2_DomainRegisterStringA,
            (NvtxFunctionPointer)string_registered);
    }
    return 1;
}
