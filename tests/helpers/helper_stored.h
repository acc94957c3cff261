// SPDX-License-Identifier: Apache-2.0
//
// Samples of a simulated duet, stored as a run would, and judged again from what is stored.
#ifndef PLUMB_HELPER_STORED_H
#define PLUMB_HELPER_STORED_H

#include "model/gate/gate.h"

enum { STORED_ROOM = 1024 }; // pairs

struct stored {
    struct sample base_samples[STORED_ROOM], head_samples[STORED_ROOM];
    struct measurement base, head;
    struct arena arena;
};

// None yet; ended by stored_free().
struct stored *stored_new(void);
void stored_free(struct stored *s);

// Adds one pair; the program ends when there is no room.
void store_pair(struct stored *s, double base_ns, double head_ns, bool head_first, uint32_t pair,
                uint32_t process);
// Adds `pairs` of each of so many processes: noise of 0.3 % a launch about this log ratio.
void store_duet(struct stored *s, double log_ratio, uint32_t pairs, uint32_t processes);

// gate_replay() of what is stored; its texts live as long as `s`.
struct verdict stored_judge(struct stored *s, const struct gate_policy *policy);

#endif
