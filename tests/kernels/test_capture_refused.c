// SPDX-License-Identifier: Apache-2.0
//
// What no record can hold is refused by its name: the library that is injected into a program, told
// of its calls by a stand-in for CUPTI, on a stand-in for the driver. Each case is a range of its
// own, all of one program.
#include "tests/helpers/test.h"

#ifdef TEST_CUDA_HEADERS
#include "kernels/capture/capture.h"
#include "tests/helpers/helper_files.h"

#include <cupti.h>
#include <glob.h>
#include <nvtx3/nvToolsExt.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int InitializeInjection(void);
int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table);

enum { BYTES = 4096, LIMIT = 3 * BYTES };
static unsigned char memory[5][BYTES]; // of the device
static const char *of_nodes = "plain"; // the handle of the function that a graph's nodes launch
static const char *kind_of[5];         // NULL: its own; "managed", "host", "other device"

static CUdeviceptr at(int allocation)
{
    return (CUdeviceptr)(uintptr_t)memory[allocation];
}

// ---- the driver's stand-in ----

static int allocation_at(CUdeviceptr word)
{
    for (int i = 0; i < 5; i++) {
        if (word >= at(i) && word < at(i) + BYTES)
            return i;
    }
    return -1;
}

static CUresult get_range(CUdeviceptr *base, size_t *size, CUdeviceptr word)
{
    const int which = allocation_at(word);
    if (which < 0)
        return CUDA_ERROR_INVALID_VALUE;
    *base = at(which);
    *size = BYTES;
    return CUDA_SUCCESS;
}

static CUresult copy(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    memcpy((void *)(uintptr_t)to, (void *)(uintptr_t)from, bytes);
    return CUDA_SUCCESS;
}

static CUresult get_attribute(void *out, CUpointer_attribute which, CUdeviceptr word)
{
    const char *kind = kind_of[allocation_at(word)] ? kind_of[allocation_at(word)] : "";
    *(int *)out = which == CU_POINTER_ATTRIBUTE_IS_MANAGED       ? strcmp(kind, "managed") == 0
                  : which == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL ? strcmp(kind, "other device") == 0
                  : strcmp(kind, "host") == 0                    ? CU_MEMORYTYPE_HOST
                                                                 : CU_MEMORYTYPE_DEVICE;
    return CUDA_SUCCESS;
}

static CUresult get_device(CUdevice *device)
{
    *device = 0;
    return CUDA_SUCCESS;
}

static CUresult synchronize(void)
{
    return CUDA_SUCCESS;
}

static CUresult exchange(CUstreamCaptureMode *mode)
{
    return CUDA_SUCCESS;
}

static CUresult is_capturing(CUstream stream, CUstreamCaptureStatus *status)
{
    *status = CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
}

