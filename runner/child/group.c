// SPDX-License-Identifier: Apache-2.0
//
// Finds the folders, and writes the shell's words. A group of version 2 that has processes can have
// no children with limits, so beside our own group means: below its parent.
#include "runner/child/group.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct limit {
    const char *controller;
    const char *files[2]; // of version 1 and 2
    uint64_t per_100[2];  // of what 100 stands for; 0: the number as it is
};
static const struct limit limits_known[GROUP_LIMITS] = {
    [GROUP_MEMORY] = {"memory", {"memory.limit_in_bytes", "memory.max"}, {0, 0}},
    [GROUP_TASKS] = {"pids", {"pids.max", "pids.max"}, {0, 0}},
    [GROUP_CPU] = {"cpu", {"cpu.shares", "cpu.weight"}, {1024, 100}},
};

// Another process that makes a group may remove ours between two of these commands, while it is
// empty: they are tried again.
static const char shell[] =
    "while [ \"$1\" != -- ]; do\n"
    "    rmdir \"$1\"/plumb-* 2>/dev/null\n"
    "    group=$1/plumb-$$ tries=0\n"
    "    until { mkdir -p \"$group\" && echo \"$3\" >\"$group/$2\" &&\n"
    "            echo $$ >\"$group/cgroup.procs\"; } 2>/dev/null; do\n"
    "        tries=$((tries + 1))\n"
    "        [ $tries -lt 50 ] ||\n"
    "            { echo \"no control group can be made in $1\" >&2; exit 125; }\n"
    "    done\n"
    "    shift 3\n"
    "done\n"
    "shift\n"
    "exec \"$@\"\n";

static bool has_word(const char *list, const char *word, const char *between)
{
    const size_t length = strlen(word);
    for (const char *at = list; *at; at += strspn(at, between)) {
        const size_t size = strcspn(at, between);
        if (size == length && strncmp(at, word, length) == 0)
            return true;
        at += size;
    }
    return false;
}

static const char *next_line(const char *at)
{
    const char *end = strchr(at, '\n');
    return end ? end + 1 : at + strlen(at);
}

// Our group's path in the tree of a controller; NULL for version 2's. False: there is none.
static bool find_own(char out[GROUP_PATH], const char *own, const char *controller)
{
    for (const char *at = own; *at; at = next_line(at)) {
        char names[128] = "", path[GROUP_PATH];
        const bool unified = sscanf(at, "0::%511[^\n]", path) == 1;
        if (!unified && sscanf(at, "%*d:%127[^:\n]:%511[^\n]", names, path) != 2)
            continue;
        if (unified ? !controller : controller && has_word(names, controller, ","))
            return text_copy(out, GROUP_PATH, path);
    }
    return false;
}

// Where a tree hangs, and which of its groups is shown there. False: nowhere.
static bool find_mount(char root[GROUP_PATH], char place[GROUP_PATH], const char *mounts,
                       const char *controller)
{
    for (const char *at = mounts; *at; at = next_line(at)) {
        char kind[32], options[256];
        const char *behind = strstr(at, " - ");
        if (!behind || behind > next_line(at) ||
            sscanf(behind, " - %31s %*s %255s", kind, options) != 2 ||
            sscanf(at, "%*s %*s %*s %511s %511s", root, place) != 2)
            continue;
        if (controller ? strcmp(kind, "cgroup") == 0 && has_word(options, controller, ",")
                       : strcmp(kind, "cgroup2") == 0)
            return true;
    }
    return false;
}

// The folder of our own group. False: it is not shown here.
static bool find_folder(char out[GROUP_PATH], size_t *mount, const char *own, const char *mounts,
                        const char *controller)
{
    char path[GROUP_PATH], root[GROUP_PATH], place[GROUP_PATH];
    if (!find_own(path, own, controller) || !find_mount(root, place, mounts, controller))
        return false;
    const size_t shown = strcmp(root, "/") == 0 ? 0 : strlen(root);
    if (strncmp(path, root, shown) != 0)
        return false;
    const char *rest = path + shown;
    *mount = strlen(place);
    return snprintf(out, GROUP_PATH, "%s%s", place, strcmp(rest, "/") == 0 ? "" : rest) <
           GROUP_PATH;
}

