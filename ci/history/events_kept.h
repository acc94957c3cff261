// SPDX-License-Identifier: Apache-2.0
//
// What was reported of events before, what people decided of them, and so the state of each.
#ifndef PLUMB_EVENTS_KEPT_H
#define PLUMB_EVENTS_KEPT_H

#include "ci/history/events.h"

// Gives names, entries and states to the events as they are found, newest first, and adds those
// that were reported and are found no more, as withdrawn. What is new of all that is kept when
// asked->now_s is not 0; a store that takes nothing is complained of on standard error.
int events_remember(struct events *events, const struct history_set *set, struct store *store,
                    const struct events_asked *asked, struct arena *arena, struct error *err);

#endif
