// SPDX-License-Identifier: Apache-2.0
//
// Verdicts without a ratio: what the two states of a series say where there are no times on both
// sides to compare. One table; everything else is for the pairs (gate.h) or the history (drift.h).
#ifndef PLUMB_STANDING_H
#define PLUMB_STANDING_H

#include "model/result.h"

struct standing_input {
    enum measurement_state base, head; // base not taken: there is none (a plain run)
    bool same_code;                    // both run the same machine code
    bool away;                         // the series' device is not on this machine
};

// `words` go behind the series' name; {head}, {base} and {device} in them stand for
// standing_text() of the states and for the device.
struct standing {
    enum verdict_kind kind;
    enum cause cause;
    const char *words;
};

// NULL: both sides have times.
const struct standing *standing_of(const struct standing_input *input);

// "crashes", "gives wrong results", ...: what a kernel in this state does.
const char *standing_text(enum measurement_state state);

// The words with their places filled in, in the arena.
const char *standing_words(const struct standing *standing, const struct standing_input *input,
                           const char *device, struct arena *arena);

#endif
