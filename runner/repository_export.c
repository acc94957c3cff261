// SPDX-License-Identifier: Apache-2.0
//
// Export writes the tree itself instead of libgit2's checkout: no index, no filters, no attributes
// and no configuration take part, and each file is made anew (O_EXCL, no links followed) below an
// open directory, so that a name that lies about where it leads fails.
#include "runner/files.h"
#include "runner/git_handle.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEPTH_MAX = 128, ENTRIES_MAX = 1000000, LINK_BYTES_MAX = 4096 };
// A file is in memory while it is written, and some compressed bytes can become any number of them.
static const uint64_t export_bytes_max = (uint64_t)4 << 30, file_bytes_max = (uint64_t)1 << 30;

enum { REFUSED = 1 }; // the commit's fault

struct export_job {
    const struct repository *repository;
    const char *commit;
    struct export_memory memory;
    size_t entries;
    uint64_t bytes;
    struct error *err;
};

static int refuse(struct export_job *job, const char *name, const char *why)
{
    error_set(job->err, "commit %.12s cannot be exported: '%.200s' %s", job->commit, name, why);
    return REFUSED;
}

static int fail_file(struct export_job *job, const char *name)
{
    if (errno == EEXIST)
        return refuse(job, name, "is there twice (or differs in case only)");
    if (errno == ENAMETOOLONG || errno == EILSEQ || errno == EINVAL)
        return refuse(job, name, "is no name for this file system");
    return error_set(job->err, "exporting %.12s: '%.200s': %s", job->commit, name, strerror(errno));
}

static bool bad_name(const char *name)
{
    return !*name || strchr(name, '/') || strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
           strcasecmp(name, ".git") == 0;
}

// A link may climb at its start, at most to the export's root, and then only go down. A ".." later
// could pass through another link and come out elsewhere than it reads.
static bool link_stays_inside(const char *target, int depth)
{
    if (*target == '/' || !*target)
        return false;
    int climbed = 0;
    while (strncmp(target, "..", 2) == 0 && (target[2] == '/' || !target[2])) {
        climbed++;
        target += target[2] ? 3 : 2;
        while (*target == '/')
            target++;
    }
    for (const char *at = target; (at = strstr(at, "..")); at += 2) {
        bool part = (at == target || at[-1] == '/') && (at[2] == '/' || !at[2]);
        if (part)
            return false;
    }
    return climbed <= depth;
}

static int write_file(struct export_job *job, int at, const char *name, const git_blob *blob,
                      bool executable)
{
    const char *bytes = git_blob_rawcontent(blob);
    size_t left = (size_t)git_blob_rawsize(blob);
    int fd = openat(at, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                    executable ? 0777 : 0666);
    if (fd < 0)
        return fail_file(job, name);
    while (left > 0) {
        ssize_t written = write(fd, bytes, left);
        if (written < 0 && errno != EINTR)
            break;
        bytes += written > 0 ? written : 0;
        left -= written > 0 ? (size_t)written : 0;
    }
    int result = left > 0 ? fail_file(job, name) : 0;
    if (close(fd) && result == 0)
        result = fail_file(job, name);
    return result;
}

static int write_link(struct export_job *job, int at, const char *name, const git_blob *blob,
                      int depth)
{
    char *target = xcalloc((size_t)git_blob_rawsize(blob) + 1, 1);
    memcpy(target, git_blob_rawcontent(blob), (size_t)git_blob_rawsize(blob));
    int result = 0;
    if (strlen(target) != (size_t)git_blob_rawsize(blob) || !link_stays_inside(target, depth))
        result = refuse(job, name, "is a link out of the export");
    else if (symlinkat(target, at, name))
        result = fail_file(job, name);
    free(target);
    return result;
}

static int export_blob(struct export_job *job, int at, const git_tree_entry *entry, int depth)
{
    const char *name = git_tree_entry_name(entry);
    const git_oid *id = git_tree_entry_id(entry);
    git_odb *odb = NULL;
    git_blob *blob = NULL;
    size_t size = 0;
    git_object_t type;
    int result;
    int code = git_repository_odb(&odb, job->repository->git);
    if (code == 0)
        code = git_odb_read_header(&size, &type, odb, id);
    git_odb_free(odb);
    job->bytes += size;
    if (code == 0 && job->bytes > export_bytes_max)
        return refuse(job, name, "makes the export larger than 4 GiB");
    if (code == 0 && size > file_bytes_max)
        return refuse(job, name, "is larger than 1 GiB");
    if (code == 0 && size > LINK_BYTES_MAX && git_tree_entry_filemode(entry) == GIT_FILEMODE_LINK)
        return refuse(job, name, "is a link out of the export");
    if (code == 0 && job->memory.allowed_bytes && size > job->memory.allowed_bytes)
        return refuse(job, name, "is larger than the memory that building it may take");
    if (code == 0 && size > job->memory.free_bytes)
        return error_set(job->err,
                         "exporting %.12s: '%.200s' of %zu bytes needs more memory than is free",
                         job->commit, name, size);
    if (code || git_blob_lookup(&blob, job->repository->git, id))
        return error_set(job->err, "exporting %.12s: '%.200s': %s", job->commit, name, git_words());
    git_filemode_t mode = git_tree_entry_filemode(entry);
    if (mode == GIT_FILEMODE_LINK)
        result = write_link(job, at, name, blob, depth);
    else
        result = write_file(job, at, name, blob, mode == GIT_FILEMODE_BLOB_EXECUTABLE);
    git_blob_free(blob);
    return result;
}

