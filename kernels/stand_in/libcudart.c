// SPDX-License-Identifier: Apache-2.0
//
// Stands before the CUDA runtime's library where there is no GPU. It notes what a kernel library
// would launch: which functions, in which grids, with which arguments. It is embedded in `bench`,
// which loads it before any library that is linked with libcudart; the loader then takes these
// functions instead of the runtime's. If a library uses other functions of CUDA, or has the runtime
// linked into it, nothing can be noted (kernels/bench/record_make.c).
//
// Types are declared here as in CUDA's ABI, so that no header of a toolkit is needed. The
// sizes of arguments are read from the library's device code, whose layout
// runner/code/machine_code.h describes. That code is the library's own, and a library with
// false sizes only harms its own process.
#include "kernels/stand_in/launches.h"

#include <elf.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { SUCCESS = 0, INVALID_FUNCTION = 98, NOT_SUPPORTED = 801 };
enum { MODULES_MOST = 256, FUNCTIONS_MOST = 8192 };

struct dim3 {
    unsigned x, y, z;
};

static const unsigned char *modules[MODULES_MOST];
static size_t module_count;

static struct registered_function {
    const void *host;
    const char *name;
    const unsigned char *code; // the fat binary with which it was registered
    int32_t carveout;
} functions[FUNCTIONS_MOST];
static size_t function_count;

static struct stand_in_told *told; // NULL: nobody asks
static const void *stream_of;      // of the first launch
static bool any_stream;
static const char *unasked; // a function that was called while nobody asked; what it did is not
                            // known to a later launch()

static int refuse(const char *why)
{
    if (!told)
        unasked = why;
    if (told && !told->refused[0])
        snprintf(told->refused, sizeof(told->refused), "%s", why);
    return NOT_SUPPORTED;
}

// ---- what a library registers ----

struct wrapper {
    uint32_t magic, version;
    const unsigned char *code;
    void *other;
};

void *__cudaRegisterFatBinary(struct wrapper *wrapper)
{
    if (module_count == MODULES_MOST)
        return NULL;
    modules[module_count] = wrapper->code;
    return (void *)&modules[module_count++];
}

void __cudaRegisterFatBinaryEnd(void **handle)
{
    (void)handle;
}

void __cudaUnregisterFatBinary(void **handle)
{
    (void)handle;
}

char __cudaInitModule(void **handle)
{
    (void)handle;
    return 1;
}

void __cudaRegisterFunction(void **handle, const void *host, char *device, const char *name,
                            int threads, void *a, void *b, void *c, void *d, int *e)
{
    (void)device, (void)threads, (void)a, (void)b, (void)c, (void)d, (void)e;
    if (handle && function_count < FUNCTIONS_MOST)
        functions[function_count++] = (struct registered_function){host, name, *handle, -1};
}

void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int outer,
                       size_t size, int constant, int global)
{
    (void)handle, (void)host, (void)device, (void)name;
    (void)outer, (void)size, (void)constant, (void)global;
}

static struct registered_function *function_of(const void *host)
{
    for (size_t i = function_count; i-- > 0;) {
        if (functions[i].host == host)
            return &functions[i];
    }
    return NULL;
}

// ---- sizes of arguments ----

enum { FAT_HEADER = 16, KIND_CUBIN = 2, ATTRIBUTE_SIZED = 4, ATTRIBUTE_PARAMETER = 0x17 };

static uint64_t number(const unsigned char *at, size_t bytes)
{
    uint64_t value = 0;
    memcpy(&value, at, bytes);
    return value;
}

