// SPDX-License-Identifier: Apache-2.0
//
// Which member of a launch's arguments points to which buffer of a record. Recording and replaying
// read the same table, so that what is recorded as one buffer is replayed as no other.
#include "kernels/device/record.h"

#include <string.h>

static const size_t pointer_at[RECORD_CAPTURED] = {
    [RECORD_A] = offsetof(struct plumb_form_args, args.a),
    [RECORD_B] = offsetof(struct plumb_form_args, args.b),
    [RECORD_C] = offsetof(struct plumb_form_args, args.c),
    [RECORD_SCALE_A] = offsetof(struct plumb_form_args, args.scale_a),
    [RECORD_SCALE_B] = offsetof(struct plumb_form_args, args.scale_b),
    [RECORD_WORKSPACE] = offsetof(struct plumb_form_args, args.workspace),
    [RECORD_BLOCK_SCALES_A] = offsetof(struct plumb_form_args, block_scales_a),
    [RECORD_BLOCK_SCALES_B] = offsetof(struct plumb_form_args, block_scales_b),
    [RECORD_BIAS] = offsetof(struct plumb_form_args, bias),
    [RECORD_GROUP_FIRST] = offsetof(struct plumb_form_args, group_first),
    [RECORD_GROUP_ROWS] = offsetof(struct plumb_form_args, group_rows)};

struct plumb_form_args record_args(const struct record_places *places,
                                   const struct plumb_form *form)
{
    struct plumb_form_args args = {
        .args = {.problem = form->problem, .workspace_bytes = places->bytes[RECORD_WORKSPACE]},
        .form = *form};
    for (int b = 0; b < RECORD_CAPTURED; b++) {
        const void *pointer = places->bytes[b] ? (const void *)(uintptr_t)places->address[b] : NULL;
        memcpy((char *)&args + pointer_at[b], &pointer, sizeof(pointer));
    }
    return args;
}

struct record_places record_args_places(const struct plumb_form_args *args,
                                        const uint64_t bytes[RECORD_BUFFERS])
{
    struct record_places places = {0};
    for (int b = 0; b < RECORD_CAPTURED; b++) {
        const void *pointer;
        memcpy(&pointer, (const char *)args + pointer_at[b], sizeof(pointer));
        places.address[b] = (uintptr_t)pointer;
        places.bytes[b] = bytes[b];
    }
    return places;
}
