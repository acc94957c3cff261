// SPDX-License-Identifier: Apache-2.0
//
// A commit's kernels: exported, built by the recipe in the sandbox, kept by content.
//
// The key of a build is the content id of: format version, architecture, toolchain, command, output
// pattern, passed environment (names and values), the overlay, and each input path with its object
// id at the commit, which of a submodule is the commit that it is pinned to. So rebases, reverts
// and commits that touch nothing the build reads cost nothing. A build that fails is kept too, with
// its log; one that ran out of time, memory or disk, or that lacks a program, is not.
//
// Parts of a build are reused too. A recipe may state what it made a library from, in a file beside
// it, $PLUMB_OUT/NAME.inputs for $PLUMB_OUT/NAME (names of letters, digits and ._+- alone). Its
// lines
//   kernels/a.cu     a file or folder of the repository: its content counts
//   kernels/*.cuh    a pattern (* also matches /): the names of the inputs that match count, for a
//                    header that appears may hide another one
// Without a pattern all names of the inputs count. The next build finds in $PLUMB_HAVE (read-only)
// the libraries, with their statements, for which all of that is the same as it was, and the
// recipe, the toolchain and the environment too. It may copy both to $PLUMB_OUT instead of making
// them; a recipe that does not know of this makes them all, and that is right as well.
//
// A statement can lie: "this library is made from a.cu alone" by a build script that put something
// else into it. So only trusted commits are believed: the base of a gate, the good end of a
// bisection, what a user names to run or list. A trusted commit takes from builds of its own
// first-parent history that were trusted themselves. The head of a gate, and what a bisection
// tries, take from their base and its history; their own builds have keys of their own, which no
// trusted build ever reads, and are offered to nobody. So what a pull request's build writes
// reaches no other commit's libraries, whatever it states. (Without a sandbox a build can write
// where it likes, into the cache too: pull requests of strangers need sandbox = require.)
//
// The cache is a directory of directories, one per key: builds are made beside it and renamed into
// place, so a reader never sees half of one, and a killed builder leaves only what the next prune
// removes. Builders of one key wait for each other (a lock file that the kernel releases). In the
// folder BUILD_KEPT beside them lie the libraries of all, each with what it may see
// (runner/code/code_id.h).
#ifndef PLUMB_BUILD_H
#define PLUMB_BUILD_H

#include "runner/child/process.h"
#include "runner/child/sandbox.h"
#include "runner/git/repository.h"

#define BUILD_KEPT "kept"

// ---- overlays
//
// A folder outside of every commit that builds see beside the commit, as $PLUMB_OVERLAY: shims and
// a build script for a history that never heard of them. Its content is part of a build's key.
//
// Who names the folder decides what is built, so it comes from whoever runs the tool, never from a
// commit. It holds regular files and folders; a link could lead anywhere and is refused with its
// path. Folders named .git are passed over, so that an overlay may have a history of its own.

struct overlay {
    const char *directory;   // absolute
    char id[OBJECT_ID_TEXT]; // of names, contents and rights to execute
};

// At most 10,000 files and 256 MiB. The path lives in the arena.
int overlay_open(struct overlay *out, const char *directory, struct arena *arena,
                 struct error *err);
// Copies an overlay to `to`, which must not exist; -1 too when overlay_open() saw another content.
int overlay_copy(const struct overlay *overlay, const char *to, struct error *err);

// ---- recipes and toolchains

// How a commit becomes libraries. The command runs as `sh -c` in $PLUMB_SOURCE with
//   PLUMB_SOURCE  the exported inputs (read-only in the sandbox, unless programs are captured)
//   PLUMB_BUILD   scratch, empty, lost afterwards
//   PLUMB_OUT     where it puts the libraries, and beside them only what they load: that counts in
//                 the code id of each (runner/code/code_id.h), and is kept without what no id says:
//                 times, holes, pipes, empty folders, symbols, debug information
//   PLUMB_HAVE    libraries that it need not make (above), often none
//   PLUMB_OVERLAY a copy of the overlay (read-only in the sandbox), where there is one
//   PLUMB_TOOLCHAIN  the toolchain's name, where it has one; then its settings stand too
// and PATH, PLUMB_JOBS (processors), HOME and TMPDIR (scratch), SOURCE_DATE_EPOCH=0, plus the named
// variables. Inside the sandbox those folders are fixed paths (/plumb/source and its like), so that
// paths in debug information do not differ between commits.
struct recipe {
    const char *const *inputs; // paths of the repository; none: the whole tree
    size_t input_count;
    const char *const *without; // submodules that stay empty folders
    size_t without_count;
    const char *command;
    const char *outputs;            // globs of the libraries and plans in PLUMB_OUT: "*.so *.plan"
    const char *const *environment; // names passed on, e.g. CUDA_HOME
    size_t environment_count;
    const char *const *folders; // absolute; read-only in the sandbox too, e.g. a toolchain's
    size_t folder_count;
    const struct overlay *overlay; // NULL: none
    bool gpu;                      // it sees the GPUs: what it builds is captured while it runs
    bool in_place;                 // it may write among its sources: a program is built there
    double timeout_s;              // 0: 600
    uint64_t memory_bytes; // of all its processes together; 0: three quarters of what is here
    uint64_t disk_bytes;   // of all that it writes to disk; 0: 16 GiB
    uint32_t processes;    // with their threads; 0: 512, or 32 per processor
};

// Sets each limit of `out` that a policy may name (time, memory, disk) to the smaller of both.
void recipe_confine(struct recipe *out, const struct recipe *other);

