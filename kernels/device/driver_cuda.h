// SPDX-License-Identifier: Apache-2.0
//
// The driver's functions that recording and replaying need. They are asked of the runtime and not
// linked, so that bench starts where no driver is installed.
#ifndef PLUMB_DRIVER_CUDA_H
#define PLUMB_DRIVER_CUDA_H

#include "kernels/device/device_cuda.h"

#include <cuda.h>

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

struct driver {
#define X(name) decltype(&::name) name;
    DRIVER_FUNCTIONS(X)
#undef X
};

// Borrowed, the process's own; NULL with a text when the driver lacks one (it is older than
// CUDA 12.4).
const struct driver *cuda_driver(struct cuda *cuda, struct error *err);

// 0, or -1 with the driver's words.
int driver_failed(const struct driver *driver, CUresult code, const char *what, struct error *err);

#define DRIVER_TRY(driver, call, err)                                                              \
    do {                                                                                           \
        if (driver_failed((driver), (driver)->call, #call, (err)))                                 \
            return -1;                                                                             \
    } while (0)

#endif
