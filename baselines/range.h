// SPDX-License-Identifier: Apache-2.0
//
// What names, times and sizes from elsewhere may be: of imported files before they are saved, of a
// shard before it is merged. Nothing that this program writes lies outside.
#ifndef PLUMB_RANGE_H
#define PLUMB_RANGE_H

#include "baselines/statement.h"

bool range_is_time(int64_t time_s); // OLDEST_TIME_S to LATEST_TIME_S
// One line for people, not empty, of fewer than `size` bytes: UTF-8 without control characters.
bool range_is_name(const char *text, size_t size);

// Every value of the database `schema` ("main", or one that is attached) that is not as it must be
// is refused, the first of them by table, column and value.
int range_check(struct store *store, const char *schema, struct error *err);

#endif
