// SPDX-License-Identifier: Apache-2.0
//
// What a few pairs show of a changed series in the regimes that its gate does not judge in: a
// change may be worth 8 % alone and nothing in a stream, or have another sign there. These are
// looks: they are told, and decide nothing.
#ifndef PLUMB_BESIDE_H
#define PLUMB_BESIDE_H

#include "model/result.h"

// A look is over after so many pairs, or as soon as a block of them leaves nothing open.
enum { BESIDE_PAIRS = 32, BESIDE_BLOCK = 8 };

struct beside {
    enum regime regime;
    enum measurement_state state; // MEASURED_OK, or how it failed there; it has no size then
    struct interval log_ratio;    // with its 95 % interval
    uint32_t pairs;
};

// Size and pairs from samples: base[i] belongs to head[i]. Samples that are excluded do not count.
void beside_take(struct beside *out, const struct sample *base, const struct sample *head,
                 size_t count);

// More pairs would tell a reader nothing: it is beyond the margin (a log ratio), or within it.
bool beside_enough(const struct beside *look, double margin);

// As a measurement keeps them (struct measurement, `beside`): "stream ok -0.0015 -0.003 0.0001 16,
// isolated wrong". NULL where there are none.
const char *beside_format(const struct beside *looks, size_t count, struct arena *arena);

// Reads that; what is no such text has none. Returns how many.
size_t beside_parse(struct beside out[REGIMES], const char *text);

// "alone -6.80 % (-7.10 to -6.50), wrong on warm operands"; "" where there are none.
const char *beside_say(const struct beside *looks, size_t count, struct arena *arena);

// Finds what says most clearly the opposite of a result's verdict, beyond its margin: a look, or
// the same series in another regime that the run has judged, too. False: nothing does.
bool beside_opposed(struct beside *out, const struct run *run, const struct result *result);

#endif
