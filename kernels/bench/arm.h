// SPDX-License-Identifier: Apache-2.0
//
// One side of a series. It is a kernel of a library, loaded and prepared in this process or in one
// of its own, or a record that is replayed. The series owns the buffers and decides when to launch.
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
// The device code of a record is loaded several times, and each turn runs one of these instances,
// drawn at random.
//
// Identical builds on the same buffers differ by where their code lies: by 0.03 to 0.13 % on
// an H200, the same in every process that loads in the same order. If each side is loaded
// once, no number of pairs averages that away. With INSTANCES of each side, at random places,
// it becomes scatter between pairs, which the gate judges like any other noise. What remains
// is the difference of one instance divided by the root of their number: 0.034 of 0.135 %
// with 16 (baselines/recorded/h100/places).

enum { INSTANCES = 16, INSTANCES_LATER = 32, INSTANCES_MOST = 64 };

struct instances {
    const struct device_ops *ops;
    struct device_base *device;
    const struct record *record; // borrowed
    struct record_places *where; // for each buffer set
    uint32_t sets;
    struct replay *loaded[INSTANCES_MOST];
    uint32_t count, now; // number of loaded instances, and the one that is launched
};

// Opens a record's instances with one loaded; its addresses are bound for each of the sets. `where`
// is taken over, also on failure. The caller closes, also after a failure.
int instances_open(struct instances *out, const struct device_ops *ops, struct device_base *device,
                   const struct record *record, struct record_places *where, uint32_t sets,
                   struct error *err);
void instances_close(struct instances *instances); // a zeroed struct is allowed
// Loads `each` instances (at most INSTANCES_MOST) of each of `count` sides (at most two). The sides
// take turns, with gaps between and in an order that `key` draws. Each instance runs once, so that
// no sample waits for a load. `more`: the instances that exist stay, and count.
int instances_draw(struct instances *const *sides, uint32_t count, uint32_t each, uint64_t key,
                   bool more, struct error *err);
// Chooses the instance that runs until the next choice. Each side has instances of its own.
void instances_choose(struct instances *side, uint64_t key);
// Queues one launch. Returns 0 or the driver's code.
int instances_launch(struct instances *side, uint32_t set);
// Queues only one of the record's launches.
int instances_launch_one(struct instances *side, uint32_t set, size_t launch);

// ==== arm ====

enum { ARM_NOTE = 256 };

struct arm {
    bool used;
    const struct device_ops *ops;
    struct device_base *device;
    struct module module;
    struct plumb_form_kernel kernel; // if it is a library; without a device only its
                                     // traits are read
    struct arm_record *record;       // NULL: a library
    struct arm_process *process;     // of a library in another process; then `kernel` has only the
                                     // traits' threads, and `module` nothing
    size_t workspace_bytes;          // bytes of workspace that the kernel asks for
    bool states;                     // it is a library, and the problem is no GEMM
    struct plumb_buffers stated;     // what the library then states
    bool copied;                     // both sides are the same file, so this one is a private copy
    const struct buffers *buffers;   // the buffers that launches use, set by arm_prepare()
    struct arm_elsewhere {
        const void *of; // NULL: launches use `buffers`
        uint32_t (*sets)(const void *of);
        struct record_places (*places)(const void *of, uint32_t set);
    } elsewhere;         // for a captured record: the memory that launches use instead
    const char *path;    // the file's path; borrowed while it is opened
    char note[ARM_NOTE]; // what prepare() wrote, "" if nothing
};
#define ARM_NONE ((struct arm){.module = MODULE_NONE})

// Notes in `state` why the series cannot be timed. Returns 1, which tells the steps to stop.
int series_refuse(struct series_state *state, enum sample_role role, enum measurement_state why,
                  const char *format, ...) PRINTF_LIKE(4, 5);

// The record that the arm replays.
const struct record *arm_record(const struct arm *arm);

// Loads the library or the record of `role` (a library as a private copy if `copy`) and finds the
// kernel for the problem on this device. Returns 0, or 1 when `state` says why that is not
// possible. The caller releases it in both cases. -1: no process for it could be started.
int arm_load(struct arm *arm, enum sample_role role, bool copy, const struct series_spec *spec,
             const struct device_ops *ops, struct device_base *device, struct series_state *state,
             struct error *err);
