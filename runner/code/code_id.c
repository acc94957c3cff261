// SPDX-License-Identifier: Apache-2.0
//
// The id is the hash of a text of records. For the host part these are the bytes that the loader
// maps, segment by segment, and their distances. Sections are ignored there, because only segments
// decide what runs. Left out are the build id, the ELF header's pointer to the sections (debug
// information moves them), and in .nv_fatbin the debug information of cubins, the names of source
// files, and the digits that nvcc computes from the source text for names in device code.
// code_blank() clears or numbers these. The copy that is kept and loaded is cleared in the same
// way, so the running code cannot read them either; it can only see the length of the device code,
// which counts. Symbols and debug information of the host are not mapped, so neither the id nor the
// copy has them. A library may read other unmapped sections, and bytes after the last one, from its
// own file, so they count.
//
// For a cubin that is a file, and for one kernel in it, only code and what it needs counts: device
// code cannot read more of its cubin than that.
#include "runner/code/code_id.h"

#include "model/buffer.h"
#include "runner/child/files.h"
#include "runner/code/machine_code.h"
#include "runner/git/repository.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// ==== the kept output of a build ====
//
// Makes the form in which a build's output is kept: everything that a kernel can read and that a
// code id does not cover is made uniform. A library keeps what the loader maps and sections of its
// own, but no symbols and no debug information, neither of the host nor in its device code. Files
// are copied in the order of their names, without holes, hard links, times or permissions of their
// own. Folders without files, pipes, sockets and devices are left out.

enum { FILES_MAX = 10000 };

static const struct timespec no_time[2] = {{0, 0}, {0, 0}};

// ---- the parts of a library that count

// Whether the loader can load the file and maps its headers; any other file's id is that of all its
// bytes.
static bool code_is_library(const struct elf_image *image)
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

// Whether a library may read a section from its own file although it is not mapped: a section that
// holds something else than symbols and debug information. Bytes after all sections can be read,
// too.
static bool code_reads_section(const struct elf_section *section)
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

static size_t code_tail(const struct elf_image *image)
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

// ---- the device code in a library

static bool inside(const struct elf_section *section, const struct elf_segment *segment)
{
    return section->offset >= segment->offset && section->size <= segment->file_size &&
           section->offset - segment->offset <= segment->file_size - section->size;
}

// The offset after the last program header.
static uint64_t headers_end(const struct elf_image *image)
{
    const uint64_t end = elf_u64(image->bytes + offsetof(Elf64_Ehdr, e_phoff)) +
                         image->segment_count * sizeof(Elf64_Phdr);
    return end > sizeof(Elf64_Ehdr) ? end : sizeof(Elf64_Ehdr);
}

// The section with its device code, if host code can neither run nor change it; else NULL.
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

// Clears a range of the copy, if it lies inside.
static void blank(unsigned char *bytes, size_t size, uint64_t offset, uint64_t length)
{
    if (offset <= size && length <= size - offset)
        memset(bytes + offset, 0, (size_t)length);
}

// Whether the section holds debug information. No launch needs it, but a library could read it
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

// ---- names
//
// Names with internal linkage contain eight digits that nvcc computes from the source's path and
// text:
// _GLOBAL__N__f266c20c_6_kan_cu_..., _INTERNAL_f266c20c_6_kan_cu_... In a code id the first such
// digits of a file become number 0, the next number 1, and so on. A changed source text changes
// only the digits, and so not the id; another order of names changes the numbers.
// One library is made from few source texts; digits beyond NVCC_DIGITS_MOST are hashed as they are.
enum { NVCC_DIGITS = 8, NVCC_DIGITS_MOST = 1024 };

struct nvcc_digits {
    char (*items)[NVCC_DIGITS];
    size_t count, capacity;
};

static bool is_hex(const unsigned char *at, size_t count)
{
    size_t digits = 0;
    while (digits < count &&
           ((at[digits] >= '0' && at[digits] <= '9') || (at[digits] >= 'a' && at[digits] <= 'f')))
        digits++;
    return digits == count;
}

// Finds the next place in [*at, size) where such digits may be; false: there is none.
static bool nvcc_digits_next(size_t *at, const unsigned char *bytes, size_t size)
{
    static const char *const marks[] = {"_GLOBAL__N__", "_INTERNAL_"};
    for (; *at < size; ++*at) {
        const unsigned char *here = memchr(bytes + *at, '_', size - *at);
        if (!here)
            return false;
        const size_t left = size - (size_t)(here - bytes);
        *at = (size_t)(here - bytes);
        for (size_t i = 0; i < ARRAY_COUNT(marks); i++) {
            const size_t length = strlen(marks[i]);
            const unsigned char *digits = here + length;
            if (left <= length + NVCC_DIGITS || memcmp(here, marks[i], length) != 0 ||
                digits[NVCC_DIGITS] != '_' || !is_hex(digits, NVCC_DIGITS))
                continue;
            *at += length;
            return true;
        }
    }
    return false;
}

// Returns the number of the digits at `at`; -1 when they are not among `digits`.
static int64_t nvcc_digits_find(const struct nvcc_digits *digits, const unsigned char *at)
{
    for (size_t i = 0; i < digits->count; i++) {
        if (memcmp(digits->items[i], at, NVCC_DIGITS) == 0)
            return (int64_t)i;
    }
    return -1;
}

