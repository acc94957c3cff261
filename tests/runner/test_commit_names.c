// SPDX-License-Identifier: Apache-2.0
//
// A name is one commit, or is refused: who may push a tag must not replace the branch of that name,
// nor what a whole name or id means, nor the branch that is trusted.
#include "runner/git/repository.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/test.h"

#include <git2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct helper_repo repo;
static struct repository *open;
static struct arena arena;
static struct error err;
static const char *own, *strangers; // commits

static int set_up(void **state)
{
    helper_repo_create(&repo);
    own = repo.ids[REPO_FASTER]; // the branch main
    strangers = repo.ids[REPO_SLOWER];
    return repository_open(&open, repo.directory, &err);
}

static int tear_down(void **state)
{
    arena_free(&arena);
    repository_close(open);
    helper_repo_remove(&repo);
    return 0;
}

AROUND_ALL(set_up, tear_down);

static void refer(const char *name, const char *commit)
{
    git_repository *git = NULL;
    git_reference *reference = NULL;
    git_oid id;
    assert_int_equal(git_repository_open(&git, repo.directory), 0);
    git_oid_fromstr(&id, commit);
    assert_int_equal(git_reference_create(&reference, git, name, &id, true, NULL), 0);
    git_reference_free(reference);
    git_repository_free(git);
}

static void forget(const char *name)
{
    git_repository *git = NULL;
    assert_int_equal(git_repository_open(&git, repo.directory), 0);
    assert_int_equal(git_reference_remove(git, name), 0);
    git_repository_free(git);
}

static void is(const char *revision, const char *commit)
{
    struct commit found;
    if (repository_commit(&found, open, revision, &arena, &err))
        fail_msg("%s", err.text);
    assert_string_equal(found.id, commit);
}

static void is_refused(const char *revision, const char *words)
{
    struct commit found;
    assert_int_equal(repository_commit(&found, open, revision, &arena, &err), -1);
    if (!strstr(err.text, words))
        fail_msg("%s\n%s", words, err.text);
}

TEST(tag_beside_a_branch_of_its_name_is_refused)
{
    struct commit_list list;
    struct commit found;
    const struct commit_selection range = {.range = "v0.1..main"};
    refer("refs/tags/main", strangers);
    is_refused("main", "main: may be refs/tags/main or refs/heads/main, which are not the same "
                       "commit; type the whole name, for instance refs/heads/main");
    is_refused("main~2", "main~2: may be refs/tags/main or refs/heads/main");
    is_refused("main^{commit}", "instance refs/heads/main");
    is_refused("main@{0}", "instance refs/heads/main");
    is_refused("heads/../main", "no such revision");
    assert_int_equal(repository_select(&list, open, &range, &arena, &err), -1);
    assert_non_null(strstr(err.text, "instance refs/heads/main"));
    assert_int_equal(repository_merge_base(&found, open, "main", "docs", &arena, &err), -1);
    assert_non_null(strstr(err.text, "instance refs/heads/main"));
    is("refs/heads/main", own);
    is("heads/main", own);
    is("refs/heads/main~1", repo.ids[REPO_AWAKE]);
    is("refs/tags/main", strangers);
    is("HEAD", own);
    is("@~1", repo.ids[REPO_AWAKE]);
    forget("refs/tags/main");
}

TEST(tag_beside_a_remotes_branch_is_refused)
{
    refer("refs/remotes/origin/main", own);
    refer("refs/tags/origin/main", strangers);
    is_refused("origin/main", "instance refs/remotes/origin/main");
    forget("refs/tags/origin/main");
    is("origin/main", own);
    refer("refs/remotes/origin/HEAD", own);
    is("origin", own);
    refer("refs/heads/origin", strangers);
    is_refused("origin", "may be refs/heads/origin or refs/remotes/origin/HEAD");
    forget("refs/heads/origin");
    forget("refs/remotes/origin/HEAD");
    forget("refs/remotes/origin/main");
}

