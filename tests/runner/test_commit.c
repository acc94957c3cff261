// SPDX-License-Identifier: Apache-2.0
//
// Opening a repository, and what is read of one commit: revisions, parents, files, changes.
#include "runner/git/repository.h"
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/test.h"

#include <git2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void put_line(const char *directory, const char *name, const char *id)
{
    char *path = xprintf("%s/%s", directory, name), *line = xprintf("%s\n", id);
    helper_write_text(path, line);
    free(line);
    free(path);
}

// ---- what git put there

enum tracked { UNTRACKED, TRACKED, NOBODY_CAN_SAY };

static enum tracked is_tracked(const char *directory, const char *path)
{
    struct repository *repository;
    struct error err = {0};
    bool tracked = false;
    assert_int_equal(repository_open(&repository, directory, &err), 0);
    const int status = repository_tracks(&tracked, repository, path, &err);
    repository_close(repository);
    assert_int_equal(status != 0, err.text[0] != '\0');
    return status ? NOBODY_CAN_SAY : tracked ? TRACKED : UNTRACKED;
}

AROUND_ALL(helper_opened_set_up, helper_opened_tear_down);

// HEAD, the index, or either: and where HEAD's tree cannot be read, that is said.
TEST(what_head_or_the_index_has_is_tracked)
{
    struct helper_repo repo;
    git_repository *git = NULL;
    git_index *index = NULL;
    git_object *tree = NULL;
    char id[OBJECT_ID_TEXT];
    helper_repo_create(&repo);
    assert_int_equal(is_tracked(repo.directory, "kernels/plain.c"), TRACKED);
    assert_int_equal(is_tracked(repo.directory, "kernels"), TRACKED);
    assert_int_equal(is_tracked(repo.directory, "kernels/none.c"), UNTRACKED);

    assert_int_equal(git_repository_open(&git, repo.directory), 0);
    assert_int_equal(git_repository_index(&index, git), 0);
    git_index_clear(index);
    const git_index_entry staged = {.mode = GIT_FILEMODE_BLOB, .path = "staged/file"};
    assert_int_equal(git_index_add_from_buffer(index, &staged, "", 0), 0);
    assert_int_equal(git_index_write(index), 0);
    assert_int_equal(is_tracked(repo.directory, "kernels/plain.c"), TRACKED); // by HEAD alone
    assert_int_equal(is_tracked(repo.directory, "staged"), TRACKED);          // by the index alone
    assert_int_equal(is_tracked(repo.directory, "kernels/none.c"), UNTRACKED);

    assert_int_equal(git_revparse_single(&tree, git, "HEAD^{tree}"), 0);
    git_oid_tostr(id, sizeof(id), git_object_id(tree));
    char *object = xprintf("%s/.git/objects/%.2s/%s", repo.directory, id, id + 2);
    assert_int_equal(unlink(object), 0);
    assert_int_equal(is_tracked(repo.directory, "kernels/none.c"), NOBODY_CAN_SAY);
    free(object);
    git_object_free(tree);
    // Nor where the branch that HEAD names holds no id.
    char *head = xprintf("%s/.git/refs/heads/damaged", repo.directory);
    char *to = xprintf("%s/.git/HEAD", repo.directory);
    helper_write_text(head, "damaged\n");
    helper_write_text(to, "ref: refs/heads/damaged\n");
    assert_int_equal(is_tracked(repo.directory, "kernels/none.c"), NOBODY_CAN_SAY);
    free(to);
    free(head);
    git_index_free(index);
    git_repository_free(git);
    helper_repo_remove(&repo);
}

// ---- opening