// Reads a function's attributes. False: the cubin has no such function, or it has too many
// parameters.
static bool take_attributes(struct stand_in_launch *out, const unsigned char *at,
                            const unsigned char *end)
{
    while (end - at >= 4) {
        const size_t size = at[0] == ATTRIBUTE_SIZED ? (size_t)number(at + 2, 2) : 0;
        const unsigned char *value = at + 4;
        if ((size_t)(end - value) < size)
            return false;
        if (at[0] == ATTRIBUTE_SIZED && at[1] == ATTRIBUTE_PARAMETER && size >= 12) {
            const size_t which = (size_t)number(value + 4, 2);
            const uint32_t offset = (uint32_t)number(value + 6, 2);
            const uint32_t bytes = (uint32_t)number(value + 8, 4) >> 18;
            if (which >= STAND_IN_PARAMETERS || offset + bytes > STAND_IN_BYTES)
                return false;
            out->offsets[which] = offset;
            out->sizes[which] = bytes;
            if (out->parameter_count <= which)
                out->parameter_count = (uint32_t)which + 1;
            if (out->size < offset + bytes)
                out->size = offset + bytes;
        }
        at = value + size;
    }
    return true;
}

static bool take_cubin(struct stand_in_launch *out, const unsigned char *cubin, size_t size)
{
    static const char of[] = ".nv.info.";
    const Elf64_Ehdr *head = (const void *)cubin;
    if (size < sizeof(*head) || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 ||
        head->e_shoff > size || head->e_shnum > (size - head->e_shoff) / sizeof(Elf64_Shdr) ||
        head->e_shstrndx >= head->e_shnum)
        return false;
    const Elf64_Shdr *sections = (const void *)(cubin + head->e_shoff);
    const Elf64_Shdr *names = &sections[head->e_shstrndx];
    for (size_t i = 0; i < head->e_shnum; i++) {
        const Elf64_Shdr *s = &sections[i];
        if (s->sh_name >= names->sh_size || s->sh_offset > size || s->sh_size > size - s->sh_offset)
            continue;
        const char *name = (const char *)cubin + names->sh_offset + s->sh_name;
        if (strncmp(name, of, strlen(of)) == 0 && strcmp(name + strlen(of), out->function) == 0)
            return take_attributes(out, cubin + s->sh_offset, cubin + s->sh_offset + s->sh_size);
    }
    return false;
}

static bool take_layout(struct stand_in_launch *out, const unsigned char *code)
{
    const unsigned char *at = code + FAT_HEADER, *end = at + number(code + 8, 8);
    while (end - at >= 64) {
        const size_t header = (size_t)number(at + 4, 4), size = (size_t)number(at + 8, 8);
        if (header < 64 || header > (size_t)(end - at) || size > (size_t)(end - at) - header)
            return false;
        if (number(at, 2) == KIND_CUBIN && take_cubin(out, at + header, size))
            return true;
        at += header + size;
    }
    return false;
}

// ---- launches ----

static struct stand_in_launch *add(const void *stream)
{
    if (!told || told->refused[0])
        return NULL;
    if (told->count == STAND_IN_LAUNCHES) {
        refuse("it queues too many launches");
        return NULL;
    }
    if (any_stream && stream != stream_of) {
        refuse("it uses several streams");
        return NULL;
    }
    any_stream = true;
    stream_of = stream;
    struct stand_in_launch *launch = &told->launches[told->count++];
    memset(launch, 0, sizeof(*launch));
    launch->carveout = -1;
    for (int i = 0; i < 3; i++)
        launch->cluster[i] = launch->grid[i] = launch->block[i] = 1;
    return launch;
}

static void set_dims(uint32_t out[3], struct dim3 dims)
{
    out[0] = dims.x;
    out[1] = dims.y;
    out[2] = dims.z;
}

static int note_launch(struct stand_in_launch **out, const void *host, struct dim3 grid,
                       struct dim3 block, void **values, size_t shared, const void *stream)
{
    const struct registered_function *function = function_of(host);
    struct stand_in_launch *launch = add(stream);
    *out = launch;
    if (!function)
        return refuse("it launches a function that it did not register"), INVALID_FUNCTION;
    if (!launch)
        return NOT_SUPPORTED;
    launch->function = function->name;
    launch->carveout = function->carveout;
    set_dims(launch->grid, grid);
    set_dims(launch->block, block);
    launch->shared_bytes = (uint32_t)shared;
    if (!take_layout(launch, function->code))
        return refuse("its device code is compressed, or left to the driver's compiler");
    for (uint32_t i = 0; i < launch->parameter_count; i++)
        memcpy(launch->bytes + launch->offsets[i], values[i], launch->sizes[i]);
    return SUCCESS;
}

