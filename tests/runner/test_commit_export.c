// SPDX-License-Identifier: Apache-2.0
//
// Exports hold the committed bytes, leave the repository alone, and nothing hostile leaves them.
#include "runner/git/repository.h"
#include "tests/helpers/helper_claimed.h"
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/test.h"

#include <git2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

AROUND_ALL(helper_opened_set_up, helper_opened_tear_down);

TEST(export_writes_the_committed_bytes)
{
    struct helper_opened *f = *state;
    char *directory = helper_directory(), *out = xprintf("%s/out", directory);
    const char *paths[] = {"include", "kernels/blocked.c", "./kernels/", "not-there"};
    struct error err;
    assert_int_equal(repository_export(NULL, f->open, f->repo.ids[REPO_START], paths, 4,
                                       &helper_any_memory, out, &err),
                     0);
    assert_true(helper_exists(out, "include/kernel.h"));
    assert_true(helper_exists(out, "kernels/simple.c"));
    assert_true(helper_exists(out, "kernels/blocked.c"));
    assert_false(helper_exists(out, "README.md"));
    char *compare = xprintf("cmp -s '%s/include/kernel.h' '%s/kernels/kernel.h'", out, TEST_SOURCE);
    assert_int_equal(system(compare), 0);
    assert_int_equal(repository_export(NULL, f->open, f->repo.ids[REPO_START], paths, 4,
                                       &helper_any_memory, out, &err),
                     -1);
    assert_non_null(strstr(err.text, "File exists"));
    assert_true(helper_exists(out, "include/kernel.h")); // and it stays as it was
    free(compare);
    helper_discard(directory);
    free(out);
    free(directory);
}

