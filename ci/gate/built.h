// SPDX-License-Identifier: Apache-2.0
//
// A commit's kernels as files: built (or found in the cache) and listed by the bench child, each
// with its code id. A commit that does not build is a result, too: `state` and `detail` say so.
#ifndef PLUMB_BUILT_H
#define PLUMB_BUILT_H

#include "ci/settings/context.h"

// Returns the name under which the store keeps builds that this context makes by a toolchain (NULL:
// the default). A build sees PLUMB_DEVICES, the kinds of devices that are measured ("host cuda"),
// so that it can leave out kernels that no device here could run.
const char *built_recipe(struct context *context, const struct toolchain *toolchain);

// A commit to build, and the toolchain that builds it.
struct to_build {
    const struct commit *commit;
    const struct commit *base;         // what a gate trusts when `commit` is its head
                                       // (runner/build/build.h); NULL: `commit` is trusted
    const struct toolchain *toolchain; // NULL: the context's default
    bool may_lack; // `commit` is one of many: if a submodule's commit is not on this machine,
                   // `commit` counts as unbuildable, and the store does not keep that
};

struct built_kernel {
    char name[KERNEL_NAME_TEXT];
    char code[OBJECT_ID_TEXT];
    const char *library;            // absolute path in the cache; for a plan it is the plan's path
    const char *file;               // the file's name in the build
    bool plan;                      // it is a plan beside a cubin, which is always timed from a
                                    // record
    const struct problem *captured; // for a kernel that was captured from a program: its one
                                    // problem, whose record `library` is; NULL for a library's
                                    // kernel or a plan's
    const char *device;             // "host" or "cuda"
    struct traits traits;
};

struct built {
    struct commit commit;
    const struct toolchain *toolchain; // NULL: the context's default
    enum measurement_state state;      // MEASURED_OK or MEASURED_UNBUILDABLE
    const char *detail;                // why it is unbuildable, in one line; untrusted
    struct build_failure failure;      // why it is unbuildable, in full; its reason is NULL when
                                       // the commit builds
    const char *log;                   // the end of the build's log; untrusted
    const char *directories[2];        // the folders that a bench may see: of the libraries, and of
                                       // the captures
    struct built_kernel *kernels;      // sorted by name; for a commit that does not build, the
                                       // kernels of those
    size_t count;                      // libraries that were made all the same
    bool cached;
    bool absent; // in a dry run: there is no build of the commit, so its kernels are not known
};

// Builds a commit and lists its kernels. Everything lives in `arena`. -1 only when the tool could
// not do its work. Needs context_builder, context_devices and context_store; records the build in
// the store. A dry run builds and records nothing, and prints a commit that is not in the cache as
// one to build.
int built_make(struct built *out, struct context *context, const struct to_build *what,
               struct arena *arena, struct error *err);

// For a dry run: looks for the build in the cache. A missing build is printed and counted.
int built_kept(bool *found, struct context *context, const struct to_build *what,
               struct error *err);

// Hashes the inputs and tools of a build into a key that equal builds share. Unless `seconds` is
// NULL, the commit is also built from nothing to time that, and the result is dropped. *seconds is
// the processor time of all processes of the build, NaN where it does not build now.
int built_timed(double *seconds, char key[OBJECT_ID_TEXT], struct context *context,
                const struct to_build *what, struct error *err);

// Notes the toolchain of each build in the run; `base` may be NULL.
void built_tell(struct run *run, const struct built *base, const struct built *head);

// Says in one line why a commit does not build: the first error that its tools printed, or else the
// reason.
const char *built_first_error(const struct build_failure *failure, struct arena *arena);

const struct built_kernel *built_find(const struct built *built, const char *name,
                                      const char *device);

#endif
