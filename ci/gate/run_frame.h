// SPDX-License-Identifier: Apache-2.0
//
// The two ends of a run; see run_frame.c.
#ifndef PLUMB_RUN_FRAME_H
#define PLUMB_RUN_FRAME_H

#include "ci/gate/built.h"
#include "ci/gate/joining.h"
#include "ci/gate/measuring.h"

// Fills what is known before anything is built. `base` may be NULL.
void run_begin(struct run *run, enum run_kind kind, const struct context *context,
               const struct commit *base, const struct commit *head);
// The store's id for this run: a new one, or that of the same run that was interrupted. A dry run
// has none.
int run_enter(struct run *run, struct context *context, struct error *err);
// Concludes the run and finishes it in the store, unless it is a dry one. `joined`: a gate's parts,
// and the caller has begun a batch of the store; NULL for a whole one.
int run_leave(struct run *run, struct context *context, const struct built *head,
              const struct joined *joined, struct error *err);
// A part of a gate has verdicts and no conclusion: what it says is that it was measured.
int run_leave_part(struct run *run, struct context *context, const struct part *part,
                   struct error *err);
// Says what the measuring cost.
void run_tell_cost(const struct run *run, const struct measuring *measuring, double wall_s);

#endif
