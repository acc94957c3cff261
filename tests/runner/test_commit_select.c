// SPDX-License-Identifier: Apache-2.0
//
// Which commits a range names, in which order, and where branches left each other.
#include "runner/git/repository.h"
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/test.h"

#include <git2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct commit_list select_commits(struct helper_opened *f, const char *range, size_t steps,
                                         bool first_parent)
{
    struct commit_selection selection = {
        .range = range, .steps = steps, .first_parent = first_parent};
    struct commit_list list = {0};
    struct error err;
    if (repository_select(&list, f->open, &selection, &f->arena, &err))
        fail_msg("%s", err.text);
    return list;
}

static void expect(const struct helper_opened *f, struct commit_list list, const int *which,
                   size_t count)
{
    assert_int_equal(list.count, count);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(list.items[i].id, f->repo.ids[which[i]]);
}

AROUND_ALL(helper_opened_set_up, helper_opened_tear_down);

TEST(select_all_is_every_commit_oldest_first)
{
    struct helper_opened *f = *state;
    int which[REPO_COMMITS];
    for (int i = 0; i < REPO_COMMITS; i++)
        which[i] = i;
    expect(f, select_commits(f, "ALL", 0, false), which, REPO_COMMITS);
}

TEST(select_range_leaves_out_what_a_reaches)
{
    struct helper_opened *f = *state;
    expect(f, select_commits(f, "v0.2..HEAD~5", 0, false),
           (const int[]){REPO_SLOWER, REPO_REVERT, REPO_UNBUILDABLE, REPO_FIXED}, 4);
    expect(f, select_commits(f, "v0.1..v0.2", 0, false),
           (const int[]){REPO_COMMENT, REPO_DOCS, REPO_RENAME, REPO_MERGE}, 4);
    expect(f, select_commits(f, "HEAD..HEAD", 0, false), NULL, 0);
    expect(f, select_commits(f, "HEAD~2..", 0, false), (const int[]){REPO_AWAKE, REPO_FASTER}, 2);
}

// DOCS and MERGE change the README alone.
TEST(select_changes_passes_over_what_touches_no_path)
{
    struct helper_opened *f = *state;
    static const char *const paths[] = {"README.md", "no/such/folder"};
    struct commit_selection selection = {.range = "v0.1..HEAD",
                                         .only_changes = true,
                                         .paths = helper_repo_inputs,
                                         .path_count = helper_repo_input_count};
    struct commit_list list = {0};
    struct error err;
    assert_int_equal(repository_select(&list, f->open, &selection, &f->arena, &err), 0);
    expect(f, list,
           (const int[]){REPO_COMMENT, REPO_RENAME, REPO_SLOWER, REPO_REVERT, REPO_UNBUILDABLE,
                         REPO_FIXED, REPO_WRONG, REPO_RIGHT, REPO_HANG, REPO_AWAKE, REPO_FASTER},
           11);
    assert_int_equal(list.passed_over, 2);
    selection.steps = 2;
    assert_int_equal(repository_select(&list, f->open, &selection, &f->arena, &err), 0);
    expect(f, list, (const int[]){REPO_COMMENT, REPO_FASTER}, 2);
    selection = (struct commit_selection){
        .range = "v0.1..v0.2", .only_changes = true, .paths = paths, .path_count = 2};
    assert_int_equal(repository_select(&list, f->open, &selection, &f->arena, &err), 0);
    expect(f, list, (const int[]){REPO_COMMENT, REPO_DOCS, REPO_MERGE}, 3);
}

TEST(select_first_parent_has_one_commit_per_merge)
{
    struct helper_opened *f = *state;
    expect(f, select_commits(f, "v0.1..v0.2", 0, true),
           (const int[]){REPO_COMMENT, REPO_RENAME, REPO_MERGE}, 3);
    expect(f, select_commits(f, "docs..v0.2", 0, true), (const int[]){REPO_RENAME, REPO_MERGE}, 2);
    // What the other side reaches stays out, by whatever way: main has docs through its merge.
    expect(f, select_commits(f, "main..docs", 0, true), NULL, 0);
}

TEST(select_all_works_where_head_names_no_branch)
{
    struct helper_opened *f = *state;
    char *directory = helper_directory(), id[OBJECT_ID_TEXT];
    git_repository *git = NULL;
    assert_int_equal(git_repository_init(&git, directory, 1), 0);
    git_repository_free(git);
    const struct helper_file file = {"f", "a", 0};
    helper_repo_commit(id, directory, "trunk", NULL, 0, 0, "x\n", &file, 1);
    struct repository *repository;
    struct commit_list list;
    struct error err;
    assert_int_equal(repository_open(&repository, directory, &err), 0);
    struct commit_selection selection = {.range = "ALL"};
    assert_int_equal(repository_select(&list, repository, &selection, &f->arena, &err), 0);
    assert_int_equal(list.count, 1);
    assert_string_equal(list.items[0].id, id);
    repository_close(repository);
    helper_discard(directory);
    free(directory);
}

