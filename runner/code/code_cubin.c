// SPDX-License-Identifier: Apache-2.0
//
// What of a cubin counts in a code id. Sections are known by their place among those that count, so
// that debug information between them does not matter; functions and variables by their names,
// since that is how a library finds them.
#include "runner/code/code_hash.h"

#include "runner/code/code_read.h"

#include <elf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// More than any compiler writes; a table of names may be made so that all of them together are far
// longer than the file.
enum { EM_CUBIN = 190, SYMBOLS_MAX = 1 << 18 };

// ---- names

static bool is_hex(const unsigned char *at, size_t count)
{
    size_t digits = 0;
    while (digits < count &&
           ((at[digits] >= '0' && at[digits] <= '9') || (at[digits] >= 'a' && at[digits] <= 'f')))
        digits++;
    return digits == count;
}

bool nvcc_digits_next(size_t *at, const unsigned char *bytes, size_t size)
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

int64_t nvcc_digits_find(const struct nvcc_digits *digits, const unsigned char *at)
{
    for (size_t i = 0; i < digits->count; i++) {
        if (memcmp(digits->items[i], at, NVCC_DIGITS) == 0)
            return (int64_t)i;
    }
    return -1;
}

static int64_t number_of(struct nvcc_digits *digits, const unsigned char *at)
{
    const int64_t found = nvcc_digits_find(digits, at);
    if (found >= 0)
        return found;
    digits->items = xgrow(digits->items, digits->count, &digits->capacity, sizeof(*digits->items));
    memcpy(digits->items[digits->count], at, NVCC_DIGITS);
    return (int64_t)digits->count++;
}

// A name with nvcc's digits as numbers, and where they stand.
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
        const int64_t number = number_of(&hash->digits, copy + at);
        code_put(hash->to, "digits", at, (uint64_t)number, 0);
        memset(copy + at, 'x', NVCC_DIGITS);
    }
    code_put_bytes(hash->to, "name", copy, size);
    free(copy);
}

struct named {
    struct elf_symbol symbol;
    uint64_t ordinal;
};

static int by_place(const void *left, const void *right)
{
    const struct named *a = left, *b = right;
    if (a->ordinal != b->ordinal)
        return a->ordinal < b->ordinal ? -1 : 1;
    if (a->symbol.value != b->symbol.value)
        return a->symbol.value < b->symbol.value ? -1 : 1;
    return strcmp(a->symbol.name, b->symbol.name);
}

// ---- one cubin

struct cubin {
    struct elf_image image;
    uint64_t *ordinals; // of each section, among those that count
};

static bool counts(const struct cubin *cubin, uint64_t section)
{
    return section < cubin->image.section_count &&
           (cubin->image.sections[section].flags & SHF_ALLOC);
}

static uint64_t ordinal(const struct cubin *cubin, uint64_t section)
{
    return section < cubin->image.section_count ? cubin->ordinals[section] : UINT64_MAX;
}

// What a symbol stands for: a place in code or data; only a symbol from elsewhere has a name.
static void put_symbol(struct code_hash *hash, const struct cubin *cubin, uint64_t index)
{
    struct elf_symbol symbol;
    if (!elf_symbol(&symbol, &cubin->image, elf_symbols(&cubin->image), index))
        code_put(hash->to, "index", index, 0, 0);
    else if (counts(cubin, symbol.section))
        code_put(hash->to, "symbol", ordinal(cubin, symbol.section), symbol.value, symbol.size);
    else if (symbol.name[0])
        put_name(hash, symbol.name);
}

// Functions and variables that have a name, and what is wanted from elsewhere.
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
    struct named *items = NULL;
    size_t count = 0, capacity = 0;
    struct elf_symbol symbol;
    for (uint64_t i = 0; elf_symbol(&symbol, &cubin->image, table, i); i++) {
        hash->odd |= i >= SYMBOLS_MAX;
        if (hash->odd)
            break;
        if (!is_named(cubin, &symbol))
            continue;
        items = xgrow(items, count, &capacity, sizeof(*items));
        items[count++] = (struct named){symbol, ordinal(cubin, symbol.section)};
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
        return; // of debug information
    for (uint64_t at = 0; at + each <= section->size && !hash->odd; at += each) {
        const unsigned char *entry = section->bytes + at;
        uint64_t info = elf_u64(entry + 8);
        code_put(hash->to, "relocation", ordinal(cubin, section->info), elf_u64(entry),
                 ELF64_R_TYPE(info));
        code_put(hash->to, "addend", each == sizeof(Elf64_Rela) ? elf_u64(entry + 16) : 0, 0, 0);
        put_symbol(hash, cubin, ELF64_R_SYM(info));
    }
}

// Attributes that begin with the number of the symbol they are about, which moves with others.
static bool about_symbol(uint8_t attribute)
{
    return attribute == CUBIN_REGISTERS || attribute == CUBIN_FRAME ||
           attribute == CUBIN_STACK_MIN || attribute == CUBIN_STACK_MAX ||
           attribute == CUBIN_PARAMETERS;
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
    }
}

int code_put_cubin(struct code_hash *hash, const unsigned char *bytes, size_t size)
{
    struct cubin cubin;
    if (elf_open(&cubin.image, bytes, size))
        return -1;
    if (cubin.image.machine != EM_CUBIN) {
        elf_close(&cubin.image);
        return -1;
    }
    cubin.ordinals = xcalloc(cubin.image.section_count, sizeof(*cubin.ordinals));
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
    elf_close(&cubin.image);
    return 0;
}
