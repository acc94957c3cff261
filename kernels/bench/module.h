// SPDX-License-Identifier: Apache-2.0
//
// A kernel library, loaded: dlopen, the ABI's checks, and its kernels by name.
#ifndef PLUMB_MODULE_H
#define PLUMB_MODULE_H

#include "kernels/kernel.h"
#include "model/base.h"
#include "model/problem.h"

struct module {
    void *handle;
    const struct plumb_library *library;
    ptrdiff_t copy; // which private copy it is, -1 if none
};
#define MODULE_NONE ((struct module){.copy = -1})

// copy: load a private copy of the file, so that one file can be loaded twice in one process (an
// A/A pair would otherwise share the code). The caller releases. Not for threads.
int module_load(struct module *out, const char *path, bool copy, struct error *err);
// The library stays loaded, for reasons told in module.c. MODULE_NONE does nothing.
void module_release(struct module *module);

// True when the files hold the same bytes. Unreadable files are not the same.
bool module_same_file(const char *a, const char *b);

uint32_t module_count(const struct module *module);
// Kernel `index`, with what version 1 says of it; fields that an older library does not declare
// are zero.
struct plumb_kernel module_kernel(const struct module *module, uint32_t index);
// With what version 2 says besides, zero of a library of version 1. False if there is no kernel of
// that name.
bool module_find(struct plumb_form_kernel *out, const struct module *module, const char *name);

// The ABI's traits in the vocabulary's words; types out of range become FP32, numbers below -1
// zero.
struct traits module_traits(const struct plumb_kernel *kernel);

#endif
