// SPDX-License-Identifier: Apache-2.0
//
// A library and the fat binaries in it, a fat binary or a cubin by itself: sections, segments,
// symbols and cubins, with what the code id and the static gate read of them.
#include "runner/code/code_id.h"
#include "runner/code/machine_code.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static void walk(const struct elf_image *image)
{
    const struct elf_section *table = elf_symbols(image);
    struct elf_symbol symbol;
    for (uint64_t i = 0; table && i < 4096 && elf_symbol(&symbol, image, table, i); i++)
        ;
    for (size_t s = 0; s < image->section_count; s++) {
        const struct elf_section *section = &image->sections[s];
        struct fatbin_entry entry;
        size_t at = 0;
        while (section->bytes && fatbin_next(&entry, &at, section->bytes, section->size)) {
            struct elf_image cubin;
            if (entry.kind == FATBIN_CUBIN && elf_open(&cubin, entry.bytes, entry.size) == 0) {
                const struct elf_section *own = elf_symbols(&cubin);
                for (uint64_t i = 0; own && i < 4096 && elf_symbol(&symbol, &cubin, own, i); i++)
                    ;
                elf_close(&cubin);
            }
        }
    }
}

void fuzz_one(const uint8_t *bytes, size_t size)
{
    struct elf_image image;
    struct arena arena = {0};
    struct code_function_list list;
    struct error ignored;
    char first[OBJECT_ID_TEXT], second[OBJECT_ID_TEXT];
    unsigned char *copy = arena_copy(&arena, bytes, size);
    const struct code_file file = {copy, size};
    code_id_of(first, &file);
    code_id_of(second, &file);
    if (strcmp(first, second) != 0)
        abort();
    code_resources_of(&list, &file, &arena, &ignored);
    if (elf_open(&image, bytes, size) == 0) {
        walk(&image);
        elf_close(&image);
    } else {
        struct elf_section section = {.bytes = copy, .size = size};
        walk(&(struct elf_image){.sections = &section, .section_count = 1});
    }
    arena_free(&arena);
}
