// SPDX-License-Identifier: Apache-2.0
//
// What links say as bytes, the same on every machine: integers as little-endian base-128 varints,
// reals as 8 bytes, binary64, little-endian, texts with their length before them. Levels name
// commits by their keys in the store. Unpacking refuses what packing cannot have made, or names a
// commit that is not there: -1.

#ifndef PLUMB_LINKS_PACK_H
#define PLUMB_LINKS_PACK_H

#include "ci/history/history_links.h"
#include "model/buffer.h"

void linked_pack(struct buffer *out, const struct linked_history *linked);
int linked_unpack(struct linked_history *out, const void *bytes, size_t size, struct arena *arena);
void linked_part_pack(struct buffer *out, const struct linked_part *part);
int linked_part_unpack(struct linked_part *out, const void *bytes, size_t size,
                       const struct commit_places *places, struct arena *arena);
void settled_pack(struct buffer *out, const struct settled_links *settled);
int settled_unpack(struct settled_links *out, const void *bytes, size_t size, struct arena *arena);

// ---- figures ----

// Reads packed values. From the first value on that cannot have been written, all are 0 or "".
struct reader {
    const unsigned char *at, *end;
    struct arena *arena;
    bool bad;
};
void put(struct buffer *out, uint64_t value);
uint64_t get(struct reader *reader);

#endif
