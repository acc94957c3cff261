// SPDX-License-Identifier: Apache-2.0
//
// Looks the driver's functions up in the library that the process has loaded already.
#include "kernels/capture/capture.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define TEXT_OF(name) #name
#define NAME_OF(name) TEXT_OF(name) // cuda.h gives functions their versions by macros

const struct driver *driver_find(const char **missing)
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

const char *driver_error(const struct driver *of, CUresult code)
{
    static _Thread_local char number[32];
    const char *name;
    if (of->cuGetErrorName(code, &name) == CUDA_SUCCESS)
        return name;
    snprintf(number, sizeof(number), "error %d", (int)code);
    return number;
}
