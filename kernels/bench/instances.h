// SPDX-License-Identifier: Apache-2.0
//
// Instances of a record: its device code loaded several times, and which of them a turn runs drawn.
//
// Identical builds on the same buffers differ by where their code lies: 0.03 to 0.13 % on an H200,
// the same in every process that loads in the same order. No number of pairs averages that away
// while each side is loaded once. With INSTANCES of each side, at places that are drawn, it becomes
// scatter between pairs, which the gate judges like all other noise. What is left is that of one
// instance by the root of their number: 0.034 of 0.135 % with 16 (baselines/recorded/h100/places).
#ifndef PLUMB_INSTANCES_H
#define PLUMB_INSTANCES_H

#include "kernels/device/device.h"
#include "kernels/device/record.h"

enum { INSTANCES = 16, INSTANCES_LATER = 32, INSTANCES_MOST = 64 };

struct instances {
    const struct device_ops *ops;
    struct device_base *device;
    const struct record *record; // borrowed
    struct record_places *where; // of each buffer set
    uint32_t sets;
    struct replay *loaded[INSTANCES_MOST];
    uint32_t count, now; // loaded; the one that is launched
};

// One instance, its addresses bound for each of the sets. `where` is taken over, also on failure.
// The caller closes, also after a failure.
int instances_open(struct instances *out, const struct device_ops *ops, struct device_base *device,
                   const struct record *record, struct record_places *where, uint32_t sets,
                   struct error *err);
void instances_close(struct instances *instances); // a zeroed one does nothing
// Loads `each` instances (INSTANCES_MOST at most) of each of `count` sides (two at most), one of
// each in turn, behind gaps and in an order that `key` draws, and lets each run once, so that
// nothing of a load waits for a sample. more: those that are there stay, and count.
int instances_draw(struct instances *const *sides, uint32_t count, uint32_t each, uint64_t key,
                   bool more, struct error *err);
// Chooses the copy that runs until the next choice. Each side has copies of its own.
void instances_choose(struct instances *side, uint64_t key);
// Queues one launch. Returns 0 or the driver's code.
int instances_launch(struct instances *side, uint32_t set);
// The same of one of the record's launches alone.
int instances_launch_one(struct instances *side, uint32_t set, size_t launch);

#endif
