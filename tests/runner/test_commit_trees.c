// SPDX-License-Identifier: Apache-2.0
//
// A tree made by hand that holds a name twice, out of order or with a slash is read by nothing: of
// two folders one reader would find the first, and another go through both.
#include "runner/git/repository.h"
#include "tests/helpers/helper_claimed.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/test.h"

#include <git2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *scene; // with `clone`, whose submodule third_party/lib is checked out
static struct error err;

static int set_up(void **state)
{
    scene = helper_submodules();
    helper_shell(scene, ".", "git clone -q --recursive top clone");
    return git_libgit2_init() < 1;
}

AROUND_ALL(set_up, NULL);

// ---- made byte by byte

struct raw {
    git_repository *git;
    git_odb *odb;
    char bytes[1024];
    size_t size;
};

static void open_raw(struct raw *raw, const char *folder)
{
    char *path = xprintf("%s/clone/%s", scene, folder);
    *raw = (struct raw){0};
    assert_int_equal(git_repository_open(&raw->git, path), 0);
    assert_int_equal(git_repository_odb(&raw->odb, raw->git), 0);
    free(path);
}

static void close_raw(struct raw *raw)
{
    git_odb_free(raw->odb);
    git_repository_free(raw->git);
}

static void add(struct raw *raw, const char *mode, const char *name, const git_oid *id)
{
    const int length = snprintf(raw->bytes + raw->size, 100, "%s %s", mode, name);
    raw->size += (size_t)length + 1;
    memcpy(raw->bytes + raw->size, id->id, GIT_OID_RAWSZ);
    raw->size += GIT_OID_RAWSZ;
}

static git_oid file(struct raw *raw, const char *text)
{
    git_oid id;
    assert_int_equal(git_odb_write(&id, raw->odb, text, strlen(text), GIT_OBJECT_BLOB), 0);
    return id;
}

static git_oid tree(struct raw *raw)
{
    git_oid id;
    assert_int_equal(git_odb_write(&id, raw->odb, raw->bytes, raw->size, GIT_OBJECT_TREE), 0);
    raw->size = 0;
    return id;
}

static git_oid folder_of(struct raw *raw, const char *name, const char *text)
{
    const git_oid id = file(raw, text);
    add(raw, "100644", name, &id);
    return tree(raw);
}

static void commit(char out[OBJECT_ID_TEXT], struct raw *raw, const git_oid *root)
{
    char id[OBJECT_ID_TEXT];
    git_oid made;
    char *text = xprintf("tree %s\nauthor T <t@e> 1700000000 +0000\n"
                         "committer T <t@e> 1700000000 +0000\n\nx\n",
                         git_oid_tostr(id, sizeof(id), root));
    assert_int_equal(git_odb_write(&made, raw->odb, text, strlen(text), GIT_OBJECT_COMMIT), 0);
    git_oid_tostr(out, OBJECT_ID_TEXT, &made);
    free(text);
}

// ---- all ways to read it

static void says(int result, const char *id, const char *words)
{
    char *expected = xprintf("commit %.12s: its tree has %s, so what is in it depends", id, words);
    assert_int_equal(result, -1);
    if (!strstr(err.text, expected))
        fail_msg("%s\n%s", expected, err.text);
    free(expected);
    err.text[0] = '\0';
}

static int export(const struct repository *repository, const char *id, const char *path)
{
    char *out = xprintf("%s/out", scene);
    const int result =
        repository_export(NULL, repository, id, &path, path ? 1 : 0, &helper_any_memory, out, &err);
    assert_false(helper_exists(scene, "out"));
    free(out);
    return result;
}

// input: a folder at or above the broken one; below: a file of it.
static void nothing_reads(const char *id, const char *input, const char *below, const char *words)
{
    char *where = xprintf("%s/clone", scene), *text = NULL, out[OBJECT_ID_TEXT];
    size_t size;
    struct repository *repository;
    struct arena arena = {0};
    struct path_list names;
    assert_int_equal(repository_open(&repository, where, &err), 0);
    says(export(repository, id, NULL), id, words);
    says(export(repository, id, input), id, words);
    says(export(repository, id, below), id, words);
    says(repository_submodules(&size, repository, id, NULL, 0, &helper_any_memory, &err), id,
         words);
    says(repository_names(&names, repository, id, NULL, 0, &arena, &err), id, words);
    says(repository_names(&names, repository, id, &input, 1, &arena, &err), id, words);
    says(repository_path_id(out, repository, id, below, &err), id, words);
    says(repository_read(&text, &size, repository, id, below, &err), id, words);
    arena_free(&arena);
    repository_close(repository);
    free(where);
}

