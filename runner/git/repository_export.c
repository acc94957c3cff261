// SPDX-License-Identifier: Apache-2.0
//
// Export writes the tree itself instead of libgit2's checkout: no index, no filters, no attributes
// and no configuration take part. This is the way through the trees, submodules included.
#include "runner/child/files.h"
#include "runner/git/export_job.h"

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

// What is in a folder that was made for it. folder: where the entry is, with a final '/', or "".
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
        if (!covered(plain, used, i))
            result = export_path(job, top, &root, plain[i], 0, &found);
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
