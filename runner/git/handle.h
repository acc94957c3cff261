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

// libgit2's message for the last failure, and what to do if an object is missing. Valid until the
// thread asks again.
const char *git_words(void);
extern const char git_fetch_more[]; // what to do in a shallow clone in which something is missing
bool git_is_shallow(const struct repository *repository);
// Finds the commit of the reference with exactly this full name, and of no other that git would
// accept for it. 0, or libgit2's error.
int git_named_commit(git_oid *out, const struct repository *repository, const char *name);
// Finds the commit of a revision as people write it. The caller frees.
int git_resolve(git_commit **out, const struct repository *repository, const char *revision,
                struct error *err);

#endif
