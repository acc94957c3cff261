// SPDX-License-Identifier: Apache-2.0
//
// A commit's kernels: exported, built by the recipe in the sandbox, and kept by content.
//
// A build's key is the content id of these: format version, architecture, toolchain, command,
// output pattern, passed environment (names and values), the overlay, and each input path with its
// object id at the commit (for a submodule, the commit that it is pinned to). So rebases, reverts
// and commits that touch no input of the build cost nothing. A failed build is kept, too, with its
// log, unless it ran out of time, memory or disk, or lacked a program.
//
// Parts of a build are also reused. A recipe may state what it made a library from, in a file
// beside it: $PLUMB_OUT/NAME.inputs for $PLUMB_OUT/NAME (names of letters, digits and ._+- only).
// Its lines
//   kernels/a.cu     name a file or folder of the repository, whose content counts
//   kernels/*.cuh    or a pattern (* also matches /): the names of the inputs that match it count,
//                    because a header that appears may hide another one
// Without a pattern the names of all inputs count. The next build finds in $PLUMB_HAVE (read-only)
// the libraries, with their statements, for which all of this is unchanged, and also the recipe,
// the toolchain and the environment. It may copy both to $PLUMB_OUT instead of making them. A
// recipe that does not use this makes all libraries, which is correct as well.
//
// A statement can lie: a build script may say "this library is made from a.cu alone" and put
// something else into it. So only statements of trusted commits are used: the base of a gate, the
// good end of a bisection, what a user names to run or list. A trusted commit takes libraries from
// trusted builds of its own first-parent history. The head of a gate, and a commit that a bisection
// tries, take from their base and its history. Their own builds have separate keys, which no
// trusted build ever reads, and are offered to nobody. So a pull request's build cannot reach
// another commit's libraries, whatever it states. (Without a sandbox a build can write anywhere,
// also into the cache: pull requests from strangers need sandbox = require.)
//
// The cache is a directory with a directory for each key. A build is made beside it and renamed
// into place. So a reader never sees half of one, and a killed builder leaves only files that the
// next prune removes. Builders of one key wait for each other (a lock file that the kernel
// releases). The folder BUILD_KEPT in the cache holds all libraries, each with the files that it
// may see (runner/code/code_id.h).
#ifndef PLUMB_BUILD_H
#define PLUMB_BUILD_H

#include "runner/child/process.h"
#include "runner/child/sandbox.h"
#include "runner/git/repository.h"

#define BUILD_KEPT "kept"

// ---- overlays
//
// An overlay is a folder outside of every commit that builds see beside the commit, as
// $PLUMB_OVERLAY: shims and a build script for a history that has none. Its content is part of
// a build's key.
//
// The overlay decides what is built, so whoever runs the tool names it, never a commit. It holds
// regular files and folders. A link could lead anywhere, and is refused with its path. Folders
// named .git are ignored, so that an overlay may have a history of its own.

struct overlay {
    const char *directory;   // absolute
    char id[OBJECT_ID_TEXT]; // content id of names, contents and execute permissions
};

// Opens an overlay of at most 10,000 files and 256 MiB. Its path lives in the arena.
int overlay_open(struct overlay *out, const char *directory, struct arena *arena,
                 struct error *err);
// Copies an overlay to `to`, which must not exist. Also fails if the content has changed since
// overlay_open().
int overlay_copy(const struct overlay *overlay, const char *to, struct error *err);

// ---- recipes and toolchains

