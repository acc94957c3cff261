// SPDX-License-Identifier: Apache-2.0
//
// The processors of this machine: which of them are one core, and which lie near a device.
#ifndef PLUMB_TOPOLOGY_H
#define PLUMB_TOPOLOGY_H

#include "model/base.h"

#include <sched.h>

// What hyperthreads share computes for one of them at a time, so they are given away together.
struct core {
    int number;    // of its first processor, ours or not: the same for whoever asks
    cpu_set_t set; // its processors that are ours
};

struct topology {
    struct core *items; // rising
    size_t count;
};

// `root` stands before /sys, "" for this machine's own. Where /sys does not say what belongs
// together, each processor is a core.
void topology_read(struct topology *out, const char *root, const cpu_set_t *ours,
                   struct arena *arena);

// The processors beside a PCI device, "0000:1b:00.0". False: it is not known, *out is empty.
bool topology_near(cpu_set_t *out, const char *root, const char *bus);

// "0-3,8": as the kernel writes them. -1: it is no such list.
int topology_parse(cpu_set_t *out, const char *text);

#endif
