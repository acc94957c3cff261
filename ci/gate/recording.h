// SPDX-License-Identifier: Apache-2.0
//
// What the stopwatch opens for a task: the library, or where the policy says `trust = device-code`
// a record of its kernel, so that no host code of the commit runs beside the stopwatch or the other
// build. Records of one run lie in a folder of its own and are gone with it.
#ifndef PLUMB_RECORDING_H
#define PLUMB_RECORDING_H

#include "ci/gate/task_list.h"

struct recording {
    struct context *context;
    const char *const *directories; // of the libraries, shown in the sandbox; borrowed
    size_t directory_count;
    char folder[64]; // of the records; "" before the first
    // A bench that runs the library's host code and times nothing: one for each side, which is
    // shown one build and no other.
    struct bench *bench[2];
    const char *shown[2];                // of `directories`
    const struct context_device *device; // they are on
};

// The policy wants this task replayed from records.
bool recording_wanted(const struct task *task);
// Makes the record of one side of the task unless it is there. False in *made: the kernel cannot be
// recorded; `instead` (NULL: nothing) then says so and why, as "unsupported", for what the policy
// does not trust is not measured either. -1: the device is gone or the disk is full.
int recording_make(bool *made, struct recording *recording, const struct task *task,
                   enum sample_role role, struct measurement *instead, struct arena *arena,
                   struct error *err);
// A measurement that was not taken because its kernel cannot be recorded.
bool recording_refused(const struct measurement *measurement);
// The file to open for one side, in the arena; it is there once recording_make() has made it.
const char *recording_file(const struct recording *recording, const struct task *task,
                           enum sample_role role, struct arena *arena);
// Ends the benches: nothing else may run while kernels are timed.
void recording_pause(struct recording *recording);
// Ends them and removes the records.
void recording_end(struct recording *recording);

#endif
