// SPDX-License-Identifier: Apache-2.0
//
// Reads machine code that may be hostile: every offset is checked before it is used.
#include "runner/code/machine_code.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// ---- ELF files

static bool fits(const struct elf_image *image, uint64_t offset, uint64_t size)
{
    return offset <= image->size && size <= image->size - offset;
}

enum { NAME_BYTES_MAX = 1 << 16 };

// A string that ends within its table and within a limit; "" when it does not.
static const char *text_at(const struct elf_image *image, const struct elf_section *table,
                           uint64_t offset)
{
    if (!table || !table->bytes || offset >= table->size)
        return "";
    const uint64_t left = table->size - offset;
    if (!memchr(table->bytes + offset, 0, left < NAME_BYTES_MAX ? (size_t)left : NAME_BYTES_MAX))
        return "";
    return (const char *)image->bytes + table->offset + offset;
}

static int read_segments(struct elf_image *image, uint64_t offset, uint16_t count)
{
    const uint64_t each = sizeof(Elf64_Phdr);
    if (!fits(image, offset, count * each))
        return -1;
    image->segments = xcalloc(count, sizeof(*image->segments));
    for (; image->segment_count < count; image->segment_count++) {
        const unsigned char *at = image->bytes + offset + image->segment_count * each;
        struct elf_segment *segment = &image->segments[image->segment_count];
        *segment = (struct elf_segment){
            .type = elf_u32(at),
            .flags = elf_u32(at + 4),
            .offset = elf_u64(at + 8),
            .address = elf_u64(at + 16),
            .file_size = elf_u64(at + 32),
            .memory_size = elf_u64(at + 40),
        };
        if (segment->type == PT_LOAD && !fits(image, segment->offset, segment->file_size))
            return -1;
    }
    return 0;
}

static int read_sections(struct elf_image *image, uint64_t offset, uint16_t count, uint16_t names)
{
    const uint64_t each = sizeof(Elf64_Shdr);
    if (!fits(image, offset, count * each) || names >= count)
        return -1;
    image->sections = xcalloc(count, sizeof(*image->sections));
    image->section_count = count;
    for (uint16_t i = 0; i < count; i++) {
        const unsigned char *at = image->bytes + offset + i * each;
        struct elf_section *section = &image->sections[i];
        *section = (struct elf_section){
            .type = elf_u32(at + 4),
            .flags = elf_u64(at + 8),
            .address = elf_u64(at + 16),
            .offset = elf_u64(at + 24),
            .size = elf_u64(at + 32),
            .link = elf_u32(at + 40),
            .info = elf_u32(at + 44),
            .align = elf_u64(at + 48),
        };
        if (section->type == SHT_NOBITS || section->type == SHT_NULL)
            continue;
        if (!fits(image, section->offset, section->size))
            return -1;
        section->bytes = image->bytes + section->offset;
    }
    for (uint16_t i = 0; i < count; i++)
        image->sections[i].name =
            text_at(image, &image->sections[names], elf_u32(image->bytes + offset + i * each));
    return 0;
}

int elf_open(struct elf_image *out, const void *bytes, size_t size)
{
    struct elf_image image = {.bytes = bytes, .size = size};
    const unsigned char *at = bytes;
    if (size < sizeof(Elf64_Ehdr) || memcmp(at, ELFMAG, SELFMAG) != 0 ||
        at[EI_CLASS] != ELFCLASS64 || at[EI_DATA] != ELFDATA2LSB)
        return -1;
    image.machine = elf_u16(at + 18);
    image.flags = elf_u32(at + 48);
    uint16_t segment_size = elf_u16(at + 54), segments = elf_u16(at + 56);
    uint16_t section_size = elf_u16(at + 58), sections = elf_u16(at + 60);
    bool ok = (segments == 0 || segment_size == sizeof(Elf64_Phdr)) &&
              section_size == sizeof(Elf64_Shdr) && sections > 0 &&
              read_segments(&image, elf_u64(at + 32), segments) == 0 &&
              read_sections(&image, elf_u64(at + 40), sections, elf_u16(at + 62)) == 0;
    if (!ok) {
        elf_close(&image);
        return -1;
    }
    *out = image;
    return 0;
}

