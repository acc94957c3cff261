// SPDX-License-Identifier: Apache-2.0
//
// The folder of kept builds: found, locked, added, and thrown away by age and size.
#include "runner/build/build_cache.h"

#include "runner/child/files.h"
#include "runner/child/log.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LOG_TAIL = 16384, KEY_LENGTH = 40 };

// A pattern that matches the path itself, whatever characters it has.
static char *escape_pattern(const char *path)
{
    char *escaped = xcalloc(2 * strlen(path) + 1, 1), *to = escaped;
    for (; *path; path++) {
        if (strchr("*?[]\\{}~", *path))
            *to++ = '\\';
        *to++ = *path;
    }
    return escaped;
}

// A library may be hostile in name and kind: links and whatever lies outside do not count.
static bool is_inside(const char *file, const char *root)
{
    struct stat status;
    char real[PATH_MAX];
    size_t length = strlen(root);
    return lstat(file, &status) == 0 && S_ISREG(status.st_mode) && realpath(file, real) &&
           strncmp(real, root, length) == 0 && real[length] == '/';
}

// Every pattern of the list, which has blanks between.
static void find_matches(glob_t *found, const char *root, const char *outputs)
{
    char *escaped = escape_pattern(root);
    for (const char *at = outputs + strspn(outputs, " "); *at; at += strspn(at, " ")) {
        const size_t length = strcspn(at, " ");
        char *pattern = xprintf("%s/%.*s", escaped, (int)length, at);
        glob(pattern, found->gl_pathc ? GLOB_APPEND : 0, NULL, found);
        free(pattern);
        at += length;
    }
    free(escaped);
}

size_t build_cache_find(const char *const **out, const char *directory, const char *outputs,
                        struct arena *arena)
{
    char root[PATH_MAX];
    glob_t found = {0};
    size_t count = 0;
    if (!realpath(directory, root))
        return 0;
    find_matches(&found, root, outputs);
    const char **libraries = arena_alloc(arena, (found.gl_pathc + 1) * sizeof(*libraries));
    for (size_t i = 0; i < found.gl_pathc; i++) {
        bool twice = !is_inside(found.gl_pathv[i], root);
        for (size_t k = 0; k < count; k++)
            twice |= strcmp(libraries[k], found.gl_pathv[i]) == 0;
        if (!twice)
            libraries[count++] = arena_strdup(arena, found.gl_pathv[i]);
    }
    if (found.gl_pathc)
        globfree(&found);
    *out = libraries;
    return count;
}

static bool read_state(struct build *build, const char *directory, struct arena *arena)
{
    char *path = xprintf("%s/state", directory), *text = log_tail(path, 2048);
    char *line = strchr(text, '\n'), *end = line ? strchr(line + 1, '\n') : NULL;
    bool ok = line && end && line > text;
    if (ok) {
        *line = *end = '\0';
        ok = parse_double(&build->seconds, line + 1) == 0;
        build->state = strcmp(text, "ok") == 0 ? BUILD_OK : BUILD_FAILED;
        build->reason = build->state == BUILD_OK ? "" : arena_strdup(arena, text);
        utimensat(AT_FDCWD, path, NULL, 0); // used now: the prune keeps it longer
    }
    free(text);
    free(path);
    return ok;
}

bool build_cache_load(struct build *out, const char *cache, const char *key, const char *outputs,
                      struct arena *arena)
{
    struct build build = {.cached = true};
    build.directory = arena_printf(arena, "%s/%s", cache, key);
    text_copy(build.key, sizeof(build.key), key);
    if (!read_state(&build, build.directory, arena))
        return false;
    char *where = xprintf("%s/out", build.directory), *log = xprintf("%s/log", build.directory);
    char real[PATH_MAX];
    build.out = arena_strdup(arena, realpath(where, real) ? real : "");
    if (build.state == BUILD_OK)
        build.library_count = build_cache_find(&build.libraries, where, outputs, arena);
    char *tail = log_tail(log, LOG_TAIL);
    build.log = arena_strdup(arena, tail);
    free(tail);
    free(log);
    free(where);
    // Somebody emptied it: as good as not there.
    if (build.state == BUILD_OK && build.library_count == 0)
        return false;
    *out = build;
    return true;
}

// The file of that name is the one that is open: a prune may have removed it while we waited.
static bool is_named(int fd, const char *path)
{
    struct stat ours, there;
    return fstat(fd, &ours) == 0 && stat(path, &there) == 0 && ours.st_dev == there.st_dev &&
           ours.st_ino == there.st_ino;
}

int build_cache_lock(const char *cache, const char *key, struct error *err)
{
    char *path = xprintf("%s/%s.lock", cache, key);
    int fd = -1, code = -1;
    do {
        if (fd >= 0)
            close(fd);
        fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
        while (fd >= 0 && (code = flock(fd, LOCK_EX)) && errno == EINTR)
            ;
    } while (fd >= 0 && code == 0 && !is_named(fd, path));
    if (code) {
        error_set(err, "%s: cannot lock: %s", path, strerror(errno));
        if (fd >= 0)
            close(fd);
        fd = -1;
    }
    free(path);
    return fd;
}

int build_cache_state(const char *directory, const struct build *build, struct error *err)
{
    char *path = xprintf("%s/state", directory);
    FILE *file = fopen(path, "wxe");
    bool ok = file != NULL;
    if (file) {
        fprintf(file, "%s\n%.6f\n", build->state == BUILD_OK ? "ok" : build->reason,
                build->seconds);
        ok = fflush(file) == 0 && fsync(fileno(file)) == 0;
        ok = fclose(file) == 0 && ok;
    }
    if (!ok)
        error_set(err, "%s: cannot write: %s", path, strerror(errno));
    free(path);
    return ok ? 0 : -1;
}

