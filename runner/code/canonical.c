// SPDX-License-Identifier: Apache-2.0
//
// The output of a build as it is kept: what a kernel can read of it, and a code id does not say, is
// the same for all. A library keeps what the loader maps and sections of its own, but no symbols
// and no debug information, neither of the host nor in its device code; files are copied anew, in
// the order of their names, without holes, other links, times or rights of their own; folders
// without files, pipes, sockets and devices are not there.
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

// ---- what counts of a library

bool code_is_library(const struct elf_image *image)
{
    const uint64_t table = elf_u64(image->bytes + offsetof(Elf64_Ehdr, e_phoff));
    const uint64_t most = sizeof(Elf64_Ehdr) + image->segment_count * sizeof(Elf64_Phdr);
    for (size_t i = 0; i < image->segment_count; i++) {
        const struct elf_segment *s = &image->segments[i];
        if (s->type == PT_LOAD && s->offset == 0 && s->file_size >= most &&
            table <= s->file_size - image->segment_count * sizeof(Elf64_Phdr))
            return true;
    }
    return false;
}

bool code_reads_section(const struct elf_section *section)
{
    static const char *const passed_over[] = {".comment",   ".debug",     ".zdebug",
                                              ".gnu.debug", ".gnu_debug", ".gnu.build.attributes",
                                              ".stab"};
    for (size_t i = 0; i < ARRAY_COUNT(passed_over); i++) {
        if (strncmp(section->name, passed_over[i], strlen(passed_over[i])) == 0)
            return false;
    }
    return section->bytes && section->size && !(section->flags & SHF_ALLOC) &&
           section->type != SHT_NULL && section->type != SHT_SYMTAB && section->type != SHT_STRTAB;
}

size_t code_tail(const struct elf_image *image)
{
    uint64_t end = elf_u64(image->bytes + offsetof(Elf64_Ehdr, e_shoff)) +
                   image->section_count * sizeof(Elf64_Shdr);
    for (size_t i = 0; i < image->segment_count; i++) {
        const struct elf_segment *s = &image->segments[i];
        if (s->type == PT_LOAD && s->offset + s->file_size > end)
            end = s->offset + s->file_size;
    }
    for (size_t i = 0; i < image->section_count; i++) {
        const struct elf_section *s = &image->sections[i];
        if (s->bytes && s->offset + s->size > end)
            end = s->offset + s->size;
    }
    return (size_t)end;
}

// ---- the device code in it

static bool inside(const struct elf_section *section, const struct elf_segment *segment)
{
    return section->offset >= segment->offset && section->size <= segment->file_size &&
           section->offset - segment->offset <= segment->file_size - section->size;
}

// The offset behind the last program header.
static uint64_t headers_end(const struct elf_image *image)
{
    const uint64_t end = elf_u64(image->bytes + offsetof(Elf64_Ehdr, e_phoff)) +
                         image->segment_count * sizeof(Elf64_Phdr);
    return end > sizeof(Elf64_Ehdr) ? end : sizeof(Elf64_Ehdr);
}

// Its device code's section, if it is where no host code can run or change it; else NULL.
static const struct elf_section *code_fatbin(const struct elf_image *image)
{
    for (size_t i = 0; i < image->section_count; i++) {
        const struct elf_section *section = &image->sections[i];
        if (strcmp(section->name, ".nv_fatbin") != 0 || !section->bytes ||
            section->offset < headers_end(image))
            continue;
        for (size_t k = 0; k < image->segment_count; k++) {
            const struct elf_segment *segment = &image->segments[k];
            if (segment->type == PT_LOAD && !(segment->flags & (PF_X | PF_W)) &&
                inside(section, segment))
                return section;
        }
    }
    return NULL;
}

// Clears a range of the copy, if it lies within.
static void blank(unsigned char *bytes, size_t size, uint64_t offset, uint64_t length)
{
    if (offset <= size && length <= size - offset)
        memset(bytes + offset, 0, (size_t)length);
}

// Whether the section holds debug information, which no launch needs. A library could read it
// there.
static bool is_debug(const struct elf_section *section)
{
    static const char *const names[] = {".debug",      ".nv_debug",     ".rel.debug",
                                        ".rela.debug", ".rel.nv_debug", ".rela.nv_debug"};
    bool found = false;
    for (size_t i = 0; i < ARRAY_COUNT(names); i++)
        found |= strncmp(section->name, names[i], strlen(names[i])) == 0;
    return found && section->bytes && !(section->flags & SHF_ALLOC);
}

// Notes the digits in the names of its functions and variables.
static void note_digits(struct nvcc_digits *digits, const struct elf_image *cubin)
{
    const struct elf_section *table = elf_symbols(cubin);
    if (!table || table->link >= cubin->section_count || !cubin->sections[table->link].bytes)
        return;
    const struct elf_section *names = &cubin->sections[table->link];
    size_t at = 0;
    for (; nvcc_digits_next(&at, names->bytes, (size_t)names->size); at += NVCC_DIGITS)
        nvcc_digits_number(digits, names->bytes + at);
}

