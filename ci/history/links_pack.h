// SPDX-License-Identifier: Apache-2.0
//
// What links say as bytes (packed.h). Levels name commits by their keys in the store. Unpacking
// refuses what packing cannot have made, or names a commit that is not there: -1.
#ifndef PLUMB_LINKS_PACK_H
#define PLUMB_LINKS_PACK_H

#include "ci/history/links_settled.h"
#include "ci/history/packed.h"

void linked_pack(struct buffer *out, const struct linked_history *linked);
int linked_unpack(struct linked_history *out, const void *bytes, size_t size, struct arena *arena);
void linked_part_pack(struct buffer *out, const struct linked_part *part);
int linked_part_unpack(struct linked_part *out, const void *bytes, size_t size,
                       const struct commit_places *places, struct arena *arena);
void settled_pack(struct buffer *out, const struct settled_links *settled);
int settled_unpack(struct settled_links *out, const void *bytes, size_t size, struct arena *arena);

// ---- parts of these ----

void put_change(struct buffer *out, const struct linked_change *change);
struct linked_change get_change(struct reader *reader);
void put_misfit(struct buffer *out, const struct linked_misfit *misfit);
struct linked_misfit get_misfit(struct reader *reader);

#endif
