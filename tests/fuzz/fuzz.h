// SPDX-License-Identifier: Apache-2.0
//
// A fuzz target: fuzz_<what>.c defines fuzz_one(), which takes any bytes and must neither crash nor
// leak, and may hold what it reads to what it writes. The build makes two programs of it: one
// driven by driver.c, that mutates seed files for a while in every test run, and with clang and the
// preset `fuzz` one by libFuzzer.
#ifndef PLUMB_TESTS_FUZZ_H
#define PLUMB_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

void fuzz_one(const uint8_t *bytes, size_t size);

// What a target holds: ends the program where it does not hold, which the drivers report.
static inline void must(bool held, const char *why)
{
    if (held)
        return;
    fprintf(stderr, "%s\n", why);
    abort();
}

#endif
