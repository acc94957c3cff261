// SPDX-License-Identifier: Apache-2.0
//
// Through libgit2, as somebody with rights on the folder would.
#include "tests/helpers/helper_remote.h"

#include "tests/helpers/test.h"

#include <git2.h>
#include <stdbool.h>

void helper_remote(const char *directory, const char *commit)
{
    git_repository *git = NULL;
    git_remote *remote = NULL;
    git_reference *branch = NULL;
    git_oid id;
    assert_int_equal(git_repository_open(&git, directory), 0);
    git_oid_fromstr(&id, commit);
    if (git_remote_lookup(&remote, git, "origin"))
        assert_int_equal(git_remote_create(&remote, git, "origin", "https://example.org/x"), 0);
    assert_int_equal(
        git_reference_create(&branch, git, "refs/remotes/origin/main", &id, true, NULL), 0);
    git_reference_free(branch);
    git_remote_free(remote);
    git_repository_free(git);
}

void helper_configure(const char *directory, const char *key, const char *value)
{
    git_repository *git = NULL;
    git_config *config = NULL;
    assert_int_equal(git_repository_open(&git, directory), 0);
    assert_int_equal(git_repository_config(&config, git), 0);
    assert_int_equal(git_config_set_string(config, key, value), 0);
    git_config_free(config);
    git_repository_free(git);
}
