// SPDX-License-Identifier: Apache-2.0
//
// Export writes the tree itself instead of libgit2's checkout: no index, no filters, no attributes
// and no configuration take part. Files, links and folders are made anew (O_EXCL, no links
// followed) below an open directory, so that a name that lies about where it leads fails.
#include "runner/child/files.h"
#include "runner/git/handle.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

struct export_job {
    const char *commit;
    struct export_terms terms;
    struct exported told;
    const struct submodule_level *level; // that the tree belongs to which is written now
    bool look;                           // nothing is written, and the folders `at` are none
    size_t entries, submodules;
    uint64_t bytes;
    struct error *err;
};

// ---- files, links and folders

enum { LINK_BYTES_MAX = 4096 };

// A file is in memory while it is written, and some compressed bytes can become any number of them.
static const uint64_t export_bytes_max = (uint64_t)4 << 30, file_bytes_max = (uint64_t)1 << 30;

// The commit's fault: EXPORT_REFUSED.
static int export_refuse(struct export_job *job, const char *name, const char *why)
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

static void export_see(struct export_seen *seen, const struct export_job *job, const char *folder,
                       const char *name)
{
    const char *path = job->level->path;
    if (seen->count++ > 0)
        return;
    snprintf(seen->first, sizeof(seen->first), "%s%s%s%s", path, *path ? "/" : "", folder, name);
    for (char *at = seen->first; *at; at++)
        *at = iscntrl((unsigned char)*at) ? '?' : *at; // it becomes a part of one line
}

// Whether a blob is what Git LFS commits in place of a file.
static bool is_pointer(const git_blob *blob)
{
    static const char begin[] = "version https://git-lfs.github.com/spec/v1\n";
    enum { POINTER_MOST = 1024 };
    const git_object_size_t size = git_blob_rawsize(blob);
    return size >= strlen(begin) && size < POINTER_MOST &&
           memcmp(git_blob_rawcontent(blob), begin, strlen(begin)) == 0;
}

// Finds the blob's size, and refuses a blob that is too large for the memory.
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

// A file or link into the open folder `at`, which is so deep below the export's root. folder: the
// same as the level's tree has it, with a final '/', or "".
static int export_blob(struct export_job *job, int at, const git_tree_entry *entry,
                       const char *folder, int depth)
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

// Makes a folder in `at` and opens it. -1: it failed; -2: the commit's fault.
static int export_folder(struct export_job *job, int at, const char *name)
{
    if (mkdirat(at, name, 0777))
        return fail_file(job, name) == EXPORT_REFUSED ? -2 : -1;
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        fail_file(job, name);
    return fd;
}

// Opens the folder that holds the path's last part, making what is missing on the way.
static int export_parent(struct export_job *job, int root, const char *path, int *depth)
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

enum { SUBMODULES_MAX = 1000 };

static bool bad_name(const char *name)
{
    return !*name || strchr(name, '/') || strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
           strcasecmp(name, ".git") == 0;
}

static int export_tree(struct export_job *job, int at, const struct git_root *root,
                       const git_tree *tree, const char *folder, int depth);

static int export_path(struct export_job *job, int top, const struct git_root *root,
                       const char *path, int depth, size_t *found);

// The policy says that the build needs nothing of it.
static bool left_out(const struct export_job *job, const char *path)
{
    const char *outer = job->level->path;
    char *whole = *outer ? xprintf("%s/%s", outer, path) : xstrdup(path);
    bool found = false;
    for (size_t i = 0; !found && i < job->terms.without_count; i++) {
        char *plain = git_plain_path(job->terms.without[i]);
        found = strcmp(plain, whole) == 0;
        free(plain);
    }
    free(whole);
    return found;
}

// The submodule at `path` of the level into the open folder: all of it, or what is at `rest`.
static int export_submodule(struct export_job *job, int at, const git_oid *commit, const char *path,
                            const char *rest, int depth, size_t *found)
{
    const struct submodule_level *outer = job->level;
    struct submodule_level inner = {0};
    struct git_root root = {.commit = job->commit};
    if (left_out(job, path))
        return 0;
    if (++job->submodules > SUBMODULES_MAX)
        return export_refuse(job, path, "is one submodule too many");
    int result = submodule_enter(&inner, &root, outer, path, commit, job->err);
    if (result == SUBMODULE_NAMELESS) { // git leaves its folder empty too
        export_see(&job->told.nameless, job, "", path);
        result = 0;
    } else if (result == 0) {
        job->level = &inner;
        result = export_path(job, at, &root, rest, depth, found);
        job->level = outer;
    }
    git_tree_free(root.tree);
    submodule_leave(&inner);
    return result;
}

// Exports the entries below a folder that was made for them. folder: where the entry is, with a
// final '/', or "".
static int export_below(struct export_job *job, int at, const struct git_root *root,
                        const git_tree_entry *entry, const char *folder, int depth)
{
    git_tree *tree = NULL;
    size_t found = 0;
    int result;
    char *path = xprintf("%s%s", folder, git_tree_entry_name(entry));
    if (git_tree_entry_type(entry) != GIT_OBJECT_TREE) {
        result = export_submodule(job, at, git_tree_entry_id(entry), path, "", depth, &found);
    } else {
        char *below = xprintf("%s/", path);
        result = git_sound_tree(&tree, root, git_tree_entry_id(entry), path, job->err);
        if (result == 0)
            result = export_tree(job, at, root, tree, below, depth);
        free(below);
    }
    git_tree_free(tree);
    free(path);
    return result;
}

