// SPDX-License-Identifier: Apache-2.0
//
// What people decided of events, in the epochs file, beside what the tool says of them.
//
// A decision names its event. An accepted change of baseline names none: it accepts the level of
// its series at its commit, and so every event that began with that commit or before it, when it or
// others like it cover each series that the event made slower (of an event that made none slower:
// each series). A commit that the store does not know is placed by the day it was accepted on:
// behind the commits of earlier days. An event that is fixed or withdrawn stays so.
#ifndef PLUMB_EVENTS_DECIDED_H
#define PLUMB_EVENTS_DECIDED_H

#include "ci/history/events.h"

// Sets the entries and the state of an event: the entries that were kept (`stored` may be NULL),
// `now` if it says something new, and people's, in order of time. A person's word counts, and a
// decision more than an accepted baseline. All in the arena.
void events_decide(struct event *event, const struct stored_event *stored,
                   const struct event_entry *now, const struct history_set *set,
                   const struct timeline *timeline, struct arena *arena);

#endif
