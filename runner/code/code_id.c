// SPDX-License-Identifier: Apache-2.0
//
// The id is the hash of a text of records. For the host part these are the bytes that the loader
// maps, segment by segment, and their distance from each other: what sections claim is not asked,
// since only segments decide what runs. Left out are the build id, the ELF header's pointer to the
// sections (debug information moves them), and the digits that nvcc draws from the source text for
// names of the device code. What sections, symbols and debug information say besides is not mapped,
// hence not in it.
//
// Of .nv_fatbin only code and what it needs counts; see code_cubin.c.
#include "runner/code/code_id.h"

#include "runner/code/code_hash.h"
#include "runner/code/code_read.h"
#include "runner/code/fatbin.h"
#include "runner/git/repository.h"

#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// 2: names of functions and variables count.
enum { ID_VERSION = 2, NAMES_MAX = 64 << 20 };

// ---- device code

void code_put(FILE *to, const char *what, uint64_t a, uint64_t b, uint64_t c)
{
    fprintf(to, "%s %" PRIx64 " %" PRIx64 " %" PRIx64 "\n", what, a, b, c);
}

void code_put_bytes(FILE *to, const char *what, const unsigned char *bytes, size_t size)
{
    code_put(to, what, size, 0, 0);
    if (size > 0)
        fwrite(bytes, 1, size, to);
}

static void hash_fatbin(struct code_hash *hash, const unsigned char *section, size_t size)
{
    struct fatbin_entry entry;
    size_t at = 0;
    while (fatbin_next(&entry, &at, section, size)) {
        if (entry.kind == FATBIN_CUBIN) {
            code_put(hash->to, "cubin", entry.architecture, elf_u32(entry.header + 20),
                     elf_u64(entry.header + 40) & ~(uint64_t)0xf);
            if (code_put_cubin(hash, entry.bytes, entry.size))
                code_put_bytes(hash->to, "unreadable", entry.bytes, entry.size);
        } else if (entry.kind == FATBIN_OPAQUE) {
            code_put_bytes(hash->to, "header", entry.header, entry.header_size);
            code_put_bytes(hash->to, "opaque", entry.bytes, entry.size);
        }
    }
}

// ---- host code

// Clears a range of the copy, if it lies within.
static void blank(unsigned char *bytes, size_t size, uint64_t offset, uint64_t length)
{
    if (offset <= size && length <= size - offset)
        memset(bytes + offset, 0, (size_t)length);
}

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

// Where the host names the device code's functions: the digits that those have, and no others.
static void number_nvcc_names(struct code_hash *hash, unsigned char *copy, size_t size)
{
    size_t at = 0;
    for (; hash->digits.count && nvcc_digits_next(&at, copy, size); at += NVCC_DIGITS) {
        const int64_t number = nvcc_digits_find(&hash->digits, copy + at);
        if (number < 0)
            continue;
        code_put(hash->to, "digits", at, (uint64_t)number, 0);
        memset(copy + at, 'x', NVCC_DIGITS);
    }
}

// The ELF header points at the sections, which move with debug information.
static void blank_header(unsigned char *copy, size_t size)
{
    blank(copy, size, offsetof(Elf64_Ehdr, e_shoff), 8);
    blank(copy, size, offsetof(Elf64_Ehdr, e_shnum), 2);
    blank(copy, size, offsetof(Elf64_Ehdr, e_shstrndx), 2);
}

static bool inside(const struct elf_section *section, const struct elf_segment *segment)
{
    return section->offset >= segment->offset && section->size <= segment->file_size &&
           section->offset - segment->offset <= segment->file_size - section->size;
}

// The device code's section, if it is where no host code can run or change it.
static const struct elf_section *find_fatbin(const struct elf_image *image)
{
    for (size_t i = 0; i < image->section_count; i++) {
        const struct elf_section *section = &image->sections[i];
        if (strcmp(section->name, ".nv_fatbin") != 0 || !section->bytes)
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

static void hash_segments(struct code_hash *hash, const struct elf_image *image,
                          const struct code_file *file)
{
    unsigned char *copy = xcalloc(file->size, 1);
    memcpy(copy, file->bytes, file->size);
    blank_header(copy, file->size);
    blank_build_id(copy, image);
    const struct elf_section *fatbin = find_fatbin(image);
    if (fatbin) {
        hash_fatbin(hash, fatbin->bytes, (size_t)fatbin->size);
        blank(copy, file->size, fatbin->offset, fatbin->size);
    }
    for (size_t i = 0; i < image->segment_count; i++) {
        const struct elf_segment *segment = &image->segments[i];
        code_put(hash->to, "segment", segment->type, segment->flags, segment->address);
        code_put(hash->to, "extent", segment->file_size, segment->memory_size, 0);
        if (segment->type != PT_LOAD)
            continue;
        number_nvcc_names(hash, copy + segment->offset, (size_t)segment->file_size);
        code_put_bytes(hash->to, "bytes", copy + segment->offset, (size_t)segment->file_size);
    }
    free(copy);
}

static bool is_loaded(const struct elf_image *image)
{
    for (size_t i = 0; i < image->segment_count; i++) {
        if (image->segments[i].type == PT_LOAD)
            return true;
    }
    return false;
}

// A library, a cubin by itself, or any other file.
static void hash_file(struct code_hash *hash, const struct code_file *file)
{
    struct elf_image image = {0};
    if (code_put_cubin(hash, file->bytes, file->size) == 0)
        return;
    if (elf_open(&image, file->bytes, file->size) == 0 && is_loaded(&image))
        hash_segments(hash, &image, file);
    else
        code_put_bytes(hash->to, "file", file->bytes, file->size);
    elf_close(&image);
}

void code_id_of(char out[OBJECT_ID_TEXT], const struct code_file *file)
{
    char *text = NULL;
    size_t size = 0;
    struct code_hash hash = {.to = open_memstream(&text, &size), .names_left = NAMES_MAX};
    if (!hash.to)
        abort(); // out of memory
    fprintf(hash.to, "plumb code %d\n", ID_VERSION);
    hash_file(&hash, file);
    fclose(hash.to);
    content_id(out, text, size);
    free(hash.digits.items);
    free(text);
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
