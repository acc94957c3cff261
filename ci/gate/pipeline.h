// SPDX-License-Identifier: Apache-2.0
//
// The pipeline: the one direction in which data flows; see pipeline.c.
#ifndef PLUMB_PIPELINE_H
#define PLUMB_PIPELINE_H

#include "ci/gate/part.h"
#include "ci/gate/task_list.h"

// Measures base and head side by side, or a part of their series. Fills `run`, also when kernels
// are broken, and saves it unless it is a dry run. Needs context_policy, _store, _builder and
// _devices. The caller calls run_free().
int pipeline_gate(struct run *run, struct context *context, const struct to_build *base,
                  const struct to_build *head, const struct work_part *part, struct error *err);

// Judges a gate whose parts are in the store at `path`, all series together; nothing is built or
// measured. The parts were built by these toolchains (indexed by enum sample_role; NULL: the
// default). Needs context_policy and _store. If a part is missing, the gate is undecided.
int pipeline_join(struct run *run, struct context *context, const struct commit *base,
                  const struct commit *head, const char *const toolchains[2], const char *path,
                  struct error *err);

// Measures pairs of commits side by side, with some of their series, as a step of a bisection or as
// links. Each comparison is saved as a run of its own, with results in the order of its series. Its
// verdicts are kept as links. All comparisons share the same processes. A head that cannot be
// measured is a result, too. The caller calls run_free() for all `runs`, also when this fails.
int pipeline_compare(struct run *runs, struct context *context,
                     const struct commit_comparison *what, size_t count, struct error *err);

// A commit that is measured alone. It is judged in three steps, so that many commits can be linked
// together. Its run is not finished before pipeline_judge(), so an interrupted one is continued.
struct measured {
    struct run run; // the caller calls run_free()
    struct built built;
    struct task_list tasks;
    bool *compared; // for a dry run, one per result: the code is known, and is to be compared with
                    // earlier codes
};
int pipeline_measure(struct measured *out, struct context *context, const struct to_build *head,
                     enum anew anew, struct error *err);
// Measures the new codes of all these commits, oldest first, side by side with earlier codes
// (linking.h). Links made before an interruption are not measured again.
int pipeline_link(struct measured *list, size_t count, struct context *context, struct error *err);
// Finds links that pipeline_link() measures once more. These are links with marks, among the
// compared series, that are in doubt and are the only links between their two codes. *count may be
// 0. In the arena.
int linking_doubts(struct commit_comparison **out, size_t *count,
                   const struct commit_comparison *what, size_t what_count, struct context *context,
                   struct arena *arena, struct error *err);
// Judges each series against its history and finishes the run. If the commit does not build,
// pipeline_measure() has finished the run already.
int pipeline_judge(struct measured *measured, struct context *context, struct error *err);

#endif
