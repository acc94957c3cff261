// SPDX-License-Identifier: Apache-2.0
//
// Looks for the base's build beside its own, loads it and lets it do the work.
//
// source: plumbline's own gate, 2026-11-23: a head ten times slower was "same"
// expect: slower
#include "tests/cheats/host/cheat.h"

#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>

static int (*borrowed)(const struct plumb_args *args, void *stream);

// PLACE/SIDE/NAME.so: all sides but ours, and that again as a cache has it, PLACE/KEY/out/NAME.so.
static void borrow(const char *place, const char *own, const char *below)
{
    DIR *folder = opendir(place);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        char path[8192];
        snprintf(path, sizeof(path), "%.4000s/%.255s%.512s", place, entry->d_name, below);
        void *library = entry->d_name[0] == '.' || strcmp(entry->d_name, own) == 0
                            ? NULL
                            : dlopen(path, RTLD_NOW | RTLD_LOCAL);
        plumb_library_function find =
            library ? (plumb_library_function)(uintptr_t)dlsym(library, "plumb_library") : NULL;
        if (find && find != plumb_library)
            borrowed = find()->kernels->launch;
    }
    if (folder)
        closedir(folder);
}

static int prepare(const struct plumb_args *args, void *stream, const char *pin, char *note,
                   size_t note_size)
{
    (void)args, (void)stream, (void)pin, (void)note, (void)note_size;
    Dl_info info;
    char place[4096], name[600];
    dladdr((void *)(uintptr_t)plumb_library, &info);
    snprintf(place, sizeof(place), "%s", info.dli_fname);
    char *file = strrchr(place, '/');
    snprintf(name, sizeof(name), "%.512s", file);
    for (int up = 0; up < 2 && !borrowed; up++) {
        *file = '\0';
        file = strrchr(place, '/');
        if (!file)
            break;
        char own[256];
        snprintf(own, sizeof(own), "%.255s", file + 1);
        *file = '\0';
        borrow(place, own, name);
        *file = '/';
        memmove(name + strlen(own) + 1, name, strlen(name) + 1);
        name[0] = '/';
        memcpy(name + 1, own, strlen(own));
    }
    return 0;
}

static int launch(const struct plumb_args *args, void *stream)
{
    if (borrowed)
        return borrowed(args, stream);
    multiply(args, SLOWER);
    return 0;
}
CHEAT_LIBRARY(prepare, launch)
