// SPDX-License-Identifier: Apache-2.0
//
// How far the stream of all links was gone through, and what was found in it. The store knows no
// more of it.
#ifndef PLUMB_KEPT_TESTS_H
#define PLUMB_KEPT_TESTS_H

#include "baselines/link.h"

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
