// SPDX-License-Identifier: Apache-2.0
//
// Why a series moved: its code, its environment, the model it is held against, or its addresses
// (pure functions).
#ifndef PLUMB_CAUSE_H
#define PLUMB_CAUSE_H

#include "model/result.h"

// What all controls have in common. They cannot have changed, so the environment moved them.
struct common_mode {
    double shift;   // median of their log ratios; 0 without controls
    uint32_t count; // controls with a finite ratio
    bool moved; // shift >= floor in size, and more than half of the intervals exclude 0 on its side
};
struct common_mode common_mode_of(const struct interval *controls, size_t count, double floor,
                                  struct arena *arena);

struct cause_input {
    const struct verdict *verdict;
    bool code_changed; // base and head code ids differ
    bool placement;    // processes contradicted each other
    double log_model;  // log(new / old prediction) if log_ratio is of actual/predicted, else 0
    struct common_mode controls;
};

// In a gate only slower and faster have a cause (placement also when undecided); in this order:
//   placement    one process shows what another refutes;
//   model        the prediction moved, and without that the change is below the margin;
//   environment  the code is the same, or the controls moved to the same side and what remains
//                after taking their shift off is below the margin;
//   kernel       everything else.
enum cause cause_of(const struct cause_input *input);

// Does this verdict fail a pull request? Slower does, unless environment, model or placement caused
// it; broken does, unless the base is broken too.
bool cause_fails(const struct verdict *verdict);

#endif
