// SPDX-License-Identifier: Apache-2.0
//
// refused WHAT: launches double_it() in a way that no record can hold, or, of "nothing", as any.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda.h>
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <sys/wait.h>
#include <unistd.h>
enum { COUNT = 1 << 16 };

__global__ void double_it(float *out, const float *in)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = 2 * in[i];
}

__global__ void double_texels(float *out, cudaTextureObject_t in)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = 2 * tex1Dfetch<float>(in, i);
}

__global__ void double_surface(float *out, cudaSurfaceObject_t in)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float value;
    surf2Dread(&value, in, i % 256 * 4, i / 256);
    out[i] = 2 * value;
}

#ifdef DEVICE_LAUNCH
__global__ void double_by_another(float *out, const float *in)
{
    double_it<<<COUNT / 256, 256>>>(out, in);
}
#endif

static void CUDART_CB called(void *)
{
}

static void check(cudaError_t code)
{
    if (code != cudaSuccess) {
        fprintf(stderr, "%s\n", cudaGetErrorString(code));
        exit(1);
    }
}

static void plain(float *out, const float *in, cudaStream_t stream = 0)
{
    double_it<<<COUNT / 256, 256, 0, stream>>>(out, in);
}

static void texture(float *out, float *in)
{
    cudaResourceDesc from = {};
    cudaTextureDesc how = {};
    cudaTextureObject_t texels;
    from.resType = cudaResourceTypeLinear;
    from.res.linear.devPtr = in;
    from.res.linear.desc = cudaCreateChannelDesc<float>();
    from.res.linear.sizeInBytes = COUNT * sizeof(float);
    check(cudaCreateTextureObject(&texels, &from, &how, NULL));
    double_texels<<<COUNT / 256, 256>>>(out, texels);
}

static void surface(float *out)
{
    cudaResourceDesc from = {};
    cudaChannelFormatDesc of = cudaCreateChannelDesc<float>();
    cudaSurfaceObject_t surface;
    cudaArray_t array;
    check(cudaMallocArray(&array, &of, 256, COUNT / 256, cudaArraySurfaceLoadStore));
    from.resType = cudaResourceTypeArray;
    from.res.array.array = array;
    check(cudaCreateSurfaceObject(&surface, &from));
    double_surface<<<COUNT / 256, 256>>>(out, surface);
}

static void ipc(float *out, const char *self)
{
    // The other process owns the memory; its handle comes through a pipe.
    int way[2], back[2];
    cudaIpcMemHandle_t handle;
    void *theirs;
    if (pipe(way) || pipe(back))
        exit(1);
    if (fork() == 0) {
        dup2(way[1], 1);
        dup2(back[0], 0);
        unsetenv("CUDA_INJECTION64_PATH");
        close(back[1]);
        execl(self, self, "owner", (char *)NULL);
        _exit(1);
    }
    if (read(way[0], &handle, sizeof(handle)) != sizeof(handle))
        exit(1);
    check(cudaIpcOpenMemHandle(&theirs, handle, cudaIpcMemLazyEnablePeerAccess));
    plain(out, (const float *)theirs);
    check(cudaDeviceSynchronize());
    close(back[1]);
}

static int owner(void)
{
    cudaIpcMemHandle_t handle;
    float *mine;
    char end;
    check(cudaMalloc(&mine, COUNT * sizeof(float)));
    check(cudaIpcGetMemHandle(&handle, mine));
    if (write(1, &handle, sizeof(handle)) != sizeof(handle))
        return 1;
    return (int)read(0, &end, 1);
}

// Memory that is exported and imported again, as another process would: mapped, and its pointer in
// a pool.
static void *entry(const char *name)
{
    static void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    void *found = driver ? dlsym(driver, name) : NULL;
    if (!found)
        exit(1);
    return found;
}
#define DRIVER(name) ((decltype(&name))entry(#name))

static void import_mapped(float *out)
{
    CUmemAllocationProp what = {};
    CUmemAccessDesc access = {};
    CUmemGenericAllocationHandle mine, theirs;
    CUdeviceptr at;
    size_t grain;
    int file;
    what.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    what.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    what.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    access.location = what.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    if (DRIVER(cuMemGetAllocationGranularity)(&grain, &what, CU_MEM_ALLOC_GRANULARITY_MINIMUM) ||
        DRIVER(cuMemCreate)(&mine, grain, &what, 0) ||
        DRIVER(cuMemExportToShareableHandle)(&file, mine, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                             0) ||
        DRIVER(cuMemImportFromShareableHandle)(&theirs, (void *)(uintptr_t)file,
                                               CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) ||
        DRIVER(cuMemAddressReserve)(&at, grain, 0, 0, 0) ||
        DRIVER(cuMemMap)(at, grain, 0, theirs, 0) || DRIVER(cuMemSetAccess)(at, grain, &access, 1))
        exit(1);
    plain(out, (const float *)at);
}

static void window(float *out, const float *in)
{
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute attribute = {};
    config.gridDim = COUNT / 256;
    config.blockDim = 256;
    attribute.id = cudaLaunchAttributeAccessPolicyWindow;
    attribute.val.accessPolicyWindow.base_ptr = (void *)in;
    attribute.val.accessPolicyWindow.num_bytes = COUNT * sizeof(float);
    attribute.val.accessPolicyWindow.hitRatio = 1;
    attribute.val.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
    config.attrs = &attribute;
    config.numAttrs = 1;
    check(cudaLaunchKernelEx(&config, double_it, out, in));
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    float *in, *out, *other, host[256] = {};
    if (strcmp(what, "owner") == 0)
        return owner();
    check(cudaMalloc(&in, COUNT * sizeof(float)));
    check(cudaMalloc(&out, COUNT * sizeof(float)));
    check(cudaMemset(in, 1, COUNT * sizeof(float)));
    check(cudaMemset(out, 0, COUNT * sizeof(float)));
    check(cudaDeviceSynchronize());
    nvtxRangePushA("range");
    if (strcmp(what, "managed") == 0) {
        check(cudaMallocManaged(&other, COUNT * sizeof(float)));
        plain(out, other);
    } else if (strcmp(what, "host") == 0) {
        check(cudaMallocHost(&other, COUNT * sizeof(float)));
        plain(out, other);
    } else if (strcmp(what, "texture") == 0) {
        texture(out, in);
    } else if (strcmp(what, "surface") == 0) {
        surface(out);
    } else if (strcmp(what, "ipc") == 0) {
        ipc(out, argv[0]);
    } else if (strcmp(what, "mapped") == 0) {
        import_mapped(out);
    } else if (strcmp(what, "window") == 0) {
        window(out, in);
    } else if (strcmp(what, "callback") == 0) {
        plain(out, in);
        check(cudaLaunchHostFunc(0, called, NULL));
    } else if (strcmp(what, "copy") == 0) {
        plain(out, in);
        check(cudaMemcpyAsync(in, host, sizeof(host), cudaMemcpyHostToDevice));
#ifdef DEVICE_LAUNCH
    } else if (strcmp(what, "device") == 0) {
        double_by_another<<<1, 1>>>(out, in);
#endif
    } else {
        plain(out, in);
    }
    nvtxRangePop();
    check(cudaDeviceSynchronize());
    return 0;
}
