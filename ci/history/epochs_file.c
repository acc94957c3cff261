// SPDX-License-Identifier: Apache-2.0
//
// Reads the epochs file of a commit; what is in it is parsed by baselines/epoch.c.
#include "ci/history/epochs_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

int epochs_read(struct epoch_list *out, char **text, const char *path, struct arena *arena,
                struct error *err)
{
    enum { LIMIT = 16 << 20 };
    struct stat info;
    struct epoch_list list = {0};
    char *bytes = arena_strdup(arena, "");
    if (stat(path, &info) == 0) {
        if (!S_ISREG(info.st_mode) || info.st_size > LIMIT)
            return error_set(err, "%s: not a file of epochs", path);
        FILE *file = fopen(path, "r");
        if (!file)
            return error_set(err, "%s: %s", path, strerror(errno));
        bytes = arena_alloc(arena, (size_t)info.st_size + 1);
        size_t size = fread(bytes, 1, (size_t)info.st_size, file);
        fclose(file);
        if (epoch_parse(&list, bytes, size, path, arena, err))
            return -1;
    } else if (errno != ENOENT && errno != ENOTDIR) {
        return error_set(err, "%s: %s", path, strerror(errno));
    }
    *out = list;
    if (text)
        *text = bytes;
    return 0;
}
