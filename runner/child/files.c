// SPDX-License-Identifier: Apache-2.0
//
// Makes, measures and removes folders with foreign files, without following links.
#include "runner/child/files.h"

#include "model/base.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// ==== folders and files ====

// The bytes of all files below a directory; what cannot be read counts as nothing. Folders deeper
// than 128 levels are not entered, and count as more than any disk has. An empty file counts, too,
// because a disk can only hold so many files.
#define FILES_TOO_DEEP ((uint64_t)1 << 50)
#define FILES_LEAST    ((uint64_t)4096)

// Foreign trees may have any depth, and each level costs a descriptor and some stack.
enum { DEPTH_MAX = 128 };

int files_make_directory(const char *path, struct error *err)
{
    char *copy = xstrdup(path);
    int result = 0;
    for (char *slash = strchr(copy + 1, '/'); result == 0; slash = strchr(slash + 1, '/')) {
        if (slash)
            *slash = '\0';
        if (mkdir(copy, 0777) && errno != EEXIST)
            result = error_set(err, "%s: cannot make the directory: %s", copy, strerror(errno));
        if (!slash)
            break;
        *slash = '/';
    }
    struct stat status;
    if (result == 0 && (stat(path, &status) || !S_ISDIR(status.st_mode)))
        result = error_set(err, "%s: is not a directory", path);
    free(copy);
    return result;
}

static DIR *open_directory(int at, const char *name)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int fd = openat(at, name, flags);
    // Who made the folder may put a link in its place meanwhile.
    if (fd < 0 && errno == EACCES && fchmodat(at, name, 0700, AT_SYMLINK_NOFOLLOW) == 0)
        fd = openat(at, name, flags);
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    if (fd >= 0 && !directory)
        close(fd);
    return directory;
}

static bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

// Removes a tree. A folder that is too deep to be entered is moved to the top, and entered there.
struct removal {
    int top; // descriptor of the outermost folder; -1: not open yet
    size_t moved;
};

static int move_up(struct removal *removal, int at, const char *name)
{
    char aside[40];
    do
        snprintf(aside, sizeof(aside), "moved-%zu", removal->moved++);
    while (renameat2(at, name, removal->top, aside, RENAME_NOREPLACE) && errno == EEXIST);
    struct stat status;
    return fstatat(at, name, &status, AT_SYMLINK_NOFOLLOW) ? 0 : -1; // then it must be gone
}

static int remove_at(struct removal *removal, int at, const char *name, int depth);

// Empties a folder. 0, or -1 with errno of the first failure.
static int empty(struct removal *removal, DIR *directory, int depth)
{
    int result = 0;
    fchmod(dirfd(directory), 0700); // without write permission its entries cannot be removed
    for (struct dirent *entry; result == 0 && (entry = readdir(directory));) {
        if (!is_dots(entry->d_name))
            result = remove_at(removal, dirfd(directory), entry->d_name, depth + 1);
    }
    return result;
}

static int remove_at(struct removal *removal, int at, const char *name, int depth)
{
    if (unlinkat(at, name, 0) == 0 || errno == ENOENT)
        return 0;
    if (errno != EISDIR && errno != EPERM && errno != EACCES)
        return -1;
    if (unlinkat(at, name, AT_REMOVEDIR) == 0)
        return 0;
    if (errno != ENOTEMPTY && errno != EEXIST && errno != EACCES)
        return -1;
    const int why = errno, denied = fchmodat(at, name, 0700, AT_SYMLINK_NOFOLLOW);
    (void)denied; // what is moved is written to; if this failed, moving it fails and says why
    if (depth > DEPTH_MAX)
        return move_up(removal, at, name);
    DIR *directory = open_directory(at, name);
    if (!directory) {
        errno = errno == ENOTDIR ? why : errno; // a file in another's folder
        return -1;
    }
    const bool outermost = removal->top < 0;
    size_t moved;
    int result, failure;
    if (outermost)
        removal->top = dirfd(directory);
    do { // repeated for folders that were moved up meanwhile
        moved = removal->moved;
        rewinddir(directory);
        result = empty(removal, directory, depth);
        failure = errno;
    } while (outermost && result == 0 && removal->moved > moved);
    if (outermost)
        removal->top = -1;
    closedir(directory);
    if (result == 0)
        return unlinkat(at, name, AT_REMOVEDIR);
    errno = failure;
    return -1;
}

