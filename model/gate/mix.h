// SPDX-License-Identifier: Apache-2.0
//
// The change of a mix's weighted time: problems with weights, as a serving system meets them. It
// says what a change costs in use, and finds many small ones that no series shows alone.
#ifndef PLUMB_MIX_H
#define PLUMB_MIX_H

#include "model/interval.h"

#include <stdbool.h>
#include <stddef.h>

// One problem of a mix, by one kernel on one device.
struct mix_part {
    double weight;             // how often, against the other parts; above 0
    double time_ns;            // of a launch on the base; above 0
    struct interval log_ratio; // log(head / base); 0, 0, 0 where the code is the same
};

// Log ratio of the weighted times, at the parts' own confidence. `parts` has at least one.
struct interval mix_change(const struct mix_part *parts, size_t count);

enum mix_standing { MIX_SAME, MIX_SLOWER, MIX_FASTER };
// Slower or faster: a change beyond the margin (a log ratio above 0) with 99.9 % confidence.
enum mix_standing mix_standing(struct interval change, double margin);

#endif
