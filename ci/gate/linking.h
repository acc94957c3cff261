// SPDX-License-Identifier: Apache-2.0
//
// Links between a new code and earlier ones: which comparisons a plain run has to make for the
// history of its series, and what is kept of them. pipeline_link.c makes the comparisons. A link
// with the code before is made by the gate's rule; a link with a mark takes as many pairs as the
// levels need.
#ifndef PLUMB_LINKING_H
#define PLUMB_LINKING_H

#include "baselines/epoch.h"
#include "baselines/store.h"
#include "ci/gate/task_list.h"
#include "ci/settings/context.h"

// Series that are compared with one earlier commit. A series' code at the head came compared.back
// codes after its code at that commit.
struct linking_group {
    struct commit base;
    struct compared_series *series;
    size_t count;
};
struct linking {
    struct linking_group *groups;
    size_t count;
    bool within;
};

// Whether the times of a result are slower or faster than those of the previous code. Needs the
// history.
bool linking_alarms(const struct run *run, const struct result *r, const struct context *context);

// Plans the links of a run whose results have their history (judge_history). Looks along the first
// parents of its head for codes that were measured. A series is linked if its code differs from the
// last one, or if only times raised an alarm; an alarm is linked with the code it was compared
// with. No link is made twice between the same commits. The plan lives in the run's arena.
// `within`: newer commits will be linked, too, and all of them are judged together.
int linking_plan(struct linking *out, struct run *run, bool within, struct context *context,
                 struct error *err);
// Saves the results of a finished run as links. The run is a comparison of `what`, or a gate
// (`what` NULL). A result without pairs, or with the same code on both sides, gives no link. Nor
// does a build by a toolchain other than the default, because its codes are no steps of the
// history.
int linking_save(struct context *context, const struct run *run,
                 const struct commit_comparison *what, struct error *err);

// ==== what a line of first parents has ====
//
// The past of a commit is decided by its first parents and by codes, never by dates or by the order
// of measuring. The line of a commit is the chain of its first parents. A code may have been
// measured anywhere; on the line it belongs to the commits whose build has it. So a measurement
// made on a branch counts for the commit that brings its code by a merge, a squash or a rebase. A
// code that no commit of the line has belongs to another history.

struct line_past {
    struct stored_points points; // of the line before the head, oldest first; newest_code is the
                                 // previous code: that of the nearest commit whose code has a time
    bool returned;               // the line had the head's code before, and another one since
};

// Writes the past of a result of the run, at most `limit` points, into the run's arena. Each
// point carries the commit on the line for which it counts. Dates give the order in two cases:
// for a series none of whose commits the repository knows (it was imported), and beyond the edge
// of a shallow clone.
int line_past(struct line_past *out, struct run *run, const struct result *r,
              const struct series *series, size_t limit, struct context *context,
              struct error *err);

// Whether a commit is on the line of the run's head, before the head.
bool line_has(const struct run *run, const char *commit, struct context *context);

// ==== accepted changes ====
//
// Changes that are intended. An epoch (baselines/epoch.h) that comes with a change says how much
// slower the change may make a kernel on a problem and a device, or that the kernel may go. Whoever
// reviews the change reviews the epoch. Wrong results are never accepted.

// Reads the epochs that came with the change into the arena. The policy's gate.accept says which
// they are. With `head` they are the epochs of the head's file that the base's file does not have.
// With `base` somebody has accepted the change beforehand: they are the epochs of the base's file
// that name, by its whole id, a commit that the head has and the base has not. A missing file has
// no epochs. -1: a file cannot be read or understood; this is reported before anything is measured.
int accepting_read(struct epoch_list *out, const struct context *context, const struct commit *base,
                   const struct commit *head, struct arena *arena, struct error *err);

// Turns verdicts of the run into "accepted". This concerns three kinds of series: a slower one
// whose interval does not lie above the epoch's size by more than the floor, half the margin; an
// undecided one whose upper end does not; and a kernel that is gone, if an epoch or gate.removed =
// allow says that it may go.
void accepting_apply(struct run *run, const struct epoch_list *epochs,
                     const struct policy_gate *gate);

// Turns the verdict of one series of a plain run into "accepted" if an epoch that came after `base`
// covers it. The series is slower than `base`, by their link or by times alone. If the repository
// no longer has `base`, no epoch counts.
void accepting_slower(struct run *run, struct result *r, const struct commit *base,
                      const struct context *context);

#endif