// Does the same, but adds digits that are new; -1 when there are too many.
static int64_t nvcc_digits_number(struct nvcc_digits *digits, const unsigned char *at)
{
    const int64_t found = nvcc_digits_find(digits, at);
    if (found >= 0 || digits->count == NVCC_DIGITS_MOST)
        return found;
    digits->items = xgrow(digits->items, digits->count, &digits->capacity, sizeof(*digits->items));
    memcpy(digits->items[digits->count], at, NVCC_DIGITS);
    return (int64_t)digits->count++;
}

// Collects the digits in the names of a cubin's functions and variables.
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

// Where a cubin's sections will lie when nothing is left between them.
struct packing {
    const struct elf_image *cubin;
    size_t *order;    // sections in the order of their places in the file
    uint64_t *places; // new place of each section
    uint64_t table, end;
};

static int by_section_place(const void *left, const void *right, void *sections)
{
    const size_t a = *(const size_t *)left, b = *(const size_t *)right;
    const struct elf_section *of = sections;
    if (of[a].offset != of[b].offset)
        return of[a].offset < of[b].offset ? -1 : 1;
    return a < b ? -1 : a > b;
}

// Computes the new places. False: the sections overlap, or need more room than the file has.
static bool find_places(struct packing *p)
{
    enum { ALIGN_MOST = 4096 };
    const struct elf_image *cubin = p->cubin;
    p->end = sizeof(Elf64_Ehdr);
    for (size_t i = 0; i < cubin->section_count; i++)
        p->order[i] = i;
    qsort_r(p->order, cubin->section_count, sizeof(*p->order), by_section_place, cubin->sections);
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

// Where a segment will begin; 0: its content does not stay together.
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

// Writes a cubin with the same sections and nothing between them; those with debug information
// become empty. False if that is not possible.
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

// Clears the contents of debug information, if the cubin cannot be packed.
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

// Clears the name of the source file, which follows the other fields of an entry's header.
static void blank_file_name(unsigned char *copy, const struct fatbin_entry *entry)
{
    const uint32_t header = entry->header ? elf_u32(entry->header + 4) : 0;
    const uint32_t at = header ? elf_u32(entry->header + 32) : 0;
    if (at >= entry->header_size && at <= header)
        blank(copy, header, at, elf_u32(entry->header + 36));
}

// Replaces digits by numbers, wherever device code or host code has them.
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

// ---- the parts that do not count

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

// Clears the ELF header's pointer to the sections, which debug information moves.
static void blank_header(unsigned char *copy, size_t size)
{
    blank(copy, size, offsetof(Elf64_Ehdr, e_shoff), 8);
    blank(copy, size, offsetof(Elf64_Ehdr, e_shnum), 2);
    blank(copy, size, offsetof(Elf64_Ehdr, e_shstrndx), 2);
}

// Clears in a copy of the mapped bytes what the id leaves out: the build id, the places of
// sections, and in the device code debug information and names of source files. nvcc's digits
// become numbers there, and in the host's names of device code.
static void code_blank(unsigned char *bytes, const struct elf_image *image)
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

// Clears the bytes that belong to no segment, up to the end of the last one.
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

// Adds the sections that may be read from the file, and that of the device code, which other code
// looks up.
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

// Settles a library once. False: it is another file, which stays as it is.
static bool settle_once(struct code_file *out, const struct code_file *file)
{
    struct elf_image image = {0};
    if (elf_open(&image, file->bytes, file->size))
        return false;
    const bool library = code_is_library(&image);
    if (library) {
        unsigned char *mapped = xcalloc(file->size, 1);
        memcpy(mapped, file->bytes, file->size);
        *out = (struct code_file){mapped, file->size};
        code_blank(mapped, &image);
        add_sections(out, clear_between(mapped, &image), &image);
        free(mapped);
    }
    elf_close(&image);
    return library;
}

// Settles a library until nothing changes any more, which is so at once for what compilers make.
// The id leaves out what one more round would clear, so a copy must not have any of that. False: it
// still changes.
static bool settle_library(struct code_file *file)
{
    enum { ROUNDS = 4 };
    struct code_file settled;
    for (int round = 0; round < ROUNDS; round++) {
        if (!settle_once(&settled, file))
            return true;
        const bool same =
            settled.size == file->size && memcmp(settled.bytes, file->bytes, settled.size) == 0;
        free(file->bytes);
        *file = settled;
        if (same)
            return true;
    }
    return false;
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
    return error_set(s->err, "%s: cannot be written: %s", path, write_failure(errno));
}

// Makes the folders on the way to a file of the copy.
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

// Whether a file is a statement about another file beside it.
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
        return 0; // nothing uses it
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
    if (!statement && !settle_library(&file)) {
        code_close(&file);
        error_set(s->err, "%.200s: no copy of it can be made that has all that it could read",
                  name + 1);
        return 1;
    }
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
        // it is too deep to be named, or cannot be read
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

static int by_file_name(const FTSENT **left, const FTSENT **right)
{
    return strcmp((*left)->fts_name, (*right)->fts_name);
}

// Sets times; folders come last, because putting files into a folder changes its time.
static int settle_times(const struct settling *s)
{
    char *copy = xstrdup(s->to), *const roots[] = {copy, NULL};
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, by_file_name);
    int status = tree ? 0 : cannot(s, s->to);
    for (FTSENT *entry; status == 0 && (entry = fts_read(tree));) {
        if (entry->fts_info == FTS_DP && utimensat(AT_FDCWD, entry->fts_path, no_time, 0))
            status = cannot(s, entry->fts_path);
    }
    if (status == 0 && errno) // NULL is returned at the end, and when it cannot continue
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
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, by_file_name);
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

