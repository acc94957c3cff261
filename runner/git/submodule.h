// SPDX-License-Identifier: Apache-2.0
//
// Where the objects of a commit's submodules are on this machine; internal to runner/repository*.c.
//
// What a commit says of its submodules is hostile: .gitmodules, their names, their paths. Nothing
// is fetched, and of .gitmodules only the name that belongs to a path is believed. Objects are
// taken from folders of the repository's own alone, which no commit can make: its
// .git/modules/NAME, the same of the worktree that one is in, and .git of the submodule's checkout.
// A name or a link that leads out of these leads nowhere. Their configuration is not read: only
// objects are, each checked against the id that the commit above it pins.
#ifndef PLUMB_SUBMODULE_H
#define PLUMB_SUBMODULE_H

#include "model/config.h"
#include "runner/git/git_handle.h"

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
