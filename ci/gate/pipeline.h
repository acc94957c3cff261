// SPDX-License-Identifier: Apache-2.0
//
// The one way data flows; see pipeline.c.
#ifndef PLUMB_PIPELINE_H
#define PLUMB_PIPELINE_H

#include "ci/gate/part.h"

// Base and head side by side, or a part of their series. Fills `run`, also when kernels are broken;
// saves it unless it is a dry run. Needs context_policy, _store, _builder and _devices. The caller
// run_free()s `run`.
int pipeline_gate(struct run *run, struct context *context, const struct to_build *base,
                  const struct to_build *head, const struct part *part, struct error *err);

// The gate whose parts, by these toolchains (by enum sample_role; NULL: the default), are in the
// store at `path`: nothing is built or measured, and all series are
// judged together. Needs context_policy and _store. A part that is missing leaves it undecided.
int pipeline_join(struct run *run, struct context *context, const struct commit *base,
                  const struct commit *head, const char *const toolchains[2], const char *path,
                  struct error *err);

// One commit alone, against the history of each series; a new code is linked with those before it
// (linking.h). `again`: measure even what is known.
int pipeline_measure(struct run *run, struct context *context, const struct to_build *head,
                     bool again, struct error *err);

// Series of two commits side by side, as a step of a bisection or as links: the results, in the
// order of the series, saved as a run of its own. A head that cannot be measured is data.
int pipeline_compare(struct run *run, struct context *context, const struct comparison *what,
                     struct error *err);

// Links the new codes of a plain run, whose results are there, with those before them. Each
// comparison is a run of its own; what was linked before an interruption is not measured again.
int pipeline_link(struct run *run, struct context *context, const struct built *head,
                  struct error *err);

#endif
