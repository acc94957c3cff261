// SPDX-License-Identifier: Apache-2.0
//
// One side of a series: a library's kernel, loaded and prepared, in this process or in one of its
// own, or a record of one that is replayed. The series owns the buffers and decides when to launch.
#ifndef PLUMB_ARM_H
#define PLUMB_ARM_H

#include "kernels/bench/arm_page.h"
#include "kernels/bench/buffers.h"
#include "kernels/bench/module.h"
#include "kernels/bench/series.h"
#include "kernels/device/device.h"
#include "kernels/device/host.h"
#include "kernels/device/record.h"

#include <stdint.h>
#include <sys/types.h>
#include <time.h>

// ==== instances of a record ====
//
// Instances of a record: its device code loaded several times, and which of them a turn runs drawn.
//
// Identical builds on the same buffers differ by where their code lies: 0.03 to 0.13 % on an H200,
// the same in every process that loads in the same order. No number of pairs averages that away
// while each side is loaded once. With INSTANCES of each side, at places that are drawn, it becomes
// scatter between pairs, which the gate judges like all other noise. What is left is that of one
// instance by the root of their number: 0.034 of 0.135 % with 16 (baselines/recorded/h100/places).

enum { INSTANCES = 16, INSTANCES_LATER = 32, INSTANCES_MOST = 64 };

struct instances {
    const struct device_ops *ops;
    struct device_base *device;
    const struct record *record; // borrowed
    struct record_places *where; // of each buffer set
    uint32_t sets;
    struct replay *loaded[INSTANCES_MOST];
    uint32_t count, now; // loaded; the one that is launched
};

// One instance, its addresses bound for each of the sets. `where` is taken over, also on failure.
// The caller closes, also after a failure.
int instances_open(struct instances *out, const struct device_ops *ops, struct device_base *device,
                   const struct record *record, struct record_places *where, uint32_t sets,
                   struct error *err);
void instances_close(struct instances *instances); // a zeroed one does nothing
// Loads `each` instances (INSTANCES_MOST at most) of each of `count` sides (two at most), one of
// each in turn, behind gaps and in an order that `key` draws, and lets each run once, so that
// nothing of a load waits for a sample. more: those that are there stay, and count.
int instances_draw(struct instances *const *sides, uint32_t count, uint32_t each, uint64_t key,
                   bool more, struct error *err);
// Chooses the copy that runs until the next choice. Each side has copies of its own.
void instances_choose(struct instances *side, uint64_t key);
// Queues one launch. Returns 0 or the driver's code.
int instances_launch(struct instances *side, uint32_t set);
// The same of one of the record's launches alone.
int instances_launch_one(struct instances *side, uint32_t set, size_t launch);

// ==== arm ====

enum { ARM_NOTE = 256 };

struct arm {
    bool used;
    const struct device_ops *ops;
    struct device_base *device;
    struct module module;
    struct plumb_form_kernel kernel; // of a library; traits alone are read without one
    struct arm_record *record;       // NULL: a library
    struct arm_process *process;     // of a library that is not in this one; then `kernel` has only
                                     // the traits' threads, and `module` nothing
    size_t workspace_bytes;          // that it wants
    bool states;                     // a library, of a problem that is no GEMM
    struct plumb_buffers stated;     // what it states then
    bool copied;                     // the other side is the same file
    const struct buffers *buffers;   // where launches go, since arm_prepare()
    struct arm_elsewhere {
        const void *of; // NULL: to the buffers
        uint32_t (*sets)(const void *of);
        struct record_places (*places)(const void *of, uint32_t set);
    } elsewhere;         // of a captured record: where they go instead
    const char *path;    // of its file; borrowed while it is opened
    char note[ARM_NOTE]; // what prepare() wrote, "" if it wrote nothing
};
#define ARM_NONE ((struct arm){.module = MODULE_NONE})

// The series cannot be timed; `state` says why. Returns 1, so that a step can stop the others.
int series_refuse(struct series_state *state, enum sample_role role, enum measurement_state why,
                  const char *format, ...) PRINTF_LIKE(4, 5);

// The contents of the record that the arm is.
const struct record *arm_record(const struct arm *arm);

// Loads the library or the record of `role` (a library as a private copy when `copy`) and finds the
// kernel for the problem on this device. Returns 0, or 1 when `state` says why not. The caller
// releases it either way. -1: there can be no process for it.
int arm_load(struct arm *arm, enum sample_role role, bool copy, const struct series_spec *spec,
             const struct device_ops *ops, struct device_base *device, struct series_state *state,
             struct error *err);