static struct {
    struct dim3 grid, block;
    size_t shared;
    const void *stream;
} pushed;

unsigned __cudaPushCallConfiguration(struct dim3 grid, struct dim3 block, size_t shared,
                                     void *stream)
{
    pushed.grid = grid;
    pushed.block = block;
    pushed.shared = shared;
    pushed.stream = stream;
    return 0;
}

int __cudaPopCallConfiguration(struct dim3 *grid, struct dim3 *block, size_t *shared, void *stream)
{
    *grid = pushed.grid;
    *block = pushed.block;
    *shared = pushed.shared;
    memcpy(stream, &pushed.stream, sizeof(pushed.stream));
    return SUCCESS;
}

int __cudaGetKernel(const void **out, const void *host)
{
    *out = host; // that tells them apart, too
    return function_of(host) ? SUCCESS : INVALID_FUNCTION;
}

#define LAUNCH(name)                                                                               \
    int name(const void *host, struct dim3 grid, struct dim3 block, void **values, size_t shared,  \
             void *stream)                                                                         \
    {                                                                                              \
        struct stand_in_launch *launch;                                                            \
        return note_launch(&launch, host, grid, block, values, shared, stream);                    \
    }
LAUNCH(cudaLaunchKernel)
LAUNCH(cudaLaunchKernel_ptsz)
LAUNCH(__cudaLaunchKernel)
LAUNCH(__cudaLaunchKernel_ptsz)

#define LAUNCH_COOPERATIVE(name)                                                                   \
    int name(const void *host, struct dim3 grid, struct dim3 block, void **values, size_t shared,  \
             void *stream)                                                                         \
    {                                                                                              \
        struct stand_in_launch *launch;                                                            \
        const int code = note_launch(&launch, host, grid, block, values, shared, stream);          \
        if (launch)                                                                                \
            launch->cooperative = 1;                                                               \
        return code;                                                                               \
    }
LAUNCH_COOPERATIVE(cudaLaunchCooperativeKernel)
LAUNCH_COOPERATIVE(cudaLaunchCooperativeKernel_ptsz)

struct attribute {
    int id;
    char pad[4];
    union {
        char room[64];
        struct dim3 dims;
        int number;
    } value;
};

struct launch_config {
    struct dim3 grid, block;
    size_t shared;
    void *stream;
    const struct attribute *attributes;
    unsigned count;
};

enum { ATTRIBUTE_COOPERATIVE = 2, ATTRIBUTE_CLUSTER = 4, ATTRIBUTE_PROGRAMMATIC = 6 };

static int launch_with(const struct launch_config *config, const void *host, void **values)
{
    struct stand_in_launch *launch;
    const int code = note_launch(&launch, host, config->grid, config->block, values, config->shared,
                                 config->stream);
    for (unsigned i = 0; launch && i < config->count; i++) {
        const struct attribute *a = &config->attributes[i];
        if (a->id == ATTRIBUTE_COOPERATIVE)
            launch->cooperative = a->value.number;
        else if (a->id == ATTRIBUTE_CLUSTER)
            set_dims(launch->cluster, a->value.dims);
        else if (a->id == ATTRIBUTE_PROGRAMMATIC)
            launch->programmatic = a->value.number;
        else if (a->id)
            return refuse("it launches with an attribute that is not known here");
    }
    return code;
}

int cudaLaunchKernelExC(const struct launch_config *config, const void *host, void **values)
{
    return launch_with(config, host, values);
}

int cudaLaunchKernelExC_ptsz(const struct launch_config *config, const void *host, void **values)
{
    return launch_with(config, host, values);
}

// ---- other functions that a launch() calls ----

enum { FUNCTION_SHARED = 8, FUNCTION_CARVEOUT = 9, FUNCTION_NON_PORTABLE = 14 };

