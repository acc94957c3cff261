// SPDX-License-Identifier: Apache-2.0
//
// The contents of a series' memory, apart from its workspace: some inputs and one output. The first
// two inputs of a GEMM are A and B; its form adds scales, a bias, groups. For a kernel that is no
// GEMM its library states them.
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
    PART_INPUT, // for a kernel that is no GEMM
    PART_OUTPUT
};

struct part {
    enum part_use use;
    enum dtype type;
    uint64_t count; // number of elements
    size_t bytes;
    int contents; // enum inputs_contents
    float scale;  // scale of the contents
};

enum { PARTS_MOST = PLUMB_INPUTS };
struct parts {
    struct part inputs[PARTS_MOST], output;
    int input_count;
    int large;     // it is the largest input
    bool restored; // the output holds an input before each launch
};

// Returns NULL, or a static text that says which feature of a GEMM bench cannot make or read.
const char *parts_refuse(const struct problem *problem);
// Lists the parts of a GEMM that is not refused.
void parts_of(struct parts *out, const struct problem *problem);
// Lists the parts of a problem of named integers, as a library states them. -1: what it states is
// not possible.
int parts_stated(struct parts *out, const struct plumb_buffers *stated, struct error *err);
bool parts_equal(const struct parts *a, const struct parts *b);

// The places of the rows of a problem's groups in A and C (kernel.h, enum plumb_grouping).
struct group_places {
    int32_t first[GROUPS_MOST], rows[GROUPS_MOST];
};

// Finds the places for a problem with groups.
void group_places_of(struct group_places *out, const struct problem *problem);

// Writes zeros to the rows of A or C that belong to no group, in `bytes` of device memory; does
// nothing without groups. -1: the device failed.
int group_places_clear(const struct device_ops *ops, struct device_base *device, void *memory,
                       size_t bytes, const struct problem *problem, struct error *err);

#endif
