// SPDX-License-Identifier: Apache-2.0
//
// Events for people and programs, on standard output.
#ifndef PLUMB_EVENTS_PRINT_H
#define PLUMB_EVENTS_PRINT_H

#include "ci/history/events.h"

// One line each; those in `state` only (EVENT_STATES: all).
void events_print_table(const struct events *events, const struct history_set *set,
                        enum event_state state);
void events_print_json(const struct events *events, const struct history_set *set,
                       enum event_state state);
// A row for each series of an event: its likeliest commit, and how many it may have been.
void events_print_csv(const struct events *events, const struct history_set *set,
                      enum event_state state);
// All that is known of one.
void events_print_one(const struct event *event, const struct history_set *set);

#endif
