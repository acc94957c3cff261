// SPDX-License-Identifier: Apache-2.0
//
// A folder is hidden by binding another one over it, which needs no file system of its own; what
// filters a library's system calls (worker_filter.h) keeps it from taking that away.
#include "kernels/bench/veil.h"

#include "model/base.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>

static bool lies_in(const char *path, const char *folder)
{
    const size_t length = strlen(folder);
    return strncmp(path, folder, length) == 0 && path[length] == '/';
}

void veil_make(struct veil *out, const char *library)
{
    const char *builds = getenv(VEIL_BUILDS), *slash = strrchr(library, '/');
    size_t most = 1;
    char *rest, *folder;
    *out = (struct veil){.text = xstrdup(builds ? builds : "")};
    for (const char *c = out->text; *c; c++)
        most += *c == '\n';
    out->own = xprintf("%.*s", slash ? (int)(slash - library) : 0, library);
    out->hidden = xcalloc(most, sizeof(*out->hidden));
    for (rest = out->text; (folder = strsep(&rest, "\n"));) {
        if (*folder && *out->own && !lies_in(library, folder))
            out->hidden[out->count++] = folder;
    }
}

void veil_free(struct veil *veil)
{
    free(veil->hidden);
    free(veil->own);
    free(veil->text);
}

bool veil_draw(const struct veil *veil)
{
    if (veil->count && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
        return false;
    for (size_t i = 0; i < veil->count; i++) {
        if (mount(veil->own, veil->hidden[i], NULL, MS_BIND, NULL))
            return false;
    }
    return true;
}
