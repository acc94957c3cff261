// SPDX-License-Identifier: Apache-2.0
//
// Finds which release of a shared library a process would get, from the file's own name:
// distributions and NVIDIA install NAME as a link to NAME.MINOR.PATCH. To ask the library itself,
// one has to load it, which takes 80 to 400 ms in every process for cuBLASLt.
#ifndef PLUMB_LIBRARY_VERSION_H
#define PLUMB_LIBRARY_VERSION_H

#include "model/base.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// file: such as "libcublasLt.so.13". directories: separated by colons as in LD_LIBRARY_PATH; the
// first one that has the file counts; NULL and empty parts are ignored. out: such as "13.0.0.19".
// False, with `out` empty, if no directory has the file, or if the name that it links to says no
// more than `file` does.
static inline bool library_version(char *out, size_t size, const char *file,
                                   const char *directories)
{
    const char *const soname = strstr(file, ".so.");
    out[0] = '\0';
    for (const char *at = directories; soname && at && *at;) {
        const size_t length = strcspn(at, ":");
        char path[PATH_MAX], real[PATH_MAX];
        const int need = snprintf(path, sizeof(path), "%.*s/%s", (int)length, at, file);
        if (length > 0 && need > 0 && (size_t)need < sizeof(path) && realpath(path, real)) {
            const char *name = strrchr(real, '/') + 1;
            const size_t stem = (size_t)(soname - file) + strlen(".so.");
            const bool longer = strlen(name) > strlen(file) && strncmp(name, file, stem) == 0;
            return longer && strspn(name + stem, "0123456789.") == strlen(name + stem) &&
                   text_copy(out, size, name + stem);
        }
        at += length + (at[length] == ':');
    }
    return false;
}

#endif