// ==== the id ====

// The text of records whose hash is the id.
struct code_hash {
    struct buffer *to;
    struct nvcc_digits digits; // of names in the device code; the caller frees the items
    size_t names_left;         // bytes of names that may still be written
    bool odd;                  // some name was not written, so the whole cubin is hashed
};

static void code_put(struct buffer *to, const char *what, uint64_t a, uint64_t b, uint64_t c)
{
    buffer_printf(to, "%s %" PRIx64 " %" PRIx64 " %" PRIx64 "\n", what, a, b, c);
}

static void code_put_bytes(struct buffer *to, const char *what, const unsigned char *bytes,
                           size_t size)
{
    code_put(to, what, size, 0, 0);
    if (size > 0)
        buffer_add(to, (const char *)bytes, size);
}

// ---- cubins
//
// A section is identified by its index among those that count, so that debug information between
// them does not matter. Functions and variables are identified by their names, because that is how
// a library finds them.

// More than any compiler writes. A hostile table of names could make all names together far longer
// than the file.
enum { SYMBOLS_MAX = 1 << 18 };

// ---- cubins: names

// Writes a name, with nvcc's digits replaced by numbers, and the places of the digits.
static void put_name(struct code_hash *hash, const char *name)
{
    const size_t size = strlen(name);
    if (size == 0 || size > hash->names_left) {
        hash->odd = true;
        return;
    }
    hash->names_left -= size;
    unsigned char *copy = (unsigned char *)xstrdup(name);
    for (size_t at = 0; nvcc_digits_next(&at, copy, size); at += NVCC_DIGITS) {
        const int64_t number = nvcc_digits_number(&hash->digits, copy + at);
        if (number < 0)
            continue;
        code_put(hash->to, "digits", at, (uint64_t)number, 0);
        memset(copy + at, 'x', NVCC_DIGITS);
    }
    code_put_bytes(hash->to, "name", copy, size);
    free(copy);
}

struct named_symbol {
    struct elf_symbol symbol;
    uint64_t ordinal;
};

static int by_place(const void *left, const void *right)
{
    const struct named_symbol *a = left, *b = right;
    if (a->ordinal != b->ordinal)
        return a->ordinal < b->ordinal ? -1 : 1;
    if (a->symbol.value != b->symbol.value)
        return a->symbol.value < b->symbol.value ? -1 : 1;
    return strcmp(a->symbol.name, b->symbol.name);
}

// ---- one cubin

struct cubin {
    struct elf_image image;
    uint64_t *ordinals; // index of each section among those that count
    bool *left_out;     // sections of kernels that are not launched
};

static bool counts(const struct cubin *cubin, uint64_t section)
{
    return section < cubin->image.section_count && !cubin->left_out[section] &&
           (cubin->image.sections[section].flags & SHF_ALLOC);
}

// ---- the launched kernels of a cubin
//
// A kernel has sections of its own, which end in its name; only one of them has
// parameters. Everything that belongs to no kernel counts in any case: functions that are
// called, variables, constants.

// The kernel to which a section belongs, or NULL.
static const char *kernel_of(const struct elf_section *section)
{
    static const char *const of[] = {".text.", ".nv.info.", ".nv.shared.", ".nv.local."};
    static const char constants[] = ".nv.constant";
    for (size_t i = 0; i < ARRAY_COUNT(of); i++) {
        if (strncmp(section->name, of[i], strlen(of[i])) == 0)
            return section->name + strlen(of[i]);
    }
    if (strncmp(section->name, constants, strlen(constants)) != 0)
        return NULL;
    const char *digits = section->name + strlen(constants);
    digits += strspn(digits, "0123456789");
    return *digits == '.' ? digits + 1 : NULL;
}

static bool is_one_of(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(name, names[i]) == 0)
            return true;
    }
    return false;
}

static bool has_parameters(const struct elf_section *attributes)
{
    struct cubin_attribute attribute;
    size_t at = 0;
    while (attributes->bytes && cubin_next(&attribute, &at, attributes)) {
        if (attribute.code == CUBIN_PARAMETERS)
            return true;
    }
    return false;
}

// Finds the sections in which a launched function lies; a section's name may be that of another
// function.
static bool *find_entered(const struct elf_image *image, const char *const *launched, size_t count)
{
    const struct elf_section *table = elf_symbols(image);
    bool *entered = xcalloc(image->section_count + 1, sizeof(*entered));
    struct elf_symbol symbol;
    for (uint64_t i = 0; i < SYMBOLS_MAX && elf_symbol(&symbol, image, table, i); i++) {
        if (symbol.section < image->section_count && is_one_of(symbol.name, launched, count))
            entered[symbol.section] = true;
    }
    return entered;
}

static bool is_entered(const struct elf_image *image, const bool *entered, const char *name)
{
    for (size_t i = 0; i < image->section_count; i++) {
        const char *of = entered[i] ? kernel_of(&image->sections[i]) : NULL;
        if (of && strcmp(of, name) == 0)
            return true;
    }
    return false;
}

