// SPDX-License-Identifier: Apache-2.0
//
// Reads ELF files that may be hostile: no offset is followed before it is checked.
#include "runner/code/elf_image.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

uint16_t elf_u16(const unsigned char *at)
{
    return (uint16_t)(at[0] | at[1] << 8);
}

uint32_t elf_u32(const unsigned char *at)
{
    return elf_u16(at) | (uint32_t)elf_u16(at + 2) << 16;
}

uint64_t elf_u64(const unsigned char *at)
{
    return elf_u32(at) | (uint64_t)elf_u32(at + 4) << 32;
}

static bool fits(const struct elf_image *image, uint64_t offset, uint64_t size)
{
    return offset <= image->size && size <= image->size - offset;
}

enum { NAME_BYTES_MAX = 1 << 16 };

// A string that ends within its table, and soon; "" when it does not.
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
