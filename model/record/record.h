// SPDX-License-Identifier: Apache-2.0
//
// A record: one kernel on one problem as data. It holds device code and a list of launches, so the
// stopwatch runs it without any host code of the commit that it comes from.
//
// A launch's parameters are bytes, in which some words are addresses of the stopwatch's buffers.
// Nobody states which words these are. The library is asked for the same launches twice, for
// buffers at two sets of made-up addresses; the words that move with a buffer are its addresses. If
// a word moves in any other way, the kernel cannot be recorded.
//
// Nothing here touches a device. Everything that is parsed is hostile.
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

// The buffers whose address a launch may be given. Those after the workspace are used by the forms
// of kernels/kernel.h only; plans do not know them.
enum record_buffer {
    RECORD_A,
    RECORD_B,
    RECORD_C,
    RECORD_SCALE_A, // one factor for the whole tensor A
    RECORD_SCALE_B,
    RECORD_WORKSPACE,
    RECORD_BLOCK_SCALES_A,
    RECORD_BLOCK_SCALES_B,
    RECORD_BIAS,
    RECORD_GROUP_FIRST,
    RECORD_GROUP_ROWS,
    RECORD_CAPTURED, // the first of a captured program's allocations; the others follow
    RECORD_BUFFERS = RECORD_CAPTURED + RECORD_CAPTURED_MAX
};

const char *record_buffer_name(enum record_buffer buffer); // "a", ..., "captured0", ...

int record_buffer_parse(enum record_buffer *out, const char *name); // -1: no such buffer

// Where the buffers lie in one process, and their lengths; 0 bytes: there is no such buffer.
struct record_places {
    uint64_t address[RECORD_BUFFERS], bytes[RECORD_BUFFERS];
};

// Makes up two sets of addresses for buffers of these sizes; captured buffers get none. No word of
// one set is a word of the other, every buffer moves by a different distance, and all lie on odd
// multiples of 512 bytes, as the stopwatch's own may.
void record_made_up(struct record_places out[2], const uint64_t bytes[RECORD_BUFFERS]);

enum record_launch_kind { RECORD_KERNEL, RECORD_MEMSET, RECORD_COPY };

struct record_parameter {
    uint32_t offset, bytes; // offset and length in the launch's bytes
};

// Says that the word at `at` of the launch's bytes is the address of this byte of this buffer.
struct record_address {
    uint32_t at;
    enum record_buffer buffer;
    uint64_t offset;
};

struct record_launch {
    enum record_launch_kind kind;
    const char *function;                   // a kernel's entry point, under its name in the image
    uint32_t grid[3], block[3], cluster[3]; // cluster: in blocks; 1 x 1 x 1: none
    uint32_t shared_bytes;                  // dynamic shared memory
    uint32_t image;    // the image with the function, counted from 1; 0: any image that has it
    bool cooperative;  // all its blocks must be resident at once
    bool programmatic; // it may start before the previous launch has ended
    int32_t carveout;  // preferred share of shared memory in percent; -1: the driver's choice
    uint32_t stream;   // below RECORD_STREAMS_MAX; launches of one stream run in order
    uint32_t *after;   // launches of other streams that it waits for, by their index
    uint32_t after_count;
    // For a memset: writes `value`, of element_bytes (1, 2 or 4), `width` times in each of `height`
    // rows. For a copy: `width` bytes in one row.
    uint32_t value, element_bytes;
    uint64_t width, height, pitch_bytes;
    // A kernel's parameters in their order. A memset has one word, the address that it writes to; a
    // copy has the address that it writes to and the one that it reads from.
    struct record_parameter *parameters;
    uint32_t parameter_count;
    unsigned char *bytes;
    uint32_t size;
    struct record_address *addresses;
    uint32_t address_count;
    struct record_map *maps; // TMA descriptors that the launching process must make (struct
                             // record_map)
    uint32_t map_count;
};

// Device code in which an entry point is looked up: a cubin.
struct record_image {
    const unsigned char *bytes;
    size_t size;
};

// The content of a captured buffer, in files next to the record.
struct record_content {
    uint64_t bytes;
    const char *before, *after; // names of files; `after` is NULL if no launch changed a byte
};

// Everything belongs to the arena in which it was made.
struct record {
    int version; // the version of the lines that it was read from; not set in a record that is made
                 // here
    char kernel[RECORD_NAME];
    struct problem problem;
    uint64_t workspace_bytes;
    char note[RECORD_NOTE]; // from the library's prepare()
    double tolerance;       // for a capture's results, as a fraction of the largest; 0: they must
                            // be equal bit by bit
    struct record_launch *launches;
    size_t launch_count;
    struct record_image *images;
    size_t image_count;
    struct record_content *contents; // of RECORD_CAPTURED and the buffers after it
    size_t content_count;            // 0: the record comes from a library or a plan
};

