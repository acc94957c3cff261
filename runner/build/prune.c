// SPDX-License-Identifier: Apache-2.0
//
// Throws kept builds away: by age and size, and what killed builders left.
#include "runner/build/build.h"
#include "runner/child/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { KEY_LENGTH = 40, DAY_S = 86400 };

struct kept_build {
    char *path;
    struct timespec used;
    uint64_t bytes;
};
struct kept_list {
    struct kept_build *items;
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
    struct kept_build kept = {.path = xprintf("%s/%s", cache, name)};
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
    const struct timespec a = ((const struct kept_build *)left)->used;
    const struct timespec b = ((const struct kept_build *)right)->used;
    if (a.tv_sec != b.tv_sec)
        return (a.tv_sec > b.tv_sec) - (a.tv_sec < b.tv_sec);
    return (a.tv_nsec > b.tv_nsec) - (a.tv_nsec < b.tv_nsec);
}

// Renamed first, so that nobody finds half of it.
static int remove_kept(const char *cache, const struct kept_build *kept, struct error *err)
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

// Removes the folders that builds show to their libraries. They hold other names of the same files.
// A folder is made again when it is asked for, and goes with builds, unless a run that goes on may
// have it open.
static int remove_shown(const char *cache, time_t now, struct error *err)
{
    char *kept = xprintf("%s/" BUILD_KEPT, cache);
    DIR *directory = opendir(kept);
    int code = 0;
    for (struct dirent *entry; code == 0 && directory && (entry = readdir(directory));) {
        char *path = xprintf("%s/%s", kept, entry->d_name);
        struct stat status;
        if (entry->d_name[0] != '.' && lstat(path, &status) == 0 &&
            difftime(now, status.st_ctime) > DAY_S)
            code = files_remove(path, err);
        free(path);
    }
    if (directory)
        closedir(directory);
    free(kept);
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
        const struct kept_build *kept = &list.items[i];
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
    if (code == 0 && result.removed)
        code = remove_shown(cache, now.tv_sec, err);
    if (code == 0)
        *out = result;
    return code;
}

// ---- what nobody asks for

enum { TIDY_AGE_S = 180 * DAY_S };
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
