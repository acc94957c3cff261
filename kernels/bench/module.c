// SPDX-License-Identifier: Apache-2.0
//
// A loaded library stays loaded until the process ends. CUDA's runtime identifies a kernel by its
// address and keeps data of it after the library is gone. When the kernel of a later library lay at
// the same address, its first launch never returned (CUDA 13.0, __cudaGetKernel, after a library
// was opened for problems that its kernel does not support). Private copies are reused, so there
// are never more than were open at the same time.
#include "kernels/bench/module.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KERNELS_MAX = 4096, NAME_MAX_LENGTH = 200 };

// Copies the file's bytes into a memory file, which dlopen() takes for another file.
static int private_copy(int *out, const char *path, struct error *err)
{
    char chunk[65536];
    int to = -1, from = open(path, O_RDONLY | O_CLOEXEC);
    if (from < 0)
        return error_set(err, "%s: %s", path, strerror(errno));
    to = memfd_create("module", MFD_CLOEXEC);
    ssize_t got = to < 0 ? -1 : 0;
    while (to >= 0 && (got = read(from, chunk, sizeof(chunk))) > 0) {
        for (ssize_t put = 0, n; put < got; put += n) {
            n = write(to, chunk + put, (size_t)(got - put));
            if (n < 0) {
                got = -1;
                break;
            }
        }
        if (got < 0)
            break;
    }
    close(from);
    if (got < 0) {
        error_set(err, "%s: cannot copy it to memory: %s", path, strerror(errno));
        if (to >= 0)
            close(to);
        return -1;
    }
    *out = to;
    return 0;
}

static bool name_valid(const char *name)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789_.-";
    size_t length = name ? strnlen(name, NAME_MAX_LENGTH + 1) : 0;
    return length >= 1 && length <= NAME_MAX_LENGTH && strspn(name, allowed) == length &&
           strchr("_.-", name[0]) == NULL;
}

static struct plumb_form_kernel form_kernel(const struct module *module, uint32_t index)
{
    struct plumb_form_kernel kernel = {0};
    const struct plumb_library *library = module->library;
    // A version 1 library describes a kernel alone, so the bytes behind it in memory are its own.
    const size_t most =
        library->abi_version == PLUMB_ABI_FORMS ? sizeof(kernel) : sizeof(kernel.kernel);
    memcpy(&kernel, (const char *)library->kernels + (size_t)index * library->kernel_size,
           library->kernel_size < most ? library->kernel_size : most);
    return kernel;
}

static int validate(const struct module *module, const char *path, struct error *err)
{
    const struct plumb_library *library = module->library;
    if (!library)
        return error_set(err, "%s: plumb_library() returned NULL", path);
    const bool forms = library->abi_version == PLUMB_ABI_FORMS;
    const size_t least = forms ? sizeof(struct plumb_form_kernel) : sizeof(struct plumb_kernel);
    if (library->abi_version != PLUMB_ABI_VERSION && !forms)
        return error_set(err,
                         "%s: kernel ABI version %u, this bench reads %d and %d; rebuild it "
                         "against its kernel.h",
                         path, library->abi_version, PLUMB_ABI_VERSION, PLUMB_ABI_FORMS);
    if (library->kernel_size < least || library->kernel_size > 65536)
        return error_set(err, "%s: kernels of %u bytes in its table, expected at least %zu", path,
                         library->kernel_size, least);
    if (!library->device || !library->kernels || library->count < 1 || library->count > KERNELS_MAX)
        return error_set(err, "%s: plumb_library() has no device or no kernels", path);
    for (uint32_t i = 0; i < library->count; i++) {
        const struct plumb_form_kernel form = form_kernel(module, i);
        const struct plumb_kernel kernel = form.kernel;
        if (!name_valid(kernel.name))
            return error_set(err,
                             "%s: kernel %u has a name that is not [a-z0-9][a-z0-9_.-]*, at "
                             "most %d characters",
                             path, i, NAME_MAX_LENGTH);
        if (!(kernel.supports && kernel.launch) && !(form.supports && form.launch))
            return error_set(err, "%s: kernel %s has no supports() or no launch()", path,
                             kernel.name);
    }
    return 0;
}

// A private copy: in use, or waiting for the next use of this file.
struct copy {
    struct stat file;
    int memory; // dlopen() knows the copy by this number, which therefore stays taken
    bool used;
};
static struct copy *copies;
static size_t copy_count, copy_room;

