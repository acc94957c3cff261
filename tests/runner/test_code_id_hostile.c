// SPDX-License-Identifier: Apache-2.0
//
// Damaged libraries and fat binaries: no crash, no silence about a changed byte.
#include "runner/code/code_id.h"
#include "runner/code/machine_code.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_library.h"
#include "tests/helpers/test.h"

#include <stdlib.h>
#include <string.h>

static uint64_t random_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void try_file(const char *path, const unsigned char *bytes, size_t size)
{
    char id[OBJECT_ID_TEXT];
    struct error err;
    struct arena arena = {0};
    struct code_function_list list;
    helper_write(path, bytes, size);
    assert_int_equal(code_id(id, path, &err), 0);
    assert_int_equal(strlen(id), 40);
    code_resources(&list, path, &arena, &err);
    arena_free(&arena);
}

AROUND_ALL(library_set_up, library_tear_down);

TEST(broken_libraries_do_no_harm)
{
    static const uint64_t extremes[] = {0,          1,         0x7f,       0xffff,         0x10000,
                                        UINT32_MAX, INT64_MAX, UINT64_MAX, UINT64_MAX - 63};
    library_make_cuda("usual", &library_usual_cubin);
    char *from = library_path("usual.so"), *path = library_path("broken.so");
    size_t size;
    unsigned char *good = (unsigned char *)helper_read(from, &size), *bad = xcalloc(size, 1);
    uint64_t random = 42;
    for (int i = 0; i < 1500; i++) {
        memcpy(bad, good, size);
        for (uint64_t k = random_next(&random) % 3 + 1; k > 0; k--) {
            // Mostly where the tables are: the beginning, the end, and the fat binary.
            size_t region = random_next(&random) % 3;
            size_t at = region == 0   ? random_next(&random) % 1024
                        : region == 1 ? size - 1 - random_next(&random) % 4096
                                      : random_next(&random) % size;
            uint64_t value = extremes[random_next(&random) % ARRAY_COUNT(extremes)];
            size_t width = (size_t)1 << random_next(&random) % 4;
            memcpy(bad + at, &value, width < size - at ? width : size - at);
        }
        size_t cut = random_next(&random) % 8 == 0 ? random_next(&random) % size : size;
        try_file(path, bad, cut);
    }
    free(bad);
    free(good);
    free(from);
    free(path);
}

// The walk itself, on buffers of exact size.
TEST(broken_fatbins_do_no_harm)
{
    static struct cubin b;
    unsigned char fat[12000];
    cubin_make(&b, &library_usual_cubin);
    size_t size = fatbin_make(fat, 2, b.bytes, b.used);
    uint64_t random = 43;
    for (int i = 0; i < 20000; i++) {
        size_t length = random_next(&random) % 2 ? size : random_next(&random) % (size + 1);
        unsigned char *exact = xcalloc(length, 1);
        memcpy(exact, fat, length);
        for (int k = 0; k < 2 && length > 0; k++) {
            size_t room = length < 80 ? length : 80;
            exact[random_next(&random) % room] = (unsigned char)random_next(&random);
        }
        struct fatbin_entry entry;
        size_t at = 0, seen = 0;
        while (fatbin_next(&entry, &at, exact, length)) {
            assert_true(at <= length && at > seen);
            assert_true(entry.size == 0 || entry.bytes[entry.size - 1] <= 255);
            seen = at;
        }
        assert_int_equal(at, length);
        free(exact);
    }
}

// A changed byte of what the loader maps is always seen, wherever it is.
TEST(every_loaded_byte_counts)
{
    library_compile("plain", library_plain, "-Wl,--build-id=sha1");
    char *from = library_path("plain.so"), *path = library_path("flipped.so");
    char original[OBJECT_ID_TEXT];
    memcpy(original, library_id("plain.so"), sizeof(original));
    size_t size;
    unsigned char *bytes = (unsigned char *)helper_read(from, &size);
    Elf64_Ehdr header;
    memcpy(&header, bytes, sizeof(header));
    uint64_t random = 44;
    size_t tried = 0;
    for (int i = 0; i < header.e_phnum; i++) {
        Elf64_Phdr segment;
        memcpy(&segment, bytes + header.e_phoff + (size_t)i * sizeof(segment), sizeof(segment));
        if (segment.p_type != PT_LOAD)
            continue;
        for (int k = 0; k < 60; k++) {
            size_t at = segment.p_offset + random_next(&random) % segment.p_filesz;
            // The header and the notes hold what is left out on purpose.
            if (at < header.e_phoff + (size_t)header.e_phnum * sizeof(segment) + 256)
                continue;
            bytes[at] ^= 1;
            helper_write(path, bytes, size);
            assert_string_not_equal(original, library_id("flipped.so"));
            bytes[at] ^= 1;
            tried++;
        }
    }
    assert_true(tried > 100);
    free(bytes);
    free(from);
    free(path);
}
