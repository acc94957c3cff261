// SPDX-License-Identifier: Apache-2.0
//
// Links judged a second time, over the whole history of a store: among thousands of them some are
// alarms by chance (model/history/discovery.h).
#ifndef PLUMB_LINK_TESTS_H
#define PLUMB_LINK_TESTS_H

#include "baselines/link.h"

struct link_test {
    struct link_evidence link;
    size_t order;        // in which it was measured
    double log_evidence; // of it and of all links of the same two codes before it
    bool discovered;
};
struct link_tests {
    struct link_test *items; // by series, then run
    size_t count, discovered;
};
// Every link of neighbouring codes; in the arena.
int link_tests_read(struct link_tests *out, struct store *store, struct arena *arena,
                    struct error *err);
// NULL: there is no such link.
const struct link_test *link_tests_find(const struct link_tests *tests, int64_t series,
                                        const char *run);

#endif
