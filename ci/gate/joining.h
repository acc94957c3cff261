// SPDX-License-Identifier: Apache-2.0
//
// Parts of a gate back into one run: their results side by side, each with the verdict that its
// series has by itself. What needs all of them (release.h, conclude.h) comes afterwards.
#ifndef PLUMB_JOINING_H
#define PLUMB_JOINING_H

#include "ci/gate/part.h"
#include "ci/settings/context.h"

struct joined {
    uint32_t parts;      // of the whole
    const char *missing; // their numbers, "3, 5"; "" when all are there. In the run's arena
    int64_t stored;      // the run that the context's store has of them already; 0: none
};

// Fills `run`, begun for the gate of its base and head, with what its parts in the store at `path`
// found, and the context's devices with theirs. -1 as pieces_read().
int joining_read(struct joined *out, struct run *run, struct context *context, const char *path,
                 struct error *err);

#endif
