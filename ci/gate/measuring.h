// SPDX-License-Identifier: Apache-2.0
//
// Measuring a task with the bench child, alone; side_by_side.h measures many with their
// baselines. A kernel that is wrong, hangs or crashes is data in its result; -1 is kept for a
// device that disappears or a disk that is full.
#ifndef PLUMB_MEASURING_H
#define PLUMB_MEASURING_H

#include "ci/gate/recording.h"
#include "ci/gate/task_list.h"
#include "model/gate/gate.h"

// One bench child at a time; alone, it is kept while tasks share a device.
struct measuring {
    struct context *context;
    const struct context_device *device;
    const char **directories; // of the libraries and the records, shown in the sandbox
    size_t directory_count;
    struct recording recording;
    struct bench *bench;
    struct bench_handle handle; // of the series that is open
    uint32_t processes;         // that measured side by side
    uint64_t seed;              // drawn anew for each session, stored with what it measures
    double deadline_s;          // monotonic: no new block after it; 0 = none
};

// `builds` are all whose libraries are opened, each once or more often; those that did not build,
// and NULL, are passed over.
void measuring_begin(struct measuring *measuring, struct context *context,
                     const struct built *const *builds, size_t count);
void measuring_end(struct measuring *measuring);
// The same, but its child ends only when the context's next one starts.
void measuring_leave(struct measuring *measuring);
// Ends the child, and one that was left, so that the next task has a fresh one.
void measuring_fresh(struct measuring *measuring);
// A task's measurement from what its series came to: samples, state, seed and regime, in its run's
// arena.
void measuring_fill(struct measurement *out, struct measuring *measuring, const struct task *task,
                    const struct bench_outcome *outcome, const struct sample_list *samples);

// Makes what one side is timed from where that is a record; see ci/gate/recording.h.
int measuring_record(bool *made, struct measuring *measuring, const struct task *task,
                     enum sample_role role, struct measurement *instead, struct error *err);
// One side alone: policy->samples samples in result->base or ->head.
int measure_solo(struct measuring *measuring, const struct task *task, enum sample_role role,
                 struct error *err);

// The gate's numbers for a task: the defaults for its device and size (gate_size_ns() of the base's
// samples, so that measuring and judging again agree), the policy's on top, and the scale
// from what earlier runs than the task's saw of this series: a run that has stored its pairs
// already must judge them as it did while measuring.
int measuring_policy(struct gate_policy *out, struct context *context, const struct task *task,
                     const struct sample *base, size_t count, struct error *err);

#endif
