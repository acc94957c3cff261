// SPDX-License-Identifier: Apache-2.0
//
// Names are bound one a core, by the number of its first processor, so that programs that may use
// different parts of the machine agree about them.
#include "runner/child/processors.h"

#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

// ---- which processors are one core, from /sys/devices/system/cpu and /sys/bus/pci

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

// ---- who has which

const struct processors_site processors_here = {0};

static const char usual_scope[] = "plumb-core";

static const char *scope_of(const struct processors_site *site)
{
    return site->scope ? site->scope : usual_scope;
}

// False: the kernel does not say, as where there are more than a set holds.
static bool ours(cpu_set_t *out, const struct processors_site *site)
{
    if (site->ours)
        *out = *site->ours;
    return site->ours || sched_getaffinity(0, sizeof(*out), out) == 0;
}

static bool read_cores(struct topology *out, const struct processors_site *site,
                       struct arena *arena)
{
    cpu_set_t all;
    if (!ours(&all, site))
        return false;
    topology_read(out, site->root ? site->root : "", &all, arena);
    return true;
}

// The socket, or -1 and errno.
static int bind_name(const char *scope, int number)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    const int length =
        snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "%s-%d", scope, number);
    const int held = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (held >= 0 &&
        bind(held, (const struct sockaddr *)&name,
             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length)) != 0) {
        const int why = errno;
        close(held);
        errno = why;
        return -1;
    }
    return held;
}

// How many of the cores somebody has; *taken: each of them.
static size_t find_taken(bool *taken, const struct topology *cores, const char *scope)
{
    char line[256], wanted[64];
    size_t count = 0;
    FILE *names = fopen("/proc/net/unix", "re");
    const int length = snprintf(wanted, sizeof(wanted), "@%.40s-", scope);
    while (names && fgets(line, sizeof(line), names)) {
        const char *at = strrchr(line, ' ');
        if (!at || strncmp(at + 1, wanted, (size_t)length) != 0)
            continue;
        const int number = atoi(at + 1 + length);
        for (size_t i = 0; i < cores->count; i++) {
            if (cores->items[i].number != number || taken[i])
                continue;
            taken[i] = true;
            count++;
        }
    }
    if (names)
        fclose(names);
    return count;
}

static bool is_near(const struct core *core, const cpu_set_t *near)
{
    cpu_set_t both;
    CPU_AND(&both, &core->set, near);
    return CPU_COUNT(&both) > 0;
}

// The last that is free, of the near ones or of the others. 1: taken, 0: there is none.
static int take_one(struct processors *out, bool *taken, const struct topology *cores,
                    const cpu_set_t *near, bool nearby, const char *scope)
{
    for (size_t i = cores->count; i-- > 0;) {
        const struct core *core = &cores->items[i];
        if (taken[i] || is_near(core, near) != nearby)
            continue;
        const int held = bind_name(scope, core->number);
        if (held >= 0) {
            *out = (struct processors){core->set, held + 1};
            return 1;
        }
        if (errno != EADDRINUSE)
            return -1;
        taken[i] = true;
    }
    return 0;
}

bool processors_take(struct processors *out, const struct processors_site *site, const char *bus,
                     struct error *why)
{
    struct arena arena = {0};
    struct topology cores;
    cpu_set_t near;
    int found = 0;
    *out = (struct processors){0};
    if (!read_cores(&cores, site, &arena)) {
        error_set(why, "which processors are ours is not known: %s", strerror(errno));
        return false;
    }
    bool *taken = arena_alloc(&arena, (cores.count + 1) * sizeof(*taken));
    const size_t others = find_taken(taken, &cores, scope_of(site));
    if (!bus || !topology_near(&near, site->root ? site->root : "", bus))
        CPU_ZERO(&near);
    if (others + 2 <= cores.count)
        found = take_one(out, taken, &cores, &near, true, scope_of(site));
    if (found == 0 && others + 2 <= cores.count)
        found = take_one(out, taken, &cores, &near, false, scope_of(site));
    if (found < 0)
        error_set(why, "who has which core cannot be told: %s", strerror(errno));
    else if (found == 0)
        error_set(why, "of %zu %s others measure on %zu, and one is for all else", cores.count,
                  plural(cores.count, "core", "cores"), others);
    arena_free(&arena);
    return found > 0;
}

void processors_give_back(struct processors *processors)
{
    if (processors->held)
        close(processors->held - 1);
    *processors = (struct processors){0};
}

void processors_text(char out[PROCESSORS_TEXT], const struct processors *processors)
{
    size_t used = 0;
    text_copy(out, PROCESSORS_TEXT, "none");
    for (int cpu = 0; cpu < CPU_SETSIZE && used < PROCESSORS_TEXT - 8; cpu++) {
        if (CPU_ISSET(cpu, &processors->set))
            used +=
                (size_t)snprintf(out + used, PROCESSORS_TEXT - used, "%s%d", used ? "," : "", cpu);
    }
}

size_t processors_cores(size_t *taken, const struct processors_site *site)
{
    struct arena arena = {0};
    struct topology cores = {0};
    *taken = 0;
    if (read_cores(&cores, site, &arena))
        *taken = find_taken(arena_alloc(&arena, (cores.count + 1) * sizeof(bool)), &cores,
                            scope_of(site));
    arena_free(&arena);
    return cores.count;
}

bool processors_aside(cpu_set_t *out, const struct processors_site *site)
{
    struct arena arena = {0};
    struct topology cores;
    size_t taken_count = 0;
    CPU_ZERO(out);
    if (!read_cores(&cores, site, &arena))
        return false;
    bool *taken = arena_alloc(&arena, (cores.count + 1) * sizeof(*taken));
    taken_count = find_taken(taken, &cores, scope_of(site));
    const bool some = taken_count > 0 && taken_count < cores.count;
    for (size_t i = 0; i < cores.count; i++) {
        if (!some || !taken[i])
            CPU_OR(out, out, &cores.items[i].set);
    }
    arena_free(&arena);
    return some;
}
