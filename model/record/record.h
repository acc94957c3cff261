// SPDX-License-Identifier: Apache-2.0
//
// A record: one kernel on one problem as data. It holds device code and a list of launches, so the
// stopwatch runs it without any host code of the commit that it comes from.
//
// A launch's parameters are bytes in which some words are addresses of the stopwatch's buffers.
// Which ones is not stated by anyone: the library is asked for the same launches twice, for buffers
// at two sets of made-up addresses, and the words that moved with a buffer are its addresses. A
// word that moved in any other way makes the kernel one that cannot be recorded.
//
// Nothing here touches a device. What is parsed is hostile.
#ifndef PLUMB_RECORD_H
#define PLUMB_RECORD_H

#include "model/base.h"
#include "model/buffer.h"
#include "model/problem.h"
#include "model/wire.h"

enum { RECORD_VERSION = 6 };

enum { RECORD_NOTE = 256, RECORD_NAME = 201, RECORD_LAUNCHES_MAX = 256 };

enum { RECORD_MAP_BYTES = 128, RECORD_MAP_DIMS = 5, RECORD_CAPTURED_MAX = 32 };

enum { RECORD_STREAMS_MAX = 16 };

// Buffers whose address a launch may be given. Those behind the workspace are of forms alone
// (kernels/kernel.h), and plans know none of them.
enum record_buffer {
    RECORD_A,
    RECORD_B,
    RECORD_C,
    RECORD_SCALE_A, // of the tensor
    RECORD_SCALE_B,
    RECORD_WORKSPACE,
    RECORD_BLOCK_SCALES_A,
    RECORD_BLOCK_SCALES_B,
    RECORD_BIAS,
    RECORD_GROUP_FIRST,
    RECORD_GROUP_ROWS,
    RECORD_CAPTURED, // the first of a captured program's allocations; the others follow it
    RECORD_BUFFERS = RECORD_CAPTURED + RECORD_CAPTURED_MAX
};

const char *record_buffer_name(enum record_buffer buffer); // "a", ..., "captured0", ...

int record_buffer_parse(enum record_buffer *out, const char *name); // -1: no such buffer

// Where the buffers lie in one process, and how long they are; 0 bytes: there is no such buffer.
struct record_places {
    uint64_t address[RECORD_BUFFERS], bytes[RECORD_BUFFERS];
};

// Two sets of made-up addresses for buffers of these sizes, captured ones apart. No word of the one
// is a word of the other, every buffer moves by a distance of its own, and all lie on odd multiples
// of 512 bytes, as the stopwatch's own may.
void record_made_up(struct record_places out[2], const uint64_t bytes[RECORD_BUFFERS]);

enum record_launch_kind { RECORD_KERNEL, RECORD_MEMSET, RECORD_COPY };

struct record_parameter {
    uint32_t offset, bytes; // in the launch's bytes
};

// The word at `at` of the launch's bytes is the address of this byte of this buffer.
struct record_address {
    uint32_t at;
    enum record_buffer buffer;
    uint64_t offset;
};

struct record_launch {
    enum record_launch_kind kind;
    const char *function;                   // a kernel's entry point, as the image names it
    uint32_t grid[3], block[3], cluster[3]; // cluster: in blocks, 1 x 1 x 1 without
    uint32_t shared_bytes;                  // dynamic
    uint32_t image;    // the function's image, counted from 1; 0: whichever has the function
    bool cooperative;  // all blocks resident at once
    bool programmatic; // may start before the launch before it has ended
    int32_t carveout;  // preferred share of shared memory in percent; -1: the driver's choice
    uint32_t stream;   // below RECORD_STREAMS_MAX; launches of one stream follow each other
    uint32_t *after;   // launches of other streams that it waits for: their places in the list
    uint32_t after_count;
    // A memset writes `value` of element_bytes (1, 2 or 4) `width` times in each of `height` rows.
    // A copy is of `width` bytes in one row.
    uint32_t value, element_bytes;
    uint64_t width, height, pitch_bytes;
    // A kernel's parameters one after the other; of a memset the one word: where it writes; of a
    // copy where it writes and where it reads.
    struct record_parameter *parameters;
    uint32_t parameter_count;
    unsigned char *bytes;
    uint32_t size;
    struct record_address *addresses;
    uint32_t address_count;
    struct record_map *maps; // TMA descriptors that whoever launches makes (struct record_map)
    uint32_t map_count;
};

// Device code that an entry point is looked up in: a cubin.
struct record_image {
    const unsigned char *bytes;
    size_t size;
};

// The content of a captured buffer, in files beside the record's own.
struct record_content {
    uint64_t bytes;
    const char *before, *after; // names of files; `after` is NULL where no launch changed a byte
};

// Everything belongs to the arena that it was made in.
struct record {
    int version; // that its lines were written as; of one that is made here it says nothing
    char kernel[RECORD_NAME];
    struct problem problem;
    uint64_t workspace_bytes;
    char note[RECORD_NOTE]; // of the library's prepare()
    double tolerance;       // of a capture's results, over the largest of them; 0: bit by bit
    struct record_launch *launches;
    size_t launch_count;
    struct record_image *images;
    size_t image_count;
    struct record_content *contents; // of RECORD_CAPTURED and those that follow it
    size_t content_count;            // 0: the record of a library or a plan
};

