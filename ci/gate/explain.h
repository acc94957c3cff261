// SPDX-License-Identifier: Apache-2.0
//
// What changed between base and head, for people: the sentence of an alarm says the likeliest
// reason, the explanation lists the facts. Nothing here decides a verdict.
#ifndef PLUMB_CI_EXPLAIN_H
#define PLUMB_CI_EXPLAIN_H

#include "ci/gate/code_facts.h"
#include "ci/gate/task_list.h"

// For each slower or faster result: appends the reason to verdict.sentence and sets
// verdict.explanation. A library that cannot be read is said, not an error.
void explain_alarms(struct run *run, const struct task_list *tasks, const struct context *context,
                    const struct built *base, const struct built *head);

// The lines about code, traits and occupancy, each ended by '\n'; *why is the one clause that says
// most ("it now spills 48 bytes ..."), or "" when nothing a compiler reports has changed.
const char *explain_code(const char **why, const struct code_facts *base,
                         const struct code_facts *head, const struct task *task,
                         struct arena *arena);

#endif
