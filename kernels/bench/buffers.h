// SPDX-License-Identifier: Apache-2.0
//
// The device memory of a series: buffer sets (inputs and output, parts.h, with guards between) and
// one workspace.
//     [guard] A [guard] B [guard]     [guard] C [guard]      each part on a 512-byte boundary
// The first block is of what kernels only read, and where a device can, they can only read it.
// A guard reaches from the last byte of one matrix to the next boundary after GUARD bytes, so a
// write one element too far is found.
//
// Every launch of a batch has an output of its own, and small inputs of its own; of the largest
// input there are as many copies as keep it cold. So no launch of a batch has the product of
// another one, and what each wrote can be looked at afterwards.
//
// Contents change from one pair to the next (buffers_known, buffers_renew), outputs hold noise
// before each launch: what was computed before is of no use.
#ifndef PLUMB_BUFFERS_H
#define PLUMB_BUFFERS_H

#include "kernels/bench/parts.h"
#include "kernels/device/device.h"
#include "kernels/device/inputs.h"
#include "model/record/record.h"

// Keys of the signs (inputs.h) that a set's operands have; 0: none.
struct buffers_content {
    uint64_t a, b;
};

enum { BUFFER_INPUTS, BUFFER_OUTPUT, BUFFER_BLOCKS };

struct buffers {
    const struct device_ops *ops;
    struct device_base *device;
    struct problem problem;
    struct parts parts;
    bool plain; // problem_is_plain()
    uint64_t seed;
    struct plumb_form_args *args;     // one per set
    void **blocks[BUFFER_BLOCKS];     // what was allocated for each set
    void **inputs[PARTS_MOST];        // of each; beyond `wide` the largest input's repeat
    void **outputs;                   // C of each
    uint64_t *seeds;                  // of what each holds, of a form
    void *given;                      // buffers_given()
    struct noise fresh[2];            // what A and B hold since buffers_renew()
    bool is_noise;                    // what A and B hold
    struct buffers_content *contents; // of each
    uint32_t sets;
    uint32_t wide;  // sets with a copy of the largest input; set i uses that of set i % wide
    void *pools[2]; // of noise like inputs, like outputs
    void *bare[2];  // the seed's A and B without signs; of a form NULL
    float *scale;   // of A, and 512 bytes on of B; or NULL
    void *workspace;
    size_t workspace_bytes;
};

// One set, filled, with a workspace of this size. The caller frees.
int buffers_open(struct buffers *out, const struct device_ops *ops, struct device_base *device,
                 const struct problem *problem, const struct parts *parts, uint64_t seed,
                 size_t workspace_bytes, struct error *err);

void buffers_free(struct buffers *buffers); // a zeroed one does nothing

// Device memory that buffers take at most, but for the workspace.
double buffers_need_bytes(const struct parts *parts, const struct device_ops *ops,
                          struct device_base *device);

// As many sets as `launches` launches, where memory allows. What they hold is not said.
int buffers_grow(struct buffers *buffers, uint32_t launches, struct error *err);

// How long each buffer of a GEMM is that a launch may be given, with a workspace of this size; 0:
// there is none.
void buffers_lengths(uint64_t out[RECORD_BUFFERS], const struct problem *problem,
                     const struct parts *parts, uint64_t workspace_bytes);

// Where the buffers of one set lie.
struct record_places buffers_places(const struct buffers *buffers, uint32_t set);

// What the buffers of a plain problem hold.
// The numbers of `seed`, whose product the reference is, with signs drawn from `key`; 0: as they
// are. Those of a form are as they are.
int buffers_known(struct buffers *buffers, uint64_t key, struct error *err);

// The inputs that are written before a sample.
struct renewal {
    uint64_t inputs;  // key of other numbers in A and B: no product stays what it was; 0: they stay
    uint64_t outputs; // key of what might be a product, in all outputs; 0: they stay
    bool whole;       // every number of A and B; otherwise a part in each row, where they are noise
    bool wide, coarse; // enum variant
    uint32_t set;      // the first that is written, and of how many; 0: of all. One after another
    uint32_t sets;     // by the same keys, they hold what all at once would.
};

int buffers_renew(struct buffers *buffers, const struct renewal *renewal, struct error *err);

// The signs that the product of a set has after buffers_known().
struct inputs_signs buffers_signs(const struct buffers *buffers, uint32_t set);

// Fills the workspace with noise.
int buffers_soil(struct buffers *buffers, uint64_t key, struct error *err);

// The content of a set's output before its launch, in memory of its own; NULL where it was no
// input. Good until it is asked for another set.
int buffers_given(const void **out, struct buffers *buffers, uint32_t set, struct error *err);

// Fills every C with NaN, or with its input.
int buffers_poison(struct buffers *buffers, struct error *err);

// *intact is false and `what` names the place when a guard byte has changed.
int buffers_guards(bool *intact, char what[64], struct buffers *buffers, struct error *err);

#endif
