// SPDX-License-Identifier: Apache-2.0
//
// What a kernel may not change of its output: gaps between rows, which a leading dimension makes,
// and rows that are no group's, which are zeros. Where an output has neither, nothing is done.
//
// Rows are held in chunks, all of them or, of outputs of gigabytes, as many as can be read back in
// some hundredths of a second. Then the seed draws them anew for each check; half are those right
// behind a group, where a tile that is not cut off ends.
#ifndef PLUMB_UNTOUCHED_H
#define PLUMB_UNTOUCHED_H

#include "kernels/bench/buffers.h"

enum { UNTOUCHED_CHUNK = 64, UNTOUCHED_BYTES = 64 << 20 }; // rows; of all sets together

struct untouched_chunk {
    int64_t row;
    int32_t count;
    bool used; // the rows are multiplied: only what lies between them is held
};
struct untouched {
    struct untouched_chunk *chunks; // in order of rows
    size_t count;
    unsigned char **before; // of each set, chunk by chunk; NULL: there is nothing to hold
    uint32_t sets;
};
// Keeps the outputs of all sets as they are, between poison and launch.
int untouched_keep(struct untouched *out, struct buffers *buffers, struct error *err);
// *row of an output is that of the first change; -1: there is none. Frees what was kept.
int untouched_hold(int64_t *row, struct untouched *kept, struct buffers *buffers,
                   struct error *err);
// Chooses by this seed the rows that are held, of a problem with so many sets. The caller frees the
// chunks.
size_t untouched_choose(struct untouched_chunk **out, const struct problem *problem, int64_t rows,
                        size_t pitch_bytes, uint32_t sets, uint64_t seed);

#endif
