// SPDX-License-Identifier: Apache-2.0
//
// The mixes of a policy, from the results of a run: in a gate that has just ended, and in a stored
// one that is reported again.
#ifndef PLUMB_MIXES_H
#define PLUMB_MIXES_H

#include "ci/settings/policy.h"

// Makes run->mixes: each mix by each kernel that it is asked of, and that does all of its problems
// (one named without a wildcard is told of either way). A run that compares nothing has none.
void mixes_find(struct run *run, const struct policy *policy);
// The same by the policy that the run was made with; one that cannot be read any more gives none.
void mixes_restore(struct run *run);
// "mix decode +0.21 % (0.10 to 0.33 %), " for the verdict's line, in run->arena; or "".
const char *mixes_text(struct run *run);
// The first that is slower beyond its margin, or NULL.
const struct mix_result *mixes_slower(const struct run *run);

#endif