// Whether the driver makes code from this section at load time, as for Blackwell; then this section
// decides what runs.
static bool is_made_anew(const struct elf_section *section)
{
    static const char *const passed_over[] = {".nv.merc.debug", ".nv.merc.rela.debug",
                                              ".nv.merc.nv_debug", ".nv.merc.rela.nv_debug",
                                              ".nv.merc.symtab"};
    for (size_t i = 0; i < ARRAY_COUNT(passed_over); i++) {
        if (strncmp(section->name, passed_over[i], strlen(passed_over[i])) == 0)
            return false;
    }
    return strncmp(section->name, ".nv.merc", 8) == 0 ||
           strncmp(section->name, ".nv.capmerc", 11) == 0;
}

// Leaves out kernels. Nothing is left out of a Blackwell cubin, because its parts cannot be
// separated reliably, and it could not be tried whether a driver accepts it without the code of
// some.
static void leave_out(struct cubin *cubin, const char *const *launched, size_t count)
{
    for (size_t i = 0; i < cubin->image.section_count; i++) {
        if (is_made_anew(&cubin->image.sections[i]))
            return;
    }
    static const char info[] = ".nv.info.";
    const struct elf_image *image = &cubin->image;
    bool *entered = find_entered(image, launched, count);
    for (size_t i = 0; i < image->section_count; i++) {
        const char *name = image->sections[i].name + strlen(info);
        if (strncmp(image->sections[i].name, info, strlen(info)) != 0 ||
            is_one_of(name, launched, count) || !has_parameters(&image->sections[i]) ||
            is_entered(image, entered, name))
            continue;
        for (size_t k = 0; k < image->section_count; k++) {
            const char *of = kernel_of(&image->sections[k]);
            cubin->left_out[k] |= of && strcmp(of, name) == 0;
        }
    }
    free(entered);
}

static uint64_t ordinal(const struct cubin *cubin, uint64_t section)
{
    return section < cubin->image.section_count ? cubin->ordinals[section] : UINT64_MAX;
}

// Hashes what a symbol stands for: a place in code or data. Only a symbol from elsewhere has a
// name.
static void put_symbol(struct code_hash *hash, const struct cubin *cubin, uint64_t index)
{
    struct elf_symbol symbol;
    if (!elf_symbol(&symbol, &cubin->image, elf_symbols(&cubin->image), index))
        code_put(hash->to, "index", index, 0, 0);
    else if (counts(cubin, symbol.section))
        code_put(hash->to, "symbol", ordinal(cubin, symbol.section), symbol.value, symbol.size);
    else if (symbol.section < cubin->image.section_count && cubin->left_out[symbol.section])
        hash->odd = true; // a launched kernel needs one that is not launched
    else if (symbol.name[0])
        put_name(hash, symbol.name);
}

// Whether a symbol is a function or variable with a name, or refers to something elsewhere.
static bool is_named(const struct cubin *cubin, const struct elf_symbol *symbol)
{
    if (symbol->type == STT_SECTION || symbol->type == STT_FILE)
        return false;
    return symbol->section == SHN_UNDEF
               ? symbol->name[0]
               : counts(cubin, symbol->section) && symbol->type != STT_NOTYPE;
}

static void put_names(struct code_hash *hash, const struct cubin *cubin)
{
    const struct elf_section *table = elf_symbols(&cubin->image);
    struct named_symbol *items = NULL;
    size_t count = 0, capacity = 0;
    struct elf_symbol symbol;
    for (uint64_t i = 0; elf_symbol(&symbol, &cubin->image, table, i); i++) {
        hash->odd |= i >= SYMBOLS_MAX;
        if (hash->odd)
            break;
        if (!is_named(cubin, &symbol))
            continue;
        items = xgrow(items, count, &capacity, sizeof(*items));
        items[count++] = (struct named_symbol){symbol, ordinal(cubin, symbol.section)};
    }
    if (count)
        qsort(items, count, sizeof(*items), by_place);
    for (size_t i = 0; i < count && !hash->odd; i++) {
        code_put(hash->to, "named", items[i].ordinal, items[i].symbol.value, items[i].symbol.type);
        put_name(hash, items[i].symbol.name);
    }
    free(items);
}

static void put_relocations(struct code_hash *hash, const struct cubin *cubin,
                            const struct elf_section *section)
{
    size_t each = section->type == SHT_RELA ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
    if (!counts(cubin, section->info))
        return; // it belongs to debug information
    for (uint64_t at = 0; at + each <= section->size && !hash->odd; at += each) {
        const unsigned char *entry = section->bytes + at;
        uint64_t info = elf_u64(entry + 8);
        code_put(hash->to, "relocation", ordinal(cubin, section->info), elf_u64(entry),
                 ELF64_R_TYPE(info));
        code_put(hash->to, "addend", each == sizeof(Elf64_Rela) ? elf_u64(entry + 16) : 0, 0, 0);
        put_symbol(hash, cubin, ELF64_R_SYM(info));
    }
}

// Whether an attribute begins with the number of its symbol, which changes with other symbols.
static bool about_symbol(uint8_t attribute)
{
    return attribute == CUBIN_REGISTERS || attribute == CUBIN_FRAME ||
           attribute == CUBIN_STACK_MIN || attribute == CUBIN_STACK_MAX ||
           attribute == CUBIN_PARAMETERS;
}

