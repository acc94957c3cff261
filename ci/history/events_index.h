// SPDX-License-Identifier: Apache-2.0
//
// Which events touch a series: thousands of events are told apart without comparing each with each.
#ifndef PLUMB_EVENTS_INDEX_H
#define PLUMB_EVENTS_INDEX_H

#include "model/history/event.h"

struct event_touch {
    size_t event; // index in the list
    const struct event_change *change;
};
struct event_index {
    struct event_touch *touches; // by series, each series' by event
    size_t *begin;               // of each series, and behind the last
};
// In the arena. `series`: how many there are.
void event_index_make(struct event_index *out, const struct event_list *list, size_t series,
                      struct arena *arena);

#endif