// Finds the addresses in `first`, which was captured at places[0], by comparison with `second`, the
// same launches captured at places[1]. -1: the two do not match, or a word moved that is no
// address; the text says which.
int record_find_addresses(struct record_launch *first, const struct record_launch *second,
                          size_t count, const struct record_places places[2], struct arena *arena,
                          struct error *err);

// Whether two captures at the same places consist of the same launches with the same bytes.
bool record_same_launches(const struct record_launch *a, const struct record_launch *b,
                          size_t count);

// Writes the launch's bytes with the addresses of these places into `out` (launch->size bytes).
// Descriptors of its maps must still be made. -1: an address, a memset or a map reaches outside of
// its buffer.
int record_bind(unsigned char *out, const struct record_launch *launch,
                const struct record_places *places, struct error *err);

// The text form: lines of model/wire.h, then the images' bytes (record.c has the grammar).
void record_print(struct buffer *out, const struct record *record);

// Reads the text form. Images borrow from `bytes`, which is changed (lines are decoded in place);
// everything else is copied to the arena. Every number is checked against its range.
int record_parse(struct record *out, char *bytes, size_t size, struct arena *arena,
                 struct error *err);

// Reads one line of the text form that belongs to a launch, for callers that stream launches
// instead of reading files. record->version is set. -1: it is no such line, a value is out of
// range, or the version does not have it.
struct wire_record;

int record_take_line(struct record *record, const struct wire_record *line, struct arena *arena,
                     struct error *err);

// ---- TMA descriptors ----
//
// What a record's TMA descriptors are made from (cuTensorMapEncodeTiled of the CUDA driver API).
// The
// 128 bytes of a descriptor can only be made where the buffer's address is known. A captured record
// holds descriptors as bytes that contain an address; a record made from a plan holds these.

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

// A descriptor. Dimension 0 is the one whose elements are adjacent.
struct record_map {
    uint32_t at;               // where the descriptor stands in the launch's bytes
    enum record_buffer buffer; // where element 0 lies: this byte of this buffer
    uint64_t offset;
    uint32_t type;                      // enum record_map_type
    uint32_t rank;                      // 1 .. 5
    uint64_t dims[RECORD_MAP_DIMS];     // elements, 1 .. 2^32
    uint64_t strides[RECORD_MAP_DIMS];  // bytes between two elements, for dimensions 1 and up
    uint32_t box[RECORD_MAP_DIMS];      // elements that one copy moves, 1 .. 256
    uint32_t elements[RECORD_MAP_DIMS]; // step between the elements that are read; 1: all of them;
                                        // 1 .. 8
    uint32_t interleave;                // bytes: 0, 16, 32
    uint32_t swizzle;                   // bytes: 0, 32, 64, 128
    uint32_t promote;                   // the least number of bytes that L2 fetches: 0, 64, 128,
                                        // 256
    bool fill_nan;                      // elements outside of the tensor read as NaN and not as
                                        // zero
};

// Checks that every number is in the range given above; -1 with a text that names the first bad
// one. The driver checks the hardware's further demands (strides that are multiples of 16, a box no
// wider than the swizzle).
int record_map_check(const struct record_map *map, struct error *err);

// Bytes from the first element to the end of the last; 0 when that overflows.
uint64_t record_map_extent(const struct record_map *map);

// ==== surveys ====
//
// A survey: the kernels that one process of a captured program ran, how often and with what
// numbers, and the outcome of the launches to be recorded. The injected library writes it
// (kernels/capture/survey.c describes its lines). Here it is parsed, as hostile text.

enum { SURVEY_KERNELS_MAX = 100000 };

// The launches of one function that have the same shape and the same numbers among their
// parameters.
struct survey_kernel {
    const char *name; // mangled name of the device function
    uint64_t launches;
    uint64_t first; // number of the first of them among all launches of functions of this name,
                    // from 1
    uint32_t grid[3], block[3], cluster[3];
    uint32_t shared_bytes, static_bytes, registers, local_bytes;
    uint64_t touched_bytes; // size of the allocations that it is given
    double time_ns;         // mean; 0: it was not timed
    const char *refused;    // why it cannot be recorded; "" if it can
};

struct survey {
    int64_t process;
    const char *note;    // what was not watched, and why; "" if everything was
    const char *taken;   // the record's file; "": there is none
    const char *refused; // why the requested launches were not recorded; "" if they were
    const char *ranges;  // the first names of NVTX ranges that it pushed
    uint64_t pushes;     // how many of its ranges were among those that were asked for
    struct survey_kernel *kernels;
    size_t count;
};

// Parses a survey. `bytes` is changed; everything that `out` points to is in the arena.
int survey_parse(struct survey *out, char *bytes, size_t size, struct arena *arena,
                 struct error *err);

#endif
