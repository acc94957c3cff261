// SPDX-License-Identifier: Apache-2.0
//
// Repositories that git has set up in ways that libgit2 does not know: extensions that do not
// matter to a reader, indexes that are split or sparse; and what cannot be read is said, and is no
// answer.
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/test.h"

#include <git2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct helper_repo repo;
static char *config, *plain_config; // its file, and what is in it

static int set_up(void **state)
{
    helper_repo_create(&repo);
    config = xprintf("%s/.git/config", repo.directory);
    plain_config = helper_read(config, NULL);
    return 0;
}

AROUND_ALL(set_up, NULL);

static int open_with(const char *extensions, struct error *err)
{
    struct repository *opened = NULL;
    char *text = xprintf("%s[core]\n\trepositoryformatversion = 1\n%s", plain_config, extensions);
    helper_write_text(config, text);
    free(text);
    const int status = repository_open(&opened, repo.directory, err);
    repository_close(opened);
    helper_write_text(config, plain_config);
    return status;
}

TEST(extensions_that_do_not_matter_are_none)
{
    static const char *const harmless[] = {
        "worktreeConfig = true",
        "relativeWorktrees = true",
        "partialClone = origin",
        "preciousObjects = true",
        "noop = true",
        "noop-v1 = true",
        "objectFormat = sha1",
        "refStorage = files",
        "worktreeConfig = true\n\tobjectFormat = sha1\n\trefStorage = files"};
    static const struct {
        const char *extension, *said;
    } others[] = {{"objectFormat = sha256", "its objects are named by sha256, which libgit2"},
                  {"refStorage = reftable", "its branches are stored as reftable, which libgit2"},
                  {"futureThing = yes", "it needs the extension futurething = yes, which libgit2"}};
    struct error err = {0};
    for (size_t i = 0; i < ARRAY_COUNT(harmless); i++) {
        char *text = xprintf("[extensions]\n\t%s\n", harmless[i]);
        if (open_with(text, &err))
            fail_msg("%s: %s", harmless[i], err.text);
        free(text);
    }
    for (size_t i = 0; i < ARRAY_COUNT(others); i++) {
        char *text = xprintf("[extensions]\n\tworktreeConfig = true\n\t%s\n", others[i].extension);
        if (open_with(text, &err) == 0)
            print_message("this libgit2 reads %s\n", others[i].extension);
        else if (!strstr(err.text, others[i].said))
            fail_msg("%s: %s", others[i].extension, err.text);
        free(text);
    }
}

// ---- indexes ----

static void put_number(unsigned char *at, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        at[i] = (unsigned char)(value >> (24 - 8 * i));
}

static void write_index(const void *bytes, size_t size)
{
    char *path = xprintf("%s/.git/index", repo.directory);
    helper_write(path, bytes, size);
    free(path);
}

static int tracks(const char *path, struct error *err)
{
    struct repository *opened;
    bool found = false;
    if (repository_open(&opened, repo.directory, err))
        fail_msg("%s", err->text);
    const int status = repository_tracks(&found, opened, path, err);
    repository_close(opened);
    return status ? -1 : found;
}

// Adds to the index what no commit has, and gives the file's bytes.
static unsigned char *index_with(const char *path, size_t *size)
{
    git_repository *git;
    git_index *index;
    char *file = xprintf("%s/%s", repo.directory, path), *own;
    helper_write_text(file, "added\n");
    assert_int_equal(git_repository_open(&git, repo.directory), 0);
    assert_int_equal(git_repository_index(&index, git), 0);
    assert_int_equal(git_index_add_bypath(index, path), 0);
    assert_int_equal(git_index_write(index), 0);
    git_index_free(index);
    git_repository_free(git);
    free(file);
    own = xprintf("%s/.git/index", repo.directory);
    unsigned char *bytes = (unsigned char *)helper_read(own, size);
    free(own);
    return bytes;
}

