// SPDX-License-Identifier: Apache-2.0
//
// Measuring tasks with the bench child: one alone, the tasks of a plain run, and those of a gate
// with their baselines. A kernel that is wrong, hangs or crashes is data in its result; -1 is kept
// for a device that disappears or a disk that is full.
#ifndef PLUMB_MEASURING_H
#define PLUMB_MEASURING_H

#include "ci/gate/task_list.h"
#include "model/gate/gate.h"

// ---- records ----
//
// The file that the stopwatch opens for a task: the library, or where the policy says `trust =
// device-code` a record of its kernel, so that no host code of the commit runs beside the stopwatch
// or the other build. Records of one run lie in a folder of its own and are gone with it.

struct recording {
    struct context *context;
    char folder[64]; // of the records; "" before the first
    // A bench that runs the library's host code and times nothing: one for each side, which is
    // shown one library and no other.
    struct bench *bench[2];
    bool starting[2];                    // it has not answered yet
    const char *shown[2];                // its folder
    struct bench *ahead[2];              // those of the library that is next, which start meanwhile
    const char *ahead_shown[2];          // their folders
    const struct context_device *device; // they are on
    bool away;                           // or on none
};

// Whether the policy wants this task replayed from records.
bool recording_wanted(const struct task *task);

// Whether a measurement was not taken because its kernel cannot be recorded.
bool recording_refused(const struct measurement *measurement);

// The file to open for one side, in the arena; it is there once recording_make() has made it.
const char *recording_file(const struct recording *recording, const struct task *task,
                           enum sample_role role, struct arena *arena);

// *same: both sides of the task, which are timed from libraries or not at all, launch the same
// machine code alike; false where that cannot be told without a device.
int recording_same_away(bool *same, struct recording *recording, const struct task *task,
                        struct error *err);

// Ends the benches: nothing else may run while kernels are timed.
void recording_pause(struct recording *recording);

// One bench child at a time; alone, it is kept while tasks share a device.
struct measuring {
    struct context *context;
    const struct context_device *device;
    const char **directories;            // of the libraries and the records, shown in the sandbox
    size_t directory_count, shown_count; // with and without that of the records
    struct recording recording;
    const struct task *next; // whose recorders start while this task is at work; NULL: none do
    struct bench *bench;
    struct bench_handle handle;    // of the series that is open
    uint32_t processes;            // that measured side by side
    size_t checked;                // series that were launched once, for no run ever had been
    uint64_t seed;                 // drawn anew for each session, stored with what it measures
    double deadline_s;             // monotonic: no new block after it; 0 = none
    struct explaining *explaining; // is told of alarms; NULL: nobody is
};

// `builds` are all whose libraries are opened, each once or more often; those that did not build,
// and NULL, are passed over.
void measuring_begin(struct measuring *measuring, struct context *context,
                     const struct built *const *builds, size_t count);

void measuring_end(struct measuring *measuring);

// As measuring_end(), but the child ends only when the context's next child starts.
void measuring_leave(struct measuring *measuring);

// Ends the child, and a child that was left, so that the next task has a fresh one.
void measuring_fresh(struct measuring *measuring);

// Fills a task's measurement from its series' outcome: samples, state, seed and regime, in its
// run's arena.
void measuring_fill(struct measurement *out, struct measuring *measuring, const struct task *task,
                    const struct bench_outcome *outcome, const struct sample_list *samples);

// Makes the records of the sides that are timed from records; `sides` and *made are sums of 1 <<
// enum sample_role. Recorders of two sides start together. `tell`: a side that cannot be recorded
// says so, and why, in its part of the result.
int measuring_record(unsigned *made, struct measuring *measuring, const struct task *task,
                     unsigned sides, bool tell, struct error *err);

// One side alone: samples in result->base or ->head, as many as the policy says. `count`, if not 0:
// no more than so many, for a look; a recorder may wait beside it.
int measure_solo(struct measuring *measuring, const struct task *task, enum sample_role role,
                 uint32_t count, struct error *err);

// The gate's numbers for a task: the defaults for its device and size (gate_size_ns() of the base's
// samples, so that measuring and judging again agree), the policy's on top, and the scale
// from what earlier runs than the task's saw of this series: a run that has stored its pairs
// already must judge them as it did while measuring.
int measuring_policy(struct gate_policy *out, struct context *context, const struct task *task,
                     const struct sample *base, size_t count, struct error *err);

// ---- pace ----
//
// Estimates how long the rest of the work takes: a line through the series that this run has
// measured, from a series' size to its seconds. The line carries the cost of every series whatever
// its size (opening, checking, flushing caches), and the added cost of a long one.

struct pace {
    double count, size, size2, seconds, product; // sums
};

// A series of this size took so many seconds, or is expected to.
void pace_add(struct pace *pace, double size, double seconds);

// Seconds of a series of this size; NaN before anything is known.
double pace_expect(const struct pace *pace, double size);

// A task's size: seconds of one launch, as it was measured last, else from its operations at a
// usual rate. Only what sizes are to each other matters.
int pace_size(double *out, const struct task *task, struct context *context, struct error *err);

// ---- one commit alone, where a gate has pairs ----

// Fills the head's measurements of the tasks. What an interrupted run has measured is taken
// from it, and what the store knows of the same code too, but for what is wanted again.
int solo_measure(struct run *run, const struct task_list *tasks, struct measuring *measuring,
                 enum anew anew, struct error *err);

// ==== the pairs of a gate ====
//
// The measuring of a gate: each task's base and head side by side, all together, with a few builds
// against themselves among them. What needs no pairs (the same code, a new kernel, a resumed run's
// results) is done first. Every result is stored as soon as it is known.

// Verdicts of A/A series, policy.gate.self_test of them or as many as can be measured; in the run's
// arena.
struct gate_self {
    struct verdict *verdicts;
    size_t count;
};

// Fills the results of the tasks. A series chosen for the self test whose kernel turns out
// not to do its problem is replaced by another.
int gate_measure(struct gate_self *self, struct run *run, const struct task_list *tasks,
                 struct measuring *measuring, struct error *err);

// gate_measure() for the tasks of several comparisons, each of a run of its own, all side by side,
// without a self test.
int compare_measure(const struct task_list *lists, size_t count, struct measuring *measuring,
                    struct error *err);

// ---- self tests ----
//
// A self test plays pairs of a build with itself, among the gate's others and in their processes. A
// difference between the two is chance, or the machine's doing, so a run that tells such a pair
// apart is void.
//
// Compared series come first. A verdict hangs on them alone, they are timed here in the way that is
// to be tested (same device, same kernel, records or libraries), and whoever opens one again finds
// its record made, its libraries loaded and, for a plain problem, its reference computed. When they
// are not enough, other series on the same devices are taken, cheapest references first: that of
// 4096x4096x7168 with block scales takes longer than a whole gate of small series.

// Fills `order`, which has room for all tasks, with tasks that a self test may take, and returns
// their number. `compared` are the tasks that are to be measured as pairs now, in their order; the
// first `wanted` of `order` are spread over them.
size_t self_tests_order(struct task **order, const struct task_list *tasks,
                        struct task *const *compared, size_t compared_count, size_t wanted);

// The build that meets itself in the task's self test: the base, because it is known to work more
// often.
enum sample_role self_tests_role(const struct task *task);

#endif