TEST(open_without_repository_says_so)
{
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

TEST(open_finds_the_root_from_below)
{
    struct helper_opened *f = *state;
    struct repository *repository;
    struct error err;
    char *below = xprintf("%s/kernels", f->repo.directory);
    assert_int_equal(repository_open(&repository, below, &err), 0);
    assert_string_equal(repository_directory(repository), f->repo.directory);
    assert_string_equal(repository_name(repository), strrchr(f->repo.directory, '/') + 1);
    repository_close(repository);
    free(below);
}

TEST(open_bare_repository_works)
{
    struct helper_opened *f = *state;
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
    assert_int_equal(
        repository_export(NULL, repository, commit.id, NULL, 0, &helper_any_memory, out, &err), 0);
    assert_true(helper_exists(out, "kernels/plain.c"));
    repository_close(repository);
    helper_discard(directory);
    free(out);
    free(bare);
    free(directory);
}

TEST(empty_repository_says_that_there_is_no_commit)
{
    struct helper_opened *f = *state;
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

TEST(commit_is_read_whole)
{
    struct helper_opened *f = *state;
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

TEST(unknown_revision_is_named)
{
    struct helper_opened *f = *state;
    struct commit commit;
    struct error err;
    assert_int_equal(repository_commit(&commit, f->open, "no-such-branch", &f->arena, &err), -1);
    assert_non_null(strstr(err.text, "no-such-branch: no such revision"));
    assert_non_null(strstr(err.text, "`git log --all --oneline` shows commits"));
    assert_int_equal(repository_commit(&commit, f->open, "HEAD:README.md", &f->arena, &err), -1);
    assert_non_null(strstr(err.text, "is not a commit"));
}

TEST(parent_of_a_root_is_an_error)
{
    struct helper_opened *f = *state;
    struct commit commit, parent;
    struct error err;
    assert_int_equal(repository_commit(&commit, f->open, f->repo.ids[REPO_TUNE], &f->arena, &err),
                     0);
    assert_int_equal(repository_parent(&parent, f->open, &commit, &f->arena, &err), 0);
    assert_string_equal(parent.id, f->repo.ids[REPO_START]);
    assert_int_equal(repository_parent(&commit, f->open, &parent, &f->arena, &err), -1);
    assert_non_null(strstr(err.text, "has no parent"));
}

// A rebase makes them so: three in one second, two seconds after their parent, then one whose clock
// was an hour behind.
TEST(commits_of_one_second_have_their_places_after_their_parents)
{
    struct helper_opened *f = *state;
    static const int hours[] = {1, 1, 1, 0};
    struct helper_repo repo;
    struct repository *repository;
    struct commit commit;
    struct error err;
    helper_repo_create(&repo);
    char ids[ARRAY_COUNT(hours) + 1][OBJECT_ID_TEXT];
    memcpy(ids[0], repo.ids[REPO_FASTER], sizeof(ids[0]));
    assert_int_equal(repository_open(&repository, repo.directory, &err), 0);
    for (size_t i = 0; i < ARRAY_COUNT(hours); i++) {
        const char *parent = ids[i];
        const struct helper_file file = {"README.md", i % 2 ? "one" : "two", 0};
        helper_repo_commit(ids[i + 1], repo.directory, "main", &parent, 1, REPO_FASTER + hours[i],
                           "again", &file, 1);
        assert_int_equal(repository_commit(&commit, repository, ids[i + 1], &f->arena, &err), 0);
        assert_int_equal(commit.time_s, 1700000000 + 3600 * (REPO_FASTER + hours[i]));
        assert_int_equal(commit.after_s, i < 3 ? (int64_t)i : 3600 + 3);
    }
    assert_int_equal(repository_commit(&commit, repository, ids[0], &f->arena, &err), 0);
    assert_int_equal(commit.after_s, 0);
    repository_close(repository);
    helper_repo_remove(&repo);
}

// A shallow clone as git makes it: the commits at the edge are there, their parents are not.
static struct repository *shallow_clone(struct helper_opened *f, char **directory)
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
    put_line(*directory, ".git/shallow", f->repo.ids[REPO_AWAKE]);
    put_line(*directory, ".git/HEAD", f->repo.ids[REPO_FASTER]);
    struct repository *repository;
    struct error err;
    assert_int_equal(repository_open(&repository, *directory, &err), 0);
    return repository;
}

TEST(shallow_clone_works_up_to_its_edge_and_says_what_to_do)
{
    struct helper_opened *f = *state;
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

struct copying {
    git_odb *from, *to;
};

static int copy_all_but_blobs(const git_oid *id, void *payload)
{
    const struct copying *copying = payload;
    git_odb_object *object = NULL;
    git_oid copy;
    int code = git_odb_read(&object, copying->from, id);
    if (code == 0 && git_odb_object_type(object) != GIT_OBJECT_BLOB)
        code = git_odb_write(&copy, copying->to, git_odb_object_data(object),
                             git_odb_object_size(object), git_odb_object_type(object));
    git_odb_object_free(object);
    return code;
}

// A partial clone: all commits and trees, and no content of a file (`git clone
// --filter=blob:none`).
static struct repository *partial_clone(struct helper_opened *f, char **directory)
{
    *directory = helper_directory();
    git_repository *from = NULL, *to = NULL;
    struct copying copying;
    assert_int_equal(git_repository_open(&from, f->repo.directory), 0);
    assert_int_equal(git_repository_init(&to, *directory, 0), 0);
    assert_int_equal(git_repository_odb(&copying.from, from), 0);
    assert_int_equal(git_repository_odb(&copying.to, to), 0);
    assert_int_equal(git_odb_foreach(copying.from, copy_all_but_blobs, &copying), 0);
    git_odb_free(copying.from);
    git_odb_free(copying.to);
    git_repository_free(from);
    git_repository_free(to);
    put_line(*directory, ".git/HEAD", f->repo.ids[REPO_FASTER]);
    struct repository *repository;
    struct error err;
    assert_int_equal(repository_open(&repository, *directory, &err), 0);
    return repository;
}

TEST(partial_clone_says_how_to_fetch_what_it_lacks)
{
    struct helper_opened *f = *state;
    char *directory, *text = NULL;
    size_t size = 0;
    struct repository *repository = partial_clone(f, &directory);
    struct file_change_list list;
    struct error err;
    assert_int_equal(
        repository_read(&text, &size, repository, f->repo.ids[REPO_START], "README.md", &err), -1);
    assert_non_null(strstr(err.text, "README.md: object not found"));
    assert_non_null(strstr(err.text, "git fetch --refetch --no-filter"));
    assert_int_equal(repository_changes(&list, repository, f->repo.ids[REPO_COMMENT],
                                        f->repo.ids[REPO_SLOWER], &f->arena, &err),
                     -1);
    assert_non_null(strstr(err.text, "git fetch --refetch --no-filter"));
    repository_close(repository);
    helper_discard(directory);
    free(directory);
}

static void git_command(const char *directory, const char *words)
{
    char *command = xprintf("git -C '%s' %s >/dev/null 2>&1", directory, words);
    assert_int_equal(system(command), 0);
    free(command);
}

// A repository of one commit, in a folder of its own.
static char *small_repository(void)
{
    char *directory = helper_directory();
    git_command(directory, "init -q -b main");
    git_command(directory, "-c user.name=t -c user.email=t@t commit -q --allow-empty -m one");
    return directory;
}

// `git sparse-checkout set` makes one; a partial clone has the other.
TEST(sparse_checkouts_and_their_extensions_open)
{
    char *directory = small_repository();
    struct repository *repository;
    struct error err;
    git_command(directory, "config core.repositoryFormatVersion 1");
    git_command(directory, "config extensions.worktreeConfig true");
    git_command(directory, "config extensions.partialClone origin");
    if (repository_open(&repository, directory, &err))
        fail_msg("%s", err.text);
    repository_close(repository);
    git_command(directory, "config extensions.somethingElse true");
    assert_int_equal(repository_open(&repository, directory, &err), -1);
    assert_non_null(strstr(err.text, "somethingelse"));
    helper_discard(directory);
    free(directory);
}

TEST(a_repository_of_somebody_else_is_said_to_be_so)
{
    enum { SOMEBODY = 12345 };
    char *directory = small_repository();
    struct repository *repository;
    struct error err;
    if (geteuid() != 0)
        skip_without("root", "only root gives files away");
    char *command = xprintf("chown -R %d '%s'", SOMEBODY, directory);
    assert_int_equal(system(command), 0);
    const int code = repository_open(&repository, directory, &err);
    if (code == 0) { // libgit2 1.9 does
        repository_close(repository);
        skip_without("refusal", "this libgit2 opens for root what belongs to others");
    }
    assert_int_equal(code, -1);
    assert_non_null(strstr(err.text, "belongs to another user"));
    assert_non_null(strstr(err.text, "safe.directory"));
    helper_discard(directory);
    free(command);
    free(directory);
}

// ---- files

TEST(path_ids_follow_contents)
{
    struct helper_opened *f = *state;
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

TEST(read_gives_the_bytes_at_that_commit)
{
    struct helper_opened *f = *state;
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
    assert_non_null(strstr(err.text, "plumb.cfg: not there"));
}

TEST(content_id_is_gits_blob_id)
{
    char id[OBJECT_ID_TEXT];
    content_id(id, "", 0);
    assert_string_equal(id, "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"); // known to all who use git
    content_id(id, "hello\n", 6);
    assert_string_equal(id, "ce013625030ba8dba906f756967f9e9ca394464a");
}

TEST(changes_are_counted_by_line)
{
    struct helper_opened *f = *state;
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

// A remote of a known forge says where commits are shown; another, or a hostile one, says nothing.
TEST(remotes_of_forges_say_where_commits_are_shown)
{
    static const char *const cases[][2] = {
        {"https://github.com/owner/name.git", "https://github.com/owner/name/commit/%s"},
        {"git@github.com:owner/name.git", "https://github.com/owner/name/commit/%s"},
        {"ssh://git@gitlab.example.org:2222/group/sub/name",
         "https://gitlab.example.org/group/sub/name/-/commit/%s"},
        {"https://user:token@bitbucket.org/owner/name",
         "https://bitbucket.org/owner/name/commits/%s"},
        {"/srv/git/github/name.git", NULL},
        {"https://example.org/owner/name", NULL},
        {"https://github.com/owner/%s\"><script>", NULL},
    };
    struct helper_opened *f = *state;
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        git_config *config = NULL;
        git_repository *git = NULL;
        assert_int_equal(git_repository_open(&git, f->repo.directory), 0);
        assert_int_equal(git_repository_config(&config, git), 0);
        assert_int_equal(git_config_set_string(config, "remote.origin.url", cases[i][0]), 0);
        git_config_free(config);
        git_repository_free(git);
        const char *url = repository_commit_url(f->open, &f->arena);
        if (cases[i][1])
            assert_string_equal(url, cases[i][1]);
        else
            assert_null(url);
        assert_int_equal(git_repository_open(&git, f->repo.directory), 0);
        assert_int_equal(git_repository_config(&config, git), 0);
        assert_int_equal(git_config_delete_entry(config, "remote.origin.url"), 0);
        git_config_free(config);
        git_repository_free(git);
    }
}
