// SPDX-License-Identifier: Apache-2.0
//
// The id is the hash of a text of records. For the host part these are the bytes that the loader
// maps, segment by segment, and their distance from each other: what sections claim is not asked,
// since only segments decide what runs. Left out are the build id, the ELF header's pointer to the
// sections (debug information moves them), and in names the part that nvcc draws from the source
// text. What sections, symbols and debug information say besides is not mapped, hence not in it.
//
// Of .nv_fatbin only code and what it needs counts; see hash_cubin().
#include "runner/code_id.h"

#include "runner/code_read.h"
#include "runner/fatbin.h"
#include "runner/repository.h"

#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ID_VERSION = 1, EM_CUBIN = 190 };

static void put(FILE *to, const char *what, uint64_t a, uint64_t b, uint64_t c)
{
    fprintf(to, "%s %" PRIx64 " %" PRIx64 " %" PRIx64 "\n", what, a, b, c);
}

static void put_bytes(FILE *to, const char *what, const unsigned char *bytes, size_t size)
{
    put(to, what, size, 0, 0);
    if (size > 0)
        fwrite(bytes, 1, size, to);
}

// ---- device code

// Places among the sections that count, so that debug sections between them do not matter.
static uint64_t ordinal(const struct elf_image *cubin, uint64_t section)
{
    uint64_t place = 0;
    for (uint64_t i = 0; i < section && i < cubin->section_count; i++)
        place += (cubin->sections[i].flags & SHF_ALLOC) != 0;
    return place;
}

// What a symbol stands for: a place in code or data; only a symbol from elsewhere has a name.
static void hash_symbol(FILE *to, const struct elf_image *cubin, uint64_t index)
{
    struct elf_symbol symbol;
    if (!elf_symbol(&symbol, cubin, elf_symbols(cubin), index)) {
        put(to, "index", index, 0, 0);
        return;
    }
    bool here = symbol.section < cubin->section_count &&
                (cubin->sections[symbol.section].flags & SHF_ALLOC);
    if (here)
        put(to, "symbol", ordinal(cubin, symbol.section), symbol.value, symbol.size);
    else
        fprintf(to, "name %zu:%s\n", strlen(symbol.name), symbol.name);
}

static void hash_relocations(FILE *to, const struct elf_image *cubin,
                             const struct elf_section *section)
{
    size_t each = section->type == SHT_RELA ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
    if (section->info >= cubin->section_count ||
        !(cubin->sections[section->info].flags & SHF_ALLOC))
        return; // of debug information
    for (uint64_t at = 0; at + each <= section->size; at += each) {
        const unsigned char *entry = section->bytes + at;
        uint64_t info = elf_u64(entry + 8);
        put(to, "relocation", ordinal(cubin, section->info), elf_u64(entry), ELF64_R_TYPE(info));
        put(to, "addend", each == sizeof(Elf64_Rela) ? elf_u64(entry + 16) : 0, 0, 0);
        hash_symbol(to, cubin, ELF64_R_SYM(info));
    }
}

// Attributes that begin with the number of the symbol they are about, which moves with others.
static bool about_symbol(uint8_t attribute)
{
    return attribute == CUBIN_REGISTERS || attribute == CUBIN_FRAME ||
           attribute == CUBIN_STACK_MIN || attribute == CUBIN_STACK_MAX ||
           attribute == CUBIN_PARAMETERS;
}

static void hash_attributes(FILE *to, const struct elf_image *cubin,
                            const struct elf_section *section)
{
    struct cubin_attribute attribute;
    size_t at = 0;
    put(to, "attributes", section->info ? ordinal(cubin, section->info) : UINT64_MAX, 0, 0);
    while (cubin_next(&attribute, &at, section)) {
        const unsigned char *bytes = attribute.bytes;
        size_t size = attribute.size;
        put(to, "attribute", attribute.format, attribute.code, 0);
        if (about_symbol(attribute.code) && size >= 4) {
            hash_symbol(to, cubin, elf_u32(bytes));
            bytes += 4;
            size -= 4;
        }
        put_bytes(to, "value", bytes, size);
    }
    put_bytes(to, "rest", section->bytes + at, (size_t)section->size - at);
}

static void hash_section(FILE *to, const struct elf_image *cubin, const struct elf_section *section)
{
    if (section->flags & SHF_ALLOC) {
        put(to, "section", section->type, section->flags, section->align);
        put(to, "extent", section->size, section->address, 0);
        if (section->bytes)
            put_bytes(to, "bytes", section->bytes, (size_t)section->size);
    } else if (section->type == SHT_RELA || section->type == SHT_REL) {
        hash_relocations(to, cubin, section);
    } else if (strncmp(section->name, ".nv.info", 8) == 0 && section->bytes) {
        hash_attributes(to, cubin, section);
    } else if (strcmp(section->name, ".nv.compat") == 0 && section->bytes) {
        put_bytes(to, "compat", section->bytes, (size_t)section->size);
    }
}

