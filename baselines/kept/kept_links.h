// SPDX-License-Identifier: Apache-2.0
//
// What the links of a series said when they were looked at last. The store knows how far that went,
// not what it says.
#ifndef PLUMB_KEPT_LINKS_H
#define PLUMB_KEPT_LINKS_H

#include "baselines/link.h"
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

// ---- links judged a second time ----

// How far the stream of all links was gone through, and what was found in it. The store knows no
// more of it.
enum { KEPT_TESTS_MAKER = 33 };

struct kept_test {
    int64_t link;        // key
    double log_evidence; // with that of earlier links of the same two codes
    bool discovered;
};
struct kept_tests {
    char maker[KEPT_TESTS_MAKER];     // "": there are none
    int64_t newest_link, newest_code; // none beyond them was looked at
    int64_t made_s, series;           // the last test's place in the stream, with its uid
    char uid[STORE_UID_TEXT];
    uint64_t tests, found;
    struct kept_test *items; // those that say more than their link
    size_t count;
};
int store_load_kept_tests(struct kept_tests *out, struct store *store, struct arena *arena,
                          struct error *err);
// Keeps how far it went, and the items from `first` on beside those that are there; first 0:
// instead of them.
int store_save_kept_tests(struct store *store, const struct kept_tests *tests, size_t first,
                          struct error *err);

#endif
