// SPDX-License-Identifier: Apache-2.0
//
// What of a repository is part of no commit: where its checkout could have come from, and its own
// configuration. Both say whose the checkout is.
#ifndef PLUMB_HELPER_REMOTE_H
#define PLUMB_HELPER_REMOTE_H

// The remote `origin`, whose main branch is that commit.
void helper_remote(const char *directory, const char *commit);
// A key of the repository's configuration.
void helper_configure(const char *directory, const char *key, const char *value);

#endif
