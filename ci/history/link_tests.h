// SPDX-License-Identifier: Apache-2.0
//
// Links judged a second time, over the whole history of a store: among thousands of them some are
// alarms by chance (model/history/discovery.h).
#ifndef PLUMB_LINK_TESTS_H
#define PLUMB_LINK_TESTS_H

#include "baselines/kept_links.h"

struct link_tests {
    struct kept_test *items; // by link; a link that is none of them is as it says
    size_t count;
    uint64_t tests, discovered; // of all
};
// All links of neighbouring codes; in the arena. `keeps`: what is found is kept in the store, and
// only links that came since are gone through. One that belongs before what was gone through, as
// from another machine's store, makes it begin anew.
int link_tests_read(struct link_tests *out, struct store *store, bool keeps, struct arena *arena,
                    struct error *err);
// NULL: it says no more than its link, and was not discovered.
const struct kept_test *link_tests_find(const struct link_tests *tests, int64_t link);

#endif
