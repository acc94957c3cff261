// SPDX-License-Identifier: Apache-2.0
#include "runner/repository.h"
#include "tests/helper_repo.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <git2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// One history for all tests; none of them may change it.
struct fixture {
    struct helper_repo repo;
    struct repository *open;
    struct arena arena;
};

static int set_up(void **state)
{
    struct fixture *f = xcalloc(1, sizeof(*f));
    struct error err;
    helper_repo_create(&f->repo);
    if (repository_open(&f->open, f->repo.directory, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return -1;
    }
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    repository_close(f->open);
    arena_free(&f->arena);
    helper_repo_remove(&f->repo);
    free(f);
    return 0;
}

static void write_text(const char *directory, const char *name, const char *text)
{
    char *path = xprintf("%s/%s", directory, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
    free(path);
}

static bool exists(const char *directory, const char *name)
{
    char *path = xprintf("%s/%s", directory, name);
    struct stat status;
    bool there = lstat(path, &status) == 0;
    free(path);
    return there;
}

// ---- opening

static void open_without_repository_says_so(void **state)
{
    (void)state;
    char *directory = helper_directory();
    struct repository *repository = NULL;
    struct error err;
    assert_int_equal(repository_open(&repository, directory, &err), -1);
    assert_non_null(strstr(err.text, "no git repository here or above"));
    assert_int_equal(repository_open(&repository, "/no/such/place", &err), -1);
    assert_non_null(strstr(err.text, "/no/such/place"));
    assert_null(repository);
    helper_discard(directory);
    free(directory);
}

static void open_finds_the_root_from_below(void **state)
{
    struct fixture *f = *state;
    struct repository *repository;
    struct error err;
    char *below = xprintf("%s/kernels", f->repo.directory);
    assert_int_equal(repository_open(&repository, below, &err), 0);
    assert_string_equal(repository_directory(repository), f->repo.directory);
    assert_string_equal(repository_name(repository), strrchr(f->repo.directory, '/') + 1);
    repository_close(repository);
    free(below);
}

static void open_bare_repository_works(void **state)
{
    struct fixture *f = *state;
    char *directory = helper_directory(), *bare = xprintf("%s/project.git", directory);
    git_repository *git = NULL;
    git_remote *remote = NULL;
    assert_int_equal(git_repository_init(&git, bare, 1), 0);
    assert_int_equal(git_remote_create_anonymous(&remote, git, f->repo.directory), 0);
    const char *specs[] = {"+refs/heads/*:refs/heads/*"};
    git_strarray list = {(char **)(uintptr_t)specs, 1};
    assert_int_equal(git_remote_fetch(remote, &list, NULL, NULL), 0);
    git_remote_free(remote);
    git_repository_free(git);

    struct repository *repository;
    struct commit commit;
    struct error err;
    assert_int_equal(repository_open(&repository, bare, &err), 0);
    assert_string_equal(repository_name(repository), "project");
    assert_int_equal(repository_commit(&commit, repository, "main", &f->arena, &err), 0);
    assert_string_equal(commit.id, f->repo.ids[REPO_FASTER]);
    char *out = xprintf("%s/out", directory);
    assert_int_equal(repository_export(repository, commit.id, NULL, 0, out, &err), 0);
    assert_true(exists(out, "kernels/plain.c"));
    repository_close(repository);
    helper_discard(directory);
    free(out);
    free(bare);
    free(directory);
}

static void empty_repository_says_that_there_is_no_commit(void **state)
{
    struct fixture *f = *state;
    char *directory = helper_directory();
    git_repository *git = NULL;
    assert_int_equal(git_repository_init(&git, directory, 0), 0);
    git_repository_free(git);
    struct repository *repository;
    struct commit commit;
    struct commit_list list;
    struct error err;
    assert_int_equal(repository_open(&repository, directory, &err), 0);
    assert_int_equal(repository_commit(&commit, repository, "HEAD", &f->arena, &err), -1);
    assert_non_null(strstr(err.text, "no commit yet"));
    struct commit_selection all = {.range = "ALL"};
    assert_int_equal(repository_select(&list, repository, &all, &f->arena, &err), -1);
    assert_non_null(strstr(err.text, "no commit yet"));
    repository_close(repository);
    helper_discard(directory);
    free(directory);
}

// ---- revisions

static void commit_is_read_whole(void **state)
{
    struct fixture *f = *state;
    struct commit commit;
    struct error err;
    assert_int_equal(repository_commit(&commit, f->open, "HEAD~2", &f->arena, &err), 0);
    assert_string_equal(commit.id, f->repo.ids[REPO_HANG]);
    assert_string_equal(commit.parent, f->repo.ids[REPO_RIGHT]);
    assert_string_equal(commit.summary, "simple: wait for something");
    assert_string_equal(commit.author, "Test");
    assert_int_equal(commit.time_s, 1700000000 + 3600 * REPO_HANG);
    struct commit merge;
    assert_int_equal(repository_commit(&merge, f->open, "v0.2", &f->arena, &err), 0);
    assert_string_equal(merge.id, f->repo.ids[REPO_MERGE]); // through an annotated tag
    struct commit revert;
    assert_int_equal(repository_commit(&revert, f->open, f->repo.ids[REPO_REVERT], &f->arena, &err),
                     0);
    assert_string_equal(revert.tree, merge.tree);
}

static void unknown_revision_is_named(void **state)
{
    struct fixture *f = *state;
    struct commit commit;
    struct error err;
    assert_int_equal(repository_commit(&commit, f->open, "no-such-branch", &f->arena, &err), -1);
    assert_non_null(strstr(err.text, "no-such-branch: no such revision"));
    assert_int_equal(repository_commit(&commit, f->open, "HEAD:README.md", &f->arena, &err), -1);
    assert_non_null(strstr(err.text, "is not a commit"));
}

static void parent_of_a_root_is_an_error(void **state)
{
    struct fixture *f = *state;
    struct commit commit, parent;
    struct error err;
    assert_int_equal(repository_commit(&commit, f->open, f->repo.ids[REPO_TUNE], &f->arena, &err),
                     0);
    assert_int_equal(repository_parent(&parent, f->open, &commit, &f->arena, &err), 0);
    assert_string_equal(parent.id, f->repo.ids[REPO_START]);
    assert_int_equal(repository_parent(&commit, f->open, &parent, &f->arena, &err), -1);
    assert_non_null(strstr(err.text, "has no parent"));
}

// A shallow clone as git makes it: the commits at the edge are there, their parents are not.
static struct repository *shallow_clone(struct fixture *f, char **directory)
{
    *directory = helper_directory();
    git_repository *from = NULL, *to = NULL;
    git_odb *source = NULL, *target = NULL;
    assert_int_equal(git_repository_open(&from, f->repo.directory), 0);
    assert_int_equal(git_repository_init(&to, *directory, 0), 0);
    assert_int_equal(git_repository_odb(&source, from), 0);
    assert_int_equal(git_repository_odb(&target, to), 0);
    for (int i = REPO_AWAKE; i <= REPO_FASTER; i++) {
        git_oid id, copy;
        git_odb_object *object = NULL;
        assert_int_equal(git_oid_fromstr(&id, f->repo.ids[i]), 0);
        assert_int_equal(git_odb_read(&object, source, &id), 0);
        assert_int_equal(git_odb_write(&copy, target, git_odb_object_data(object),
                                       git_odb_object_size(object), GIT_OBJECT_COMMIT),
                         0);
        git_odb_object_free(object);
    }
    git_odb_free(source);
    git_odb_free(target);
    git_repository_free(from);
    git_repository_free(to);
    char *line = xprintf("%s\n", f->repo.ids[REPO_AWAKE]);
    write_text(*directory, ".git/shallow", line);
    char *head = xprintf("%s\n", f->repo.ids[REPO_FASTER]);
    write_text(*directory, ".git/HEAD", head);
    free(line);
    free(head);
    struct repository *repository;
    struct error err;
    assert_int_equal(repository_open(&repository, *directory, &err), 0);
    return repository;
}

static void shallow_clone_works_up_to_its_edge_and_says_what_to_do(void **state)
{
    struct fixture *f = *state;
    char *directory;
    struct repository *repository = shallow_clone(f, &directory);
    struct commit head, parent, beyond;
    struct commit_list list;
    struct error err;
    assert_int_equal(repository_commit(&head, repository, "HEAD", &f->arena, &err), 0);
    assert_int_equal(repository_parent(&parent, repository, &head, &f->arena, &err), 0);
    assert_string_equal(parent.id, f->repo.ids[REPO_AWAKE]);
    assert_int_equal(repository_parent(&beyond, repository, &parent, &f->arena, &err), -1);
    assert_non_null(strstr(err.text, "git fetch --unshallow"));
    assert_int_equal(repository_commit(&beyond, repository, "HEAD~2", &f->arena, &err), -1);
    assert_non_null(strstr(err.text, "git fetch --unshallow"));
    struct commit_selection selection = {.range = "HEAD~1..HEAD"};
    assert_int_equal(repository_select(&list, repository, &selection, &f->arena, &err), 0);
    assert_int_equal(list.count, 1);
    selection.range = "ALL";
    assert_int_equal(repository_select(&list, repository, &selection, &f->arena, &err), 0);
    assert_int_equal(list.count, 2);
    assert_int_equal(repository_merge_base(&beyond, repository, "HEAD", "HEAD~1", &f->arena, &err),
                     0);
    assert_string_equal(beyond.id, f->repo.ids[REPO_AWAKE]);
    repository_close(repository);
    helper_discard(directory);
    free(directory);
}

// ---- selection

static struct commit_list select_commits(struct fixture *f, const char *range, size_t steps,
                                         bool first_parent)
{
    struct commit_selection selection = {range, steps, first_parent};
    struct commit_list list = {0};
    struct error err;
    if (repository_select(&list, f->open, &selection, &f->arena, &err))
        fail_msg("%s", err.text);
    return list;
}

static void expect(const struct fixture *f, struct commit_list list, const int *which, size_t count)
{
    assert_int_equal(list.count, count);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(list.items[i].id, f->repo.ids[which[i]]);
}

static void select_all_is_every_commit_oldest_first(void **state)
{
    struct fixture *f = *state;
    int which[REPO_COMMITS];
    for (int i = 0; i < REPO_COMMITS; i++)
        which[i] = i;
    expect(f, select_commits(f, "ALL", 0, false), which, REPO_COMMITS);
}

static void select_range_leaves_out_what_a_reaches(void **state)
{
    struct fixture *f = *state;
    expect(f, select_commits(f, "v0.2..HEAD~5", 0, false),
           (const int[]){REPO_SLOWER, REPO_REVERT, REPO_UNBUILDABLE, REPO_FIXED}, 4);
    expect(f, select_commits(f, "v0.1..v0.2", 0, false),
           (const int[]){REPO_COMMENT, REPO_DOCS, REPO_RENAME, REPO_MERGE}, 4);
    expect(f, select_commits(f, "HEAD..HEAD", 0, false), NULL, 0);
    expect(f, select_commits(f, "HEAD~2..", 0, false), (const int[]){REPO_AWAKE, REPO_FASTER}, 2);
}

static void select_first_parent_has_one_commit_per_merge(void **state)
{
    struct fixture *f = *state;
    expect(f, select_commits(f, "v0.1..v0.2", 0, true),
           (const int[]){REPO_COMMENT, REPO_RENAME, REPO_MERGE}, 3);
    expect(f, select_commits(f, "docs..v0.2", 0, true), (const int[]){REPO_RENAME, REPO_MERGE}, 2);
    // What the other side reaches stays out, by whatever way: main has docs through its merge.
    expect(f, select_commits(f, "main..docs", 0, true), NULL, 0);
}

static void select_all_works_where_head_names_no_branch(void **state)
{
    struct fixture *f = *state;
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

static void select_single_revision_is_that_commit(void **state)
{
    struct fixture *f = *state;
    expect(f, select_commits(f, "docs", 0, false), (const int[]){REPO_DOCS}, 1);
}

static void select_tags_are_the_tagged_commits(void **state)
{
    struct fixture *f = *state;
    expect(f, select_commits(f, "TAGS", 0, false), (const int[]){REPO_TUNE, REPO_MERGE}, 2);
}

static void select_steps_are_even_and_keep_both_ends(void **state)
{
    struct fixture *f = *state;
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

static void select_bad_ranges_are_errors(void **state)
{
    struct fixture *f = *state;
    struct commit_list list;
    struct error err;
    struct commit_selection selection = {.range = "v0.1...v0.2"};
    assert_int_equal(repository_select(&list, f->open, &selection, &f->arena, &err), -1);
    assert_non_null(strstr(err.text, "A..B"));
    selection.range = "v0.1..nowhere";
    assert_int_equal(repository_select(&list, f->open, &selection, &f->arena, &err), -1);
    assert_non_null(strstr(err.text, "nowhere"));
}

static void select_puts_parents_first_when_clocks_are_wrong(void **state)
{
    (void)state;
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

static void merge_base_is_where_the_branch_left(void **state)
{
    struct fixture *f = *state;
    struct commit base;
    struct error err;
    const char *rename = f->repo.ids[REPO_RENAME];
    assert_int_equal(repository_merge_base(&base, f->open, rename, "docs", &f->arena, &err), 0);
    assert_string_equal(base.id, f->repo.ids[REPO_COMMENT]);
    assert_int_equal(repository_merge_base(&base, f->open, "main", "docs", &f->arena, &err), 0);
    assert_string_equal(base.id, f->repo.ids[REPO_DOCS]); // merged: docs itself
}

// Against libgit2, on every pair of the history.
static void merge_base_agrees_with_libgit2(void **state)
{
    struct fixture *f = *state;
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

// ---- files

static void path_ids_follow_contents(void **state)
{
    struct fixture *f = *state;
    char a[OBJECT_ID_TEXT], b[OBJECT_ID_TEXT];
    struct error err;
    const char *const *ids = (const char *const[]){
        f->repo.ids[REPO_MERGE], f->repo.ids[REPO_REVERT], f->repo.ids[REPO_SLOWER]};
    assert_int_equal(repository_path_id(a, f->open, ids[0], "kernels", &err), 0);
    assert_int_equal(repository_path_id(b, f->open, ids[1], "./kernels/", &err), 0);
    assert_string_equal(a, b);
    assert_int_equal(repository_path_id(b, f->open, ids[2], "kernels", &err), 0);
    assert_string_not_equal(a, b);
    assert_int_equal(repository_path_id(a, f->open, ids[2], "kernels/simple.c", &err), 0);
    assert_string_equal(a, ""); // renamed away
    assert_int_equal(repository_path_id(a, f->open, ids[2], "../etc", &err), 0);
    assert_string_equal(a, "");
    struct commit commit;
    assert_int_equal(repository_commit(&commit, f->open, ids[0], &f->arena, &err), 0);
    assert_int_equal(repository_path_id(a, f->open, ids[0], "", &err), 0);
    assert_string_equal(a, commit.tree);
}

static void read_gives_the_bytes_at_that_commit(void **state)
{
    struct fixture *f = *state;
    char *text = NULL;
    size_t size = 0;
    struct error err;
    assert_int_equal(
        repository_read(&text, &size, f->open, f->repo.ids[REPO_START], "README.md", &err), 0);
    assert_string_equal(text, "Two kernels.\n");
    assert_int_equal(size, 13);
    free(text);
    assert_int_equal(
        repository_read(&text, &size, f->open, f->repo.ids[REPO_START], "kernels", &err), -1);
    assert_non_null(strstr(err.text, "kernels: not a regular file"));
    assert_int_equal(
        repository_read(&text, &size, f->open, f->repo.ids[REPO_START], "plumb.cfg", &err), -1);
    assert_non_null(strstr(err.text, "plumb.cfg: not there in commit"));
}

static void content_id_is_gits_blob_id(void **state)
{
    (void)state;
    char id[OBJECT_ID_TEXT];
    content_id(id, "", 0);
    assert_string_equal(id, "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"); // known to all who use git
    content_id(id, "hello\n", 6);
    assert_string_equal(id, "ce013625030ba8dba906f756967f9e9ca394464a");
}

static void changes_are_counted_by_line(void **state)
{
    struct fixture *f = *state;
    struct file_change_list list;
    struct error err;
    assert_int_equal(repository_changes(&list, f->open, f->repo.ids[REPO_MERGE],
                                        f->repo.ids[REPO_SLOWER], &f->arena, &err),
                     0);
    assert_int_equal(list.count, 1);
    assert_string_equal(list.items[0].path, "kernels/plain.c");
    assert_int_equal(list.items[0].status, 'M');
    assert_int_equal(list.items[0].added, 1);
    assert_int_equal(list.items[0].removed, 0);
    assert_int_equal(repository_changes(&list, f->open, f->repo.ids[REPO_COMMENT],
                                        f->repo.ids[REPO_RENAME], &f->arena, &err),
                     0);
    assert_int_equal(list.count, 1);
    assert_int_equal(list.items[0].status, 'R');
    assert_string_equal(list.items[0].old_path, "kernels/simple.c");
    assert_string_equal(list.items[0].path, "kernels/plain.c");
    assert_int_equal(repository_changes(&list, f->open, f->repo.ids[REPO_MERGE],
                                        f->repo.ids[REPO_REVERT], &f->arena, &err),
                     0);
    assert_int_equal(list.count, 0);
}

// ---- export

static void export_writes_the_committed_bytes(void **state)
{
    struct fixture *f = *state;
    char *directory = helper_directory(), *out = xprintf("%s/out", directory);
    const char *paths[] = {"include", "kernels/blocked.c", "./kernels/", "not-there"};
    struct error err;
    assert_int_equal(repository_export(f->open, f->repo.ids[REPO_START], paths, 4, out, &err), 0);
    assert_true(exists(out, "include/kernel.h"));
    assert_true(exists(out, "kernels/simple.c"));
    assert_true(exists(out, "kernels/blocked.c"));
    assert_false(exists(out, "README.md"));
    char *compare = xprintf("cmp -s '%s/include/kernel.h' '%s/kernels/kernel.h'", out, TEST_SOURCE);
    assert_int_equal(system(compare), 0);
    assert_int_equal(repository_export(f->open, f->repo.ids[REPO_START], paths, 4, out, &err), -1);
    assert_non_null(strstr(err.text, "File exists"));
    assert_true(exists(out, "include/kernel.h")); // and it stays as it was
    free(compare);
    helper_discard(directory);
    free(out);
    free(directory);
}

static void export_of_absent_inputs_is_the_commits_fault(void **state)
{
    struct fixture *f = *state;
    char *directory = helper_directory(), *out = xprintf("%s/out", directory);
    const char *paths[] = {"not-there"};
    struct error err;
    assert_int_equal(repository_export(f->open, f->repo.ids[REPO_START], paths, 1, out, &err), 1);
    assert_non_null(strstr(err.text, "not-there"));
    assert_false(exists(directory, "out"));
    helper_discard(directory);
    free(out);
    free(directory);
}

// Checkout, index, HEAD, branches and configuration as one text.
static char *snapshot(const char *directory)
{
    char *command = xprintf("cd '%s' && (find . -path ./.git/objects -prune -o -type f -print0 | "
                            "sort -z | xargs -0 sha1sum; find . -printf '%%p %%m %%T@\\n' | sort)",
                            directory);
    FILE *pipe = popen(command, "r");
    char *text = xcalloc(1 << 20, 1);
    size_t size = fread(text, 1, (1 << 20) - 1, pipe);
    assert_true(size > 1000 && size < (1 << 20) - 1);
    assert_int_equal(pclose(pipe), 0);
    free(command);
    return text;
}

static void nothing_touches_the_users_checkout(void **state)
{
    struct fixture *f = *state;
    char *directory = helper_directory(), *out = xprintf("%s/out", directory);
    struct error err;
    struct commit base;
    struct file_change_list changes;
    char *before = snapshot(f->repo.directory);
    assert_int_equal(repository_export(f->open, f->repo.ids[REPO_TUNE], NULL, 0, out, &err), 0);
    select_commits(f, "ALL", 0, false);
    assert_int_equal(repository_merge_base(&base, f->open, "main", "docs", &f->arena, &err), 0);
    assert_int_equal(
        repository_changes(&changes, f->open, f->repo.ids[0], f->repo.ids[5], &f->arena, &err), 0);
    char *after = snapshot(f->repo.directory);
    assert_string_equal(before, after);
    free(before);
    free(after);
    helper_discard(directory);
    free(out);
    free(directory);
}

// A fresh repository with one hostile commit, exported; returns what repository_export did.
static int export_hostile(const struct helper_file *files, size_t count, struct error *err,
                          const char *expected)
{
    char *directory = helper_directory(), *out = xprintf("%s/out", directory);
    char *work = xprintf("%s/repo", directory);
    git_repository *git = NULL;
    assert_int_equal(git_repository_init(&git, work, 0), 0);
    git_repository_free(git);
    char id[OBJECT_ID_TEXT];
    helper_repo_commit(id, work, "master", NULL, 0, 0, "hostile\n", files, count);
    struct repository *repository;
    assert_int_equal(repository_open(&repository, work, err), 0);
    int result = repository_export(repository, id, NULL, 0, out, err);
    assert_int_equal(exists(directory, "out"), result == 0);
    if (expected)
        assert_true(exists(out, expected));
    repository_close(repository);
    helper_discard(directory);
    free(work);
    free(out);
    free(directory);
    return result;
}

static void export_refuses_links_that_leave(void **state)
{
    (void)state;
    static const char *const bad[] = {"/etc/passwd",   "../x",      "..",    "../../../etc",
                                      "down/../../..", "down/../x", "//etc", "./../.."};
    for (size_t i = 0; i < ARRAY_COUNT(bad); i++) {
        const struct helper_file files[] = {{"a/file", "x", 0},
                                            {"link", bad[i], GIT_FILEMODE_LINK}};
        struct error err;
        assert_int_equal(export_hostile(files, 2, &err, NULL), 1);
        assert_non_null(strstr(err.text, "link out of the export"));
    }
    static const char *const good[] = {"file", "../a/file", "./file", "..", "dangling..name"};
    for (size_t i = 0; i < ARRAY_COUNT(good); i++) {
        const struct helper_file files[] = {{"a/file", "x", 0},
                                            {"a/link", good[i], GIT_FILEMODE_LINK}};
        struct error err;
        assert_int_equal(export_hostile(files, 2, &err, "a/link"), 0);
    }
}

static void export_keeps_modes_and_empty_submodules(void **state)
{
    (void)state;
    const struct helper_file files[] = {{"run", "#!/bin/sh\n", GIT_FILEMODE_BLOB_EXECUTABLE},
                                        {"crlf", "a\r\nb\r\n", 0},
                                        {".gitattributes", "* text=auto eol=lf ident\n", 0},
                                        {"ident", "$Id$\n", 0}};
    struct error err;
    assert_int_equal(export_hostile(files, 4, &err, "run"), 0);
}

// Trees that libgit2 and git refuse to write: made byte by byte.
static void raw_tree(char out[OBJECT_ID_TEXT], git_odb *odb, const char *mode, const char *name,
                     const git_oid *id, int copies)
{
    char bytes[1024];
    size_t used = 0;
    for (int i = 0; i < copies; i++) {
        int length = snprintf(bytes + used, 400, "%s %s", mode, name);
        used += (size_t)length + 1;
        memcpy(bytes + used, id->id, GIT_OID_RAWSZ);
        used += GIT_OID_RAWSZ;
    }
    git_oid tree;
    assert_int_equal(git_odb_write(&tree, odb, bytes, used, GIT_OBJECT_TREE), 0);
    git_oid_tostr(out, OBJECT_ID_TEXT, &tree);
}

static void raw_commit(char out[OBJECT_ID_TEXT], git_odb *odb, const char *tree)
{
    char *text = xprintf("tree %s\nauthor T <t@e> 1700000000 +0000\n"
                         "committer T <t@e> 1700000000 +0000\n\nx\n",
                         tree);
    git_oid id;
    assert_int_equal(git_odb_write(&id, odb, text, strlen(text), GIT_OBJECT_COMMIT), 0);
    git_oid_tostr(out, OBJECT_ID_TEXT, &id);
    free(text);
}

static void export_refuses_hostile_trees(void **state)
{
    (void)state;
    char *directory = helper_directory(), *out = xprintf("%s/sub/out", directory);
    char *work = xprintf("%s/repo", directory), *sub = xprintf("%s/sub", directory);
    git_repository *git = NULL;
    git_odb *odb = NULL;
    git_oid blob;
    assert_int_equal(git_repository_init(&git, work, 0), 0);
    assert_int_equal(git_repository_odb(&odb, git), 0);
    assert_int_equal(git_odb_write(&blob, odb, "evil", 4, GIT_OBJECT_BLOB), 0);
    assert_int_equal(mkdir(sub, 0777), 0);
    struct repository *repository;
    struct error err;
    assert_int_equal(repository_open(&repository, work, &err), 0);
    const struct {
        const char *mode, *name;
        int copies;
    } cases[] = {{"100644", "..", 1},    {"100644", "../evil", 1}, {"100644", "/tmp/evil", 1},
                 {"100644", ".git", 1},  {"100644", ".GIT", 1},    {"100644", "a/b", 1},
                 {"100644", "twice", 2}, {"40000", "blob", 1},     {"100644", ".", 1},
                 {"120000", "link", 1}};
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        char tree[OBJECT_ID_TEXT], commit[OBJECT_ID_TEXT];
        raw_tree(tree, odb, cases[i].mode, cases[i].name, &blob, cases[i].copies);
        raw_commit(commit, odb, tree);
        int result = repository_export(repository, commit, NULL, 0, out, &err);
        bool harmless = strcmp(cases[i].mode, "120000") == 0; // a link to "evil", dangling
        assert_int_equal(result == 0, harmless);
        assert_int_equal(exists(sub, "out"), harmless);
        assert_false(exists(sub, "evil"));
        assert_false(exists("/tmp", "evil"));
    }
    git_odb_free(odb);
    git_repository_free(git);
    repository_close(repository);
    helper_discard(directory);
    free(sub);
    free(work);
    free(out);
    free(directory);
}

static void export_refuses_a_tower_of_folders(void **state)
{
    (void)state;
    char *directory = helper_directory(), *out = xprintf("%s/out", directory);
    char *work = xprintf("%s/repo", directory);
    git_repository *git = NULL;
    git_odb *odb = NULL;
    git_oid id;
    assert_int_equal(git_repository_init(&git, work, 0), 0);
    assert_int_equal(git_repository_odb(&odb, git), 0);
    assert_int_equal(git_odb_write(&id, odb, "x", 1, GIT_OBJECT_BLOB), 0);
    char tree[OBJECT_ID_TEXT], commit[OBJECT_ID_TEXT];
    for (int i = 0; i < 2000; i++) {
        raw_tree(tree, odb, i ? "40000" : "100644", "d", &id, 1);
        git_oid_fromstr(&id, tree);
    }
    raw_commit(commit, odb, tree);
    struct repository *repository;
    struct error err;
    assert_int_equal(repository_open(&repository, work, &err), 0);
    assert_int_equal(repository_export(repository, commit, NULL, 0, out, &err), 1);
    assert_non_null(strstr(err.text, "too deep"));
    assert_false(exists(directory, "out"));
    git_odb_free(odb);
    git_repository_free(git);
    repository_close(repository);
    helper_discard(directory);
    free(work);
    free(out);
    free(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(open_without_repository_says_so),
        cmocka_unit_test(open_finds_the_root_from_below),
        cmocka_unit_test(open_bare_repository_works),
        cmocka_unit_test(empty_repository_says_that_there_is_no_commit),
        cmocka_unit_test(commit_is_read_whole),
        cmocka_unit_test(unknown_revision_is_named),
        cmocka_unit_test(parent_of_a_root_is_an_error),
        cmocka_unit_test(shallow_clone_works_up_to_its_edge_and_says_what_to_do),
        cmocka_unit_test(select_all_is_every_commit_oldest_first),
        cmocka_unit_test(select_range_leaves_out_what_a_reaches),
        cmocka_unit_test(select_first_parent_has_one_commit_per_merge),
        cmocka_unit_test(select_all_works_where_head_names_no_branch),
        cmocka_unit_test(select_single_revision_is_that_commit),
        cmocka_unit_test(select_tags_are_the_tagged_commits),
        cmocka_unit_test(select_steps_are_even_and_keep_both_ends),
        cmocka_unit_test(select_bad_ranges_are_errors),
        cmocka_unit_test(select_puts_parents_first_when_clocks_are_wrong),
        cmocka_unit_test(merge_base_is_where_the_branch_left),
        cmocka_unit_test(merge_base_agrees_with_libgit2),
        cmocka_unit_test(path_ids_follow_contents),
        cmocka_unit_test(read_gives_the_bytes_at_that_commit),
        cmocka_unit_test(content_id_is_gits_blob_id),
        cmocka_unit_test(changes_are_counted_by_line),
        cmocka_unit_test(export_writes_the_committed_bytes),
        cmocka_unit_test(export_of_absent_inputs_is_the_commits_fault),
        cmocka_unit_test(nothing_touches_the_users_checkout),
        cmocka_unit_test(export_refuses_links_that_leave),
        cmocka_unit_test(export_keeps_modes_and_empty_submodules),
        cmocka_unit_test(export_refuses_hostile_trees),
        cmocka_unit_test(export_refuses_a_tower_of_folders),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
