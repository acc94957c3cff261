// SPDX-License-Identifier: Apache-2.0
//
// Writing the site's files: each whole, and only when it differs from what is there.
#include "reports/site/site_files.h"

#include "reports/report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// At most `most` bytes of the file; false when there is none.
static bool read_start(struct buffer *out, const char *path, size_t most)
{
    char bytes[65536];
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0)
        return false;
    ssize_t length;
    while (out->length < most &&
           (length =
                read(file, bytes,
                     most - out->length < sizeof(bytes) ? most - out->length : sizeof(bytes))) > 0)
        buffer_add(out, bytes, (size_t)length);
    close(file);
    return true;
}

static bool is_unchanged(const char *path, const struct buffer *made)
{
    struct stat st;
    struct buffer there = {0};
    if (stat(path, &st) != 0 || (size_t)st.st_size != made->length)
        return false;
    bool same = read_start(&there, path, made->length) && there.length == made->length &&
                (made->length == 0 || memcmp(there.bytes, made->bytes, made->length) == 0);
    buffer_free(&there);
    return same;
}

int site_put(struct site_target *target, const char *folder, const char *name, const char *ending,
             struct buffer *made, struct error *err)
{
    int status = 0;
    char *path = xprintf("%s/%s%s%s", target->directory, folder, name, ending);
    if (is_unchanged(path, made)) {
        target->written.unchanged++;
    } else {
        status = report_put_file(path, made->bytes ? made->bytes : "", made->length, err);
        target->written.pages += status == 0;
    }
    free(path);
    buffer_free(made);
    return status;
}

int site_put_both(struct site_target *target, const char *folder, const char *name,
                  const char *ending, struct buffer *html, struct buffer *json, struct error *err)
{
    int status = site_put(target, folder, name, ending, html, err);
    if (status == 0)
        status = site_put(target, folder, name, ".json", json, err);
    buffer_free(html);
    buffer_free(json);
    return status;
}

int site_make_folder(const char *directory, const char *name, struct error *err)
{
    int status = 0;
    char *path = xprintf("%s%s", directory, name);
    if (mkdir(path, 0755) != 0 && errno != EEXIST)
        status = error_set(err, "%s: cannot be created: %s; its parent folder must exist", path,
                           strerror(errno));
    free(path);
    return status;
}

void site_read(struct buffer *out, const struct site_target *target, const char *folder,
               const char *name, const char *ending)
{
    char *path = xprintf("%s/%s%s%s", target->directory, folder, name, ending);
    read_start(out, path, SIZE_MAX);
    free(path);
}

// The stamp stands in a page's JSON, which is written after the page: killed between the two, the
// page is made again.
bool site_has_stamp(const struct site_target *target, const char *folder, const char *name,
                    const char *ending, uint64_t stamp)
{
    char wanted[64];
    struct buffer json = {0};
    struct stat st;
    char *path = xprintf("%s/%s%s.json", target->directory, folder, name);
    char *page = xprintf("%s/%s%s%s", target->directory, folder, name, ending);
    snprintf(wanted, sizeof(wanted), "\"stamp\":\"%016llx\"", (unsigned long long)stamp);
    bool found = stat(page, &st) == 0 && st.st_size > 0 && read_start(&json, path, 4096) &&
                 json.bytes && strstr(json.bytes, wanted);
    buffer_free(&json);
    free(path);
    free(page);
    return found;
}
