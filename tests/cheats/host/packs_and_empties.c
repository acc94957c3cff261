// SPDX-License-Identifier: Apache-2.0
//
// Packs into memory of its own, and gives the pages of the workspace, which both builds share, back
// to the system: the other build has to ask for each of them again within its turn.
//
// source: plumbline's own gate, 2026-11-24: 34 % faster
// expect: slower
#include "tests/cheats/host/cheat.h"

#include <sys/mman.h>

static void run(const struct plumb_args *args)
{
    static float own[WORKSPACE_BYTES / sizeof(float)];
    multiply_packed(args, own, SLOWER);
    madvise(args->workspace, WORKSPACE_BYTES, MADV_REMOVE);
}
CHEAT(run)
