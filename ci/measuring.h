// SPDX-License-Identifier: Apache-2.0
//
// Measuring the tasks of a plan with the bench child: alone (a plain run) or side by side with the
// baseline (a gate). A kernel that is wrong, hangs or crashes is data in its result; -1 is kept for
// a device that disappears or a disk that is full.
#ifndef PLUMB_MEASURING_H
#define PLUMB_MEASURING_H

#include "ci/plan.h"
#include "model/gate.h"

// The bench children in use; one at a time, kept while tasks share a station.
struct measuring {
    struct context *context;
    const struct station *station;
    const char *directories[2]; // of the libraries, shown in the sandbox
    size_t directory_count;
    struct bench *bench;
    struct bench_handle handle; // of the series that is open
    uint16_t process;
    double deadline_s; // monotonic: no new block after it; 0 = none
};

void measuring_begin(struct measuring *measuring, struct context *context, const struct built *base,
                     const struct built *head);
void measuring_end(struct measuring *measuring);

// Head alone: policy->samples samples in result->head.
int measure_solo(struct measuring *measuring, const struct task *task, struct arena *arena,
                 struct error *err);

// Base and head side by side, block by block, until the gate's series decides, an alarm is
// confirmed or refuted in fresh processes, or the budget is spent. Fills result->base and
// result->head; the verdict is made from them by gate_judge().
int measure_duet(struct measuring *measuring, const struct task *task, struct arena *arena,
                 struct error *err);

// The same with the head as its own baseline: a verdict about a difference that cannot be.
// out->pairs is 0 when the series could not be measured.
int measure_self(struct verdict *out, struct measuring *measuring, const struct task *task,
                 struct arena *arena, struct error *err);

// The gate's numbers for a task: the defaults for its device and size (by the first block of the
// base's samples, so that measuring and judging again agree), the policy's on top, and the scale
// from the store's history of this series.
int measuring_policy(struct gate_policy *out, struct context *context, const struct task *task,
                     const struct sample *base, size_t count, struct arena *arena,
                     struct error *err);

#endif
