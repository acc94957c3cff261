// SPDX-License-Identifier: Apache-2.0
//
// The device memory of a series: buffer sets (A, B, C with guards between) and one workspace.
//     [guard] A [guard] B [guard] C [guard]      each matrix on a 512-byte boundary
// A guard reaches from the last byte of one matrix to the next boundary after GUARD bytes, so a
// write one element too far is found.
#ifndef PLUMB_BUFFERS_H
#define PLUMB_BUFFERS_H

#include "kernels/device/device.h"
#include "model/record/record.h"

struct buffers {
    const struct device_ops *ops;
    struct device_base *device;
    struct problem problem;
    uint64_t seed;
    struct plumb_args *args; // one per set
    void **blocks;           // what was allocated for each set
    uint32_t sets;
    float *scale; // of A, and 512 bytes on of B; or NULL
    void *workspace;
    size_t workspace_bytes;
};

// One set, filled, with a workspace of this size. The caller frees.
int buffers_open(struct buffers *out, const struct device_ops *ops, struct device_base *device,
                 const struct problem *problem, uint64_t seed, size_t workspace_bytes,
                 struct error *err);
void buffers_free(struct buffers *buffers); // a zeroed one does nothing
// Bytes of one set.
size_t buffers_set_bytes(const struct problem *problem);
// As many sets as `launches` launches need to find their data cold, and memory allows. Filled.
int buffers_grow(struct buffers *buffers, uint32_t launches, struct error *err);
// How long each buffer of a problem is that a launch may be given, with a workspace of this size;
// 0: there is none.
void buffers_lengths(uint64_t out[RECORD_BUFFERS], const struct problem *problem,
                     uint64_t workspace_bytes);
// Where the buffers of one set lie.
struct record_places buffers_places(const struct buffers *buffers, uint32_t set);
// Fills every C with NaN.
int buffers_poison(struct buffers *buffers, struct error *err);
// *intact is false and `what` names the place when a guard byte has changed.
int buffers_guards(bool *intact, char what[64], struct buffers *buffers, struct error *err);

#endif