// As where the objects are another user's.
TEST(branch_whose_commit_is_not_there_is_told_as_such)
{
    static const char absent[] = "0123456789012345678901234567890123456789\n";
    char *path = xprintf("%s/.git/refs/heads/lost", repo.directory);
    helper_write_text(path, absent);
    helper_repo_may_leak(true);
    is_refused("lost", "lost: commit 012345678901 is missing in ");
    is_refused("refs/heads/lost", "or you may not read it");
    helper_repo_may_leak(false);
    assert_int_equal(unlink(path), 0);
    free(path);
}

TEST(names_of_one_commit_are_no_harm)
{
    refer("refs/tags/main", own);
    is("main", own);
    is("main~1", repo.ids[REPO_AWAKE]);
    forget("refs/tags/main");
}

TEST(tag_that_looks_like_a_commits_digits_is_refused)
{
    static const struct {
        const char *before;
        int digits;
    } forms[] = {{"", 7}, {"", 12}, {"v0.1-3-g", 9}};
    for (size_t i = 0; i < ARRAY_COUNT(forms); i++) {
        char name[80];
        snprintf(name, sizeof(name), "refs/tags/%s%.*s", forms[i].before, forms[i].digits, own);
        const char *text = name + strlen("refs/tags/");
        is(text, own);
        refer(name, strangers);
        is_refused(text, own); // the whole id, which can be typed
        is(name, strangers);
        forget(name);
    }
}

TEST(whole_name_or_id_is_no_short_one)
{
    static const char absent[] = "0123456789012345678901234567890123456789";
    char name[80];
    refer("refs/tags/refs/heads/release", strangers);
    is_refused("refs/heads/release", "no such revision");
    forget("refs/tags/refs/heads/release");
    snprintf(name, sizeof(name), "refs/tags/%s", absent);
    refer(name, strangers);
    is_refused(absent, "no such revision");
    forget(name);
    snprintf(name, sizeof(name), "refs/tags/%s", own);
    refer(name, strangers);
    is(own, own);
    forget(name);
}

// HEAD of a repository whose first commit is on another branch.
TEST(tag_called_head_is_not_head)
{
    git_repository *git = NULL;
    refer("refs/tags/HEAD", strangers);
    is("HEAD", own);
    assert_int_equal(git_repository_open(&git, repo.directory), 0);
    assert_int_equal(git_repository_set_head(git, "refs/heads/unborn"), 0);
    is_refused("HEAD", "no commit yet");
    is_refused("@", "no ");
    assert_int_equal(git_repository_set_head(git, "refs/heads/main"), 0);
    git_repository_free(git);
    forget("refs/tags/HEAD");
}

TEST(tag_named_like_the_trusted_branch_is_not_trusted)
{
    static const char *const names[] = {"refs/tags/refs/remotes/upstream/HEAD",
                                        "refs/heads/refs/remotes/origin/HEAD",
                                        "refs/remotes/refs/remotes/upstream/main"};
    struct repository_trust trust;
    helper_remote(repo.directory, own);
    for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
        refer(names[i], strangers);
        repository_trusted(&trust, open);
        assert_false(trust.own);
        assert_string_equal(trust.branch, "origin/main");
        assert_string_equal(trust.commit, own);
        forget(names[i]);
    }
}

TEST(checkout_around_a_file_is_found_by_whose_it_is)
{
    char *root, *file = xprintf("%s/kernels", repo.directory);
    helper_remote(repo.directory, own);
    assert_int_equal(repository_strangers(&root, file, &err), 0);
    assert_null(root); // the branch has what is checked out
    helper_remote(repo.directory, repo.ids[REPO_START]);
    assert_int_equal(repository_strangers(&root, file, &err), 0);
    assert_string_equal(root, repo.directory);
    free(root);
    assert_int_equal(repository_strangers(&root, "/usr", &err), 0);
    assert_null(root);
    free(file);
}
