// SPDX-License-Identifier: Apache-2.0
//
// A commit of a hostile repository: its trees are written object by object, as a server may send
// them and no git would make them. What is read of it must end, and what is exported lies in the
// export, whatever its names, modes and links say. A line of the input is an entry:
//     MODE blob NAME CONTENT      MODE none NAME        (an object that is not there)
//     MODE open NAME ... close    MODE deep NAME COUNT  (folders in each other)
//     raw BYTES                   commit BYTES          (as they are, into the tree or the commit)
// with %XX for any byte in NAME, CONTENT and BYTES.
#include "model/buffer.h"
#include "runner/child/files.h"
#include "runner/git/handle.h"
#include "tests/fuzz/folder.h"
#include "tests/fuzz/fuzz.h"

#include <dirent.h>
#include <git2/sys/mempack.h>
#include <git2/sys/repository.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NESTED = 8, DEEPEST = 60, PATHS = 6 };

static struct repository *repository;
static git_odb *objects;
static git_odb_backend *memory;
static char place[400], beside[420], exported[440];
static char plain_commit[OBJECT_ID_TEXT];

// libgit2 1.5 loses two small texts when it compares with a tree whose entries are damaged. What
// else it allocated and nobody freed is not seen either.
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libgit2";
}

static git_oid put_object(const void *bytes, size_t size, git_object_t type)
{
    git_oid id;
    must(git_odb_write(&id, objects, bytes, size, type) == 0, "an object is not taken");
    return id;
}

static git_oid put_tree(const struct buffer *tree)
{
    return put_object(tree->bytes ? tree->bytes : "", tree->length, GIT_OBJECT_TREE);
}

static void put_commit(char out[OBJECT_ID_TEXT], const struct buffer *tree, const char *more)
{
    char id[OBJECT_ID_TEXT];
    struct buffer text = {0};
    const git_oid root = put_tree(tree);
    git_oid_tostr(id, sizeof(id), &root);
    buffer_printf(&text, "tree %s\n", id);
    buffer_puts(&text, more);
    buffer_puts(&text, "author A <a@b> 1700000000 +0000\n"
                       "committer A <a@b> 1700000000 +0000\n\nwords\n");
    const git_oid commit = put_object(text.bytes, text.length, GIT_OBJECT_COMMIT);
    git_oid_tostr(out, OBJECT_ID_TEXT, &commit);
    buffer_free(&text);
}

static void discard(void)
{
    struct error ignored;
    git_odb_free(objects);
    repository_close(repository);
    files_remove(place, &ignored);
}

static void begin(void)
{
    struct error err;
    git_repository *made = NULL;
    snprintf(place, sizeof(place), "%s.git", fuzz_path("tree"));
    snprintf(beside, sizeof(beside), "%s/beside", place);
    snprintf(exported, sizeof(exported), "%s/beside/exported", place);
    git_libgit2_init();
    must(git_repository_init(&made, place, 1) == 0, "no repository");
    git_repository_free(made);
    must(mkdir(beside, 0777) == 0 && repository_open(&repository, place, &err) == 0, place);
    // Objects are in memory alone: for each that it does not find git looks through a folder.
    must(git_odb_new(&objects) == 0 && git_mempack_new(&memory) == 0 &&
             git_odb_add_backend(objects, memory, 1) == 0 &&
             git_repository_set_odb(repository->git, objects) == 0 && atexit(discard) == 0,
         "no memory");
    // Nothing of one input is kept for the next, and what is in memory is what was written.
    must(git_libgit2_opts(GIT_OPT_ENABLE_CACHING, 0) == 0 &&
             git_libgit2_opts(GIT_OPT_ENABLE_STRICT_HASH_VERIFICATION, 0) == 0,
         "no options");
}

// ---- the commit