// The compilers. Their text is part of every key.
struct toolchain {
    const char *name;            // NULL: what PATH finds here, with no settings
    const char *const *settings; // NAME=VALUE: the environment of builds, as they are written
    size_t setting_count;
    const char *prefix; // absolute folder whose bin comes first in PATH; NULL: none
    // The container image whose system has the compilers (struct container): its content's id and
    // the folder with its files; NULL: this machine's system. It needs an active sandbox.
    const char *image, *root;
    char *text; // all of that, what the compilers say to --version ("-" where absent), and
                // the machine
};
// Fills `text` of a toolchain whose other members are set: asks cc, c++ and nvcc, or the programs
// that its settings name as CC, CXX and CUDACXX. A toolchain with a name is asked in the sandbox.
int toolchain_detect(struct toolchain *toolchain, const struct sandbox *sandbox, struct error *err);
void toolchain_free(struct toolchain *toolchain); // the text
// The PATH that the toolchain gives to builds. In the arena.
const char *toolchain_path(const struct toolchain *toolchain, struct arena *arena);

// ---- containers
//
// The files of a container image, as a folder that a sandbox shows in place of this machine's
// system. A container runner (podman, docker, nerdctl, buildah) is asked once for the files and
// never runs a container: builds have the same sandbox, limits and keeper as all others. Nothing is
// fetched: the image must be on this machine.

// Whether a text can name an image: letters, digits and ._-/:@ that begin with no -.
bool container_name_sound(const char *image);

struct container {
    const char *id;   // of the image's content, hexadecimal
    const char *root; // absolute folder with its files, in the cache
};
// Finds the image, and unpacks it into the cache (an absolute folder) unless that was done before.
// Strings live in the arena. -1: there is no runner, none has the image, or it cannot be unpacked.
int container_open(struct container *out, const char *image, const char *cache, struct arena *arena,
                   struct error *err);

// ---- builds

enum build_state {
    BUILD_OK,
    BUILD_FAILED,  // the command said so, or left no library: the commit is unbuildable
    BUILD_TIMEOUT, // we ended it: not kept, may be tried again
    BUILD_STARVED, // this machine's memory or disk ended it: not kept, may be tried again
    BUILD_LACKING  // a submodule's commit is not on this machine: as above
};
struct build {
    enum build_state state;
    bool cached; // found, not made now
    bool unkept; // it failed, for want of a program that this machine may have tomorrow
    char key[OBJECT_ID_TEXT]; // of this content, and apart for heads
    const char *directory;    // absolute; of this key in the cache. "" unless kept
    const char *out;          // absolute, without links: where the libraries lie; unless kept ""
    const char *const *libraries; // absolute paths in it, sorted; of a build that failed those
                                  // that its command made all the same
    size_t library_count;
    const char *log;    // the end of the log, at most 16 KiB: hostile text
    const char *reason; // one line: "exit status 2", "no file matches *.so"; "" when ok
    double seconds;     // it took, also when it was cached
    double cpu_s;       // processor time of all its processes; 0 when it was cached
};

struct builder {
    const char *cache;             // absolute directory, made when missing
    const struct sandbox *sandbox; // probed
    const struct toolchain *toolchain;
};

// base: the commit a gate trusts, when `commit` is the head that it judges; NULL: `commit` is
// trusted itself. Everything `out` points to lives in the arena. -1 only when the tool could not do
// its work (disk, repository, cache); a commit that does not build is data.
int build_commit(struct build *out, const struct builder *builder,
                 const struct repository *repository, const char *commit, const char *base,
                 const struct recipe *recipe, struct arena *arena, struct error *err);
// Looks for a build in the cache; *found false: it is not kept and would have to be made.
int build_find(struct build *out, bool *found, const struct builder *builder,
               const struct repository *repository, const char *commit, const char *base,
               const struct recipe *recipe, struct arena *arena, struct error *err);
// The key of a trusted commit alone, without building: same key, same libraries.
int build_key(char out[OBJECT_ID_TEXT], const struct builder *builder,
              const struct repository *repository, const char *commit, const struct recipe *recipe,
              struct error *err);

// Waits for other builders of the key. Returns a descriptor whose close gives the lock back, or -1.
int build_cache_lock(const char *cache, const char *key, struct error *err);

// Removes builds not used for max_age_s, then the longest unused until at most max_bytes remain;
// what a running builder holds stays. 0: no such limit.
struct prune_result {
    size_t removed, kept;
    uint64_t bytes_removed, bytes_kept;
};
int build_prune(struct prune_result *out, const char *cache, double max_age_s, uint64_t max_bytes,
                struct error *err);
// Tidies the cache, as the program does by itself: removes the leavings of killed builders, and
// once a day builds that were not used for half a year, or the longest unused beyond 16 GiB. A file
// that cannot be removed stays.
void build_tidy(const char *cache);

// ---- what went wrong
//
// The errors in a build's log: the first ones of gcc, clang, nvcc with ptxas and nvlink, ld and
// lld, cmake, ninja, make and sh, each on one line, with file and line where the tool named them. A
// log is hostile text: whatever it holds, the result is bounded and has no control bytes.

enum { BUILD_ERRORS = 5 };

// The first errors of `log`, in its order, each once; returns how many. Messages of compilers and
// linkers come before messages that only report their failure ("ninja: build stopped"); a log
// without either gives its last lines. Files below the exported source are named as the commit
// names them. Strings live in the arena.
size_t build_errors_find(struct build_error out[BUILD_ERRORS], const char *log,
                         struct arena *arena);

// Memory that can be taken without another process having to end for it: half of the machine's free
// bytes, or of the free bytes of our control groups (version 2), whichever is least. UINT64_MAX
// where neither is known. `root` stands before /proc and /sys, "" for this machine's own.
uint64_t spare_memory_bytes(const char *root);

#endif
