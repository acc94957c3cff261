// SPDX-License-Identifier: Apache-2.0
//
// A commit's kernels as files: built (or found in the cache), listed by the bench child, each with
// its code id. A commit that does not build is data: state and detail say so.
#ifndef PLUMB_BUILT_H
#define PLUMB_BUILT_H

#include "ci/settings/context.h"

// Names, for the store, how this context builds by a toolchain (NULL: the default). A build sees
// PLUMB_DEVICES, the kinds of devices that are measured ("host cuda"), so that it can leave out
// kernels that no device here could run.
const char *built_recipe(struct context *context, const struct toolchain *toolchain);

// A commit to build, and the toolchain that builds it.
struct to_build {
    const struct commit *commit;
    const struct commit *base;         // what a gate trusts, when `commit` is its head
                                       // (runner/build/build.h); NULL: `commit` is trusted
    const struct toolchain *toolchain; // NULL: the context's default
    bool may_lack; // one of many commits: it counts as unbuildable, and is not kept as such, when
                   // a submodule's commit is not on this machine
};

struct built_kernel {
    char name[KERNEL_NAME_TEXT];
    char code[OBJECT_ID_TEXT];
    const char *library;            // absolute path in the cache; of a plan the plan
    const char *file;               // what the build calls it
    bool plan;                      // a plan beside a cubin: it is always timed from a record
    const struct problem *captured; // of what a program launched: `library` is the record of this
                                    // problem and no other; NULL: a library's kernel or a plan's
    const char *device;             // "host" or "cuda"
    struct traits traits;
};

struct built {
    struct commit commit;
    const struct toolchain *toolchain; // NULL: the context's default
    enum measurement_state state;      // MEASURED_OK or MEASURED_UNBUILDABLE
    const char *detail;                // why it is unbuildable, one line; untrusted
    struct build_failure failure;      // the same in full; its reason is NULL when it builds
    const char *log;                   // end of the build's log: untrusted
    const char *directories[2];        // all that a bench is shown: of the libraries, of captures
    struct built_kernel *kernels;      // sorted by name; of a commit that does not build those of
    size_t count;                      // libraries that were made all the same
    bool cached;
    bool absent; // a dry run, and there is no build of it: what it holds is not known
};

// Everything lives in `arena`. -1 only when the tool could not do its work. Needs context_builder,
// context_devices and context_store; records the build in the store. A dry run builds and records
// nothing: a commit whose build is not kept is printed as one to build.
int built_make(struct built *out, struct context *context, const struct to_build *what,
               struct arena *arena, struct error *err);

// For a dry run: looks for the build in the cache; a missing one is printed and counted.
int built_kept(bool *found, struct context *context, const struct to_build *what,
               struct error *err);

// Hashes the inputs and tools of a build: a key that equal builds share. Unless `seconds` is NULL,
// it also builds the commit from nothing, for its time alone, and keeps nothing of it: processor
// time of all its processes, NaN where it does not build now.
int built_timed(double *seconds, char key[OBJECT_ID_TEXT], struct context *context,
                const struct to_build *what, struct error *err);

// Puts the toolchain of each build into the run; `base` may be NULL.
void built_tell(struct run *run, const struct built *base, const struct built *head);

// Says in one line what is wrong with a commit that does not build: the first error that its tools
// name, or else the reason.
const char *built_first_error(const struct build_failure *failure, struct arena *arena);

const struct built_kernel *built_find(const struct built *built, const char *name,
                                      const char *device);

#endif