// Whether an attribute of the whole cubin concerns a kernel that is left out.
static bool about_left_out(const struct cubin *cubin, const struct cubin_attribute *attribute)
{
    struct elf_symbol symbol;
    return about_symbol(attribute->code) && attribute->size >= 4 &&
           elf_symbol(&symbol, &cubin->image, elf_symbols(&cubin->image),
                      elf_u32(attribute->bytes)) &&
           symbol.section < cubin->image.section_count && cubin->left_out[symbol.section];
}

static void put_attributes(struct code_hash *hash, const struct cubin *cubin,
                           const struct elf_section *section)
{
    struct cubin_attribute attribute;
    size_t at = 0;
    code_put(hash->to, "attributes", section->info ? ordinal(cubin, section->info) : UINT64_MAX, 0,
             0);
    while (cubin_next(&attribute, &at, section)) {
        const unsigned char *bytes = attribute.bytes;
        size_t size = attribute.size;
        if (about_left_out(cubin, &attribute))
            continue;
        code_put(hash->to, "attribute", attribute.format, attribute.code, 0);
        if (about_symbol(attribute.code) && size >= 4) {
            put_symbol(hash, cubin, elf_u32(bytes));
            bytes += 4;
            size -= 4;
        }
        code_put_bytes(hash->to, "value", bytes, size);
    }
    code_put_bytes(hash->to, "rest", section->bytes + at, (size_t)section->size - at);
}

static void put_section(struct code_hash *hash, const struct cubin *cubin,
                        const struct elf_section *section)
{
    if (cubin->left_out[section - cubin->image.sections])
        return;
    if (section->flags & SHF_ALLOC) {
        code_put(hash->to, "section", section->type, section->flags, section->align);
        code_put(hash->to, "extent", section->size, section->address, 0);
        if (section->bytes)
            code_put_bytes(hash->to, "bytes", section->bytes, (size_t)section->size);
    } else if (section->type == SHT_RELA || section->type == SHT_REL) {
        put_relocations(hash, cubin, section);
    } else if (strncmp(section->name, ".nv.info", 8) == 0 && section->bytes) {
        put_attributes(hash, cubin, section);
    } else if (strcmp(section->name, ".nv.compat") == 0 && section->bytes) {
        code_put_bytes(hash->to, "compat", section->bytes, (size_t)section->size);
    } else if (is_made_anew(section) && section->bytes) {
        code_put_bytes(hash->to, section->name, section->bytes, (size_t)section->size);
    }
}

// Hashes a cubin: code, constants, initialised data, sizes of memory, what they are linked to, the
// names by which they are looked up, and launch attributes; not debug information or the tools'
// notes. With `launched` not NULL, only these kernels. -1: these bytes are no cubin.
static int code_put_cubin(struct code_hash *hash, const unsigned char *bytes, size_t size,
                          const char *const *launched, size_t count)
{
    struct cubin cubin;
    if (elf_open(&cubin.image, bytes, size))
        return -1;
    if (cubin.image.machine != CUBIN_MACHINE) {
        elf_close(&cubin.image);
        return -1;
    }
    cubin.ordinals = xcalloc(cubin.image.section_count, sizeof(*cubin.ordinals));
    cubin.left_out = xcalloc(cubin.image.section_count, sizeof(*cubin.left_out));
    if (launched)
        leave_out(&cubin, launched, count);
    for (size_t i = 1; i < cubin.image.section_count; i++)
        cubin.ordinals[i] = cubin.ordinals[i - 1] + counts(&cubin, i - 1);
    hash->odd = false;
    code_put(hash->to, "flags", cubin.image.flags, 0, 0);
    for (size_t i = 0; i < cubin.image.section_count; i++)
        put_section(hash, &cubin, &cubin.image.sections[i]);
    put_names(hash, &cubin);
    if (hash->odd)
        code_put_bytes(hash->to, "odd", bytes, size);
    free(cubin.ordinals);
    free(cubin.left_out);
    elf_close(&cubin.image);
    return 0;
}

// Version 2: names of functions and variables count.
enum { ID_VERSION = 2, NAMES_MAX = 64 << 20 };

// ---- host code

// Hashes everything that is not mapped and is no debug information.
static void hash_unmapped(struct buffer *to, const struct elf_image *image)
{
    for (size_t i = 0; i < image->section_count; i++) {
        const struct elf_section *s = &image->sections[i];
        if (!code_reads_section(s))
            continue;
        code_put_bytes(to, "name", (const unsigned char *)s->name, strlen(s->name));
        code_put_bytes(to, "section", s->bytes, (size_t)s->size);
    }
    const size_t tail = code_tail(image);
    if (tail < image->size)
        code_put_bytes(to, "tail", image->bytes + tail, image->size - tail);
}

// Hashes what the copy's own table of sections says of the device code.
static void hash_device_place(struct buffer *to, const struct elf_image *image)
{
    const struct elf_section *fatbin = code_fatbin(image);
    uint64_t before = 0;
    for (size_t i = 0; fatbin && &image->sections[i] != fatbin; i++)
        before += code_reads_section(&image->sections[i]);
    if (fatbin) {
        code_put(to, "device code", fatbin->address, fatbin->offset, fatbin->size);
        code_put(to, "after", before, 0, 0);
    }
}