// The limit of a kernel's shared memory is no part of a launch; the amount that it uses is.
int cudaFuncSetAttribute(const void *host, int attribute, int value)
{
    struct registered_function *function = function_of(host);
    if (!function)
        return INVALID_FUNCTION;
    if (attribute == FUNCTION_CARVEOUT)
        function->carveout = value;
    else if (attribute != FUNCTION_SHARED && attribute != FUNCTION_NON_PORTABLE)
        return refuse("it sets an attribute of a function that is not known here");
    return SUCCESS;
}

static int note_memset(void *to, int value, size_t pitch, size_t width, size_t height,
                       const void *stream)
{
    struct stand_in_launch *launch = add(stream);
    if (!launch)
        return NOT_SUPPORTED;
    launch->value = (uint32_t)value & 0xff;
    launch->width = width;
    launch->height = height;
    launch->pitch_bytes = pitch;
    launch->parameter_count = 1;
    launch->size = launch->sizes[0] = sizeof(to);
    memcpy(launch->bytes, &to, sizeof(to));
    return SUCCESS;
}

int cudaMemsetAsync(void *to, int value, size_t bytes, void *stream)
{
    return note_memset(to, value, 0, bytes, 1, stream);
}

int cudaMemsetAsync_ptsz(void *to, int value, size_t bytes, void *stream)
{
    return note_memset(to, value, 0, bytes, 1, stream);
}

int cudaMemset2DAsync(void *to, size_t pitch, int value, size_t width, size_t height, void *stream)
{
    return note_memset(to, value, pitch, width, height, stream);
}

int cudaPeekAtLastError(void)
{
    return SUCCESS;
}

int cudaGetLastError(void)
{
    return SUCCESS;
}

const char *cudaGetErrorString(int code)
{
    (void)code;
    return "no GPU is here";
}

const char *cudaGetErrorName(int code)
{
    (void)code;
    return "cudaErrorNotSupported";
}

// Functions that a library may import but need not call. A library that calls one depends on a GPU.
#define OTHERS(X)                                                                                  \
    X(cudaMalloc)                                                                                  \
    X(cudaMallocAsync)                                                                             \
    X(cudaFree)                                                                                    \
    X(cudaFreeAsync)                                                                               \
    X(cudaMemcpy)                                                                                  \
    X(cudaMemcpyAsync)                                                                             \
    X(cudaMemcpyToSymbol)                                                                          \
    X(cudaMemcpyToSymbolAsync)                                                                     \
    X(cudaMemset)                                                                                  \
    X(cudaDeviceSynchronize)                                                                       \
    X(cudaStreamSynchronize)                                                                       \
    X(cudaStreamCreate)                                                                            \
    X(cudaStreamCreateWithFlags)                                                                   \
    X(cudaStreamDestroy)                                                                           \
    X(cudaStreamWaitEvent)                                                                         \
    X(cudaEventCreate)                                                                             \
    X(cudaEventCreateWithFlags)                                                                    \
    X(cudaEventRecord)                                                                             \
    X(cudaEventSynchronize)                                                                        \
    X(cudaEventElapsedTime)                                                                        \
    X(cudaEventDestroy)                                                                            \
    X(cudaGetDevice)                                                                               \
    X(cudaGetDeviceProperties)                                                                     \
    X(cudaGetDeviceProperties_v2)                                                                  \
    X(cudaDeviceGetAttribute)                                                                      \
    X(cudaFuncGetAttributes)                                                                       \
    X(cudaGetSymbolAddress)                                                                        \
    X(cudaOccupancyMaxActiveBlocksPerMultiprocessor)                                               \
    X(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags)

#define DEFINE(name)                                                                               \
    int name(void)                                                                                 \
    {                                                                                              \
        return refuse("it calls " #name "()");                                                     \
    }
OTHERS(DEFINE)

// ---- functions for bench ----

void plumb_stand_in_begin(struct stand_in_told *out)
{
    told = out;
    told->count = 0;
    told->refused[0] = '\0';
    if (unasked)
        refuse(unasked);
    any_stream = false;
}

void plumb_stand_in_end(void)
{
    told = NULL;
}
