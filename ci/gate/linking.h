// SPDX-License-Identifier: Apache-2.0
//
// Links of a new code with those before it: which comparisons a plain run owes the history of its
// series, and what is kept of them. pipeline_link.c has them made: those with the code before by
// the gate's rule, those with marks as far as levels need it (pipeline_link.c).
#ifndef PLUMB_LINKING_H
#define PLUMB_LINKING_H

#include "baselines/link.h"
#include "ci/gate/task_list.h"

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

// New codes are linked with those before: its history is made of links, and not of times alone.
bool linking_links(const struct context_device *device, const struct context *context);

// Whether a change that only absolute times show counts no more than as a reason to measure a link:
// so it is on a host, unless the policy says whether codes are linked.
bool linking_confirms(const struct run *run, const struct result *r, const struct context *context);
// Such a change: the times say slower or faster than the other code before. Needs the history.
bool linking_alarms(const struct run *run, const struct result *r, const struct context *context);

// Needs the history of each result (judge_history). Looks along the first parents of the run's head
// for codes that were measured. Only series whose code is another than the last one's are linked,
// and none twice between the same commits. Lives in the run's arena. So are alarms of times alone,
// with the code they were held against. `within`: there are newer commits to link, by which the
// whole is judged.
int linking_plan(struct linking *out, struct run *run, bool within, struct context *context,
                 struct error *err);
// Keeps what a run says that ended as links: of a comparison of `what`, or of a gate (NULL). What
// has no pairs, or one code, gives none; nor does what a toolchain other than the default has
// built, whose codes are no steps of the history.
int linking_save(struct context *context, const struct run *run,
                 const struct commit_comparison *what, struct error *err);

#endif