// Of a checkout that lacks most of its files.
TEST(edits_that_nobody_committed_are_found)
{
    static const char *const kernels[] = {"kernels", "[a"};
    struct helper_repo repo;
    struct repository *open;
    struct arena arena = {0};
    struct path_list edited;
    helper_repo_create(&repo);
    const char *head = repo.ids[REPO_FASTER];
    assert_int_equal(repository_open(&open, repo.directory, &err), 0);
    assert_int_equal(repository_edited(&edited, open, head, NULL, 0, &arena, &err), 0);
    assert_int_equal(edited.count, 0);
    char *command = xprintf("cd %s && echo more >>README.md && echo more >>kernels/blocked.c && "
                            "rm kernels/plain.c && touch kernels/untracked.c",
                            repo.directory);
    assert_int_equal(system(command), 0);
    free(command);
    assert_int_equal(repository_edited(&edited, open, head, kernels, 2, &arena, &err), 0);
    assert_int_equal(edited.count, 1);
    assert_string_equal(edited.items[0], "kernels/blocked.c");
    assert_int_equal(repository_edited(&edited, open, head, NULL, 0, &arena, &err), 0);
    assert_int_equal(edited.count, 2);
    repository_close(open);
    arena_free(&arena);
    helper_repo_remove(&repo);
}

// It is there, so nobody is told that it is not; and what a commit names that is not there is.
TEST(commit_that_cannot_be_read_is_told_as_such)
{
    static const char missing[] = "1111111111111111111111111111111111111111";
    struct helper_repo repo;
    struct repository *open;
    struct arena arena = {0};
    struct commit commit, parent;
    helper_repo_create(&repo);
    assert_int_equal(repository_open(&open, repo.directory, &err), 0);
    char *command = xprintf(
        "cd %s && put() { git update-ref refs/heads/$1 $(git hash-object -t commit -w --literally "
        "--stdin); } && tree=$(git rev-parse HEAD^{tree}) && "
        "printf 'tree %%s\\nauthor t <t@e> 99999999999999999999 +0000\\ncommitter t <t@e> 1 "
        "+0000\\n\\nw\\n' $tree | put late && "
        "printf 'tree %%s\\nparent %s\\nauthor t <t@e> 1 +0000\\ncommitter t <t@e> 1 "
        "+0000\\n\\nw\\n' $tree | put orphan",
        repo.directory, missing);
    assert_int_equal(system(command), 0);
    free(command);
    helper_repo_may_leak(true);
    assert_int_equal(repository_commit(&commit, open, "late", &arena, &err), -1);
    helper_repo_may_leak(false);
    assert_non_null(strstr(err.text, "late: cannot be read: "));
    assert_int_equal(repository_commit(&commit, open, "later", &arena, &err), -1);
    assert_non_null(strstr(err.text, "later: no such revision"));
    assert_int_equal(repository_commit(&commit, open, "orphan", &arena, &err), 0);
    assert_int_equal(repository_parent(&parent, open, &commit, &arena, &err), -1);
    assert_non_null(strstr(err.text, "the parent 111111111111 of commit "));
    assert_non_null(strstr(err.text, "object not found"));
    repository_close(open);
    arena_free(&arena);
    helper_repo_remove(&repo);
}

TEST(folder_that_is_there_twice_is_refused)
{
    struct raw raw;
    char id[OBJECT_ID_TEXT];
    open_raw(&raw, "");
    const git_oid first = folder_of(&raw, "a.c", "one"), second = folder_of(&raw, "b.c", "two");
    add(&raw, "40000", "src", &first);
    add(&raw, "40000", "src", &second);
    const git_oid root = tree(&raw);
    commit(id, &raw, &root);
    nothing_reads(id, "src", "src/b.c", "'src' twice");
    close_raw(&raw);
}

TEST(file_that_is_there_twice_is_refused_below_too)
{
    struct raw raw;
    char id[OBJECT_ID_TEXT];
    open_raw(&raw, "");
    const git_oid first = file(&raw, "one"), second = file(&raw, "two");
    add(&raw, "100644", "a.c", &first);
    add(&raw, "100644", "a.c", &second);
    const git_oid inner = tree(&raw);
    add(&raw, "40000", "inner", &inner);
    const git_oid src = tree(&raw);
    add(&raw, "40000", "src", &src);
    const git_oid root = tree(&raw);
    commit(id, &raw, &root);
    nothing_reads(id, "src", "src/inner/a.c", "'src/inner/a.c' twice");
    close_raw(&raw);
}

// Git's order puts "src-x" between them.
TEST(file_and_folder_of_one_name_are_refused)
{
    struct raw raw;
    char id[OBJECT_ID_TEXT];
    open_raw(&raw, "");
    const git_oid text = file(&raw, "one"), folder = folder_of(&raw, "a.c", "two");
    add(&raw, "100644", "src", &text);
    add(&raw, "100644", "src-x", &text);
    add(&raw, "40000", "src", &folder);
    const git_oid root = tree(&raw);
    commit(id, &raw, &root);
    nothing_reads(id, "src", "src/a.c", "'src' twice");
    close_raw(&raw);
}

