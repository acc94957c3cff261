// SPDX-License-Identifier: Apache-2.0
//
// Its prepare() lets the other build's launch() fail: what is broken on the base counts as new.
//
// source: plumbline's own gate, 2026-11-22
// expect: slower
#include "tests/cheats/host/cheat.h"

#include "tests/cheats/host/jump.h"

static int fails(const struct plumb_args *args, void *stream)
{
    (void)args, (void)stream;
    return 1;
}

static int launch(const struct plumb_args *args, void *stream)
{
    (void)stream;
    multiply(args, 100);
    return 0;
}

static int prepare(const struct plumb_args *args, void *stream, const char *pin, char *note,
                   size_t note_size)
{
    (void)args, (void)stream, (void)pin, (void)note, (void)note_size;
    jump_from_others(fails, plumb_library);
    return 0;
}
CHEAT_LIBRARY(prepare, launch)
