// SPDX-License-Identifier: Apache-2.0
//
// References that series share: of one problem and seed the exact result is computed once, and kept
// while a series has it and for some time after. Of a large problem it costs a GPU more than all
// else that opening a series does (14 of 19 ms, baselines/recorded/h200/history), and series that
// are timed one after the other have the same few problems again and again.
#ifndef PLUMB_REFERENCES_H
#define PLUMB_REFERENCES_H

#include "kernels/device/device.h"

struct shared_reference {
    struct reference *exact;
    struct device_base *device;
    struct problem problem;
    uint64_t seed;
    uint32_t users;
    double bytes;
    struct shared_reference *next;
};

// The inputs in args are those of `seed`, without other signs. Whoever takes one gives it back.
int references_take(struct shared_reference **out, const struct device_ops *ops,
                    struct device_base *device, const struct problem *problem,
                    const struct plumb_args *args, uint64_t seed, struct error *err);
// The latest ones that nobody has stay, up to a part of the memory that a series may take.
void references_give(struct shared_reference *reference, const struct device_ops *ops);
// Frees those that nobody has.
void references_drop(const struct device_ops *ops);

#endif
