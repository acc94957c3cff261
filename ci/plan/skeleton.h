// SPDX-License-Identifier: Apache-2.0
//
// The beginning of a plan, written from what a compiler's cache says of a kernel. What cannot be
// known from there (the grid, what a pointer points to) is a guess from names, and a comment says
// so; `plumb plan check` and the stopwatch's own check find out when it is wrong.

#ifndef PLUMB_SKELETON_H
#define PLUMB_SKELETON_H

#include "model/buffer.h"
#include "model/record/record.h"
#include "model/traits.h"

// ---- Triton's cache ----

// What an entry of Triton's cache says of a kernel (Triton 3.2 to 3.6): NAME.json, which the
// launcher reads, and NAME.ttir beside it, which has the parameters' names and types. Both are
// hostile text.

enum { TRITON_PARAMETERS = 256, TRITON_TEXT = 64 };

enum triton_type { TRITON_POINTER, TRITON_INTEGER, TRITON_FLOAT, TRITON_TENSORDESC, TRITON_OTHER };

struct triton_parameter {
    char name[TRITON_TEXT]; // as in the source; of a descriptor's sizes the descriptor's
    enum triton_type type;
    char element[TRITON_TEXT]; // of a pointer or a descriptor, as MLIR calls it: "bf16"
    uint32_t bits;             // of an integer or a float
    int64_t divisible;         // its value is taken to be a multiple of this; 1: nothing known
    uint32_t rank;             // of a descriptor
};

struct triton_map {
    uint32_t type, swizzle, rank; // as struct record_map has them
    uint32_t box[RECORD_MAP_DIMS];
};

struct triton_entry {
    char name[4096]; // of the function
    char version[TRITON_TEXT];
    int64_t warps, ctas, stages, shared;
    int64_t scratch_bytes, scratch_align, profile_bytes, profile_align; // per block
    bool cooperative, programmatic;
    struct triton_map maps[TRITON_PARAMETERS];
    uint32_t map_count;
    // Of the .ttir; without one there are no parameters, and zeros.
    struct triton_parameter parameters[TRITON_PARAMETERS];
    uint32_t parameter_count;
    bool persistent; // it asks how many blocks there are
    int32_t tile[3]; // m, n, k of its first product
    bool tf32;       // its products take FP32 for TF32
};

// json: of a text that ends with NUL, of `length` bytes; label is what errors begin with.
int triton_read_json(struct triton_entry *out, const char *json, size_t length, const char *label,
                     struct error *err);

// Adds what the .ttir says. -1: it has no such function, or one that cannot be understood.
int triton_read_ir(struct triton_entry *entry, const char *ir, const char *label,
                   struct error *err);

// ---- the plan ----

// Of Triton's NAME.json; reads NAME.ttir beside it where there is one.
int skeleton_write(struct buffer *out, const char *json_path, struct error *err);

// The text alone.
void skeleton_print(struct buffer *out, const struct triton_entry *entry);

#endif
