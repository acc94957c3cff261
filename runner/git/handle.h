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
// The commit of a revision as people write it. Caller frees.
int git_resolve(git_commit **out, const struct repository *repository, const char *revision,
                struct error *err);

// Where the objects of a commit's submodules are on this machine.
//
// What a commit says of its submodules is hostile: .gitmodules, their names, their paths. Nothing
// is fetched, and of .gitmodules only the name that belongs to a path is believed. Objects are
// taken from folders of the repository's own alone, which no commit can make: its
// .git/modules/NAME, the same of the worktree that one is in, and .git of the submodule's checkout.
// A name or a link that leads out of these leads nowhere. Their configuration is not read: only
// objects are, each checked against the id that the commit above it pins.

#endif