// A handle is a text that ends with the function's name. "kernel shared" is a CUkernel, whose
// CUfunction is `of_nodes`; "context shared" is the CUfunction of another context.
static CUresult name_of(const char **name, CUfunction function)
{
    const char *text = (const char *)function, *last = strrchr(text, ' ');
    *name = last ? last + 1 : text;
    return strncmp(text, "kernel ", 7) == 0 ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

static CUresult kernel_function(CUfunction *out, CUkernel kernel)
{
    *out = (CUfunction)(uintptr_t)of_nodes;
    return CUDA_SUCCESS;
}

static CUresult parameter_of(CUfunction function, size_t which, size_t *offset, size_t *size)
{
    *offset = 8 * which;
    *size = 8;
    return which < 2 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult function_attribute(int *value, CUfunction_attribute which, CUfunction function)
{
    *value = 1;
    return CUDA_SUCCESS;
}

static CUresult function_module(CUmodule *module, CUfunction function)
{
    return CUDA_ERROR_INVALID_VALUE;
}

static CUresult is_loaded(CUfunctionLoadingState *state, CUfunction function)
{
    *state = CU_FUNCTION_LOADING_STATE_LOADED;
    return CUDA_SUCCESS;
}

// A graph is the list of its nodes' types, one after the other; kernels launch "plain".
static CUresult graph_nodes(CUgraph graph, CUgraphNode *nodes, size_t *count)
{
    const char *types = (const char *)graph;
    *count = strlen(types);
    for (size_t i = 0; nodes && i < *count; i++)
        nodes[i] = (CUgraphNode)(uintptr_t)(types + i);
    return CUDA_SUCCESS;
}

static CUresult graph_edges(CUgraph graph, CUgraphNode *from, CUgraphNode *to,
                            CUgraphEdgeData *data, size_t *count)
{
    *count = 0;
    return CUDA_SUCCESS;
}

static CUresult node_type(CUgraphNode node, CUgraphNodeType *type)
{
    *type = *(const char *)node == 'h' ? CU_GRAPH_NODE_TYPE_HOST : CU_GRAPH_NODE_TYPE_KERNEL;
    return CUDA_SUCCESS;
}

static void *words[2]; // that launches are given
static void *given[] = {&words[0], &words[1]};

static CUresult node_kernel(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *out)
{
    *out = (CUDA_KERNEL_NODE_PARAMS){.func = (CUfunction)(uintptr_t)of_nodes,
                                     .gridDimX = 1,
                                     .gridDimY = 1,
                                     .gridDimZ = 1,
                                     .blockDimX = 1,
                                     .blockDimY = 1,
                                     .blockDimZ = 1,
                                     .kernelParams = given};
    return CUDA_SUCCESS;
}

// Nodes name a cluster that is compiled in, as function_attribute() says of every function.
static CUresult node_attribute(CUgraphNode node, CUlaunchAttributeID which,
                               CUlaunchAttributeValue *value)
{
    value->clusterDim.x = value->clusterDim.y = value->clusterDim.z = 2;
    return which == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult error_name(CUresult code, const char **name)
{
    return CUDA_ERROR_INVALID_VALUE;
}

static const struct driver stand_in = {.cuMemGetAddressRange = get_range,
                                       .cuMemcpy = copy,
                                       .cuPointerGetAttribute = get_attribute,
                                       .cuCtxGetDevice = get_device,
                                       .cuCtxSynchronize = synchronize,
                                       .cuThreadExchangeStreamCaptureMode = exchange,
                                       .cuStreamIsCapturing = is_capturing,
                                       .cuFuncGetName = name_of,
                                       .cuKernelGetFunction = kernel_function,
                                       .cuFuncGetParamInfo = parameter_of,
                                       .cuFuncGetAttribute = function_attribute,
                                       .cuFuncGetModule = function_module,
                                       .cuFuncIsLoaded = is_loaded,
                                       .cuGraphGetNodes = graph_nodes,
                                       .cuGraphGetEdges = graph_edges,
                                       .cuGraphNodeGetType = node_type,
                                       .cuGraphKernelNodeGetParams = node_kernel,
                                       .cuGraphKernelNodeGetAttribute = node_attribute,
                                       .cuGetErrorName = error_name};

// ---- CUPTI's ----

static CUpti_CallbackFunc told; // the library's

static CUptiResult subscribe(CUpti_SubscriberHandle *out, CUpti_CallbackFunc callback, void *user)
{
    told = callback;
    return CUPTI_SUCCESS;
}

static CUptiResult succeed(void)
{
    return CUPTI_SUCCESS;
}

// What the library looks for the driver and CUPTI by (tests/CMakeLists.txt). Functions that no case
// needs succeed.
void *stand_in_dlopen(const char *name, int flags);
void *stand_in_dlsym(void *library, const char *name);

void *stand_in_dlopen(const char *name, int flags)
{
    return &told;
}

#define TEXT_OF(name) #name
#define NAME_OF(name) TEXT_OF(name) // cuda.h gives functions their versions by macros

void *stand_in_dlsym(void *library, const char *name)
{
    static const struct {
        const char *name;
        size_t at;
    } functions[] = {
#define X(name) {NAME_OF(name), offsetof(struct driver, name)},
        DRIVER_FUNCTIONS(X)
#undef X
    };
    void *found = NULL;
    if (strcmp(name, "cuptiSubscribe") == 0)
        memcpy(&found, &(__typeof__(&subscribe)){subscribe}, sizeof(found));
    for (size_t i = 0; i < ARRAY_COUNT(functions); i++) {
        if (strcmp(name, functions[i].name) == 0)
            memcpy(&found, (const char *)&stand_in + functions[i].at, sizeof(found));
    }
    if (!found)
        memcpy(&found, &(__typeof__(&succeed)){succeed}, sizeof(found));
    return found;
}

// ---- NVTX's ----

static NvtxFunctionPointer push, pop; // the library's

static int NVTX_API function_table(NvtxCallbackModule module, NvtxFunctionTable *out,
                                   unsigned *count)
{
    static NvtxFunctionPointer *table[NVTX_CBID_CORE_SIZE];
    table[NVTX_CBID_CORE_RangePushA] = &push;
    table[NVTX_CBID_CORE_RangePop] = &pop;
    *out = table;
    *count = module == NVTX_CB_MODULE_CORE ? ARRAY_COUNT(table) : 0;
    return 1;
}

static const void *NVTX_API export_table(uint32_t which)
{
    static const NvtxExportTableCallbacks callbacks = {sizeof(callbacks), function_table};
    return which == NVTX_ETID_CALLBACKS ? &callbacks : NULL;
}

static void range_pushed(const char *name)
{
    ((int (*)(const char *))push)(name);
}

static void range_popped(void)
{
    ((int (*)(void))pop)();
}

// A call of the driver, as CUPTI tells of its begin and of its end.
static void call(CUpti_CallbackId id, const char *name, const void *parameters)
{
    CUresult code = CUDA_SUCCESS;
    CUpti_CallbackData data = {.callbackSite = CUPTI_API_ENTER,
                               .functionName = name,
                               .functionParams = parameters,
                               .functionReturnValue = &code};
    told(NULL, CUPTI_CB_DOMAIN_DRIVER_API, id, &data);
    memory[1][0]++; // it is a kernel that counts
    data.callbackSite = CUPTI_API_EXIT;
    told(NULL, CUPTI_CB_DOMAIN_DRIVER_API, id, &data);
}
#define CALL(name, ...)                                                                            \
    call(CUPTI_DRIVER_TRACE_CBID_##name, #name, &(const name##_params){__VA_ARGS__})

static void launch(const char *function, uint64_t first)
{
    words[0] = (void *)(uintptr_t)first;
    words[1] = memory[1];
    CALL(cuLaunchKernel, .f = (CUfunction)(uintptr_t)function, 1, 1, 1, 1, 1, 1,
         .kernelParams = given);
}

// ---- cases ----

static void host_callback(void)
{
    CALL(cuLaunchHostFunc, 0);
}

static void copy_from_the_host(void)
{
    CALL(cuMemcpyHtoD_v2, 0);
}

static void several_devices(void)
{
    CALL(cuLaunchCooperativeKernelMultiDevice, 0);
}

static void managed(void)
{
    kind_of[2] = "managed";
    launch("plain", at(2));
}

static void of_the_host(void)
{
    kind_of[2] = "host";
    launch("plain", at(2));
}

static void of_another_device(void)
{
    kind_of[2] = "other device";
    launch("plain", at(2));
}

static void texture(void)
{
    CUtexObject made = 77;
    CALL(cuTexObjectCreate, .pTexObject = &made);
    launch("plain", made);
}

static void surface(void)
{
    CUsurfObject made = 78;
    CALL(cuSurfObjectCreate, .pSurfObject = &made);
    launch("plain", made);
}

static void of_another_process(void)
{
    CUdeviceptr opened = at(3);
    CALL(cuIpcOpenMemHandle_v2, .pdptr = &opened);
    launch("plain", at(3));
}

static void imported(void)
{
    CUmemGenericAllocationHandle handle = 9;
    CALL(cuMemImportFromShareableHandle, .handle = &handle);
    CALL(cuMemMap, .ptr = at(4), .size = BYTES, .handle = handle);
    launch("plain", at(4));
}

static void window_of_l2(void)
{
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW,
                                   .value.accessPolicyWindow.num_bytes = 64};
    const CUlaunchConfig config = {1, 1, 1, 1, 1, 1, .attrs = &attribute, .numAttrs = 1};
    CALL(cuLaunchKernelEx, .config = &config, .f = (CUfunction)(uintptr_t) "plain",
         .kernelParams = given);
}

static void from_the_device(void)
{
    launch("nested", at(0));
}

static void of_no_image(void)
{
    launch("nowhere", at(0));
}

static void graph(const char *nodes, bool changes)
{
    static char execs[8];
    static int count;
    CUgraphExec exec = (CUgraphExec)(void *)&execs[count++];
    words[0] = memory[0];
    words[1] = memory[1];
    CALL(cuGraphInstantiateWithFlags, .phGraphExec = &exec, .hGraph = (CUgraph)(uintptr_t)nodes);
    if (changes)
        CALL(cuGraphExecKernelNodeSetParams_v2, .hGraphExec = exec);
    CALL(cuGraphLaunch, .hGraph = exec);
}

static void graph_with_a_callback(void)
{
    graph("kh", false);
}

static void changed_graph(void)
{
    graph("k", true);
}

static void within_the_limit(void)
{
    launch("plain", at(0));
    graph("kk", false);
}

static const struct {
    void (*happens)(void); // in a range, behind a launch
    const char *refused;   // NULL: it is not
} cases[] = {{within_the_limit, NULL},
             {host_callback, "cuLaunchHostFunc was called among its launches"},
             {copy_from_the_host, "cuMemcpyHtoD_v2 was called among its launches"},
             {several_devices, "cuLaunchCooperativeKernelMultiDevice was called among"},
             {managed, "a parameter points into managed memory"},
             {of_the_host, "a parameter points into memory of the host"},
             {of_another_device, "a parameter points into memory of another device"},
             {texture, "a parameter is a texture"},
             {surface, "a parameter is a surface"},
             {window_of_l2, "plain: its launch asks for a window of L2"},
             {from_the_device, "nested: its image launches kernels from the device"},
             {of_no_image, "nowhere: the driver told of no image that has it"},
             {graph_with_a_callback, "its graph has a host callback that cannot be read"},
             {changed_graph, "its graph was changed after it was made executable"},
             {of_another_process, "a parameter points into memory of another process"},
             {imported, "a parameter points into memory of another process"}};

static char *folders[ARRAY_COUNT(cases)];

static void set(const char *name, size_t wish, const char *value)
{
    char *numbered = wish ? xprintf("%s_%zu", name, wish + 1) : xstrdup(name);
    setenv(numbered, value, 1);
    free(numbered);
}

static int set_up(void **state)
{
    static const char images[][64] = {".text.plain", ".text.nested\0cudaCDP2LaunchDevice",
                                      ".text.shared"};
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        char *range = xprintf("range%zu", i), *limit = xprintf("%d", LIMIT);
        folders[i] = helper_directory();
        set("PLUMB_CAPTURE", i, folders[i]);
        set("PLUMB_CAPTURE_RANGE", i, range);
        set("PLUMB_CAPTURE_LIMIT", i, limit);
        free(range);
        free(limit);
    }
    InitializeInjection();
    InitializeInjectionNvtx2(export_table);
    for (size_t i = 0; i < ARRAY_COUNT(images); i++) {
        CUpti_ModuleResourceData module = {.cubinSize = sizeof(images[i]), .pCubin = images[i]};
        CUpti_ResourceData resource = {.resourceDescriptor = &module};
        told(NULL, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_MODULE_LOADED, &resource);
    }
    return 0;
}

static int tear_down(void **state)
{
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++)
        free(folders[i]);
    return 0;
}

AROUND_ALL(set_up, tear_down);

TEST(what_no_record_can_hold_is_refused_by_its_name)
{
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        char *range = xprintf("range%zu", i);
        memset(kind_of, 0, sizeof(kind_of));
        range_pushed(range);
        launch("plain", at(0));
        cases[i].happens();
        range_popped();
        const char *refused = taken_refused(i);
        if (cases[i].refused ? !strstr(refused, cases[i].refused) || *taken_file(i)
                             : *refused || !strstr(taken_file(i), "record."))
            fail_msg("%zu: '%s' and '%s'", i, refused, taken_file(i));
        free(range);
    }
}

