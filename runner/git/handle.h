// SPDX-License-Identifier: Apache-2.0
//
// Types and functions that only the files of this folder share.
#ifndef PLUMB_GIT_HANDLE_H
#define PLUMB_GIT_HANDLE_H

#include "model/config.h"
#include "runner/git/repository.h"

#include <git2.h>

struct repository {
    git_repository *git;
    char *directory, *name;
};

// libgit2's words for the last failure, and what to do where an object is missing. Valid until the
// thread asks again.
const char *git_words(void);
extern const char git_fetch_more[]; // what to do in a shallow clone that lacks something
bool git_is_shallow(const struct repository *repository);
// The commit of what has this whole name, and of nothing that git would take for it. 0 or what
// libgit2 says.
int git_named_commit(git_oid *out, const struct repository *repository, const char *name);
// The commit of a revision as people write it. Caller frees.
int git_resolve(git_commit **out, const struct repository *repository, const char *revision,
                struct error *err);
// The root tree of a commit, or of a submodule of it, and how errors name it.
struct git_root {
    git_tree *tree;
    const char *commit; // the outermost
    const char *within; // path of the submodule; "" in none
};

// As export goes no deeper and through no more files, nothing else does.
enum { GIT_DEPTH_MAX = 128, GIT_ENTRIES_MAX = 1000000 };

// The tree of a commit given by full id. Caller frees. -1 too when it has a name twice, out of
// order or with a slash, as of the next two.
int git_tree_of(git_tree **out, const struct repository *repository, const char *commit,
                struct error *err);
// The tree at a path below the root. Caller frees.
int git_sound_tree(git_tree **out, const struct git_root *root, const git_oid *id, const char *path,
                   struct error *err);
// "./a/b/" is a/b, as people write it; "" and "." are the whole tree. Caller frees.
char *git_plain_path(const char *path);
// *out stays NULL when the path, a plain one, is not in the tree. Of a path in a submodule it is
// the submodule, and *rest the part that is in it, else "". Caller frees the entry.
int git_find_way(git_tree_entry **out, const char **rest, const struct git_root *root,
                 const char *path, struct error *err);

// Where the objects of a commit's submodules are on this machine.
//
// What a commit says of its submodules is hostile: .gitmodules, their names, their paths. Nothing
// is fetched, and of .gitmodules only the name that belongs to a path is believed. Objects are
// taken from folders of the repository's own alone, which no commit can make: its
// .git/modules/NAME, the same of the worktree that one is in, and .git of the submodule's checkout.
// A name or a link that leads out of these leads nowhere. Their configuration is not read: only
// objects are, each checked against the id that the commit above it pins.

// A repository, or the submodule of one, while its tree is gone through.
struct submodule_level {
    git_repository *git; // where its objects are found
    bool owned;          // `git` is closed with the level
    char **folders;      // real paths: each may hold repositories of its submodules by name
    size_t folder_count, folder_room;
    char *home;            // the git directory that the first of them is in, or would be
    char *work;            // its checkout's real path; NULL: none
    char *path;            // from the outermost checkout; "" for that one itself
    const char *outermost; // path of the outermost submodule on the way; NULL: none is
    struct config names;   // of its .gitmodules
};

// Beside 0, -1 and enum export_end: .gitmodules names no submodule at the path, so that nobody can
// fetch it. `err` is empty.
enum { SUBMODULE_NAMELESS = EXPORT_LACKS + 1 };

// Closed by submodule_leave(), also on failure.
void submodule_top(struct submodule_level *out, const struct repository *repository);

// Reads .gitmodules of the level's root tree.
int submodule_names(struct submodule_level *level, const git_tree *root, struct error *err);

// Goes into the submodule at `path` of the level, pinned to `commit`, and gives its tree, which the
// caller frees, and whose outermost commit the caller has set. It is valid as long as the level.
int submodule_enter(struct submodule_level *out, struct git_root *root,
                    const struct submodule_level *level, const char *path, const git_oid *commit,
                    struct error *err);

void submodule_leave(struct submodule_level *level);

#endif