static char *decode(char *text, size_t *size)
{
    char *to = text;
    for (const char *at = text; *at; at++) {
        unsigned byte;
        if (*at == '%' && sscanf(at + 1, "%2x", &byte) == 1 && at[1] && at[2]) {
            *to++ = (char)byte;
            at += 2;
        } else {
            *to++ = *at;
        }
    }
    *size = (size_t)(to - text);
    *to = '\0';
    return text;
}

static void put_entry(struct buffer *tree, const char *mode, const char *name, size_t size,
                      const git_oid *id)
{
    buffer_printf(tree, "%s ", mode);
    buffer_add(tree, name, size);
    buffer_add(tree, "", 1);
    buffer_add(tree, (const char *)id->id, sizeof(id->id));
}

// A folder in a folder in a folder, all of one name.
static git_oid put_deep(const char *mode, const char *name, size_t size, int count)
{
    git_oid id = put_object("", 0, GIT_OBJECT_TREE);
    for (int i = 0; i < count && i < DEEPEST; i++) {
        struct buffer tree = {0};
        put_entry(&tree, mode, name, size, &id);
        id = put_tree(&tree);
        buffer_free(&tree);
    }
    return id;
}

struct making {
    struct buffer trees[NESTED];
    char modes[NESTED][16], names[NESTED][256];
    size_t sizes[NESTED];
    int depth;
    struct buffer commit;
};

static void close_tree(struct making *m)
{
    const git_oid id = put_tree(&m->trees[m->depth]);
    buffer_free(&m->trees[m->depth]);
    m->trees[m->depth] = (struct buffer){0};
    m->depth--;
    put_entry(&m->trees[m->depth], m->modes[m->depth + 1], m->names[m->depth + 1],
              m->sizes[m->depth + 1], &id);
}

static void open_tree(struct making *m, const char *mode, const char *name, size_t size)
{
    if (m->depth + 1 == NESTED || size > sizeof(m->names[0]))
        return;
    m->depth++;
    snprintf(m->modes[m->depth], sizeof(m->modes[0]), "%s", mode);
    memcpy(m->names[m->depth], name, size);
    m->sizes[m->depth] = size;
}

static void take_entry(struct making *m, char *line)
{
    static const git_oid absent = {{1, 2, 3}};
    char *save = NULL, *mode = strtok_r(line, " ", &save), *kind = strtok_r(NULL, " ", &save);
    char *name = strtok_r(NULL, " ", &save), *content = save ? save : (char[]){""};
    size_t size = 0, length = 0;
    if (!mode || !kind)
        return;
    name = decode(name ? name : (char[]){""}, &size);
    struct buffer *tree = &m->trees[m->depth];
    git_oid id = absent;
    if (strcmp(kind, "open") == 0) {
        open_tree(m, mode, name, size);
        return;
    }
    if (strcmp(kind, "deep") == 0) {
        id = put_deep(mode, name, size, atoi(content));
    } else if (strcmp(kind, "blob") == 0) {
        content = decode(content, &length);
        id = put_object(content, length, GIT_OBJECT_BLOB);
    }
    put_entry(tree, mode, name, size, &id);
}

static void take_line(struct making *m, char *line)
{
    size_t size;
    if (strcmp(line, "close") == 0) {
        if (m->depth > 0)
            close_tree(m);
    } else if (strncmp(line, "raw ", 4) == 0) {
        const char *bytes = decode(line + 4, &size);
        buffer_add(&m->trees[m->depth], bytes, size);
    } else if (strncmp(line, "commit ", 7) == 0) {
        const char *bytes = decode(line + 7, &size);
        buffer_add(&m->commit, bytes, size);
        buffer_puts(&m->commit, "\n");
    } else {
        take_entry(m, line);
    }
}

static void make_commit(char out[OBJECT_ID_TEXT], const uint8_t *bytes, size_t size)
{
    struct making m = {.depth = 0};
    char *text = xcalloc(size + 1, 1), *save = NULL;
    memcpy(text, bytes, size);
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
        take_line(&m, line);
    while (m.depth > 0)
        close_tree(&m);
    put_commit(out, &m.trees[0], m.commit.bytes ? m.commit.bytes : "");
    buffer_free(&m.trees[0]);
    buffer_free(&m.commit);
    free(text);
}

