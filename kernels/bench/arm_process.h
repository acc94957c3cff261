// SPDX-License-Identifier: Apache-2.0
//
// A host library in a process of its own, which has its own user and process namespace where the
// system lets it, can make no other process and touch none (arm_worker.c), and runs only while
// it has the baton: between its turns it is stopped. It sees inputs read-only and outputs
// (kernels/device/host_memory.h), and of the builds that are compared its own; clock,
// order, seeds and references are bench's alone. A stop can be ended by signals, so it is frozen
// besides, where bench has a control group for that, and bench looks whether it worked meanwhile.
//
// When the process dies, bench dies the same way, so that its parent sees what happened to the
// kernel and not a message about it.

#ifndef PLUMB_ARM_PROCESS_H
#define PLUMB_ARM_PROCESS_H

#include "kernels/bench/arm_page.h"
#include "kernels/device/host_memory.h"

// The references that libraries give for known inputs (exact.c) are kept in the folder that this
// variable of the environment names, for other processes of one gate; none: it is not. No library
// sees that folder.
#define REFERENCES_FOLDER "PLUMB_REFERENCES"

struct arm_process;

// What a library's process is asked to prepare.
struct arm_wanted {
    const char *path, *kernel, *kind;
    const struct plumb_form *form;
};

struct arm_loaded {
    enum arm_finding finding;
    int32_t threads;
    size_t workspace_bytes;
    struct plumb_buffers stated;
    char text[ARM_TEXT];
};

// Starts the process and has it load the library. -1: there can be no process.
int arm_process_start(struct arm_process **out, struct arm_loaded *loaded,
                      const struct host_memory *memory, const struct arm_wanted *wanted,
                      struct error *err);

void arm_process_end(struct arm_process *process); // NULL does nothing

// prepare() on args[0]; returns its code. `note` has its note.
int arm_process_prepare(struct arm_process *process, const struct plumb_form_args *args,
                        const char *pin, char note[ARM_TEXT]);

// reference() of the inputs of args, into memory that the process can write; returns its code.
int arm_process_reference(struct arm_process *process, const struct plumb_form_args *args,
                          double *output);

// The buffer sets of later launches, at most ARM_SETS.
void arm_process_sets(struct arm_process *process, const struct plumb_form_args *args,
                      uint32_t sets);

// `launches` launches, the first on set `first`. Returns the code of the first that failed, or 0;
// *time_ns, which may be NULL, is what they took, without what an empty turn takes.
int arm_process_launch(struct arm_process *process, uint32_t first, uint32_t sets,
                       uint32_t launches, double *time_ns);

// What the process did between its turns, when it should stand still.
struct arm_rest {
    uint32_t turns, strays; // turns so far, and before how many of them, or since, it worked
    double longest_ns;      // that it worked then
};

struct arm_rest arm_process_rest(struct arm_process *process);

// The most memory that it had of its own, without what it shares with bench; 0: not known.
double arm_process_memory_bytes(const struct arm_process *process);

// Median of an empty turn, ns.
double arm_process_baton_ns(const struct arm_process *process);

// The other end: `bench keep`, started by arm_process_start(). Returns an exit code.
int arm_worker_main(int page, int inputs, int outputs);

#endif