// What is held of a range counts together, and every folder has a survey that says what came of it.
TEST(more_memory_than_the_limit_is_refused)
{
    char *path = xprintf("%s/survey.%d", folders[0], (int)getpid());
    size_t size;
    wishes[0].limit = BYTES;
    wishes[0].range = "more";
    range_pushed("more");
    launch("plain", at(0));
    range_popped();
    assert_string_equal(taken_refused(0), "its allocations hold more than 4096 bytes, the limit");
    survey_write();
    char *text = helper_read(path, &size);
    assert_non_null(strstr(text, "its allocations hold more than 4096 bytes, the limit"));
    free(text);
    free(path);
}

// The driver has a handle for a kernel, one for its function, and one in each context. Whichever a
// launch gives, and whether or not it names a cluster that is compiled in, the kernel is one line
// of the survey and one record.
TEST(a_kernel_is_one_shape_by_whichever_handle_it_is_launched)
{
    struct arena arena = {0};
    struct survey survey;
    struct error err;
    char *path = xprintf("%s/survey.%d", folders[1], (int)getpid());
    char *records = xprintf("%s/record.*", folders[1]);
    glob_t found;
    size_t lines = 0, size;
    wishes[1].range = NULL;
    wishes[1].kernel = "shared";
    of_nodes = "shared";
    launch("kernel shared", at(0));
    launch("context shared", at(0));
    graph("k", false);
    survey_write();
    char *text = helper_read(path, &size);
    if (survey_parse(&survey, text, size, &arena, &err))
        fail_msg("%s", err.text);
    for (size_t i = 0; i < survey.count; i++) {
        if (strcmp(survey.kernels[i].name, "shared") != 0)
            continue;
        assert_int_equal(survey.kernels[i].launches, 3);
        lines++;
    }
    assert_int_equal(lines, 1);
    assert_int_equal(glob(records, 0, NULL, &found), 0);
    assert_int_equal(found.gl_pathc, 1);
    globfree(&found);
    arena_free(&arena);
    free(text);
    free(path);
    free(records);
}

#else
int main(void)
{
    return program_skipped("CUDA", "its toolkit's headers are not here");
}
#endif
