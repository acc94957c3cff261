// SPDX-License-Identifier: Apache-2.0
//
// What the repository's own files share; internal to runner/repository*.c and runner/git/graph.c.
#ifndef PLUMB_GIT_HANDLE_H
#define PLUMB_GIT_HANDLE_H

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
// The id of the first parent that the commit names, "" for a root. At the edge of a shallow clone
// libgit2 1.7 and later count no parents, though the commit names some.
void git_first_parent(char out[OBJECT_ID_TEXT], const git_commit *commit);
// It lies in the checkout of another repository and came with its commit, files, configuration and
// all; unless the outer one is the user's own.
bool git_is_brought(git_repository *git);
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
// The tree of that id, which errors say is at `where` in the commit.
int git_load_tree(git_tree **out, git_repository *git, const git_oid *id, const char *commit,
                  const char *where, struct error *err);
// "./a/b/" is a/b, as people write it; "" and "." are the whole tree. Caller frees.
char *git_plain_path(const char *path);
// *out stays NULL when the path, a plain one, is not in the tree. Of a path in a submodule it is
// the submodule, and *rest the part that is in it, else "". Caller frees the entry.
int git_find_way(git_tree_entry **out, const char **rest, const struct git_root *root,
                 const char *path, struct error *err);

#endif
