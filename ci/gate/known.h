// SPDX-License-Identifier: Apache-2.0
//
// Tells whether a commit still needs a run, or the store knows enough of it; and which series are
// measured all the same.
#ifndef PLUMB_KNOWN_H
#define PLUMB_KNOWN_H

#include "ci/gate/built.h"

// True when pipeline_measure() would find nothing to do for this commit and toolchain (NULL: the
// default); with `any_driver`, when it had been so under one of the drivers that the device has
// had.
int run_known(bool *known, struct context *context, const struct to_build *head, bool any_driver,
              struct error *err);

// The same of the newest commit of those that are asked for. A tree that is known may be an earlier
// commit's, of which this one is the revert, or of a branch that was written anew: history has to
// be told that it is there now, so this is false until a plain run of this very commit has ended.
// And of a selection (--kernel, --problem) that leaves nothing of it the run has to say so.
int run_known_newest(bool *known, struct context *context, const struct to_build *head,
                     bool any_driver, struct error *err);

// Says which series are measured again although the store knows them: none, the controls alone
// (they show what the machine did where nothing is new), or all.
enum anew { ANEW_NOTHING, ANEW_CONTROLS, ANEW_ALL };
// Whether this result of the run is measured again. A device for which the policy names fewer than
// CONTROLS_FEWEST controls has all of its series as controls.
bool anew_wanted(enum anew anew, const struct run *run, const struct result *result);

#endif