TEST(export_of_absent_inputs_is_the_commits_fault)
{
    struct helper_opened *f = *state;
    char *directory = helper_directory(), *out = xprintf("%s/out", directory);
    const char *paths[] = {"not-there"};
    struct error err;
    assert_int_equal(repository_export(NULL, f->open, f->repo.ids[REPO_START], paths, 1,
                                       &helper_any_memory, out, &err),
                     1);
    assert_non_null(strstr(err.text, "not-there"));
    assert_false(helper_exists(directory, "out"));
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

TEST(nothing_touches_the_users_checkout)
{
    struct helper_opened *f = *state;
    char *directory = helper_directory(), *out = xprintf("%s/out", directory);
    struct error err;
    struct commit base;
    struct commit_list list;
    struct file_change_list changes;
    char *before = snapshot(f->repo.directory);
    assert_int_equal(repository_export(NULL, f->open, f->repo.ids[REPO_TUNE], NULL, 0,
                                       &helper_any_memory, out, &err),
                     0);
    const struct commit_selection all = {.range = "ALL"};
    assert_int_equal(repository_select(&list, f->open, &all, &f->arena, &err), 0);
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
    int result = repository_export(NULL, repository, id, NULL, 0, &helper_any_memory, out, err);
    assert_int_equal(helper_exists(directory, "out"), result == 0);
    if (expected)
        assert_true(helper_exists(out, expected));
    repository_close(repository);
    helper_discard(directory);
    free(work);
    free(out);
    free(directory);
    return result;
}

TEST(export_refuses_links_that_leave)
{
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

TEST(export_keeps_modes_and_bytes)
{
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

#define LETTERS_64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

TEST(export_refuses_hostile_trees)
{
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
        const char *says;
    } cases[] = {{"100644", "..", 1, ""},
                 {"100644", "../evil", 1, ""},
                 {"100644", "/tmp/evil", 1, ""},
                 {"100644", ".git", 1, ""},
                 {"100644", ".GIT", 1, ""},
                 {"100644", "a/b", 1, ""},
                 {"100644", "twice", 2, "'twice' twice"},
                 {"100644", LETTERS_64 LETTERS_64 LETTERS_64 LETTERS_64, 1, "is no name for this"},
                 {"40000", "blob", 1, ""},
                 {"100644", ".", 1, ""},
                 {"120000", "link", 1, ""}};
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        char tree[OBJECT_ID_TEXT], commit[OBJECT_ID_TEXT];
        raw_tree(tree, odb, cases[i].mode, cases[i].name, &blob, cases[i].copies);
        raw_commit(commit, odb, tree);
        int result =
            repository_export(NULL, repository, commit, NULL, 0, &helper_any_memory, out, &err);
        bool harmless = strcmp(cases[i].mode, "120000") == 0; // a link to "evil", dangling
        assert_int_equal(result == 0, harmless);
        if (!harmless && !strstr(err.text, cases[i].says))
            fail_msg("%s: %s", cases[i].says, err.text);
        assert_int_equal(helper_exists(sub, "out"), harmless);
        assert_false(helper_exists(sub, "evil"));
        assert_false(helper_exists("/tmp", "evil"));
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

// A commit with one file, or link, that claims to be so large.
static int export_claimed(uint64_t bytes, const char *mode, const struct export_terms *memory,
                          struct error *err)
{
    char *directory = helper_directory(), *out = xprintf("%s/out", directory);
    char *work = xprintf("%s/repo", directory);
    char tree[OBJECT_ID_TEXT], commit[OBJECT_ID_TEXT];
    git_repository *git = NULL;
    git_odb *odb = NULL;
    git_oid id;
    struct repository *repository;
    assert_int_equal(git_repository_init(&git, work, 0), 0);
    assert_int_equal(git_repository_odb(&odb, git), 0);
    helper_claim(work, bytes);
    git_oid_fromstr(&id, HELPER_CLAIMED);
    assert_int_equal(repository_open(&repository, work, err), 0);
    raw_tree(tree, odb, mode, "large", &id, 1);
    raw_commit(commit, odb, tree);
    const int result = repository_export(NULL, repository, commit, NULL, 0, memory, out, err);
    assert_false(helper_exists(directory, "out"));
    git_odb_free(odb);
    git_repository_free(git);
    repository_close(repository);
    helper_discard(directory);
    free(work);
    free(out);
    free(directory);
    return result;
}

TEST(export_refuses_files_beyond_all_memory)
{
    static const char *const modes[] = {"100644", "120000"};
    struct error err;
    for (size_t i = 0; i < ARRAY_COUNT(modes); i++) {
        assert_int_equal(export_claimed((uint64_t)2 << 30, modes[i], &helper_any_memory, &err), 1);
        assert_non_null(strstr(err.text, "'large' is larger than 1 GiB"));
    }
}

// What a policy allows is the commit's business; what this machine has left is not.
TEST(export_refuses_files_beyond_the_memory_there_is)
{
    const uint64_t mib = 1 << 20;
    const struct export_terms little = {.free_bytes = 300 * mib},
                              allowed = {.allowed_bytes = 300 * mib, .free_bytes = UINT64_MAX};
    struct error err;
    assert_int_equal(export_claimed(301 * mib, "100644", &little, &err), -1);
    assert_non_null(strstr(err.text, "'large' of 315621376 bytes needs more memory than is free"));
    assert_int_equal(export_claimed(301 * mib, "100644", &allowed, &err), 1);
    assert_non_null(
        strstr(err.text, "'large' is larger than the memory that building it may take"));
    // Not for its size: there is nothing behind what it claims.
    assert_int_equal(export_claimed(mib, "100644", &little, &err), -1);
    assert_null(strstr(err.text, "memory"));
}

TEST(export_refuses_a_tower_of_folders)
{
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
    assert_int_equal(
        repository_export(NULL, repository, commit, NULL, 0, &helper_any_memory, out, &err), 1);
    assert_non_null(strstr(err.text, "too deep"));
    assert_false(helper_exists(directory, "out"));
    git_odb_free(odb);
    git_repository_free(git);
    repository_close(repository);
    helper_discard(directory);
    free(work);
    free(out);
    free(directory);
}
