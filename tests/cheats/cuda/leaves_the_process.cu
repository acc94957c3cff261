// SPDX-License-Identifier: Apache-2.0
//
// Ends the process in launch(), with the code that says that the device is gone.
//
// source: plumbline: exits
// expect: refused
#include "tests/cheats/cuda/cheat.cuh"

#include <unistd.h>

static int launch(const plumb_args *, void *)
{
    _exit(40);
}
CHEAT_LIBRARY(nullptr, launch)
