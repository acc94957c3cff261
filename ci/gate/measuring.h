// SPDX-License-Identifier: Apache-2.0
//
// Measuring the tasks of a plan with the bench child: alone (a plain run) or all side by side with
// their baselines (a gate; ci/gate/duets.h says how). A kernel that is wrong, hangs or crashes is
// data in its result; -1 is kept for a device that disappears or a disk that is full.
#ifndef PLUMB_MEASURING_H
#define PLUMB_MEASURING_H

#include "ci/gate/plan.h"
#include "ci/gate/recording.h"
#include "model/gate/gate.h"

// One bench child at a time; alone, it is kept while tasks share a station.
struct measuring {
    struct context *context;
    const struct station *station;
    const char *directories[3]; // of the libraries and the records, shown in the sandbox
    size_t directory_count;
    struct recording recording;
    struct bench *bench;
    struct bench_handle handle; // of the series that is open
    uint32_t processes;         // that measured side by side
    double deadline_s;          // monotonic: no new block after it; 0 = none
};

void measuring_begin(struct measuring *measuring, struct context *context, const struct built *base,
                     const struct built *head);
void measuring_end(struct measuring *measuring);

// Makes what one side is timed from where that is a record; see ci/gate/recording.h.
int measuring_record(bool *made, struct measuring *measuring, const struct task *task,
                     enum sample_role role, struct measurement *instead, struct arena *arena,
                     struct error *err);
// One side alone: policy->samples samples in result->base or ->head.
int measure_solo(struct measuring *measuring, const struct task *task, enum sample_role role,
                 struct arena *arena, struct error *err);

// What a gate measures side by side, until each series decides, its alarm is confirmed or refuted
// in fresh processes, or the time is spent.
struct gate_work {
    const struct task *const *tasks; // base against head
    size_t count;
    const struct task *const *self; // the head as its own baseline: a difference that cannot be
    size_t self_count;
    struct verdict *verdicts; // of those, made here; pairs is 0 where none could be measured
    struct arena *arena;      // of the results
    int64_t run_id;
    void *context;
    // Told of each task as soon as its result->base and head are filled; not told of one that had
    // no time: its two measurements are not taken. Its verdict is made by judge_gate().
    int (*done)(void *context, const struct task *task, struct error *err);
};
int measure_gate(struct measuring *measuring, const struct gate_work *work, struct error *err);

// The gate's numbers for a task: the defaults for its device and size (gate_size_ns() of the base's
// samples, so that measuring and judging again agree), the policy's on top, and the scale
// from what earlier runs than `run_id` saw of this series: a run that has stored its pairs already
// must judge them as it did while measuring.
int measuring_policy(struct gate_policy *out, struct context *context, int64_t run_id,
                     const struct task *task, const struct sample *base, size_t count,
                     struct arena *arena, struct error *err);

#endif