// Where a cubin's sections come to lie when nothing is left between them.
struct packing {
    const struct elf_image *cubin;
    size_t *order;    // of sections by their place in the file
    uint64_t *places; // by section
    uint64_t table, end;
};

static int by_place(const void *left, const void *right, void *sections)
{
    const size_t a = *(const size_t *)left, b = *(const size_t *)right;
    const struct elf_section *of = sections;
    if (of[a].offset != of[b].offset)
        return of[a].offset < of[b].offset ? -1 : 1;
    return a < b ? -1 : a > b;
}

// False: they do not fit, since they overlap or ask for more than the rest of the file has.
static bool find_places(struct packing *p)
{
    enum { ALIGN_MOST = 4096 };
    const struct elf_image *cubin = p->cubin;
    p->end = sizeof(Elf64_Ehdr);
    for (size_t i = 0; i < cubin->section_count; i++)
        p->order[i] = i;
    qsort_r(p->order, cubin->section_count, sizeof(*p->order), by_place, cubin->sections);
    for (size_t i = 0; i < cubin->section_count; i++) {
        const struct elf_section *s = &cubin->sections[p->order[i]];
        const uint64_t align = s->align ? s->align : 1;
        if (s->type == SHT_NULL || is_debug(s))
            continue;
        if ((align & (align - 1)) || align > ALIGN_MOST)
            return false;
        const uint64_t place = (p->end + align - 1) / align * align;
        p->places[p->order[i]] = place;
        p->end = place + (s->bytes ? s->size : 0);
        if (p->end > cubin->size)
            return false;
    }
    p->table = (p->end + 7) / 8 * 8;
    p->end = p->table + cubin->section_count * sizeof(Elf64_Shdr);
    return p->end + cubin->segment_count * sizeof(Elf64_Phdr) <= cubin->size;
}

// Where a segment begins afterwards; 0: what is in it does not stay together.
static uint64_t place_of(const struct packing *p, const struct elf_segment *segment)
{
    const struct elf_image *cubin = p->cubin;
    uint64_t place = 0;
    if (segment->type == PT_PHDR || segment->offset == elf_u64(cubin->bytes + 32))
        return p->end;
    for (size_t i = 0; i < cubin->section_count; i++) {
        const struct elf_section *s = &cubin->sections[p->order[i]];
        const uint64_t in = s->offset - segment->offset;
        const uint64_t begin = p->places[p->order[i]] - in;
        if (!p->places[p->order[i]] || s->offset < segment->offset ||
            (segment->file_size ? !s->bytes || in >= segment->file_size : in > 0))
            continue;
        if (place && place != begin)
            return 0;
        place = begin;
    }
    return place;
}

static void put_u64(unsigned char *at, uint64_t value)
{
    for (size_t i = 0; i < sizeof(value); i++)
        at[i] = (unsigned char)(value >> (8 * i));
}

// A cubin of the same sections, without what lies between them; those of debug information are
// empty. False where that cannot be.
static bool pack(unsigned char *out, const struct packing *p)
{
    const struct elf_image *cubin = p->cubin;
    const unsigned char *from = cubin->bytes;
    memcpy(out, from, sizeof(Elf64_Ehdr));
    put_u64(out + offsetof(Elf64_Ehdr, e_phoff), cubin->segment_count ? p->end : 0);
    put_u64(out + offsetof(Elf64_Ehdr, e_shoff), p->table);
    for (size_t i = 0; i < cubin->section_count; i++) {
        const struct elf_section *s = &cubin->sections[i];
        unsigned char *header = out + p->table + i * sizeof(Elf64_Shdr);
        memcpy(header,
               from + elf_u64(from + offsetof(Elf64_Ehdr, e_shoff)) + i * sizeof(Elf64_Shdr),
               sizeof(Elf64_Shdr));
        put_u64(header + offsetof(Elf64_Shdr, sh_offset), p->places[i]);
        if (is_debug(s))
            put_u64(header + offsetof(Elf64_Shdr, sh_size), 0);
        else if (s->bytes)
            memcpy(out + p->places[i], s->bytes, (size_t)s->size);
    }
    for (size_t i = 0; i < cubin->segment_count; i++) {
        const uint64_t place = place_of(p, &cubin->segments[i]);
        unsigned char *header = out + p->end + i * sizeof(Elf64_Phdr);
        memcpy(header,
               from + elf_u64(from + offsetof(Elf64_Ehdr, e_phoff)) + i * sizeof(Elf64_Phdr),
               sizeof(Elf64_Phdr));
        put_u64(header + offsetof(Elf64_Phdr, p_offset), place);
        if (!place)
            return false;
    }
    return true;
}

