// SPDX-License-Identifier: Apache-2.0
//
// Files of machine code in memory, read with every offset and size checked, because what is read is
// hostile: host libraries (ELF), the container that nvcc puts device code into, and cubins. Own
// readers, because little of the formats is needed. Internal to this folder and runner/bench.
#ifndef PLUMB_MACHINE_CODE_H
#define PLUMB_MACHINE_CODE_H

#include "model/result.h"

// ---- whole files

struct code_file {
    unsigned char *bytes;
    size_t size;
};
// Reads a file into memory. -1: it cannot be read; 1: no regular file, or larger than 1 GiB.
int code_read(struct code_file *out, const char *library, struct error *err);
void code_close(struct code_file *file);
// The id of a file that was read (code_id.h).
void code_id_of(char out[OBJECT_ID_TEXT], const struct code_file *file);
// The id of one kernel of a cubin covers the kernel and all that it may call or read there, but not
// the code, constants and attributes of other kernels. Where the kernel needs one of these, or its
// needs cannot be told, or the cubin is for Blackwell, the id is the whole cubin's.
void code_id_of_kernel(char out[OBJECT_ID_TEXT], const unsigned char *cubin, size_t size,
                       const char *kernel);
// Clears the code and the constants of kernels that are not launched. The ids of launched kernels
// do not cover these bytes, yet a launched kernel could find and read them, or jump there. Bytes
// that a launched kernel needs stay, for its id covers them. Nothing is cleared of Blackwell, whose
// drivers make code of other sections (.nv.merc, .nv.capmerc): there the id of each kernel covers
// all kernels of the cubin.
void code_clear_unlaunched(unsigned char *cubin, size_t size, const char *const *launched,
                           size_t count);
// Lists the device functions of a file with the resources they need; -1: it is no library.
struct code_function_list;
int code_resources_of(struct code_function_list *out, const struct code_file *file,
                      struct arena *arena, struct error *err);

// ---- a 64-bit little-endian ELF file

struct elf_section {
    const char *name; // ends within the image
    uint32_t type, link, info;
    uint64_t flags, address, offset, size, align;
    const unsigned char *bytes; // NULL when the file has none (NOBITS)
};

struct elf_segment {
    uint32_t type, flags;
    uint64_t offset, address, file_size, memory_size;
};

struct elf_symbol {
    const char *name;
    uint8_t type; // STT_*
    uint16_t section;
    uint64_t value, size;
};

// Borrows the bytes it was opened on.
struct elf_image {
    const unsigned char *bytes;
    size_t size;
    uint16_t machine;
    uint32_t flags;
    struct elf_section *sections; // caller frees with elf_close
    size_t section_count;
    struct elf_segment *segments;
    size_t segment_count;
};

// -1 without a text: not an ELF file of this kind, or one that lies about itself.
int elf_open(struct elf_image *out, const void *bytes, size_t size);
void elf_close(struct elf_image *image);
// The symbol table's section, NULL if there is none.
const struct elf_section *elf_symbols(const struct elf_image *image);
// False when the table has no such symbol.
bool elf_symbol(struct elf_symbol *out, const struct elf_image *image,
                const struct elf_section *table, uint64_t index);

// Unaligned little-endian reads.
uint16_t elf_u16(const unsigned char *at);
uint32_t elf_u32(const unsigned char *at);
uint64_t elf_u64(const unsigned char *at);

// ---- fat binaries
//
// Section .nv_fatbin of a host library holds one or more, each with entries for one architecture.
// The layout is not published; it was read off the output of nvcc 13.0 and is checked field by
// field, and what does not fit is handed on as unknown bytes.

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

// ---- cubins

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
// Reads the attribute at *at and moves *at behind it. False: the end, or no attribute stands there.
bool cubin_next(struct cubin_attribute *out, size_t *at, const struct elf_section *section);

// ---- names
//
// Names with internal linkage carry eight digits that nvcc draws from the source's path and text:
// _GLOBAL__N__f266c20c_6_kan_cu_..., _INTERNAL_f266c20c_6_kan_cu_... In a code id the first such
// digits of a file stand as number 0, the next as 1, and so on: another source text changes the
// digits alone, another order of names changes the numbers.
// One library is made from few source texts; digits beyond the most are hashed as they are.
enum { NVCC_DIGITS = 8, NVCC_DIGITS_MOST = 1024 };

struct nvcc_digits {
    char (*items)[NVCC_DIGITS];
    size_t count, capacity;
};
// Finds the next place in [*at, size) where such digits may stand; false: there is none.
bool nvcc_digits_next(size_t *at, const unsigned char *bytes, size_t size);
// The number of the digits at `at`; -1 when they are not among `digits`.
int64_t nvcc_digits_find(const struct nvcc_digits *digits, const unsigned char *at);
// As nvcc_digits_find(), but adds digits that are new; -1 where there are too many.
int64_t nvcc_digits_number(struct nvcc_digits *digits, const unsigned char *at);

#endif