// How a commit becomes libraries. The command runs as `sh -c` in $PLUMB_SOURCE with
//   PLUMB_SOURCE  the exported inputs (read-only in the sandbox, unless programs are captured)
//   PLUMB_BUILD   an empty scratch folder, which is lost afterwards
//   PLUMB_OUT     the folder for the libraries, and beside them only files that they load. These
//                 count in the code id of each library (runner/code/code_id.h). They are kept
//                 without what no id covers: times, holes, pipes, empty folders, symbols, debug
//                 information
//   PLUMB_HAVE    libraries that it need not make (see above), often none
//   PLUMB_OVERLAY a copy of the overlay (read-only in the sandbox), where there is one
//   PLUMB_TOOLCHAIN  the toolchain's name, if it has one; its settings are then set, too
// and PATH, PLUMB_JOBS (number of processors), HOME and TMPDIR (scratch), SOURCE_DATE_EPOCH=0, and
// the named variables. Inside the sandbox those folders are fixed paths (/plumb/source and the
// like), so that paths in debug information do not differ between commits.
struct recipe {
    const char *const *inputs; // paths of the repository; none: the whole tree
    size_t input_count;
    const char *const *without; // submodules that stay empty folders
    size_t without_count;
    const char *command;
    const char *outputs;            // globs of the libraries and plans in PLUMB_OUT: "*.so *.plan"
    const char *const *environment; // names of variables that are passed on, e.g. CUDA_HOME
    size_t environment_count;
    const char *const *folders; // absolute; also read-only in the sandbox, e.g. a toolchain's
    size_t folder_count;
    const struct overlay *overlay; // NULL: none
    bool gpu;                      // the build sees the GPUs, because programs are captured while
                                   // it runs
    bool in_place;                 // the build may write among its sources, because a program is
                                   // built there
    double timeout_s;              // 0: 600
    uint64_t memory_bytes; // limit for all its processes together; 0: three quarters of this
                           // machine's
    uint64_t disk_bytes;   // limit for everything that it writes to disk; 0: 16 GiB
    uint32_t processes;    // limit for processes and their threads; 0: 512, or 32 per processor
};

// Sets each limit of `out` that a policy may give (time, memory, disk) to the smaller of the two.
void recipe_confine(struct recipe *out, const struct recipe *other);

// The compilers. Their version texts are part of every key.
struct toolchain {
    const char *name;            // NULL: the compilers in this machine's PATH, without settings
    const char *const *settings; // NAME=VALUE, set unchanged in the environment of builds
    size_t setting_count;
    const char *prefix; // absolute folder whose bin comes first in PATH; NULL: none
    // The container image whose system has the compilers (struct container): the id of its content,
    // and the folder with its files. NULL: this machine's system. It needs an active sandbox.
    const char *image, *root;
    char *text; // all of this as text, with what the compilers print for --version ("-" where one
                // is missing), and the machine
};
// Fills in `text` of a toolchain whose other members are set. Asks cc, c++ and nvcc, or the
// programs that its settings name as CC, CXX and CUDACXX. A toolchain with a name is asked inside
// the sandbox.
int toolchain_detect(struct toolchain *toolchain, const struct sandbox *sandbox, struct error *err);
void toolchain_free(struct toolchain *toolchain); // frees only the text
// Returns the PATH that builds get with this toolchain, in the arena.
const char *toolchain_path(const struct toolchain *toolchain, struct arena *arena);

// ---- containers
//
// The files of a container image, as a folder that a sandbox shows in place of this machine's
// system. A container runner (podman, docker, nerdctl, buildah) is asked once for the files. It
// never runs a container: these builds have the same sandbox, limits and keeper as all others.
// Nothing is downloaded: the image must be on this machine.

// Whether a text can be an image's name: letters, digits and ._-/:@, not beginning with -.
bool container_name_sound(const char *image);

struct container {
    const char *id;   // id of the image's content, hexadecimal
    const char *root; // absolute path of the folder with its files, in the cache
};
// Finds the image, and unpacks it into the cache (an absolute folder) if that was not done before.
// Strings live in the arena. -1: there is no runner, no runner has the image, or it cannot be
// unpacked.
int container_open(struct container *out, const char *image, const char *cache, struct arena *arena,
                   struct error *err);

// ---- builds