static void hash_segments(struct code_hash *hash, const struct elf_image *image,
                          const struct code_file *file)
{
    unsigned char *copy = xcalloc(file->size, 1);
    memcpy(copy, file->bytes, file->size);
    code_blank(copy, image);
    for (size_t i = 0; i < image->segment_count; i++) {
        const struct elf_segment *segment = &image->segments[i];
        code_put(hash->to, "segment", segment->type, segment->flags, segment->address);
        code_put(hash->to, "extent", segment->file_size, segment->memory_size, 0);
        if (segment->type != PT_LOAD)
            continue;
        code_put_bytes(hash->to, "bytes", copy + segment->offset, (size_t)segment->file_size);
    }
    hash_device_place(hash->to, image);
    hash_unmapped(hash->to, image);
    free(copy);
}

// Hashes a library, a cubin that is a file, or any other file.
static void hash_file(struct code_hash *hash, const struct code_file *file)
{
    struct elf_image image = {0};
    if (code_put_cubin(hash, file->bytes, file->size, NULL, 0) == 0)
        return;
    if (elf_open(&image, file->bytes, file->size) == 0 && code_is_library(&image))
        hash_segments(hash, &image, file);
    else
        code_put_bytes(hash->to, "file", file->bytes, file->size);
    elf_close(&image);
}

struct hashing {
    struct code_hash hash;
    struct buffer text;
};

static void begin(struct hashing *hashing)
{
    *hashing = (struct hashing){.hash.names_left = NAMES_MAX};
    hashing->hash.to = &hashing->text;
    buffer_printf(hashing->hash.to, "plumb code %d\n", ID_VERSION);
}

static void end(char out[OBJECT_ID_TEXT], struct hashing *hashing)
{
    content_id(out, hashing->text.bytes, hashing->text.length);
    free(hashing->hash.digits.items);
    buffer_free(&hashing->text);
}

void code_id_of(char out[OBJECT_ID_TEXT], const struct code_file *file)
{
    struct hashing hashing;
    begin(&hashing);
    hash_file(&hashing.hash, file);
    end(out, &hashing);
}

void code_id_of_kernel(char out[OBJECT_ID_TEXT], const unsigned char *cubin, size_t size,
                       const char *kernel)
{
    struct hashing hashing;
    begin(&hashing);
    if (code_put_cubin(&hashing.hash, cubin, size, &kernel, 1))
        code_put_bytes(hashing.hash.to, "unreadable", cubin, size);
    end(out, &hashing);
}

static bool needs_the_rest(const unsigned char *cubin, size_t size, const char *const *launched,
                           size_t count)
{
    struct hashing hashing;
    char id[OBJECT_ID_TEXT];
    begin(&hashing);
    const bool odd =
        code_put_cubin(&hashing.hash, cubin, size, launched, count) || hashing.hash.odd;
    end(id, &hashing);
    return odd;
}

void code_clear_unlaunched(unsigned char *cubin, size_t size, const char *const *launched,
                           size_t count)
{
    struct cubin c;
    if (needs_the_rest(cubin, size, launched, count) || elf_open(&c.image, cubin, size))
        return;
    c.left_out = xcalloc(c.image.section_count, sizeof(*c.left_out));
    leave_out(&c, launched, count);
    for (size_t i = 0; i < c.image.section_count; i++) {
        const struct elf_section *s = &c.image.sections[i];
        if (c.left_out[i] && (s->flags & SHF_ALLOC) && s->bytes)
            memset(cubin + (s->bytes - c.image.bytes), 0, (size_t)s->size);
    }
    free(c.left_out);
    elf_close(&c.image);
}

int code_id(char out[OBJECT_ID_TEXT], const char *library, struct error *err)
{
    struct code_file file;
    const int status = code_read(&file, library, err);
    if (status)
        return status;
    code_id_of(out, &file);
    code_close(&file);
    return 0;
}

// ---- outputs of builds
//
// Computes the ids of one build's libraries. Each covers its own code, and what the library can
// load from beside it. The names that a library mentions are searched for in its bytes, because it
// may link to a file or open it.

// Each library is searched for the names of all others, and loading is followed transitively.
enum { LIBRARIES_MAX = 4096 };

struct library_set {
    const char *const *libraries;
    size_t count;
    const char **names;       // of the libraries' files
    size_t *lengths;          // of the names
    bool last[UCHAR_MAX + 1]; // bytes in which some name ends
    bool *loads;              // count x count: the row's library mentions the column's name
    char (*own)[OBJECT_ID_TEXT], (*bytes)[OBJECT_ID_TEXT]; // code ids, and ids of the whole files
    const char *folder;
    struct buffer others; // files that count for all libraries
    char **other_names;   // their paths below the folder
    size_t files, capacity;
};

// ---- the names that a library mentions

// Notes the names that end at `end`. Its own name does not count as another one's, even if it ends
// in it.
static void note_names(struct library_set *set, size_t library, const struct code_file *file,
                       size_t end)
{
    const unsigned char *bytes = file->bytes;
    const size_t own = set->lengths[library];
    if (own <= end && memcmp(bytes + end - own, set->names[library], own) == 0)
        return;
    for (size_t i = 0; i < set->count; i++) {
        const size_t length = set->lengths[i];
        if (length <= end && memcmp(bytes + end - length, set->names[i], length) == 0)
            set->loads[library * set->count + i] = true;
    }
}

static int read_library(struct library_set *set, size_t library, struct error *err)
{
    struct code_file file;
    const int status = code_read(&file, set->libraries[library], err);
    if (status)
        return status;
    code_id_of(set->own[library], &file);
    content_id(set->bytes[library], file.bytes, file.size);
    for (size_t at = 1; at < file.size; at++) {
        if (file.bytes[at] == '\0' && set->last[file.bytes[at - 1]])
            note_names(set, library, &file, at);
    }
    code_close(&file);
    return 0;
}