void elf_close(struct elf_image *image)
{
    free(image->sections);
    free(image->segments);
    *image = (struct elf_image){0};
}

const struct elf_section *elf_symbols(const struct elf_image *image)
{
    for (size_t i = 0; i < image->section_count; i++) {
        if (image->sections[i].type == SHT_SYMTAB)
            return &image->sections[i];
    }
    return NULL;
}

bool elf_symbol(struct elf_symbol *out, const struct elf_image *image,
                const struct elf_section *table, uint64_t index)
{
    if (!table || index >= table->size / sizeof(Elf64_Sym))
        return false;
    const unsigned char *at = table->bytes + index * sizeof(Elf64_Sym);
    const struct elf_section *names =
        table->link < image->section_count ? &image->sections[table->link] : NULL;
    *out = (struct elf_symbol){
        .name = text_at(image, names, elf_u32(at)),
        .type = ELF64_ST_TYPE(at[4]),
        .section = elf_u16(at + 6),
        .value = elf_u64(at + 8),
        .size = elf_u64(at + 16),
    };
    return true;
}

// ---- fat binaries
//
// A fat binary: magic (4), version 1 (2), header size 16 (2), number of bytes that follow (8). An
// entry:
//    0  kind (2): 1 PTX, 2 cubin       2  version (2): 0x101     4  header size (4), a multiple of
//    8 8  bytes of payload (8), padded  16  bytes when compressed (4)         28  architecture (4)
//   32  offset of the file name (4)   36  its length (4)   40  flags (8)    56  bytes unpacked (8)

enum { WRAPPER = 16, ENTRY_HEADER = 64, KIND_CUBIN = 2, ENTRY_VERSION = 0x101 };

static const uint32_t wrapper_magic = 0xba55ed50;

static bool is_wrapper(const unsigned char *at, size_t left)
{
    return left >= WRAPPER && elf_u32(at) == wrapper_magic && elf_u16(at + 4) == 1 &&
           elf_u16(at + 6) == WRAPPER && elf_u64(at + 8) <= left - WRAPPER;
}

static bool is_entry(const unsigned char *at, size_t left)
{
    if (left < ENTRY_HEADER || elf_u16(at + 2) != ENTRY_VERSION)
        return false;
    uint32_t header = elf_u32(at + 4);
    return header >= ENTRY_HEADER && header % 8 == 0 && header <= left &&
           elf_u64(at + 8) <= left - header;
}

static size_t zeros(const unsigned char *at, size_t left)
{
    size_t count = 0;
    while (count < left && at[count] == 0)
        count++;
    return count;
}

bool fatbin_next(struct fatbin_entry *out, size_t *at, const unsigned char *section, size_t size)
{
    const unsigned char *here = section + *at;
    size_t left = size - *at;
    if (is_wrapper(here, left)) {
        here += WRAPPER;
        left -= WRAPPER;
        *at += WRAPPER;
    }
    if (left == 0)
        return false;
    if (is_entry(here, left)) {
        uint32_t header = elf_u32(here + 4);
        size_t payload = (size_t)elf_u64(here + 8);
        struct fatbin_entry entry = {
            .kind = FATBIN_OPAQUE,
            .architecture = elf_u32(here + 28),
            .header = here,
            .header_size = ENTRY_HEADER,
            .bytes = here + header,
            .size = payload,
        };
        if (elf_u16(here) == KIND_CUBIN && payload > 4 &&
            memcmp(entry.bytes,
                   "\x7f"
                   "ELF",
                   4) == 0)
            entry.kind = FATBIN_CUBIN;
        *at += header + payload;
        *out = entry;
        return true;
    }
    size_t padding = zeros(here, left);
    bool aligned = padding >= 8 || padding == left;
    size_t taken = aligned ? padding - (padding == left ? 0 : padding % 8) : left;
    *out = (struct fatbin_entry){
        .kind = aligned ? FATBIN_PADDING : FATBIN_OPAQUE, .bytes = here, .size = taken};
    *at += taken;
    return true;
}

// ---- whole files and cubins

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

// An attribute's format decides its length: format 1 has no value, 2 and 3 have one in the next two
// bytes, and in 4 these two bytes are the value's size.
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