// Finds the addresses in `first`, captured at places[0], from `second`, the same launches captured
// at places[1]. -1: the two do not fit each other, or a word moved that is no address; the text
// says which.
int record_find_addresses(struct record_launch *first, const struct record_launch *second,
                          size_t count, const struct record_places places[2], struct arena *arena,
                          struct error *err);

// True when two captures at the same places are the same launches with the same bytes.
bool record_same_launches(const struct record_launch *a, const struct record_launch *b,
                          size_t count);

// The launch's bytes with the addresses of these places, into `out` (launch->size bytes); where
// there are maps, their descriptors are still to be made. -1: an address, a memset or what a map
// covers lies outside its buffer.
int record_bind(unsigned char *out, const struct record_launch *launch,
                const struct record_places *places, struct error *err);

// The text form: lines of model/wire.h, then the images' bytes (record.c has the grammar).
void record_print(struct buffer *out, const struct record *record);

// Reads the text form. Images borrow from `bytes`, which is changed (lines are decoded in place);
// the rest is copied to the arena. Every number is held to its range.
int record_parse(struct record *out, char *bytes, size_t size, struct arena *arena,
                 struct error *err);

// One line of the text form that belongs to a launch, for those who stream launches instead of
// reading files. record->version is set. -1: not such a line, one out of its range, or one that the
// version does not have.
struct wire_record;

int record_take_line(struct record *record, const struct wire_record *line, struct arena *arena,
                     struct error *err);

// ---- TMA descriptors ----
//
// TMA descriptors of a record: what a descriptor is made from (cuTensorMapEncodeTiled of the CUDA
// driver API), since its 128 bytes can only be made where the buffer's address is known. A record
// that was captured holds descriptors as bytes with an address in them; one made from a plan holds
// these.

// Element types, in the order of the driver's CUtensorMapDataType. FTZ: denormals become zero.
enum record_map_type {
    RECORD_MAP_UINT8,
    RECORD_MAP_UINT16,
    RECORD_MAP_UINT32,
    RECORD_MAP_INT32,
    RECORD_MAP_UINT64,
    RECORD_MAP_INT64,
    RECORD_MAP_FP16,
    RECORD_MAP_FP32,
    RECORD_MAP_FP64,
    RECORD_MAP_BF16,
    RECORD_MAP_FP32_FTZ,
    RECORD_MAP_TF32,
    RECORD_MAP_TF32_FTZ,
    RECORD_MAP_TYPES
};

const char *record_map_type_name(uint32_t type); // "uint8", ..., "tf32-ftz"

int record_map_type_parse(uint32_t *out, const char *name); // -1: no such type

// Dimension 0 is the one whose elements lie side by side.
struct record_map {
    uint32_t at;               // of the descriptor in the launch's bytes
    enum record_buffer buffer; // where element 0 lies: this byte of this buffer
    uint64_t offset;
    uint32_t type;                      // enum record_map_type
    uint32_t rank;                      // 1 .. 5
    uint64_t dims[RECORD_MAP_DIMS];     // elements, 1 .. 2^32
    uint64_t strides[RECORD_MAP_DIMS];  // bytes from one to the next, of dimensions 1 and up
    uint32_t box[RECORD_MAP_DIMS];      // elements that one copy moves, 1 .. 256
    uint32_t elements[RECORD_MAP_DIMS]; // every so many-th element, 1 .. 8
    uint32_t interleave;                // bytes: 0, 16, 32
    uint32_t swizzle;                   // bytes: 0, 32, 64, 128
    uint32_t promote;                   // bytes that L2 fetches at least: 0, 64, 128, 256
    bool fill_nan;                      // what lies outside reads as NaN, not as zero
};

// Checks that every number is in the range said above; -1 with a text that names the first bad one.
// The driver checks the hardware's other demands (strides of multiples of 16, a box as wide as the
// swizzle).
int record_map_check(const struct record_map *map, struct error *err);

// Bytes from the first element to the end of the last; 0 when that overflows.
uint64_t record_map_extent(const struct record_map *map);

// ==== surveys ====
//
// A survey: which kernels one process of a captured program ran, how often and with what numbers,
// and what came of the launches to be recorded. The library that is injected writes it
// (kernels/capture/survey.c, which has the lines); here it is parsed as the hostile text it is.

enum { SURVEY_KERNELS_MAX = 100000 };

// Launches of one function with one shape and one set of numbers among their parameters.
struct survey_kernel {
    const char *name; // of the device function, as it is mangled
    uint64_t launches;
    uint64_t first; // which launch of the functions of this name the first of them was, from 1
    uint32_t grid[3], block[3], cluster[3];
    uint32_t shared_bytes, static_bytes, registers, local_bytes;
    uint64_t touched_bytes; // of the allocations that it is given
    double time_ns;         // mean; 0: no times were taken
    const char *refused;    // why it cannot be recorded; "": it can
};

struct survey {
    int64_t process;
    const char *note;    // what was not watched, and why; ""
    const char *taken;   // the record's file; "": none
    const char *refused; // why what was asked for was not recorded; ""
    struct survey_kernel *kernels;
    size_t count;
};

// `bytes` are changed; what `out` points to is in the arena.
int survey_parse(struct survey *out, char *bytes, size_t size, struct arena *arena,
                 struct error *err);

#endif
