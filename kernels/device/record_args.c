// SPDX-License-Identifier: Apache-2.0
//
// A table that says which member of a launch's arguments points to which buffer of a record.
// Recording and replaying use the same table, so that each buffer is replayed as it was recorded.
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

int record_captured(struct record *out, record_capturer *capture, void *context,
                    const struct record_places places[2], struct arena *arena, struct error *err)
{
    struct record_capture captures[3];
    if (capture(&captures[0], context, &places[0], err))
        return -1;
    for (int i = 0; i < 3; i++) {
        if (capture(&captures[i], context, &places[i % 2], err))
            return -1;
        if (captures[i].count != captures[0].count)
            return error_set(err, "launch() queues other launches each time: that cannot be "
                                  "recorded");
    }
    if (!record_same_launches(captures[0].launches, captures[2].launches, captures[0].count))
        return error_set(err, "launch() does not do the same each time: that cannot be recorded");
    if (record_find_addresses(captures[0].launches, captures[1].launches, captures[0].count, places,
                              arena, err))
        return -1;
    out->launches = captures[0].launches;
    out->launch_count = captures[0].count;
    return 0;
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