// Does this group of version 2 give its children the limit? One without processes can be asked to.
static bool gives(const char *group, const char *controller, bool ask)
{
    char path[GROUP_PATH + 32], text[256] = "";
    snprintf(path, sizeof(path), "%s/cgroup.subtree_control", group);
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t size = read(fd, text, sizeof(text) - 1);
    text[size > 0 ? size : 0] = '\0';
    bool found = has_word(text, controller, " \n");
    if (!found && ask) {
        size = snprintf(text, sizeof(text), "+%s", controller);
        found = write(fd, text, (size_t)size) == size;
    }
    close(fd);
    return found && access(group, W_OK) == 0;
}

static bool find_unified(char out[GROUP_PATH], const char *own, const char *mounts,
                         const char *controller)
{
    size_t mount;
    if (!find_folder(out, &mount, own, mounts, NULL))
        return false;
    if (gives(out, controller, false))
        return true;
    char *slash = strrchr(out, '/');
    if (!slash || (size_t)(slash - out) <= mount) // its parent is the root, which is nobody's
        return false;
    *slash = '\0';
    return gives(out, controller, true);
}

int group_find(struct group *out, const char *own, const char *mounts, struct error *err)
{
    struct group found = {0};
    for (int i = 0; i < GROUP_LIMITS; i++) {
        struct group_tree *tree = &found.trees[i];
        const char *controller = limits_known[i].controller;
        size_t mount;
        tree->unified = find_unified(tree->path, own, mounts, controller);
        if (!tree->unified && (!find_folder(tree->path, &mount, own, mounts, controller) ||
                               access(tree->path, W_OK) != 0))
            tree->path[0] = '\0';
    }
    if (!found.trees[GROUP_MEMORY].path[0] || !found.trees[GROUP_TASKS].path[0])
        return error_set(err, "no control group here is ours to divide (Delegate= of a service "
                              "gives one)");
    *out = found;
    return 0;
}

// Files of /proc have no size.
static bool read_whole(char *out, size_t size, const char *path)
{
    FILE *file = fopen(path, "re");
    const size_t used = file ? fread(out, 1, size - 1, file) : 0;
    if (file)
        fclose(file);
    out[used] = '\0';
    return used > 0 && used < size - 1;
}

int group_here(struct group *out, struct error *err)
{
    enum { SIZE = 1 << 18 };
    char *own = xcalloc(SIZE, 1), *mounts = xcalloc(SIZE, 1);
    const bool known = read_whole(own, SIZE, "/proc/self/cgroup") &&
                       read_whole(mounts, SIZE, "/proc/self/mountinfo");
    const int status = known ? group_find(out, own, mounts, err)
                             : error_set(err, "/proc does not say which control group this is");
    free(own);
    free(mounts);
    return status;
}

const char *const *group_argv(const struct group *group, const struct group_limits *limits,
                              const char *const *argv, struct arena *arena)
{
    size_t count = 0, used = 0;
    while (argv[count])
        count++;
    const char **words = arena_alloc(arena, (count + 6 + 3 * GROUP_LIMITS) * sizeof(*words));
    words[used++] = "sh";
    words[used++] = "-c";
    words[used++] = shell;
    words[used++] = "plumb";
    for (int i = 0; i < GROUP_LIMITS; i++) {
        const struct group_tree *tree = &group->trees[i];
        const struct limit *limit = &limits_known[i];
        const uint64_t per_100 = limit->per_100[tree->unified];
        if (!tree->path[0] || !limits->most[i])
            continue;
        words[used++] = arena_strdup(arena, tree->path);
        words[used++] = limit->files[tree->unified];
        words[used++] = arena_printf(
            arena, "%llu",
            (unsigned long long)(per_100 ? limits->most[i] * per_100 / 100 : limits->most[i]));
    }
    words[used++] = "--";
    for (size_t i = 0; i <= count; i++)
        words[used++] = argv[i];
    return words;
}
