// SPDX-License-Identifier: Apache-2.0
//
// Runs a command in Bubblewrap: no network, no home, a read-only system, its own /tmp, /proc and
// process numbers, a cleared environment, and of the devices only the GPU's if they are asked for.
// Containers may forbid user namespaces, so Bubblewrap is tried first, and a failure is reported.
#ifndef PLUMB_SANDBOX_H
#define PLUMB_SANDBOX_H

#include "model/base.h"

// The text for a machine where it does not work; it names the page about containers and
// distributions.
#define SANDBOX_WAY                                                                                \
    "install bubblewrap and allow user namespaces (.github/RUNNERS.md, \"The user, and the "       \
    "sandbox\", says how)"

// ---- control groups
//
// Control groups that plumb makes itself where systemd makes no scope. They are made below the
// group of this process, or beside it, if it may write there (a service with Delegate=, a
// privileged container, root). They limit memory and tasks of a command and of everything that it
// starts, even as root. Works with version 2 and version 1 of control groups.

enum { GROUP_MEMORY, GROUP_TASKS, GROUP_CPU, GROUP_LIMITS };
enum { GROUP_PATH = 512 };

// Where groups are made. Version 1 has a separate tree for each limit.
struct group {
    struct group_tree {
        char path[GROUP_PATH]; // folder of a group; "": this limit has none
        bool unified;          // version 2
    } trees[GROUP_LIMITS];
};

// Finds groups from the texts of /proc/self/cgroup and /proc/self/mountinfo. -1: no group that
// limits memory and tasks can be made, and the error says why. Only an attempt shows whether it
// really works.
int group_find(struct group *out, const char *own, const char *mounts, struct error *err);

// The limits of a group; 0: no limit. That of the CPU is a weight; other groups have 100.
struct group_limits {
    uint64_t most[GROUP_LIMITS];
};
// Puts a shell before argv that makes such a group, enters it and becomes the command; the result
// is in the arena. Exit code 125: that failed. Empty groups are removed when the next one is made.
const char *const *group_argv(const struct group *group, const struct group_limits *limits,
                              const char *const *argv, struct arena *arena);

// ---- bubblewrap

// SANDBOX_UNSAID: neither option nor policy gives a mode, and ci/settings/context.h decides. It has
// no name.
enum sandbox_mode { SANDBOX_AUTO, SANDBOX_REQUIRE, SANDBOX_OFF, SANDBOX_UNSAID };
int sandbox_mode_parse(enum sandbox_mode *out, const char *name);

struct sandbox {
    bool active;
    bool required;     // what runs in it must not reach anything beside its own files
    char program[256]; // path of bubblewrap
    char reason[512];  // if it is not active: why, in one line, for the run's report
    // A control group limits memory and tasks of all processes of a command together, even root's.
    // `scope` says which systemd makes the group, "--user" or "--system". If it is NULL and
    // `grouped` is true, plumb makes the group below `group`. Without either, only the keeper
    // watches what a child uses.
    const char *scope;
    struct group group;
    bool grouped;
    char no_group[512]; // if there is no group: why, in one line
    // Where version 2 of control groups is mounted, and which of its groups is shown there; for a
    // command that may have a group in which it freezes processes that it started.
    bool freezes;
    char groups[GROUP_PATH], groups_root[GROUP_PATH];
    char no_freezer[256]; // if it may not: why, in one line
};

// Tries bubblewrap once. If it does not work, the sandbox is not active with SANDBOX_AUTO and
// SANDBOX_UNSAID; with SANDBOX_REQUIRE this fails, and the error says what to do.
int sandbox_probe(struct sandbox *out, enum sandbox_mode mode, struct error *err);
// Whether every sandbox shows the file or folder at this absolute path as a part of the system.
bool sandbox_shows(const char *path);

// A directory or file that is shown inside.
struct sandbox_bind {
    const char *from; // absolute
    const char *to;   // absolute path inside
    bool writable;
};
struct sandbox_view {
    const struct sandbox_bind *binds; // a later one covers an earlier one
    size_t bind_count;
    const char *const *env; // NULL-terminated NAME=value: the whole environment inside
    const char *directory;  // inside; NULL: /tmp
    const char *root;       // a folder with a system that is shown in place of this machine's;
                            // NULL: none
    bool gpu;               // /dev/nvidia*, and the driver's files under /proc
    uint64_t memory_bytes;  // limit of a control group; 0: none
    uint32_t tasks;         // limit of a control group; 0: none
    bool background;        // it gets less processor time than others, by a control group
    // If possible the command gets a control group of its own, as the folder PLUMB_FREEZER of its
    // environment. Below it the command can freeze groups of processes that it starts.
    bool freezes;
    bool proc_read_only; // files of /proc are not written to: by them processes reach each other
};

// Puts bubblewrap before argv; the result is NULL-terminated and in the arena. The process itself
// must get sandbox_environment(), because bubblewrap sets view->env inside. If the sandbox is not
// active, argv is returned as it was: binds have no effect, and the caller must use the `from`
// paths and pass env itself.
const char *const *sandbox_argv(const struct sandbox *sandbox, const struct sandbox_view *view,
                                const char *const *argv, struct arena *arena);
// The environment for starting bubblewrap: empty except for the address of the user's systemd.
const char *const *sandbox_environment(const struct sandbox *sandbox, struct arena *arena);

#endif
