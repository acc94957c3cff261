// SPDX-License-Identifier: Apache-2.0
//
// What lies in the memory of a series besides its workspace: some inputs and one output. Of a GEMM
// the first two inputs are A and B; its form adds scales, a bias, groups. What a kernel that is no
// GEMM has its library states.
#ifndef PLUMB_PARTS_H
#define PLUMB_PARTS_H

#include "kernels/device/device.h"
#include "kernels/kernel.h"
#include "model/problem.h"

enum part_use {
    PART_A,
    PART_B,
    PART_SCALES_A,
    PART_SCALES_B,
    PART_BIAS,
    PART_GROUP_FIRST,
    PART_GROUP_ROWS,
    PART_INPUT, // of a kernel that is no GEMM
    PART_OUTPUT
};

struct part {
    enum part_use use;
    enum dtype type;
    uint64_t count; // elements
    size_t bytes;
    int contents; // enum inputs_contents
    float scale;  // of the contents
};

enum { PARTS_MOST = PLUMB_INPUTS };
struct parts {
    struct part inputs[PARTS_MOST], output;
    int input_count;
    int large;     // the largest input
    bool restored; // the output holds an input before each launch
};

// NULL, or what bench cannot make or read of a GEMM: a static text.
const char *parts_refuse(const struct problem *problem);
// Of a GEMM that is not refused.
void parts_of(struct parts *out, const struct problem *problem);
// Of named integers, as a library states it. -1: what it states cannot be.
int parts_stated(struct parts *out, const struct plumb_buffers *stated, struct error *err);
bool parts_equal(const struct parts *a, const struct parts *b);

// Where the rows of a problem's groups lie in A and C (kernel.h, enum plumb_grouping).
struct group_places {
    int32_t first[GROUPS_MOST], rows[GROUPS_MOST];
};

// Of a problem that has groups.
void group_places_of(struct group_places *out, const struct problem *problem);

// Zeros in the rows of A or C, `bytes` of device memory, that are no group's; nothing without
// groups. -1: the device failed.
int group_places_clear(const struct device_ops *ops, struct device_base *device, void *memory,
                       size_t bytes, const struct problem *problem, struct error *err);

#endif
