// SPDX-License-Identifier: Apache-2.0
//
// Sick devices: found by their controls in what is stored, taken out, and left alone until a person
// clears them.
#ifndef PLUMB_SICK_H
#define PLUMB_SICK_H

#include "baselines/store.h"

struct sick_finding {
    const char *uuid, *name;
    bool gpu;
    bool known; // its controls suffice for a judgement
    bool sick;
    bool out;        // it was taken out before; then it is not judged again
    const char *why; // one sentence without a point; of what is not known, what is missing
};
// Judges each device that was measured by its newest runs; what was imported is not. `margin`: how
// much slower its controls may be, relative, 0: not judged. In the arena.
int sick_find(struct sick_finding **out, size_t *count, struct store *store, double margin,
              struct arena *arena, struct error *err);

#endif
