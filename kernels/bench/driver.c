// SPDX-License-Identifier: Apache-2.0
//
// Puts a stand-in where the CUDA driver is missing, so that libraries load and their kernels can be
// listed. Nothing is launched through it.
#include "kernels/bench/driver.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

extern const unsigned char stand_in_libcuda[];
extern const size_t stand_in_libcuda_size;

void driver_stand_in(void)
{
    char path[64];
    if (dlopen("libcuda.so.1", RTLD_LAZY))
        return;
    int memory = memfd_create("libcuda.so.1", MFD_CLOEXEC);
    if (memory < 0)
        return;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", memory);
    // The loader knows it by the name that it carries, and opens no other of that name.
    if (write(memory, stand_in_libcuda, stand_in_libcuda_size) == (ssize_t)stand_in_libcuda_size)
        dlopen(path, RTLD_NOW | RTLD_NODELETE);
    close(memory);
}
