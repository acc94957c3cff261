// SPDX-License-Identifier: Apache-2.0
//
// What the links of a series said when they were looked at last. The store knows how far that went,
// not what it says.
#ifndef PLUMB_KEPT_LINKS_H
#define PLUMB_KEPT_LINKS_H

#include "baselines/store.h"

enum { KEPT_LINKS_MAKER = 33 };

struct kept_links {
    char maker[KEPT_LINKS_MAKER]; // "": there are none
    int64_t newest_link;          // no link beyond it was looked at
    const void *found, *levels;   // what every look asks for, and the level of every code
    size_t size, levels_size;     // bytes
};

// The largest key of a link of the series; 0: it has none. Keys only grow: links are never removed.
int store_newest_link(int64_t *out, struct store *store, const struct series *series,
                      struct error *err);
// All but the levels.
int store_load_kept_links(struct kept_links *out, struct store *store, const struct series *series,
                          struct arena *arena, struct error *err);
// The levels, and nothing else that was found.
int store_load_kept_levels(struct kept_links *out, struct store *store, const struct series *series,
                           struct arena *arena, struct error *err);
// Replaces them. The series must be known to the store.
int store_save_kept_links(struct store *store, const struct series *series,
                          const struct kept_links *kept, struct error *err);

#endif