// Adds the libraries that loaded libraries load in turn (Warshall's algorithm).
static void close_over(struct library_set *set)
{
    const size_t n = set->count;
    for (size_t via = 0; via < n; via++) {
        for (size_t from = 0; from < n; from++) {
            for (size_t to = 0; set->loads[from * n + via] && to < n; to++)
                set->loads[from * n + to] |= set->loads[via * n + to];
        }
    }
}

// ---- files that count for all

static bool is_library(const struct library_set *set, const char *path)
{
    for (size_t i = 0; i < set->count; i++) {
        if (strcmp(set->libraries[i], path) == 0)
            return true;
    }
    return false;
}

static void put_other(struct library_set *set, const char *kind, const char *name, const char *what)
{
    buffer_printf(&set->others, "%s %zu:%s %zu:%s\n", kind, strlen(name), name, strlen(what), what);
    set->other_names =
        xgrow(set->other_names, set->files, &set->capacity, sizeof(*set->other_names));
    set->other_names[set->files++] = xstrdup(name);
}

static int add_file(struct library_set *set, const char *path, const char *name, struct error *err)
{
    char id[OBJECT_ID_TEXT];
    if (is_library(set, path))
        return 0;
    struct code_file file;
    const int status = code_read(&file, path, err);
    if (status)
        return status;
    content_id(id, file.bytes, file.size); // a library that opens the file can read all of it
    code_close(&file);
    put_other(set, "file", name, id);
    return 0;
}

static int add_entry(struct library_set *set, const FTSENT *entry, const char *folder,
                     struct error *err)
{
    char target[PATH_MAX];
    ssize_t length;
    const char *name = entry->fts_path + strlen(folder);
    switch (entry->fts_info) {
    case FTS_F:
        return add_file(set, entry->fts_path, name, err);
    case FTS_SL:
    case FTS_SLNONE:
        length = readlink(entry->fts_path, target, sizeof(target) - 1);
        target[length > 0 ? length : 0] = '\0';
        put_other(set, "link", name, target);
        return 0;
    case FTS_DNR:
    case FTS_ERR:
    case FTS_NS: // it is too deep to be named, or cannot be read
        error_set(err, "%.200s: cannot be looked at: %s", entry->fts_path,
                  strerror(entry->fts_errno));
        return 1;
    default:
        return 0; // folders; and pipes or sockets, which contain nothing
    }
}

// Whether a folder was sorted; fts does not sort it if memory is short.
static bool is_sorted(const FTSENT *entry)
{
    return !entry->fts_link || strcmp(entry->fts_name, entry->fts_link->fts_name) < 0;
}

static int add_others(struct library_set *set, const char *folder, struct error *err)
{
    char *copy = xstrdup(folder), *const roots[] = {copy, NULL};
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, by_file_name);
    int status = tree ? 0 : error_set(err, "%s: %s", folder, strerror(errno));
    for (FTSENT *entry; status == 0 && (entry = fts_read(tree));) {
        status = is_sorted(entry) ? add_entry(set, entry, folder, err)
                                  : error_set(err, "%s: no memory to sort its files", folder);
        if (status == 0 && set->files > FILES_MAX) {
            error_set(err, "the build left more than %d files beside its libraries", FILES_MAX);
            status = 1;
        }
    }
    if (status == 0 && errno) // NULL is returned at the end, and when it cannot continue
        status = error_set(err, "%s: %s", folder, strerror(errno));
    if (tree)
        fts_close(tree);
    free(copy);
    return status;
}

// ---- what each library may see

// Shows a file under another name, as a hard link, because nobody writes to it; or as a copy if
// that is not possible.
static int show_file(const struct library_set *set, const char *name, const char *to,
                     const char *as, struct error *err)
{
    char *from = xprintf("%s%s", set->folder, name), *path = xprintf("%s%s", to, as);
    char *slash = strrchr(path, '/');
    *slash = '\0';
    int status = files_make_directory(path, err);
    *slash = '/';
    if (status == 0 && linkat(AT_FDCWD, from, AT_FDCWD, path, 0) && errno != EEXIST)
        status = files_copy(from, path, err);
    free(path);
    free(from);
    return status;
}

static int show_all(const struct library_set *set, size_t library, const char *to, const char *as,
                    struct error *err)
{
    const size_t length = strlen(set->folder);
    int status = show_file(set, set->libraries[library] + length, to, as, err);
    for (size_t i = 0; status == 0 && i < set->count; i++) {
        const char *name = set->libraries[i] + length;
        if (i != library && set->loads[library * set->count + i])
            status = show_file(set, name, to, name, err);
    }
    for (size_t i = 0; status == 0 && i < set->files; i++)
        status = show_file(set, set->other_names[i], to, set->other_names[i], err);
    return status;
}

// Makes the name of the folder in which a library is shown. It depends on the code id, and on those
// bytes of its files that the id does not cover.
static void name_shown(char out[OBJECT_ID_TEXT], const struct library_set *set, size_t library,
                       const char *id)
{
    char *text = xprintf("%s %s", id, set->bytes[library]);
    for (size_t i = 0; i < set->count; i++) {
        if (i == library || !set->loads[library * set->count + i])
            continue;
        char *more = xprintf("%s %s", text, set->bytes[i]);
        free(text);
        text = more;
    }
    content_id(out, text, strlen(text));
    free(text);
}

