// SPDX-License-Identifier: Apache-2.0
//
// The searches that histories ask for: events of several commits are bisected, and links that do
// not fit are measured again, all within the policy's budget.
#ifndef PLUMB_BISECT_EVENTS_H
#define PLUMB_BISECT_EVENTS_H

#include "ci/settings/context.h"

// Prints a line for each, with the commit or why there is none, and the same becomes an entry of
// the event. *out is 2 while an event's commit is not known, for whatever reason. Opens all that it
// needs in the context.
int bisect_events(enum conclusion *out, struct context *context, const struct options *options,
                  double confidence, struct error *err);

#endif
