// SPDX-License-Identifier: Apache-2.0
//
// The line of a commit is its first parents: a branch that was merged is on none, nor is what came
// later; and the line of one commit is no part of another's, whichever was asked for before.
#include "ci/gate/linking.h"
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/test.h"

static bool before(struct context *context, const struct helper_opened *opened,
                   enum helper_commit head, enum helper_commit commit)
{
    struct run run = {0};
    struct error err;
    assert_int_equal(repository_commit(&run.head, context->repository, opened->repo.ids[head],
                                       &context->arena, &err),
                     0);
    return line_has(&run, opened->repo.ids[commit], context);
}

AROUND_ALL(helper_opened_set_up, helper_opened_tear_down);

TEST(a_line_has_first_parents_alone)
{
    const struct helper_opened *opened = *state;
    struct context context = {.repository = opened->open};
    assert_true(before(&context, opened, REPO_FASTER, REPO_START));
    assert_true(before(&context, opened, REPO_FASTER, REPO_MERGE));
    assert_true(before(&context, opened, REPO_FASTER, REPO_RENAME));
    assert_false(before(&context, opened, REPO_FASTER, REPO_DOCS));
    assert_false(before(&context, opened, REPO_FASTER, REPO_FASTER));
    assert_true(before(&context, opened, REPO_DOCS, REPO_COMMENT));
    assert_false(before(&context, opened, REPO_DOCS, REPO_RENAME));
    assert_false(before(&context, opened, REPO_MERGE, REPO_SLOWER));
    assert_true(before(&context, opened, REPO_SLOWER, REPO_MERGE));
    arena_free(&context.arena);
}