static int make_and_open(struct export_job *job, int at, const char *name)
{
    if (mkdirat(at, name, 0777))
        return fail_file(job, name) == REFUSED ? -2 : -1;
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        fail_file(job, name);
    return fd;
}

static int export_tree(struct export_job *job, int at, const git_oid *id, int depth);

// depth: of the directory `at` below the export's root.
static int export_entry(struct export_job *job, int at, const git_tree_entry *entry, int depth)
{
    const char *name = git_tree_entry_name(entry);
    if (bad_name(name))
        return refuse(job, name, "is not a name a file may have");
    if (++job->entries > ENTRIES_MAX)
        return refuse(job, name, "is one file too many");
    git_object_t type = git_tree_entry_type(entry);
    if (type == GIT_OBJECT_BLOB)
        return export_blob(job, at, entry, depth);
    if (depth >= DEPTH_MAX)
        return refuse(job, name, "is too deep");
    int fd = make_and_open(job, at, name);
    if (fd < 0)
        return fd == -2 ? REFUSED : -1;
    int result = 0; // a submodule's commit is elsewhere: its folder stays empty
    if (type == GIT_OBJECT_TREE)
        result = export_tree(job, fd, git_tree_entry_id(entry), depth + 1);
    close(fd);
    return result;
}

static int export_tree(struct export_job *job, int at, const git_oid *id, int depth)
{
    git_tree *tree = NULL;
    if (git_tree_lookup(&tree, job->repository->git, id))
        return error_set(job->err, "exporting %.12s: %s", job->commit, git_words());
    int result = 0;
    for (size_t i = 0; result == 0 && i < git_tree_entrycount(tree); i++)
        result = export_entry(job, at, git_tree_entry_byindex(tree, i), depth);
    git_tree_free(tree);
    return result;
}

// Opens the folder that holds the path's last part, making what is missing on the way.
static int open_parent(struct export_job *job, int root, const char *path, int *depth)
{
    char *copy = xstrdup(path), *save = NULL;
    char *last = strrchr(copy, '/');
    if (last)
        *last = '\0';
    int at = fcntl(root, F_DUPFD_CLOEXEC, 0);
    for (char *part = last ? strtok_r(copy, "/", &save) : NULL; part && at >= 0;
         part = strtok_r(NULL, "/", &save)) {
        int next = -1;
        if (mkdirat(at, part, 0777) == 0 || errno == EEXIST)
            next = openat(at, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (next < 0)
            fail_file(job, path);
        close(at);
        at = next;
        ++*depth;
    }
    free(copy);
    return at;
}

// True when an earlier path, or a longer-reaching one, covers this one too.
static bool covered(char *const *paths, size_t count, size_t index)
{
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(paths[i]);
        if (i == index || strncmp(paths[i], paths[index], length) != 0)
            continue;
        char after = paths[index][length];
        if (length == 0 || after == '/' || (after == '\0' && i < index))
            return true;
    }
    return false;
}

static int export_path(struct export_job *job, int root, const git_tree *tree, const char *path,
                       size_t *found)
{
    if (!*path) {
        ++*found;
        return export_tree(job, root, git_tree_id(tree), 0);
    }
    git_tree_entry *entry = NULL;
    if (git_find_entry(&entry, tree, path, job->err))
        return -1;
    if (!entry)
        return 0;
    ++*found;
    int depth = 0, result = -1;
    int at = open_parent(job, root, path, &depth);
    if (at >= 0) {
        result = export_entry(job, at, entry, depth);
        close(at);
    }
    git_tree_entry_free(entry);
    return result;
}

static int export_paths(struct export_job *job, int root, const git_tree *tree,
                        const char *const *paths, size_t count)
{
    char **plain = xcalloc(count + 1, sizeof(*plain));
    size_t used = count ? count : 1, found = 0;
    for (size_t i = 0; i < used; i++)
        plain[i] = git_plain_path(count ? paths[i] : "");
    int result = 0;
    for (size_t i = 0; result == 0 && i < used; i++) {
        if (!covered(plain, used, i))
            result = export_path(job, root, tree, plain[i], &found);
    }
    if (result == 0 && found == 0)
        result =
            refuse(job, plain[0], used > 1 ? "and the other inputs are not in it" : "is not in it");
    for (size_t i = 0; i < used; i++)
        free(plain[i]);
    free(plain);
    return result;
}

int repository_export(const struct repository *repository, const char *commit,
                      const char *const *paths, size_t count, const struct export_memory *memory,
                      const char *directory, struct error *err)
{
    assert(directory[0] == '/');
    struct export_job job = {
        .repository = repository, .commit = commit, .memory = *memory, .err = err};
    git_tree *tree = NULL;
    if (git_tree_of(&tree, repository, commit, err))
        return -1;
    int result = -1, root = -1;
    if (mkdir(directory, 0777)) {
        error_set(err, "%s: cannot make the directory: %s", directory, strerror(errno));
        goto done;
    }
    root = open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (root >= 0)
        result = export_paths(&job, root, tree, paths, count);
    else
        error_set(err, "%s: %s", directory, strerror(errno));
    struct error ignored;
    if (result)
        files_remove(directory, &ignored);
done:
    if (root >= 0)
        close(root);
    git_tree_free(tree);
    return result;
}