TEST(select_single_revision_is_that_commit)
{
    struct helper_opened *f = *state;
    expect(f, select_commits(f, "docs", 0, false), (const int[]){REPO_DOCS}, 1);
}

TEST(select_tags_are_the_tagged_commits)
{
    struct helper_opened *f = *state;
    expect(f, select_commits(f, "TAGS", 0, false), (const int[]){REPO_TUNE, REPO_MERGE}, 2);
}

TEST(select_steps_are_even_and_keep_both_ends)
{
    struct helper_opened *f = *state;
    expect(f, select_commits(f, "ALL", 3, false), (const int[]){0, 7, 14}, 3);
    expect(f, select_commits(f, "ALL", 1, false), (const int[]){14}, 1);
    expect(f, select_commits(f, "ALL", 2, false), (const int[]){0, 14}, 2);
    for (size_t steps = 1; steps <= 20; steps++) {
        struct commit_list list = select_commits(f, "ALL", steps, false);
        assert_int_equal(list.count, steps < 15 ? steps : 15);
        for (size_t i = 1; i < list.count; i++)
            assert_true(list.items[i].time_s > list.items[i - 1].time_s);
    }
}

TEST(select_bad_ranges_are_errors)
{
    struct helper_opened *f = *state;
    struct commit_list list;
    struct error err;
    struct commit_selection selection = {.range = "v0.1...v0.2"};
    assert_int_equal(repository_select(&list, f->open, &selection, &f->arena, &err), -1);
    assert_non_null(strstr(err.text, "A..B"));
    static const char *const unknown[] = {"v0.1..nowhere", "nowhere..v0.1", "nowhere", "v0.1^9"};
    for (size_t i = 0; i < ARRAY_COUNT(unknown); i++) {
        selection.range = unknown[i];
        assert_int_equal(repository_select(&list, f->open, &selection, &f->arena, &err), -1);
        assert_non_null(strstr(err.text, i < 3 ? "nowhere" : "v0.1^9"));
    }
}

TEST(select_puts_parents_first_when_clocks_are_wrong)
{
    char *directory = helper_directory();
    git_repository *git = NULL;
    assert_int_equal(git_repository_init(&git, directory, 0), 0);
    git_repository_free(git);
    char ids[4][OBJECT_ID_TEXT];
    const int hours[] = {9, 5, 1, 3}; // each child is older than its parent, by its clock
    for (int i = 0; i < 4; i++) {
        const char *parents[] = {i ? ids[i - 1] : NULL};
        const struct helper_file file = {"f", i % 2 ? "a" : "b", 0};
        helper_repo_commit(ids[i], directory, "master", parents, i ? 1 : 0, hours[i], "x\n", &file,
                           1);
    }
    struct repository *repository;
    struct arena arena = {0};
    struct commit_list list;
    struct error err;
    assert_int_equal(repository_open(&repository, directory, &err), 0);
    struct commit_selection selection = {.range = "ALL"};
    assert_int_equal(repository_select(&list, repository, &selection, &arena, &err), 0);
    assert_int_equal(list.count, 4);
    for (int i = 0; i < 4; i++)
        assert_string_equal(list.items[i].id, ids[i]);
    arena_free(&arena);
    repository_close(repository);
    helper_discard(directory);
    free(directory);
}

TEST(merge_base_is_where_the_branch_left)
{
    struct helper_opened *f = *state;
    struct commit base;
    struct error err;
    const char *rename = f->repo.ids[REPO_RENAME];
    assert_int_equal(repository_merge_base(&base, f->open, rename, "docs", &f->arena, &err), 0);
    assert_string_equal(base.id, f->repo.ids[REPO_COMMENT]);
    assert_int_equal(repository_merge_base(&base, f->open, "main", "docs", &f->arena, &err), 0);
    assert_string_equal(base.id, f->repo.ids[REPO_DOCS]); // merged: docs itself
}

// Against libgit2, on every pair of the history.
TEST(merge_base_agrees_with_libgit2)
{
    struct helper_opened *f = *state;
    git_repository *git = NULL;
    assert_int_equal(git_repository_open(&git, f->repo.directory), 0);
    for (int a = 0; a < REPO_COMMITS; a++) {
        for (int b = 0; b < REPO_COMMITS; b++) {
            git_oid one, two, best;
            struct commit base;
            struct error err;
            git_oid_fromstr(&one, f->repo.ids[a]);
            git_oid_fromstr(&two, f->repo.ids[b]);
            assert_int_equal(git_merge_base(&best, git, &one, &two), 0);
            assert_int_equal(repository_merge_base(&base, f->open, f->repo.ids[a], f->repo.ids[b],
                                                   &f->arena, &err),
                             0);
            assert_string_equal(base.id, git_oid_tostr_s(&best));
        }
    }
    git_repository_free(git);
}
