// SPDX-License-Identifier: Apache-2.0
//
// One walk over the folder, in the order of names: it lists what is there, one line per file, and
// copies it when a target is given. The id is that of the list.
#include "runner/build/build.h"

#include "model/buffer.h"
#include "runner/child/files.h"
#include "runner/git/repository.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { FILES_MOST = 10000, DEPTH_MOST = 64 };
static const uint64_t bytes_most = (uint64_t)256 << 20;

struct overlay_walk {
    struct buffer *list;
    size_t files;
    uint64_t bytes;
};

static int wanted(const struct dirent *entry)
{
    static const char *const passed[] = {".", "..", ".git"};
    for (size_t i = 0; i < ARRAY_COUNT(passed); i++) {
        if (strcmp(entry->d_name, passed[i]) == 0)
            return 0;
    }
    return 1;
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name); // alphasort goes by the locale
}

static int list_file(struct overlay_walk *walk, const char *path, const char *name,
                     const struct stat *status, struct error *err)
{
    char id[OBJECT_ID_TEXT];
    const size_t size = (size_t)status->st_size;
    walk->bytes += size;
    if (++walk->files > FILES_MOST || walk->bytes > bytes_most)
        return error_set(err, "an overlay has at most %d files and 256 MiB; %s is beyond",
                         FILES_MOST, path);
    char *bytes = xcalloc(size + 1, 1);
    FILE *file = fopen(path, "rbe");
    const bool whole = file && fread(bytes, 1, size + 1, file) == size && !ferror(file);
    if (file)
        fclose(file);
    if (whole)
        content_id(id, bytes, size);
    free(bytes);
    if (!whole)
        return error_set(err, "%s: cannot be read: %s", path,
                         file ? "it changes" : strerror(errno));
    buffer_printf(walk->list, "%s %d %zu:%s\n", id, (status->st_mode & 0100) != 0, strlen(name),
                  name);
    return 0;
}

static int visit_folder(struct overlay_walk *walk, const char *path, const char *name,
                        const char *to, int depth, struct error *err);

// name: below the overlay, and of the copy below its target.
static int visit(struct overlay_walk *walk, const char *path, const char *name, const char *to,
                 int depth, struct error *err)
{
    struct stat status;
    if (lstat(path, &status))
        return error_set(err, "%s: %s", path, strerror(errno));
    if (S_ISDIR(status.st_mode))
        return visit_folder(walk, path, name, to, depth, err);
    if (!S_ISREG(status.st_mode))
        return error_set(err, "%s: an overlay holds regular files and folders, no links or others",
                         path);
    if (to && files_copy(path, to, err))
        return -1;
    return list_file(walk, to ? to : path, name, &status, err);
}

static int visit_folder(struct overlay_walk *walk, const char *path, const char *name,
                        const char *to, int depth, struct error *err)
{
    struct dirent **entries = NULL;
    int result = 0;
    if (depth > DEPTH_MOST)
        return error_set(err, "%s: an overlay is at most %d folders deep", path, DEPTH_MOST);
    if (to && mkdir(to, 0777))
        return error_set(err, "%s: cannot make the directory: %s", to, strerror(errno));
    const int count = scandir(path, &entries, wanted, by_bytes);
    if (count < 0)
        return error_set(err, "%s: %s", path, strerror(errno));
    for (int i = 0; i < count; i++) {
        const char *entry = entries[i]->d_name;
        char *below = xprintf("%s/%s", path, entry),
             *copy = to ? xprintf("%s/%s", to, entry) : NULL;
        char *inner = *name ? xprintf("%s/%s", name, entry) : xstrdup(entry);
        if (result == 0)
            result = visit(walk, below, inner, copy, depth + 1, err);
        free(inner);
        free(copy);
        free(below);
        free(entries[i]);
    }
    free(entries);
    return result;
}

static int read_overlay(char id[OBJECT_ID_TEXT], const char *directory, const char *to,
                        struct error *err)
{
    struct buffer text = {0};
    struct overlay_walk walk = {.list = &text};
    int result = visit_folder(&walk, directory, "", to, 0, err);
    if (result == 0)
        content_id(id, text.bytes ? text.bytes : "", text.length);
    buffer_free(&text);
    return result;
}

int overlay_open(struct overlay *out, const char *directory, struct arena *arena, struct error *err)
{
    char *absolute = realpath(directory, NULL);
    if (!absolute)
        return error_set(err, "overlay %s: %s", directory, strerror(errno));
    struct overlay overlay = {.directory = arena_strdup(arena, absolute)};
    free(absolute);
    if (read_overlay(overlay.id, overlay.directory, NULL, err))
        return -1;
    *out = overlay;
    return 0;
}

int overlay_copy(const struct overlay *overlay, const char *to, struct error *err)
{
    char id[OBJECT_ID_TEXT];
    if (read_overlay(id, overlay->directory, to, err))
        return -1;
    if (strcmp(id, overlay->id) != 0)
        return error_set(err, "overlay %s: changed since this run began; start it again",
                         overlay->directory);
    return 0;
}
