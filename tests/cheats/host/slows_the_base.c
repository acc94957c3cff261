// SPDX-License-Identifier: Apache-2.0
//
// Its prepare() finds the other build's table of kernels in the process and puts a slower
// launch() there.
//
// source: plumbline's own gate, 2026-11-22: a jump written over the base's launch
// expect: slower
#include "tests/cheats/host/cheat.h"

#include "tests/cheats/host/jump.h"

static int slower(const struct plumb_args *args, void *stream)
{
    (void)stream;
    multiply(args, 100);
    return 0;
}

static int launch(const struct plumb_args *args, void *stream)
{
    (void)stream;
    multiply(args, SLOWER);
    return 0;
}

static int prepare(const struct plumb_args *args, void *stream, const char *pin, char *note,
                   size_t note_size)
{
    (void)args, (void)stream, (void)pin, (void)note, (void)note_size;
    jump_from_others(slower, plumb_library);
    return 0;
}
CHEAT_LIBRARY(prepare, launch)
