// SPDX-License-Identifier: Apache-2.0
//
// Where the driver's functions come from.
#include "kernels/device/driver_cuda.h"

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

const struct driver *cuda_driver(struct cuda *cuda, struct error *err)
{
    static struct driver driver;
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

int driver_failed(const struct driver *driver, CUresult code, const char *what, struct error *err)
{
    const char *text = NULL;
    if (code == CUDA_SUCCESS)
        return 0;
    if (driver->cuGetErrorString(code, &text) != CUDA_SUCCESS || !text)
        text = "an error the driver has no words for";
    return error_set(err, "cuda: %.200s: %s (%d)", what, text, (int)code);
}