// depth: of the directory `at` below the export's root.
static int export_entry(struct export_job *job, int at, const struct git_root *root,
                        const git_tree_entry *entry, const char *folder, int depth)
{
    const char *name = git_tree_entry_name(entry);
    if (bad_name(name))
        return export_refuse(job, name, "is not a name a file may have");
    if (++job->entries > GIT_ENTRIES_MAX)
        return export_refuse(job, name, "is one file too many");
    if (git_tree_entry_type(entry) == GIT_OBJECT_BLOB)
        return job->look ? 0 : export_blob(job, at, entry, folder, depth);
    if (depth >= GIT_DEPTH_MAX)
        return export_refuse(job, name, "is too deep");
    int fd = job->look ? -1 : export_folder(job, at, name);
    if (fd < 0 && !job->look)
        return fd == -2 ? EXPORT_REFUSED : -1;
    int result = export_below(job, fd, root, entry, folder, depth + 1);
    if (fd >= 0)
        close(fd);
    return result;
}

static int export_tree(struct export_job *job, int at, const struct git_root *root,
                       const git_tree *tree, const char *folder, int depth)
{
    int result = 0;
    for (size_t i = 0; result == 0 && i < git_tree_entrycount(tree); i++)
        result = export_entry(job, at, root, git_tree_entry_byindex(tree, i), folder, depth);
    return result;
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

// The whole tree, or what is at the path, into the open folder of the tree, which is so deep.
static int export_path(struct export_job *job, int top, const struct git_root *root,
                       const char *path, int depth, size_t *found)
{
    const char *rest;
    git_tree_entry *entry = NULL;
    if (!*path) {
        ++*found;
        return export_tree(job, top, root, root->tree, "", depth);
    }
    if (git_find_way(&entry, &rest, root, path, job->err))
        return -1;
    if (!entry)
        return 0;
    // Up to the entry, or below it where the path goes on in a submodule.
    const size_t length = *rest ? (size_t)(rest - path) - 1 : strlen(path);
    char *own = xprintf("%.*s", (int)length, path);
    char *folder = xstrdup(own), *last = strrchr(folder, '/');
    (last ? last + 1 : folder)[0] = '\0';
    char *way = *rest ? xprintf("%s/", own) : xstrdup(own);
    int at = job->look ? -1 : export_parent(job, top, way, &depth), result = -1;
    const bool ready = at >= 0 || job->look;
    if (ready && *rest)
        result = export_submodule(job, at, git_tree_entry_id(entry), own, rest, depth, found);
    else if (ready)
        result = (++*found, export_entry(job, at, root, entry, folder, depth));
    if (at >= 0)
        close(at);
    free(way);
    free(folder);
    free(own);
    git_tree_entry_free(entry);
    return result;
}

static int export_paths(struct export_job *job, int top, git_tree *tree, const char *const *paths,
                        size_t count)
{
    char **plain = xcalloc(count + 1, sizeof(*plain));
    const struct git_root root = {tree, job->commit, ""};
    size_t used = count ? count : 1, found = 0;
    for (size_t i = 0; i < used; i++)
        plain[i] = git_plain_path(count ? paths[i] : "");
    int result = 0;
    for (size_t i = 0; result == 0 && i < used; i++) {
        const size_t before = found;
        if (covered(plain, used, i))
            continue;
        result = export_path(job, top, &root, plain[i], 0, &found);
        if (found == before)
            export_see(&job->told.absent, job, "", plain[i]);
    }
    if (result == 0 && found == 0)
        result = export_refuse(job, plain[0],
                               used > 1 ? "and the other inputs are not in it" : "is not in it");
    for (size_t i = 0; i < used; i++)
        free(plain[i]);
    free(plain);
    return result;
}

int repository_export(struct exported *out, const struct repository *repository, const char *commit,
                      const char *const *paths, size_t count, const struct export_terms *terms,
                      const char *directory, struct error *err)
{
    assert(directory[0] == '/');
    struct submodule_level level;
    struct export_job job = {.commit = commit, .terms = *terms, .level = &level, .err = err};
    git_tree *tree = NULL;
    if (git_tree_of(&tree, repository, commit, err))
        return -1;
    int result = -1, root = -1;
    submodule_top(&level, repository);
    if (mkdir(directory, 0777)) {
        error_set(err, "%s: cannot make the directory: %s", directory, strerror(errno));
        goto done;
    }
    root = open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (root < 0)
        error_set(err, "%s: %s", directory, strerror(errno));
    else if ((result = submodule_names(&level, tree, err)) == 0)
        result = export_paths(&job, root, tree, paths, count);
    struct error ignored;
    if (result)
        files_remove(directory, &ignored);
    else if (out)
        *out = job.told;
done:
    if (root >= 0)
        close(root);
    submodule_leave(&level);
    git_tree_free(tree);
    return result;
}

int repository_submodules(size_t *out, const struct repository *repository, const char *commit,
                          const char *const *paths, size_t count, const struct export_terms *terms,
                          struct error *err)
{
    struct submodule_level level;
    struct export_job job = {
        .commit = commit, .terms = *terms, .level = &level, .look = true, .err = err};
    git_tree *tree = NULL;
    if (git_tree_of(&tree, repository, commit, err))
        return -1;
    submodule_top(&level, repository);
    int result = submodule_names(&level, tree, err);
    if (result == 0)
        result = export_paths(&job, -1, tree, paths, count);
    *out = job.submodules - job.told.nameless.count;
    submodule_leave(&level);
    git_tree_free(tree);
    return result;
}
