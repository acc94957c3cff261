// SPDX-License-Identifier: Apache-2.0
//
// Processors for those that measure: each has a core to itself, whichever plumb of this machine
// started it, and what only computes keeps away from those cores.
//
// Who has which core is told by a name in the kernel: a socket that is bound to it and to no file.
// It ends with the program that holds it, however that ends, and nothing is left behind. Programs
// in another network namespace (another container) do not see each other.
#ifndef PLUMB_PROCESSORS_H
#define PLUMB_PROCESSORS_H

#include "model/base.h"

#include <sched.h>

enum { PROCESSORS_TEXT = 64 };

// The place whose processors are meant. A zeroed one is this program's own, on this machine.
struct processors_site {
    const char *root;      // before /sys; NULL: ""
    const char *scope;     // of the names; NULL: the one that all share
    const cpu_set_t *ours; // NULL: those that this thread may use
};

extern const struct processors_site processors_here;

// One core; zeroed: none.
struct processors {
    cpu_set_t set;
    int held; // the socket, and 1; 0: none
};

// A core that nobody has, of those near the device on `bus` (NULL: none) if there is one; the last
// one, because interrupts and other work like the first. One core at least is left for all others:
// where there are too few, or names cannot be had, nothing is taken and `why` says it.
bool processors_take(struct processors *out, const struct processors_site *site, const char *bus,
                     struct error *why);
void processors_give_back(struct processors *processors); // a zeroed one does nothing

// The processors' numbers as a text, "7,23"; "none" when there are none.
void processors_text(char out[PROCESSORS_TEXT], const struct processors *processors);

// How many cores there are; 0: that is not known. *taken: on how many of them somebody measures
// now.
size_t processors_cores(size_t *taken, const struct processors_site *site);

// The processors on which nobody here measures, for work that only computes. False: somebody
// measures on each of ours, or nobody anywhere; *out then has all of ours.
bool processors_aside(cpu_set_t *out, const struct processors_site *site);

// ---- which processors of this machine are one core, and which lie near a device

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
