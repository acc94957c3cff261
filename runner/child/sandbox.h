// SPDX-License-Identifier: Apache-2.0
//
// Bubblewrap around a command: no network, no home, a read-only system, its own /tmp, /proc and
// process numbers, a cleared environment, and of the devices only the GPU's when asked for.
// Whether it works here (containers may forbid user namespaces) is found by trying, and said.
#ifndef PLUMB_SANDBOX_H
#define PLUMB_SANDBOX_H

#include "runner/child/group.h"

// SANDBOX_UNSAID: nobody says which; ci/settings/context.h decides. It has no name.
enum sandbox_mode { SANDBOX_AUTO, SANDBOX_REQUIRE, SANDBOX_OFF, SANDBOX_UNSAID };
int sandbox_mode_parse(enum sandbox_mode *out, const char *name);

struct sandbox {
    bool active;
    char program[256]; // of bubblewrap
    char reason[512];  // when not active: why, one line, for the run's report
    // What holds memory and tasks of all processes of a command together, root's too: which systemd
    // makes a scope for it, "--user" or "--system" ...
    const char *scope;
    // ... or NULL and, where `grouped`, in which control groups we make one ourselves. Without
    // either, what a child uses is watched by its keeper alone.
    struct group group;
    bool grouped;
    char no_group[512]; // neither: why, one line
};

// Tries bubblewrap once. SANDBOX_AUTO, SANDBOX_UNSAID: not active when it does not work.
// SANDBOX_REQUIRE: -1 then, with what to do.
int sandbox_probe(struct sandbox *out, enum sandbox_mode mode, struct error *err);

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
};

// argv with bubblewrap before it, NULL-terminated, in the arena. Give the process itself
// sandbox_environment(): bubblewrap sets view->env inside. Not active: argv as it was (binds have
// no effect: the caller must use the `from` paths, and pass env itself).
const char *const *sandbox_argv(const struct sandbox *sandbox, const struct sandbox_view *view,
                                const char *const *argv, struct arena *arena);
// The environment to start that with: empty, but for where the user's systemd is.
const char *const *sandbox_environment(const struct sandbox *sandbox, struct arena *arena);

#endif
