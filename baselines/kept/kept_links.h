// SPDX-License-Identifier: Apache-2.0
//
// What the links of a series said when they were looked at last. The store knows how far that went,
// not what it says.
#ifndef PLUMB_KEPT_LINKS_H
#define PLUMB_KEPT_LINKS_H

#include "baselines/store.h"

enum { KEPT_LINKS_MAKER = 33 };

// What a look goes on from.
struct kept_settled {
    char maker[KEPT_LINKS_MAKER]; // "": there is nothing
    const void *settled;
    size_t size;
};
// Levels of a stretch of codes that is settled.
struct kept_stretch {
    size_t number; // from 0
    const void *levels;
    size_t size;
};
struct kept_links {
    char maker[KEPT_LINKS_MAKER]; // "": there are none
    int64_t newest_link;          // no link beyond it was looked at
    const void *found, *levels;   // what every look asks for, and the levels behind all stretches
    size_t size, levels_size;     // bytes
    struct kept_settled settled;  // to be saved, unless its size is 0
    const struct kept_stretch *stretches; // to be saved
    size_t stretch_count;
};

// The largest key of a link of the series; 0: it has none. Keys only grow: links are never removed.
int store_newest_link(int64_t *out, struct store *store, const struct series *series,
                      struct error *err);
// What every look asks for.
int store_load_kept_links(struct kept_links *out, struct store *store, const struct series *series,
                          struct arena *arena, struct error *err);
// The levels behind all stretches, and nothing else that was found.
int store_load_kept_levels(struct kept_links *out, struct store *store, const struct series *series,
                           struct arena *arena, struct error *err);
// What is settled; and the levels of all stretches, in their order.
int store_load_settled(struct kept_settled *out, struct store *store, const struct series *series,
                       struct arena *arena, struct error *err);
int store_load_stretches(struct kept_stretch **out, size_t *count, struct store *store,
                         const struct series *series, struct arena *arena, struct error *err);
// Replaces them, and adds the stretches, in one transaction. The series must be known to the store.
int store_save_kept_links(struct store *store, const struct series *series,
                          const struct kept_links *kept, struct error *err);

#endif
