// SPDX-License-Identifier: Apache-2.0
//
// The library's entry, which the CUDA driver calls when it starts, and the events that CUPTI
// reports: modules, launches, graphs, TMA descriptors. CUPTI is looked for in the program's and in
// CUDA's folders. Without it nothing is watched, and the survey says so.
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

// ==== events from the driver ====

struct wish wishes[WISHES_MOST];
size_t wish_count;
bool wish_times;
const struct driver *driver;

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
        loaded_before = images_loaded();
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
