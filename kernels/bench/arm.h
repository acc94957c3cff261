// SPDX-License-Identifier: Apache-2.0
//
// One side of a series: a library's kernel, loaded and prepared, in this process or in one of its
// own, or a record of one that is replayed. The series owns the buffers and decides when to launch.
#ifndef PLUMB_ARM_H
#define PLUMB_ARM_H

#include "kernels/bench/arm_page.h"
#include "kernels/bench/buffers.h"
#include "kernels/bench/instances.h"
#include "kernels/bench/module.h"
#include "kernels/bench/series.h"
#include "kernels/device/host.h"

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

#endif