// A lookup that halves the tree would not find `src`, and an export would write it.
TEST(name_out_of_its_place_is_refused)
{
    struct raw raw;
    char id[OBJECT_ID_TEXT];
    open_raw(&raw, "");
    const git_oid text = file(&raw, "one"), folder = folder_of(&raw, "a.c", "two");
    add(&raw, "40000", "src", &folder);
    add(&raw, "100644", "ci", &text);
    const git_oid root = tree(&raw);
    commit(id, &raw, &root);
    nothing_reads(id, "src", "src/a.c", "'ci' out of order");
    close_raw(&raw);
}

// The folder `src` has nothing to do with it.
TEST(name_with_a_slash_is_refused)
{
    struct raw raw;
    char id[OBJECT_ID_TEXT];
    open_raw(&raw, "");
    const git_oid text = file(&raw, "one"), folder = folder_of(&raw, "a.c", "two");
    add(&raw, "40000", "src", &folder);
    add(&raw, "100644", "src/b.c", &text);
    const git_oid root = tree(&raw);
    commit(id, &raw, &root);
    nothing_reads(id, "src", "src/b.c", "'src/b.c' as one name");
    close_raw(&raw);
}

TEST(submodule_with_such_a_tree_is_refused)
{
    struct raw raw;
    char pinned[OBJECT_ID_TEXT], where[64];
    open_raw(&raw, ".git/modules/third_party/lib");
    const git_oid first = folder_of(&raw, "a.h", "one"), second = folder_of(&raw, "b.h", "two");
    for (int deep = 0; deep < 2; deep++) {
        add(&raw, "40000", "include", &first);
        add(&raw, "40000", "include", &second);
        git_oid root = tree(&raw);
        if (deep) {
            add(&raw, "40000", "down", &root);
            root = tree(&raw);
        }
        commit(pinned, &raw, &root);
        char *words = xprintf("git update-index --cacheinfo 160000,%s,third_party/lib && "
                              "git commit -qm pinned",
                              pinned);
        helper_shell(scene, "clone", words);
        char *id = helper_shell_says(scene, "clone", "git rev-parse HEAD");
        char *directory = xprintf("%s/clone", scene), *text = NULL;
        size_t size;
        struct repository *repository;
        assert_int_equal(repository_open(&repository, directory, &err), 0);
        snprintf(where, sizeof(where), "third_party/lib/%sinclude", deep ? "down/" : "");
        char *file_below = xprintf("%s/b.h", where), *twice = xprintf("'%s' twice", where);
        says(export(repository, id, NULL), id, twice);
        says(export(repository, id, file_below), id, twice);
        says(repository_read(&text, &size, repository, id, file_below, &err), id, twice);
        says(repository_submodules(&size, repository, id, NULL, 0, &helper_any_memory, &err), id,
             twice);
        repository_close(repository);
        free(twice);
        free(file_below);
        free(directory);
        free(id);
        free(words);
    }
    close_raw(&raw);
}

// A tower of folders, each with ten times the one below it, is gone through by nobody to its end.
TEST(tree_that_is_too_large_has_no_names)
{
    struct raw raw;
    char id[OBJECT_ID_TEXT], name[2] = "";
    struct repository *repository;
    struct arena arena = {0};
    struct path_list names;
    open_raw(&raw, "");
    git_oid inner = folder_of(&raw, "a.c", "one");
    for (int level = 0; level < 10; level++) {
        for (name[0] = '0'; name[0] <= '9'; name[0]++)
            add(&raw, "40000", name, &inner);
        inner = tree(&raw);
    }
    commit(id, &raw, &inner);
    char *where = xprintf("%s/clone", scene);
    assert_int_equal(repository_open(&repository, where, &err), 0);
    assert_int_equal(repository_names(&names, repository, id, NULL, 0, &arena, &err), -1);
    assert_non_null(strstr(err.text, "is one file too many"));
    repository_close(repository);
    arena_free(&arena);
    free(where);
    close_raw(&raw);
}

// It would be read into memory whole.
TEST(tree_of_gigabytes_is_not_read)
{
    struct raw raw;
    char id[OBJECT_ID_TEXT], out[OBJECT_ID_TEXT];
    git_oid large;
    struct repository *repository;
    char *where = xprintf("%s/clone", scene);
    helper_claim(where, (uint64_t)3 << 30);
    open_raw(&raw, "");
    git_oid_fromstr(&large, HELPER_CLAIMED);
    add(&raw, "40000", "src", &large);
    const git_oid root = tree(&raw);
    commit(id, &raw, &root);
    assert_int_equal(repository_open(&repository, where, &err), 0);
    assert_int_equal(repository_path_id(out, repository, id, "src/a.c", &err), -1);
    assert_non_null(strstr(err.text, "'src': a folder with too many files"));
    repository_close(repository);
    free(where);
    close_raw(&raw);
}
