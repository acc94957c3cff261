// SPDX-License-Identifier: Apache-2.0
//
// The device memory of a series: buffer sets (inputs and output, parts.h, with guards between) and
// one workspace.
//     [guard] A [guard] B [guard]     [guard] C [guard]      each part on a 512-byte boundary
// The first block has what kernels only read; where the device allows it, they cannot write to it.
// A guard reaches from the last byte of one matrix to the next boundary after GUARD bytes, so a
// write one element too far is noticed.
//
// Every launch of a batch has an output of its own, and small inputs of its own. Of the largest
// input there are only as many copies as keep it cold. So no launch of a batch has the product of
// another one, and each output can be checked afterwards.
//
// Contents change from one pair to the next (buffers_known, buffers_renew), and outputs hold noise
// before each launch, so earlier results are of no use.
#ifndef PLUMB_BUFFERS_H
#define PLUMB_BUFFERS_H

#include "kernels/bench/parts.h"
#include "kernels/device/device.h"
#include "kernels/device/inputs.h"
#include "model/record/record.h"

// Keys of the signs (inputs.h) of a set's operands; 0: no signs.
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
    struct plumb_form_args *args; // one for each set
    void **blocks[BUFFER_BLOCKS]; // the memory allocated for each set
    void **inputs[PARTS_MOST];    // inputs of each set; after `wide` sets the largest input repeats
    void **outputs;               // the C of each set
    uint64_t *seeds;              // for a form: the seeds of the numbers in each set
    void *given;                  // the memory that buffers_given() returns
    struct noise fresh[2];        // the noise in A and B since buffers_renew()
    bool is_noise;                // A and B hold noise
    struct buffers_content *contents; // contents of each set
    uint32_t sets;
    uint32_t wide;  // number of sets with a copy of the largest input; set i uses that of set i %
                    // wide
    void *pools[2]; // noise that looks like inputs, and noise that looks like outputs
    void *bare[2];  // the seed's A and B without signs; NULL for a form
    float *scale;   // scale of A; 512 bytes behind it that of B; or NULL
    void *workspace;
    size_t workspace_bytes;
};

// Opens one filled set, with a workspace of this size. The caller frees.
int buffers_open(struct buffers *out, const struct device_ops *ops, struct device_base *device,
                 const struct problem *problem, const struct parts *parts, uint64_t seed,
                 size_t workspace_bytes, struct error *err);

void buffers_free(struct buffers *buffers); // a zeroed one is left alone

// The most device memory that buffers take, without the workspace.
double buffers_need_bytes(const struct parts *parts, const struct device_ops *ops,
                          struct device_base *device);

// Makes as many sets as `launches`, if memory allows. Their contents are undefined.
int buffers_grow(struct buffers *buffers, uint32_t launches, struct error *err);

// Computes the length of each buffer that a launch of a GEMM may be given, with a workspace of this
// size; 0: there is no such buffer.
void buffers_lengths(uint64_t out[RECORD_BUFFERS], const struct problem *problem,
                     const struct parts *parts, uint64_t workspace_bytes);

// The addresses and lengths of one set's buffers.
struct record_places buffers_places(const struct buffers *buffers, uint32_t set);

// Fills the buffers of a plain problem with the numbers of `seed`, whose product the reference is,
// with signs drawn from `key`; 0: without signs. The buffers of a form stay as they are.
int buffers_known(struct buffers *buffers, uint64_t key, struct error *err);

// What is written before a sample.
struct renewal {
    uint64_t inputs;   // key for new numbers in A and B, so that no product stays the same; 0: they
                       // stay
    uint64_t outputs;  // key for plausible results in all outputs; 0: they stay
    bool whole;        // every number of A and B is written; otherwise a part of each row, where
                       // they hold noise
    bool wide, coarse; // enum variant
    uint32_t set;      // the first set that is written, and the number of sets; 0: all. Sets
                       // written one after another
    uint32_t sets;     // with the same keys hold what they would if written together.
};

int buffers_renew(struct buffers *buffers, const struct renewal *renewal, struct error *err);

// The signs that the product of a set has after buffers_known().
struct inputs_signs buffers_signs(const struct buffers *buffers, uint32_t set);

// Fills the workspace with noise.
int buffers_soil(struct buffers *buffers, uint64_t key, struct error *err);

// Returns the content of a set's output before its launch, in separate memory; NULL if it was no
// input. It is valid until another set is asked for.
int buffers_given(const void **out, struct buffers *buffers, uint32_t set, struct error *err);

// Fills every C with NaN, or with its input if it has one.
int buffers_poison(struct buffers *buffers, struct error *err);

// Checks guard bytes. If one has changed, *intact is false and `what` names the place.
int buffers_guards(bool *intact, char what[64], struct buffers *buffers, struct error *err);

#endif
