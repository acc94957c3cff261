// SPDX-License-Identifier: Apache-2.0
//
// Changes that are meant: an epoch (baselines/epoch.h) that comes with a change says for a kernel,
// a problem and a device how much slower the change may make it, or that the kernel may go. Whoever
// reviews the change reviews the epoch. Wrong results are never accepted.
#ifndef PLUMB_ACCEPTING_H
#define PLUMB_ACCEPTING_H

#include "baselines/epoch.h"
#include "ci/settings/context.h"

// The epochs file as it stands in a commit; a commit without one has none. In the arena.
int accepting_epochs(struct epoch_list *out, const struct context *context, const char *commit,
                     struct arena *arena, struct error *err);

// The epochs that came with the change, in the arena. By the policy's gate.accept: those of the
// head's file that the base's does not have (head), or those of the base's file that name by its
// whole id a commit which the head has and the base has not (base: somebody has accepted it
// beforehand). A file that is not there has none; -1 where it cannot be read or understood, which
// is said before anything is measured.
int accepting_read(struct epoch_list *out, const struct context *context, const struct commit *base,
                   const struct commit *head, struct arena *arena, struct error *err);

// Turns verdicts of the run into "accepted": slower, where the interval does not lie above the
// epoch's size by more than the floor, half the margin; undecided, where even its upper end does
// not; and a kernel that is gone, by an epoch or by gate.removed = allow.
void accepting_apply(struct run *run, const struct epoch_list *epochs,
                     const struct policy_gate *gate);

// The same of one series of a plain run, which is slower than `base` by their link: by the epochs
// that came since. None did where the repository has that commit no more.
void accepting_link(struct run *run, struct result *r, const struct commit *base,
                    const struct context *context);

#endif
