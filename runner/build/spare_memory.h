// SPDX-License-Identifier: Apache-2.0
//
// How much memory this process may still take.
#ifndef PLUMB_SPARE_MEMORY_H
#define PLUMB_SPARE_MEMORY_H

#include <stdint.h>

// Bytes that can be taken without another process having to end for it: half of what the machine
// has left, or of what the control groups (version 2) that we are in leave, whichever is least.
// UINT64_MAX where nobody says. `root` stands before /proc and /sys, "" for this machine's own.
uint64_t spare_memory_bytes(const char *root);

#endif
