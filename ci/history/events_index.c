// SPDX-License-Identifier: Apache-2.0
//
// Events by the series that they touch: counted, then put in place.
#include "ci/history/events_index.h"

#include <stdlib.h>

void event_index_make(struct event_index *out, const struct event_list *list, size_t series,
                      struct arena *arena)
{
    size_t *begin = arena_alloc(arena, (series + 2) * sizeof(*begin));
    size_t total = 0;
    for (size_t i = 0; i < list->count; i++) {
        total += list->events[i].count;
        for (size_t k = 0; k < list->events[i].count; k++)
            begin[list->events[i].changes[k].series + 2]++;
    }
    for (size_t s = 2; s < series + 2; s++)
        begin[s] += begin[s - 1];
    struct event_touch *touches = arena_alloc(arena, (total + 1) * sizeof(*touches));
    for (size_t i = 0; i < list->count; i++) {
        for (size_t k = 0; k < list->events[i].count; k++) {
            const struct event_change *c = &list->events[i].changes[k];
            touches[begin[c->series + 1]++] = (struct event_touch){i, c};
        }
    }
    *out = (struct event_index){touches, begin};
}
