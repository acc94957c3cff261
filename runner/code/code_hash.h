// SPDX-License-Identifier: Apache-2.0
//
// The text of records that a code id is the hash of; internal to runner/code/code_id.c and
// code_cubin.c.
#ifndef PLUMB_CODE_HASH_H
#define PLUMB_CODE_HASH_H

#include "runner/code/elf_image.h"

#include <stdio.h>

// Names with internal linkage carry eight digits that nvcc draws from the source's path and text:
// _GLOBAL__N__f266c20c_6_kan_cu_..., _INTERNAL_f266c20c_6_kan_cu_... In a code id the first such
// digits of a file stand as number 0, the next as 1, and so on: another source text changes the
// digits alone, another order of names changes the numbers.
enum { NVCC_DIGITS = 8 };
struct nvcc_digits {
    char (*items)[NVCC_DIGITS];
    size_t count, capacity;
};

struct code_hash {
    FILE *to;
    struct nvcc_digits digits; // of the device code's names; caller frees the items
    size_t names_left;         // bytes of names that may still be written
    bool odd;                  // some name was not written: hash the cubin whole
};

void code_put(FILE *to, const char *what, uint64_t a, uint64_t b, uint64_t c);
void code_put_bytes(FILE *to, const char *what, const unsigned char *bytes, size_t size);

// The next place in [*at, size) where nvcc's digits may stand; false: there is none.
bool nvcc_digits_next(size_t *at, const unsigned char *bytes, size_t size);
// Their number, -1 when they are not among `digits`.
int64_t nvcc_digits_find(const struct nvcc_digits *digits, const unsigned char *at);

// Code, constants, initialised data, sizes of memory, what they are linked to, the names that they
// are looked up by, and the attributes of launches. Not debug information, or notes about the
// tools. -1: these bytes are no cubin.
int code_put_cubin(struct code_hash *hash, const unsigned char *bytes, size_t size);

#endif
