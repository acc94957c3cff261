// SPDX-License-Identifier: Apache-2.0
//
// Reads files of machine code in memory: host libraries (ELF), the container into which nvcc puts
// device code, and cubins. They are hostile, so every offset and size is checked. The readers are
// our own because little of the formats is needed. Internal to this folder and runner/bench.
#ifndef PLUMB_MACHINE_CODE_H
#define PLUMB_MACHINE_CODE_H

#include "model/result.h"

// ---- whole files

struct code_file {
    unsigned char *bytes;
    size_t size;
};
// Reads a file into memory. -1: it cannot be read; 1: it is no regular file, or is larger than 1
// GiB.
int code_read(struct code_file *out, const char *library, struct error *err);
void code_close(struct code_file *file);
// Computes the id of a file that was read (code_id.h).
void code_id_of(char out[OBJECT_ID_TEXT], const struct code_file *file);
// Computes the id of one kernel of a cubin. It covers the kernel and everything that it may call or
// read there, but not the code, constants and attributes of other kernels. The id is the whole
// cubin's if the kernel needs one of these, if its needs cannot be told, or if the cubin is for
// Blackwell.
void code_id_of_kernel(char out[OBJECT_ID_TEXT], const unsigned char *cubin, size_t size,
                       const char *kernel);
// Clears the code and constants of kernels that are not launched. The ids of launched kernels do
// not cover these bytes, yet a launched kernel could find and read them, or jump there. Bytes that
// a launched kernel needs stay, because its id covers them. Nothing is cleared for Blackwell, whose
// drivers make code from other sections (.nv.merc, .nv.capmerc); there the id of each kernel covers
// all kernels of the cubin.
void code_clear_unlaunched(unsigned char *cubin, size_t size, const char *const *launched,
                           size_t count);
// Lists the device functions of a file with the resources that they need; -1: it is no library.
struct code_function_list;
int code_resources_of(struct code_function_list *out, const struct code_file *file,
                      struct arena *arena, struct error *err);

// ---- a 64-bit little-endian ELF file

struct elf_section {
    const char *name; // ends within the image
    uint32_t type, link, info;
    uint64_t flags, address, offset, size, align;
    const unsigned char *bytes; // NULL when the section has no bytes in the file (NOBITS)
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

// An ELF file that was opened; it borrows the bytes.
struct elf_image {
    const unsigned char *bytes;
    size_t size;
    uint16_t machine;
    uint32_t flags;
    struct elf_section *sections; // elf_close() frees it
    size_t section_count;
    struct elf_segment *segments;
    size_t segment_count;
};

// Opens an ELF file. -1, without a text: it is no ELF file of this kind, or it is malformed.
int elf_open(struct elf_image *out, const void *bytes, size_t size);
void elf_close(struct elf_image *image);
// Returns the symbol table's section, NULL if there is none.
const struct elf_section *elf_symbols(const struct elf_image *image);
// Reads a symbol. False when the table has no such symbol.
bool elf_symbol(struct elf_symbol *out, const struct elf_image *image,
                const struct elf_section *table, uint64_t index);

// Read unaligned little-endian numbers.
static inline uint16_t elf_u16(const unsigned char *at)
{
    return (uint16_t)(at[0] | at[1] << 8);
}

static inline uint32_t elf_u32(const unsigned char *at)
{
    return elf_u16(at) | (uint32_t)elf_u16(at + 2) << 16;
}

static inline uint64_t elf_u64(const unsigned char *at)
{
    return elf_u32(at) | (uint64_t)elf_u32(at + 4) << 32;
}

// ---- fat binaries
//
// The section .nv_fatbin of a host library holds one or more fat binaries, each with entries for
// one architecture. The layout is not published. It was derived from the output of nvcc 13.0 and is
// checked field by field; anything that does not fit is returned as opaque bytes.

enum fatbin_kind {
    FATBIN_CUBIN,  // `bytes` are a cubin, an ELF file
    FATBIN_OPAQUE, // compressed code, PTX, or something unknown
    FATBIN_PADDING // zeros between fat binaries
};

struct fatbin_entry {
    enum fatbin_kind kind;
    uint32_t architecture; // 90 for sm_90; 0 unless known
    const unsigned char *header;
    size_t header_size; // length of the header without the file name that it may hold; 0: there is
                        // no header
    const unsigned char *bytes;
    size_t size;
};

// Reads the next entry of the section and moves *at, which is 0 at first. False at the end. Every
// byte belongs to one entry, or to a header that contains only sizes.
bool fatbin_next(struct fatbin_entry *out, size_t *at, const unsigned char *section, size_t size);

// ---- cubins

enum { CUBIN_MACHINE = 190 }; // EM_CUDA

// Attributes in sections .nv.info*, which are identified by numbers (CUDA's EIATTR_*).
enum {
    CUBIN_MAX_THREADS = 0x05,
    CUBIN_PARAMETERS = 0x0a, // its symbol, place and size in constant bank 0
    CUBIN_FRAME = 0x11,      // its symbol, and the number of bytes of stack
    CUBIN_STACK_MIN = 0x12,
    CUBIN_PARAMETER = 0x17, // index, ordinal, offset and size of one parameter
    CUBIN_PARAMETER_BYTES = 0x19,
    CUBIN_STACK_MAX = 0x23,
    CUBIN_REGISTERS = 0x2f // its symbol, and the number of registers
};
struct cubin_attribute {
    uint8_t format, code;
    const unsigned char *bytes;
    size_t size;
};
// Reads the attribute at *at and moves *at past it. False: the section ends, or there is no valid
// attribute.
bool cubin_next(struct cubin_attribute *out, size_t *at, const struct elf_section *section);

#endif
