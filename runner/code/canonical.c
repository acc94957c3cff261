// SPDX-License-Identifier: Apache-2.0
//
// The output of a build as it is kept: what a kernel can read of it, and a code id does not say, is
// the same for all. A library keeps what the loader maps and sections of its own, but no symbols
// and no debug information; files are copied anew, in the order of their names, without holes,
// other links, times or rights of their own; folders without files, pipes, sockets and devices are
// not there.
#include "model/buffer.h"
#include "runner/code/code_id.h"
#include "runner/code/machine_code.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES_MAX = 10000 };

static const struct timespec no_time[2] = {{0, 0}, {0, 0}};

// ---- libraries

// What is no part of a segment, cleared, up to where the last one ends.
static size_t clear_between(unsigned char *bytes, const struct elf_image *image)
{
    uint64_t end = 0;
    for (size_t i = 0; i < image->segment_count; i++) {
        const struct elf_segment *s = &image->segments[i];
        if (s->type == PT_LOAD && s->offset + s->file_size > end)
            end = s->offset + s->file_size;
    }
    unsigned char *clean = xcalloc((size_t)end + 1, 1);
    for (size_t i = 0; i < image->segment_count; i++) {
        const struct elf_segment *s = &image->segments[i];
        if (s->type == PT_LOAD)
            memcpy(clean + s->offset, bytes + s->offset, (size_t)s->file_size);
    }
    memcpy(bytes, clean, (size_t)end);
    free(clean);
    return (size_t)end;
}

static void put_padded(struct buffer *out, const void *bytes, size_t size)
{
    static const char zeros[8];
    buffer_add(out, bytes, size);
    buffer_add(out, zeros, (8 - out->length % 8) % 8);
}

// Of sections those that may be read from the file, and the device code's, which others look up.
static void add_sections(struct code_file *file, size_t end, const struct elf_image *image)
{
    const struct elf_section *fatbin = code_fatbin(image);
    const size_t tail = code_tail(image);
    Elf64_Shdr *table = xcalloc(image->section_count + 2, sizeof(*table));
    struct buffer out = {0}, names = {0};
    uint16_t count = 1;
    put_padded(&out, file->bytes, end);
    buffer_add(&names, "", 1);
    for (size_t i = 0; i < image->section_count; i++) {
        const struct elf_section *s = &image->sections[i];
        if (s != fatbin && !code_reads_section(s))
            continue;
        table[count++] = (Elf64_Shdr){.sh_name = (uint32_t)names.length,
                                      .sh_type = SHT_PROGBITS,
                                      .sh_flags = s == fatbin ? SHF_ALLOC : 0,
                                      .sh_addr = s == fatbin ? s->address : 0,
                                      .sh_offset = s == fatbin ? s->offset : out.length,
                                      .sh_size = s->size,
                                      .sh_addralign = 8};
        if (s != fatbin)
            put_padded(&out, s->bytes, (size_t)s->size);
        buffer_add(&names, s->name, strlen(s->name) + 1);
    }
    table[count] = (Elf64_Shdr){.sh_name = (uint32_t)names.length,
                                .sh_type = SHT_STRTAB,
                                .sh_offset = out.length,
                                .sh_addralign = 1};
    buffer_add(&names, ".shstrtab", sizeof(".shstrtab"));
    table[count++].sh_size = names.length;
    put_padded(&out, names.bytes, names.length);
    Elf64_Ehdr header;
    memcpy(&header, out.bytes, sizeof(header));
    header.e_shoff = out.length;
    header.e_shnum = count;
    header.e_shstrndx = (uint16_t)(count - 1);
    memcpy(out.bytes, &header, sizeof(header));
    buffer_add(&out, (const char *)table, count * sizeof(*table));
    if (tail < image->size)
        buffer_add(&out, (const char *)image->bytes + tail, image->size - tail);
    free(table);
    buffer_free(&names);
    *file = (struct code_file){(unsigned char *)out.bytes, out.length};
}

// Any other file stays as it is.
static void settle_library(struct code_file *file)
{
    struct elf_image image = {0};
    if (elf_open(&image, file->bytes, file->size))
        return;
    if (code_is_library(&image)) {
        struct code_file settled = {xcalloc(file->size, 1), file->size};
        memcpy(settled.bytes, file->bytes, file->size);
        code_blank(settled.bytes, &image);
        unsigned char *mapped = settled.bytes;
        add_sections(&settled, clear_between(mapped, &image), &image);
        free(mapped);
        elf_close(&image);
        free(file->bytes);
        *file = settled;
        return;
    }
    elf_close(&image);
}

// ---- files

struct settling {
    const char *from, *to, *statements;
    const struct code_limits *limits;
    size_t files;
    uint64_t bytes;
    struct error *err;
};

static int cannot(const struct settling *s, const char *path)
{
    return error_set(s->err, "%s: cannot be written: %s", path, strerror(errno));
}

