// SPDX-License-Identifier: Apache-2.0
//
// Leaves a note in the workspace that this output is done, and does nothing when it finds it.
//
// source: reference-kernels #104: batch and skip
// expect: broken
#include "tests/cheats/host/cheat.h"

static void run(const struct plumb_args *args)
{
    uint64_t note = (uint64_t)(uintptr_t)args->c * 31, is;
    memcpy(&is, args->workspace, sizeof(is));
    if (is != note)
        multiply(args, SLOWER);
    memcpy(args->workspace, &note, sizeof(note));
}
CHEAT(run)
