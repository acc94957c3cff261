// SPDX-License-Identifier: Apache-2.0
//
// Sites for the tests: kernels, problems and devices with histories that have steps, creep, epochs
// and gaps. Deterministic; the points of a series are made when they are asked for.
#ifndef PLUMB_TESTS_HELPER_SITE_H
#define PLUMB_TESTS_HELPER_SITE_H

#include "reports/site/site.h"

struct helper_site {
    struct site site;
    size_t commits, runs;
    bool hostile;
    size_t loads;   // how often `load` was called
    size_t fail_at; // the load that fails, counted from 1; 0 = none
    struct arena arena;
};

// `series` series over `commits` commits. The caller frees with helper_site_free(). The site's
// context points to `out`, so it must not move.
void helper_site(struct helper_site *out, size_t series, size_t commits, bool hostile);
// The same with so many runs (0: 30).
void helper_site_of(struct helper_site *out, size_t series, size_t commits, size_t runs,
                    bool hostile);
void helper_site_free(struct helper_site *site);
// Of the commit with this index.
void helper_site_commit_id(char out[OBJECT_ID_TEXT], size_t index);

#endif
