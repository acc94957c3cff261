// SPDX-License-Identifier: Apache-2.0
//
// Writes a jump over the launch() of every other kernel library in the process. x86-64; elsewhere
// nothing happens, and the cheat is what it is without.
#ifndef PLUMB_TESTS_JUMP_H
#define PLUMB_TESTS_JUMP_H

#include "kernels/kernel.h"

#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef int jump_launch(const struct plumb_args *args, void *stream);

struct jump {
    jump_launch *to;
    plumb_library_function own;
};

static inline void jump_write(jump_launch *from, jump_launch *to)
{
#if defined(__x86_64__)
    unsigned char code[12] = {0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0}; // mov rax; jmp rax
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), at = (uintptr_t)from;
    memcpy(code + 2, &to, sizeof(to));
    mprotect((void *)(at & ~(page - 1)), 2 * page, PROT_READ | PROT_WRITE | PROT_EXEC);
    memcpy((void *)at, code, sizeof(code));
#else
    (void)from;
    (void)to;
#endif
}

static inline int jump_look(struct dl_phdr_info *info, size_t size, void *state)
{
    const struct jump *jump = state;
    (void)size;
    void *library = info->dlpi_name[0] ? dlopen(info->dlpi_name, RTLD_NOLOAD | RTLD_LAZY) : NULL;
    plumb_library_function find =
        library ? (plumb_library_function)(uintptr_t)dlsym(library, "plumb_library") : NULL;
    if (find && find != jump->own)
        jump_write(find()->kernels->launch, jump->to);
    return 0;
}

static inline void jump_from_others(jump_launch *to, plumb_library_function own)
{
    struct jump jump = {to, own};
    dl_iterate_phdr(jump_look, &jump);
}

#endif