// Makes the folder under a temporary name and renames it, so that nobody finds half of it. If
// another process was first, its folder is used, because equal names mean equal content.
static int show(const struct code_kept *kept, const struct library_set *set, size_t library,
                const char *as, const char *code, struct error *err)
{
    char id[OBJECT_ID_TEXT];
    name_shown(id, set, library, code);
    char *folder = xprintf("%s/%s", kept->folder, id);
    char *aside = xprintf("%s/tmp-%ld-%s", kept->folder, (long)getpid(), id);
    int status = 0;
    kept->paths[library] = arena_printf(kept->arena, "%s%s", folder, as);
    if (access(kept->paths[library], R_OK)) {
        struct error ignored;
        status = files_remove(aside, err) || show_all(set, library, aside, as, err) ? -1 : 0;
        if (status == 0 && rename(aside, folder) && errno != EEXIST && errno != ENOTEMPTY)
            status = error_set(err, "%s: %s", folder, strerror(errno));
        files_remove(aside, &ignored);
    }
    free(aside);
    free(folder);
    return status;
}

// ---- all together

static bool is_alone(const struct library_set *set, size_t library)
{
    for (size_t i = 0; i < set->count; i++) {
        if (i != library && set->loads[library * set->count + i])
            return false;
    }
    return set->files == 0;
}

// Whether a file or folder has that name.
static bool takes(const char *path, const char *name)
{
    const size_t length = strlen(name);
    return strncmp(path, name, length) == 0 && (path[length] == '\0' || path[length] == '/');
}

static bool is_taken(const struct library_set *set, size_t library, const char *name)
{
    for (size_t i = 0; i < set->count; i++) {
        if (i != library && takes(set->libraries[i] + strlen(set->folder), name))
            return true;
    }
    for (size_t i = 0; i < set->files; i++) {
        if (takes(set->other_names[i], name))
            return true;
    }
    return false;
}

// The path of a library inside its own folder. It lies beside the same files as in its build, under
// a name that reveals nothing, unless another file has that name. The caller frees.
static char *shown_as(const struct library_set *set, size_t library)
{
    const char *name = set->libraries[library] + strlen(set->folder);
    if (is_alone(set, library))
        return xstrdup("/kernel.so");
    char *as = xprintf("%.*s/kernel.so", (int)(strrchr(name, '/') - name), name);
    if (!is_taken(set, library, as))
        return as;
    free(as);
    return xstrdup(name);
}

static void finish(char out[OBJECT_ID_TEXT], const struct library_set *set, size_t library,
                   const char *as)
{
    struct buffer text = {0};
    buffer_printf(&text, "plumb output 1\nlibrary %s\n", set->own[library]);
    if (strcmp(as, "/kernel.so") != 0)
        buffer_printf(&text, "as %zu:%s\n", strlen(as), as);
    for (size_t i = 0; i < set->count; i++) {
        const char *name = set->libraries[i] + strlen(set->folder) + 1; // its path in the build
        if (i != library && set->loads[library * set->count + i])
            buffer_printf(&text, "loads %zu:%s %s\n", strlen(name), name, set->own[i]);
    }
    buffer_puts(&text, set->others.bytes ? set->others.bytes : "");
    if (is_alone(set, library))
        memcpy(out, set->own[library], OBJECT_ID_TEXT);
    else
        content_id(out, text.bytes, text.length);
    buffer_free(&text);
}

static void open_set(struct library_set *set)
{
    set->names = xcalloc(set->count, sizeof(*set->names));
    set->lengths = xcalloc(set->count, sizeof(*set->lengths));
    set->loads = xcalloc(set->count * set->count, sizeof(*set->loads));
    set->own = xcalloc(set->count, sizeof(*set->own));
    set->bytes = xcalloc(set->count, sizeof(*set->bytes));
    for (size_t i = 0; i < set->count; i++) {
        const char *slash = strrchr(set->libraries[i], '/');
        set->names[i] = slash ? slash + 1 : set->libraries[i];
        set->lengths[i] = strlen(set->names[i]);
        set->last[(unsigned char)set->names[i][set->lengths[i] - 1]] = true;
    }
}

static void close_set(struct library_set *set)
{
    for (size_t i = 0; i < set->files; i++)
        free(set->other_names[i]);
    free(set->other_names);
    free(set->bytes);
    free(set->own);
    free(set->loads);
    free(set->lengths);
    free(set->names);
}

int code_ids(char (*out)[OBJECT_ID_TEXT], const char *const *libraries, size_t count,
             const char *folder, const struct code_kept *kept, struct error *err)
{
    struct library_set set = {.libraries = libraries, .count = count, .folder = folder};
    if (count > LIBRARIES_MAX) {
        error_set(err, "the build left more than %d libraries", LIBRARIES_MAX);
        return 1;
    }
    open_set(&set);
    int status = 0;
    for (size_t i = 0; status == 0 && i < count; i++)
        status = read_library(&set, i, err);
    if (status == 0)
        status = add_others(&set, folder, err);
    close_over(&set);
    for (size_t i = 0; status == 0 && i < count; i++) {
        char *as = shown_as(&set, i);
        finish(out[i], &set, i, as);
        if (kept)
            status = show(kept, &set, i, as, out[i], err);
        free(as);
    }
    close_set(&set);
    buffer_free(&set.others);
    return status;
}
