// SPDX-License-Identifier: Apache-2.0
//
// Keeps the beginning and the end of a long log.
#include "runner/child/log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int log_open(struct log *out, const char *path, size_t bytes, struct error *err)
{
    *out = (struct log){.fd = -1};
    if (path) {
        // At the end, for the process before may still write to it.
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

// A full disk costs the log, not the run.
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
    for (ssize_t i = 0; i < size; i++) { // a log may hold NUL bytes; text may not
        if (text[i] == '\0')
            text[i] = '?';
    }
    char *line = from > 0 ? strchr(text, '\n') : NULL;
    if (line && line[1])
        memmove(text, line + 1, strlen(line + 1) + 1);
    return text;
}