// All entries are in the shared file, and the index has none of its own.
TEST(a_split_index_is_read)
{
    struct error err = {0};
    size_t size;
    unsigned char *bytes = index_with("added.txt", &size);
    unsigned char split[12 + 8 + 20 + 20] = "DIRC";
    char *shared = xprintf("%s/.git/sharedindex.%040d", repo.directory, 7);
    helper_write(shared, bytes, size);
    put_number(split + 4, 2);
    memcpy(split + 12, "link", 4);
    put_number(split + 16, 20);
    split[12 + 8 + 19] = 7; // the shared file's name
    write_index(split, sizeof(split));
    assert_int_equal(tracks("added.txt", &err), 1);
    assert_int_equal(tracks("kernels", &err), 1);
    assert_int_equal(tracks(".plumb", &err), 0);
    // A file that is not there is no answer.
    assert_int_equal(unlink(shared), 0);
    assert_int_equal(tracks(".plumb", &err), -1);
    assert_non_null(strstr(err.text, "the index cannot be read"));
    assert_int_equal(tracks("kernels", &err), 1); // the commit has it
    write_index(bytes, size);
    free(shared);
    free(bytes);
}

// One entry is a folder that is not checked out: what is in its tree is in the index.
TEST(a_sparse_index_is_read)
{
    enum { ENTRY = 12, FOLDER = 80, SIZE = ENTRY + FOLDER + 8 + 20 };
    static const char name[] = "other/";
    struct error err = {0};
    size_t size;
    unsigned char *bytes = index_with("added.txt", &size), sparse[SIZE] = "DIRC";
    git_repository *git;
    git_object *tree;
    assert_int_equal(git_repository_open(&git, repo.directory), 0);
    assert_int_equal(git_revparse_single(&tree, git, "HEAD:kernels"), 0);
    put_number(sparse + 4, 3);
    put_number(sparse + 8, 1);
    put_number(sparse + ENTRY + 24, 0040000);
    memcpy(sparse + ENTRY + 40, git_object_id(tree)->id, 20);
    sparse[ENTRY + 60] = 0x40; // extended: skip-worktree
    sparse[ENTRY + 61] = sizeof(name) - 1;
    memcpy(sparse + ENTRY + 64, name, sizeof(name));
    memcpy(sparse + ENTRY + 72, "sdir", 4); // 62 + 2 + 6, up to a multiple of eight
    write_index(sparse, ENTRY + 72 + 8 + 20);
    assert_int_equal(tracks("other", &err), 1);
    assert_int_equal(tracks("other/plain.c", &err), 1);
    assert_int_equal(tracks("other/none.c", &err), 0);
    assert_int_equal(tracks(".plumb", &err), 0);
    git_object_free(tree);
    git_repository_free(git);
    write_index(bytes, size);
    free(bytes);
}

// Of its fourth form, in which a name begins as the one before it, less as many letters as it says.
// Who says more than there are is no answer.
TEST(names_that_go_on_from_the_one_before_are_read)
{
    enum { HEAD = 12, ENTRY = 62, SIZE = HEAD + 2 * ENTRY + 16 + 20 };
    static const struct {
        unsigned char strip;
        const char *name;
        int found;
    } cases[] = {{0, "d", 1}, {5, "d", -1}, {4, "added", 1}, {6, "added", -1}, {0x7f, "d", -1}};
    struct error err = {0};
    size_t size;
    unsigned char *bytes = index_with("added.txt", &size);
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        unsigned char packed[SIZE] = "DIRC", *at = packed + HEAD + ENTRY;
        put_number(packed + 4, 4);
        put_number(packed + 8, 2);
        memcpy(at, "\0adde", 6); // strips nothing of nothing
        at += 1 + sizeof("adde") + ENTRY;
        *at++ = cases[i].strip;
        memcpy(at, cases[i].name, strlen(cases[i].name));
        write_index(packed, sizeof(packed));
        const int found = tracks("added", &err);
        if (found != cases[i].found)
            fail_msg("%d letters less, then %s: %d", cases[i].strip, cases[i].name, found);
    }
    write_index(bytes, size);
    free(bytes);
}

TEST(an_index_that_is_none_is_no_answer)
{
    struct error err = {0};
    size_t size;
    unsigned char *bytes = index_with("added.txt", &size);
    for (size_t length = 1; length < size; length += 7) {
        write_index(bytes, length);
        const int found = tracks(".plumb", &err);
        if (found == 1)
            fail_msg("%zu bytes of an index hold what is not in it", length);
    }
    write_index("DIRC", 4);
    assert_int_equal(tracks(".plumb", &err), -1);
    write_index(bytes, size);
    free(bytes);
}