// Code, constants, initialised data, sizes of memory, what they are linked to, and the attributes
// of launches. Not names, debug information, or notes about the tools.
static void hash_cubin(FILE *to, const struct fatbin_entry *entry)
{
    struct elf_image cubin;
    put(to, "cubin", entry->architecture, elf_u32(entry->header + 20),
        elf_u64(entry->header + 40) & ~(uint64_t)0xf);
    if (elf_open(&cubin, entry->bytes, entry->size) || cubin.machine != EM_CUBIN) {
        put_bytes(to, "unreadable", entry->bytes, entry->size);
        return;
    }
    put(to, "flags", cubin.flags, 0, 0);
    for (size_t i = 0; i < cubin.section_count; i++)
        hash_section(to, &cubin, &cubin.sections[i]);
    elf_close(&cubin);
}

static void hash_fatbin(FILE *to, const unsigned char *section, size_t size)
{
    struct fatbin_entry entry;
    size_t at = 0;
    while (fatbin_next(&entry, &at, section, size)) {
        if (entry.kind == FATBIN_CUBIN)
            hash_cubin(to, &entry);
        else if (entry.kind == FATBIN_OPAQUE) {
            put_bytes(to, "header", entry.header, entry.header_size);
            put_bytes(to, "opaque", entry.bytes, entry.size);
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

static bool is_hex(const unsigned char *at, size_t count)
{
    size_t digits = 0;
    while (digits < count &&
           ((at[digits] >= '0' && at[digits] <= '9') || (at[digits] >= 'a' && at[digits] <= 'f')))
        digits++;
    return digits == count;
}

// Names with internal linkage carry eight digits that nvcc draws from the source's path and text:
// _GLOBAL__N__f266c20c_6_kan_cu_..., _INTERNAL_f266c20c_6_kan_cu_...
static void blank_nvcc_names(unsigned char *copy, size_t size)
{
    static const char *const marks[] = {"_GLOBAL__N__", "_INTERNAL_"};
    enum { DIGITS = 8 };
    for (size_t i = 0; i < ARRAY_COUNT(marks); i++) {
        size_t length = strlen(marks[i]);
        unsigned char *at = copy;
        while ((at = memmem(at, size - (size_t)(at - copy), marks[i], length))) {
            at += length;
            size_t left = size - (size_t)(at - copy);
            if (left > DIGITS && at[DIGITS] == '_' && is_hex(at, DIGITS))
                memset(at, 'x', DIGITS);
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

static int hash_image(FILE *to, const struct code_file *file)
{
    struct elf_image image;
    if (elf_open(&image, file->bytes, file->size))
        return -1;
    unsigned char *copy = xcalloc(file->size, 1);
    memcpy(copy, file->bytes, file->size);
    blank_header(copy, file->size);
    blank_build_id(copy, &image);
    const struct elf_section *fatbin = find_fatbin(&image);
    if (fatbin) {
        hash_fatbin(to, fatbin->bytes, (size_t)fatbin->size);
        blank(copy, file->size, fatbin->offset, fatbin->size);
        blank_nvcc_names(copy, file->size);
    }
    size_t loaded = 0;
    for (size_t i = 0; i < image.segment_count; i++) {
        const struct elf_segment *segment = &image.segments[i];
        put(to, "segment", segment->type, segment->flags, segment->address);
        put(to, "extent", segment->file_size, segment->memory_size, 0);
        if (segment->type != PT_LOAD)
            continue;
        put_bytes(to, "bytes", copy + segment->offset, (size_t)segment->file_size);
        loaded++;
    }
    free(copy);
    elf_close(&image);
    return loaded ? 0 : -1;
}

int code_id(char out[OBJECT_ID_TEXT], const char *library, struct error *err)
{
    struct code_file file;
    char *text = NULL;
    size_t size = 0;
    if (code_read(&file, library, err))
        return -1;
    FILE *to = open_memstream(&text, &size);
    if (!to) {
        code_close(&file);
        return error_set(err, "%s: no memory for its code id", library);
    }
    fprintf(to, "plumb code %d\n", ID_VERSION);
    if (hash_image(to, &file))
        put_bytes(to, "file", file.bytes, file.size);
    fclose(to);
    content_id(out, text, size);
    free(text);
    code_close(&file);
    return 0;
}
