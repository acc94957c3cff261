// SPDX-License-Identifier: Apache-2.0
//
// Links of a new code with those before it: which comparisons a plain run owes the history of its
// series, and what is kept of them. pipeline_link.c has them made: those with the code before by
// the gate's rule, those with marks as far as levels need it (pipeline_link.c).
#ifndef PLUMB_LINKING_H
#define PLUMB_LINKING_H

#include "baselines/epoch.h"
#include "baselines/store.h"
#include "ci/gate/task_list.h"
#include "ci/settings/context.h"

// Series to be compared with one earlier commit; the head's code came compared.back codes after the
// one there.
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

// Whether new codes are linked with earlier ones: history is made of links, not of times alone.
bool linking_links(const struct context_device *device, const struct context *context);

// Whether a change that only absolute times show is no verdict, but a reason to measure a link.
// This holds for the series of a host, unless the policy says whether codes are linked.
bool linking_confirms(const struct run *run, const struct result *r, const struct context *context);
// Whether times call a result slower or faster than the other code before. Needs the history.
bool linking_alarms(const struct run *run, const struct result *r, const struct context *context);

// Plans the links of a run whose results have their history (judge_history). Looks along the first
// parents of its head for codes that were measured. Links only series whose code is another than
// the last one's, none twice between the same commits, and alarms of times alone, with the code
// they were held against. Lives in the run's arena. `within`: newer commits are to be linked, too,
// and the whole is judged by them.
int linking_plan(struct linking *out, struct run *run, bool within, struct context *context,
                 struct error *err);
// Keeps the results of a run that ended as links: of a comparison of `what`, or of a gate (NULL). A
// result without pairs, or with one code, gives none; nor does a build of a toolchain other than
// the default, whose codes are no steps of the history.
int linking_save(struct context *context, const struct run *run,
                 const struct commit_comparison *what, struct error *err);

// ==== what a line of first parents has ====
//
// What came before a commit is decided by its first parents and by codes, never by dates or by when
// something was measured. The line of a commit is its first parents. A code was measured where it
// was measured; on the line it is at the commits whose build has it. So what a branch measured
// counts for the commit that brings its code by a merge, a squash or a rebase, and what no commit
// of the line has is of another history.

struct line_past {
    struct stored_points points; // of the line before the head, oldest first; newest_code is the
                                 // code before: of the nearest commit that has one with a time
    bool returned;               // the head's code was on the line before, and another is since
};

// The past of a result of the run, at most `limit` points of it. Points carry the commit of the
// line that they count for. In the run's arena. A series of which the repository knows no commit is
// an import's: its order is that of dates. Beyond the edge of a shallow clone dates count, too.
int line_past(struct line_past *out, struct run *run, const struct result *r,
              const struct series *series, size_t limit, struct context *context,
              struct error *err);

// Whether a commit is on the line before the run's head.
bool line_has(const struct run *run, const char *commit, struct context *context);

// ==== accepted changes ====
//
// Changes that are meant: an epoch (baselines/epoch.h) that comes with a change says for a kernel,
// a problem and a device how much slower the change may make it, or that the kernel may go. Whoever
// reviews the change reviews the epoch. Wrong results are never accepted.

// The epochs that came with the change, in the arena. By the policy's gate.accept: those of the
// head's file that the base's does not have (head), or those of the base's file that name by its
// whole id a commit which the head has and the base has not (base: somebody has accepted it
// beforehand). A file that is not there has none; -1 where it cannot be read or understood, which
// is said before anything is measured.
int accepting_read(struct epoch_list *out, const struct context *context, const struct commit *base,
                   const struct commit *head, struct arena *arena, struct error *err);

// Turns verdicts of the run into "accepted": slower, where the interval does not lie above the
// epoch's size by more than the floor, half the margin; undecided, where even its upper end does
// not; and a kernel that is gone, by an epoch or by gate.removed = allow.
void accepting_apply(struct run *run, const struct epoch_list *epochs,
                     const struct policy_gate *gate);

// Turns the verdict of one series of a plain run into "accepted" by the epochs that came after
// `base`. The series is slower than `base`, by their link or by times alone. No epoch came after it
// where the repository no longer has that commit.
void accepting_slower(struct run *run, struct result *r, const struct commit *base,
                      const struct context *context);

#endif
