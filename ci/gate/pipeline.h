// SPDX-License-Identifier: Apache-2.0
//
// The one way data flows; see pipeline.c.
#ifndef PLUMB_PIPELINE_H
#define PLUMB_PIPELINE_H

#include "ci/gate/part.h"
#include "ci/gate/task_list.h"

// Measures base and head side by side, or a part of their series. Fills `run`, also when kernels
// are broken; saves it unless it is a dry run. Needs context_policy, _store, _builder and _devices.
// The caller run_free()s `run`.
int pipeline_gate(struct run *run, struct context *context, const struct to_build *base,
                  const struct to_build *head, const struct work_part *part, struct error *err);

// The gate whose parts, by these toolchains (by enum sample_role; NULL: the default), are in the
// store at `path`: nothing is built or measured, and all series are
// judged together. Needs context_policy and _store. A part that is missing leaves it undecided.
int pipeline_join(struct run *run, struct context *context, const struct commit *base,
                  const struct commit *head, const char *const toolchains[2], const char *path,
                  struct error *err);

// Measures pairs of commits, some of their series side by side, as a step of a bisection or as
// links. Each comparison is a saved run of its own, with its results in the order of its series,
// and its verdicts are kept as links; all are played in the same processes. A head that cannot be
// measured is data. The caller run_free()s all `runs`, also when this fails.
int pipeline_compare(struct run *runs, struct context *context,
                     const struct commit_comparison *what, size_t count, struct error *err);

// A commit that is measured alone. Its judgement takes three steps, so that many commits can be
// linked together: until pipeline_judge() its run is not finished, and goes on when interrupted.
struct measured {
    struct run run; // the caller run_free()s
    struct built built;
    struct task_list tasks;
    bool *compared; // of a dry run, by result: known, and to be compared with earlier codes
};
int pipeline_measure(struct measured *out, struct context *context, const struct to_build *head,
                     enum anew anew, struct error *err);
// Measures the new codes of all these commits, oldest first, side by side with earlier codes
// (linking.h). Links made before an interruption are not measured again.
int pipeline_link(struct measured *list, size_t count, struct context *context, struct error *err);
// Finds links that pipeline_link() measures once more. They are links with marks among the compared
// series, in doubt, and the only ones between their two codes. *count may be 0. In the arena.
int linking_doubts(struct commit_comparison **out, size_t *count,
                   const struct commit_comparison *what, size_t what_count, struct context *context,
                   struct arena *arena, struct error *err);
// Judges each series against its history and finishes the run; of a commit that does not build
// pipeline_measure() has finished it.
int pipeline_judge(struct measured *measured, struct context *context, struct error *err);

#endif
