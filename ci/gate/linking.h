// SPDX-License-Identifier: Apache-2.0
//
// Links of a new code with those before it: which comparisons a plain run owes the history of its
// series, and what is kept of them. pipeline_link.c compares, by the gate's rule.
#ifndef PLUMB_LINKING_H
#define PLUMB_LINKING_H

#include "ci/gate/built.h"

// Series to be compared with one earlier commit: the head's code came `back` codes after its code.
struct linking_group {
    struct commit base;
    uint32_t back;  // codes; 1: the one before
    size_t *series; // results of the run
    size_t count;
};
struct linking {
    struct linking_group *groups;
    size_t count;
};

// Looks along the first parents of the run's head for codes that were measured. Only series whose
// code is another than the last one's are linked, and none twice between the same commits. Lives in
// the run's arena.
int linking_plan(struct linking *out, struct run *run, struct context *context, struct error *err);
// Keeps what a comparison that ended says as links, `back` codes apart (0: of a gate or a
// bisection). What has no pairs, or one code, gives none; nor does what a toolchain other than the
// default has built, whose codes are no steps of the history.
int linking_save(struct context *context, const struct run *compared, uint32_t back,
                 struct error *err);

#endif
