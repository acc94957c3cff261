// SPDX-License-Identifier: Apache-2.0
//
// The CUDA driver that the captured program has loaded. Its functions are looked up by name: the
// library that is injected links nothing of CUDA.
#ifndef PLUMB_CAPTURE_DRIVER_H
#define PLUMB_CAPTURE_DRIVER_H

#include <cuda.h>

#define DRIVER_FUNCTIONS(X)                                                                        \
    X(cuCtxGetCurrent)                                                                             \
    X(cuCtxGetDevice)                                                                              \
    X(cuCtxSynchronize)                                                                            \
    X(cuDeviceGetName)                                                                             \
    X(cuDriverGetVersion)                                                                          \
    X(cuFuncGetAttribute)                                                                          \
    X(cuFuncGetModule)                                                                             \
    X(cuFuncGetName)                                                                               \
    X(cuFuncGetParamInfo)                                                                          \
    X(cuFuncIsLoaded)                                                                              \
    X(cuFuncLoad)                                                                                  \
    X(cuGetErrorName)                                                                              \
    X(cuGraphGetEdges)                                                                             \
    X(cuGraphGetNodes)                                                                             \
    X(cuGraphKernelNodeGetAttribute)                                                               \
    X(cuGraphKernelNodeGetParams)                                                                  \
    X(cuGraphMemsetNodeGetParams)                                                                  \
    X(cuGraphNodeGetType)                                                                          \
    X(cuKernelGetFunction)                                                                         \
    X(cuKernelGetLibrary)                                                                          \
    X(cuMemGetAddressRange)                                                                        \
    X(cuMemcpy)                                                                                    \
    X(cuPointerGetAttribute)                                                                       \
    X(cuStreamIsCapturing)                                                                         \
    X(cuThreadExchangeStreamCaptureMode)

struct driver {
#define X(name) __typeof__(&name) name;
    DRIVER_FUNCTIONS(X)
#undef X
};

// NULL where the process has no driver of CUDA 12.4 or newer; `missing` names what it lacks.
const struct driver *driver_find(const char **missing);
// "CUDA_ERROR_INVALID_VALUE", or its number where the driver has no name for it.
const char *driver_error(const struct driver *driver, CUresult code);

#endif
