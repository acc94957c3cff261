// SPDX-License-Identifier: Apache-2.0
//
// How a run begins and ends, and its result as a whole: the last line that is printed, the exit
// code, and the metrics beside the times.
#ifndef PLUMB_CONCLUDE_H
#define PLUMB_CONCLUDE_H

#include "ci/gate/built.h"
#include "ci/gate/measuring.h"
#include "ci/gate/part.h"
#include "ci/settings/policy.h"
#include "model/result.h"

// The most words that a headline may have; a longer one is cut and ends in "...".
enum { HEADLINE_WORDS = 15 };

// The beginning of the headline of a run that judged no changed series.
#define HEADLINE_UNJUDGED "NOTHING JUDGED"

// Sets run->conclusion and run->headline (in the run's arena) from its verdicts and its self test.
// Broken comes before void, void before slower, slower before undecided. A run that judged nothing,
// or nothing of what changed, does not pass. `away` is printed after the counts; it says which
// devices of the policy are missing, or is "".
void conclude_run(struct run *run, const struct policy_gate *gate, const char *away);

// Concludes a run whose head does not build, and which therefore has no series. `detail` is one
// line that says why. If the base does not build either, the headline says that, because then the
// change is not to blame. recaptured: the context's, or NULL; it is told then, too.
void conclude_unbuilt(struct run *run, const char *recaptured, const char *detail);

// Concludes a gate some of whose parts are missing (`missing` is the list of their numbers). It is
// undecided, unless the other parts found something broken.
void conclude_incomplete(struct run *run, const char *missing, uint32_t parts);

// Leaves out a series whose kernel does not support the problem while another kernel does. Such a
// series is stored, so that nobody asks again, but not shown. Of a problem that no kernel supports,
// one series stays and counts as not measured. A series that the base supported is broken and
// stays.
void drop_unsupported(struct run *run);

// ---- the two ends of a run ----

// Fills in the members of the run that are known before anything is built. `base` may be NULL.
void run_begin(struct run *run, enum run_kind kind, const struct context *context,
               const struct commit *base, const struct commit *head);

// Gives the run its id in the store: a new one, or the id of the same run if that was interrupted.
// A dry run gets none.
int run_enter(struct run *run, struct context *context, struct error *err);

// Concludes the run and finishes it in the store, unless it is a dry run. `joined` is given when a
// gate is joined from its parts, inside a batch that the caller has begun; NULL otherwise.
int run_leave(struct run *run, struct context *context, const struct built *head,
              const struct joined *joined, struct error *err);

// Ends a part of a gate. It has verdicts and no conclusion; its headline says that it was measured.
int run_leave_part(struct run *run, struct context *context, const struct work_part *part,
                   struct error *err);

// ==== metrics ====
//
// The figures that a policy asks for beside time ([metric "NAME"], ci/settings/metric.h). A gate
// compares them between its two commits, a plain run compares them with the past. A metric is
// compared without pairs. The compiler's figures and a file's size are the same each time; memory
// is what a series used while it was measured. Building is timed by extra builds from nothing, of
// base and head in turn, in processor seconds. It is worse if two conditions hold: each of the
// head's builds took longer than each of the base's, and the medians differ by more than the
// margin.
//
// A metric can be accepted like a series, by an epoch whose problem is written "metric:NAME".

// Fills run->metrics. With `base` NULL it is a plain run, and the base of each metric is the newest
// value that the store has on the head's line of first parents. `to` says how builds are made, by
// enum sample_role. In a gate with parts, only the first part has the metrics of builds.
int metrics_find(struct run *run, struct context *context, const struct built *base,
                 const struct built *head, const struct to_build *const to[2],
                 const struct work_part *part, struct error *err);
// Turns "slower" into "accepted" for each metric that one of the change's epochs accepts.
void metrics_accept(struct run *run, const struct epoch_list *epochs);
// How many metrics have a verdict of this kind; *first is the first of them, or NULL.
size_t metrics_of_kind(const struct metric_result **first, const struct run *run,
                       enum verdict_kind kind);
// The part of a metric's sentence before the brackets: its name and the size of its change. In the
// arena.
const char *metric_short(const struct metric_result *metric, struct arena *arena);

#endif