int files_temporary(char *out, size_t size, struct error *err)
{
    const char *temporary = getenv("TMPDIR");
    if (!temporary || temporary[0] != '/' || strlen(temporary) > 40)
        temporary = "/tmp";
    snprintf(out, size, "%s/plumb-XXXXXX", temporary);
    if (mkdtemp(out))
        return 0;
    error_set(err, "%s: %s", out, strerror(errno));
    out[0] = '\0';
    return -1;
}

int files_remove(const char *path, struct error *err)
{
    struct removal removal = {.top = -1};
    if (remove_at(&removal, AT_FDCWD, path, 0))
        return error_set(err, "%s: cannot remove: %s", path, strerror(errno));
    return 0;
}

static uint64_t size_at(int at, const char *name, int depth)
{
    struct stat status;
    if (fstatat(at, name, &status, AT_SYMLINK_NOFOLLOW))
        return 0;
    const uint64_t blocks = (uint64_t)status.st_blocks * 512;
    uint64_t bytes = blocks > FILES_LEAST ? blocks : FILES_LEAST;
    if (!S_ISDIR(status.st_mode))
        return bytes;
    if (depth > DEPTH_MAX)
        return FILES_TOO_DEEP;
    DIR *directory = open_directory(at, name);
    for (struct dirent *entry;
         directory && bytes < FILES_TOO_DEEP && (entry = readdir(directory));) {
        if (!is_dots(entry->d_name))
            bytes += size_at(dirfd(directory), entry->d_name, depth + 1);
    }
    if (directory)
        closedir(directory);
    return bytes < FILES_TOO_DEEP ? bytes : FILES_TOO_DEEP;
}

uint64_t files_size(const char *path)
{
    return size_at(AT_FDCWD, path, 0);
}

// Opens a regular file; it does not wait for a writer of a pipe.
static int open_regular(struct stat *status, const char *path)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0 && (fstat(fd, status) || !S_ISREG(status->st_mode))) {
        close(fd);
        errno = EINVAL;
        fd = -1;
    }
    return fd;
}

char *files_read(const char *path, size_t most)
{
    struct stat status;
    char *text = NULL;
    int fd = open_regular(&status, path);
    if (fd < 0)
        return NULL;
    if (status.st_size >= 0 && (uint64_t)status.st_size <= most) {
        size_t size = (size_t)status.st_size, used = 0;
        ssize_t got = 1;
        text = xcalloc(size + 1, 1);
        while (used < size && got > 0) {
            got = read(fd, text + used, size - used);
            used += got > 0 ? (size_t)got : 0;
        }
        if (used != size || memchr(text, '\0', size)) {
            free(text);
            text = NULL;
        }
    }
    close(fd);
    return text;
}

static int copy_bytes(int to, int from)
{
    char bytes[65536];
    ssize_t got;
    while ((got = read(from, bytes, sizeof(bytes))) > 0) {
        for (ssize_t done = 0, wrote; done < got; done += wrote) {
            wrote = write(to, bytes + done, (size_t)(got - done));
            if (wrote < 0)
                return -1;
        }
    }
    return got < 0 ? -1 : 0;
}

int files_copy(const char *from, const char *to, struct error *err)
{
    struct stat status;
    int source = open_regular(&status, from), target = -1, result = -1;
    if (source < 0)
        return error_set(err, "%s: cannot be copied: %s", from, strerror(errno));
    target = open(to, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                  status.st_mode & 0111 ? 0777 : 0666);
    if (target >= 0)
        result = copy_bytes(target, source);
    if (target >= 0 && close(target))
        result = -1;
    if (result)
        error_set(err, "%s: cannot be copied to %s: %s", from, to, write_failure(errno));
    close(source);
    return result;
}

