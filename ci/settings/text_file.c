// SPDX-License-Identifier: Apache-2.0
//
// Reads and writes whole files, whatever they contain.
#include "ci/settings/text_file.h"
#include "runner/git/repository.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_MOST = 1 << 30 }; // a larger CSV or record is a mistake

static int read_all(struct buffer *out, FILE *file, const char *path, struct error *err)
{
    char piece[65536];
    size_t got;
    buffer_puts(out, "");
    while ((got = fread(piece, 1, sizeof(piece), file)) > 0) {
        buffer_add(out, piece, got);
        if (out->length > FILE_MOST)
            return error_set(err, "%s: larger than 1 GiB", path);
    }
    return ferror(file) ? error_set(err, "%s: %s", path, write_failure(errno)) : 0;
}

int text_file_read(char **text, size_t *length, const char *path, struct error *err)
{
    struct buffer found = {0};
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    if (!file)
        return error_set(err, "%s: %s", path, write_failure(errno));
    int result = read_all(&found, file, path, err);
    if (file != stdin)
        fclose(file);
    if (result) {
        buffer_free(&found);
        return -1;
    }
    *text = found.bytes;
    *length = found.length;
    return 0;
}

int text_file_write(const char *path, const struct buffer *text, struct error *err)
{
    struct output_file out;
    if (output_file_open(&out, path, err))
        return -1;
    if (text->length)
        fwrite(text->bytes, 1, text->length, out.file);
    return output_file_close(&out, 0, err); // which notices output that could not be written
}

int text_file_ignore(const char *directory, struct error *err)
{
    char *path = xprintf("%s/.gitignore", directory);
    int status = 0;
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 ? errno != EEXIST : write(fd, "*\n", 2) != 2)
        status =
            error_set(err, "%s: %s; give --store and --cache elsewhere", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    free(path);
    return status;
}

bool output_failed(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO};
    if (fflush(stdout) == 0 && !ferror(stdout))
        return false;
    return poll(&out, 1, 0) != 1 || !(out.revents & (POLLERR | POLLHUP));
}

int output_file_open(struct output_file *out, const char *path, struct error *err)
{
    *out = (struct output_file){.file = stdout};
    if (!path || strcmp(path, "-") == 0)
        return 0;
    if (repository_refuse_brought(path, BROUGHT_LINKS, err))
        return -1;
    // A pipe or a device is written to and not replaced, and so is a link to a file.
    struct stat there;
    char *real = realpath(path, NULL), *temporary = NULL;
    bool plain = stat(path, &there) || S_ISREG(there.st_mode) || S_ISDIR(there.st_mode);
    if (plain)
        temporary = xprintf("%s.XXXXXX", real ? real : path);
    int fd = plain ? mkstemp(temporary) : open(path, O_WRONLY | O_CLOEXEC);
    FILE *file = fd < 0 || (plain && fchmod(fd, 0644)) ? NULL : fdopen(fd, "w");
    if (!file) {
        error_set(err, "%s: cannot be written: %s", path, write_failure(errno));
        if (fd >= 0)
            close(fd);
        if (fd >= 0 && plain)
            unlink(temporary);
        free(temporary);
        free(real);
        return -1;
    }
    *out = (struct output_file){file, real ? real : xstrdup(path), temporary};
    return 0;
}

int output_file_close(struct output_file *out, int status, struct error *err)
{
    if (!out->path)
        return status == 0 && output_failed()
                   ? error_set(err, "standard output: cannot be written; is the disk full, or "
                                    "`ulimit -f` too low?")
                   : status;
    bool failed = fflush(out->file) || ferror(out->file);
    failed = (out->temporary && fsync(fileno(out->file))) || failed;
    failed = fclose(out->file) || failed;
    if (status == 0 && (failed || (out->temporary && rename(out->temporary, out->path))))
        status = error_set(err, "%s: cannot be written: %s", out->path, write_failure(errno));
    if (status && out->temporary)
        unlink(out->temporary);
    free(out->path);
    free(out->temporary);
    return status;
}