// The folders on the way to a file of the copy.
static int make_way(const struct settling *s, const char *path)
{
    char *part = xstrdup(path);
    int status = 0;
    for (char *slash = part + strlen(s->to) + 1; status == 0 && (slash = strchr(slash, '/'));
         *slash++ = '/') {
        *slash = '\0';
        if (mkdir(part, 0755) && errno != EEXIST)
            status = cannot(s, part);
    }
    free(part);
    return status;
}

static int write_file(const struct settling *s, const char *path, const struct code_file *file)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0444);
    bool ok = fd >= 0;
    for (size_t at = 0; ok && at < file->size;) {
        const ssize_t put = write(fd, file->bytes + at, file->size - at);
        ok = put > 0 || (put < 0 && errno == EINTR);
        at += put > 0 ? (size_t)put : 0;
    }
    ok = ok && fchmod(fd, 0444) == 0 && futimens(fd, no_time) == 0;
    const int status = ok ? 0 : cannot(s, path);
    if (fd >= 0 && close(fd) && ok)
        return cannot(s, path);
    return status;
}

static bool ends_in(const char *text, const char *ending)
{
    const size_t length = strlen(text), end = strlen(ending);
    return length > end && strcmp(text + length - end, ending) == 0;
}

// A statement stands beside the file that it is about.
static bool is_statement(const char *path)
{
    struct stat about;
    if (!ends_in(path, BUILD_STATEMENT))
        return false;
    char *name = xprintf("%.*s", (int)(strlen(path) - strlen(BUILD_STATEMENT)), path);
    const bool found = lstat(name, &about) == 0 && S_ISREG(about.st_mode);
    free(name);
    return found;
}

static int settle_file(struct settling *s, const char *path, const char *name)
{
    struct code_file file;
    const bool statement = is_statement(path);
    if (statement && strchr(name + 1, '/'))
        return 0; // nobody asks for it
    int status = code_read(&file, path, s->err);
    if (status)
        return status;
    s->bytes += file.size;
    if (s->limits->bytes && s->bytes > s->limits->bytes) {
        code_close(&file);
        error_set(s->err, "the build left more than %llu MiB",
                  (unsigned long long)(s->limits->bytes >> 20));
        return 1;
    }
    if (!statement)
        settle_library(&file);
    char *to = xprintf("%s%s", statement ? s->statements : s->to, name);
    status = statement ? 0 : make_way(s, to);
    if (status == 0)
        status = write_file(s, to, &file);
    free(to);
    code_close(&file);
    return status;
}

static int settle_link(const struct settling *s, const char *path, const char *name)
{
    char target[PATH_MAX];
    const ssize_t length = readlink(path, target, sizeof(target) - 1);
    target[length > 0 ? length : 0] = '\0';
    char *to = xprintf("%s%s", s->to, name);
    int status = make_way(s, to);
    if (status == 0 &&
        (symlink(target, to) || utimensat(AT_FDCWD, to, no_time, AT_SYMLINK_NOFOLLOW)))
        status = cannot(s, to);
    free(to);
    return status;
}

static int settle_entry(struct settling *s, const FTSENT *entry)
{
    const char *name = entry->fts_path + strlen(s->from);
    const bool link = entry->fts_info == FTS_SL || entry->fts_info == FTS_SLNONE;
    if (entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR || entry->fts_info == FTS_NS) {
        // too deep to be named, or not to be read
        error_set(s->err, "%.200s: cannot be looked at: %s", entry->fts_path,
                  strerror(entry->fts_errno));
        return 1;
    }
    if (entry->fts_info != FTS_F && !link)
        return 0;
    if (++s->files > FILES_MAX) {
        error_set(s->err, "the build left more than %d files", FILES_MAX);
        return 1;
    }
    return link ? settle_link(s, entry->fts_path, name) : settle_file(s, entry->fts_path, name);
}

static int by_name(const FTSENT **left, const FTSENT **right)
{
    return strcmp((*left)->fts_name, (*right)->fts_name);
}

// Folders last: each was changed by what was put into it.
static int settle_times(const struct settling *s)
{
    char *copy = xstrdup(s->to), *const roots[] = {copy, NULL};
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
    int status = tree ? 0 : cannot(s, s->to);
    for (FTSENT *entry; status == 0 && (entry = fts_read(tree));) {
        if (entry->fts_info == FTS_DP && utimensat(AT_FDCWD, entry->fts_path, no_time, 0))
            status = cannot(s, entry->fts_path);
    }
    if (tree)
        fts_close(tree);
    free(copy);
    return status;
}

int code_settle(const char *from, const char *to, const char *statements,
                const struct code_limits *limits, struct error *err)
{
    struct settling s = {
        .from = from, .to = to, .statements = statements, .limits = limits, .err = err};
    char *copy = xstrdup(from), *const roots[] = {copy, NULL};
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
    int status = tree ? 0 : error_set(err, "%s: %s", from, strerror(errno));
    for (FTSENT *entry; status == 0 && (entry = fts_read(tree));)
        status = settle_entry(&s, entry);
    if (tree)
        fts_close(tree);
    free(copy);
    return status ? status : settle_times(&s);
}
