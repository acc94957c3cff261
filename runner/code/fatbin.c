// SPDX-License-Identifier: Apache-2.0
//
// A fat binary: magic (4), version 1 (2), header size 16 (2), bytes that follow (8). Entries in it:
//    0  kind (2): 1 PTX, 2 cubin       2  version (2): 0x101     4  header size (4), a multiple of
//    8 8  bytes of payload (8), padded  16  bytes when compressed (4)         28  architecture (4)
//   32  offset of the file name (4)   36  its length (4)   40  flags (8)    56  bytes unpacked (8)
#include "runner/code/fatbin.h"

#include <string.h>

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
