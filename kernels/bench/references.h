// SPDX-License-Identifier: Apache-2.0
//
// References that open series share: of one problem and seed the exact result is computed once,
// and kept while a series has it. Of a large problem it costs a GPU more than all else that opening
// a series does, and a backfill opens each problem dozens of times.
#ifndef PLUMB_REFERENCES_H
#define PLUMB_REFERENCES_H

#include "kernels/device/device.h"

struct shared_reference {
    struct reference *exact;
    struct device_base *device;
    struct problem problem;
    uint64_t seed;
    uint32_t users;
    struct shared_reference *next;
};

// The inputs in args are those of `seed`, without other signs. Whoever takes one gives it back.
int references_take(struct shared_reference **out, const struct device_ops *ops,
                    struct device_base *device, const struct problem *problem,
                    const struct plumb_args *args, uint64_t seed, struct error *err);
void references_give(struct shared_reference *reference, const struct device_ops *ops);

#endif
