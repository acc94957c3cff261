// SPDX-License-Identifier: Apache-2.0
//
// How long kernels of a fake_bench take: as their library and a file beside the program say, so
// that histories have the times that a test wants, on any machine.
#ifndef PLUMB_TESTS_TOLD_TIME_H
#define PLUMB_TESTS_TOLD_TIME_H

#include "model/result.h"

// The number behind "fake-time=" among the bytes of a library; 1 where there is none.
double told_time(const char *library);

// The word behind "fake library " among them, or what a build beside its folder calls it; `out`
// stays as it is where there is neither.
void told_name(char out[KERNEL_NAME_TEXT], const char *library);

// What this process takes times as long by: e to the power of the first number in PROGRAM.load,
// which is taken out of the file; 1 when there is no such file or no number left.
double told_load(void);
// A normal number that these two decide: twelve uniform ones, less their mean.
double told_chance(uint64_t seed, uint64_t step);
// What PROGRAM.ENDING holds, 0 without it.
double told_ms(const char *ending);

#endif
