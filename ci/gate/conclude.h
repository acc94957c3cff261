// SPDX-License-Identifier: Apache-2.0
//
// How a run begins and ends, and what it says as a whole: the last line that is printed, the exit
// code, and the metrics beside the times.
#ifndef PLUMB_CONCLUDE_H
#define PLUMB_CONCLUDE_H

#include "ci/gate/built.h"
#include "ci/gate/measuring.h"
#include "ci/gate/part.h"
#include "ci/settings/policy.h"
#include "model/result.h"

// A headline has at most so many words; a longer one ends in "...".
enum { HEADLINE_WORDS = 15 };

// The beginning of a headline of a run in which no changed series was judged.
#define HEADLINE_UNJUDGED "NOTHING JUDGED"

// run->conclusion and run->headline (in the run's arena) from its verdicts and its self test:
// broken comes before void, void before slower, slower before undecided. Where nothing was judged,
// or nothing of what changed, that is no pass either. `away` is said behind the counts: which
// devices of the policy are not here, or "".
void conclude_run(struct run *run, const struct policy_gate *gate, const char *away);

// Concludes a run whose head does not build, and so has no series; `detail` is one line that says
// why. If the base does not build either, the headline names it: then this change is not to blame.
void conclude_unbuilt(struct run *run, const char *detail);

// Concludes a gate without some of its parts (`missing`: their numbers, as a text): undecided
// whatever the others say, unless they have found something broken.
void conclude_incomplete(struct run *run, const char *missing, uint32_t parts);

// Leaves out a series that its kernel cannot do while another kernel can: it is stored, so that
// nobody asks again, but not shown. Of a problem that no kernel does, one series stays as not
// measured. A series that the base could do is broken, and stays.
void drop_unsupported(struct run *run);

// ---- the two ends of a run ----

// Fills the members that are known before anything is built. `base` may be NULL.
void run_begin(struct run *run, enum run_kind kind, const struct context *context,
               const struct commit *base, const struct commit *head);

// The store's id for this run: a new one, or that of the same run that was interrupted. A dry run
// has none.
int run_enter(struct run *run, struct context *context, struct error *err);

// Concludes the run and finishes it in the store, unless it is a dry one. `joined`: a gate's parts,
// and the caller has begun a batch of the store; NULL for a whole one.
int run_leave(struct run *run, struct context *context, const struct built *head,
              const struct joined *joined, struct error *err);

// A part of a gate has verdicts and no conclusion: its headline says that it was measured.
int run_leave_part(struct run *run, struct context *context, const struct work_part *part,
                   struct error *err);

// ==== metrics ====
//
// What a policy asks for beside time ([metric "NAME"], ci/settings/metric.h), of the two commits of
// a gate, or of one commit against its past. A metric has no pairs. What the compiler reports, and
// a file's size, are the same at every look; memory is what was seen while a series was measured.
// Building is timed by builds from nothing that are made for this alone, in turn, and counted in
// processor seconds: worse where every one of the head's took longer than every one of the base's,
// and their medians differ by more than the margin.
//
// Like a series it can be accepted: by an epoch whose problem is written "metric:NAME".

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
