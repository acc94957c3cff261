// SPDX-License-Identifier: Apache-2.0
//
// What the files code_*.c share; internal to them.
#ifndef PLUMB_CODE_READ_H
#define PLUMB_CODE_READ_H

#include "model/result.h"
#include "runner/code/elf_image.h"

struct code_file {
    unsigned char *bytes;
    size_t size;
};
// A whole file in memory. -1: it cannot be read; 1: it is none, or larger than 1 GiB.
int code_read(struct code_file *out, const char *library, struct error *err);
void code_close(struct code_file *file);
// The id of a file that was read.
void code_id_of(char out[OBJECT_ID_TEXT], const struct code_file *file);
// What its device functions need; -1: it is no library.
struct code_function_list;
int code_resources_of(struct code_function_list *out, const struct code_file *file,
                      struct arena *arena, struct error *err);

enum { CUBIN_MACHINE = 190 }; // EM_CUDA

// Attributes of sections .nv.info*, known by their numbers (CUDA's EIATTR_*).
enum {
    CUBIN_MAX_THREADS = 0x05,
    CUBIN_PARAMETERS = 0x0a, // symbol, place and size in constant bank 0
    CUBIN_FRAME = 0x11,      // symbol, bytes of stack
    CUBIN_STACK_MIN = 0x12,
    CUBIN_PARAMETER = 0x17, // index, ordinal, offset and size of one
    CUBIN_PARAMETER_BYTES = 0x19,
    CUBIN_STACK_MAX = 0x23,
    CUBIN_REGISTERS = 0x2f // symbol, count
};
struct cubin_attribute {
    uint8_t format, code;
    const unsigned char *bytes;
    size_t size;
};
// The attribute at *at, which moves on. False at the end, or where it is none.
bool cubin_next(struct cubin_attribute *out, size_t *at, const struct elf_section *section);

#endif
