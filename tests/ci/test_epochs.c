// SPDX-License-Identifier: Apache-2.0
//
// The commit that an accepted change counts from, on real histories: one that is fast-forwarded,
// merged, squashed, and not committed yet.
#include "ci/settings/context.h"
#include "ci/settings/epochs.h"
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/test.h"

#include <git2.h>
#include <stdlib.h>
#include <string.h>

enum { ROOT, CHANGE, ACCEPT, MERGE, SQUASH, LATER, COMMITS };

static char *directory;
static char ids[COMMITS][OBJECT_ID_TEXT];
static char *block; // names CHANGE, as `plumb accept` on the branch wrote it

// The head of `branch`, which it makes: with or without the block.
static void commit(int which, const char *branch, int parent, int other, bool accepts)
{
    const char *parents[] = {ids[parent], ids[other]};
    char *text = xprintf("%d\n", which);
    const struct helper_file files[] = {{"kernels/k.c", text, 0}, {EPOCHS_PATH, block, 0}};
    helper_repo_commit(ids[which], directory, branch, parents,
                       which == ROOT     ? 0
                       : parent == other ? 1
                                         : 2,
                       which, "step\n", files, accepts ? 2 : 1);
    free(text);
}

static int set_up(void **state)
{
    git_repository *git = NULL;
    directory = helper_directory();
    if (git_libgit2_init() < 1 || git_repository_init(&git, directory, 0))
        return -1;
    git_repository_free(git);
    commit(ROOT, "root", ROOT, ROOT, false);
    commit(CHANGE, "change", ROOT, ROOT, false);
    block = xprintf("series = k * *\ncommit = %s\nlevel = 0.1\nreason = meant\nwho = A\n"
                    "when = 2026-11-21\n",
                    ids[CHANGE]);
    commit(ACCEPT, "forwarded", CHANGE, CHANGE, true);
    commit(MERGE, "merged", ROOT, ACCEPT, true);
    commit(SQUASH, "squashed", ROOT, ROOT, true);
    commit(LATER, "later", SQUASH, SQUASH, true);
    return 0;
}

AROUND_ALL(set_up, NULL);

static void counts_from(int expected, const char *head)
{
    struct repository *repository;
    struct epoch_list list;
    struct arena arena = {0};
    struct error err;
    assert_int_equal(repository_open(&repository, directory, &err), 0);
    assert_int_equal(epoch_parse(&list, block, strlen(block), "block", &arena, &err), 0);
    assert_int_equal(epochs_on_line(&list, repository, head, &arena, &err), 0);
    assert_string_equal(list.epochs[0].commit, ids[expected]);
    arena_free(&arena);
    repository_close(repository);
}

TEST(what_is_on_the_line_stays)
{
    counts_from(CHANGE, "forwarded");
}

TEST(a_merge_stands_for_what_it_merged)
{
    counts_from(MERGE, "merged");
}

TEST(a_squash_stands_for_the_branch)
{
    counts_from(SQUASH, "squashed");
    counts_from(SQUASH, "later");
}

TEST(what_is_not_committed_stays)
{
    counts_from(CHANGE, "change");
    counts_from(CHANGE, "root");
    counts_from(CHANGE, "no-such-branch");
}