bool files_own(char *out, const char *name)
{
    static const char *const places[] = {"/../libexec/plumbline/", "/"};
    enum { PLACE_MOST = 80 };
    const ssize_t length = readlink("/proc/self/exe", out, PATH_MAX - PLACE_MOST);
    out[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(out, '/');
    for (size_t i = 0; slash && i < ARRAY_COUNT(places); i++) {
        snprintf(slash, PLACE_MOST, "%s%.40s", places[i], name);
        if (access(out, R_OK) == 0)
            return true;
    }
    return false;
}

// ==== a log of bounded size ====
//
// Keeps the beginning and the end of a long log.

int log_open(struct log *out, const char *path, size_t bytes, struct error *err)
{
    *out = (struct log){.fd = -1};
    if (path) {
        // Appends, because the previous process may still write to the file.
        const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOFOLLOW;
        int fd = open(path, flags, 0644);
        if (fd < 0)
            return error_set(err, "%s: cannot write the log: %s", path, strerror(errno));
        log_attach(out, fd, bytes);
    }
    return 0;
}

void log_attach(struct log *out, int fd, size_t bytes)
{
    size_t limit = bytes ? bytes : (size_t)1 << 20;
    *out = (struct log){.fd = fd, .tail_size = limit / 4, .head_room = limit - limit / 4};
    out->tail = xcalloc(out->tail_size + 1, 1);
}

// If the disk is full the log is incomplete, and the run goes on.
static void write_all(int fd, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t written = write(fd, bytes, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return;
        bytes += written;
        size -= (size_t)written;
    }
}

void log_write(struct log *log, const char *bytes, size_t size)
{
    if (log->fd < 0)
        return;
    size_t direct = size < log->head_room ? size : log->head_room;
    write_all(log->fd, bytes, direct);
    log->head_room -= direct;
    for (size_t i = direct; i < size && log->tail_size > 0; i++)
        log->tail[log->tail_bytes++ % log->tail_size] = bytes[i];
}

static void write_ring(const struct log *log)
{
    size_t at = (size_t)(log->tail_bytes % log->tail_size);
    if (log->tail_bytes > log->tail_size) {
        char text[80];
        int length = snprintf(text, sizeof(text), "\n[... %" PRIu64 " bytes dropped ...]\n",
                              log->tail_bytes - log->tail_size);
        write_all(log->fd, text, (size_t)length);
    }
    if (log->tail_bytes >= log->tail_size)
        write_all(log->fd, log->tail + at, log->tail_size - at);
    write_all(log->fd, log->tail, at);
}

void log_close(struct log *log)
{
    if (log->tail_bytes > 0)
        write_ring(log);
    if (log->fd >= 0)
        close(log->fd);
    free(log->tail);
    *log = (struct log){.fd = -1};
}

char *log_tail(const char *path, size_t most)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    char *text = log_tail_of(fd, most);
    if (fd >= 0)
        close(fd);
    return text;
}

char *log_tail_of(int fd, size_t most)
{
    char *text = xcalloc(most + 1, 1);
    struct stat stat;
    if (fd < 0 || fstat(fd, &stat) || !S_ISREG(stat.st_mode))
        return text;
    off_t from = stat.st_size > (off_t)most ? stat.st_size - (off_t)most : 0;
    ssize_t size = pread(fd, text, most, from);
    text[size > 0 ? size : 0] = '\0';
    for (ssize_t i = 0; i < size; i++) { // a log may contain NUL bytes, a text may not
        if (text[i] == '\0')
            text[i] = '?';
    }
    char *line = from > 0 ? strchr(text, '\n') : NULL;
    if (line && line[1])
        memmove(text, line + 1, strlen(line + 1) + 1);
    return text;
}
