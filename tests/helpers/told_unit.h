// SPDX-License-Identifier: Apache-2.0
//
// Which device a fake_bench is on, and what becomes of it: PROGRAM.units, .cuda, .slow and .breaks
// say it (fake_bench.c).
#ifndef PLUMB_TESTS_TOLD_UNIT_H
#define PLUMB_TESTS_TOLD_UNIT_H

#include <stdbool.h>

struct told_unit {
    const char *kind;
    int number;
    double slow; // its times are this many times as long
    int lives;   // blocks until it is gone; 0: for good
};

// "host", "cuda:1", "none". False: there is no such device.
bool told_unit(struct told_unit *out, const char *device);
// It is gone for good, and so is the process.
_Noreturn void told_unit_loses(const struct told_unit *unit);

#endif
