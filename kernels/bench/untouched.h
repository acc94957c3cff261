// SPDX-License-Identifier: Apache-2.0
//
// What a kernel may not change of its output: gaps between rows, which a leading dimension makes,
// and rows that are no group's, which are zeros. Where an output has neither, nothing is done.
#ifndef PLUMB_UNTOUCHED_H
#define PLUMB_UNTOUCHED_H

#include "kernels/bench/buffers.h"

struct untouched {
    unsigned char **before; // of each set; NULL: there is nothing to hold
    uint32_t sets;
};
// Keeps the outputs of all sets as they are, between poison and launch.
int untouched_keep(struct untouched *out, struct buffers *buffers, struct error *err);
// *row of an output is that of the first change; -1: there is none. Frees what was kept.
int untouched_hold(int64_t *row, struct untouched *kept, struct buffers *buffers,
                   struct error *err);

#endif
