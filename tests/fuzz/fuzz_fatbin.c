// SPDX-License-Identifier: Apache-2.0
//
// A library and the fat binaries in it: sections, segments, symbols and cubins.
#include "runner/fatbin.h"
#include "tests/fuzz/fuzz.h"

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
    if (elf_open(&image, bytes, size))
        return;
    walk(&image);
    elf_close(&image);
}
