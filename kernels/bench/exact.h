// SPDX-License-Identifier: Apache-2.0
//
// What the output of a series must be: by the device's reference of plain problems, by that of
// forms, or, where the kernel is no GEMM, by its library's own. Of a pair the base's library says
// it: a change cannot bring its own truth.
#ifndef PLUMB_EXACT_H
#define PLUMB_EXACT_H

#include "kernels/bench/arm.h"
#include "kernels/bench/buffers.h"

struct exact;

// Who says it. `arm` is asked for problems of named integers alone.
struct exact_source {
    const struct device_ops *ops;
    struct device_base *device;
    const struct problem *problem;
    struct arm *arm;
    const struct plumb_buffers *stated; // by that arm
};

// From the inputs of a set as they are. seed: of these inputs, which no other ones have: what is
// known of them is kept for others; NULL: they are nobody else's. The caller frees.
int exact_open(struct exact **out, const struct exact_source *source, struct buffers *buffers,
               uint32_t set, const uint64_t *seed, struct error *err);
// Holds the output of a set against it. signs: as device_ops' compare.
int exact_compare(struct comparison *out, const struct exact *exact, const struct buffers *buffers,
                  uint32_t set, const struct inputs_signs *signs, double tolerance,
                  struct error *err);
void exact_free(struct exact *exact); // NULL does nothing

// The tolerance that comparisons are held to, and by how much one element may be off at most, in
// its own units.
double exact_tolerance(const struct problem *problem);
double exact_allowed(const struct exact *exact, double tolerance);

#endif
