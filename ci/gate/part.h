// SPDX-License-Identifier: Apache-2.0
//
// Which share of the work one task of many does, where several machines measure one gate, study or
// range (ci/fleet, a CI matrix). A share follows from its number alone, so that a task that runs
// again does the same.
#ifndef PLUMB_PART_H
#define PLUMB_PART_H

#include "ci/gate/task_list.h"

struct part {
    uint32_t number, count; // 1 to count; count 0: all of the work
};

// "3/8". -1: it is no such thing, or there are more than 100,000.
int part_parse(struct part *out, const char *text);

// Whether item `at` (0-based) of a list is this part's. Neighbours go to different parts, and every
// round begins with another one, so that the largest problem of each kernel does not always meet
// the same part.
bool part_has(const struct part *part, size_t at);
// This part's stretch of `count` items in a row, from *first to before *end; it may be empty.
void part_stretch(size_t *first, size_t *end, const struct part *part, size_t count);

// Leaves this part's tasks in the list and their results in the run, what is compared and what is
// not shared out each for itself. The run notes the part and a stamp of all tasks with their
// code ids: parts of one gate have the same stamp. A whole is left as it is.
void part_take(struct task_list *tasks, struct run *run, const struct part *part);

// What a run that is a part notes of itself; false: it is none.
struct part_note {
    struct part part;
    uint64_t stamp;
};
bool part_note_read(struct part_note *out, const struct run *run);
// Notes it behind the run's policy.
void part_note_write(struct run *run, const struct part_note *note);
// The policy and the other notes of a run that is a part, in `arena`.
const char *part_policy(const struct run *run, struct arena *arena);

#endif
