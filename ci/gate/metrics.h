// SPDX-License-Identifier: Apache-2.0
//
// What a policy asks for beside time ([metric "NAME"], ci/settings/metric.h), of the two commits of
// a gate, or of one commit against its past. A metric has no pairs. What the compiler reports, and
// a file's size, are the same at every look; memory is what was seen while a series was measured.
// Building is timed by builds from nothing that are made for this alone, in turn, and counted in
// processor seconds: worse where every one of the head's took longer than every one of the base's,
// and their medians differ by more than the margin.
//
// Like a series it can be accepted: by an epoch whose problem is written "metric:NAME".
#ifndef PLUMB_METRICS_H
#define PLUMB_METRICS_H

#include "ci/gate/built.h"
#include "ci/gate/part.h"

// Makes run->metrics. `base` NULL: a plain run, of which the base is the newest value of the head's
// line of first parents that the store has; `to` says how builds are made, by enum sample_role.
// Metrics of builds alone are told by the first part of a gate.
int metrics_find(struct run *run, struct context *context, const struct built *base,
                 const struct built *head, const struct to_build *const to[2],
                 const struct work_part *part, struct error *err);
// Turns "slower" into "accepted" for each metric that an epoch of the change accepts.
void metrics_accept(struct run *run, const struct epoch_list *epochs);
// How many metrics have this kind of verdict; *first is the first of them, or NULL.
size_t metrics_of_kind(const struct metric_result **first, const struct run *run,
                       enum verdict_kind kind);
// The part of a metric's sentence before the brackets: which, and how much. In the arena.
const char *metric_short(const struct metric_result *metric, struct arena *arena);

#endif
