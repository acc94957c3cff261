// SPDX-License-Identifier: Apache-2.0
//
// Asks /proc/meminfo, and each control group from our own up to the root that a container shows.
#include "runner/build/spare_memory.h"

#include "model/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 4096 };

// The number behind `key` in a file of lines "key number"; of the first line where key is "".
static bool read_number(uint64_t *out, const char *root, const char *folder, const char *file,
                        const char *key)
{
    char line[LINE], *path = xprintf("%s%s/%s", root, folder, file);
    FILE *stream = fopen(path, "re");
    bool found = false;
    while (stream && !found && fgets(line, sizeof(line), stream)) {
        int64_t value;
        if (strncmp(line, key, strlen(key)) != 0)
            continue;
        char *text = line + strlen(key) + strspn(line + strlen(key), " ");
        text[strcspn(text, " \n")] = '\0';
        found = parse_int64(&value, text) == 0 && value >= 0;
        if (!found)
            break; // "max"
        *out = (uint64_t)value;
    }
    if (stream)
        fclose(stream);
    free(path);
    return found;
}

// What one group leaves. What lies in its memory of files makes room when it is wanted.
static uint64_t left_by(const char *root, const char *group)
{
    static const char *const yields[] = {"inactive_file ", "active_file ", "slab_reclaimable "};
    uint64_t most, taken, part;
    if (!read_number(&most, root, group, "memory.max", "") ||
        !read_number(&taken, root, group, "memory.current", ""))
        return UINT64_MAX;
    for (size_t i = 0; i < ARRAY_COUNT(yields); i++) {
        if (read_number(&part, root, group, "memory.stat", yields[i]))
            taken -= part < taken ? part : taken;
    }
    return taken < most ? most - taken : 0;
}

static uint64_t left_by_groups(const char *root)
{
    char line[LINE] = "", *path = xprintf("%s/proc/self/cgroup", root);
    FILE *file = fopen(path, "re");
    bool unified = false;
    while (file && !unified && fgets(line, sizeof(line), file))
        unified = strncmp(line, "0::/", 4) == 0;
    if (file)
        fclose(file);
    free(path);
    line[strcspn(line, "\n")] = '\0';
    char *own = unified ? line + 3 : NULL;
    uint64_t least = UINT64_MAX;
    while (own) {
        char *group = xprintf("/sys/fs/cgroup%s", own), *end = strrchr(own, '/');
        const uint64_t left = left_by(root, group);
        least = left < least ? left : least;
        free(group);
        if (end)
            *end = '\0'; // the one above
        else
            own = NULL;
    }
    return least;
}

uint64_t spare_memory_bytes(const char *root)
{
    uint64_t available_kib = 0;
    const uint64_t groups = left_by_groups(root);
    const uint64_t machine = read_number(&available_kib, root, "/proc", "meminfo", "MemAvailable:")
                                 ? available_kib * 1024
                                 : UINT64_MAX;
    const uint64_t least = groups < machine ? groups : machine;
    return least == UINT64_MAX ? least : least / 2;
}