// ---- pruning

struct kept {
    char *path;
    struct timespec used;
    uint64_t bytes;
};
struct kept_list {
    struct kept *items;
    size_t count, capacity;
};

// Removes what a builder left that nobody waits for: the lock can be had at once.
static int remove_abandoned(struct prune_result *result, const char *cache, const char *name,
                            struct error *err)
{
    char *lock = xprintf("%s/%.*s.lock", cache, KEY_LENGTH, name + 4);
    char *path = xprintf("%s/%s", cache, name);
    int fd = open(lock, O_RDWR | O_CLOEXEC | O_NOFOLLOW), code = 0;
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0) {
        result->bytes_removed += files_size(path);
        result->removed++;
        code = files_remove(path, err);
        unlink(lock);
    }
    if (fd >= 0)
        close(fd);
    free(lock);
    free(path);
    return code;
}

static void add_kept(struct kept_list *list, const char *cache, const char *name)
{
    struct kept kept = {.path = xprintf("%s/%s", cache, name)};
    char *state = xprintf("%s/state", kept.path);
    struct stat status;
    if (stat(state, &status) == 0)
        kept.used = status.st_mtim; // without a state it is from long ago, and goes first
    kept.bytes = files_size(kept.path);
    free(state);
    list->items = xgrow(list->items, list->count, &list->capacity, sizeof(*list->items));
    list->items[list->count++] = kept;
}

static bool is_key(const char *name)
{
    return strlen(name) == KEY_LENGTH && strspn(name, "0123456789abcdef") == KEY_LENGTH;
}

static int list_cache(struct kept_list *list, struct prune_result *result, const char *cache,
                      struct error *err)
{
    DIR *directory = opendir(cache);
    int code = 0;
    if (!directory)
        return errno == ENOENT ? 0 : error_set(err, "%s: %s", cache, strerror(errno));
    for (struct dirent *entry; code == 0 && (entry = readdir(directory));) {
        if (is_key(entry->d_name))
            add_kept(list, cache, entry->d_name);
        else if (strncmp(entry->d_name, "tmp-", 4) == 0)
            code = remove_abandoned(result, cache, entry->d_name, err);
    }
    closedir(directory);
    return code;
}

static int oldest_first(const void *left, const void *right)
{
    const struct timespec a = ((const struct kept *)left)->used;
    const struct timespec b = ((const struct kept *)right)->used;
    if (a.tv_sec != b.tv_sec)
        return (a.tv_sec > b.tv_sec) - (a.tv_sec < b.tv_sec);
    return (a.tv_nsec > b.tv_nsec) - (a.tv_nsec < b.tv_nsec);
}

// Renamed first, so that nobody finds half of it.
static int remove_kept(const char *cache, const struct kept *kept, struct error *err)
{
    char *aside = xprintf("%s/tmp-%s-prune", cache, strrchr(kept->path, '/') + 1);
    int code = 0;
    if (rename(kept->path, aside) == 0)
        code = files_remove(aside, err);
    else if (errno != ENOENT)
        code = error_set(err, "%s: cannot remove: %s", kept->path, strerror(errno));
    free(aside);
    return code;
}

int build_prune(struct prune_result *out, const char *cache, double max_age_s, uint64_t max_bytes,
                struct error *err)
{
    struct prune_result result = {0};
    struct kept_list list = {0};
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    int code = list_cache(&list, &result, cache, err);
    if (list.count > 0)
        qsort(list.items, list.count, sizeof(*list.items), oldest_first);
    for (size_t i = 0; i < list.count; i++)
        result.bytes_kept += list.items[i].bytes;
    result.kept = list.count;
    for (size_t i = 0; code == 0 && i < list.count; i++) {
        const struct kept *kept = &list.items[i];
        double age_s = difftime(now.tv_sec, kept->used.tv_sec);
        bool old = max_age_s > 0 && age_s > max_age_s;
        if (!old && !(max_bytes > 0 && result.bytes_kept > max_bytes))
            break; // the others are younger, and fit
        code = remove_kept(cache, kept, err);
        result.removed++;
        result.kept--;
        result.bytes_removed += kept->bytes;
        result.bytes_kept -= kept->bytes;
    }
    for (size_t i = 0; i < list.count; i++)
        free(list.items[i].path);
    free(list.items);
    if (code == 0)
        *out = result;
    return code;
}

// ---- what nobody asks for

enum { DAY_S = 86400, TIDY_AGE_S = 180 * DAY_S };
static const uint64_t tidy_bytes = (uint64_t)16 << 30;

// True once a day: sizing a large cache takes longer than starting. A clock that went back counts.
static bool is_due(const char *cache)
{
    struct stat last;
    char *path = xprintf("%s/tidied", cache);
    time_t now = time(NULL);
    bool due = stat(path, &last) || last.st_mtime > now || now - last.st_mtime > DAY_S;
    int fd = due ? open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666) : -1;
    if (fd >= 0) {
        futimens(fd, NULL);
        close(fd);
    }
    free(path);
    return due;
}

void build_tidy(const char *cache)
{
    struct prune_result result = {0};
    struct error ignored; // another one's at it, or the next one will be
    DIR *directory = opendir(cache);
    if (!directory)
        return;
    for (struct dirent *entry; (entry = readdir(directory));) {
        if (strncmp(entry->d_name, "tmp-", 4) == 0)
            remove_abandoned(&result, cache, entry->d_name, &ignored);
    }
    closedir(directory);
    if (is_due(cache))
        build_prune(&result, cache, TIDY_AGE_S, tidy_bytes, &ignored);
}