void arm_release(struct arm *arm);
// The bytes of workspace that the kernel asks for; 0 for an arm that is not used.
size_t arm_workspace_bytes(const struct arm *arm, const struct plumb_form *form);
// The most memory that a side takes beside its operands; 0: not known.
double arm_memory_bytes(const struct arm *arm, const struct plumb_form *form);
// The output that the kernel's own reference gives for the inputs of a set, one number for each
// element of the output. -1: it cannot compute it. With `apart` a library of this process computes
// it in another process. *apart is 0 when the numbers are there, the process's id when they will
// be, and -1 when there is no process.
int arm_reference(double *out, struct arm *arm, const struct buffers *buffers, uint32_t set,
                  pid_t *apart, struct error *err);
// Lets the kernel prepare itself for the buffers, with the choice `pin` unless that is NULL.
// Returns 0, 1 when `state` says why it cannot, or -1 (error).
int arm_prepare(struct arm *arm, enum sample_role role, const char *pin,
                const struct buffers *buffers, struct series_state *state, struct error *err);
// Call it when the buffers have more sets than before. Returns 0 or -1.
int arm_grow(struct arm *arm, struct error *err);
// The instances of a record, set by arm_prepare(); NULL: it is a library, which is loaded once.
struct instances *arm_instances(struct arm *arm);
// Queues one launch on a buffer set; `arm` is a struct arm. Returns 0, or the code of launch() or
// of the driver. The signature is that in struct batch.
int arm_launch(void *arm, uint32_t set, void *stream);
// Queues only one of a record's launches, which waits for none.
int arm_launch_one(struct arm *arm, uint32_t set, size_t launch);
// The number of kernels and memsets that a launch queues. A record tells it; for a library it is
// taken to be one.
uint32_t arm_kernels(const struct arm *arm);
// What is to be told about libraries that share this process's namespaces; NULL: none does.
const char *arm_bare(void);
// The time of an empty turn in ns; 0 if there is no process.
double arm_baton_ns(const struct arm *arm);
// Whether its process, if it has one, stood still between its turns.
struct arm_rest arm_rest(const struct arm *arm);
// The run() of struct batch, for an arm with a process; NULL for others.
int (*arm_run(const struct arm *arm))(void *self, uint32_t first, uint32_t sets, uint32_t launches,
                                      double *time_ns);

// ==== a library in a process of its own ====
//
// A host library in a process of its own. That has its own user and process namespaces where the
// system allows it, can neither start nor affect other processes (arm_worker.c), and runs only
// while it has the baton; between its turns it is stopped. Of bench's memory it sees inputs
// read-only, and outputs (kernels/device/host.h). Of the builds that are compared it sees only its
// own. Clock, order, seeds and references are visible to bench only. Signals could continue a
// stopped process, so it is also frozen, if bench has a control group for that; and bench checks
// whether it worked meanwhile.
//
// When the process dies, bench dies in the same way, so that its parent sees what happened to the
// kernel and not a message about it.

// The references that libraries give for known inputs (exact.c) are kept in the folder that this
// environment variable names, for other processes of the same gate; without it they are not kept.
// No library sees that folder.
#define REFERENCES_FOLDER "PLUMB_REFERENCES"

struct arm_process;

// What the process did between its turns, when it had to stand still.
struct arm_rest {
    uint32_t turns, strays; // turns so far, and the number of turns before or after which it worked
    double longest_ns;      // the longest time that it worked then
};

// The process's own side: `bench keep`, which arm_process_start() starts. Returns an exit code.
int arm_worker_main(int page, int inputs, int outputs);

// ==== the time of a turn ====
//
// The time of a turn of a library's process, without the time for which it and bench waited because
// others had the processors. Such waits are no part of a kernel, and the scheduler distributes them
// unevenly: for seconds, one of two equal builds waits in every turn and the other in none, which
// looks like a change.
//
// Linux counts both waits (/proc/PID/schedstat). A library cannot hide work in them: its turn never
// counts less than the processor time of all its threads until it is stopped.

struct turn_clock {
    int waits[2]; // files of bench and of the process; -1: the system has none
    clockid_t work;
};
struct turn_mark {
    double waited_ns, worked_ns;
};

// Opens a clock. Without these files nobody counts as waiting. -1: the system does not tell how
// long processes work.
int turn_clock_open(struct turn_clock *out, pid_t process);
void turn_clock_close(struct turn_clock *clock);
struct turn_mark turn_mark_now(const struct turn_clock *clock);
// The time of a turn that took `took_ns` between two marks, of which passing the baton took
// `empty_ns`. Waits below a hundredth of the turn are left in. The result is at least 1 ns for each
// of its `launches`: an empty turn can be slower than this one, and a sample's time cannot be
// negative.
double turn_time_ns(double took_ns, double empty_ns, uint32_t launches,
                    const struct turn_mark *begin, const struct turn_mark *end);

#endif
