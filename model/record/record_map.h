// SPDX-License-Identifier: Apache-2.0
//
// TMA descriptors of a record: what a descriptor is made from (cuTensorMapEncodeTiled of the CUDA
// driver API), since its 128 bytes can only be made where the buffer's address is known. A record
// that was captured holds descriptors as bytes with an address in them; one made from a plan holds
// these.
#ifndef PLUMB_RECORD_MAP_H
#define PLUMB_RECORD_MAP_H

#include "model/record/record.h"
#include "model/wire.h"

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
const char *record_map_type_name(uint32_t type);            // "uint8", ..., "tf32-ftz"
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
// Every number is in the range that is said above; -1 with a text that names the first that is not.
// What else the hardware asks (strides of multiples of 16, a box as wide as the swizzle) the driver
// says.
int record_map_check(const struct record_map *map, struct error *err);
// Bytes from the first element to the end of the last; 0 when that overflows.
uint64_t record_map_extent(const struct record_map *map);

// The fields of a record's line `tensormap`, all but its name.
void record_map_print(struct wire_line *line, const struct record_map *map);
// They are in their ranges when 0 is returned; `at` is not held against any parameter.
int record_map_parse(struct record_map *out, const struct wire_record *line, struct error *err);

#endif
