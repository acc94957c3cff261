// SPDX-License-Identifier: Apache-2.0
//
// The container that nvcc puts device code into: section .nv_fatbin of a host library, one or more
// fat binaries, each with entries for one architecture. The layout is not published; it was read
// off the output of nvcc 13.0 and is checked field by field, and what does not fit is handed on as
// unknown bytes. Internal to runner/code_*.c.
#ifndef PLUMB_FATBIN_H
#define PLUMB_FATBIN_H

#include "runner/code/elf_image.h"

enum fatbin_kind {
    FATBIN_CUBIN,  // `bytes` are a cubin: an ELF file
    FATBIN_OPAQUE, // compressed code, PTX, or something we do not know
    FATBIN_PADDING // zeros between fat binaries
};

struct fatbin_entry {
    enum fatbin_kind kind;
    uint32_t architecture; // 90 for sm_90; 0 unless known
    const unsigned char *header;
    size_t header_size; // without the file name that may stand in it; 0 when there is none
    const unsigned char *bytes;
    size_t size;
};

// Walks the section from *at (0 at first). False at its end. Every byte is in one entry, or in a
// header that says nothing but sizes.
bool fatbin_next(struct fatbin_entry *out, size_t *at, const unsigned char *section, size_t size);

#endif
