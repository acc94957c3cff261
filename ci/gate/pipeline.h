// SPDX-License-Identifier: Apache-2.0
//
// The one way data flows; see pipeline.c.
#ifndef PLUMB_PIPELINE_H
#define PLUMB_PIPELINE_H

#include "ci/gate/known.h"
#include "ci/gate/part.h"

// Base and head side by side, or a part of their series. Fills `run`, also when kernels are broken;
// saves it unless it is a dry run. Needs context_policy, _store, _builder and _devices. The caller
// run_free()s `run`.
int pipeline_gate(struct run *run, struct context *context, const struct to_build *base,
                  const struct to_build *head, const struct work_part *part, struct error *err);

// The gate whose parts, by these toolchains (by enum sample_role; NULL: the default), are in the
// store at `path`: nothing is built or measured, and all series are
// judged together. Needs context_policy and _store. A part that is missing leaves it undecided.
int pipeline_join(struct run *run, struct context *context, const struct commit *base,
                  const struct commit *head, const char *const toolchains[2], const char *path,
                  struct error *err);

// Pairs of commits, some of their series side by side, as a step of a bisection or as links. Each
// comparison is a run of its own, saved, with its results in the order of its series, and what it
// says is kept as links; all are played in the same processes. A head that cannot be measured is
// data. The caller run_free()s all `runs`, also when this fails.
int pipeline_compare(struct run *runs, struct context *context,
                     const struct commit_comparison *what, size_t count, struct error *err);

// A commit that is measured alone. What it says is said in three steps, so that many commits can be
// linked together: until pipeline_judge() its run is not finished, and goes on when interrupted.
struct measured {
    struct run run; // the caller run_free()s
    struct built built;
    struct task_list tasks;
    bool *compared; // of a dry run, by result: known, and to be compared with earlier codes
};
int pipeline_measure(struct measured *out, struct context *context, const struct to_build *head,
                     enum anew anew, struct error *err);
// The new codes of all these, oldest first, side by side with those before them (linking.h). What
// was linked before an interruption is not measured again.
int pipeline_link(struct measured *list, size_t count, struct context *context, struct error *err);
// Of what was compared and kept as links, those with marks that are doubtful and stand alone
// between their two codes. *count may be 0. In the arena. pipeline_link() asks it.
int linking_doubts(struct commit_comparison **out, size_t *count,
                   const struct commit_comparison *what, size_t what_count, struct context *context,
                   struct arena *arena, struct error *err);
// Against the history of each series; finishes the run, unless that is done: of a commit that does
// not build pipeline_measure() does it.
int pipeline_judge(struct measured *measured, struct context *context, struct error *err);

#endif