enum build_state {
    BUILD_OK,
    BUILD_FAILED,  // the command failed or made no library: the commit is unbuildable
    BUILD_TIMEOUT, // it exceeded the time limit and was ended: not kept, may be tried again
    BUILD_STARVED, // it ended because this machine lacks memory or disk: not kept, may be tried
                   // again
    BUILD_LACKING  // a submodule's commit is not on this machine: not kept, may be tried again
};
struct build {
    enum build_state state;
    bool cached;  // it was found in the cache and not made now
    bool crowded; // BUILD_TIMEOUT: others had the processors
    bool unkept;  // it failed because a program is missing, which this machine may have later
    char key[OBJECT_ID_TEXT]; // the key of this content; heads have separate keys
    const char *directory;    // absolute path of this key's folder in the cache; "" unless kept
    const char *out;          // absolute path, without links, of the folder with the libraries; ""
                              // unless kept
    const char *const *libraries; // absolute paths there, sorted; for a failed build the libraries
                                  // that its command made all the same
    size_t library_count;
    const char *log;    // the end of the log, at most 16 KiB; hostile text
    const char *reason; // one line: "exit status 2", "no file matches *.so"; "" when ok
    double seconds;     // how long it took; also set when it was cached
    double cpu_s;       // processor time of all its processes; 0 when it was cached
};

struct builder {
    const char *cache;             // absolute path; made when it is missing
    const struct sandbox *sandbox; // a sandbox that was probed
    const struct toolchain *toolchain;
};

// Builds a commit, or finds its build. `base` is the commit that a gate trusts, when `commit` is
// the head that it judges; NULL: `commit` itself is trusted. Everything that `out` points to lives
// in the arena. -1 only when the tool could not do its work (disk, repository, cache); a commit
// that does not build is data.
int build_commit(struct build *out, const struct builder *builder,
                 const struct repository *repository, const char *commit, const char *base,
                 const struct recipe *recipe, struct arena *arena, struct error *err);
// Looks for a build in the cache; *found false: it is not there and would have to be made.
int build_find(struct build *out, bool *found, const struct builder *builder,
               const struct repository *repository, const char *commit, const char *base,
               const struct recipe *recipe, struct arena *arena, struct error *err);
// Computes only the key of a trusted commit, without building it. Equal keys mean equal libraries.
int build_key(char out[OBJECT_ID_TEXT], const struct builder *builder,
              const struct repository *repository, const char *commit, const struct recipe *recipe,
              struct error *err);

// Waits until no other builder works on the key. Returns a descriptor that releases the lock when
// it is closed, or -1.
int build_cache_lock(const char *cache, const char *key, struct error *err);

// Removes builds that were not used for max_age_s, then those unused for longest until at most
// max_bytes remain. What a running builder uses stays. 0: no such limit.
struct prune_result {
    size_t removed, kept;
    uint64_t bytes_removed, bytes_kept;
};
int build_prune(struct prune_result *out, const char *cache, double max_age_s, uint64_t max_bytes,
                struct error *err);
// Cleans the cache; the program calls it by itself. It removes what killed builders left. Once a
// day it removes builds that were not used for half a year, and those unused for longest beyond 16
// GiB. A file that cannot be removed stays.
void build_tidy(const char *cache);

// ---- errors in logs
//
// The errors in a build's log: the first ones of gcc, clang, nvcc with ptxas and nvlink, ld and
// lld, cmake, ninja, make and sh. Each is one line, with file and line number if the tool gave
// them.
// A log is hostile text: whatever it holds, the result is bounded and has no control bytes.

enum { BUILD_ERRORS = 5 };

// Finds the first errors of `log`, in its order, each once; returns their number. Messages of
// compilers and linkers come before messages that only report their failure ("ninja: build
// stopped"). A log without either gives its last lines. Files below the exported source are named
// as the commit names them. Strings live in the arena.
size_t build_errors_find(struct build_error out[BUILD_ERRORS], const char *log,
                         struct arena *arena);

// Memory that can be used without forcing another process to end: half of the machine's free bytes,
// or half of the free bytes of our control groups (version 2), whichever is least. UINT64_MAX if
// neither is known. `root` is put before /proc and /sys; "" means this machine.
uint64_t spare_memory_bytes(const char *root);

#endif
