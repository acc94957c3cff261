// SPDX-License-Identifier: Apache-2.0
//
// One look at the links of a series: from the first, or on from what is settled.
#ifndef PLUMB_LINKS_FOUND_H
#define PLUMB_LINKS_FOUND_H

#include "ci/history/links_settled.h"

struct links_found {
    struct linked_history history;
    struct settled_links settled; // with what this look settled
    struct linked_part *parts;    // the stretches that it settled, and all the rest as the last
    size_t part_count;            // 0: there are no levels
};
// `from`: what was settled, or NULL to begin with the first link. *holds: it could go on from
// there; else nothing is found. All but what the history needs may stand in `scratch`.
int links_find(struct links_found *out, bool *holds, const struct settled_links *from,
               struct store *store, const struct commit_places *places, const struct series *series,
               const char *accepted, struct arena *arena, struct arena *scratch, struct error *err);
// All parts of a history as one. -1: some code is in none of them, or in two, or a mark is none.
int links_join(struct linked_levels *out, const struct linked_history *history,
               const struct linked_part *parts, size_t count, struct arena *arena);

#endif
