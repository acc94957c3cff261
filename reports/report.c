// SPDX-License-Identifier: Apache-2.0
//
// Writes reports to files. A new file is complete before it replaces the old one. The content is
// made in formats/.
#include "reports/report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define X(name) extern const struct report report_##name;
#include "reports/formats.inc"
#undef X

#define X(name) &report_##name,
const struct report *const reports[] = {
#include "reports/formats.inc"
};
#undef X
const size_t report_count = ARRAY_COUNT(reports);

const struct report *report_find(const char *name)
{
    for (size_t i = 0; i < report_count; i++) {
        if (strcmp(reports[i]->name, name) == 0)
            return reports[i];
    }
    return NULL;
}

static int write_fully(int file, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t written = write(file, bytes, length);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return -1;
        bytes += written;
        length -= (size_t)written;
    }
    return fsync(file);
}

// Syncs the folder, so that the file's name survives a power cut, too. Some file systems cannot
// sync a directory and keep the file all the same, so a refusal is not an error.
static void sync_parent(const char *path)
{
    char *parent = xstrdup(path);
    char *slash = strrchr(parent, '/');
    if (slash)
        slash[slash == parent] = '\0';
    int directory = open(slash ? parent : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory >= 0) {
        (void)fsync(directory);
        close(directory);
    }
    free(parent);
}

int report_put_file(const char *path, const char *bytes, size_t length, struct error *err)
{
    int status = -1;
    char *temporary = xprintf("%s.%ld.tmp", path, (long)getpid());
    int file = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (file < 0) {
        error_set(err, "%s: cannot be written: %s", path, write_failure(errno));
        goto done;
    }
    int failed = write_fully(file, bytes, length) ? errno : 0;
    if (close(file) != 0 && !failed)
        failed = errno;
    if (!failed && rename(temporary, path) != 0)
        failed = errno;
    if (failed) {
        unlink(temporary);
        error_set(err, "%s: cannot be written: %s; the old file, if any, is untouched", path,
                  write_failure(failed));
        goto done;
    }
    status = 0;
done:
    free(temporary);
    return status;
}

int report_replace_file(const char *path, const char *bytes, size_t length, struct error *err)
{
    if (report_put_file(path, bytes, length, err))
        return -1;
    sync_parent(path);
    return 0;
}

// Makes each parent and then the folder itself. They may exist.
static int make_folders(const char *directory, struct error *err)
{
    char *path = xstrdup(directory);
    int status = 0;
    for (char *end = path; status == 0 && *end; end++) {
        end += strspn(end, "/");
        end += strcspn(end, "/");
        const char was = *end;
        *end = '\0';
        if (mkdir(path, 0755) != 0 && errno != EEXIST)
            status = error_set(err, "%s: cannot be created: %s; choose another folder with --out",
                               path, strerror(errno));
        *end = was;
        if (was == '\0')
            break;
    }
    free(path);
    return status;
}

int report_directory(const char *directory, struct error *err)
{
    if (make_folders(directory, err))
        return -1;
    char *probe = xprintf("%s/.plumb.%ld.tmp", directory, (long)getpid());
    int file = open(probe, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
    int status = 0;
    if (file < 0)
        status = error_set(err,
                           "%s: nothing can be written there: %s; choose another folder "
                           "with --out",
                           directory, strerror(errno));
    else
        close(file);
    if (file >= 0)
        unlink(probe);
    free(probe);
    return status;
}

static int report_write(const struct report *report, const char *directory, const struct run *run,
                        const struct report_context *context, struct error *err)
{
    if (make_folders(directory, err))
        return -1;
    struct buffer out = {0};
    report->write(&out, run, context);
    char *path = xprintf("%s/%s", directory, report->file);
    int status = report_replace_file(path, out.bytes ? out.bytes : "", out.length, err);
    free(path);
    buffer_free(&out);
    return status;
}

int report_write_all(const char *directory, const struct run *run,
                     const struct report_context *context, struct error *err)
{
    for (size_t i = 0; i < report_count; i++) {
        if (report_write(reports[i], directory, run, context, err))
            return -1;
    }
    return 0;
}
