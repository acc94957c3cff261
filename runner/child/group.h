// SPDX-License-Identifier: Apache-2.0
//
// Control groups of our own, where systemd makes no scope: below the group that this process is in,
// or beside it, as far as somebody has left them to us (a service with Delegate=, a privileged
// container, root). They hold memory and tasks of a command and of all that it starts, root's too.
// Version 2 of control groups, and 1.
#ifndef PLUMB_GROUP_H
#define PLUMB_GROUP_H

#include "model/base.h"

enum { GROUP_MEMORY, GROUP_TASKS, GROUP_CPU, GROUP_LIMITS };
enum { GROUP_PATH = 512 };

// Where groups are made. Version 1 has a tree for each limit.
struct group {
    struct group_tree {
        char path[GROUP_PATH]; // folder of a group; "": none for this limit
        bool unified;          // version 2
    } trees[GROUP_LIMITS];
};

// -1: none can be made that holds memory and tasks; the error says why. Whether one really can is
// seen by trying.
int group_here(struct group *out, struct error *err);
// The same from what /proc/self/cgroup and /proc/self/mountinfo would say.
int group_find(struct group *out, const char *own, const char *mounts, struct error *err);

// Most of each limit; 0: none. CPU: weight, where others have 100.
struct group_limits {
    uint64_t most[GROUP_LIMITS];
};
// argv behind a shell that makes such a group, goes into it and becomes the command; in the arena.
// Exit 125: it could not. Groups that are empty go when the next one is made.
const char *const *group_argv(const struct group *group, const struct group_limits *limits,
                              const char *const *argv, struct arena *arena);

#endif