// ---- what is read of it

static const char *const paths[PATHS] = {"kernels", ".", "./a/", "ci/plumb.cfg", ".plumb", "a/b"};

static int compare_names(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

// What one lookup finds is what another lists.
static void check_names(const struct path_list *names)
{
    qsort(names->items, names->count, sizeof(*names->items), compare_names);
    for (size_t i = 1; i < names->count; i++)
        must(strcmp(names->items[i - 1], names->items[i]) != 0, "a name is there twice");
}

// What is asked for in an input: a path, and all that is there or some paths of it. Each question
// is a way down from the commit, and dearer than what it finds; the next input asks another.
struct asked {
    const char *path;
    const char *const *wanted;
    size_t count;
};

static void read_commit(const char *id, const struct asked *asked)
{
    struct arena arena = {0};
    struct commit commit;
    struct path_list names;
    struct file_change_list changes;
    struct error err;
    char found[OBJECT_ID_TEXT], *text;
    size_t size;
    if (repository_commit(&commit, repository, id, &arena, &err) == 0)
        must(commit.summary && commit.author, "a commit without words");
    if (repository_names(&names, repository, id, asked->wanted, asked->count, &arena, &err) == 0 &&
        !asked->wanted)
        check_names(&names);
    repository_changes(&changes, repository, plain_commit, id, &arena, &err);
    repository_path_id(found, repository, id, asked->path, &err);
    if (repository_read(&text, &size, repository, id, asked->path, &err) == 0)
        free(text);
    arena_free(&arena);
}

// Every folder is one, and a link leads to a place in the export or nowhere.
static void stay_inside(const char *folder)
{
    char path[PATH_MAX], real[PATH_MAX];
    DIR *open = opendir(folder);
    must(open, "a folder of the export cannot be opened");
    for (struct dirent *entry; (entry = readdir(open));) {
        struct stat st;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name) >= (int)sizeof(path))
            continue;
        must(strcasecmp(entry->d_name, ".git") != 0, "a repository in the export");
        must(lstat(path, &st) == 0, "what was exported is gone");
        must(S_ISREG(st.st_mode) || S_ISDIR(st.st_mode) || S_ISLNK(st.st_mode), "of no kind");
        must(!(st.st_mode & (S_ISUID | S_ISGID)), "it would run as somebody else");
        if (S_ISDIR(st.st_mode))
            stay_inside(path);
        else if (S_ISLNK(st.st_mode) && realpath(path, real))
            must(strncmp(real, exported, strlen(exported)) == 0, "a link leads out");
    }
    closedir(open);
}

static void export_commit(const char *id, const struct asked *asked)
{
    const struct export_terms any = {.free_bytes = UINT64_MAX};
    struct error err;
    const int status =
        repository_export(NULL, repository, id, asked->wanted, asked->count, &any, exported, &err);
    struct stat st;
    if (status == 0)
        stay_inside(exported);
    else
        must(lstat(exported, &st) != 0, "a part of what cannot be exported is left");
    must(files_remove(exported, &err) == 0, err.text);
    must(rmdir(beside) == 0 && mkdir(beside, 0777) == 0, "something lies beside the export");
}

void fuzz_one(const uint8_t *bytes, size_t size)
{
    const struct buffer none = {0};
    const struct asked asked = {paths[size / 2 % PATHS], size % 2 ? paths : NULL,
                                size % 2 ? PATHS : 0};
    char id[OBJECT_ID_TEXT];
    if (!repository)
        begin();
    put_commit(plain_commit, &none, "");
    make_commit(id, bytes, size);
    read_commit(id, &asked);
    export_commit(id, &asked);
    must(git_mempack_reset(memory) == 0, "memory that stays");
}
