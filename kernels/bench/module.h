// SPDX-License-Identifier: Apache-2.0
//
// Loads a kernel library: dlopen, the ABI's checks, and finding its kernels by name.
#ifndef PLUMB_MODULE_H
#define PLUMB_MODULE_H

#include "kernels/kernel.h"
#include "model/base.h"
#include "model/problem.h"

struct module {
    void *handle;
    const struct plumb_library *library;
    ptrdiff_t copy; // number of the private copy, -1 if it is none
};
#define MODULE_NONE ((struct module){.copy = -1})

// Loads a library. `copy`: loads a private copy of the file, so that one file can be loaded twice
// in one process (otherwise an A/A pair would share the code). The caller releases. Not
// thread-safe.
int module_load(struct module *out, const char *path, bool copy, struct error *err);
// Releases a library, which stays loaded, for reasons given in module.c. MODULE_NONE is ignored.
void module_release(struct module *module);

// Whether two files hold the same bytes; false for files that cannot be read.
bool module_same_file(const char *a, const char *b);

uint32_t module_count(const struct module *module);
// Returns kernel `index` as version 1 describes it; fields that an older library does not have are
// zero.
struct plumb_kernel module_kernel(const struct module *module, uint32_t index);
// Finds a kernel with the fields of version 2, which are zero for a library of version 1. False if
// there is no kernel of that name.
bool module_find(struct plumb_form_kernel *out, const struct module *module, const char *name);

// Converts the ABI's traits to plumb's; types out of range become FP32, numbers below -1 become
// zero.
struct traits module_traits(const struct plumb_kernel *kernel);

#endif
