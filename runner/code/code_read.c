// SPDX-License-Identifier: Apache-2.0
//
// Opens a library and walks its cubins, for code_id.c and code_resources.c.
#include "runner/code/code_read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const off_t library_bytes_max = (off_t)1 << 30;

int code_read(struct code_file *out, const char *library, struct error *err)
{
    struct code_file file = {0};
    struct stat status;
    int result = -1, fd = open(library, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &status)) {
        error_set(err, "%s: %s", library, strerror(errno));
        goto fail;
    }
    if (!S_ISREG(status.st_mode) || status.st_size > library_bytes_max) {
        error_set(err, "%s: is not a file of at most 1 GiB", library);
        result = 1;
        goto fail;
    }
    file.bytes = xcalloc((size_t)status.st_size, 1);
    while (file.size < (size_t)status.st_size) {
        ssize_t got = read(fd, file.bytes + file.size, (size_t)status.st_size - file.size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        file.size += (size_t)got;
    }
    if (file.size != (size_t)status.st_size) {
        error_set(err, "%s: cannot be read whole: %s", library, strerror(errno));
        goto fail;
    }
    close(fd);
    *out = file;
    return 0;
fail:
    free(file.bytes);
    if (fd >= 0)
        close(fd);
    return result;
}

void code_close(struct code_file *file)
{
    free(file->bytes);
    *file = (struct code_file){0};
}

// Format 1 has no value, 2 and 3 have one in the two bytes that follow, 4 has those as its size.
bool cubin_next(struct cubin_attribute *out, size_t *at, const struct elf_section *section)
{
    enum { NO_VALUE = 1, BYTE_VALUE, HALF_VALUE, SIZED_VALUE, HEADER = 4 };
    size_t left = (size_t)section->size - *at;
    if (left < HEADER)
        return false;
    const unsigned char *here = section->bytes + *at;
    struct cubin_attribute attribute = {here[0], here[1], here + 2, 2};
    size_t length = HEADER;
    if (attribute.format == SIZED_VALUE) {
        attribute.size = elf_u16(here + 2);
        attribute.bytes = here + HEADER;
        length += attribute.size;
    } else if (attribute.format < NO_VALUE || attribute.format > SIZED_VALUE) {
        return false;
    }
    if (length > left)
        return false;
    *at += length;
    *out = attribute;
    return true;
}