void arm_release(struct arm *arm);
// Bytes of workspace that the kernel wants; 0 for an arm that is not used.
size_t arm_workspace_bytes(const struct arm *arm, const struct plumb_form *form);
// The output that the kernel's own reference gives for the inputs of a set, one number for each
// element of the output. -1: it cannot say. With `apart` a library of this process says it in a
// process of its own: *apart is 0 there, where the numbers are, and here the process, or -1 where
// there is none.
int arm_reference(double *out, struct arm *arm, const struct buffers *buffers, uint32_t set,
                  pid_t *apart, struct error *err);
// Lets the kernel prepare itself for the buffers, held to `pin` when that is not NULL. Returns 0, 1
// when `state` says why it cannot, or -1 (error).
int arm_prepare(struct arm *arm, enum sample_role role, const char *pin,
                const struct buffers *buffers, struct series_state *state, struct error *err);
// To be called when the buffers have more sets than before. 0 or -1.
int arm_grow(struct arm *arm, struct error *err);
// Of a record, since arm_prepare(); NULL: a library, which is loaded once.
struct instances *arm_instances(struct arm *arm);
// Queues one launch on a buffer set; `arm` is a struct arm. Returns 0, or the code of launch() or
// of the driver. The signature is struct batch's.
int arm_launch(void *arm, uint32_t set, void *stream);
// Queues one of a record's launches alone, and waits for none.
int arm_launch_one(struct arm *arm, uint32_t set, size_t launch);
// Kernels and memsets that a launch queues: a record says it; a library is taken for one.
uint32_t arm_kernels(const struct arm *arm);
// The time of an empty turn, ns; 0 without a process.
double arm_baton_ns(const struct arm *arm);
// Whether its process, if it has one, stood still between its turns; else nothing is said.
struct arm_rest arm_rest(const struct arm *arm);
// struct batch's run(), for an arm with a process; NULL for others.
int (*arm_run(const struct arm *arm))(void *self, uint32_t first, uint32_t sets, uint32_t launches,
                                      double *time_ns);

// ==== a library in a process of its own ====
//
// A host library in a process of its own, which has its own user and process namespace where the
// system lets it, can make no other process and touch none (arm_worker.c), and runs only while
// it has the baton: between its turns it is stopped. It sees inputs read-only and outputs
// (kernels/device/host.h), and of the builds that are compared its own; clock, order, seeds and
// references are bench's alone. A stop can be ended by signals, so it is frozen besides, where
// bench has a control group for that, and bench looks whether it worked meanwhile.
//
// When the process dies, bench dies the same way, so that its parent sees what happened to the
// kernel and not a message about it.

// The references that libraries give for known inputs (exact.c) are kept in the folder that this
// variable of the environment names, for other processes of one gate; none: it is not. No library
// sees that folder.
#define REFERENCES_FOLDER "PLUMB_REFERENCES"

struct arm_process;

// What the process did between its turns, when it should stand still.
struct arm_rest {
    uint32_t turns, strays; // turns so far, and before how many of them, or since, it worked
    double longest_ns;      // that it worked then
};

// The most memory that it had of its own, without what it shares with bench; 0: not known.
double arm_process_memory_bytes(const struct arm_process *process);

// The other end: `bench keep`, started by arm_process_start(). Returns an exit code.
int arm_worker_main(int page, int inputs, int outputs);

// ==== what a turn took ====
//
// What a turn of a library's process took, without what it and bench waited for a processor that
// others had. Such waits are no part of a kernel, and the scheduler deals them out unevenly: for
// seconds one of two equal builds waits in every turn and the other in none, which their pairs
// cannot tell from a change.
//
// Linux counts both waits (/proc/PID/schedstat). A library cannot hide work in them: its turn never
// takes less than the processor time of all its threads, up to where it is stopped.

struct turn_clock {
    int waits[2]; // files of bench and of the process; -1: the system has none
    clockid_t work;
};
struct turn_mark {
    double waited_ns, worked_ns;
};

// A clock without files says that nobody waits. -1: the system does not say what processes work.
int turn_clock_open(struct turn_clock *out, pid_t process);
void turn_clock_close(struct turn_clock *clock);
struct turn_mark turn_mark_now(const struct turn_clock *clock);
// Processor time of all threads of the process, of those that ended too.
double turn_worked_ns(const struct turn_clock *clock);
// The time of a turn between two marks that took `took_ns`, `empty_ns` of it for the passing of the
// baton. Waits of less than a hundredth of the turn are left in. At least 1 ns for each of its
// `launches`: an empty turn can be slower than this one, and no sample is of a negative time.
double turn_time_ns(double took_ns, double empty_ns, uint32_t launches,
                    const struct turn_mark *begin, const struct turn_mark *end);

#endif
