// SPDX-License-Identifier: Apache-2.0
//
// Open events in words.
#include "reports/run/open_events.h"

#include <string.h>

bool open_event_fails(const struct report_event *e)
{
    return e->state == EVENT_CONFIRMED && e->log_ratio > 0 &&
           (e->cause == ATTRIBUTION_KERNEL || e->cause == ATTRIBUTION_NONE);
}

void open_events_title(struct buffer *out, const struct report_events *events)
{
    size_t fail = 0;
    for (size_t i = 0; i < events->count; i++)
        fail += open_event_fails(&events->items[i]);
    if (!events->count) {
        buffer_puts(out, "No event is open");
        return;
    }
    buffer_printf(out, "%zu %s open", events->count,
                  plural(events->count, "event is", "events are"));
    if (fail)
        buffer_printf(out, ", %zu of them slower by a kernel's change", fail);
}

void open_event_cause(struct buffer *out, const struct report_event *e)
{
    buffer_puts(out,
                attribution_name(e->cause == ATTRIBUTION_NONE ? ATTRIBUTION_KERNEL : e->cause));
    if (e->what && !strstr(e->sentence, e->what))
        buffer_printf(out, ": %s", e->what);
}

void open_event_text(struct buffer *out, const struct report_event *e)
{
    buffer_printf(out, "%s: %s; ", event_state_name(e->state), e->sentence);
    if (e->commit.id[0] && e->commits > 1)
        buffer_printf(out, "since one of %zu commits, most likely %.10s %s; ", e->commits,
                      e->commit.id, e->commit.summary);
    else if (e->commit.id[0])
        buffer_printf(out, "since %.10s %s; ", e->commit.id, e->commit.summary);
    buffer_puts(out, "cause ");
    open_event_cause(out, e);
}
