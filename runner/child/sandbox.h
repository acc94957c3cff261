// SPDX-License-Identifier: Apache-2.0
//
// Bubblewrap around a command: no network, no home, a read-only system, its own /tmp, /proc and
// process numbers, a cleared environment, and of the devices only the GPU's when asked for.
// Whether it works here (containers may forbid user namespaces) is found by trying, and said.
#ifndef PLUMB_SANDBOX_H
#define PLUMB_SANDBOX_H

#include "model/base.h"

// What is said where it does not work, with the page that knows containers and distributions.
#define SANDBOX_WAY                                                                                \
    "install bubblewrap and allow user namespaces (.github/RUNNERS.md, \"The user, and the "       \
    "sandbox\", says how)"

// ---- control groups
//
// Control groups of our own, where systemd makes no scope: below the group that this process is in,
// or beside it, as far as somebody has left them to us (a service with Delegate=, a privileged
// container, root). They hold memory and tasks of a command and of all that it starts, root's too.
// Version 2 of control groups, and 1.

enum { GROUP_MEMORY, GROUP_TASKS, GROUP_CPU, GROUP_LIMITS };
enum { GROUP_PATH = 512 };

// Where groups are made. Version 1 has a tree for each limit.
struct group {
    struct group_tree {
        char path[GROUP_PATH]; // folder of a group; "": none for this limit
        bool unified;          // version 2
    } trees[GROUP_LIMITS];
};

// Finds groups in the texts of /proc/self/cgroup and /proc/self/mountinfo. -1: no group can be made
// that limits memory and tasks; the error says why. Only a try shows whether one really can.
int group_find(struct group *out, const char *own, const char *mounts, struct error *err);

// Most of each limit; 0: none. CPU: weight, where others have 100.
struct group_limits {
    uint64_t most[GROUP_LIMITS];
};
// argv behind a shell that makes such a group, goes into it and becomes the command; in the arena.
// Exit 125: it could not. Empty groups are removed when the next one is made.
const char *const *group_argv(const struct group *group, const struct group_limits *limits,
                              const char *const *argv, struct arena *arena);

// ---- bubblewrap

// SANDBOX_UNSAID: nobody says which; ci/settings/context.h decides. It has no name.
enum sandbox_mode { SANDBOX_AUTO, SANDBOX_REQUIRE, SANDBOX_OFF, SANDBOX_UNSAID };
int sandbox_mode_parse(enum sandbox_mode *out, const char *name);

struct sandbox {
    bool active;
    char program[256]; // of bubblewrap
    char reason[512];  // when not active: why, one line, for the run's report
    // A control group limits memory and tasks of all processes of a command together, root's too.
    // `scope` says which systemd makes the group, "--user" or "--system". Where it is NULL and
    // `grouped` is true, we make the group ourselves below `group`. Without either, the keeper
    // alone watches what a child uses.
    const char *scope;
    struct group group;
    bool grouped;
    char no_group[512]; // neither: why, one line
    // Where version 2 of control groups hangs and which of its groups is shown there, when a
    // command can have a group in which it freezes what it starts.
    bool freezes;
    char groups[GROUP_PATH], groups_root[GROUP_PATH];
    char no_freezer[256]; // it cannot: why, one line
};

// Tries bubblewrap once. SANDBOX_AUTO, SANDBOX_UNSAID: not active when it does not work.
// SANDBOX_REQUIRE: -1 then, with what to do.
int sandbox_probe(struct sandbox *out, enum sandbox_mode mode, struct error *err);
// True when every sandbox shows the file or folder of this absolute path, as one of the system's.
bool sandbox_shows(const char *path);

// One directory or file shown inside.
struct sandbox_bind {
    const char *from; // absolute
    const char *to;   // absolute path inside
    bool writable;
};
struct sandbox_view {
    const struct sandbox_bind *binds; // later ones go on top of earlier ones
    size_t bind_count;
    const char *const *env; // NULL-terminated NAME=value: the whole environment inside
    const char *directory;  // inside; NULL: /tmp
    const char *root;       // a folder with a system to show in place of this machine's; NULL: none
    bool gpu;               // /dev/nvidia*, and the driver's files under /proc
    uint64_t memory_bytes;  // of a control group; 0: none
    uint32_t tasks;         // likewise
    bool background;        // less processor time than others, in a control group
    // Shows it a control group of its own, where there can be one, in the folder PLUMB_FREEZER of
    // its environment: below that it can freeze groups of processes that it starts.
    bool freezes;
};

// argv with bubblewrap before it, NULL-terminated, in the arena. Give the process itself
// sandbox_environment(): bubblewrap sets view->env inside. Not active: argv as it was (binds have
// no effect: the caller must use the `from` paths, and pass env itself).
const char *const *sandbox_argv(const struct sandbox *sandbox, const struct sandbox_view *view,
                                const char *const *argv, struct arena *arena);
// The environment for starting bubblewrap: empty, but for where the user's systemd is.
const char *const *sandbox_environment(const struct sandbox *sandbox, struct arena *arena);

#endif
