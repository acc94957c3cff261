// SPDX-License-Identifier: Apache-2.0
//
// Writes the files, links and folders of an export. Each is made anew (O_EXCL, no links followed)
// below an open directory, so that a name that lies about where it leads fails.
#include "runner/git/export_job.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINK_BYTES_MAX = 4096 };
// A file is in memory while it is written, and some compressed bytes can become any number of them.
static const uint64_t export_bytes_max = (uint64_t)4 << 30, file_bytes_max = (uint64_t)1 << 30;

int export_refuse(struct export_job *job, const char *name, const char *why)
{
    error_set(job->err, "commit %.12s cannot be exported: '%.200s' %s", job->commit, name, why);
    return EXPORT_REFUSED;
}

static int fail_file(struct export_job *job, const char *name)
{
    if (errno == EEXIST)
        return export_refuse(job, name, "is there twice (or differs in case only)");
    if (errno == ENAMETOOLONG || errno == EILSEQ || errno == EINVAL)
        return export_refuse(job, name, "is no name for this file system");
    return error_set(job->err, "exporting %.12s: '%.200s': %s", job->commit, name, strerror(errno));
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
        result = export_refuse(job, name, "is a link out of the export");
    else if (symlinkat(target, at, name))
        result = fail_file(job, name);
    free(target);
    return result;
}

void export_see(struct export_seen *seen, const struct export_job *job, const char *folder,
                const char *name)
{
    const char *path = job->level->path;
    if (seen->count++ > 0)
        return;
    snprintf(seen->first, sizeof(seen->first), "%s%s%s%s", path, *path ? "/" : "", folder, name);
    for (char *at = seen->first; *at; at++)
        *at = iscntrl((unsigned char)*at) ? '?' : *at; // it becomes a part of one line
}

// What Git LFS commits in place of a file.
static bool is_pointer(const git_blob *blob)
{
    static const char begin[] = "version https://git-lfs.github.com/spec/v1\n";
    enum { POINTER_MOST = 1024 };
    const git_object_size_t size = git_blob_rawsize(blob);
    return size >= strlen(begin) && size < POINTER_MOST &&
           memcmp(git_blob_rawcontent(blob), begin, strlen(begin)) == 0;
}

// Its size, and whether it may be read into memory.
static int weigh(struct export_job *job, const git_tree_entry *entry)
{
    const char *name = git_tree_entry_name(entry);
    git_odb *odb = NULL;
    size_t size = 0;
    git_object_t type;
    int code = git_repository_odb(&odb, job->level->git);
    if (code == 0)
        code = git_odb_read_header(&size, &type, odb, git_tree_entry_id(entry));
    git_odb_free(odb);
    job->bytes += size;
    if (code)
        return error_set(job->err, "exporting %.12s: '%.200s': %s", job->commit, name, git_words());
    if (job->bytes > export_bytes_max)
        return export_refuse(job, name, "makes the export larger than 4 GiB");
    if (size > file_bytes_max)
        return export_refuse(job, name, "is larger than 1 GiB");
    if (size > LINK_BYTES_MAX && git_tree_entry_filemode(entry) == GIT_FILEMODE_LINK)
        return export_refuse(job, name, "is a link out of the export");
    if (job->terms.allowed_bytes && size > job->terms.allowed_bytes)
        return export_refuse(job, name, "is larger than the memory that building it may take");
    if (size > job->terms.free_bytes)
        return error_set(job->err,
                         "exporting %.12s: '%.200s' of %zu bytes needs more memory than is free",
                         job->commit, name, size);
    return 0;
}

int export_blob(struct export_job *job, int at, const git_tree_entry *entry, const char *folder,
                int depth)
{
    const char *name = git_tree_entry_name(entry);
    git_blob *blob = NULL;
    int result = weigh(job, entry);
    if (result)
        return result;
    if (git_blob_lookup(&blob, job->level->git, git_tree_entry_id(entry)))
        return error_set(job->err, "exporting %.12s: '%.200s': %s", job->commit, name, git_words());
    if (is_pointer(blob))
        export_see(&job->told.pointers, job, folder, name);
    git_filemode_t mode = git_tree_entry_filemode(entry);
    if (mode == GIT_FILEMODE_LINK)
        result = write_link(job, at, name, blob, depth);
    else
        result = write_file(job, at, name, blob, mode == GIT_FILEMODE_BLOB_EXECUTABLE);
    git_blob_free(blob);
    return result;
}

int export_folder(struct export_job *job, int at, const char *name)
{
    if (mkdirat(at, name, 0777))
        return fail_file(job, name) == EXPORT_REFUSED ? -2 : -1;
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        fail_file(job, name);
    return fd;
}

int export_parent(struct export_job *job, int root, const char *path, int *depth)
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