static bool same_state(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static int take_copy(size_t *out, const char *path, struct error *err)
{
    struct copy copy = {.used = true};
    if (stat(path, &copy.file))
        return error_set(err, "%s: %s", path, strerror(errno));
    for (size_t i = 0; i < copy_count; i++) {
        if (copies[i].used || !same_state(&copies[i].file, &copy.file))
            continue;
        copies[i].used = true;
        *out = i;
        return 0;
    }
    if (private_copy(&copy.memory, path, err))
        return -1;
    copies = xgrow(copies, copy_count, &copy_room, sizeof(*copies));
    *out = copy_count;
    copies[copy_count++] = copy;
    return 0;
}

int module_load(struct module *out, const char *path, bool copy, struct error *err)
{
    struct module module = MODULE_NONE;
    char name[4096];
    size_t at = 0;
    if (copy && take_copy(&at, path, err))
        return -1;
    // Without a slash dlopen() would search the system's folders.
    if (copy) {
        module.copy = (ptrdiff_t)at;
        snprintf(name, sizeof(name), "/proc/self/fd/%d", copies[at].memory);
    } else if (snprintf(name, sizeof(name), "%s%s", strchr(path, '/') ? "" : "./", path) >=
               (int)sizeof(name))
        return error_set(err, "%.100s...: the path is too long", path);
    module.handle = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!module.handle) {
        error_set(err, "%s: cannot be loaded: %s", path, dlerror());
        goto failed;
    }
    plumb_library_function function;
    *(void **)&function = dlsym(module.handle, "plumb_library");
    if (!function) {
        error_set(err, "%s: no plumb_library(); it is not a kernel library", path);
        goto failed;
    }
    module.library = function();
    if (validate(&module, path, err))
        goto failed;
    *out = module;
    return 0;
failed:
    module_release(&module);
    return -1;
}

void module_release(struct module *module)
{
    if (module->handle)
        dlclose(module->handle);
    if (module->copy >= 0)
        copies[module->copy].used = false;
    *module = MODULE_NONE;
}

bool module_same_file(const char *a, const char *b)
{
    bool same = false;
    void *left = MAP_FAILED, *right = MAP_FAILED;
    struct stat sa, sb;
    int fa = open(a, O_RDONLY | O_CLOEXEC), fb = open(b, O_RDONLY | O_CLOEXEC);
    if (fa >= 0 && fb >= 0 && fstat(fa, &sa) == 0 && fstat(fb, &sb) == 0 &&
        sa.st_size == sb.st_size && sa.st_size > 0) {
        left = mmap(NULL, (size_t)sa.st_size, PROT_READ, MAP_PRIVATE, fa, 0);
        right = mmap(NULL, (size_t)sa.st_size, PROT_READ, MAP_PRIVATE, fb, 0);
        same = left != MAP_FAILED && right != MAP_FAILED &&
               memcmp(left, right, (size_t)sa.st_size) == 0;
        if (left != MAP_FAILED)
            munmap(left, (size_t)sa.st_size);
        if (right != MAP_FAILED)
            munmap(right, (size_t)sa.st_size);
    }
    if (fa >= 0)
        close(fa);
    if (fb >= 0)
        close(fb);
    return same;
}

uint32_t module_count(const struct module *module)
{
    return module->library->count;
}

struct plumb_kernel module_kernel(const struct module *module, uint32_t index)
{
    return form_kernel(module, index).kernel;
}

bool module_find(struct plumb_form_kernel *out, const struct module *module, const char *name)
{
    for (uint32_t i = 0; i < module_count(module); i++) {
        const struct plumb_form_kernel kernel = form_kernel(module, i);
        if (strcmp(kernel.kernel.name, name) == 0) {
            *out = kernel;
            return true;
        }
    }
    return false;
}

static enum dtype type_of(int32_t type)
{
    return type >= 0 && type < DTYPE_COUNT ? (enum dtype)type : DTYPE_FP32;
}

struct traits module_traits(const struct plumb_kernel *kernel)
{
    const struct plumb_traits *t = &kernel->traits;
    struct traits traits = {.in = type_of(t->in_type),
                            .out = type_of(t->out_type),
                            .acc = type_of(t->acc_type),
                            .tile_m = t->tile_m,
                            .tile_n = t->tile_n,
                            .tile_k = t->tile_k,
                            .stages = t->stages,
                            .cluster_m = t->cluster_m,
                            .cluster_n = t->cluster_n,
                            .threads = t->threads,
                            .smem_bytes = t->smem_bytes,
                            .registers = t->registers,
                            .blocks_per_sm = t->blocks_per_sm,
                            .persistent = t->persistent,
                            .raster = t->raster,
                            .raster_group = t->raster_group,
                            .split_k = t->split_k,
                            .overlap = t->overlap,
                            .promote_k = t->promote_k,
                            .multiply = t->multiply};
#define X(name)                                                                                    \
    if (traits.name < SPLIT_SPREAD)                                                                \
        traits.name = 0;
    TRAITS(X)
#undef X
    return traits;
}
