// SPDX-License-Identifier: Apache-2.0
//
// Measures tasks with the bench child: one alone, the tasks of a plain run, and those of a gate
// with their baselines. A kernel that is wrong, hangs or crashes is a result; -1 means that a
// device disappeared or a disk is full.
#ifndef PLUMB_MEASURING_H
#define PLUMB_MEASURING_H

#include "ci/gate/task_list.h"
#include "model/gate/gate.h"

// Whether a measurement is missing because its kernel cannot be recorded.
bool recording_refused(const struct measurement *measurement);

// One bench child at a time; alone, it is kept while tasks share a device.
struct measuring {
    struct context *context;
    const struct context_device *device;
    const char **directories;            // the folders of the libraries and the records, which the
                                         // sandbox shows
    size_t directory_count, shown_count; // number of folders with and without that of the records
    struct recording *recording;         // the records of this run
    const struct task *next; // the task whose recorders start while the present one is at work;
                             // NULL: none
    struct bench *bench;
    struct bench_handle handle;    // the series that is open
    uint32_t processes;            // number of processes that measured pairs
    size_t checked;                // number of series that were launched once because no run had
                                   // ever launched them
    uint64_t seed;                 // drawn anew for each session, and stored with its measurements
    double deadline_s;             // no block begins after it; monotonic; 0: none
    struct explaining *explaining; // is told of alarms; may be NULL
};

// `builds` are all builds whose libraries may be opened; a build may be listed twice. A build that
// failed is skipped, and so is NULL.
void measuring_begin(struct measuring *measuring, struct context *context,
                     const struct built *const *builds, size_t count);

void measuring_end(struct measuring *measuring);

// Does what measuring_end() does, but the child ends only when the context's next child starts.
void measuring_leave(struct measuring *measuring);

// ---- one commit alone, without pairs ----

// Fills in the head's measurements of the tasks. They are taken from an interrupted run if it has
// them, or from the store if that knows the same code, except for series that are to be measured
// again.
int solo_measure(struct run *run, const struct task_list *tasks, struct measuring *measuring,
                 enum anew anew, struct error *err);

// ==== the pairs of a gate ====
//
// The measuring of a gate. The base and the head of each task are played side by side, all tasks
// together, with a few builds against themselves among them. Series that need no pairs (the same
// code, a new kernel, the results of a resumed run) are done first. Every result is stored as soon
// as it is known.

// The verdicts of the A/A series, in the run's arena. Their number is policy.gate.self_test, or
// smaller if fewer can be measured.
struct gate_self {
    struct verdict *verdicts;
    size_t count;
};

// Fills in the results of the tasks. If a series was chosen for the self test and its kernel turns
// out not to support the problem, another series replaces it.
int gate_measure(struct gate_self *self, struct run *run, const struct task_list *tasks,
                 struct measuring *measuring, struct error *err);

// Does the same for the tasks of several comparisons side by side. Each comparison is a run of its
// own and has no self test.
int compare_measure(const struct task_list *lists, size_t count, struct measuring *measuring,
                    struct error *err);

#endif
