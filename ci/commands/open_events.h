// SPDX-License-Identifier: Apache-2.0
//
// The events of a store that nobody settled yet, for the reports of a run.
#ifndef PLUMB_OPEN_EVENTS_H
#define PLUMB_OPEN_EVENTS_H

#include "ci/settings/context.h"
#include "reports/report.h"

// Those that are new or confirmed, newest first, by the context's store and the repository's epochs
// file. What was judged for it is kept if `keeps`: the store is open for writing then. In the
// context's arena.
int open_events_read(struct report_events *out, struct context *context, bool keeps,
                     struct error *err);

#endif
