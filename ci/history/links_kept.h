// SPDX-License-Identifier: Apache-2.0
//
// What links say of a series (history_links.h), worked out only when one has come since.
#ifndef PLUMB_LINKS_KEPT_H
#define PLUMB_LINKS_KEPT_H

#include "baselines/kept/kept_links.h"
#include "ci/history/history_links.h"
#include "model/buffer.h"

// As history_links(). What was worked out now and has to be kept goes to `fresh` (in the arena),
// whose size is 0 when there is nothing new.
int history_links_kept(struct linked_history *out, struct kept_links *fresh, struct store *store,
                       const struct series *series, const char *accepted, struct arena *arena,
                       struct error *err);

// To bytes and back, the same on every machine. Unpacking refuses what packing cannot have made:
// -1.
void linked_pack(struct buffer *out, const struct linked_history *linked);
int linked_unpack(struct linked_history *out, const void *bytes, size_t size, struct arena *arena);

#endif
