// SPDX-License-Identifier: Apache-2.0
//
// A survey: which kernels one process of a captured program ran, how often and with what numbers,
// and what came of the launches to be recorded. The library that is injected writes it
// (kernels/capture/survey.c, which has the lines); here it is parsed as the hostile text it is.
#ifndef PLUMB_SURVEY_H
#define PLUMB_SURVEY_H

#include "model/base.h"

enum { SURVEY_KERNELS_MAX = 100000 };

// Launches of one function with one shape and one set of numbers among their parameters.
struct survey_kernel {
    const char *name; // of the device function, as it is mangled
    uint64_t launches;
    uint64_t first; // which launch of the functions of this name the first of them was, from 1
    uint32_t grid[3], block[3], cluster[3];
    uint32_t shared_bytes, static_bytes, registers, local_bytes;
    uint64_t touched_bytes; // of the allocations that it is given
    double time_ns;         // mean; 0: no times were taken
    const char *refused;    // why it cannot be recorded; "": it can
};

struct survey {
    int64_t process;
    const char *note;    // what was not watched, and why; ""
    const char *taken;   // the record's file; "": none
    const char *refused; // why what was asked for was not recorded; ""
    struct survey_kernel *kernels;
    size_t count;
};

// `bytes` are changed; what `out` points to is in the arena.
int survey_parse(struct survey *out, char *bytes, size_t size, struct arena *arena,
                 struct error *err);

#endif
