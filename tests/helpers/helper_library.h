// SPDX-License-Identifier: Apache-2.0
//
// Libraries for tests of code ids: compiled from a few lines of C in a scratch directory, or
// carrying cubins and fat binaries that are made here, so that no nvcc is needed.
#ifndef PLUMB_TESTS_HELPER_LIBRARY_H
#define PLUMB_TESTS_HELPER_LIBRARY_H

#include "model/result.h"

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The scratch directory of the test program; cmocka's set-up and tear-down.
int library_set_up(void **state);
int library_tear_down(void **state);

// Names below are relative to that directory. Paths are the caller's to free.
char *library_path(const char *name);
// Runs a shell command there, its output in "log"; returns its exit status, -1 if it was killed.
int library_shell(const char *command);
// NAME.c with this text, compiled to NAME.so.
void library_compile(const char *name, const char *source, const char *flags);
// The code id of a library; valid until eight more were asked for.
const char *library_id(const char *name);

// A library of ordinary code and constants, and the same with one text replaced (caller frees).
extern const char library_plain[];
char *library_plain_with(const char *from, const char *to);

struct cubin_plan {
    const char *kernel; // name
    const char *second; // of another function in the same section; NULL: none
    const char *host;   // text among the host's data; NULL: none
    const char *debug;  // lines of source, of at most 16 bytes, which come before the code; or NULL
    uint32_t registers, threads, shared;
    uint8_t code[64], constant[16];
    struct {
        uint32_t at, type, symbol; // type 0: there is none
        int32_t addend;
    } relocations[2]; // of the code
    uint32_t parameter_count;
    struct {
        uint16_t offset, bytes;
    } parameters[4]; // as the cubin says them, from the last to the first
};

extern const struct cubin_plan library_usual_cubin;

struct cubin {
    unsigned char bytes[8192];
    size_t used;
    Elf64_Shdr sections[16];
    size_t count;
    char names[512];
    size_t names_used;
};

// Sections and symbols in any order, as tools of other versions might write them.
void cubin_make(struct cubin *cubin, const struct cubin_plan *plan);
// A fat binary with one entry, kind 2: cubin, 1: PTX; of a file.cu. Returns its size.
size_t fatbin_make(unsigned char *out, uint16_t kind, const void *payload, size_t size);
// A host library NAME.so that carries these bytes as nvcc's would.
void library_make(const char *name, const unsigned char *fat, size_t size);
void library_make_cuda(const char *name, const struct cubin_plan *plan);

#endif
