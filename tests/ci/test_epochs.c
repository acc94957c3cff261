// SPDX-License-Identifier: Apache-2.0
//
// The commit that an accepted change counts from, on real histories: one that is fast-forwarded,
// merged, squashed, and not committed yet.
#include "ci/gate/linking.h"
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

// A plain run's alarm that the change accepts is no alarm, and what is undecided stays undecided.
TEST(a_slower_code_is_accepted_by_the_epoch_that_came_with_it)
{
    struct context context = {0};
    struct device device = {.uuid = "host-1"};
    struct result r = {.kernel = "k", .problem = {.m = 8, .n = 8, .k = 8, .batch = 1}};
    struct run run = {.results = &r, .count = 1, .devices = &device, .device_count = 1};
    struct commit root;
    struct error err;
    const struct verdict slower = {.kind = VERDICT_SLOWER,
                                   .log_ratio = {0.06, 0.05, 0.07},
                                   .pairs = 64,
                                   .sentence = "k 8x8x8 slower"};
    assert_int_equal(repository_open(&context.repository, directory, &err), 0);
    assert_int_equal(repository_commit(&root, context.repository, "root", &run.arena, &err), 0);
    assert_int_equal(
        repository_commit(&run.head, context.repository, "forwarded", &run.arena, &err), 0);
    r.verdict = slower;
    accepting_slower(&run, &r, &root, &context);
    assert_int_equal(r.verdict.kind, VERDICT_ACCEPTED);
    r.verdict = slower;
    r.verdict.kind = VERDICT_UNDECIDED; // a link that is undecided stays so: more pairs decide it
    accepting_slower(&run, &r, &root, &context);
    assert_int_equal(r.verdict.kind, VERDICT_UNDECIDED);
    r.verdict = slower;
    accepting_slower(&run, &r, &run.head, &context); // it accepted an earlier change
    assert_int_equal(r.verdict.kind, VERDICT_SLOWER);
    repository_close(context.repository);
    arena_free(&run.arena);
}
