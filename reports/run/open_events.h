// SPDX-License-Identifier: Apache-2.0
//
// The words for events that are open, the same in every report.
#ifndef PLUMB_REPORTS_OPEN_EVENTS_H
#define PLUMB_REPORTS_OPEN_EVENTS_H

#include "reports/report.h"

// Whether it is what people are to be told of: a kernel's, slower, and confirmed.
bool open_event_fails(const struct report_event *event);
// "2 events are open, 1 of them a kernel that is slower".
void open_events_title(struct buffer *out, const struct report_events *events);
// "kernel", or whose it was; and what it was, where the event's sentence does not say so.
void open_event_cause(struct buffer *out, const struct report_event *event);
// All of it in one line.
void open_event_text(struct buffer *out, const struct report_event *event);

#endif
