// SPDX-License-Identifier: Apache-2.0
//
// A 64-bit little-endian ELF file in memory, read with every offset and size checked: host
// libraries and the cubins embedded in them. Internal to runner/code/code_id.c and its like. Own,
// because what is read is hostile and little of the format is needed.
#ifndef PLUMB_ELF_IMAGE_H
#define PLUMB_ELF_IMAGE_H

#include "model/base.h"

struct elf_section {
    const char *name; // ends within the image
    uint32_t type, link, info;
    uint64_t flags, address, offset, size, align;
    const unsigned char *bytes; // NULL when the file has none (NOBITS)
};

struct elf_segment {
    uint32_t type, flags;
    uint64_t offset, address, file_size, memory_size;
};

struct elf_symbol {
    const char *name;
    uint8_t type; // STT_*
    uint16_t section;
    uint64_t value, size;
};

// Borrows the bytes it was opened on.
struct elf_image {
    const unsigned char *bytes;
    size_t size;
    uint16_t machine;
    uint32_t flags;
    struct elf_section *sections; // caller frees with elf_close
    size_t section_count;
    struct elf_segment *segments;
    size_t segment_count;
};

// -1 without a text: not an ELF file of this kind, or one that lies about itself.
int elf_open(struct elf_image *out, const void *bytes, size_t size);
void elf_close(struct elf_image *image);
// The symbol table's section, NULL if there is none.
const struct elf_section *elf_symbols(const struct elf_image *image);
// False when the table has no such symbol.
bool elf_symbol(struct elf_symbol *out, const struct elf_image *image,
                const struct elf_section *table, uint64_t index);

// Unaligned little-endian reads.
uint16_t elf_u16(const unsigned char *at);
uint32_t elf_u32(const unsigned char *at);
uint64_t elf_u64(const unsigned char *at);

#endif
