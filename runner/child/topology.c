// SPDX-License-Identifier: Apache-2.0
//
// From /sys/devices/system/cpu and /sys/bus/pci.
#include "runner/child/topology.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIST_TEXT = 4096 };

int topology_parse(cpu_set_t *out, const char *text)
{
    CPU_ZERO(out);
    for (const char *at = text; *at && *at != '\n';) {
        char *end;
        if (!isdigit((unsigned char)*at))
            return -1;
        const unsigned long first = strtoul(at, &end, 10);
        unsigned long last = first;
        if (*end == '-' && isdigit((unsigned char)end[1]))
            last = strtoul(end + 1, &end, 10);
        const bool more = *end == ',' && isdigit((unsigned char)end[1]);
        if (last < first || last >= CPU_SETSIZE || (*end && !more && *end != '\n'))
            return -1;
        for (unsigned long i = first; i <= last; i++)
            CPU_SET(i, out);
        at = more ? end + 1 : end;
    }
    return 0;
}

static bool read_list(cpu_set_t *out, const char *path)
{
    char text[LIST_TEXT];
    FILE *file = fopen(path, "re");
    const bool found = file && fgets(text, sizeof(text), file) && topology_parse(out, text) == 0;
    if (file)
        fclose(file);
    if (!found)
        CPU_ZERO(out);
    return found && CPU_COUNT(out) > 0;
}

void topology_read(struct topology *out, const char *root, const cpu_set_t *ours,
                   struct arena *arena)
{
    cpu_set_t left = *ours;
    *out = (struct topology){
        .items = arena_alloc(arena, ((size_t)CPU_COUNT(ours) + 1) * sizeof(*out->items))};
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        cpu_set_t all, own, both;
        char path[256];
        int first = 0;
        if (!CPU_ISSET(cpu, &left))
            continue;
        CPU_ZERO(&own);
        CPU_SET(cpu, &own);
        snprintf(path, sizeof(path),
                 "%.120s/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", root, cpu);
        if (!read_list(&all, path) || !CPU_ISSET(cpu, &all))
            all = own;
        while (!CPU_ISSET(first, &all))
            first++;
        CPU_AND(&both, &all, &left);
        out->items[out->count++] = (struct core){first, both};
        CPU_XOR(&left, &left, &both);
    }
}

bool topology_near(cpu_set_t *out, const char *root, const char *bus)
{
    char path[256], name[32];
    size_t length = 0;
    CPU_ZERO(out);
    for (; bus[length] && length < sizeof(name) - 1; length++) {
        name[length] = (char)tolower((unsigned char)bus[length]);
        if (!strchr("0123456789abcdef:.", name[length]))
            return false;
    }
    name[length] = '\0';
    if (bus[length] || !isxdigit((unsigned char)name[0]))
        return false;
    snprintf(path, sizeof(path), "%.120s/sys/bus/pci/devices/%s/local_cpulist", root, name);
    return read_list(out, path);
}
