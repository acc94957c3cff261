// SPDX-License-Identifier: Apache-2.0
//
// Ids of the libraries of one build: each of its own code, and of what it can load beside it. What
// a library names is searched in its bytes, since a name may be linked against, or opened.
#include "runner/code/code_id.h"

#include "runner/build/build.h"
#include "runner/code/code_read.h"

#include <errno.h>
#include <fts.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Each library is searched for the names of all others, and what loads what is closed over.
enum { LIBRARIES_MAX = 4096, FILES_MAX = 10000 };

struct set {
    const char *const *libraries;
    size_t count;
    const char **names;       // of the libraries' files
    size_t *lengths;          // of the names
    bool last[UCHAR_MAX + 1]; // bytes that some name ends in
    bool *loads;              // count x count: the row's library names the column's
    char (*own)[OBJECT_ID_TEXT];
    FILE *others; // the files that count for all
    size_t files;
};

// ---- what a library names

// Does a name end where `end` is? Its own name is no name of another, though it may end in one.
static void note_names(struct set *set, size_t library, const struct code_file *file, size_t end)
{
    const unsigned char *bytes = file->bytes;
    const size_t own = set->lengths[library];
    if (own <= end && memcmp(bytes + end - own, set->names[library], own) == 0)
        return;
    for (size_t i = 0; i < set->count; i++) {
        const size_t length = set->lengths[i];
        if (length <= end && memcmp(bytes + end - length, set->names[i], length) == 0)
            set->loads[library * set->count + i] = true;
    }
}

static int read_library(struct set *set, size_t library, struct error *err)
{
    struct code_file file;
    const int status = code_read(&file, set->libraries[library], err);
    if (status)
        return status;
    code_id_of(set->own[library], &file);
    for (size_t at = 1; at < file.size; at++) {
        if (file.bytes[at] == '\0' && set->last[file.bytes[at - 1]])
            note_names(set, library, &file, at);
    }
    code_close(&file);
    return 0;
}

// What is loaded by what is loaded: Warshall's algorithm.
static void close_over(struct set *set)
{
    const size_t n = set->count;
    for (size_t via = 0; via < n; via++) {
        for (size_t from = 0; from < n; from++) {
            for (size_t to = 0; set->loads[from * n + via] && to < n; to++)
                set->loads[from * n + to] |= set->loads[via * n + to];
        }
    }
}

// ---- files that count for all

static bool is_library(const struct set *set, const char *path)
{
    for (size_t i = 0; i < set->count; i++) {
        if (strcmp(set->libraries[i], path) == 0)
            return true;
    }
    return false;
}

static bool is_statement(const struct set *set, const char *path)
{
    const size_t length = strlen(path), ending = strlen(BUILD_STATEMENT);
    if (length <= ending || strcmp(path + length - ending, BUILD_STATEMENT) != 0)
        return false;
    char *library = xprintf("%.*s", (int)(length - ending), path);
    const bool found = is_library(set, library);
    free(library);
    return found;
}

static void put_other(struct set *set, const char *kind, const char *name, const char *what)
{
    fprintf(set->others, "%s %zu:%s %zu:%s\n", kind, strlen(name), name, strlen(what), what);
    set->files++;
}

static int add_file(struct set *set, const char *path, const char *name, struct error *err)
{
    char id[OBJECT_ID_TEXT];
    if (is_library(set, path) || is_statement(set, path))
        return 0;
    const int status = code_id(id, path, err);
    if (status == 0)
        put_other(set, "file", name, id);
    return status;
}

static int add_entry(struct set *set, const FTSENT *entry, const char *folder, struct error *err)
{
    char target[PATH_MAX];
    ssize_t length;
    const char *name = entry->fts_path + strlen(folder);
    switch (entry->fts_info) {
    case FTS_F:
        return add_file(set, entry->fts_path, name, err);
    case FTS_SL:
    case FTS_SLNONE:
        length = readlink(entry->fts_path, target, sizeof(target) - 1);
        target[length > 0 ? length : 0] = '\0';
        put_other(set, "link", name, target);
        return 0;
    case FTS_DNR:
    case FTS_ERR:
    case FTS_NS: // too deep to be named, or not to be read
        error_set(err, "%.200s: cannot be looked at: %s", entry->fts_path,
                  strerror(entry->fts_errno));
        return 1;
    default:
        return 0; // folders, and pipes or sockets, which hold nothing
    }
}

static int by_name(const FTSENT **left, const FTSENT **right)
{
    return strcmp((*left)->fts_name, (*right)->fts_name);
}

static int add_others(struct set *set, const char *folder, struct error *err)
{
    char *copy = xstrdup(folder), *const roots[] = {copy, NULL};
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
    int status = tree ? 0 : error_set(err, "%s: %s", folder, strerror(errno));
    for (FTSENT *entry; status == 0 && (entry = fts_read(tree));) {
        status = add_entry(set, entry, folder, err);
        if (status == 0 && set->files > FILES_MAX) {
            error_set(err, "the build left more than %d files beside its libraries", FILES_MAX);
            status = 1;
        }
    }
    if (tree)
        fts_close(tree);
    free(copy);
    return status;
}

// ---- together

static void finish(char out[OBJECT_ID_TEXT], const struct set *set, size_t library,
                   const char *others)
{
    char *text = NULL;
    size_t size = 0, loaded = 0;
    FILE *to = open_memstream(&text, &size);
    if (!to)
        abort(); // out of memory
    fprintf(to, "plumb output 1\nlibrary %s\n", set->own[library]);
    for (size_t i = 0; i < set->count; i++) {
        if (i == library || !set->loads[library * set->count + i])
            continue;
        fprintf(to, "loads %zu:%s %s\n", set->lengths[i], set->names[i], set->own[i]);
        loaded++;
    }
    fputs(others, to);
    fclose(to);
    if (loaded || *others)
        content_id(out, text, size);
    else
        memcpy(out, set->own[library], OBJECT_ID_TEXT);
    free(text);
}

static void open_set(struct set *set)
{
    set->names = xcalloc(set->count, sizeof(*set->names));
    set->lengths = xcalloc(set->count, sizeof(*set->lengths));
    set->loads = xcalloc(set->count * set->count, sizeof(*set->loads));
    set->own = xcalloc(set->count, sizeof(*set->own));
    for (size_t i = 0; i < set->count; i++) {
        const char *slash = strrchr(set->libraries[i], '/');
        set->names[i] = slash ? slash + 1 : set->libraries[i];
        set->lengths[i] = strlen(set->names[i]);
        set->last[(unsigned char)set->names[i][set->lengths[i] - 1]] = true;
    }
}

int code_ids(char (*out)[OBJECT_ID_TEXT], const char *const *libraries, size_t count,
             const char *folder, struct error *err)
{
    char *others = NULL;
    size_t size = 0;
    struct set set = {.libraries = libraries, .count = count};
    if (count > LIBRARIES_MAX) {
        error_set(err, "the build left more than %d libraries", LIBRARIES_MAX);
        return 1;
    }
    set.others = open_memstream(&others, &size);
    if (!set.others)
        return error_set(err, "%s: no memory for code ids", folder);
    open_set(&set);
    int status = 0;
    for (size_t i = 0; status == 0 && i < count; i++)
        status = read_library(&set, i, err);
    if (status == 0)
        status = add_others(&set, folder, err);
    fclose(set.others);
    close_over(&set);
    for (size_t i = 0; status == 0 && i < count; i++)
        finish(out[i], &set, i, others);
    free(others);
    free(set.own);
    free(set.loads);
    free(set.lengths);
    free(set.names);
    return status;
}
