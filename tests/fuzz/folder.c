// SPDX-License-Identifier: Apache-2.0
//
// Made by mkdtemp(), emptied at exit: a store leaves its log and its locks beside itself.
#include "tests/fuzz/folder.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { PATH = 400, NAMES = 4 };

static char folder[64];

static void discard(void)
{
    char path[PATH];
    DIR *open = opendir(folder);
    for (struct dirent *entry; open && (entry = readdir(open));) {
        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        unlink(path); // not the folder itself and its parent
    }
    if (open)
        closedir(open);
    rmdir(folder);
}

const char *fuzz_path(const char *name)
{
    static char paths[NAMES][PATH];
    static unsigned used;
    if (!folder[0]) {
        snprintf(folder, sizeof(folder), "%s/plumb-fuzz-XXXXXX",
                 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
        if (!mkdtemp(folder) || atexit(discard))
            abort();
    }
    char *path = paths[used++ % NAMES];
    snprintf(path, PATH, "%s/%s", folder, name);
    return path;
}
