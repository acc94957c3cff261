// SPDX-License-Identifier: Apache-2.0
//
// Measures tasks with the bench child: one alone, the tasks of a plain run, and those of a gate
// with their baselines. A kernel that is wrong, hangs or crashes is a result; -1 means that a
// device disappeared or a disk is full.
#ifndef PLUMB_MEASURING_H
#define PLUMB_MEASURING_H

#include "ci/gate/task_list.h"
#include "model/gate/gate.h"

// ---- records ----
//
// The file that the stopwatch opens for a task. It is the library, or a record of its kernel where
// the policy says `trust = device-code`; then no host code of the commit runs beside the stopwatch
// or the other build. The records of one run lie in a folder of their own, which is removed at the
// end.

struct recording {
    struct context *context;
    char folder[64]; // where the records lie; "" before the first
    // For each side, a bench that runs the library's host code and times nothing. It sees only that
    // one library.
    struct bench *bench[2];
    bool starting[2];                    // the bench has not answered yet
    const char *shown[2];                // the folder that each bench sees
    struct bench *ahead[2];              // the benches for the next library, which start meanwhile
    const char *ahead_shown[2];          // the folders that these see
    const struct context_device *device; // the device that these benches use
    bool away;                           // they use no device
};

// Whether the policy asks for this task to be replayed from records.
bool recording_wanted(const struct task *task);

// Whether a measurement is missing because its kernel cannot be recorded.
bool recording_refused(const struct measurement *measurement);

// The file to open for one side, in the arena. recording_make() makes it.
const char *recording_file(const struct recording *recording, const struct task *task,
                           enum sample_role role, struct arena *arena);

// *same: both sides of the task launch the same machine code in the same way. Both are timed from
// libraries, or not at all. *same is false where that cannot be told without a device.
int recording_same_away(bool *same, struct recording *recording, const struct task *task,
                        struct error *err);

// Ends the recorders' benches, because nothing else may run while kernels are timed.
void recording_pause(struct recording *recording);

// One bench child at a time; alone, it is kept while tasks share a device.
struct measuring {
    struct context *context;
    const struct context_device *device;
    const char **directories;            // the folders of the libraries and the records, which the
                                         // sandbox shows
    size_t directory_count, shown_count; // number of folders with and without that of the records
    struct recording recording;
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

// Ends the child, also one that was left, so that the next task gets a fresh one.
void measuring_fresh(struct measuring *measuring);

// Fills in a task's measurement from the outcome of its series: samples, state, seed and regime.
// They live in the arena of the task's run.
void measuring_fill(struct measurement *out, struct measuring *measuring, const struct task *task,
                    const struct bench_outcome *outcome, const struct sample_list *samples);

// Makes the records of the sides that are timed from records. `sides` and *made are sums of 1 <<
// enum sample_role. The recorders of two sides start together. `tell`: if a side cannot be
// recorded, its measurement says so and why.
int measuring_record(unsigned *made, struct measuring *measuring, const struct task *task,
                     unsigned sides, bool tell, struct error *err);

// Measures one side alone. The samples go to result->base or ->head, as many as the policy asks
// for. `count`, if not 0, limits them, for a look; a recorder may then wait beside it.
int measure_solo(struct measuring *measuring, const struct task *task, enum sample_role role,
                 uint32_t count, struct error *err);

// The gate's numbers for a task. They are the defaults for its device and size, with the policy's
// numbers on top. The size is gate_size_ns() of the base's samples, so that measuring and judging
// again agree. The scale comes from earlier runs of this series only: a run that has stored its
// pairs already must judge them as it did while measuring.
int measuring_policy(struct gate_policy *out, struct context *context, const struct task *task,
                     const struct sample *base, size_t count, struct error *err);

// ---- pace ----
//
// Estimates how long the rest of the work takes: a line through the series that this run has
// measured, from a series' size to its seconds. The line carries the cost of every series whatever
// its size (opening, checking, flushing caches), and the added cost of a long one.

struct pace {
    double count, size, size2, seconds, product; // number of points, and sums over them
};

// Adds a point: a series of this size took, or is expected to take, so many seconds.
void pace_add(struct pace *pace, double size, double seconds);

// The expected seconds of a series of this size; NaN before anything is known.
double pace_expect(const struct pace *pace, double size);

// A task's size: the seconds of one launch as last measured, or else an estimate from its number of
// operations at a usual rate. Only the ratios between sizes matter.
int pace_size(double *out, const struct task *task, struct context *context, struct error *err);

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

// ---- self tests ----
//
// A self test plays pairs of a build with itself, among the gate's other pairs and in the same
// processes. A difference between the two can only be chance or the machine's doing, so a run that
// finds one is void.
//
// Series that the gate compares are taken first, because verdicts depend on them alone. They are
// timed here in the way that is to be tested (same device, same kernel, records or libraries).
// Opening them again is cheap: the record is made, the libraries are loaded and, for a plain
// problem, the reference is computed. When they are not enough, other series on the same devices
// are taken, those with cheap references first: the reference of 4096x4096x7168 with block scales
// takes longer than a whole gate of small series.

// Fills `order`, which has room for all tasks, with the tasks that a self test may take, and
// returns their number. `compared` are the tasks that are now to be measured as pairs, in their
// order. The first `wanted` entries of `order` are spread over them.
size_t self_tests_order(struct task **order, const struct task_list *tasks,
                        struct task *const *compared, size_t compared_count, size_t wanted);

// The build that meets itself in the task's self test. It is the base where possible, because the
// base is known to work more often.
enum sample_role self_tests_role(const struct task *task);

#endif
