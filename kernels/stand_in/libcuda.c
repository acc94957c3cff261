// SPDX-License-Identifier: Apache-2.0
//
// Stands in for the CUDA driver's library where there is none, so that libraries linked with
// -lcuda can be loaded and their kernels listed (kernels/bench/bench.c). It is built as a library
// with the driver's name, which is embedded in `bench`. Every function fails, as those of the
// toolkit's own stub do.
//
// It has the functions that a kernel library may call from launch(), prepare() or a constructor. A
// library that needs another one is refused with that function's name: add it here.
enum { CUDA_ERROR_STUB_LIBRARY = 34 };

#define FUNCTIONS(X)                                                                               \
    X(cuInit)                                                                                      \
    X(cuDriverGetVersion)                                                                          \
    X(cuGetErrorName)                                                                              \
    X(cuGetErrorString)                                                                            \
    X(cuGetProcAddress)                                                                            \
    X(cuGetProcAddress_v2)                                                                         \
    X(cuGetExportTable)                                                                            \
    X(cuDeviceGet)                                                                                 \
    X(cuDeviceGetCount)                                                                            \
    X(cuDeviceGetName)                                                                             \
    X(cuDeviceGetUuid)                                                                             \
    X(cuDeviceGetUuid_v2)                                                                          \
    X(cuDeviceGetAttribute)                                                                        \
    X(cuDeviceTotalMem_v2)                                                                         \
    X(cuDevicePrimaryCtxGetState)                                                                  \
    X(cuDevicePrimaryCtxRetain)                                                                    \
    X(cuDevicePrimaryCtxRelease_v2)                                                                \
    X(cuDevicePrimaryCtxSetFlags_v2)                                                               \
    X(cuCtxCreate_v2)                                                                              \
    X(cuCtxCreate_v4)                                                                              \
    X(cuCtxDestroy_v2)                                                                             \
    X(cuCtxGetCurrent)                                                                             \
    X(cuCtxSetCurrent)                                                                             \
    X(cuCtxGetDevice)                                                                              \
    X(cuCtxGetLimit)                                                                               \
    X(cuCtxSetLimit)                                                                               \
    X(cuCtxPushCurrent_v2)                                                                         \
    X(cuCtxPopCurrent_v2)                                                                          \
    X(cuCtxSynchronize)                                                                            \
    X(cuModuleLoad)                                                                                \
    X(cuModuleLoadData)                                                                            \
    X(cuModuleLoadDataEx)                                                                          \
    X(cuModuleLoadFatBinary)                                                                       \
    X(cuModuleUnload)                                                                              \
    X(cuModuleGetFunction)                                                                         \
    X(cuModuleGetGlobal_v2)                                                                        \
    X(cuLibraryLoadData)                                                                           \
    X(cuLibraryLoadFromFile)                                                                       \
    X(cuLibraryUnload)                                                                             \
    X(cuLibraryGetKernel)                                                                          \
    X(cuLibraryGetModule)                                                                          \
    X(cuLibraryGetGlobal)                                                                          \
    X(cuKernelGetFunction)                                                                         \
    X(cuKernelGetAttribute)                                                                        \
    X(cuKernelSetAttribute)                                                                        \
    X(cuFuncGetAttribute)                                                                          \
    X(cuFuncSetAttribute)                                                                          \
    X(cuFuncSetCacheConfig)                                                                        \
    X(cuFuncGetName)                                                                               \
    X(cuFuncGetModule)                                                                             \
    X(cuFuncLoad)                                                                                  \
    X(cuLinkCreate_v2)                                                                             \
    X(cuLinkAddData_v2)                                                                            \
    X(cuLinkComplete)                                                                              \
    X(cuLinkDestroy)                                                                               \
    X(cuLaunchKernel)                                                                              \
    X(cuLaunchKernelEx)                                                                            \
    X(cuLaunchCooperativeKernel)                                                                   \
    X(cuLaunchHostFunc)                                                                            \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessor)                                                 \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags)                                        \
    X(cuOccupancyMaxActiveClusters)                                                                \
    X(cuOccupancyMaxPotentialClusterSize)                                                          \
    X(cuTensorMapEncodeTiled)                                                                      \
    X(cuTensorMapEncodeIm2col)                                                                     \
    X(cuTensorMapEncodeIm2colWide)                                                                 \
    X(cuTensorMapReplaceAddress)                                                                   \
    X(cuMemAlloc_v2)                                                                               \
    X(cuMemAllocAsync)                                                                             \
    X(cuMemAllocHost_v2)                                                                           \
    X(cuMemFree_v2)                                                                                \
    X(cuMemFreeAsync)                                                                              \
    X(cuMemFreeHost)                                                                               \
    X(cuMemHostAlloc)                                                                              \
    X(cuMemHostGetDevicePointer_v2)                                                                \
    X(cuMemGetInfo_v2)                                                                             \
    X(cuMemGetAddressRange_v2)                                                                     \
    X(cuMemcpyDtoH_v2)                                                                             \
    X(cuMemcpyHtoD_v2)                                                                             \
    X(cuMemcpyDtoDAsync_v2)                                                                        \
    X(cuMemcpyHtoDAsync_v2)                                                                        \
    X(cuMemcpyDtoHAsync_v2)                                                                        \
    X(cuMemsetD8_v2)                                                                               \
    X(cuMemsetD8Async)                                                                             \
    X(cuMemsetD16Async)                                                                            \
    X(cuMemsetD32_v2)                                                                              \
    X(cuMemsetD32Async)                                                                            \
    X(cuPointerGetAttribute)                                                                       \
    X(cuPointerGetAttributes)                                                                      \
    X(cuStreamCreate)                                                                              \
    X(cuStreamCreateWithPriority)                                                                  \
    X(cuStreamDestroy_v2)                                                                          \
    X(cuStreamGetCtx)                                                                              \
    X(cuStreamIsCapturing)                                                                         \
    X(cuStreamSynchronize)                                                                         \
    X(cuStreamWaitEvent)                                                                           \
    X(cuStreamWaitValue32_v2)                                                                      \
    X(cuStreamWriteValue32_v2)                                                                     \
    X(cuEventCreate)                                                                               \
    X(cuEventDestroy_v2)                                                                           \
    X(cuEventElapsedTime)                                                                          \
    X(cuEventElapsedTime_v2)                                                                       \
    X(cuEventQuery)                                                                                \
    X(cuEventRecord)                                                                               \
    X(cuEventSynchronize)

#define DEFINE(name)                                                                               \
    int name(void);                                                                                \
    int name(void)                                                                                 \
    {                                                                                              \
        return CUDA_ERROR_STUB_LIBRARY;                                                            \
    }
FUNCTIONS(DEFINE)
