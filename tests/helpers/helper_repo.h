// SPDX-License-Identifier: Apache-2.0
//
// A scratch repository with a real history of host kernels, made through libgit2: no git program,
// fixed times, so every object id is the same on every machine.
//
//   START ── TUNE ── COMMENT ── RENAME ──── MERGE ── SLOWER ── REVERT ── UNBUILDABLE ── FIXED ─┐
//                        └───── DOCS ─────────┘                                                │
//   ┌──────────────────────────────────────────────────────────────────────────────────────────┘
//   └─ WRONG ── RIGHT ── HANG ── AWAKE ── FASTER (HEAD, main)
//
// Two kernels, one library each: `simple` is what the history is about, `blocked` never changes.
#ifndef PLUMB_HELPER_REPO_H
#define PLUMB_HELPER_REPO_H

#include "model/base.h"
#include "runner/git/repository.h"
#include "tests/helpers/helper_files.h"

#include <stdbool.h>

enum helper_commit {
    REPO_START,
    REPO_TUNE,        // tag v0.1; START computed a fourth of its rows twice: faster
    REPO_COMMENT,     // touches only comments of simple
    REPO_DOCS,        // on branch docs, from COMMENT: touches the README only
    REPO_RENAME,      // kernels/simple.c becomes kernels/plain.c; still kernel `simple`
    REPO_MERGE,       // of DOCS into main; tag v0.2, annotated
    REPO_SLOWER,      // simple computes a tenth of its rows twice
    REPO_REVERT,      // of SLOWER: the tree of MERGE again
    REPO_UNBUILDABLE, // a name that does not exist
    REPO_FIXED,       // builds again, tree of MERGE but for the README
    REPO_WRONG,       // simple leaves out the last product of each sum
    REPO_RIGHT,
    REPO_HANG, // simple never returns
    REPO_AWAKE,
    REPO_FASTER, // simple does a tenth of its rows less than SLOWER, in blocks of four columns
    REPO_COMMITS
};

struct helper_repo {
    char directory[256]; // with a checkout of main
    char policy[272];    // where a policy may lie in it: for helper_repo_policy()
    char ids[REPO_COMMITS][OBJECT_ID_TEXT];
};

// Makes it in a fresh directory under /tmp (or $TMPDIR); stops the test on any failure.
void helper_repo_create(struct helper_repo *out);
void helper_repo_remove(const struct helper_repo *repo);

// One such history, opened, for all tests of a program; none of them may change it. cmocka's set-up
// and tear-down: *state is a struct helper_opened.
struct helper_opened {
    struct helper_repo repo;
    struct repository *open;
    struct arena arena;
};
int helper_opened_set_up(void **state);
int helper_opened_tear_down(void **state);

// Puts a store there in which this machine's profile is known. A new store has it measured first,
// which takes seconds, and only predictions differ. One store is made per build of plumb. `store`
// may be relative to the repository; NULL is where plumb keeps it.
void helper_repo_know_host(const struct helper_repo *repo, const char *store);

// Builds one library per file of kernels/ with cc -O2: for struct recipe.
extern const char helper_repo_command[];
extern const char *const helper_repo_inputs[];
extern const size_t helper_repo_input_count;

// Exports of any size.
extern const struct export_terms helper_any_memory;

// A policy that builds them: the problem set "small" (lines of the problems), every kernel on it
// and on the host device; `rest` follows in the section of the kernels.
void helper_repo_policy(const char *path, const char *problems, const char *rest);

// Files for histories of one's own. mode 0: regular. contents NULL: the file is removed.
struct helper_file {
    const char *path, *contents;
    int mode;
};
// Commits `files` on top of the parents' first tree, moves `branch` there and returns the id.
// `number` orders commits in time: one per hour.
void helper_repo_commit(char out[OBJECT_ID_TEXT], const char *directory, const char *branch,
                        const char *const *parents, size_t parent_count, int number,
                        const char *message, const struct helper_file *files, size_t count);

// Between true and false leaks are not told: libgit2 1.5 loses the reference to a commit that is
// not there or that it cannot parse.
void helper_repo_may_leak(bool may);

// What of a repository is part of no commit: where its checkout could have come from, and its own
// configuration. Both say whose the checkout is.

// The remote `origin`, whose main branch is that commit.
void helper_remote(const char *directory, const char *commit);
// A key of the repository's configuration.
void helper_configure(const char *directory, const char *key, const char *value);

// Repositories with submodules, made by the git program itself. Uses cmocka: what cannot be made
// fails the test.
//
//   deep    deep.h
//   lib     include/twice.h (1 in its first commit, 2 in its second), vendor/deep -> deep
//   top     one host kernel that includes both, third_party/lib -> lib; two commits, which pin the
//           first and the second of lib. The policy of helper_submodules_policy() builds it.
//   other   private.h: nobody's submodule

// A fresh folder with them. Caller frees the name, and discards it (helper_files.h).
char *helper_submodules(void);
// Runs the words of a shell in a folder below `directory`, where git may clone from local paths and
// knows who commits. The test fails when they do.
void helper_shell(const char *directory, const char *folder, const char *words);
// What they print, without the last newline. Caller frees.
char *helper_shell_says(const char *directory, const char *folder, const char *words);
// Writes the policy that builds `top`; `rest` follows in its section [build].
void helper_submodules_policy(const char *path, const char *rest);

#endif
