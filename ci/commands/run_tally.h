// SPDX-License-Identifier: Apache-2.0
//
// What `plumb run` counts over all commits, and says of them at the end.
#ifndef PLUMB_RUN_TALLY_H
#define PLUMB_RUN_TALLY_H

#include "ci/commands/answer.h"
#include "ci/gate/pipeline.h"

// What came of all commits, beside their runs.
struct run_tally {
    struct answer *answer; // NULL: it is printed
    size_t known, left;    // commits
    size_t before;         // of them do not build, and are older than the policy
};

// Of a commit that was measured, or could not be built.
void run_tally_add(struct run_tally *tally, const struct measured *measured,
                   const struct context *context);
// Of the commits of one toolchain, how many were measured and are left.
void run_tally_say_left(struct run_tally *tally, size_t commits, size_t measured, size_t left);
// before: what tally->before was when they began.
void run_tally_say_before(const struct run_tally *tally, struct context *context, size_t before);

#endif