// Where packing cannot be, the contents of debug information are cleared.
static void blank_cubin(unsigned char *copy, struct nvcc_digits *digits,
                        const struct fatbin_entry *entry)
{
    struct elf_image cubin;
    if (entry->kind != FATBIN_CUBIN || elf_open(&cubin, entry->bytes, entry->size))
        return;
    if (cubin.machine == CUBIN_MACHINE) {
        struct packing p = {.cubin = &cubin};
        unsigned char *packed = xcalloc(entry->size, 1);
        p.order = xcalloc(cubin.section_count, sizeof(*p.order));
        p.places = xcalloc(cubin.section_count, sizeof(*p.places));
        const bool fits = find_places(&p) && pack(packed, &p);
        if (fits)
            memcpy(copy, packed, entry->size);
        for (size_t i = 0; !fits && i < cubin.section_count; i++) {
            if (is_debug(&cubin.sections[i]))
                blank(copy, entry->size, cubin.sections[i].offset, cubin.sections[i].size);
        }
        note_digits(digits, &cubin);
        free(p.places);
        free(p.order);
        free(packed);
    }
    elf_close(&cubin);
}

// The name of the source file, which stands behind what else an entry's header says.
static void blank_file_name(unsigned char *copy, const struct fatbin_entry *entry)
{
    const uint32_t header = entry->header ? elf_u32(entry->header + 4) : 0;
    const uint32_t at = header ? elf_u32(entry->header + 32) : 0;
    if (at >= entry->header_size && at <= header)
        blank(copy, header, at, elf_u32(entry->header + 36));
}

// Digits as numbers, wherever device code or the host's says them.
static void number_digits(unsigned char *bytes, size_t size, const struct nvcc_digits *digits)
{
    size_t at = 0;
    for (; digits->count && nvcc_digits_next(&at, bytes, size); at += NVCC_DIGITS) {
        const int64_t number = nvcc_digits_find(digits, bytes + at);
        char text[NVCC_DIGITS + 1];
        if (number < 0)
            continue;
        snprintf(text, sizeof(text), "%08x", (unsigned)number);
        memcpy(bytes + at, text, NVCC_DIGITS);
    }
}

// ---- what does not count

static void blank_build_id(unsigned char *copy, const struct elf_image *image)
{
    for (size_t i = 0; i < image->segment_count; i++) {
        const struct elf_segment *segment = &image->segments[i];
        if (segment->type != PT_NOTE || segment->offset > image->size ||
            segment->file_size > image->size - segment->offset)
            continue;
        const unsigned char *at = image->bytes + segment->offset;
        for (uint64_t left = segment->file_size; left >= 16;) {
            uint64_t name = (elf_u32(at) + 3U) & ~3U, value = (elf_u32(at + 4) + 3U) & ~3U;
            uint64_t length = 12 + name + value;
            if (length > left)
                break;
            if (name == 4 && memcmp(at + 12, "GNU", 4) == 0 && elf_u32(at + 8) == NT_GNU_BUILD_ID)
                blank(copy, image->size, (uint64_t)(at - image->bytes) + 16, value);
            at += length;
            left -= length;
        }
    }
}

// The ELF header points at the sections, which move with debug information.
static void blank_header(unsigned char *copy, size_t size)
{
    blank(copy, size, offsetof(Elf64_Ehdr, e_shoff), 8);
    blank(copy, size, offsetof(Elf64_Ehdr, e_shnum), 2);
    blank(copy, size, offsetof(Elf64_Ehdr, e_shstrndx), 2);
}

void code_blank(unsigned char *bytes, const struct elf_image *image)
{
    const struct elf_section *fatbin = code_fatbin(image);
    struct nvcc_digits digits = {0};
    struct fatbin_entry entry;
    size_t at = 0;
    while (fatbin && fatbin_next(&entry, &at, fatbin->bytes, (size_t)fatbin->size)) {
        blank_cubin(bytes + (entry.bytes - image->bytes), &digits, &entry);
        if (entry.header)
            blank_file_name(bytes + (entry.header - image->bytes), &entry);
    }
    const size_t headers = (size_t)headers_end(image);
    number_digits(bytes + headers, image->size - headers, &digits);
    free(digits.items);
    blank_header(bytes, image->size);
    blank_build_id(bytes, image);
}

// ---- libraries

// Clears what is no part of a segment, up to where the last one ends.
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
    if (status == 0 && errno) // NULL at the end, and where it cannot go on
        status = cannot(s, s->to);
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
    if (status == 0 && errno)
        status = error_set(err, "%s: %s", from, strerror(errno));
    if (tree)
        fts_close(tree);
    free(copy);
    return status ? status : settle_times(&s);
}
